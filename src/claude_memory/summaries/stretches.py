"""What each compaction of a session took: its messages from one boundary to the next, ready to be summed up.

Read from the agent's own file while there is one, else from the archive, redacted as every import is.
The same every time. An archive keeps no ids of lines, so a line is known by its moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.imports.importer import Task, batches
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
from claude_memory.understand import calls
from claude_memory.understand.exchanges import exchanges, open_tasks
from claude_memory.understand.model import Exchange

NOTE, SUMMARY = "note", "summary"
CREATED = "File created successfully"  # the result of writing a file that was not there


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
    """What one compaction took, and its summary by rules."""

    stretch: Stretch
    exchanges: Sequence[Exchange]
    tokens: int  # of the messages, estimated
    kind: str  # where they were read: transcript, archive, open
    project: ProjectId
    cwd: str
    summary: Mapping[str, Any]

    def document(
        self, summary: Mapping[str, Any] | None = None, by: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """A whole compact_NNN.json; by rules, unless somebody else summed up."""
        stretch, by = self.stretch, by or {"provider": RULES}
        body = dict(self.summary if summary is None else summary)
        whole = document_of(body, stretch.at, stretch.trigger, by) | {"token_count_before": self.tokens}
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

    def material(
        self, stretch: Stretch, project: ProjectId, kind: str = "", memories: Sequence[StoredMemory] = ()
    ) -> Material:
        """What a stretch took, with what stood before it and nothing that came after."""
        until = [message for message in self.messages if message.ordinal <= stretch.last]
        taken = [message for message in until if message.ordinal >= stretch.first]
        whole = exchanges(self.session, until, self.cwd)
        # By its messages alone: an exchange that goes on behind a compaction is two in the summaries.
        own = exchanges(self.session, taken, self.cwd)
        tokens = sum(about_tokens(message.text) for message in taken)
        created, defined = _edits(taken, self.cwd)
        summary = summarise(
            own,
            agent_summary=stretch.agent_summary,
            earlier=[each for each in whole if each.first < stretch.first],
            open_tasks=open_tasks(whole),
            memories=memories,
            created=created,
            defined=defined,
            max_tokens=budget(tokens),
        )
        return Material(stretch, own, tokens, kind or self.kind, project, self.cwd, summary)


def _edits(messages: Sequence[Message], cwd: str) -> tuple[set[str], dict[str, list[str]]]:
    """The files that had not been there, and the names that edits of each file define, the newest last."""
    created: set[str] = set()
    names: dict[str, list[str]] = {}
    pointed: dict[str, list[str]] = {}
    for message in messages:
        if message.role == "call" and message.tool.lower() in calls.CHANGING:
            new = calls.definitions_of(message.text)
            pointed[message.call] = [calls.relative(path, cwd) for path in calls.files_of(message.text)]
            for path in pointed[message.call]:
                names[path] = [*(name for name in names.get(path, ()) if name not in new), *new]
        elif message.role == "result" and message.text.startswith(CREATED):
            created.update(pointed.get(message.call, ()))
    return created, names


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

    For who cannot wait for the drain, too: it opens no store, asks no model and checks no schema. What could
    not be read is told to `note`.
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
        following, noted = by_ordinal.get(boundary.ordinal + 1), _is_note(boundary)
        left = following if following and following.role == SUMMARY and noted else boundary
        facts = (figures or {}).get(_key_of(boundary.at), {})
        before = [message for message in messages if first <= message.ordinal < boundary.ordinal]
        kept = facts.get("kept", ())
        stayed = [message for message in before if kept and kept[0] <= _key_of(message.at) <= kept[-1]]
        # What it kept counts only where that is the end of what stood before it.
        last = (stayed[0] if stayed and stayed[-1] == before[-1] else boundary).ordinal - 1
        told = left.text if left.role == SUMMARY else ""
        trigger = boundary.text.partition("(")[2].partition(")")[0] if noted else ""
        counts = [facts.get(name) for name in ("preTokens", "postTokens")]
        tokens, after = (count if type(count) is int and count >= 0 else None for count in counts)
        after = about_tokens(told) if after is None and told else after
        stretch = Stretch(
            session, _key_of(boundary.at), first, last, boundary.at, _published(trigger), tokens, after, told
        )
        taken += [stretch] if last >= first else []
        # The next compaction takes what this one kept; what it left is no message of its own.
        first = last + 1 if last < boundary.ordinal - 1 else left.ordinal + 1
    return taken


def open_end(
    messages: Sequence[Message], *, session: SessionId, at: datetime, trigger: str, boundary: str
) -> Stretch | None:
    """What was said since the last compaction: what one that is under way will take. None if nothing was."""
    marks = {message.ordinal for message in _boundaries(messages)}
    since = [
        message
        for message in messages
        if message.ordinal > max(marks, default=0)
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


# --- what the agent's own file says of its boundaries


def _figures(path: Path) -> dict[str, dict[str, Any]]:
    """What the file says of each of its compactions: numbers and moments, so nothing to redact."""
    try:
        marks = list(_lines(path, [b"compact_boundary"]))
        facts = {_key_of(at): dict(mapping_of(line, "compactMetadata")) for at, line in marks}
        kept: dict[str, list[str]] = {}  # the first and the last line that each kept
        for key, told in facts.items():
            segment = mapping_of(told, "preservedSegment")
            named = list_of(mapping_of(told, "preservedMessages"), "uuids")
            ends = [segment.get("headUuid"), segment.get("tailUuid"), *named[:1], *named[-1:]]
            kept[key] = [id_ for id_ in ends if id_ and isinstance(id_, str)]
        wanted = [id_.encode() for ends in kept.values() for id_ in ends]
        moments = {text_of(line, "uuid"): _key_of(at) for at, line in _lines(path, wanted)} if wanted else {}
    except OSError:
        return {}
    for key, ids in kept.items():
        facts[key]["kept"] = sorted(moments[id_] for id_ in ids if id_ in moments)
    return facts


def _lines(path: Path, marks: Sequence[bytes]) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """The lines of a file that hold one of the marks and say when they were written."""
    with path.open("rb") as handle:
        for raw in handle:
            line = json_object(raw) if any(mark in raw for mark in marks) else None
            if line and (at := moment_of(line.get("timestamp"))):
                yield at, line
