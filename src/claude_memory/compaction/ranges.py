"""Which messages each compaction of a session took, from its transcript: exact, and the same every time.

Reads through the same redaction as every import. Pure but for reading the one file it is given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from claude_memory.compaction import preserved
from claude_memory.compaction.model import Stretch, about_tokens
from claude_memory.compaction.preserved import key_of
from claude_memory.distil.turns import Turn
from claude_memory.errors import InvalidInput
from claude_memory.ingest import session_turns
from claude_memory.ingest.import_state import Start
from claude_memory.ingest.reading import Task, batches
from claude_memory.model import SessionId
from claude_memory.settings import Settings
from claude_memory.store.archive_protocol import Message, NewMessage
from claude_memory.transcripts import places
from claude_memory.transcripts.model import moment_of
from claude_memory.understand.tools import given_of, is_list

NOTE, SUMMARY = "note", "summary"
_COMPACTED = "compacted"
_BOUNDARY_LINE = b"compact_boundary"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A session as its transcript tells it, redacted; messages count from 1."""

    session: SessionId
    cwd: str
    messages: tuple[Message, ...]
    reported: Mapping[str, Mapping[str, Any]]  # what the agent says of each boundary, by its time
    kind: str = "transcript"
    unread: int = 0  # lines that are no JSON, or too long


def read(path: Path, settings: Settings, *, agent: str | None = None) -> Transcript:
    """The session in a transcript; a file that no agent is known to write is refused."""
    sources = list(places.within(path.expanduser().absolute(), agent)) if path.is_file() else []
    if not sources:
        raise InvalidInput(f"no agent is known to write such a file: {path}")
    task = Task(sources[0], Start())
    parts = list(batches(task, settings))
    new = [message for part in parts for message in part.messages]
    if not new:
        raise InvalidInput(f"nothing was said in {path}")
    main = next((message.session for message in new if not message.parent), new[0].session)
    own = [message for message in new if message.session == main]
    messages = tuple(_message(number, one) for number, one in enumerate(own, start=1))
    cwd = next((one.cwd for one in own if one.cwd), "")
    unread = sum(part.skipped for part in parts)
    return Transcript(main, cwd, messages, reported(path), unread=unread)


def _message(number: int, new: NewMessage) -> Message:
    event = new.event.id if new.event else ""
    return Message(number, 0, number, new.role, new.at, new.text, new.tool, new.call, new.failed, event)


def reported(path: Path) -> dict[str, Mapping[str, Any]]:
    """The agent's own figures of its compactions: numbers and moments, so nothing needs redaction."""
    found: dict[str, Mapping[str, Any]] = {}
    try:
        with path.open("rb") as handle:
            for raw in handle:
                if _BOUNDARY_LINE not in raw[:2_000]:
                    continue
                try:
                    line = json.loads(raw)
                except (ValueError, RecursionError):
                    continue
                facts = line.get("compactMetadata") if isinstance(line, dict) else None
                at = moment_of(line.get("timestamp")) if isinstance(facts, dict) else None
                if isinstance(facts, dict) and at is not None:
                    found[key_of(at)] = facts
        return preserved.resolved(path, found)
    except OSError:
        return {}


def boundaries(messages: Sequence[Message]) -> list[Message]:
    """Where a session was compacted: at its note; at the summary that was left where no note was written."""
    found: list[Message] = []
    noted = False
    for message in messages:
        if _is_note(message) or (message.role == SUMMARY and not noted):
            found.append(message)
        noted = _is_note(message) or (noted and message.role not in (SUMMARY, "user"))
    return found


def _is_note(message: Message) -> bool:
    return message.role == NOTE and message.text.startswith(_COMPACTED)


def stretches(transcript: Transcript) -> list[Stretch]:
    """One stretch for each compaction: from behind the one before to right before it or what it kept."""
    found: list[Stretch] = []
    first = 1
    messages = {message.ordinal: message for message in transcript.messages}
    for boundary in boundaries(transcript.messages):
        following = messages.get(boundary.ordinal + 1)
        summary = following if following and following.role == SUMMARY and _is_note(boundary) else None
        found.append(_stretch(transcript, boundary, first, summary or boundary))
        kept = found[-1].last < boundary.ordinal - 1  # the next compaction takes what this one kept
        # What the compaction left is no message of its own.
        first = found[-1].last + 1 if kept else (summary or boundary).ordinal + 1
    return [one for one in found if one.last >= one.first]


def _stretch(transcript: Transcript, boundary: Message, first: int, end: Message) -> Stretch:
    facts = transcript.reported.get(key_of(boundary.at), {})
    left = end.text if end.role == SUMMARY else ""
    after = _count(facts, "postTokens")
    before = [one for one in transcript.messages if first <= one.ordinal < boundary.ordinal]
    last = preserved.last_taken(before, facts)
    return Stretch(
        session=transcript.session,
        boundary=key_of(boundary.at),
        first=first,
        last=boundary.ordinal - 1 if last is None else last,
        at=boundary.at,
        trigger=_trigger(boundary.text) if _is_note(boundary) else "auto",
        tokens_before=_count(facts, "preTokens"),
        tokens_after=after if after is not None else (about_tokens(left) if left else None),
    )


def _trigger(text: str) -> str:
    named = text.partition("(")[2].partition(")")[0].strip()
    return named if named in ("manual", "auto") else ("size_limit" if named else "auto")


def _count(facts: Mapping[str, Any], name: str) -> int | None:
    found = facts.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def turns_of(transcript: Transcript, first: int, last: int) -> list[Turn]:
    """The turns of a range of messages, with the inputs of todo lists, which distilling does not need."""
    chosen = [one for one in transcript.messages if first <= one.ordinal <= last]
    calls = {one.call: one for one in chosen if one.role == "call" and one.call}
    results = {one.ordinal: one for one in chosen if one.role == "result"}
    turns = session_turns.from_messages(transcript.session, chosen)
    return [
        _with_list(turn, calls.get(results[turn.ref["message"]].call)) if _lists(turn) else turn
        for turn in turns
    ]


def _lists(turn: Turn) -> bool:
    return is_list(turn.tool)


def _with_list(turn: Turn, call: Message | None) -> Turn:
    return replace(turn, given=given_of(call.text) if call else {})
