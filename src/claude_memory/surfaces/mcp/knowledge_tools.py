"""What is known as a whole: compaction summaries, the project's knowledge, connections. Only reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from claude_memory.errors import NotFound
from claude_memory.model import Kind, Trust
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.tool_answers import ToolAnswer, fenced, line
from claude_memory.text.quotation import named, plain, unquoted

if TYPE_CHECKING:
    from claude_memory.graph.knowledge import ConventionInUse, Decision

SHOWN_A_KIND = 12
SHOWN_TOPICS = 20
SHOWN_FILES = 10
SHOWN_SUMMARIES = 20
NOTHING_OF_TOPIC = "nothing is known of this topic: call without topic for all, or use search_memory"
NOTHING_KNOWN = "no decisions or rules are known in this project yet; remember them as they come up"


class SummaryLine(ToolAnswer):
    session_id: str
    summary_id: str
    timestamp: str = ""
    executive: str = ""


class Summaries(ToolAnswer):
    summaries: tuple[SummaryLine, ...] = ()
    summary: str = ""  # one in full, as JSON text
    note: str = ""


class Known(ToolAnswer):
    id: str
    text: str
    reason: str = ""
    times: int = 1
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()


class KeyFile(ToolAnswer):
    path: str
    memories: int


class KnownHere(ToolAnswer):
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
    thing: str  # memory:ID, file:PATH, topic:NAME or session:ID
    title: str = ""
    by: str = ""


class ConnectionsFound(ToolAnswer):
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
            shown = tuple(
                SummaryLine(
                    session_id=named(item.session),
                    summary_id=f"{item.number:03d}",
                    timestamp=named(str(item.document.get("timestamp", "")), 40),
                    executive=line(item.executive, Trust.AGENT, 200),
                )
                for item in newest[:SHOWN_SUMMARIES]
            )
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
    known = [item.memory for items in (found.decisions, found.rules) for item in items]
    files = Counter(path for item in known for path in item.files)
    topics = Counter(about.casefold() for item in known for about in item.topics)
    note = NOTHING_OF_TOPIC if topic.strip() else NOTHING_KNOWN
    return KnownHere(
        project=name,
        decisions=_known(found.decisions),
        patterns=_known(found.rules, Kind.PATTERN),
        conventions=_known(found.rules, Kind.CONVENTION),
        lessons=_known(found.rules, Kind.LESSON, Kind.CORRECTION),
        preferences=_known(found.rules, Kind.PREFERENCE),
        key_files=tuple(
            KeyFile(path=named(path), memories=count) for path, count in files.most_common(SHOWN_FILES)
        ),
        checks=tuple(plain(item.text)[:200] for item in found.recurring if item.kind == "check"),
        topics=tuple(f"{named(about, 60)} ({count})" for about, count in topics.most_common(SHOWN_TOPICS)),
        note="" if known else note,
    )


def explore_connections(
    access: Access,
    from_: Annotated[str, Field(validation_alias="from")],
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
    shown = [
        ConnectionLine(
            thing=named(":".join(tie.node), 300),
            title=line(tie.memory.title, tie.memory.trust, 100) if tie.memory is not None else "",
            by=", ".join(
                sorted(plain(part) if isinstance(part, str) else named(":".join(part)) for part in tie.by)
            ),
        )
        for tie in ties
    ]
    note = "" if shown else "nothing connects them" if to else "nothing else is connected to it"
    return ConnectionsFound(mode=mode, found=shown, note=note)


def _known(items: Sequence[Decision | ConventionInUse], *kinds: Kind) -> tuple[Known, ...]:
    """What is known of some kinds, pinned first; of a decision its reason, of a rule how often it came up."""
    wanted = [item for item in items if not kinds or item.memory.kind in kinds]
    shown = []
    for item in sorted(wanted, key=lambda item: not item.memory.pinned)[:SHOWN_A_KIND]:
        memory, reason = item.memory, getattr(item, "reason", "")
        is_begun = memory.body.startswith(memory.title.rstrip("…").rstrip())
        text = memory.body if is_begun else f"{memory.title}: {memory.body}"
        shown.append(
            Known(
                id=memory.id,
                text=line(text, memory.trust, 200),
                reason=line(reason, memory.trust, 160) if reason not in text[:200] else "",
                times=getattr(item, "times", 1),
                topics=tuple(named(topic, 60) for topic in memory.topics[:5]),
                files=tuple(named(path) for path in memory.files[:3]),
                contradicted_by=tuple(item.contradicted_by[:3]),
            )
        )
    return tuple(shown)
