"""The memories that a summary leaves: what can be found by searching, each with the messages it rests on.

Pure. What distilling makes of the same turns has the same id, so that nothing is there twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from claude_memory.compaction.model import KeptSummary
from claude_memory.compaction.talk import Word, words
from claude_memory.distil.observe import files_in, says_something, title_of
from claude_memory.distil.session import distil
from claude_memory.distil.turns import PERSON, Origin, Turn
from claude_memory.model import Kind, Status, StoredMemory, Trust, memory_id
from claude_memory.text import query_terms

BODY_CHARACTERS = 4_000
MOST_CHARACTERS = 20_000  # of any memory: an agent may save megabytes, and all of a memory is embedded
ASKED_CHARACTERS = 600
_CHOOSING = (Kind.DECISION, Kind.CORRECTION, Kind.PREFERENCE)


def memories(kept: KeptSummary, turns: Sequence[Turn], origin: Origin) -> list[StoredMemory]:
    """The summary itself, what distilling makes of its turns, and every entry beyond that."""
    if not turns:
        return []
    distilled = distil(turns, origin).memories
    known = {
        (memory.kind, ref.get("message"))
        for memory in distilled
        for ref in memory.provenance["evidence"]
        if isinstance(ref, Mapping)
    }
    maker = _Maker(kept, {_place(turn): turn for turn in turns}, turns[-1], origin)
    beyond = [*maker.decisions(known), *maker.fixes(known), *maker.conventions(known), *maker.exchanges()]
    made = {memory.id: memory for memory in [*distilled, *beyond, maker.summary()]}
    return list({**made, **{old.id: old for old in _superseded(kept, list(made.values()))}}.values())


def _superseded(kept: KeptSummary, made: Sequence[StoredMemory]) -> Iterator[StoredMemory]:
    """Decisions that a later one took back altogether, as no longer valid and with what replaced them."""
    entries = kept.summary.get("key_decisions", ())
    standing = {place for entry in entries for place in _own(entry)}
    chosen = {place: memory for memory in made if memory.kind in _CHOOSING for place in places(memory)}
    for entry in entries:
        later = next((chosen[place] for place in reversed(_own(entry)) if place in chosen), None)
        for place in set(entry.get("reversed_messages", ())) - standing:
            old = chosen.get(place)
            if old is None or later is None or old.id == later.id or len(places(old)) != 1:
                continue
            if (
                old.trust is not Trust.USER or later.trust is Trust.USER
            ):  # only a person takes back a person's word
                yield replace(old, status=Status.SUPERSEDED, superseded_by=later.id)


def _own(entry: Mapping[str, Any]) -> list[int]:
    earlier = set(entry.get("reversed_messages", ()))
    return [place for place in entry.get("messages", ()) if place not in earlier]


def places(memory: StoredMemory) -> list[int]:
    """The messages that a memory rests on."""
    evidence = memory.provenance.get("evidence")
    refs = evidence if isinstance(evidence, list | tuple) else ()
    return [
        ref["message"] for ref in refs if isinstance(ref, Mapping) and isinstance(ref.get("message"), int)
    ]


def _with_topic(decision: str, topic: str) -> str:
    """“Use Procrastinate” is found by who asks about the queue only if it says that it is about the queue."""
    known = set(query_terms(decision))
    told = not topic.strip() or known & set(query_terms(topic))
    return decision if told else f"{topic}: {decision}"


def _place(turn: Turn) -> int:
    found = turn.ref.get("message")
    return found if isinstance(found, int) else 0


class _Maker:
    def __init__(self, kept: KeptSummary, turns: Mapping[int, Turn], last: Turn, origin: Origin) -> None:
        self.kept, self.turns, self.last, self.origin = kept, turns, last, origin

    def decisions(self, known: set[tuple[Kind, Any]]) -> Iterator[StoredMemory]:
        for entry in self.kept.summary.get("key_decisions", ()):
            places = entry.get("messages", [])
            if any((kind, place) in known for kind in _CHOOSING for place in _own(entry)):
                continue
            said = _with_topic(entry["decision"], entry.get("topic", ""))
            body = _lines(
                said,
                f"Because: {entry['rationale']}" if entry.get("rationale") else "",
                f"This took back: {entry['reverses']}" if entry.get("reverses") else "",
            )
            yield self._made(Kind.DECISION, said, body, places, entry.get("files", ()))

    def fixes(self, known: set[tuple[Kind, Any]]) -> Iterator[StoredMemory]:
        """Repairs that a check confirmed; one that was only told is found as it was said."""
        for entry in self.kept.summary.get("error_solutions", ()):
            places = entry.get("messages", [])
            if entry.get("verified") and not any((Kind.FIX, place) in known for place in places):
                body = _lines(f"Failed: {entry['error']}", entry["solution"])
                yield self._made(Kind.FIX, entry["solution"], body, places, entry.get("files", ()))

    def conventions(self, known: set[tuple[Kind, Any]]) -> Iterator[StoredMemory]:
        for text, places in self._remarks("conventions"):
            if any((kind, place) in known for kind in _CHOOSING for place in places):
                continue
            said = next((self.turns[place] for place in places if place in self.turns), None)
            own = said.text if said is not None and said.role == PERSON else ""
            trust = self.origin.person if own else self.origin.agent
            yield self._made(Kind.CONVENTION, text, own or text, places, (), trust)

    def exchanges(self) -> Iterator[StoredMemory]:
        """What agents found out and answered, each with the words it answers or the failure it explains.

        So it is found when the window no longer holds it; what only announces the next step is left out.
        """
        turns = list(self.turns.values())
        asked: Word | None = None
        for word in words(turns):
            if word.person:
                yield from self._unanswered(turns, asked)
                asked = word
                continue
            if word.announces or not says_something(word.text):
                continue
            heard = asked.text[:ASKED_CHARACTERS] if asked else ""
            body = _lines(heard, f"Failed: {word.failed}" if word.failed else "", turns[word.index].text)
            places = [*([_place(turns[asked.index])] if asked else []), _place(turns[word.index])]
            files = files_in(word.text, self.origin.cwd)
            yield self._made(Kind.OBSERVATION, word.text, body[:BODY_CHARACTERS], places, files)
            asked = None
        yield from self._unanswered(turns, asked)

    def _unanswered(self, turns: Sequence[Turn], asked: Word | None) -> Iterator[StoredMemory]:
        """What a person said and no agent took up in words; the same memory that its event leaves."""
        if asked is not None and says_something(asked.text):
            turn = turns[asked.index]
            files = files_in(asked.text, self.origin.cwd)
            body = turn.text[:BODY_CHARACTERS]
            made = self._made(Kind.OBSERVATION, body, body, [_place(turn)], files, self.origin.person)
            event = turn.ref.get("event")
            yield replace(made, id=memory_id(f"event:{event}")) if event else made

    def summary(self) -> StoredMemory:
        inner = self.kept.summary
        pending = inner.get("tasks_pending", ())
        body = _lines(self.kept.executive, *(["Open:", *(f"- {one}" for one in pending)] if pending else []))
        first, last = self.kept.document["original_message_range"]
        files = [entry["path"] for entry in inner.get("files_modified", ())][:20]
        return StoredMemory(
            id=memory_id(f"compaction:{self.kept.session}:{self.kept.number}"),
            project=self.origin.project,
            kind=Kind.SUMMARY,
            title=title_of(f"Compaction {self.kept.number}: {self.kept.executive}"),
            body=body[:MOST_CHARACTERS],
            created_at=self.last.at,
            updated_at=self.last.at,
            trust=_agent(self.origin),
            session=self.origin.session,
            topics=tuple(inner.get("topics", ())),
            files=tuple(files),
            provenance=self._provenance([first, last]),
        )

    def _remarks(self, name: str) -> Iterator[tuple[str, list[int]]]:
        texts = self.kept.summary.get(name, ())
        sources = self.kept.summary.get("sources", {}).get(name, ())
        return zip(texts, [*sources, *([[]] * (len(texts) - len(sources)))], strict=False)

    def _made(
        self,
        kind: Kind,
        title: str,
        body: str,
        places: Sequence[int],
        files: Sequence[str],
        trust: Trust | None = None,
    ) -> StoredMemory:
        turn = next((self.turns[place] for place in reversed(places) if place in self.turns), self.last)
        return StoredMemory(
            id=memory_id(f"compaction:{kind}:{turn.key}:{title_of(body)}"),
            project=self.origin.project,
            kind=kind,
            title=title_of(title),
            body=body[:MOST_CHARACTERS],
            created_at=turn.at,
            updated_at=turn.at,
            trust=trust or _agent(self.origin),
            session=self.origin.session,
            topics=tuple(one for one in self.kept.summary.get("topics", ()) if one in body.lower()),
            files=tuple(files),
            provenance=self._provenance(places),
        )

    def _provenance(self, places: Sequence[int]) -> dict[str, object]:
        evidence = [
            dict(self.turns[place].ref)
            if place in self.turns
            else {"conversation": self.kept.session, "message": place}
            for place in places
        ]
        return {"source": "compaction", "summary": self.kept.id, "evidence": evidence}


def _agent(origin: Origin) -> Trust:
    return origin.agent


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)
