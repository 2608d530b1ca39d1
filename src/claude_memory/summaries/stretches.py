"""Which messages each compaction of a session took: from one boundary to the next, the same every time.

Pure, but for `figures`, which reads what the agent's own file says of its boundaries: counts, and which
messages were kept word for word. An archive keeps no ids of lines, so a line is known by its moment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.model import SessionId
from claude_memory.store.archive_protocol import Message
from claude_memory.summaries.model import Stretch, about_tokens
from claude_memory.transcripts.model import list_of, mapping_of, moment_of, text_of

NOTE, SUMMARY = "note", "summary"
_COMPACTED = "compacted"
_BOUNDARY_LINE = b"compact_boundary"
_ID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,100})"')
_KEPT, _HEAD, _TAIL = "kept_moments", "kept_head", "kept_tail"


def key_of(at: datetime) -> str:
    """What names a compaction: its moment, which the transcript and the archive both keep."""
    return at.isoformat(timespec="milliseconds")


def boundaries(messages: Sequence[Message]) -> list[Message]:
    """Where a session was compacted: at its note; at the summary that was left where no note was written."""
    found: list[Message] = []
    noted = False
    for message in messages:
        if _is_note(message) or (message.role == SUMMARY and not noted):
            found.append(message)
        noted = _is_note(message) or (noted and message.role not in (SUMMARY, "user"))
    return found


def stretches(
    messages: Sequence[Message],
    *,
    session: SessionId = SessionId(""),  # noqa: B008  a name, not a call that does anything
    figures: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Stretch]:
    """One stretch for each compaction: from behind the one before to right before it or what it kept."""
    found: list[Stretch] = []
    first = messages[0].ordinal if messages else 1
    by_ordinal = {message.ordinal: message for message in messages}
    for boundary in boundaries(messages):
        following = by_ordinal.get(boundary.ordinal + 1)
        summary = following if following and following.role == SUMMARY and _is_note(boundary) else None
        facts = (figures or {}).get(key_of(boundary.at), {})
        before = [one for one in messages if first <= one.ordinal < boundary.ordinal]
        one = _stretch(session, boundary, first, summary or boundary, facts, before)
        found.append(one)
        kept = one.last < boundary.ordinal - 1  # the next compaction takes what this one kept
        # What the compaction left is no message of its own.
        first = one.last + 1 if kept else (summary or boundary).ordinal + 1
    return [one for one in found if one.last >= one.first]


def open_end(
    messages: Sequence[Message], *, session: SessionId, at: datetime, trigger: str, boundary: str
) -> Stretch | None:
    """What was said since the last compaction: what one that is under way will take. None if nothing was."""
    marks = {one.ordinal for one in boundaries(messages)}
    last = max(marks, default=0)
    since = [
        one
        for one in messages
        if one.ordinal > last and not (one.role == SUMMARY and one.ordinal - 1 in marks) and one.at <= at
    ]
    if not any(one.role not in (NOTE, SUMMARY) for one in since):
        return None
    return Stretch(session, boundary, since[0].ordinal, since[-1].ordinal, at, trigger_of(trigger))


def tokens_in(messages: Sequence[Message], stretch: Stretch) -> int:
    """About how many tokens a stretch takes in an agent's window."""
    return sum(about_tokens(one.text) for one in messages if stretch.first <= one.ordinal <= stretch.last)


def _is_note(message: Message) -> bool:
    return message.role == NOTE and message.text.startswith(_COMPACTED)


def _stretch(
    session: SessionId,
    boundary: Message,
    first: int,
    end: Message,
    facts: Mapping[str, Any],
    before: Sequence[Message],
) -> Stretch:
    left = end.text if end.role == SUMMARY else ""
    after = _count(facts, "postTokens")
    last = _last_taken(before, facts)
    named = boundary.text.partition("(")[2].partition(")")[0].strip()
    return Stretch(
        session=session,
        boundary=key_of(boundary.at),
        first=first,
        last=boundary.ordinal - 1 if last is None else last,
        at=boundary.at,
        trigger=trigger_of(named) if _is_note(boundary) else "auto",
        tokens_before=_count(facts, "preTokens"),
        tokens_after=after if after is not None else (about_tokens(left) if left else None),
        agent_summary=left,
    )


def trigger_of(named: str) -> str:
    """The published name of what set a compaction off."""
    return named if named in ("manual", "auto") else ("size_limit" if named else "auto")


def _count(facts: Mapping[str, Any], name: str) -> int | None:
    found = facts.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


# --- what was kept word for word


def figures(path: Path) -> dict[str, Mapping[str, Any]]:
    """What the agent's file says of each of its compactions: numbers and moments, so nothing to redact."""
    found: dict[str, Mapping[str, Any]] = {}
    try:
        with path.open("rb") as handle:
            for raw in handle:
                line = _line(raw) if _BOUNDARY_LINE in raw[:2_000] else {}
                facts, at = line.get("compactMetadata"), moment_of(line.get("timestamp"))
                if isinstance(facts, dict) and at is not None:
                    found[key_of(at)] = facts
        wanted = {id_ for facts in found.values() for id_ in (*_named(facts), *_ends(facts)) if id_}
        moments = _moments(path, wanted) if wanted else {}
    except OSError:
        return {}
    return {key: {**facts, **_kept(facts, moments)} for key, facts in found.items()}


def _line(raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return line if isinstance(line, dict) else {}


def _named(facts: Mapping[str, Any]) -> list[str]:
    messages = mapping_of(facts, "preservedMessages")
    named = [*list_of(messages, "uuids"), *list_of(messages, "allUuids")]
    return [id_ for id_ in named if isinstance(id_, str)]


def _ends(facts: Mapping[str, Any]) -> tuple[str, str]:
    segment = mapping_of(facts, "preservedSegment")
    return text_of(segment, "headUuid"), text_of(segment, "tailUuid")


def _kept(facts: Mapping[str, Any], moments: Mapping[str, str]) -> dict[str, Any]:
    head, tail = (moments.get(id_, "") for id_ in _ends(facts))
    return {_KEPT: {moments[id_] for id_ in _named(facts) if id_ in moments}, _HEAD: head, _TAIL: tail}


def _moments(path: Path, wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    with path.open("rb") as handle:
        for raw in handle:
            if any(id_.decode("utf-8", "replace") in wanted for id_ in _ID.findall(raw)):
                line = _line(raw)
                at = moment_of(line.get("timestamp"))
                if at is not None:
                    found.setdefault(text_of(line, "uuid"), key_of(at))
    return found


def _last_taken(messages: Sequence[Message], facts: Mapping[str, Any]) -> int | None:
    """The last message before those that a compaction kept; none if it took all that was said before it.

    What was kept at the very beginning stays in the range: no later one could hold it.
    """
    kept = {one.ordinal for one in messages if _is_kept(key_of(one.at), facts)}
    if not kept:
        return None
    if len(kept) == len(messages):
        return messages[0].ordinal - 1
    before = [one.ordinal for one in messages if one.ordinal not in kept and one.ordinal < max(kept)]
    return max(before, default=None)


def _is_kept(moment: str, facts: Mapping[str, Any]) -> bool:
    head, tail = facts.get(_HEAD), facts.get(_TAIL)
    return moment in facts.get(_KEPT, ()) or bool(head and tail and head <= moment <= tail)
