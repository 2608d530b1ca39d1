"""What compactions left in a project, as `memory.summaries` gives it: list, read, save, sum up, ask a model.

One summary of each compaction is kept, as file and as memories: made early, bettered in place, never twice.

Order is what makes a kill harmless: the file, then the memories, then the mark in the store; each step passes
over what is there already. What is wrong with one session holds up no other. Which sessions wait is known to
the store: one is looked at again when another report of it comes in.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput, MemoryFault, NotFound
from claude_memory.model import (
    Event,
    EventKind,
    Kind,
    MemoryFilter,
    Project,
    ProjectId,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
    memory_id,
)
from claude_memory.platform import logs
from claude_memory.redact import redact_document
from claude_memory.redact.erasure import without
from claude_memory.settings import Settings
from claude_memory.store.base import Store
from claude_memory.store.model import EventFilter
from claude_memory.summaries.shelf import OPEN, RULES, KeptSummary, Shelf, document_of, valid, within, written
from claude_memory.summaries.stretches import (
    Material,
    Stretch,
    Transcript,
    archived,
    open_end,
    open_material,
    read,
)
from claude_memory.text.words import query_terms
from claude_memory.transcripts.model import moment_of
from claude_memory.understand.titles import title_of

AT_ONCE = 200  # sessions, the latest; after a large import the others wait for the next drain
MOST_PUSHED = 100_000  # session records
MAX_REPORTS = 400  # of one session
LATE = timedelta(minutes=1)  # clocks of a hook and of a transcript may differ by so much
LONGEST = timedelta(minutes=15)  # from a compaction's first report to its last
MOST_CHARACTERS = 20_000  # of any memory: an agent may save megabytes, and all of a memory is embedded
_REPORTS = (EventKind.COMPACTION_START, EventKind.COMPACTION)
Told = tuple[Kind, str, str, Mapping[str, Any]]  # title and text of a memory, and the entry that tells it
_TYPED = (Kind.DECISION, Kind.FIX, Kind.CONVENTION, Kind.PREFERENCE, Kind.CORRECTION)


@dataclass(frozen=True, slots=True)
class SummaryBook:
    """The summaries of one project, and which compactions of the whole home wait for one."""

    home: Path
    store: Store
    settings: Settings
    project: Project

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.home)

    def list(self, session: str = "", *, all_projects: bool = False) -> Sequence[KeptSummary]:
        """Those of this project, the newest session first; `session` may be the beginning of an id."""
        named = [name for name in self.shelf.sessions() if name.startswith(session)]
        wanted = [name for name in named if all_projects or self._is_ours(name)]
        if session and not wanted:
            if named:
                raise NotFound(f"session {session} is of another project: give --all-projects")
            raise NotFound(f"no session {session} has summaries; `claude-memory summaries` lists them")
        return [kept for name in wanted for kept in self.shelf.of(name)]

    def push(self, url: str, *, all_projects: bool = False) -> tuple[int, int]:
        """Write summaries and session records to plain tables at a server; returns how many of each."""
        from claude_memory.store import push_summaries

        scope = SearchScope(None if all_projects else (self.project.id,))
        records = self.store.archive.session_records(scope, MOST_PUSHED)
        projects = {one.session: one.project for one, _ in records}
        summaries = []
        for kept in self.list(all_projects=all_projects):
            project, document = projects.get(SessionId(kept.session), self.project.id), dict(kept.document)
            at = document.get("timestamp")
            summaries.append((kept.session, kept.number, project, at, kept.executive, document))
        sessions = [
            (one.session, one.agent, one.project, one.first, one.last, one.title, dict(record))
            for one, record in records
        ]
        push_summaries(url, summaries, sessions)
        return len(summaries), len(sessions)

    def save(self, session: str, raw: bytes, *, now: datetime | None = None) -> tuple[KeptSummary, bool]:
        """Keep what an agent wrote under the session's next number; the same text is kept once.

        Checked and cleaned of secrets; gives back the summary, and whether it is new.
        """
        document = _parsed(raw)
        body = document["summary"]
        digest = hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=12).hexdigest()
        by, boundary = {"provider": "agent"}, f"agent:{digest}"
        source = {"source": {"kind": "agent", "boundary": boundary}, "summariser": by}
        whole = valid({**document_of(body, now or datetime.now(UTC), "manual", by), **document, **source})
        at = moment_of(whole["timestamp"])
        if at is None:
            given, example = whole["timestamp"][:60], "such as 2026-11-02T09:30:00Z"
            raise InvalidInput(f"timestamp {given!r} is no time in ISO 8601, {example}")
        whole["timestamp"] = written(at)
        first, last = places = whole["original_message_range"]
        if places != [0, 0] and not 1 <= first <= last:
            wanted = "must name the first and the last message, counted from 1"
            raise InvalidInput(f"original_message_range {places} {wanted}")
        if last:  # it says which messages it is about
            whole["summary"] = within(body, range(first, last + 1))
        _memories(KeptSummary(session, 0, whole), self.project.id)  # what leaves none leaves no file either
        about = {"project": self.project.id, "cwd": self.project.path}
        kept, new = self.shelf.keep(
            session, whole, about, instead_of=lambda earlier: _exactly(earlier, boundary)
        )
        self.store.memories.add(_memories(kept, self.project.id))
        return kept, new

    def summarize(
        self,
        path: Path,
        *,
        agent: str | None = None,
        provider: str | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> KeptSummary:
        """A transcript summed up from its last compaction to its end; nothing is stored.

        If the language model cannot be asked, the summary by rules stands, and `note` is told why.
        """
        from claude_memory.summaries.asking import asker
        from claude_memory.summaries.providers import ProviderDown

        material = open_material(path, self.settings, agent=agent, note=note)
        written = material.document()
        model = asker(self.home, replace(self.settings, summariser=provider or self.settings.summariser))
        if model is not None:
            try:
                answer = model.summary(material.exchanges, material.summary, path.name)
                written = material.document(answer, model.by)
            except ProviderDown as fault:
                note(f"the rules' summary stands: {fault}")
        return KeptSummary(material.stretch.session, 0, written)

    def sum_up(self) -> Sequence[KeptSummary]:
        """Sum up what is not yet, the latest sessions first; gives back what is new or better."""
        new: list[KeptSummary] = []
        for waiting in self.store.archive.waiting_compactions(AT_ONCE):
            try:
                made = self._session(waiting.session, waiting.reports)
            except (MemoryFault, OSError) as fault:
                logger = logs.logger("compaction")
                logger.warning("a session's compactions are not summed up now: %s", fault)
                # Where its id names no folder, no later try can do better.
                made = [] if isinstance(fault, InvalidInput) else None
            if made is not None:
                new += made
                self.store.archive.summed_up(waiting)
        return new

    def materials(self, session: str) -> Sequence[Material]:
        """What each compaction of a session took, while it can still be read."""
        wanted = EventFilter(session=SessionId(session), kinds=_REPORTS)
        reports = self.store.archive.events(SearchScope(None), wanted, limit=MAX_REPORTS)[::-1]
        told = self._transcript(SessionId(session), reports) if reports else None
        return [told.material(stretch, reports[0].project) for stretch in told.stretches] if told else []

    def _session(self, session: SessionId, reports: Sequence[Event]) -> Sequence[KeptSummary] | None:
        """What is new; None where nothing of the session can be read yet."""
        transcript, project = self._transcript(session, reports), reports[0].project
        if transcript is None:
            return None
        early = _under_way(transcript, reports)
        erased = self.store.memories.erased_sentences(project)  # an agent's own file may still say it
        messages = [one._replace(text=str(without(one.text, erased))) for one in transcript.messages]
        wanted = MemoryFilter(_TYPED, session=session, statuses=(Status.ACTIVE,))
        memories = self.store.memories.find(SearchScope((project,)), wanted)
        told, new = replace(transcript, messages=messages), []
        for stretch in (*told.stretches, *([early] if early else [])):
            clean = replace(stretch, agent_summary=str(without(stretch.agent_summary, erased)))
            took = told.material(clean, project, OPEN if stretch is early else "", memories)
            same, about = partial(_same_compaction, took=took), {"project": project, "cwd": took.cwd}
            kept, is_new = self.shelf.keep(session, took.document(), about, instead_of=same)
            self.remember(kept, project)
            new += [kept] if is_new else []
        return new

    def _transcript(self, session: SessionId, reports: Sequence[Event]) -> Transcript | None:
        """The agent's own file while there is one, else the archive."""
        named = [str(event.payload.get("transcript_path") or "") for event in reports]
        for path in dict.fromkeys(filter(None, named)):
            with suppress(InvalidInput, OSError):
                transcript = read(Path(path), self.settings)
                if transcript.session == session:
                    return transcript
        return archived(self.store.archive, session)

    def remember(self, kept: KeptSummary, project: ProjectId) -> None:
        """The memories of a summary, those that are stored already with the text of a better one."""
        made = {memory.id: memory for memory in _memories(kept, project)}
        self.store.memories.add(list(made.values()))
        scope, standing = SearchScope((project,)), MemoryFilter(statuses=(Status.ACTIVE,))
        for old in self.store.memories.find(scope, standing, ids=list(made)):
            now = made[old.id]
            if old.body != now.body and old.provenance.get("source") == "compaction":
                self.store.memories.update(replace(old, title=now.title, body=now.body, topics=now.topics))

    def upgrade(self) -> None:
        """Ask a language model about the latest summaries and sessions, where a setting names one."""
        if self.settings.summariser in ("", RULES):
            return
        from claude_memory.summaries import asking

        if asker := asking.asker(self.home, self.settings):
            asking.upgrade(self, asker)
            asking.ask_about_sessions(self.store, asker)

    def _is_ours(self, session: str) -> bool:
        """Whether the session is of this project: by what is noted of it, else by its memories."""
        if noted := self.shelf.about(session).get("project"):
            return noted in {self.project.id, *(name.removeprefix("id:") for name in self.project.identities)}
        wanted = MemoryFilter(session=SessionId(session))
        found = self.store.memories.find(SearchScope((self.project.id,)), wanted, limit=1)
        return any(item.project == self.project.id for item in found)


def _parsed(raw: bytes) -> dict[str, Any]:
    """The document that an agent wrote, without secrets; a bare `summary` object is one, too."""

    def number(text: str) -> float:  # Python also reads NaN and infinities, which nobody else can
        if not math.isfinite(float(text)):
            raise ValueError(f"{text} is no number")
        return float(text)

    try:
        given = json.loads(raw.decode("utf-8", "replace"), parse_constant=number, parse_float=number)
    except (ValueError, RecursionError) as fault:
        raise InvalidInput(f"no JSON on standard input: {fault}") from None
    if isinstance(given, dict) and "summary" not in given:
        given = {"summary": given}
    clean = redact_document(given)
    if not isinstance(clean, dict):
        raise InvalidInput("a summary is a JSON object; docs/compaction.md shows its form")
    return clean


# --- which compaction it is


def _under_way(transcript: Transcript, reports: Sequence[Event]) -> Stretch | None:
    """What a compaction takes whose boundary is not written yet, or never will be.

    That it began is enough to sum it up; the report that it is over brings the agent's own summary.
    """
    ends = [stretch.at for stretch in transcript.stretches]
    slack = {EventKind.COMPACTION_START: timedelta(), EventKind.COMPACTION: LATE}
    open_ = [one for one in reports if not any(at + slack[one.kind] >= one.timestamp for at in ends)]
    if not open_:
        return None
    begun = [one for one in open_ if one.kind is EventKind.COMPACTION_START]
    last = next((one for one in reversed(open_) if one.kind is EventKind.COMPACTION), open_[-1])
    start = next((one for one in reversed(begun) if last.timestamp - one.timestamp <= LONGEST), last)
    stretch = open_end(
        transcript.messages,
        session=transcript.session,
        at=last.timestamp,
        trigger=str(start.payload.get("trigger") or "auto"),
        boundary=start.id,
    )
    over = last.kind is EventKind.COMPACTION
    told = str(last.payload.get("compact_summary") or "") if over else ""
    return replace(stretch, agent_summary=told) if stretch else None


def _same_compaction(kept: Sequence[KeptSummary], took: Material) -> KeptSummary | None:
    """The summary that is there already of the same compaction.

    A hook tells of a compaction before and after it, a transcript when it is over: they meet because one that
    was summed up early stands for the first boundary behind it.
    """
    stretch = took.stretch
    if exact := _exactly(kept, stretch.boundary):
        return exact
    alike = [
        (at, one)
        for one in kept
        if one.kind != "agent"
        and (at := moment_of(one.document.get("timestamp")))
        and stretch.first <= one.document["original_message_range"][0] <= stretch.last
    ]
    # A report may come late: the boundary was found meanwhile.
    behind = [one for at, one in alike if at + LATE >= stretch.at] if took.kind == OPEN else []
    early = [one for at, one in alike if one.kind == OPEN and at <= stretch.at + LATE]
    return next(iter([*behind[:1], *early[-1:]]), None)


def _exactly(kept: Sequence[KeptSummary], boundary: str) -> KeptSummary | None:
    return next((one for one in kept if one.boundary == boundary), None)


# --- the memories that a summary leaves


def _memories(kept: KeptSummary, project: ProjectId) -> list[StoredMemory]:
    """The summary itself, and its entries where an agent or a model wrote them.

    What rules put into a summary is found in its exchanges already.
    """
    at = moment_of(kept.document.get("timestamp"))
    assert at is not None, "checked when it was written"
    pending = kept.summary.get("tasks_pending", ())
    text = "\n".join([kept.executive, *(["Open:", *(f"- {text}" for text in pending)] if pending else [])])
    files = [str(change.get("path")) for change in kept.summary.get("files_modified", ())][:20]
    about = {"messages": kept.document["original_message_range"], "files": files}
    told: list[Told] = [(Kind.SUMMARY, f"Compaction {kept.number}: {kept.executive}", text, about)]
    told += written_entries(kept.summary) if kept.provider not in ("", RULES) else []
    made = {}
    for kind, title, body, entry in told:
        whole = kind is Kind.SUMMARY
        name = "" if whole else f":{kind}:{title_of(body)}"
        evidence = [{"conversation": kept.session, "message": place} for place in entry.get("messages", ())]
        id_ = memory_id(f"compaction:{kept.session}:{kept.number}{name}")
        made[id_] = StoredMemory(
            id_,
            project,
            kind,
            title_of(title),
            body[:MOST_CHARACTERS],
            at,
            at,
            Trust.AGENT,
            session=SessionId(kept.session),
            topics=tuple(one for one in kept.summary.get("topics", ()) if whole or one in body.lower()),
            files=tuple(entry.get("files", ())),
            provenance={"source": "compaction", "summary": kept.id, "evidence": evidence},
        )
    return list(made.values())


def written_entries(summary: Mapping[str, Any]) -> Iterator[Told]:
    """Decisions, fixes and conventions that somebody wrote into a summary: kind, title, text and entry."""
    for entry in summary.get("key_decisions", ()):
        topic, decision = str(entry.get("topic") or "").strip(), str(entry["decision"])
        # “Use Procrastinate” is found by who asks about the queue only if it says that it is about the queue.
        shared = not topic or set(query_terms(decision)) & set(query_terms(topic))
        decision = decision if shared else f"{topic}: {decision}"
        because = f"\nBecause: {entry['rationale']}" if entry.get("rationale") else ""
        yield Kind.DECISION, decision, decision + because, entry
    for entry in summary.get("error_solutions", ()):
        yield Kind.FIX, str(entry["solution"]), f"Failed: {entry['error']}\n{entry['solution']}", entry
    for text in summary.get("conventions", ()):
        yield Kind.CONVENTION, str(text), str(text), {}
