"""From the talk of a session to decisions in their final form, solutions, conventions and context.

Pure. Every point names the turns it came from; a decision that was taken back stands only in the one
that replaced it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from claude_memory.compaction.model import Decision, Remark, Solution
from claude_memory.compaction.talk import Word, takes_back, words
from claude_memory.distil.observe import files_in, title_of
from claude_memory.distil.turns import PERSON, Turn, relative

MAX_WORDS = 420  # characters of one text
MAX_FILES = 3
ASKED_CHARACTERS = 160  # what was asked first stands in the executive text; more of it among the context


@dataclass(slots=True)
class Points:
    """What the talk holds, in the order it was said."""

    decisions: list[Decision] = field(default_factory=list)
    solutions: list[Solution] = field(default_factory=list)
    conventions: list[Remark] = field(default_factory=list)
    done: list[Remark] = field(default_factory=list)
    pending: list[Remark] = field(default_factory=list)
    context: list[Remark] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A decision before it is known what became of it: what it chose, and the words around it."""

    index: int
    decision: Decision
    chosen: frozenset[str]
    said: tuple[Word, ...]


@dataclass(slots=True)
class _Reader:
    turns: Sequence[Turn]
    place: Sequence[int]
    cwd: str
    decided: frozenset[int]  # turns that certainly decide
    points: Points = field(default_factory=Points)
    used: set[int] = field(default_factory=set)
    candidates: list[_Candidate] = field(default_factory=list)

    def read(self) -> Points:
        said = words(self.turns)
        for number, word in enumerate(said):
            before = said[number - 1] if number else None
            after = said[number + 1] if number + 1 < len(said) else None
            if word.person:
                self.person(word, before, after, said[max(0, number - 4) : number])
        for number, word in enumerate(said):
            if not word.person and word.index not in self.used:
                last = number >= len(said) - 2
                self.agent(word, last=last)
            elif word.person and number == 0 and len(word.text) > ASKED_CHARACTERS:
                self.points.context.insert(0, Remark(f"Asked: {clip(word.text)}", self.at(word.index)))
        self.resolve()
        return self.points

    def at(self, *indexes: int) -> tuple[int, ...]:
        return tuple(sorted({self.place[index] for index in indexes}))

    def person(self, word: Word, before: Word | None, after: Word | None, recent: Sequence[Word]) -> None:
        """A person's turn: a rule, something put off, a decision, or only the next request."""
        if word.empty or (before is None and not word.rule):
            return
        answer = after if after is not None and not after.person else None
        certain = word.index in self.decided
        if word.rule:
            text = _joined(word.text, answer.text if answer and not answer.failed else "")
            self.points.conventions.append(Remark(clip(text), self.at(word.index)))
            self.used.add(word.index)
            if answer and not answer.failed:
                self.used.add(answer.index)
            return
        if word.later and not certain:
            self.points.pending.append(Remark(clip(word.text), self.at(word.index)))
            self.used.add(word.index)
            return
        proposal = before if before is not None and not before.person else None
        offered = proposal is not None and (proposal.proposes or proposal.asks or word.assents)
        settles = (offered and word.settles) or self._takes(word, proposal) or word.orders
        if not word.asks and (certain or settles):
            self.decide(word, proposal, answer, recent)
        elif not word.asks:
            self.points.context.append(Remark(clip(word.text), self.at(word.index)))

    @staticmethod
    def _takes(word: Word, proposal: Word | None) -> bool:
        return proposal is not None and bool(word.terms & proposal.terms) and len(word.text) < 200

    def decide(self, word: Word, proposal: Word | None, answer: Word | None, recent: Sequence[Word]) -> None:
        """One decision: the person's words, what they answered, and how the agent took them up."""
        asked = [one for one in recent if one.person and one.asks and proposal and one.index < proposal.index]
        why = [
            one for one in recent if one.person and not one.asks and proposal and one.index < proposal.index
        ]
        because = asked[-1:] or [one for one in why[-1:] if one.index not in self.used]
        parts = [one for one in (*because, proposal) if one is not None]
        confirmed = answer.text if answer and not answer.failed and not answer.announces else ""
        text = clip(_joined(word.text, confirmed))
        indexes = [one.index for one in parts] + [word.index]
        if confirmed and answer is not None:
            indexes.append(answer.index)
            if not answer.failed:
                self.used.add(answer.index)
        if proposal is not None and not proposal.failed:
            self.used.add(proposal.index)
        decision = Decision(
            topic=self._topic(word, proposal),
            decision=text,
            rationale=clip(_joined(*(one.text for one in parts))),
            files=self.files_after(word.index),
            messages=self.at(*indexes),
        )
        said = (*recent, word, *([answer] if answer else []))
        self.candidates.append(_Candidate(word.index, decision, _chosen(word, proposal), said))

    def resolve(self) -> None:
        """Decisions in order; one that a later one takes back stands no more by itself."""
        standing: list[_Candidate] = []
        for new in sorted(self.candidates, key=lambda one: one.index):
            old = next((one for one in reversed(standing) if _gives_up(new, one)), None)
            decision = new.decision
            if old is not None:
                standing.remove(old)
                was = old.decision
                if was.rationale:  # what was found out then is still true
                    self.points.context.append(Remark(was.rationale, was.messages[:-1] or was.messages))
                because = was.rationale if len(was.decision) < 60 and not was.reverses else ""
                kept = clip(_joined(was.reverses, was.decision, because), 260)
                messages = tuple(sorted({*was.messages[-2:], *decision.messages}))
                decision = replace(decision, reverses=kept, messages=messages)
            standing.append(replace(new, decision=decision))
        self.points.decisions = [one.decision for one in standing]

    def _topic(self, word: Word, proposal: Word | None) -> str:
        text = word.text if len(word.terms) > 3 or proposal is None else proposal.text
        return title_of(text)[:60]

    def agent(self, word: Word, *, last: bool) -> None:
        """An agent's turn that no decision took up: a cure, a report, or something found out."""
        if word.empty or word.announces:
            return
        if word.chooses and self.files_after(word.index):
            decision = Decision(
                title_of(word.text)[:60],
                clip(word.text),
                "",
                self.files_after(word.index),
                "",
                self.at(word.index),
            )
            self.candidates.append(_Candidate(word.index, decision, word.choice, (word,)))
            if not word.failed:
                return
        if word.failed:
            self.points.solutions.append(
                Solution(
                    clip(word.failed, 200),
                    clip(word.text),
                    self.files_after(word.index),
                    self.passes_after(word.index),
                    self.at(*word.turns[-1:], word.index),
                )
            )
        elif word.later and not word.result:
            self.points.pending.append(Remark(clip(word.text), self.at(word.index)))
        elif word.reports or (last and word.result):
            self.points.done.append(Remark(clip(word.text), self.at(word.index)))
        else:
            self.points.context.append(Remark(clip(word.text), self.at(word.index)))

    def files_after(self, index: int) -> tuple[str, ...]:
        """Files that the turn names, or that were changed for it before the person spoke again."""
        found = dict.fromkeys(files_in(self.turns[index].text, self.cwd))
        for turn in self.turns[index + 1 : index + 40]:
            if turn.role == PERSON:
                break
            if turn.changed_file:
                found.setdefault(relative(turn.changed_file, self.cwd))
        return tuple(found)[:MAX_FILES]

    def passes_after(self, index: int) -> bool:
        """Whether something was changed after it, and the next run went well."""
        changed = False
        for turn in self.turns[index + 1 : index + 60]:
            changed = changed or bool(turn.changed_file)
            if turn.command and (changed or turn.failed):
                return changed and not turn.failed
        return False


def points(
    turns: Sequence[Turn], place: Sequence[int], cwd: str, decided: Mapping[int, object] | frozenset[int]
) -> Points:
    """What the talk of these turns holds; `decided` are turns that are known to decide."""
    return _Reader(turns, place, cwd, frozenset(decided)).read()


def clip(text: str, characters: int = MAX_WORDS) -> str:
    """At most so many characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= characters:
        return line
    return line[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _gives_up(new: _Candidate, old: _Candidate) -> bool:
    """Whether a decision takes an earlier one back: says so of what was chosen, or turns on its subject."""
    later = [one for one in new.said if one.index > old.index and not one.rule]
    if any(takes_back(one.text, old.chosen) for one in later):
        return True
    if not any(one.turns_round for one in later):
        return False
    mine = frozenset().union(*(one.terms for one in later))
    return len(mine & old.chosen) >= max(2, (len(old.chosen) + 1) // 2)


def _chosen(word: Word, proposal: Word | None) -> frozenset[str]:
    """What a decision is for: the person's own words, or the proposal's if those only agree."""
    own = frozenset(term for term in word.terms if len(term) > 3)
    return own if own or proposal is None else proposal.terms


def _joined(*parts: str) -> str:
    return " → ".join(part for part in parts if part)
