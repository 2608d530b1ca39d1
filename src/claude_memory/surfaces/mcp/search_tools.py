"""The tools that only read: search, what happened around, the whole text; and what is known as a whole:
compaction summaries, the project's knowledge, connections.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.model import Hit, Kind, MemoryId, StoredMemory, Trust
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.tool_answers import ToolAnswer, excerpt, fenced, filled, line, moment
from claude_memory.text import times
from claude_memory.text.quotation import named, plain, tokens, unquoted

if TYPE_CHECKING:
    from claude_memory.graph.knowledge import ConventionInUse, Decision
    from claude_memory.memory import Memory

BELOW = 3  # nearest ones that come back when nothing is relevant enough
UNLIKELY = 0.3  # below this relevance a best hit is hardly an answer
ELSEWHERE_LIMIT = 200
KINDS = ", ".join(Kind)
TITLE, BEGINNING, SNIPPET = 90, 40, 110  # characters of a hit's line
NOTHING_FOUND = "nothing found: try other words, or fewer filters"
NOTHING_FITS = "nothing here fits the query: try other words, or leave it out for the newest entries"
FAR_ANCHOR = "the anchor is the nearest there is, and likely not what you ask for"
Field_ = Literal["text", "provenance", "relations"]


class FoundMemory(ToolAnswer):
    id: str
    kind: str
    title: str
    snippet: str
    relevance: float
    timestamp: str
    tokens: int  # that opening it costs
    session: str = ""
    status: str = "active"
    stale: str = ""
    project: str = ""
    below_threshold: bool = False


class Found(ToolAnswer):
    hits: list[FoundMemory]
    searched_by: str
    note: str = ""


class Happened(ToolAnswer):
    id: str
    kind: str
    title: str
    timestamp: str
    session: str = ""
    is_event: bool = False
    anchor: bool = False


class Timeline(ToolAnswer):
    entries: list[Happened]
    note: str = ""


class Bearing(ToolAnswer):
    kind: str
    id: str
    evidence: str = ""


class OpenMemory(ToolAnswer):
    id: str
    kind: str
    timestamp: str
    text: str = ""
    title: str = ""
    trust: str = "user"
    status: str = "active"
    pinned: bool = False
    project: str = ""
    session: str = ""
    task: str = ""
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    source: str = ""
    stale: str = ""
    relations: tuple[Bearing, ...] = ()
    cut: bool = False


class OpenMemories(ToolAnswer):
    memories: list[OpenMemory]
    missing: tuple[str, ...] = ()


def search_memory(
    access: Access,
    query: Annotated[str, Field(max_length=10_000)],
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
    session: Annotated[str, Field(description="only of this session: its id, or its beginning")] = "",
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0.2,
    kinds: Annotated[list[str], Field(description=f"any of: {KINDS}")] = [],  # noqa: B006
    topics: list[str] = [],  # noqa: B006
    files: Annotated[list[str], Field(description="only about these paths")] = [],  # noqa: B006
    task: Annotated[str, Field(description="a task's name")] = "",
    since: Annotated[str, Field(description="yesterday, 3d, 2026-11-01")] = "",
    until: str = "",
    all_projects: bool = False,
) -> Found:
    """Search this project's memory (decisions, fixes, conventions, past conversations) by words and
    meaning; begin here, before asking the user or reading files for what was said or decided earlier.

    Hits are one line each; `tokens` is what get_memories costs for one. status superseded: something
    newer replaced it. If nothing reaches min_relevance, the nearest come marked below_threshold: they are
    likely no answer. all_projects: also what the user said in other projects.
    Example: {"query": "why did we pick JWT", "kinds": ["decision"], "since": "2 weeks ago"}
    """
    now = datetime.now(UTC).astimezone()
    with access.reading() as memory:
        hits = memory.search(
            query,
            limit=ELSEWHERE_LIMIT if all_projects else limit,
            session=session or None,
            kinds=kinds,
            topics=[unquoted(topic) for topic in topics],
            files=[unquoted(path) for path in files],
            task=unquoted(task) or None,
            since=times.moment(since, now=now) if since else None,
            until=times.moment(until, now=now, end=True) if until else None,
            min_relevance=0.0,
            all_projects=all_projects,
        )
        # From elsewhere only what a person said; it may then be opened, too.
        here = memory.project.id
        hits = [hit for hit in hits if hit.project == here or hit.trust is Trust.USER]
        access.shown_elsewhere.update(hit.id for hit in hits if hit.project != here)
        access.asked = query
        good = [hit for hit in hits if hit.relevance >= min_relevance][:limit]
        shown = good or hits[: min(BELOW, limit)]
        elsewhere = any(hit.project != here for hit in shown)
        whole = {item.id: item for item in memory.find([hit.id for hit in shown], all_projects=elsewhere)}
        found = [_hit(hit, whole.get(hit.id), here, below=not good) for hit in shown]
        note = ""
        if not found:
            note = NOTHING_FOUND if memory.stats().memories else "nothing is remembered in this project yet"
        return Found(hits=found, searched_by=memory.search_mode, note=note)


def timeline(
    access: Access,
    around: Annotated[str, Field(description="a memory's id")] = "",
    query: Annotated[str, Field(description="instead of an id: around its best hit")] = "",
    before: Annotated[int, Field(ge=0, le=50)] = 5,
    after: Annotated[int, Field(ge=0, le=50)] = 5,
    session: Annotated[str, Field(description="only of this session: its id, or its beginning")] = "",
) -> Timeline:
    """What happened before and after a memory or a question's best hit (marked anchor), oldest first;
    without either, most recently. Entries with is_event are raw events: get_memories opens the others.

    Example: {"around": "m4k2", "before": 3, "after": 3}
    """
    with access.reading() as memory:
        note = ""
        if query and not around:
            hits = memory.search(query, limit=1, session=session or None, min_relevance=0.0)
            if not hits:
                raise NotFound(NOTHING_FITS)
            around = hits[0].id
            note = FAR_ANCHOR if hits[0].relevance < UNLIKELY else ""
        entries = memory.timeline(around=around or None, before=before, after=after, session=session or None)
        shown = [filled(Happened, entry, title=line(entry.title, Trust.TOOL, 120)) for entry in entries]
    return Timeline(entries=shown, note=note or ("" if shown else "nothing is recorded here yet"))


def get_memories(
    access: Access,
    ids: Annotated[list[str], Field(min_length=1, max_length=50)],
    fields: Annotated[list[Field_], Field(description="only these; all if empty")] = [],  # noqa: B006
    max_tokens: Annotated[int, Field(ge=50, le=50_000)] = 1_000,
) -> OpenMemories:
    """Whole memories by id (or its unique beginning), with provenance and relations to others.

    Texts that are over max_tokens together are cut around your last search and marked cut; ask again
    with more for the whole. Opening counts as a use, which keeps a memory strong.
    Example: {"ids": ["m4k2", "m9xz"], "fields": ["text"]}
    """
    with access.reading(fresh=False) as memory:
        found: dict[str, StoredMemory] = {}
        missing: list[str] = []
        for id_ in dict.fromkeys(ids):
            elsewhere = MemoryId(id_) in access.shown_elsewhere
            try:
                [item] = memory.find([id_], all_projects=elsewhere)
            except (NotFound, InvalidInput):
                missing.append(plain(id_)[:40])
            else:
                found.setdefault(item.id, item)
        if not found:
            names = ", ".join(missing)[:200]
            raise NotFound(f"no memory {names} here: ids come from search_memory or timeline")
        access.opened(MemoryId(id_) for id_ in found)
        opened = opened_memories(memory, list(found.values()), fields, max_tokens, access.asked)
        return opened.model_copy(update={"missing": tuple(missing)})


def _hit(hit: Hit, whole: StoredMemory | None, here: str, *, below: bool) -> FoundMemory:
    title, snippet = plain(hit.title), plain(hit.snippet)
    begun = title.rstrip("…").rstrip()
    width = TITLE
    if begun and snippet.startswith(begun):  # only what the title does not say already
        rest = snippet[len(begun) :].strip()
        snippet = f"…{rest}" if rest.strip(".!?…") else ""
    elif whole is not None and plain(whole.body[: 2 * TITLE]).startswith(begun):
        width = BEGINNING  # nobody gave it a title: what it begins with says less than what was found
    return filled(
        FoundMemory,
        hit,
        title=line(title, hit.trust, width),
        snippet=line(snippet, hit.trust, SNIPPET),
        relevance=round(hit.relevance, 2),
        tokens=tokens(whole.body) if whole is not None else 0,
        stale=line(hit.stale, Trust.TOOL, SNIPPET),
        project="" if hit.project == here else hit.project,
        below_threshold=below,
    )


def opened_memories(
    memory: Memory,
    found: Sequence[StoredMemory],
    fields: Sequence[Field_] = (),
    max_tokens: int = 1 << 40,
    asked: str = "",
) -> OpenMemories:
    """Memories as they are shown; texts over `max_tokens` together are cut around what was asked."""
    wanted = fields or ("text", "provenance", "relations")
    relations = _relations(memory, found) if "relations" in wanted else {}
    shown: list[OpenMemory] = []
    left = max_tokens
    for at, item in enumerate(found):
        text = ""
        if "text" in wanted:  # what a short one leaves goes to the longer ones after it
            text = excerpt(item.body, asked, left // (len(found) - at))
            left -= min(tokens(text), tokens(item.body))
        origin = {"session": "", "task": "", "topics": (), "files": (), "project": ""}
        if "provenance" in wanted:
            known = item.provenance  # where it came from: file and line, or the way it was written
            place = known.get("file") or known.get("path")
            row = f":{known['line']}" if place and known.get("line") else ""
            project = "" if item.project == memory.project.id else item.project
            origin = {"source": named(f"{place or known.get('source', '')}{row}", 300), "project": project}
        opened = filled(
            OpenMemory,
            item,
            timestamp=moment(item.created_at),
            text=fenced(text, item.trust) if text else "",
            title="" if text and _is_begun(item) else line(item.title, item.trust, 200),
            stale=line(memory.stale(item), Trust.TOOL, 200),
            cut=bool(text) and text != item.body,
            relations=tuple(relations.get(item.id, ())),
            **origin,
        )
        shown.append(opened)
    return OpenMemories(memories=shown)


def _is_begun(item: StoredMemory) -> bool:
    """What a text begins with is no title worth repeating."""
    return item.body.startswith(item.title.rstrip("…").rstrip())


def _relations(memory: Memory, found: Sequence[StoredMemory]) -> dict[str, list[Bearing]]:
    """What stands between these memories and others: what they replace, repeat, contradict."""
    bearings: dict[str, list[Bearing]] = {}
    for item in found:
        links = (("supersedes", item.supersedes), ("superseded by", item.superseded_by))
        bearings[item.id] = [Bearing(kind=kind, id=other) for kind, other in links if other]
    for relation in memory.lifecycle.relations(*(item.id for item in found)):
        for own, other, kind in (
            (relation.source, relation.target, relation.kind),
            (relation.target, relation.source, f"{relation.kind}, from the other"),
        ):
            if own in bearings and relation.kind != "supersedes" and len(bearings[own]) < 20:
                evidence = line(relation.evidence, Trust.TOOL, 160)
                bearings[own].append(Bearing(kind=kind, id=other, evidence=evidence))
    return bearings


# --- what is known as a whole

SHOWN_A_KIND = 12
SHOWN_TOPICS = 20
SHOWN_FILES = 10
SHOWN_SUMMARIES = 20
NO_SUMMARY = "has no compaction summary in this project; call get_summary without session_id for the list"
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
            raise NotFound(f"session {plain(session_id)[:60]!r} {NO_SUMMARY}") from None
        if not summary_id:
            newest = sorted(kept, key=lambda item: str(item.document.get("timestamp")), reverse=True)
            shown = []
            for item in newest[:SHOWN_SUMMARIES]:
                when = named(str(item.document.get("timestamp", "")), 40)
                said = line(item.executive, Trust.AGENT, 200)
                number, session = f"{item.number:03d}", named(item.session)
                answer = SummaryLine(session_id=session, summary_id=number, timestamp=when, executive=said)
                shown.append(answer)
            note = "" if shown else "no session of this project was compacted yet"
            return Summaries(summaries=tuple(shown), note=note)
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
        key_files=tuple(KeyFile(path=named(path), memories=n) for path, n in files.most_common(SHOWN_FILES)),
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
    shown = []
    for tie in ties:
        by = sorted(plain(part) if isinstance(part, str) else named(":".join(part)) for part in tie.by)
        title = line(tie.memory.title, tie.memory.trust, 100) if tie.memory is not None else ""
        shown.append(ConnectionLine(thing=named(":".join(tie.node), 300), title=title, by=", ".join(by)))
    note = "" if shown else "nothing connects them" if to else "nothing else is connected to it"
    return ConnectionsFound(mode=mode, found=shown, note=note)


def _known(items: Sequence[Decision | ConventionInUse], *kinds: Kind) -> tuple[Known, ...]:
    """What is known of some kinds, pinned first; of a decision its reason, of a rule how often it came up."""
    wanted = [item for item in items if not kinds or item.memory.kind in kinds]
    shown = []
    for item in sorted(wanted, key=lambda item: not item.memory.pinned)[:SHOWN_A_KIND]:
        memory, reason = item.memory, getattr(item, "reason", "")
        text = memory.body if _is_begun(memory) else f"{memory.title}: {memory.body}"
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
