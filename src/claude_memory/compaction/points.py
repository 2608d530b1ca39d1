"""From the talk of a session to decisions in their final form, solutions, conventions and context.

Pure. Every point names the turns it came from; a decision that was taken back stands only in the one
that replaced it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from claude_memory.compaction.abridge import JOINT, abridged
from claude_memory.compaction.abridge import clip as shortened
from claude_memory.compaction.comparing import Link, Sense, sentences_of
from claude_memory.compaction.episodes import FEW, Episode, episodes, subjects
from claude_memory.compaction.model import Decision, Remark, Solution
from claude_memory.compaction.reversals import links
from claude_memory.compaction.talk import Word, words
from claude_memory.compaction.wording import CONCLUDING
from claude_memory.distil.exchange import terms
from claude_memory.distil.observe import files_in, title_of
from claude_memory.distil.turns import PERSON, Turn, relative
from claude_memory.model import Kind

MAX_WORDS = 420  # characters of one text
MAX_FILES = 3
_POINTING = re.compile(r"\b(?:that|this|it|so|then|both|one)\b", re.IGNORECASE)
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
    """A decision before it is known what became of it."""

    index: int
    decision: Decision


@dataclass(slots=True)
class _Reader:
    turns: Sequence[Turn]
    place: Sequence[int]
    cwd: str
    decided: Mapping[int, Kind]  # turns that certainly decide or correct something
    sense: Sense | None = None
    taken_back: dict[int, list[Link]] = field(default_factory=dict)
    requests: dict[int, Episode] = field(default_factory=dict)
    linked: frozenset[int] = frozenset()
    points: Points = field(default_factory=Points)
    used: set[int] = field(default_factory=set)
    candidates: list[_Candidate] = field(default_factory=list)

    def read(self) -> Points:
        said = words(self.turns)
        self.link(said)
        for number, word in enumerate(said):
            before = said[number - 1] if number else None
            after = said[number + 1] if number + 1 < len(said) else None
            if word.person:
                self.person(word, before, after, said[max(0, number - 4) : number])
        for number, word in enumerate(said):
            if word.index in self.linked and not word.person:
                self.chosen_alone(word)
            elif not word.person and word.index not in self.used:
                last = number >= len(said) - 2
                self.agent(word, last=last)
            elif word.person and number == 0 and len(word.text) > ASKED_CHARACTERS:
                self.points.context.insert(0, Remark(f"Asked: {clip(word.text)}", self.at(word.index)))
        self.resolve()
        return self.points

    def link(self, said: Sequence[Word]) -> None:
        """Find what was taken back; both ends of it were decided, however they were worded."""
        found = episodes(self.turns, said)
        self.requests = {one.index: one for one in found}
        corrected = frozenset(index for index, kind in self.decided.items() if kind is Kind.CORRECTION)
        for link in links(found, said, self.sense, corrected):
            self.taken_back.setdefault(link.new, []).append(link)
        ends = [end for listed in self.taken_back.values() for link in listed for end in (link.new, link.old)]
        self.linked = frozenset(ends)

    def at(self, *indexes: int) -> tuple[int, ...]:
        return tuple(sorted({self.place[index] for index in indexes}))

    def person(self, word: Word, before: Word | None, after: Word | None, recent: Sequence[Word]) -> None:
        """A person's turn: a rule, something put off, a decision, or only the next request."""
        decides = word.rule or word.orders or self.decided.get(word.index) is Kind.DECISION
        if word.index not in self.linked and (word.empty or (before is None and not decides)):
            return
        answer = after if after is not None and not after.person else None
        linked = word.index in self.linked
        certain = linked or word.index in self.decided
        changed = bool(self.files_after(word.index))
        concludes = changed and CONCLUDING.search(word.text) is not None
        if word.rule and not linked and not concludes:
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
        settles = (offered and word.settles) or self._takes(word, proposal) or word.orders or changed
        if linked or (not word.asks and (certain or settles)):
            self.decide(word, proposal, answer, recent)
        elif not word.asks:
            self.points.context.append(Remark(clip(word.text), self.at(word.index)))

    @staticmethod
    def _about(word: Word, proposal: Word) -> bool:
        if proposal.asks or word.assents or word.terms & proposal.terms:
            return True
        return len(word.terms) <= FEW or _POINTING.search(word.text) is not None

    @staticmethod
    def _takes(word: Word, proposal: Word | None) -> bool:
        return proposal is not None and bool(word.terms & proposal.terms) and len(word.text) < 200

    def decide(self, word: Word, proposal: Word | None, answer: Word | None, recent: Sequence[Word]) -> None:
        """One decision: the person's words, what they answered, and how the agent took them up."""
        if proposal is not None and not (proposal.asks or word.terms & proposal.terms):
            reasoned = " because " in word.text  # then the reason is its own
            if reasoned or not self._about(word, proposal):
                proposal = None
        asked = [one for one in recent if one.person and one.asks and proposal and one.index < proposal.index]
        why = [
            one for one in recent if one.person and not one.asks and proposal and one.index < proposal.index
        ]
        because = asked[-1:] or [one for one in why[-1:] if one.index not in self.used]
        parts = [one for one in (*because, proposal) if one is not None]
        if answer is not None and answer.index in self.linked:
            answer = None  # it stands by itself
        confirmed = answer.text if answer and not answer.failed and not answer.announces else ""
        said, why_told = (word.text, "") if parts else _with_reason(word.text)
        text = abridged(_joined(said, confirmed), MAX_WORDS)
        indexes = [one.index for one in parts] + [word.index]
        self.used.add(word.index)  # what was decided is no reason for the next decision
        if confirmed and answer is not None:
            indexes.append(answer.index)
            if not answer.failed:
                self.used.add(answer.index)
        if proposal is not None and not proposal.failed:
            self.used.add(proposal.index)
        decision = Decision(
            topic=self._topic(word, proposal),
            decision=text,
            rationale=_joined(
                *(clip(one.text, MAX_WORDS if one is proposal else ASKED_CHARACTERS) for one in parts)
            )
            or why_told,
            files=self.files_after(word.index),
            messages=self.at(*indexes),
            core=self._core(word.index),
        )
        self.candidates.append(_Candidate(word.index, decision))

    def resolve(self) -> None:
        """Decisions in order; what a later one takes back stands no more by itself."""
        standing: dict[int, Decision] = {}
        known: dict[int, Decision] = {}
        for new in sorted(self.candidates, key=lambda one: one.index):
            decision = known[new.index] = new.decision
            for link in self.taken_back.get(new.index, ()):
                if link.old in known and link.old != new.index:
                    decision = self._instead(decision, known[link.old], link)
                    self._give_up(standing, link)
            standing[new.index] = known[new.index] = decision
        self.points.decisions = [standing[index] for index in sorted(standing)]

    def _instead(self, decision: Decision, was: Decision, link: Link) -> Decision:
        """The later decision, with what it took back and where that stands."""
        old = self.requests[link.old]
        part = _listed(link.part, old)
        own_words = part not in old.adopted
        because = old.adopted if own_words and len(part) < 60 and not was.reverses else ""
        kept = clip(_joined(part, decision.reverses, was.reverses, because), 260)
        added = () if link.added is None else (link.added,)
        told = () if link.told is None else (link.told,)
        given_up = (*added, *told, *(old.decided if old.confirmed or old.adopted or not added else ()))
        mine, theirs = self.at(*self.requests[link.new].ends), self.at(*given_up)
        messages = tuple(sorted({*mine, *theirs, *was.messages[-2:], *decision.messages}))
        earlier = tuple(sorted({*decision.reversed_messages, *was.reversed_messages, *theirs}))
        return replace(decision, reverses=kept, messages=messages, reversed_messages=earlier)

    def _give_up(self, standing: dict[int, Decision], link: Link) -> None:
        """Take out what is given up; sentences that decide something else stay."""
        was = standing.pop(link.old, None)
        if was is None:
            return
        proposal = self.requests[link.old].proposal
        if self.requests[link.old].adopted and proposal is not None:  # what was found out is still true
            text = clip(f"Before it was taken back: {proposal.text}")
            self.points.context.append(Remark(text, self.at(proposal.index)))
        left = [
            one
            for one in sentences_of(self.requests[link.old])
            if one not in link.part and one in _joined(was.decision, self.requests[link.old].adopted)
        ]
        if not left:
            for end in self.requests[link.old].ends:
                standing.pop(end, None)
        else:
            text = clip(_listed(left, self.requests[link.old]))
            topic, messages = title_of(text)[:60], self.at(*self.requests[link.old].decided)
            standing[link.old] = Decision(topic, text, files=was.files, messages=messages)

    def _topic(self, word: Word, proposal: Word | None) -> str:
        text = word.text if len(word.terms) > 3 or proposal is None else proposal.text
        return title_of(text)[:60]

    def _core(self, index: int) -> str:
        """The sentence of a request that says most of what was written for it, and was not said before."""
        request = self.requests.get(index)
        if request is None:
            return ""
        before = [self.requests[link.old].chosen for link in self.taken_back.get(index, ())]
        came = request.written.difference(*before)
        said = [(len(subjects(one) & came), place, one) for place, one in enumerate(request.sentences)]
        most = max(said, default=(0, 0, ""))
        return most[2] if most[0] else ""

    def chosen_alone(self, word: Word) -> None:
        """What the agent chose by itself, and was changed later or is such a change."""
        text = self.requests[word.index].said.text
        files = self.files_after(word.index)
        messages = self.at(*self.requests[word.index].ends)
        core = self._core(word.index)
        decision = Decision(
            title_of(text)[:60],
            abridged(text, MAX_WORDS, core=core),
            files=files,
            messages=messages,
            core=core,
        )
        self.candidates.append(_Candidate(word.index, decision))

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
            self.candidates.append(_Candidate(word.index, decision))
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
    turns: Sequence[Turn],
    place: Sequence[int],
    cwd: str,
    decided: Mapping[int, Kind],
    sense: Sense | None = None,
    start: int = 0,
) -> Points:
    """What the talk of these turns holds; `decided` are turns that are known to decide.

    Turns before `start` were summed up before: they only tell what is taken back now.
    """
    found = _Reader(turns, place, cwd, decided, sense).read()
    return found if not start else _since(found, place[start]) if start < len(place) else Points()


def _since(found: Points, first: int) -> Points:
    """What was said from a message on."""
    lists = {
        one.name: [entry for entry in getattr(found, one.name) if max(entry.messages, default=0) >= first]
        for one in fields(Points)
    }
    return Points(**lists)


def clip(text: str, characters: int = MAX_WORDS) -> str:
    """At most so many characters, cut at a word."""
    return shortened(text, characters)


def _with_reason(text: str) -> tuple[str, str]:
    """What somebody wants, and the reason that they give for it in the same sentence."""
    said, found, rest = text.partition(" because ")
    why, stop, after = rest.partition(". ")
    if not found or len(terms(said)) < 2:
        return text, ""
    return f"{said.rstrip(' ,')}{f'{stop}{after}' if after else '.'}", f"because {why}"


def _listed(sentences: Sequence[str], request: Episode) -> str:
    """Sentences one after the other; the points of a proposal stay apart."""
    return (" · " if request.bare else " ").join(sentences)


def _joined(*parts: str) -> str:
    return JOINT.join(part for part in parts if part)
