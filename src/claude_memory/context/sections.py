"""The sections of the start context, in the order an agent reads them.

Each part of the product that owns a section adds it here; the builder does the rest.
"""

from __future__ import annotations

from dataclasses import replace

from claude_memory.context import file_sections
from claude_memory.context.builder import Line, Section, Situation
from claude_memory.context.compaction_section import compactions
from claude_memory.context.memory_lines import DUE_HEADING, intention_line, line_for, task_lines
from claude_memory.context.moments import uses_tasks
from claude_memory.context.work_section import work
from claude_memory.model import Kind, MemoryFilter, MemoryId, SearchScope, Status, StoredMemory, Trust

TOLD_KINDS = (Kind.CORRECTION, Kind.CONVENTION, Kind.PREFERENCE, Kind.DECISION, Kind.LESSON)
NOTED_KINDS = (*TOLD_KINDS, Kind.FACT, Kind.FIX, Kind.PATTERN)
ON_PURPOSE = ("remember", "mcp")  # else it was understood from what was said and done
_LOOKED_AT = 150  # most are what agents committed, which the sessions tell
_TOLD, _NOTED = 8, 5
_CHARACTERS = 220
TASK_TOKENS = 200


def due(situation: Situation) -> list[Line]:
    """Intentions whose time has come; a session that goes on is not told again what it was told."""
    if not situation.store.lifecycle.has_open_intentions():
        return []
    from claude_memory.context.session_state import SessionState
    from claude_memory.lifecycle.intentions import Occasion
    from claude_memory.lifecycle.intentions import due as due_now

    given: set[str] = set()
    if situation.session and situation.source in ("resume", "fork"):
        given = SessionState(situation.home, situation.session).given()
    words = situation.branch.replace("/", " ")
    occasion = Occasion(situation.project, situation.now, situation.changed_files, words)
    found = due_now(situation.store.lifecycle.intentions(situation.project), occasion, given=given)
    return [Line(intention_line(one), MemoryId(one.intention.id), "its time has come") for one in found]


def told(situation: Situation) -> list[Line]:
    """What holds: told by the person, kept on purpose by agents; what concerns the changed files first."""
    scope = SearchScope((situation.project.id,))
    live = MemoryFilter(kinds=NOTED_KINDS, statuses=(Status.ACTIVE,))
    found = situation.store.memories.find(scope, live, limit=_LOOKED_AT)
    tied = (
        situation.store.memories.find(scope, replace(live, files=situation.changed_files[:20]), limit=3)
        if situation.changed_files
        else []
    )
    pinned = [one for one in found if one.pinned]
    ordered = list({one.id: one for one in (*pinned, *tied, *found)}.values())
    own = [one for one in ordered if one.trust is Trust.USER and one.kind in TOLD_KINDS]
    noted = [one for one in ordered if one.trust is not Trust.USER and _is_kept(one)]
    return [
        Line("Told by you, still standing:", level=1),
        *(_memory(situation, one, f"a {one.kind} of the person") for one in own[:_TOLD]),
        Line("Noted by agents:", level=1),
        *(_memory(situation, one, "pinned" if one.pinned else "kept on purpose") for one in noted[:_NOTED]),
    ]


def _is_kept(memory: StoredMemory) -> bool:
    return memory.pinned or memory.provenance.get("source") in ON_PURPOSE


def _memory(situation: Situation, memory: StoredMemory, reason: str) -> Line:
    text = line_for(memory, characters=_CHARACTERS, root=str(situation.project_root))
    return Line(text, memory.id, reason)


def tasks(situation: Situation) -> list[Line]:
    """A line for each task that was worked on last, with its phase."""
    root, home = situation.project_root, situation.home
    if not uses_tasks(str(root), str(home)):
        return []
    return [Line(text) for text in task_lines(root, home, session=situation.session, max_tokens=TASK_TOKENS)]


def further(situation: Situation) -> list[Line]:
    """How to find more, and what an agent can leave for later."""
    # Kept ready for ranking; counting memories would read them all.
    if not situation.store.memories.term_statistics(SearchScope((situation.project.id,)), ()).passages:
        return []
    search = 'search_memory, or `claude-memory search "…"`; `claude-memory conversation ID` opens a session'
    keep = "`claude-memory remember`, `decide`, `lesson`, `reflect`, `buffer`, `notes add`"
    return [Line(f"More: {search}. To keep something for later: {keep}.", reason="how to search further")]


_NEW = ("startup", "clear")
_GOING_ON = ("resume", "fork")
START_SECTIONS: tuple[Section, ...] = (
    Section(
        "compaction",
        "Before the compaction, in this session:",
        1_950,
        compactions,
        (*_GOING_ON, "compact"),
    ),
    Section("buffer", "Working buffer:", 200, file_sections.buffer, (*_GOING_ON, "compact")),
    Section("identity", "From MEMORY.md:", 1_100, file_sections.identity),
    Section("work", "", 800, work, (*_NEW, *_GOING_ON)),
    Section("buffer", "Working buffer:", 200, file_sections.buffer, _NEW),
    Section("intentions", DUE_HEADING, 200, due, states=False),
    Section("told", "", 500, told),
    Section("tasks", "", TASK_TOKENS, tasks, states=False),
    Section("todo", "To do (tasks/todo.md):", 300, file_sections.todo, in_full=True),
    Section("reflections", "Reflections:", 1_500, file_sections.insights, (*_NEW, *_GOING_ON), in_full=True),
    Section("lessons", "Lessons:", 400, file_sections.lessons, (*_NEW, *_GOING_ON), in_full=True),
    Section("further", "", 100, further, _NEW, states=False),
)
