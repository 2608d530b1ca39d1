"""Which turns of a person decide, correct or prefer something: one judgement per turn, precision first.

Pure. The agent's words before a turn tell most: an answer to its question decides, an objection to what
it did or announced corrects.
"""

from __future__ import annotations

from dataclasses import dataclass

from claude_memory.distil import corrections, decisions, phrases, preferences
from claude_memory.distil.exchange import Before, Said, all_terms, shared
from claude_memory.distil.phrases import fits
from claude_memory.model import Kind

MIN_ALONE = 7  # terms that make words understandable without what they answer


@dataclass(frozen=True, slots=True)
class Statement:
    """What a turn says that lasts. `leans`: it cannot be understood without what the agent said."""

    kind: Kind
    sentences: tuple[Said, ...]
    leans: bool = False
    reconsiders: bool = False

    @property
    def words(self) -> str:
        return " ".join(said.typed for said in self.sentences)


@dataclass(frozen=True, slots=True)
class SoFar:
    """The words of a session up to a turn: what the agent wrote into files, what the person decided."""

    done: frozenset[str] = frozenset()
    decided: frozenset[str] = frozenset()


def statements(
    said: list[Said],
    before: Before,
    so_far: SoFar,
    *,
    text: str = "",
    again: bool = False,
    opening: bool = False,
) -> list[Statement]:
    """What a person's turn (`text`) states, given what stood before it; `again`: it takes something back."""
    agreed = Said(text.strip(), "", agrees=True) if decisions.agrees_to(text, before) else None
    liked = preferences.preferred(said, before)
    rest = [one for one in said if one not in liked]
    found = []
    if rest and (decisions.rethinks(text) or (again and shared(all_terms(rest), so_far.decided))):
        found.append(Statement(Kind.DECISION, tuple(rest), _leans(rest, before), reconsiders=True))
    elif wrong := corrections.corrected(rest, before, so_far.done):
        found.append(Statement(Kind.CORRECTION, tuple(wrong), _leans(wrong, before)))
    elif not said and agreed:
        found.append(Statement(Kind.DECISION, (agreed,), leans=True))
    elif chosen := decisions.decided(rest, before, opening=opening):
        anew = again or any(fits(phrases.REPLACING, one.plain) for one in chosen)
        found.append(Statement(Kind.DECISION, tuple(chosen), _leans(chosen, before), anew))
    if liked:
        found.append(Statement(Kind.PREFERENCE, tuple(liked)))
    return found


def _leans(said: list[Said], before: Before) -> bool:
    """Short or pointing words need what they answer."""
    pointing = any(one.agrees or one.refuses or one.plain.split(" ")[0] in _POINTING for one in said)
    alone = len(all_terms(said)) >= MIN_ALONE or any(decisions.stands(one) for one in said)
    return bool(before.text) and (pointing or not alone)


_POINTING = frozenset("that this it these those both same (a) (b) (c) (a). (b). a b option".split())
