"""What is known as a whole: compaction summaries, the project's knowledge, connections. Only reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from claude_memory.errors import NotFound
from claude_memory.model import Kind, StoredMemory, Trust
from claude_memory.surfaces.mcp.tool_answers import Access, ToolAnswer, fenced, line
from claude_memory.text.quotation import named, plain, unquoted

if TYPE_CHECKING:
    from claude_memory.graph.knowledge import Knowledge as ProjectKnowledge
    from claude_memory.graph.walk import Connection as Tie
    from claude_memory.summaries.shelf import KeptSummary

SHOWN_A_KIND = 12
SHOWN_TOPICS = 20
SHOWN_FILES = 10
SHOWN_SUMMARIES = 20


class SummaryLine(ToolAnswer):
    """One compaction in a list."""

    session_id: str
    summary_id: str
    timestamp: str = ""
    executive: str = ""


class Summaries(ToolAnswer):
    """The list, or one summary in full as JSON text."""

    summaries: tuple[SummaryLine, ...] = ()
    summary: str = ""
    note: str = ""


class Known(ToolAnswer):
    """One thing that is known; `times` it came up, and what speaks against it."""

    id: str
    text: str
    reason: str = ""
    times: int = 1
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()


class KeyFile(ToolAnswer):
    """A file that many memories are about."""

    path: str
    memories: int


class KnownHere(ToolAnswer):
    """By kind, newest first; `topics` with counts can be asked for."""

    project: str
    decisions: tuple[Known, ...] = ()
    patterns: tuple[Known, ...] = ()
    conventions: tuple[Known, ...] = ()
    lessons: tuple[Known, ...] = ()
    preferences: tuple[Known, ...] = ()
    key_files: tuple[KeyFile, ...] = ()
    checks: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    note: str = ""


class ConnectionLine(ToolAnswer):
    """One thing on a path or nearby: `memory:ID`, `file:PATH`, `topic:NAME`, `session:ID`."""

    thing: str
    title: str = ""
    by: str = ""


class ConnectionsFound(ToolAnswer):
    """A chain in its order, or what is near, nearest first."""

    mode: str
    found: list[ConnectionLine]
    note: str = ""


def get_summary(access: Access, session_id: str = "", summary_id: str = "") -> Summaries:
    """What was summed up when a session's context was compacted: decisions, files, tasks, next steps.
    Without summary_id the list, newest first; without session_id (or the unique beginning of one) that of
    all sessions of this project.

    Example: {"session_id": "0b2e…", "summary_id": "002"}
    """
    with access.reading(fresh=False) as memory:
        try:
            kept = memory.summaries.list(session_id)
        except NotFound:
            raise NotFound(
                f"session {plain(session_id)[:60]!r} has no compaction summary in this project; "
                "call get_summary without session_id for the list"
            ) from None
        if not summary_id:
            newest = sorted(kept, key=lambda item: str(item.document.get("timestamp")), reverse=True)
            shown = tuple(_line(item) for item in newest[:SHOWN_SUMMARIES])
            note = "" if shown else "no session of this project was compacted yet"
            return Summaries(summaries=shown, note=note)
        wanted = summary_id.removeprefix("compact_").removesuffix(".json").lstrip("0")
        chosen = next((item for item in kept if str(item.number) == wanted), None)
        if chosen is None or not session_id:
            known = ", ".join(item.id for item in kept[-5:]) or "none"
            raise NotFound(f"no summary {plain(summary_id)[:20]!r} there; known: {known}")
        document = {key: value for key, value in chosen.document.items() if key != "embeddings"}
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return Summaries(summary=fenced(text, Trust.AGENT, source="a compaction summary"))


def get_project_knowledge(access: Access, topic: str = "") -> KnownHere:
    """This project's standing decisions, patterns, conventions, lessons, preferences and key files; of
    one topic or all. Read it before larger changes. times: how often a rule came up; contradicted_by:
    ids of what speaks against it.

    Example: {"topic": "auth"}
    """
    with access.reading() as memory:
        found = memory.knowledge(unquoted(topic) or None)
        name = named(memory.project.name)
    said = [*(item.memory for item in found.decisions), *(rule.memory for rule in found.rules)]
    files = Counter(path for item in said for path in item.files)
    topics = Counter(about.casefold() for item in said for about in item.topics)
    return KnownHere(
        project=name,
        decisions=_decisions(found),
        patterns=_rules(found, Kind.PATTERN),
        conventions=_rules(found, Kind.CONVENTION),
        lessons=_rules(found, Kind.LESSON, Kind.CORRECTION),
        preferences=_rules(found, Kind.PREFERENCE),
        key_files=tuple(
            KeyFile(path=named(path), memories=count) for path, count in files.most_common(SHOWN_FILES)
        ),
        checks=tuple(plain(item.text)[:200] for item in found.recurring if item.kind == "check"),
        topics=tuple(f"{named(about, 60)} ({count})" for about, count in topics.most_common(SHOWN_TOPICS)),
        note=_none_known(topic) if not said else "",
    )


def explore_connections(
    access: Access,
    from_: str,
    to: str = "",
    mode: Literal["chain", "neighbours", "bridges"] = "neighbours",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> ConnectionsFound:
    """How things hang together through files, topics, sessions and decisions. from, to: a memory's id,
    a file, a topic or a session's id. neighbours: memories nearest to from; chain: the shortest path to
    `to`; bridges: what lies between both. by: what ties a thing to the one before it, or to from.

    Example: {"from": "src/auth.py", "to": "m4k2", "mode": "chain"}
    """
    if mode != "neighbours" and not to:
        raise ToolError(f"mode {mode} needs `to`: a memory's id, a file, a topic or a session")
    with access.reading(graph=True) as memory:
        graph = memory.graph
        try:
            if mode == "neighbours":
                ties = graph.nearest(from_, limit)
            else:
                ties = graph.chain(from_, to) if mode == "chain" else graph.bridges(from_, to, limit)
        except NotFound as fault:
            raise NotFound(f"{fault}: give what search_memory or get_project_knowledge showed") from None
    shown = [_connection(tie) for tie in ties]
    note = "" if shown else "nothing connects them" if to else "nothing else is connected to it"
    return ConnectionsFound(mode=mode, found=shown, note=note)


def _none_known(topic: str) -> str:
    if topic.strip():
        return "nothing is known of this topic: call without topic for all, or use search_memory"
    return "no decisions or rules are known in this project yet; remember them as they come up"


def _line(item: KeptSummary) -> SummaryLine:
    return SummaryLine(
        session_id=named(item.session),
        summary_id=f"{item.number:03d}",
        timestamp=named(str(item.document.get("timestamp", "")), 40),
        executive=line(item.executive, Trust.AGENT, 200),
    )


def _decisions(found: ProjectKnowledge) -> tuple[Known, ...]:
    ordered = sorted(found.decisions, key=lambda item: not item.memory.pinned)
    return tuple(
        _known(item.memory, reason=item.reason, against=item.contradicted_by)
        for item in ordered[:SHOWN_A_KIND]
    )


def _rules(found: ProjectKnowledge, *kinds: Kind) -> tuple[Known, ...]:
    wanted = [rule for rule in found.rules if rule.memory.kind in kinds]
    wanted.sort(key=lambda rule: not rule.memory.pinned)
    return tuple(
        _known(rule.memory, times=rule.times, against=rule.contradicted_by) for rule in wanted[:SHOWN_A_KIND]
    )


def _known(item: StoredMemory, *, reason: str = "", times: int = 1, against: Sequence[str] = ()) -> Known:
    text = _said(item)
    return Known(
        id=item.id,
        text=line(text, item.trust, 200),
        reason=line(reason, item.trust, 160) if reason not in text[:200] else "",
        times=times,
        topics=tuple(named(topic, 60) for topic in item.topics[:5]),
        files=tuple(named(path) for path in item.files[:3]),
        contradicted_by=tuple(against[:3]),
    )


def _said(item: StoredMemory) -> str:
    title = item.title.rstrip("…").rstrip()
    return item.body if item.body.startswith(title) else f"{item.title}: {item.body}"


def _connection(tie: Tie) -> ConnectionLine:
    title = line(tie.memory.title, tie.memory.trust, 100) if tie.memory is not None else ""
    by = sorted(plain(part) if isinstance(part, str) else named(":".join(part)) for part in tie.by)
    return ConnectionLine(thing=named(":".join(tie.node), 300), title=title, by=", ".join(by))
