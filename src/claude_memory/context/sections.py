"""The sections of the start context, in the order an agent reads them.

Each part of the product that owns a section adds it here; the builder does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from claude_memory.context import file_sections
from claude_memory.context.builder import Line, Section, Situation
from claude_memory.context.compaction_section import compactions
from claude_memory.context.quoting import DUE_HEADING, intention_line, line_for
from claude_memory.context.task_section import task_words, tasks
from claude_memory.model import Kind, MemoryFilter, MemoryId, SearchScope, Status, StoredMemory, Trust
from claude_memory.notes.places import PersonFiles

DURABLE_KINDS = (
    Kind.DECISION,
    Kind.CONVENTION,
    Kind.CORRECTION,
    Kind.PREFERENCE,
    Kind.LESSON,
    Kind.FIX,
    Kind.PATTERN,
    Kind.FACT,
)
_DURABLE_LIMIT = 40
_RECENT_LIMIT = 12


def due(situation: Situation) -> list[Line]:
    """Intentions whose time has come; a session that goes on is not told again what it was told."""
    if not situation.store.has_open_intentions():
        return []
    from claude_memory.context.session_state import SessionState
    from claude_memory.lifecycle.intentions import Occasion
    from claude_memory.lifecycle.intentions import due as due_now
    from claude_memory.store.lifecycle_protocol import lifecycle_of

    given: set[str] = set()
    if situation.session and situation.source in ("resume", "fork"):
        given = SessionState(situation.home, situation.session).given()
    words = situation.branch.replace("/", " ")
    occasion = Occasion(situation.project, situation.now, situation.changed_files, words)
    found = due_now(lifecycle_of(situation.store).intentions(situation.project), occasion, given=given)
    return [Line(intention_line(one), MemoryId(one.intention.id)) for one in found]


def durable(situation: Situation) -> list[Line]:
    """Live decisions, conventions and lessons: what concerns the branch and changed files first."""
    scope = SearchScope((situation.project.id,))
    live = MemoryFilter(kinds=DURABLE_KINDS, statuses=(Status.ACTIVE,))
    known = situation.store.memories(scope, live, limit=_DURABLE_LIMIT)
    ordered = [memory for memory in known if memory.pinned]
    ordered += _concerning(situation, scope, live)
    return [Line(line_for(memory), memory.id) for memory in _once([*ordered, *known])]


def recent(situation: Situation) -> list[Line]:
    """What was asked and answered here lately, in other sessions."""
    scope = SearchScope((situation.project.id,))
    wanted = MemoryFilter(kinds=(Kind.OBSERVATION, Kind.SUMMARY), statuses=(Status.ACTIVE,))
    found = situation.store.memories(scope, wanted, limit=3 * _RECENT_LIMIT)
    elsewhere = [memory for memory in found if memory.trust is not Trust.TOOL]
    if situation.source in ("startup", "clear"):
        elsewhere = [memory for memory in elsewhere if memory.session != situation.session]
        elsewhere = [memory for memory in elsewhere if not _stands_in_log(memory, situation)]
    return [_retelling(line_for(memory, characters=200), memory.id) for memory in elsewhere[:_RECENT_LIMIT]]


def _stands_in_log(memory: StoredMemory, situation: Situation) -> bool:
    """Whether a summary is a line of the session log, of which the last days have their own section."""
    oldest = situation.now - timedelta(days=file_sections.SESSION_DAYS - 1)
    logs = str(PersonFiles(situation.home).sessions)
    return memory.created_at >= oldest and str(memory.provenance.get("file", "")).startswith(logs)


def _retelling(text: str, memory: MemoryId) -> Line:
    """What was said lately may have become a decision since: then that says it."""
    return Line(text, memory, lambda told: "" if told(text) else text)


def further(situation: Situation) -> list[Line]:
    """How to find more."""
    # Kept ready for ranking; counting memories would read them all.
    if not situation.store.term_statistics(SearchScope((situation.project.id,)), ()).passages:
        return []
    return [
        Line(
            "All memories of this project can be searched: the search_memory tool, or "
            '`claude-memory search "…"`, then `claude-memory show ID`.'
        )
    ]


START_SECTIONS: tuple[Section, ...] = (
    Section("buffer", "Working buffer:", 0.25, file_sections.buffer, ("resume", "fork", "compact")),
    Section(
        "compactions",
        "Before the compaction, in this session:",
        0.3,
        compactions,
        ("resume", "fork", "compact"),
    ),
    Section("identity", "From MEMORY.md:", 0.3, file_sections.identity),
    Section(
        "sessions", "Last sessions:", 0.1, file_sections.sessions, ("startup", "clear", "resume", "fork")
    ),
    Section("reflections", "Reflections:", 0.1, file_sections.insights, ("startup", "clear")),
    Section("intentions", DUE_HEADING, 0.1, due, states=False),
    Section("working buffer", "Working buffer:", 0.15, file_sections.buffer, ("startup", "clear")),
    Section("today", "Lessons and what is to be done:", 0.1, file_sections.today),
    Section("tasks", "", 0.1, tasks, states=False),
    Section("durable", "Known about this project:", 0.4, durable),
    Section("recent", "Lately in this project:", 0.25, recent),
    Section("further", "", 0.05, further, states=False),
)


def _concerning(situation: Situation, scope: SearchScope, live: MemoryFilter) -> list[StoredMemory]:
    from claude_memory.context.foresight import foreseen

    tied = (
        situation.store.memories(scope, replace(live, files=situation.changed_files[:20]), limit=10)
        if situation.changed_files
        else []
    )
    found = foreseen(
        situation.store,
        situation.project,
        branch=situation.branch,
        files=situation.changed_files,
        words=task_words(situation.project_root, situation.home, session=situation.session),
        filter_=live,
        now=situation.now,
    )
    return [*tied, *situation.store.memories(scope, live, ids=found)]


def _once(memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    return list({memory.id: memory for memory in memories}.values())
