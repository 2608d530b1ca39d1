"""Compactions that were reported or found become summaries, memories and vectors, once, however often tried.

Order is what makes a kill harmless: the file, then the memories, then the mark that all is done; each
step passes over what is there already. Nothing here depends on the present moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory import logs, project
from claude_memory.compaction import memories as made
from claude_memory.compaction.fitting import tokens_of
from claude_memory.compaction.model import KeptSummary, Stretch, Summary, about_tokens, as_json
from claude_memory.compaction.store import Shelf
from claude_memory.compaction.summarise import size_of, summarise
from claude_memory.compaction.waiting import EVENTS, Settled, is_done, stand_in, told_before
from claude_memory.distil.turns import Origin, Turn
from claude_memory.erasure import without
from claude_memory.errors import EmbedderUnavailable, InvalidInput, MemoryFault
from claude_memory.model import (
    Event,
    EventKind,
    Kind,
    MemoryFilter,
    ProjectId,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
)
from claude_memory.settings import Settings
from claude_memory.store.protocol import EventFilter, Store

if TYPE_CHECKING:
    from claude_memory.compaction.ranges import Transcript
    from claude_memory.embed.protocol import Embedder
    from claude_memory.store.archive_protocol import Archive

KINDS = (EventKind.COMPACTION_START, EventKind.COMPACTION)
AT_ONCE = 200  # sessions, the latest; after a large import the others wait for the next drain
PAGE = 400  # events read at once
RULES = "rules"
# What an agent saves may be megabytes, and embedding takes a second for a few thousand characters.
EMBEDDED_CHARACTERS, EMBEDDED_TOPICS, TOPIC_CHARACTERS = 4_000, 50, 200


@dataclass(frozen=True, slots=True)
class Material:
    """What one compaction took, ready to be summed up."""

    stretch: Stretch
    turns: Sequence[Turn]
    origin: Origin
    kind: str
    earlier: Sequence[Turn] = ()  # what the compaction before took: it may be taken back


def _no_embedder() -> Embedder | None:
    return None


@dataclass(frozen=True, slots=True)
class Keeper:
    """Makes the summaries of one home; `embedder` is asked for only when there is something to sum up."""

    home: Path
    store: Store
    archive: Archive | None
    settings: Settings
    embedder: Callable[[], Embedder | None] = _no_embedder

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.home)

    def all(self, *, now: datetime) -> list[KeptSummary]:
        """Sum up every compaction that is not yet; those whose boundary is not written wait."""
        done = set(Settled(self.home).ids())
        waiting: dict[SessionId, list[Event]] = {}
        for event in self._events(EventFilter(kinds=KINDS)):
            if event.session and event.id not in done:
                waiting.setdefault(event.session, []).append(event)
        latest = sorted(waiting, key=lambda session: waiting[session][-1].timestamp, reverse=True)
        return [kept for session in latest[:AT_ONCE] for kept in self._sum_up(session, waiting[session], now)]

    def _sum_up(self, session: SessionId, fresh: Sequence[Event], now: datetime) -> list[KeptSummary]:
        """A session's new summaries; what is wrong with one session never holds up the others."""
        try:
            own = self._reported(session)
            new, boundaries = self.session(session, own)
        except InvalidInput as fault:  # no later try can do better
            _warn(fault)
            self._settle([event.id for event in fresh])
            return []
        except (MemoryFault, OSError) as fault:
            _warn(fault)
            return []
        done = [event.id for event in fresh if is_done(event, own, boundaries, now)]
        if done:
            self._settle(done)
        return new

    def session(
        self, session: SessionId, events: Sequence[Event]
    ) -> tuple[list[KeptSummary], list[datetime]]:
        """Sum up a session's compactions: what is new, and when each of them was."""
        cwd = next((event.cwd for event in events if event.cwd), "")
        id_ = events[0].project if events else project.resolve(cwd, self.store.project_for).id
        material = list(self._material(session, id_, cwd, events))
        kept = [self.keep(one) for one in material]
        return [summary for summary, new in kept if new], [one.stretch.at for one in material]

    def keep(self, material: Material) -> tuple[KeptSummary, bool]:
        """One compaction as file and memories; a transcript tells more of it than hooks' reports did."""
        stretch, origin = material.stretch, material.origin
        known, reports = self.shelf.of(stretch.session), material.kind == EVENTS
        told = told_before(known, stretch.at) if reports else None
        if told is not None:
            return told, False
        old = None if reports else stand_in(known, stretch.at)
        kept, new = self.shelf.keep(
            stretch.session,
            stretch.boundary,
            lambda: document_of(material, rules_summary(material, self.embedder())),
            {"project": origin.project, "cwd": origin.cwd},
            instead_of=old,
        )
        if kept.kind == EVENTS and not reports:
            return kept, False
        found = self.remember(kept, material)
        if old is not None and old.number == kept.number:
            self._retell([one for one in found if one.kind is Kind.SUMMARY], origin.project)
        return kept, new

    def remember(self, kept: KeptSummary, material: Material) -> list[StoredMemory]:
        """The memories of a summary; those it says were taken back are no longer valid, if stored before."""
        found = made.memories(kept, material.turns, material.origin)
        self.store.add([], found)
        gone = {one.id: one for one in found if one.status is Status.SUPERSEDED}
        if not gone:
            return found
        scope = SearchScope((material.origin.project,))
        for known in self.store.memories(scope, MemoryFilter(statuses=(Status.ACTIVE,)), ids=list(gone)):
            if known.provenance.get("source") in ("distilled", "compaction"):  # no person has changed it
                later = gone[known.id].superseded_by
                self.store.update(replace(known, status=Status.SUPERSEDED, superseded_by=later))
        return found

    def remember_more(self, before: KeptSummary, better: KeptSummary, material: Material) -> None:
        """What a better summary says beyond the one before, and its text in the place of that one's."""
        known = {one.id: one for one in made.memories(before, material.turns, material.origin)}
        covered = {(one.kind, place) for one in known.values() for place in made.places(one)}
        found = made.memories(better, material.turns, material.origin)
        self.store.add(
            [], [one for one in found if not any((one.kind, place) in covered for place in made.places(one))]
        )
        told = [one for one in found if one.id in known and one.body != known[one.id].body]
        self._retell(told, material.origin.project)

    def _retell(self, told: Sequence[StoredMemory], id_: ProjectId) -> None:
        """Give memories that are stored already the text of a better summary."""
        by_id = {one.id: one for one in told}
        scope, wanted = SearchScope((id_,)), MemoryFilter(statuses=(Status.ACTIVE,))
        for old in self.store.memories(scope, wanted, ids=list(by_id)) if by_id else ():
            now = by_id[old.id]
            self.store.update(replace(old, title=now.title, body=now.body, topics=now.topics))

    # --- where the messages are

    def material(self, session: str) -> list[Material]:
        """What each compaction of a session took, while it can still be read."""
        id_ = SessionId(session)
        events = self._reported(id_)
        cwd = next((event.cwd for event in events if event.cwd), "")
        return list(self._material(id_, events[0].project, cwd, events)) if events else []

    def _material(
        self, session: SessionId, id_: ProjectId, cwd: str, events: Sequence[Event]
    ) -> Iterator[Material]:
        transcript = self._transcript(session, events)
        if transcript is None:
            yield from self._from_events(session, id_, cwd)
            return
        from claude_memory.compaction import ranges

        origin = Origin(session, id_, transcript.cwd or cwd, transcript.kind)
        transcript = self._without_erased(transcript, id_)
        earlier: Sequence[Turn] = ()
        for stretch in ranges.stretches(transcript):
            turns = ranges.turns_of(transcript, stretch.first, stretch.last)
            yield Material(stretch, turns, origin, transcript.kind, earlier)
            earlier = turns

    def _transcript(self, session: SessionId, events: Sequence[Event]) -> Transcript | None:
        """The agent's own file while there is one, else the archive."""
        from claude_memory.compaction import ranges

        named = [str(event.payload.get("transcript_path") or "") for event in events]
        for path in dict.fromkeys(filter(None, named)):
            try:
                found = ranges.read(Path(path), self.settings)
            except (InvalidInput, OSError):
                continue
            if found.session == session:
                return found
        kept = self.archive.by_sessions(SearchScope(None), [session]) if self.archive else []
        if not kept or self.archive is None:
            return None
        messages = tuple(self.archive.messages(kept[0].number))
        # The archive has no figures; the file it was read from does, while the agent keeps it.
        figures = ranges.reported(Path(kept[0].path)) if kept[0].path.endswith(".jsonl") else {}
        return ranges.Transcript(session, kept[0].cwd, messages, figures, "archive")

    def _without_erased(self, transcript: Transcript, id_: ProjectId) -> Transcript:
        """The agent's own file still says what was erased here."""
        erased = self.store.erased_sentences(id_)
        said = tuple(replace(one, text=str(without(one.text, erased))) for one in transcript.messages)
        return replace(transcript, messages=said)

    def _from_events(self, session: SessionId, id_: ProjectId, cwd: str) -> Iterator[Material]:
        """Without any transcript, hooks' own reports are the messages, counted from 1."""
        from claude_memory.ingest import session_turns

        wanted = EventFilter(session=session, kinds=(*session_turns.KINDS, EventKind.COMPACTION_START))
        origin = Origin(session, id_, cwd, "hook")
        since: list[Event] = []
        earlier: Sequence[Turn] = ()
        first = 1
        for event in self._events(wanted):
            if event.kind is not EventKind.COMPACTION_START:
                since.append(event)
                continue
            if since:
                trigger = str(event.payload.get("trigger") or "auto")
                last = first + len(since) - 1
                stretch = Stretch(session, event.id, first, last, event.timestamp, _trigger(trigger))
                turns = _placed(since, first)
                yield Material(stretch, turns, origin, EVENTS, earlier)
                first, since, earlier = last + 1, [], turns

    # --- what was reported

    def _reported(self, session: SessionId) -> list[Event]:
        """The latest reports of a session's compactions, newest first."""
        wanted = EventFilter(session=session, kinds=KINDS)
        return self.store.events(SearchScope(None), wanted, limit=PAGE)

    def _events(self, wanted: EventFilter) -> Iterator[Event]:
        """All events that fit, oldest first, read a page at a time."""
        seen: set[str] = set()
        while True:
            page = self.store.events(SearchScope(None), wanted, limit=PAGE, newest_first=False)
            fresh = [event for event in page if event.id not in seen]
            yield from fresh
            if len(page) < PAGE or not fresh:
                return
            wanted, seen = replace(wanted, since=page[-1].timestamp), {event.id for event in page}

    def _settle(self, events: Sequence[str]) -> None:
        Settled(self.home).add(events)


def _warn(fault: Exception) -> None:
    logs.logger("compaction").warning("a session's compactions are not summed up now: %s", fault)


def rules_summary(material: Material, embedder: Embedder | None = None) -> Summary:
    """The summary that rules make of a compaction's messages; an embedder tells what belongs together."""
    from claude_memory.compaction.meaning import sense

    return summarise(material.turns, material.origin, sense=sense(embedder), earlier=material.earlier)


def document_of(
    material: Material, summary: Summary | Mapping[str, Any], by: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A whole compact_NNN.json; vectors follow when there is a model to make them."""
    stretch = material.stretch
    reported = stretch.tokens_before is not None
    body = as_json(summary) if isinstance(summary, Summary) else dict(summary)
    after = stretch.tokens_after
    if after is None:
        after = tokens_of(summary) if isinstance(summary, Summary) else about_tokens(json.dumps(body))
    return {
        "timestamp": stretch.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "compaction_trigger": stretch.trigger,
        "token_count_before": stretch.tokens_before if reported else size_of(material.turns),
        "token_count_after": after,
        "token_counts": "reported" if reported else "estimated",
        "summary": body,
        "embeddings": {"model": None, "summary_vector": [], "topic_vectors": {}},
        "original_message_range": [stretch.first, stretch.last],
        "source": {"kind": material.kind, "boundary": stretch.boundary},
        "summariser": dict(by or {"provider": RULES}),
    }


def add_vectors(shelf: Shelf, kept: KeptSummary, embedder: Embedder) -> KeptSummary:
    """The summary with the vectors of its text and its topics; nothing changes without a model."""
    topics = [str(topic) for topic in kept.summary.get("topics", ()) if len(str(topic)) <= TOPIC_CHARACTERS]
    texts = [kept.executive[:EMBEDDED_CHARACTERS], *topics[:EMBEDDED_TOPICS]]
    try:
        vectors = [list(memoryview(one).cast("b")) for one in embedder.embed(texts)]
    except EmbedderUnavailable:
        return kept
    embeddings = {
        "model": embedder.model,
        "summary_vector": vectors[0],
        "topic_vectors": dict(zip(texts[1:], vectors[1:], strict=True)),
    }

    def change(now: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return {**now, "embeddings": embeddings} if now.get("summary") == kept.summary else None

    try:
        return shelf.replace(kept, change) or kept
    except InvalidInput:  # too large with them, or written by another version: left as it is
        return kept


def add_missing_vectors(home: Path, embedder: Embedder) -> int:
    """Vectors for every summary that has none of this model; how many that were."""
    shelf = Shelf(home)
    made = 0
    for kept in [one for session in shelf.sessions() for one in shelf.of(session)]:
        if not has_vectors(kept, embedder.model):
            made += add_vectors(shelf, kept, embedder) is not kept
    return made


def has_vectors(kept: KeptSummary, model: str) -> bool:
    """Whether a summary has the vectors of a model."""
    known = kept.document.get("embeddings")
    return isinstance(known, Mapping) and known.get("model") == model


def _trigger(named: str) -> str:
    return named if named in ("manual", "auto") else "size_limit"


def _placed(events: Sequence[Event], first: int) -> list[Turn]:
    """The turns of events, each with its event's number: those that say nothing count, too."""
    from claude_memory.ingest import session_turns

    return [
        replace(turn, ref={**turn.ref, "message": place})
        for place, event in enumerate(events, start=first)
        for turn in session_turns.from_events([event])
    ]
