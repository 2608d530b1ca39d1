"""Which messages a compaction kept word for word: its boundary names them by the ids of their lines.

An archive keeps no such ids, so a line is known by its moment. Reads the one file it is given, nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.store.archive_protocol import Message
from claude_memory.transcripts.model import list_of, mapping_of, moment_of, text_of

KEPT, HEAD, TAIL = "kept_moments", "kept_head", "kept_tail"
_ID = re.compile(rb'"uuid"\s*:\s*"([^"\\]{1,100})"')


def key_of(at: datetime) -> str:
    """What names a compaction: its moment, which the transcript and the archive both keep."""
    return at.isoformat(timespec="milliseconds")


def resolved(path: Path, reported: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """What is reported of each boundary, with the moments of the messages that it kept."""
    wanted = {id_ for facts in reported.values() for id_ in (*_named(facts), *_ends(facts)) if id_}
    moments = _moments(path, wanted) if wanted else {}
    return {key: {**facts, **_kept(facts, moments)} for key, facts in reported.items()}


def _named(facts: Mapping[str, Any]) -> list[str]:
    messages = mapping_of(facts, "preservedMessages")
    named = [*list_of(messages, "uuids"), *list_of(messages, "allUuids")]
    return [id_ for id_ in named if isinstance(id_, str)]


def _ends(facts: Mapping[str, Any]) -> tuple[str, str]:
    segment = mapping_of(facts, "preservedSegment")
    return text_of(segment, "headUuid"), text_of(segment, "tailUuid")


def _kept(facts: Mapping[str, Any], moments: Mapping[str, str]) -> dict[str, Any]:
    head, tail = (moments.get(id_, "") for id_ in _ends(facts))
    return {KEPT: {moments[id_] for id_ in _named(facts) if id_ in moments}, HEAD: head, TAIL: tail}


def _moments(path: Path, wanted: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    with path.open("rb") as handle:
        for raw in handle:
            if not any(id_.decode("utf-8", "replace") in wanted for id_ in _ID.findall(raw)):
                continue
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            at = moment_of(line.get("timestamp")) if isinstance(line, dict) else None
            if at is not None:
                found.setdefault(text_of(line, "uuid"), key_of(at))
    return found


def last_taken(messages: Sequence[Message], facts: Mapping[str, Any]) -> int | None:
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
    head, tail = facts.get(HEAD), facts.get(TAIL)
    return moment in facts.get(KEPT, ()) or bool(head and tail and head <= moment <= tail)
