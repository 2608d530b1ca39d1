"""Which messages each compaction of a session took: from one boundary to the next, the same every time.

Pure, but for `figures`, which reads what the agent's own file says of its boundaries: counts, and which
messages were kept word for word. An archive keeps no ids of lines, so a line is known by its moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.model import SessionId
from claude_memory.store.archive_model import Message
from claude_memory.summaries.model import Stretch
from claude_memory.text.tokens import about_tokens
from claude_memory.transcripts.model import list_of, mapping_of, moment_of, text_of
from claude_memory.transcripts.sources import json_object

NOTE, SUMMARY = "note", "summary"
_BOUNDARY_LINE = b"compact_boundary"
_ID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,100})"')


def key_of(at: datetime) -> str:
    """What names a compaction: its moment, which the transcript and the archive both keep."""
    return at.isoformat(timespec="milliseconds")


def boundaries(messages: Sequence[Message]) -> list[Message]:
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
    for boundary in boundaries(messages):
        following = by_ordinal.get(boundary.ordinal + 1)
        summary = following if following and following.role == SUMMARY and _is_note(boundary) else None
        end = summary or boundary
        facts = (figures or {}).get(key_of(boundary.at), {})
        before = [message for message in messages if first <= message.ordinal < boundary.ordinal]
        left = end.text if end.role == SUMMARY else ""
        after = _count(facts, "postTokens")
        stretch = Stretch(
            session=session,
            boundary=key_of(boundary.at),
            first=first,
            last=_last_taken(before, facts, boundary),
            at=boundary.at,
            trigger=_trigger_in(boundary),
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
    marks = {message.ordinal for message in boundaries(messages)}
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


def _trigger_in(boundary: Message) -> str:
    named = boundary.text.partition("(")[2].partition(")")[0].strip() if _is_note(boundary) else ""
    return _published(named)


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
        if (moment := key_of(message.at)) in moments or (head and tail and head <= moment <= tail)
    }
    if kept and len(kept) == len(before):
        return before[0].ordinal - 1
    others = {message.ordinal for message in before} - kept
    return max((other for other in others if kept and other < max(kept)), default=boundary.ordinal - 1)


# --- what the agent's own file says


def figures(path: Path) -> dict[str, Mapping[str, Any]]:
    """What the file says of each of its compactions: numbers and moments, so nothing to redact."""
    facts: dict[str, Mapping[str, Any]] = {}
    try:
        with path.open("rb") as handle:
            for raw in handle:
                line = json_object(raw) or {} if _BOUNDARY_LINE in raw[:2_000] else {}
                at = moment_of(line.get("timestamp"))
                if isinstance(line.get("compactMetadata"), dict) and at is not None:
                    facts[key_of(at)] = line["compactMetadata"]
        moments = _moments(path, {id_ for each in facts.values() for id_ in _ids(each) if id_})
    except OSError:
        return {}
    for key, each in facts.items():
        head, tail, *kept = (moments.get(id_, "") for id_ in _ids(each))
        facts[key] = {**each, "kept": set(filter(None, kept)), "kept_segment": (head, tail)}
    return facts


def _ids(facts: Mapping[str, Any]) -> list[str]:
    """The ends of the segment that was kept, then the single lines that were."""
    segment, messages = mapping_of(facts, "preservedSegment"), mapping_of(facts, "preservedMessages")
    single = [*list_of(messages, "uuids"), *list_of(messages, "allUuids")]
    ends = [text_of(segment, "headUuid"), text_of(segment, "tailUuid")]
    return [*ends, *(id_ for id_ in single if isinstance(id_, str))]


def _moments(path: Path, wanted: set[str]) -> dict[str, str]:
    """When the lines of these ids were written."""
    moments: dict[str, str] = {}
    with path.open("rb") as handle:
        for raw in handle if wanted else ():
            if any(id_.decode("utf-8", "replace") in wanted for id_ in _ID.findall(raw)):
                line = json_object(raw) or {}
                at = moment_of(line.get("timestamp"))
                if at is not None:
                    moments.setdefault(text_of(line, "uuid"), key_of(at))
    return moments
