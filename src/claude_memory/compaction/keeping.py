"""Compactions that were reported or found become summaries, memories and vectors, once, however often tried.

Order is what makes a kill harmless: the file, then the memories, then the mark that all is done; each
step passes over what is there already. Nothing here depends on the present moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory import project
from claude_memory.compaction import memories as made
from claude_memory.compaction.model import KeptSummary, Stretch, Summary, about_tokens, as_json
from claude_memory.compaction.store import Shelf
from claude_memory.compaction.summarise import size_of, summarise, tokens_of
from claude_memory.distil.turns import Origin, Turn
from claude_memory.errors import Conflict, EmbedderUnavailable, InvalidInput
from claude_memory.files import private_folder, write_atomically
from claude_memory.model import Event, EventKind, MemoryFilter, ProjectId, SearchScope, SessionId, Status
from claude_memory.settings import Settings
from claude_memory.store.protocol import EventFilter, Store

if TYPE_CHECKING:
    from claude_memory.compaction.ranges import Transcript
    from claude_memory.embed.protocol import Embedder
    from claude_memory.store.archive_protocol import Archive

KINDS = (EventKind.COMPACTION_START, EventKind.COMPACTION)
LOOKED_AT = 400  # events of compactions, the latest
REMEMBERED = 2_000  # of them that are done
GIVEN_UP_AFTER = timedelta(hours=1)  # a compaction that left no boundary by then was cancelled
EVENTS = 4_000
RULES = "rules"


@dataclass(frozen=True, slots=True)
class Material:
    """What one compaction took, ready to be summed up."""

    stretch: Stretch
    turns: Sequence[Turn]
    origin: Origin
    kind: str


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
        events = self.store.events(SearchScope(None), EventFilter(kinds=KINDS), limit=LOOKED_AT)
        done = self._settled()
        waiting: dict[SessionId, list[Event]] = {}
        for event in reversed(events):
            if event.session and event.id not in done:
                waiting.setdefault(event.session, []).append(event)
        kept: list[KeptSummary] = []
        for session, fresh in waiting.items():
            own = [event for event in events if event.session == session]
            try:
                new, boundaries = self.session(session, own)
            except Conflict:
                continue
            kept += new
            starts = sum(event.kind is EventKind.COMPACTION_START for event in own)
            if boundaries >= max(starts, 1) or now - fresh[-1].timestamp > GIVEN_UP_AFTER:
                self._settle([event.id for event in fresh])
        return kept

    def session(self, session: SessionId, events: Sequence[Event]) -> tuple[list[KeptSummary], int]:
        """Sum up a session's compactions: what is new, and how many there are."""
        cwd = next((event.cwd for event in events if event.cwd), "")
        id_ = events[0].project if events else self.store.project_for(project.identify(cwd)).id
        material = list(self._material(session, id_, cwd, events))
        kept = [self.keep(one) for one in material]
        return [summary for summary, new in kept if new], len(material)

    def keep(self, material: Material) -> tuple[KeptSummary, bool]:
        """One compaction as file and memories."""
        stretch, origin = material.stretch, material.origin
        about = {"project": origin.project, "cwd": origin.cwd}
        kept, new = self.shelf.keep(
            stretch.session,
            stretch.boundary,
            lambda: document_of(material, rules_summary(material, self.embedder())),
            about,
        )
        self.remember(kept, material)
        return kept, new

    def remember(self, kept: KeptSummary, material: Material) -> None:
        """The memories of a summary; those it says were taken back are no longer valid, if stored before."""
        found = made.memories(kept, material.turns, material.origin)
        self.store.add([], found)
        gone = {one.id: one for one in found if one.status is Status.SUPERSEDED}
        if not gone:
            return
        scope = SearchScope((material.origin.project,))
        for known in self.store.memories(scope, MemoryFilter(statuses=(Status.ACTIVE,)), ids=list(gone)):
            if known.provenance.get("source") in ("distilled", "compaction"):  # no person has changed it
                later = gone[known.id].superseded_by
                self.store.update(replace(known, status=Status.SUPERSEDED, superseded_by=later))

    def remember_more(self, before: KeptSummary, better: KeptSummary, material: Material) -> None:
        """What a better summary says beyond the one before, and its text in the place of that one's."""
        known = {one.id: one for one in made.memories(before, material.turns, material.origin)}
        covered = {(one.kind, place) for one in known.values() for place in made.places(one)}
        found = made.memories(better, material.turns, material.origin)
        self.store.add(
            [], [one for one in found if not any((one.kind, place) in covered for place in made.places(one))]
        )
        told = {one.id: one for one in found if one.id in known and one.body != known[one.id].body}
        scope, wanted = SearchScope((material.origin.project,)), MemoryFilter(statuses=(Status.ACTIVE,))
        for old in self.store.memories(scope, wanted, ids=list(told)) if told else ():
            now = told[old.id]
            self.store.update(replace(old, title=now.title, body=now.body, topics=now.topics))

    # --- where the messages are

    def material(self, session: str) -> list[Material]:
        """What each compaction of a session took, while it can still be read."""
        id_ = SessionId(session)
        events = self.store.events(SearchScope(None), EventFilter(session=id_, kinds=KINDS), limit=LOOKED_AT)
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
        for stretch in ranges.stretches(transcript):
            turns = ranges.turns_of(transcript, stretch.first, stretch.last)
            yield Material(stretch, turns, origin, transcript.kind)

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
        return ranges.Transcript(session, kept[0].cwd, messages, {}, "archive")

    def _from_events(self, session: SessionId, id_: ProjectId, cwd: str) -> Iterator[Material]:
        """Without any transcript, hooks' own reports are the messages, counted from 1."""
        from claude_memory.ingest import session_turns

        wanted = EventFilter(session=session, kinds=(*session_turns.KINDS, EventKind.COMPACTION_START))
        events = self.store.events(SearchScope(None), wanted, limit=EVENTS, newest_first=False)
        origin = Origin(session, id_, cwd, "hook")
        since: list[Event] = []
        first = 1
        for event in events:
            if event.kind is not EventKind.COMPACTION_START:
                since.append(event)
                continue
            if since:
                trigger = str(event.payload.get("trigger") or "auto")
                last = first + len(since) - 1
                stretch = Stretch(session, event.id, first, last, event.timestamp, _trigger(trigger))
                yield Material(stretch, _placed(since, first), origin, "events")
                first, since = last + 1, []

    # --- what is done

    def _state(self) -> Path:
        return self.home / "cache" / "compactions.json"

    def _settled(self) -> set[str]:
        try:
            found = json.loads(self._state().read_bytes())
        except (OSError, ValueError):
            return set()
        return set(found) if isinstance(found, list) else set()

    def _settle(self, events: Sequence[str]) -> None:
        private_folder(self._state().parent)
        known = [one for one in sorted(self._settled()) if one not in events]
        write_atomically(self._state(), json.dumps([*known, *events][-REMEMBERED:]).encode())


def rules_summary(material: Material, embedder: Embedder | None = None) -> Summary:
    """The summary that rules make of a compaction's messages; an embedder tells what belongs together."""
    from claude_memory.compaction.meaning import sense

    return summarise(material.turns, material.origin, sense=sense(embedder))


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
    topics = [str(topic) for topic in kept.summary.get("topics", ())]
    try:
        vectors = [list(memoryview(one).cast("b")) for one in embedder.embed([kept.executive, *topics])]
    except EmbedderUnavailable:
        return kept
    embeddings = {
        "model": embedder.model,
        "summary_vector": vectors[0],
        "topic_vectors": dict(zip(topics, vectors[1:], strict=True)),
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
        known = kept.document.get("embeddings")
        if isinstance(known, Mapping) and known.get("model") == embedder.model:
            continue
        made += add_vectors(shelf, kept, embedder) is not kept
    return made


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
