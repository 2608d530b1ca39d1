"""A summary that an agent wrote itself: checked, cleaned of secrets, kept and indexed like any other."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.compaction import pointing
from claude_memory.compaction.memories import memories
from claude_memory.compaction.model import KeptSummary, about_tokens
from claude_memory.compaction.schema import faults, summary_faults
from claude_memory.compaction.store import Shelf
from claude_memory.distil.turns import AGENT, Origin, Turn
from claude_memory.errors import InvalidInput
from claude_memory.ingest.redact import redact_document
from claude_memory.model import Project, SessionId
from claude_memory.store.protocol import Store


def save(
    home: Path, store: Store, project: Project, session: str, raw: bytes, *, now: datetime
) -> KeptSummary:
    """Keep it under the session's next number; the same text is kept once."""
    document = _read(raw)
    body = document["summary"]
    boundary = (
        "agent:" + hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=12).hexdigest()
    )
    whole = {
        "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
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
    first, last = whole["original_message_range"]
    if last:  # it says which messages it is about
        whole["summary"] = pointing.within(body, range(first, last + 1).__contains__)
    turn = Turn(AGENT, f"{session}:{boundary}", now, str(body["executive"]))
    origin = Origin(SessionId(session), project.id, project.path, "agent")
    memories(KeptSummary(session, 0, whole), [turn], origin)  # what leaves no memories leaves no file either
    about = {"project": project.id, "cwd": project.path}
    kept, _ = Shelf(home).keep(session, boundary, lambda: whole, about)
    store.add([], memories(kept, [turn], origin))
    return kept


def _read(raw: bytes) -> dict[str, Any]:
    """The document, without secrets; a bare `summary` object is one, too."""
    try:
        found = json.loads(raw.decode("utf-8", "replace"))
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
