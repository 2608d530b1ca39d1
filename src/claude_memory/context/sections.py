"""The sections of the start context, in the order an agent reads them.

Each part of the product that owns a section adds it here; the builder does the rest.
"""

from __future__ import annotations

from dataclasses import replace

from claude_memory.context import file_sections
from claude_memory.context.builder import Section, Situation
from claude_memory.context.compaction_section import compactions
from claude_memory.context.moments import (
    DUE_HEADING,
    REASON_CHARACTERS,
    Line,
    doubt,
    due_lines,
    own_words,
    statement,
    task_lines,
)
from claude_memory.context.work_section import work
from claude_memory.model import Kind, MemoryFilter, Scope, SearchScope, Status, StoredMemory, Trust
from claude_memory.text.quotation import named, quoted

TOLD_KINDS = (Kind.CORRECTION, Kind.CONVENTION, Kind.PREFERENCE, Kind.DECISION, Kind.LESSON)
NOTED_KINDS = (*TOLD_KINDS, Kind.FACT, Kind.FIX, Kind.PATTERN)
ON_PURPOSE = ("remember", "mcp")  # else it was understood from what was said and done
_LOOKED_AT = 150  # most are what agents committed, which the sessions tell
_TOLD, _NOTED = 8, 5
_CHARACTERS = 220
TASK_TOKENS = 200
_SOURCES = {
    Trust.AGENT: "an earlier agent reply",
    Trust.TOOL: "a tool's output",
    Trust.IMPORTED: "an imported file",
}


def due(situation: Situation) -> list[Line]:
    """Intentions whose time has come; a session that goes on is not told again what it was told."""
    lifecycle = situation.store.lifecycle
    if not lifecycle.has_open_intentions():
        return []
    from claude_memory.context.session_state import SessionState

    given: set[str] = set()
    if situation.session and situation.source in ("resume", "fork"):
        given = SessionState(situation.home, situation.session).given()
    words, files = situation.branch.replace("/", " "), situation.changed_files
    return due_lines(lifecycle, situation.project, situation.now, files=files, words=words, given=given)


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


def line_for(memory: StoredMemory, *, characters: int = 320, root: str = "") -> str:
    """One line for a memory: kind, day, what it says; quoted unless a person said it.

    With the project's folder, what it claims of files there is looked at.
    """
    said = statement(memory.title, memory.body)
    if memory.trust is Trust.USER:
        shown = own_words(said, characters)
    else:  # of what crosses projects, also where it was noted
        noted = memory.provenance.get("noted_in") if memory.scope is Scope.USER else None
        where = f" in {named(str(noted), 80)}" if noted else ""
        shown = f"{quoted(said, characters)}, from {_SOURCES[memory.trust]}{where}"
    stale = memory.provenance.get("stale")
    mark = f" (possibly out of date: {quoted(str(stale), REASON_CHARACTERS)})" if stale else ""
    mark = (doubt(said, root) if root else "") or mark
    return f"- {memory.kind}, {memory.created_at:%Y-%m-%d}: {shown}{mark} [{memory.id}]"


def tasks(situation: Situation) -> list[Line]:
    """A line for each task that was worked on last, with its phase."""
    root, home = str(situation.project_root), str(situation.home)
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
