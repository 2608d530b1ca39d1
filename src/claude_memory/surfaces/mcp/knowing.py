"""What is known as a whole: compaction summaries, the project's knowledge, connections. Only reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from claude_memory.context.quoting import plain
from claude_memory.errors import InvalidInput, NotFound
from claude_memory.model import Kind, MemoryFilter, SearchScope, SessionId, StoredMemory, Trust
from claude_memory.surfaces.mcp import connections
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.answers import Answer, fenced, given, line
from claude_memory.surfaces.mcp.connections import Web

if TYPE_CHECKING:
    from claude_memory.compaction.model import KeptSummary
    from claude_memory.graph.knowledge import Knowledge as ProjectKnowledge
    from claude_memory.memory import Memory

SHOWN_A_KIND = 12
SHOWN_TOPICS = 20
SHOWN_FILES = 10
SHOWN_SUMMARIES = 20
WEB_MEMORIES = 5_000
WEB_MENTIONS = 50_000
CATCH_UP = 100  # memories read for the graph while somebody waits; consolidation reads the rest


class SummaryLine(Answer):
    """One compaction in a list."""

    session_id: str
    summary_id: str
    timestamp: str = ""
    executive: str = ""


class Summaries(Answer):
    """The list, or one summary in full as JSON text."""

    summaries: tuple[SummaryLine, ...] = ()
    summary: str = ""


class Known(Answer):
    """One thing that is known; `times` it came up, and what speaks against it."""

    id: str
    text: str
    reason: str = ""
    times: int = 1
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()


class KeyFile(Answer):
    """A file that many memories are about."""

    path: str
    memories: int


class Knowledge(Answer):
    """By kind, newest first; `topics` with counts can be asked for."""

    project: str
    decisions: tuple[Known, ...] = ()
    patterns: tuple[Known, ...] = ()
    conventions: tuple[Known, ...] = ()
    lessons: tuple[Known, ...] = ()
    preferences: tuple[Known, ...] = ()
    key_files: tuple[KeyFile, ...] = ()
    topics: tuple[str, ...] = ()


class Connection(Answer):
    """One thing on a path or nearby: `memory:ID`, `file:PATH`, `topic:NAME`, `session:ID`."""

    thing: str
    title: str = ""
    by: str = ""


class Connections(Answer):
    """A chain in its order, or what is near, nearest first."""

    mode: str
    found: list[Connection]


class Knowing:
    """get_summary, get_project_knowledge, explore_connections."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def get_summary(self, session_id: str = "", summary_id: str = "") -> Annotated[CallToolResult, Summaries]:
        """A session's compaction summary: decisions, files, tasks. Without summary_id the list; without
        session_id that of all sessions here.

        Example: {"session_id": "0b2e…", "summary_id": "002"}
        """
        from claude_memory.compaction.store import Shelf

        with self._access.memory() as memory:
            shelf = Shelf(memory.home)
            kept = [
                item
                for session in ([session_id] if session_id else shelf.sessions()[:200])
                if is_ours(memory, session)
                for item in shelf.of(session)
            ]
            if session_id and not kept:
                raise NotFound(
                    f"session {plain(session_id)[:60]!r} has no compaction summary in this project; "
                    "call get_summary without session_id for the list"
                )
            if not summary_id:
                newest = sorted(kept, key=lambda item: str(item.document.get("timestamp")), reverse=True)
                shown = tuple(_line(item) for item in newest[:SHOWN_SUMMARIES])
                return given(Summaries(summaries=shown))
            wanted = summary_id.removeprefix("compact_").removesuffix(".json").lstrip("0")
            chosen = next((item for item in kept if str(item.number) == wanted), None)
            if chosen is None or not session_id:
                known = ", ".join(item.id for item in kept[-5:]) or "none"
                raise NotFound(f"no summary {plain(summary_id)[:20]!r} there; known: {known}")
            document = {key: value for key, value in chosen.document.items() if key != "embeddings"}
            text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
            return given(Summaries(summary=fenced(text, Trust.AGENT, source="a compaction summary")))

    def get_project_knowledge(self, topic: str = "") -> Annotated[CallToolResult, Knowledge]:
        """This project's decisions, patterns, conventions, lessons, preferences and key files; of one topic
        or all. Cheap: read it before larger changes.

        Example: {"topic": "auth"}
        """
        with self._access.memory() as memory:
            found = memory.knowledge(topic.strip() or None)
            name = plain(memory.project.name)
        said = [*(item.memory for item in found.decisions), *(rule.memory for rule in found.rules)]
        files = Counter(path for item in said for path in item.files)
        topics = Counter(about.casefold() for item in said for about in item.topics)
        return given(
            Knowledge(
                project=name,
                decisions=_decisions(found),
                patterns=_rules(found, Kind.PATTERN),
                conventions=_rules(found, Kind.CONVENTION),
                lessons=_rules(found, Kind.LESSON, Kind.CORRECTION),
                preferences=_rules(found, Kind.PREFERENCE),
                key_files=tuple(
                    KeyFile(path=plain(path)[:200], memories=count)
                    for path, count in files.most_common(SHOWN_FILES)
                ),
                topics=tuple(
                    f"{plain(about)[:60]} ({count})" for about, count in topics.most_common(SHOWN_TOPICS)
                ),
            )
        )

    def explore_connections(
        self,
        from_: str,
        to: str = "",
        mode: Literal["chain", "neighbours", "bridges"] = "neighbours",
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> Annotated[CallToolResult, Connections]:
        """How things hang together through files, topics, sessions and decisions. from, to: a memory's id,
        a file, a topic or a session id. chain: shortest path; bridges: what both share; neighbours: of from.

        Example: {"from": "src/auth.py", "to": "m4k2", "mode": "chain"}
        """
        with self._access.memory() as memory:
            web = _web(memory, (from_, to))
            start = _thing(memory, web, from_)
            if mode == "neighbours":
                found = connections.around(web, start, limit)
            else:
                if not to:
                    raise InvalidInput(f"mode {mode} needs `to`: a memory's id, a file, a topic or a session")
                end = _thing(memory, web, to)
                path = connections.chain(web, start, end) if mode == "chain" else []
                found = _steps(web, path) if mode == "chain" else connections.bridges(web, start, end, limit)
        return given(Connections(mode=mode, found=[_connection(web, thing, by) for thing, by in found]))


def is_ours(memory: Memory, session: str) -> bool:
    """Whether anything of the session is stored in this project."""
    from claude_memory.store.protocol import EventFilter

    scope, wanted = SearchScope((memory.project.id,)), SessionId(session)
    known = memory.store.memories(scope, MemoryFilter(session=wanted), limit=1)
    if any(item.project == memory.project.id for item in known):
        return True
    return bool(memory.store.events(scope, EventFilter(session=wanted), limit=1))


def _line(item: KeptSummary) -> SummaryLine:
    return SummaryLine(
        session_id=item.session,
        summary_id=f"{item.number:03d}",
        timestamp=plain(str(item.document.get("timestamp", "")))[:40],
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
        topics=tuple(plain(topic)[:60] for topic in item.topics[:5]),
        files=tuple(plain(path)[:200] for path in item.files[:3]),
        contradicted_by=tuple(against[:3]),
    )


def _said(item: StoredMemory) -> str:
    title = item.title.rstrip("…").rstrip()
    return item.body if item.body.startswith(title) else f"{item.title}: {item.body}"


def _web(memory: Memory, named: Sequence[str]) -> Web:
    """The newest memories and those that are named, with all they mention."""
    from claude_memory.lifecycle.derive import derive_pending
    from claude_memory.store.graph_protocol import graph_of
    from claude_memory.store.lifecycle_protocol import lifecycle_of

    own = memory.project.id
    derive_pending(memory.store, own, limit=CATCH_UP)
    found = memory.store.memories(SearchScope((own,)), MemoryFilter(), limit=WEB_MEMORIES)
    for said in named:
        with suppress(NotFound, InvalidInput):
            found += memory.find([said.strip().removeprefix("memory:")])
    ours = list({item.id: item for item in found if item.project == own}.values())
    ids = [item.id for item in ours]
    mentions = graph_of(memory.store).of_memories(ids, limit=WEB_MENTIONS)
    return connections.woven(ours, mentions, lifecycle_of(memory.store).relations(ids))


def _thing(memory: Memory, web: Web, named: str) -> str:
    """What a model means by a name: a thing as we write it, else a memory, a file, a session or a topic."""
    said = named.strip()
    options = (said, f"file:{said.removeprefix('./')}", f"session:{said}", f"topic:{said.casefold()}")
    known = next((option for option in options if option in web.ties or option in web.memories), None)
    if known is not None:
        return known
    tails = sorted(name for name in web.ties if name.startswith("file:") and name.endswith(f"/{said}"))
    if said and len(tails) == 1:
        return tails[0]
    try:
        return f"memory:{memory.find([said.removeprefix('memory:')])[0].id}"
    except (NotFound, InvalidInput):
        raise NotFound(
            f"nothing here is called {plain(said)[:80]!r}: give a memory's id, or a file, topic or session "
            "that search_memory or get_project_knowledge showed"
        ) from None


def _steps(web: Web, path: Sequence[str]) -> list[tuple[str, str]]:
    before = ["", *path[:-1]] if path else []
    return [(thing, web.ties.get(thing, {}).get(last, "")) for thing, last in zip(path, before, strict=True)]


def _connection(web: Web, thing: str, by: str) -> Connection:
    item = web.memories.get(thing)
    title = line(item.title, item.trust, 100) if item is not None else ""
    return Connection(thing=plain(thing)[:300], title=title, by=plain(by)[:300])
