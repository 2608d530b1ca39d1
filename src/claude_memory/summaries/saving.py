"""A summary that an agent wrote itself: checked, cleaned of secrets, kept and indexed like any other."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.model import Project
from claude_memory.redact import redact_document
from claude_memory.store.protocol import Store
from claude_memory.summaries.asking import within
from claude_memory.summaries.memories import memories
from claude_memory.summaries.model import KeptSummary, about_tokens
from claude_memory.summaries.schema import faults, summary_faults
from claude_memory.summaries.shelf import Shelf
from claude_memory.transcripts.model import moment_of


def save(
    home: Path, store: Store, project: Project, session: str, raw: bytes, *, now: datetime
) -> tuple[KeptSummary, bool]:
    """Keep it under the session's next number; the same text is kept once: the summary, and if it is new."""
    document = _read(raw)
    body = document["summary"]
    boundary = (
        "agent:" + hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=12).hexdigest()
    )
    whole = {
        "timestamp": _written(now),
        "compaction_trigger": "manual",
        "token_count_before": 0,
        "token_count_after": about_tokens(json.dumps(body, ensure_ascii=False)),
        "token_counts": "estimated",
        "embeddings": {"model": None, "summary_vector": [], "topic_vectors": {}},
        "original_message_range": [0, 0],
        **document,
        "source": {"kind": "agent", "boundary": boundary},
        "summariser": {"provider": "agent"},
    }
    wrong = faults(whole)
    if wrong:
        raise InvalidInput(f"the summary does not fit the schema: {'; '.join(wrong[:5])}")
    whole["timestamp"] = _written(_moment(whole["timestamp"]))
    first, last = _range(whole["original_message_range"])
    if last:  # it says which messages it is about
        whole["summary"] = within(body, range(first, last + 1))
    memories(KeptSummary(session, 0, whole), project.id)  # what leaves no memories leaves no file either
    kept, new = Shelf(home).keep(
        session,
        lambda: whole,
        {"project": project.id, "cwd": project.path},
        instead_of=lambda known: next((one for one in known if one.boundary == boundary), None),
    )
    store.add([], memories(kept, project.id))
    return kept, new


def _written(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(text: str) -> datetime:
    at = moment_of(text)
    if at is None:
        raise InvalidInput(f"timestamp {text[:60]!r} is no time in ISO 8601, such as 2026-11-02T09:30:00Z")
    return at


def _range(given: list[int]) -> tuple[int, int]:
    """The first and the last message; 0 and 0 where it is not known which they are."""
    first, last = given
    if (first, last) != (0, 0) and not 1 <= first <= last:
        raise InvalidInput(
            f"original_message_range {given} must name the first and the last message, counted from 1"
        )
    return first, last


def _read(raw: bytes) -> dict[str, Any]:
    """The document, without secrets; a bare `summary` object is one, too."""
    try:
        found = json.loads(raw.decode("utf-8", "replace"), parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError) as fault:
        raise InvalidInput(f"no JSON on standard input: {fault}") from None
    if isinstance(found, dict) and "summary" not in found:
        found = {"summary": found}
    clean, _ = redact_document(found)
    if not isinstance(clean, dict):
        raise InvalidInput("a summary is a JSON object; docs/compaction.md shows its form")
    wrong = summary_faults(clean.get("summary"))
    if wrong:
        raise InvalidInput(f"the summary does not fit the schema: {'; '.join(wrong[:5])}")
    return clean


def _number(text: str) -> float:
    """A number that JSON can hold: Python also reads and writes NaN and infinities, which nobody else can."""
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text} is no number")
    return found
