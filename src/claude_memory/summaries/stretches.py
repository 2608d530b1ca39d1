"""What each compaction of a session took: its messages from one boundary to the next, ready to be summed up.

Read from the agent's own file while there is one, else from the archive, redacted as every import is.
The same every time. An archive keeps no ids of lines, so a line is known by its moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.imports.reading import Task, batches
from claude_memory.model import ProjectId, SearchScope, SessionId, StoredMemory
from claude_memory.settings import Settings
from claude_memory.store.model import Message
from claude_memory.store.sql.archive import Archive
from claude_memory.summaries.making import budget, summarise
from claude_memory.summaries.shelf import RULES, document_of
from claude_memory.text.quotation import about_tokens
from claude_memory.transcripts import sources
from claude_memory.transcripts.model import list_of, mapping_of, moment_of, text_of
from claude_memory.transcripts.sources import json_object
from claude_memory.understand import calls, sessions
from claude_memory.understand.exchanges import exchanges
from claude_memory.understand.model import Exchange, TaskItem

NOTE, SUMMARY = "note", "summary"
CREATED = "File created successfully"  # the result of writing a file that was not there
_BOUNDARY_LINE = b"compact_boundary"
_ID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,100})"')


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which messages of a session one compaction took: both ends count, from 1.

    `boundary` names the compaction itself, so that it is summed up once, whoever finds it.
    """

    session: SessionId
    boundary: str
    first: int
    last: int
    at: datetime
    trigger: str = "auto"
    tokens_before: int | None = None  # as the agent reported them
    tokens_after: int | None = None
    agent_summary: str = ""  # what the agent itself wrote of it, where that is there already


@dataclass(frozen=True, slots=True)
class Material:
    """What one compaction took, ready to be summed up."""

    stretch: Stretch
    exchanges: Sequence[Exchange]
    tokens: int  # of the messages, estimated
    kind: str  # where they were read: transcript, archive, open
    project: ProjectId
    cwd: str = ""
    earlier: Sequence[Exchange] = ()  # what compactions before took
    open_tasks: Sequence[TaskItem] = ()
    created: frozenset[str] = frozenset()  # files that were not there before
    defined: Mapping[str, Sequence[str]] = field(default_factory=dict)  # names that edits of a file define
    memories: Sequence[StoredMemory] = ()  # typed memories of the same messages

    def summary(self) -> dict[str, Any]:
        """The summary without a language model."""
        return summarise(
            self.exchanges,
            agent_summary=self.stretch.agent_summary,
            earlier=self.earlier,
            open_tasks=self.open_tasks,
            memories=self.memories,
            created=self.created,
            defined=self.defined,
            max_tokens=budget(self.tokens),
        )

    def document(self, summary: Mapping[str, Any], by: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A whole compact_NNN.json."""
        stretch = self.stretch
        whole = document_of(dict(summary), stretch.at, stretch.trigger, by or {"provider": RULES})
        whole["token_count_before"] = self.tokens
        if stretch.tokens_before is not None:
            whole |= {"token_count_before": stretch.tokens_before, "token_counts": "reported"}
        if stretch.tokens_after is not None:
            whole["token_count_after"] = stretch.tokens_after
        whole["original_message_range"] = [stretch.first, stretch.last]
        written = bool(stretch.agent_summary)
        whole["source"] = {"kind": self.kind, "boundary": stretch.boundary, "agent_summary": written}
        return whole


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of a session, counted from 1, and what each of its compactions took."""

    session: SessionId
    cwd: str
    messages: Sequence[Message]
    stretches: Sequence[Stretch]
    kind: str = "transcript"
    unread: int = 0  # lines that are no JSON, or too long

    def material(self, stretch: Stretch, project: ProjectId) -> Material:
        """What a stretch took, with what stood before it and nothing that came after."""
        until = [message for message in self.messages if message.ordinal <= stretch.last]
        taken = [message for message in until if message.ordinal >= stretch.first]
        whole = exchanges(self.session, until, self.cwd)
        return Material(
            stretch,
            # By its messages alone: an exchange that goes on behind a compaction is two in the summaries.
            exchanges(self.session, taken, self.cwd),
            sum(about_tokens(message.text) for message in taken),
            self.kind,
            project,
            self.cwd,
            [each for each in whole if each.first < stretch.first],
            sessions.open_tasks(whole),
            created=frozenset(_created(taken)),
            defined=_defined(taken, self.cwd),
        )


def _created(messages: Sequence[Message]) -> Iterator[str]:
    """The files that were written and had not been there."""
    inputs = {message.call: message.text for message in messages if message.role == "call" and message.call}
    for message in messages:
        if message.role == "result" and message.text.startswith(CREATED) and message.call in inputs:
            yield from calls.files_of(inputs[message.call])


def _defined(messages: Sequence[Message], cwd: str) -> dict[str, list[str]]:
    """The names that edits of each file define, the newest last."""
    names: dict[str, list[str]] = {}
    for message in messages:
        if message.role == "call" and message.tool.lower() in calls.CHANGING:
            new = calls.definitions_of(message.text)
            for path in calls.files_of(message.text):
                own = names.setdefault(calls.relative(path, cwd), [])
                own[:] = [*(name for name in own if name not in new), *new]
    return names


# --- reading a session


def read(path: Path, settings: Settings, *, agent: str | None = None) -> Transcript:
    """The session in a transcript; a file that no agent is known to write is refused."""
    files = list(sources.within(path.expanduser().absolute(), agent)) if path.is_file() else []
    if not files or not files[0].agent:
        raise InvalidInput(f"no agent is known to write such a file: {path}")
    parts = list(batches(Task(files[0]), settings))
    new = [message for part in parts for message in part.messages]
    if not new:
        raise InvalidInput(f"nothing was said in {path}")
    session = next((message.session for message in new if not message.parent), new[0].session)
    own = [message for message in new if message.session == session]
    messages = [
        Message(number, 0, number, new.role, new.at, new.text, new.tool, new.call, new.failed,
                new.event.id if new.event else "", new.speaker, new.manner, new.branch)
        for number, new in enumerate(own, start=1)
    ]  # fmt: skip
    cwd = next((message.cwd for message in own if message.cwd), "")
    taken = stretches(messages, session=session, figures=_figures(path))
    return Transcript(session, cwd, messages, taken, unread=sum(sum(part.unread.values()) for part in parts))


def archived(archive: Archive, session: SessionId) -> Transcript | None:
    """The session as the archive keeps it; figures come from its file while the agent keeps that."""
    conversation = next(iter(archive.by_sessions(SearchScope(None), [session])), None)
    if conversation is None:
        return None
    messages = archive.messages(conversation.number)
    facts = _figures(Path(conversation.path)) if conversation.path.endswith(".jsonl") else {}
    taken = stretches(messages, session=session, figures=facts)
    return Transcript(session, conversation.cwd, messages, taken, "archive")


def open_material(
    path: Path, settings: Settings, *, agent: str | None = None, note: Callable[[str], None] | None = None
) -> Material:
    """What was said in a transcript since its last compaction; all of it, where nothing was said since.

    What could not be read of it is told to `note`.
    """
    file = path.expanduser()
    if not file.is_file():
        raise InvalidInput(f"{'not a file' if file.exists() else 'no such file'}: {path}")
    if not file.stat().st_size:
        raise InvalidInput(f"the file is empty: {path}")
    transcript = read(file, settings, agent=agent)
    if transcript.unread and note:
        lines = "1 line" if transcript.unread == 1 else f"{transcript.unread:,} lines"
        note(f"{lines} of {path} could not be read")
    messages, session = transcript.messages, transcript.session
    at = max(message.at for message in messages)
    stretch = open_end(messages, session=session, at=at, trigger="manual", boundary="")
    stretch = stretch or Stretch(session, "", 1, len(messages), at, "manual")
    return transcript.material(stretch, ProjectId(""))


def open_summary(path: Path, settings: Settings) -> dict[str, Any]:
    """The summary of the open end of a transcript, now, as a compact_NNN.json would hold it; stores nothing.

    For who cannot wait for the drain: it opens no store, asks no model and checks no schema.
    """
    took = open_material(path, settings)
    return took.document(took.summary())


# --- where a session was compacted


def _key_of(at: datetime) -> str:
    """What names a compaction: its moment, which the transcript and the archive both keep."""
    return at.isoformat(timespec="milliseconds")


def _boundaries(messages: Sequence[Message]) -> list[Message]:
    """Where a session was compacted: at its note; at the summary that was left where no note was written."""
    marks: list[Message] = []
    noted = False
    for message in messages:
        if _is_note(message) or (message.role == SUMMARY and not noted):
            marks.append(message)
        noted = _is_note(message) or (noted and message.role not in (SUMMARY, "user"))
    return marks


def stretches(
    messages: Sequence[Message],
    *,
    session: SessionId,
    figures: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Stretch]:
    """One stretch for each compaction: from behind the one before to right before it or what it kept."""
    taken: list[Stretch] = []
    first = messages[0].ordinal if messages else 1
    by_ordinal = {message.ordinal: message for message in messages}
    for boundary in _boundaries(messages):
        following = by_ordinal.get(boundary.ordinal + 1)
        summary = following if following and following.role == SUMMARY and _is_note(boundary) else None
        end = summary or boundary
        facts = (figures or {}).get(_key_of(boundary.at), {})
        before = [message for message in messages if first <= message.ordinal < boundary.ordinal]
        left = end.text if end.role == SUMMARY else ""
        after = _count(facts, "postTokens")
        trigger = boundary.text.partition("(")[2].partition(")")[0].strip() if _is_note(boundary) else ""
        stretch = Stretch(
            session=session,
            boundary=_key_of(boundary.at),
            first=first,
            last=_last_taken(before, facts, boundary),
            at=boundary.at,
            trigger=_published(trigger),
            tokens_before=_count(facts, "preTokens"),
            tokens_after=after if after is not None else (about_tokens(left) if left else None),
            agent_summary=left,
        )
        taken.append(stretch)
        # The next compaction takes what this one kept; what it left is no message of its own.
        first = stretch.last + 1 if stretch.last < boundary.ordinal - 1 else end.ordinal + 1
    return [stretch for stretch in taken if stretch.last >= stretch.first]


def open_end(
    messages: Sequence[Message], *, session: SessionId, at: datetime, trigger: str, boundary: str
) -> Stretch | None:
    """What was said since the last compaction: what one that is under way will take. None if nothing was."""
    marks = {message.ordinal for message in _boundaries(messages)}
    last = max(marks, default=0)
    since = [
        message
        for message in messages
        if message.ordinal > last
        and not (message.role == SUMMARY and message.ordinal - 1 in marks)
        and message.at <= at
    ]
    if all(message.role in (NOTE, SUMMARY) for message in since):
        return None
    return Stretch(session, boundary, since[0].ordinal, since[-1].ordinal, at, _published(trigger))


def _is_note(message: Message) -> bool:
    return message.role == NOTE and message.text.startswith("compacted")


def _published(trigger: str) -> str:
    """The published name of what set a compaction off."""
    return trigger if trigger in ("manual", "auto") else ("size_limit" if trigger else "auto")


def _count(facts: Mapping[str, Any], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _last_taken(before: Sequence[Message], facts: Mapping[str, Any], boundary: Message) -> int:
    """The last message that a compaction took: all that was said before it, or up to what it kept.

    What was kept at the very beginning stays in the range: no later one could hold it.
    """
    moments, (head, tail) = facts.get("kept", ()), facts.get("kept_segment", ("", ""))
    kept = {
        message.ordinal
        for message in before
        if (moment := _key_of(message.at)) in moments or (head and tail and head <= moment <= tail)
    }
    if kept and len(kept) == len(before):
        return before[0].ordinal - 1
    others = {message.ordinal for message in before} - kept
    return max((other for other in others if kept and other < max(kept)), default=boundary.ordinal - 1)


# --- what the agent's own file says of its boundaries


def _figures(path: Path) -> dict[str, Mapping[str, Any]]:
    """What the file says of each of its compactions: numbers and moments, so nothing to redact."""
    try:
        marks = _lines(path, lambda raw: _BOUNDARY_LINE in raw[:2_000])
        facts = {
            _key_of(at): line["compactMetadata"] for at, line in marks if mapping_of(line, "compactMetadata")
        }
        wanted = {id_.encode() for each in facts.values() for id_ in _kept_ids(each) if id_}
        kept = _lines(path, lambda raw: not wanted.isdisjoint(_ID.findall(raw))) if wanted else []
    except OSError:
        return {}
    moments = {text_of(line, "uuid"): _key_of(at) for at, line in reversed(kept)}
    for key, each in facts.items():
        head, tail, *single = (moments.get(id_, "") for id_ in _kept_ids(each))
        facts[key] = {**each, "kept": set(filter(None, single)), "kept_segment": (head, tail)}
    return facts


def _kept_ids(facts: Mapping[str, Any]) -> list[str]:
    """The ends of the segment that was kept, then the single lines that were."""
    segment, messages = mapping_of(facts, "preservedSegment"), mapping_of(facts, "preservedMessages")
    single = [*list_of(messages, "uuids"), *list_of(messages, "allUuids")]
    ends = [text_of(segment, "headUuid"), text_of(segment, "tailUuid")]
    return [*ends, *(id_ for id_ in single if isinstance(id_, str))]


def _lines(path: Path, wanted: Callable[[bytes], bool]) -> list[tuple[datetime, dict[str, Any]]]:
    """The lines of a file that are wanted and say when they were written."""
    with path.open("rb") as handle:
        parsed = [line for raw in handle if wanted(raw) and (line := json_object(raw)) is not None]
    return [(at, line) for line in parsed if (at := moment_of(line.get("timestamp"))) is not None]
