"""The memories that a summary leaves: the summary itself, and what an agent or a model wrote down in it.

Pure. What rules put into a summary is found in its exchanges already, so rules leave the summary alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from claude_memory.model import Kind, ProjectId, SessionId, StoredMemory, Trust, memory_id
from claude_memory.summaries.model import RULES, KeptSummary
from claude_memory.text.words import query_terms
from claude_memory.transcripts.model import moment_of
from claude_memory.understand.titles import title_of

MOST_CHARACTERS = 20_000  # of any memory: an agent may save megabytes, and all of a memory is embedded


def memories(kept: KeptSummary, project: ProjectId) -> list[StoredMemory]:
    """The summary, and its entries where somebody wrote them."""
    by = kept.document.get("summariser")
    written = isinstance(by, Mapping) and by.get("provider") != RULES
    found = [_summary(kept, project), *(_entries(kept, project) if written else ())]
    return list({memory.id: memory for memory in found}.values())


def _summary(kept: KeptSummary, project: ProjectId) -> StoredMemory:
    pending = kept.summary.get("tasks_pending", ())
    body = "\n".join([kept.executive, *(["Open:", *(f"- {one}" for one in pending)] if pending else [])])
    first, last = kept.document["original_message_range"]
    return _memory(
        kept,
        project,
        Kind.SUMMARY,
        f"compaction:{kept.session}:{kept.number}",
        (f"Compaction {kept.number}: {kept.executive}", body),
        [first, last],
        [str(entry.get("path")) for entry in kept.summary.get("files_modified", ())][:20],
    )


def _entries(kept: KeptSummary, project: ProjectId) -> Iterator[StoredMemory]:
    for entry in kept.summary.get("key_decisions", ()):
        said = _with_topic(str(entry["decision"]), str(entry.get("topic") or ""))
        because = f"\nBecause: {entry['rationale']}" if entry.get("rationale") else ""
        yield _entry(kept, project, Kind.DECISION, said, said + because, entry)
    for entry in kept.summary.get("error_solutions", ()):
        body = f"Failed: {entry['error']}\n{entry['solution']}"
        yield _entry(kept, project, Kind.FIX, str(entry["solution"]), body, entry)
    for text in kept.summary.get("conventions", ()):
        yield _entry(kept, project, Kind.CONVENTION, text, text, {})


def _entry(
    kept: KeptSummary, project: ProjectId, kind: Kind, title: str, body: str, entry: Mapping[str, Any]
) -> StoredMemory:
    name = f"compaction:{kept.session}:{kept.number}:{kind}:{title_of(body)}"
    return _memory(
        kept, project, kind, name, (title, body), entry.get("messages", ()), entry.get("files", ())
    )


def _memory(
    kept: KeptSummary,
    project: ProjectId,
    kind: Kind,
    name: str,
    told: tuple[str, str],
    places: Sequence[int],
    files: Sequence[str],
) -> StoredMemory:
    at = _at(kept)
    topics = [one for one in kept.summary.get("topics", ()) if kind is Kind.SUMMARY or one in told[1].lower()]
    evidence = [{"conversation": kept.session, "message": place} for place in places]
    return StoredMemory(
        id=memory_id(name),
        project=project,
        kind=kind,
        title=title_of(told[0]),
        body=told[1][:MOST_CHARACTERS],
        created_at=at,
        updated_at=at,
        trust=Trust.AGENT,
        session=SessionId(kept.session),
        topics=tuple(topics),
        files=tuple(files),
        provenance={"source": "compaction", "summary": kept.id, "evidence": evidence},
    )


def _at(kept: KeptSummary) -> datetime:
    at = moment_of(kept.document.get("timestamp"))
    assert at is not None, "checked when it was written"
    return at


def _with_topic(decision: str, topic: str) -> str:
    """“Use Procrastinate” is found by who asks about the queue only if it says that it is about the queue."""
    told = not topic.strip() or set(query_terms(decision)) & set(query_terms(topic))
    return decision if told else f"{topic}: {decision}"
