"""Which turns of a person decide, correct or prefer something: one judgement per turn, precision first.

Pure. The agent's words before a turn tell most: an answer to its question decides, an objection to what
it did or announced corrects.
"""

from __future__ import annotations

from dataclasses import dataclass

from claude_memory.distil import corrections, decisions, preferences
from claude_memory.distil.exchange import Before, Said, all_terms
from claude_memory.model import Kind


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


def statements(
    said: list[Said], text: str, before: Before, done: frozenset[str], *, opening: bool = False
) -> list[Statement]:
    """What a person's turn states, given what stood before it and what the agent did so far."""
    liked = preferences.preferred(said)
    rest = [one for one in said if one not in liked]
    found = []
    if rest:
        wrong = corrections.corrected(rest, before, done)
        chosen = () if wrong else decisions.decided(rest, before, opening=opening)
        if wrong:
            found.append(Statement(Kind.CORRECTION, tuple(wrong), _leans(wrong, before)))
        elif chosen:
            again = decisions.reconsiders(text)
            found.append(Statement(Kind.DECISION, tuple(chosen), _leans(chosen, before), again))
    if liked:
        found.append(Statement(Kind.PREFERENCE, tuple(liked)))
    return found


def _leans(said: list[Said], before: Before) -> bool:
    """Short or pointing words need what they answer."""
    words = all_terms(said)
    pointing = any(one.agrees or one.refuses or one.plain.split(" ")[0] in _POINTING for one in said)
    return before.anything and bool(before.text) and (len(words) < 7 or pointing)


_POINTING = frozenset("that this it these those both same (a) (b) (c) (a). (b). a b option".split())
