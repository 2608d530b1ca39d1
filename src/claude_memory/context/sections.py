"""The start context: its sections in the order an agent reads them, packed into one budget.

Whole lines, each statement once. A section has a limit of its own, so that none starves those after it; what
is not needed stays unused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context import file_sections
from claude_memory.context.moments import (
    DUE_HEADING,
    REASON_CHARACTERS,
    Line,
    Offer,
    doubt,
    due_lines,
    own_words,
    statement,
    task_lines,
)
from claude_memory.context.work_section import work
from claude_memory.model import (
    Kind,
    MemoryFilter,
    Project,
    Scope,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.settings import Settings
from claude_memory.text.quotation import MARK_CHARACTERS, MARK_TOKENS, named, quoted, tokens

if TYPE_CHECKING:
    from claude_memory.store.base import Store

# Claude Code spills a longer string to a file and shows the model 2 KB of it.
MAX_CHARACTERS = 9_000 - MARK_CHARACTERS


@dataclass(frozen=True, slots=True)
class Situation:
    """Where and when a context is made; everything a section may look at."""

    home: Path
    project: Project
    project_root: Path
    store: Store
    source: str
    session: SessionId | None
    now: datetime
    branch: str = ""
    changed_files: tuple[str, ...] = ()
    transcript: str = ""  # the agent's own file of the session
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the start context: its heading, how many tokens it takes at most, who writes its lines."""

    name: str
    heading: str
    max_tokens: int
    lines: Callable[[Situation], Sequence[Line]]
    sources: tuple[str, ...] = ("startup", "clear", "resume", "fork", "compact")
    states: bool = True  # else its lines are no statements: a reminder stands whatever else is said
    in_full: bool = False  # takes what the others leave, up to its limit


def build(sections: Sequence[Section], situation: Situation, *, max_tokens: int) -> Offer:
    """The sections in their order. Never over the budget, marks included, never half a line."""
    wanted = [section for section in sections if situation.source in section.sources]
    taken: dict[str, list[Line]] = {section.name: [] for section in wanted}
    said = Said()
    tokens_left, characters_left = max(max_tokens - MARK_TOKENS, 0), MAX_CHARACTERS
    for section in sorted(wanted, key=lambda section: section.in_full):
        room = section.max_tokens
        pending = [Line(section.heading)] if section.heading else []  # headings go with the first line below
        for line in section.lines(situation):
            if line.level:
                pending = [one for one in pending if one.level < line.level] + [line]
                continue
            if section.states and said.holds(line.text):
                continue
            # A heading of which all was said has no line below it.
            block = [*(one for one in pending if one.source in ("", line.source)), line]
            cost = sum(tokens(one.text) + 1 for one in block)
            size = sum(len(one.text) + 1 for one in block)
            if cost > min(room, tokens_left) or size > characters_left:
                break  # lines stand in order of worth: a short one behind it would stand out of place
            room, tokens_left, characters_left = room - cost, tokens_left - cost, characters_left - size
            pending = []
            for one in block:
                one.reason = one.reason or section.name
            taken[section.name] += block
            said.add(line.text)
    lines = [line for section in wanted for line in taken[section.name]]
    names = [section.name for section in wanted if taken[section.name]]
    return Offer("\n".join(line.text for line in lines), lines, names)


# --- which statements a context holds already
#
# A statement repeats another only by the same words in the same order, whole: a number, a `not` or a
# condition more makes another statement.

SHORTEST = 12  # characters; less is a label or a heading, not a statement
_LABELS = "|".join([*Kind, "architecture", "priority", "value", "said"])
# What stands before a statement: bullets, boxes, a day and an hour, what kind of statement it is.
_BEFORE = re.compile(
    r"^[\s>*+•“-]*(?:\[[ xX]\]\s+)?"
    rf"(?:(?:(?:{_LABELS}), )?\d{{4}}-\d\d-\d\d(?:T[\d:]+Z?)?(?: \d\d:\d\d)?:?\s+)?"
    rf"(?:(?:{_LABELS})(?:, (?:{_LABELS}))*: )?"
)
# ... and after it: whose words they are, a doubt, an id.
_AFTER = re.compile(
    r"(?:”, from [^”\[]*)?(?:\s*\((?:possibly out of date|session)[^()]*\))?(?:\s*\[[\w:.-]+\])?\s*$"
)
_BETWEEN = re.compile(r"\s\(?[Ww]hy:\s|[.:!?]+[\s”\"')]+|[;·…“”。！？\n]|\s[-–—]+\s|,? because |,? so that ")
_WORD = re.compile(r"\w+(?:['’./:_-]+\w+)*")
_ARTICLES = frozenset({"a", "an", "the"})


class Said:
    """The statements of the lines taken so far."""

    def __init__(self) -> None:
        self._pieces: set[str] = set()

    def add(self, text: str) -> None:
        self._pieces.update(_pieces(text))

    def holds(self, text: str) -> bool:
        """Whether all that a line says was said; a heading, a row or a label says nothing.

        What was cut in its middle counts as said where the whole of it was.
        """
        pieces = [] if text.startswith("|") else _pieces(text)
        if sum(map(len, pieces)) < SHORTEST:
            return False
        new = [piece for piece in pieces if piece not in self._pieces]
        is_cut = new == pieces[-1:] and "…" in text and len(new[0]) >= SHORTEST
        return not new or (is_cut and any(piece.startswith(new[0]) for piece in self._pieces))


def _pieces(text: str) -> list[str]:
    """The statements of a line, each in its bare words; each cell of a row holds some."""
    if text.startswith(("#", "```")):
        return []
    cells = text.split("|") if text.startswith("|") else [_AFTER.sub("", _BEFORE.sub("", text, 1), 1)]
    parts = (part.casefold() for cell in cells for part in _BETWEEN.split(cell))
    said = (" ".join(word for word in _WORD.findall(part) if word not in _ARTICLES) for part in parts)
    return [words for words in said if words]


# --- the sections

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
    intentions = situation.store.lifecycle.intentions(situation.project)
    if not intentions:
        return []  # what tells whether one is due need not be loaded
    given: set[str] = set()
    if situation.session and situation.source in _GOING_ON:
        from claude_memory.context.session_state import SessionState

        given = SessionState(situation.home, situation.session).given()
    words, files = situation.branch.replace("/", " "), situation.changed_files
    return due_lines(intentions, situation.project, situation.now, files=files, words=words, given=given)


def told(situation: Situation) -> list[Line]:
    """What holds: told by the person, kept on purpose by agents; what concerns the changed files first."""
    memories, scope = situation.store.memories, SearchScope((situation.project.id,))
    live = MemoryFilter(kinds=NOTED_KINDS, statuses=(Status.ACTIVE,))
    found = memories.find(scope, live, limit=_LOOKED_AT)
    changed = situation.changed_files[:20]
    tied = memories.find(scope, replace(live, files=changed), limit=3) if changed else []
    pinned = [one for one in found if one.pinned]
    own, noted = [Line("Told by you, still standing:", level=1)], [Line("Noted by agents:", level=1)]
    for one in {one.id: one for one in (*pinned, *tied, *found)}.values():
        is_own = one.trust is Trust.USER
        said = one.kind in TOLD_KINDS if is_own else one.pinned or one.provenance.get("source") in ON_PURPOSE
        lines, most = (own, _TOLD) if is_own else (noted, _NOTED)
        if said and len(lines) <= most:
            reason = "pinned" if one.pinned else "kept on purpose"
            text = line_for(one, characters=_CHARACTERS, root=str(situation.project_root))
            lines.append(Line(text, one.id, f"a {one.kind} of the person" if is_own else reason))
    return [*own, *noted]


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
_OLD = (*_GOING_ON, "compact")
START_SECTIONS: tuple[Section, ...] = (
    Section("compaction", "Before the compaction, in this session:", 1_950, file_sections.compactions, _OLD),
    Section("buffer", "Working buffer:", 200, file_sections.buffer, _OLD),
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
