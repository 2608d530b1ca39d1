"""The files that people read about a project: todo, lessons, MEMORY.md, the day's log, and their templates.

Each keeps its entries in marked blocks: a person's own, an agent's, and what was read from sessions. In our
blocks the newest stands first.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.notes import blocks
from claude_memory.notes.file_edits import one_line, rewrite, set_block
from claude_memory.notes.places import ProjectFiles
from claude_memory.notes.reading import read_bytes, read_lines
from claude_memory.platform.files import private_folder, write_atomically

DECISIONS = "decisions"
AGENT_DECISIONS = "agent-decisions"  # shown as a quotation until a person moves the row to the other table
SETTLED = "settled"
WORKSTREAMS = "workstreams"
KEY_FILES = "key-files"  # written by 0.1.0
DISTILLED = "distilled"
LESSONS = "lessons"  # told by a person
AGENT_LESSONS = "agent-lessons"
LEARNED = "learned"  # a failure that was solved
UNSOLVED = "unsolved"
TODO = "todo"
SESSIONS = "sessions"
HEADINGS = {
    DECISIONS: "## Architecture decisions",
    AGENT_DECISIONS: "## Decisions noted by agents",
    SETTLED: "## Settled in sessions",
    WORKSTREAMS: "## Active Workstreams",
    DISTILLED: "## From the daily logs",
    LESSONS: "",
    AGENT_LESSONS: "## Noted by agents",
    LEARNED: "## From failures that were solved",
    UNSOLVED: "## Failing, not solved yet",
    TODO: "## The agent's list",
    SESSIONS: "## Sessions",
}
TITLES = {"MEMORY.md": "# Project memory", "todo.md": "# To do", "lessons.md": "# Lessons"}
TEMPLATES = {
    "MEMORY.md": """# Project memory

What lasts about this project. Write freely: only the marked blocks are kept up by claude-memory.

## Project state

<!-- what it is, what works, what is missing -->

## Active Workstreams

<!-- what is being worked on, and how it stands -->

## Architecture decisions

<!-- claude-memory decide "what" --why "why" -->
""",
    "todo.md": """# To do

Your own list. The agent's open tasks are kept up in a marked block.
""",
    "lessons.md": """# Lessons

What went wrong once and need not again: claude-memory lesson "…"
""",
}
MOST_ROWS = 20
MOST_LESSONS = 50
MOST_DONE = 20
MOST_OPEN = 40
MOST_PROPOSED = 30
_DECISION_HEAD = ("| Date | Decision | Rationale |", "|---|---|---|")
_CELL = r"((?:\\\||[^|])*?)"
_ROW = re.compile(rf"^\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*$")
_ITEM = re.compile(r"^- \[([ x])\] (.*)$")
_DAY = re.compile(r"^(\d{4}-\d\d-\d\d)\.md$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_STAMP = re.compile(r"^\d\d:\d\d\s+")
_DECIDED = re.compile(r"decided: (.*?)(?= · | \(session |$)")
_LASTING = {"decision", "architecture", "correction", "value"}


@dataclass(frozen=True, slots=True)
class ProjectDocuments:
    """The files of one project, and the home whose locks guard them."""

    files: ProjectFiles
    home: Path

    # --- on purpose

    def add_lesson(self, text: str, *, day: date, by_agent: bool = False) -> bool:
        """Write a lesson down."""
        if not text.strip():
            raise InvalidInput("a lesson needs a text")
        return self._add_dated(AGENT_LESSONS if by_agent else LESSONS, [text], day)

    def add_decision(self, what: str, why: str, *, day: date, by_agent: bool = False) -> bool:
        """Add a row to the table of decisions; one that stands there already is not repeated."""
        name = AGENT_DECISIONS if by_agent else DECISIONS

        def rows(present: Sequence[str]) -> list[str]:
            known = [line for line in present if cells_of(line)]
            if one_line(what) in {cells[1] for line in known if (cells := cells_of(line))}:
                return list(present)
            return [*_DECISION_HEAD, _row(f"{day:%Y-%m-%d}", what, why), *known]

        return self._write(self.files.memory, name, rows)

    # --- from sessions

    def learn(self, texts: Sequence[str], *, day: date) -> bool:
        """Write down what failed and was then solved."""
        return bool(texts) and self._add_dated(LEARNED, texts, day)

    def set_unsolved(self, texts: Sequence[str]) -> bool:
        """Let the list of what still fails be just this."""
        return self._set(self.files.lessons, UNSOLVED, [f"- {one_line(text)}" for text in texts])

    def set_settled(self, rows: Sequence[tuple[date, str, str]]) -> bool:
        """Let the table of what sessions settled be just this: day, what, why."""
        lines = [_row(f"{day:%Y-%m-%d}", what, why) for day, what, why in rows[:MOST_ROWS]]
        return self._set(self.files.memory, SETTLED, [*_DECISION_HEAD, *lines] if lines else [])

    def set_workstreams(self, lines: Sequence[str]) -> bool:
        """Let the list of what is being worked on be just this."""
        return self._set(self.files.memory, WORKSTREAMS, [f"- {one_line(line)}" for line in lines])

    def keep_todo(self, tasks: Mapping[str, str]) -> bool:
        """Bring the agent's list up to date: task and its status. What a person wrote is not touched."""

        def lines(present: Sequence[str]) -> list[str]:
            state = {found[2]: found[1] == "x" for line in present if (found := _ITEM.match(line))}
            for task, status in tasks.items():
                state.pop(one_line(task), None)
                if status != "deleted":
                    state[one_line(task)] = status == "completed"
            left = [name for name, done in state.items() if not done][-MOST_OPEN:]
            finished = [name for name, done in state.items() if done][-MOST_DONE:]
            return [*(f"- [ ] {name}" for name in left), *(f"- [x] {name}" for name in finished)]

        return bool(tasks) and self._write(self.files.todo, TODO, lines)

    def log_day(self, day: date, session: str, entry: str) -> bool:
        """Let a session have this entry in its day's log; what it said of itself before is replaced."""
        mark = f" (session {session})"

        def lines(present: Sequence[str]) -> list[str]:
            kept = [line for line in present if not line.endswith(mark)]
            return sorted([*kept, f"- {one_line(entry)}{mark}"])

        return self._write(self.files.daily(day), SESSIONS, lines)

    def _set(self, path: Path, name: str, lines: Sequence[str]) -> bool:
        return bool(lines or path.exists()) and self._write(path, name, lambda _: lines)

    def _add_dated(self, name: str, texts: Sequence[str], day: date) -> bool:
        def lines(present: Sequence[str]) -> list[str]:
            known = {line.partition(": ")[2] for line in present}
            fresh = [f"- {day:%Y-%m-%d}: {one_line(text)}" for text in texts if one_line(text) not in known]
            every = [*fresh, *present]
            return every[:MOST_LESSONS] if name == LEARNED else every

        return self._write(self.files.lessons, name, lines)

    def _write(self, path: Path, name: str, lines: Callable[[list[str]], Sequence[str]]) -> bool:
        title = TITLES.get(path.name, f"# {path.stem}")
        return set_block(self.files, self.home, path, name, lines, heading=HEADINGS[name], title=title)

    # --- templates

    def put_templates(self) -> list[Path]:
        """Make MEMORY.md, todo.md and lessons.md where they are missing; returns what was made."""
        made = []
        for path in (self.files.memory, self.files.todo, self.files.lessons):
            if not path.exists() and self.files.inside(path):
                private_folder(path.parent)
                write_atomically(path, TEMPLATES[path.name].encode())
                made.append(path)
        return made

    # --- what of the daily logs belongs into MEMORY.md

    def propose(self, *, since: date) -> Proposal:
        """What the logs from `since` on settled and MEMORY.md does not say yet."""
        before = read_bytes(self.files.memory).decode("utf-8", "surrogateescape")
        lines = tuple(_fresh(self.files, before, since))[:MOST_PROPOSED]
        after = _distilled(before, lines)
        names = ("MEMORY.md", "MEMORY.md, with what was distilled")
        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
        return Proposal(lines, "\n".join(diff))

    def apply(self, proposal: Proposal) -> bool:
        """Add what was proposed, to whatever the file says by now."""
        return rewrite(
            self.files, self.home, self.files.memory, lambda text: _distilled(text, proposal.lines)
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would be added to MEMORY.md, and how the file would change."""

    lines: tuple[str, ...]
    diff: str


def cells_of(line: str) -> tuple[str, str, str] | None:
    """The three cells of a row; None for the head and for anything else."""
    found = _ROW.match(line)
    if found is None or set(found[1]) <= {"-", " "} or found[1] in ("Date", "File"):
        return None
    first, second, third = (cell.replace("\\|", "|") for cell in found.groups())
    return first, second, third


_TITLE = TITLES["MEMORY.md"]


def _row(*cells: str) -> str:
    return "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"


def _distilled(text: str, lines: tuple[str, ...]) -> str:
    if not lines:
        return text
    present = blocks.content(text, DISTILLED)
    wanted = [*(line for line in lines if line not in present), *present]
    return blocks.updated(text or f"{_TITLE}\n", DISTILLED, wanted, heading=HEADINGS[DISTILLED])


def _fresh(files: ProjectFiles, memory: str, since: date) -> Iterator[str]:
    known = _plain(memory)
    seen: set[str] = set()
    for day, path in _logs(files, since):
        for _, line in read_lines(path).lines:
            for text in _lasting(line):
                plain = _plain(text)
                if plain and plain not in known and plain not in seen:
                    seen.add(plain)
                    yield f"- {day}: {text}"


def _lasting(line: str) -> Iterator[str]:
    """What a line of a log settles; an entry of a session names its decisions itself."""
    from claude_memory.understand.typed import families

    decided = _DECIDED.search(line)
    if decided:
        yield from (one_line(part) for part in decided[1].split("; ") if part.strip())
        return
    said = _STAMP.sub("", _BULLET.sub("", line)).strip()
    if said and not said.startswith(("#", "<!--", "|")) and not _LASTING.isdisjoint(families(said)):
        yield one_line(said)


def _logs(files: ProjectFiles, since: date) -> Iterator[tuple[str, Path]]:
    for path in sorted(files.folder.glob("*.md")) if files.folder.is_dir() else []:
        found = _DAY.match(path.name)
        if found and found[1] >= f"{since:%Y-%m-%d}" and files.inside(path):
            yield found[1], path


def _plain(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.lower()).strip()
