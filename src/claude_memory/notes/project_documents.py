"""The files that people read about a project: todo, lessons, MEMORY.md, the day's log, the working buffer.

Each keeps its entries in marked blocks: a person's own, an agent's, and what was read from sessions. In the
blocks of lists and tables the newest stands first. Templates, what of the logs belongs into MEMORY.md, and
what each file says, in pieces: what was itself made from the store is read by people and not by us.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind
from claude_memory.notes import blocks, buffer
from claude_memory.notes.person_files import Piece, moment
from claude_memory.notes.places import INVITATIONS, ProjectFiles
from claude_memory.notes.text_files import Lines, edit, one_line, read_bytes, read_lines
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.text import markdown

TITLES = {
    "MEMORY.md": "# Project memory\n",
    "todo.md": "# To do\n",
    "lessons.md": "# Lessons\n",
    "working-buffer.md": buffer.TITLE,
}
TEMPLATES = {  # what follows title and invitation
    "MEMORY.md": """
## Project state

<!-- what it is, what works, what is missing -->

## Active Workstreams

<!-- what is being worked on, and how it stands -->

## Architecture decisions

<!-- claude-memory decide "what" --why "why" -->
""",
    "todo.md": "",
    "lessons.md": "",
}
MOST_ROWS = 20
MOST_LESSONS = 50
MOST_DONE, MOST_OPEN = 20, 40
MOST_PROPOSED = 30
_IN_LESSONS = (blocks.LESSONS, blocks.AGENT_LESSONS, blocks.LEARNED, blocks.UNSOLVED)
_TABLE_HEAD = ("| Date | Decision | Rationale |", "|---|---|---|")
_CELL = r"((?:\\\||[^|])*?)"
_ROW = re.compile(rf"^\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*$")
_ITEM = re.compile(r"^- \[([ x])\] (.*)$")
_LEAD = re.compile(r"^(?:\s*(?:[-*+]|\d+[.)])\s+)?(?:\d\d:\d\d\s+)?")
_DECIDED = re.compile(r"decided: (.*?)(?= · | \(session |$)")
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)\s*$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d): (?=\S)")
_COMMENT = re.compile(r"^<!--.*-->$")
_FROM_STORE = [name for name in blocks.FROM_SESSIONS if name != blocks.LEARNED]
_LASTING = {"decision", "architecture", "correction", "value"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would be added to MEMORY.md, and how the file would change."""

    lines: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class ProjectDocuments:
    """The files of one project, and the home whose locks guard them."""

    files: ProjectFiles
    home: Path

    def rewrite(self, path: Path, change: Callable[[str], str]) -> bool:
        """Change one file by a pure function, and its copy in the home; returns whether it changed."""
        if not self.files.inside(path):
            raise InvalidInput(f"{path} leads outside the project's own files: it is left alone")
        changed = edit(path, change, home=self.home)
        copy = self.files.copy_of(path)
        if changed and copy is not None:
            with contextlib.suppress(OSError):  # a convenience: the file itself is the truth
                private_folder(copy.parent)
                write_atomically(copy, path.read_bytes())
        return changed

    def change_block(
        self, name: str, lines: Callable[[list[str]], Sequence[str]], path: Path | None = None
    ) -> bool:
        """Let a block say what `lines` makes of what it says now; a new file begins with its title."""
        target = path or self._path(name)

        def change(text: str) -> str:
            wanted = lines(blocks.content(text, name))
            if not text and wanted:
                text = TITLES.get(target.name, f"# {target.stem}\n")
            return blocks.updated(text, name, wanted)

        return self.rewrite(target, change)

    def set_list(self, name: str, items: Sequence[str]) -> bool:
        """Let a block be just this list."""
        lines = [f"- {one_line(item)}" for item in items]
        return bool(lines or self._path(name).exists()) and self.change_block(name, lambda _: lines)

    def _path(self, name: str) -> Path:
        if name in buffer.BLOCKS:
            return self.files.buffer
        if name in _IN_LESSONS:
            return self.files.lessons
        return self.files.todo if name == blocks.TODO else self.files.memory

    # --- on purpose

    def add_lesson(self, text: str, *, day: date, by_agent: bool = False) -> bool:
        """Write a lesson down."""
        if not text.strip():
            raise InvalidInput("a lesson needs a text")
        return self._add_dated(blocks.AGENT_LESSONS if by_agent else blocks.LESSONS, [text], day)

    def add_decision(self, what: str, why: str, *, day: date, by_agent: bool = False) -> bool:
        """Add a row to the table of decisions; one that stands there already is not repeated.

        An agent's is shown as a quotation until a person moves the row to the other table.
        """

        def rows(present: Sequence[str]) -> list[str]:
            known = {line: cells for line in present if (cells := cells_of(line))}
            if one_line(what) in {cells[1] for cells in known.values()}:
                return list(present)
            return [*_TABLE_HEAD, _row(day, what, why), *known]

        return self.change_block(blocks.AGENT_DECISIONS if by_agent else blocks.DECISIONS, rows)

    def add_to_buffer(self, entry: buffer.BufferEntry, *, by_agent: bool = False) -> bool:
        """Add an entry to the working buffer that was written on purpose."""
        name = blocks.AGENT_NOTES if by_agent else blocks.NOTES
        return self.change_block(name, lambda present: buffer.with_note(present, entry))

    def fold_buffer(self) -> bool:
        """Bring the prompts that hooks appended to the working buffer into one block."""
        path = self.files.buffer
        if not self.files.inside(path) or not buffer.needs_folding(read_bytes(path)):
            return False
        return self.change_block(blocks.PROMPTS, buffer.folded)

    def clear_buffer(self) -> bool:
        """Empty the machine's blocks of the working buffer; what a person wrote stays."""

        def change(text: str) -> str:
            for name in buffer.BLOCKS:
                text = blocks.updated(text, name, ())
            return text

        return self.files.buffer.exists() and self.rewrite(self.files.buffer, change)

    # --- from sessions

    def learn(self, texts: Sequence[str], *, day: date) -> bool:
        """Write down what failed and was then solved."""
        return bool(texts) and self._add_dated(blocks.LEARNED, texts, day)

    def set_settled(self, rows: Sequence[tuple[date, str, str]]) -> bool:
        """Let the table of what sessions settled be just this: day, what, why."""
        lines = [*_TABLE_HEAD, *(_row(*row) for row in rows[:MOST_ROWS])] if rows else []
        return bool(lines or self.files.memory.exists()) and self.change_block(
            blocks.SETTLED, lambda _: lines
        )

    def keep_todo(self, tasks: Mapping[str, str]) -> bool:
        """Bring the agent's list up to date: task and its status. What a person wrote is not touched."""

        def lines(present: Sequence[str]) -> list[str]:
            done = {item[2]: item[1] == "x" for line in present if (item := _ITEM.match(line))}
            for task, status in tasks.items():
                done.pop(one_line(task), None)
                if status != "deleted":
                    done[one_line(task)] = status == "completed"
            left = [f"- [ ] {name}" for name in done if not done[name]]
            finished = [f"- [x] {name}" for name in done if done[name]]
            return [*left[-MOST_OPEN:], *finished[-MOST_DONE:]]

        return bool(tasks) and self.change_block(blocks.TODO, lines)

    def log_day(self, day: date, session: str, entry: str) -> bool:
        """Let a session have this entry in its day's log; what it said of itself before is replaced."""
        mark = f" (session {session})"

        def lines(present: Sequence[str]) -> list[str]:
            others = [line for line in present if not line.endswith(mark)]
            return sorted([*others, f"- {one_line(entry)}{mark}"])

        return self.change_block(blocks.SESSIONS, lines, self.files.daily(day))

    def _add_dated(self, name: str, texts: Sequence[str], day: date) -> bool:
        def lines(present: Sequence[str]) -> list[str]:
            known = {line.partition(": ")[2] for line in present}
            fresh = [f"- {day:%Y-%m-%d}: {text}" for text in map(one_line, texts) if text not in known]
            return [*fresh, *present][: MOST_LESSONS if name == blocks.LEARNED else None]

        return self.change_block(name, lines)

    def put_templates(self) -> list[Path]:
        """Make MEMORY.md, todo.md and lessons.md where they are missing; returns what was made."""
        made = []
        for path in (self.files.memory, self.files.todo, self.files.lessons):
            if not path.exists() and self.files.inside(path):
                private_folder(path.parent)
                text = f"{TITLES[path.name]}\n{INVITATIONS[path.name]}\n{TEMPLATES[path.name]}"
                write_atomically(path, text.encode())
                made.append(path)
        return made

    # --- what of the daily logs belongs into MEMORY.md

    def propose(self, *, since: date) -> Proposal:
        """What the logs from `since` on settled and MEMORY.md does not say yet."""
        import difflib

        before = read_bytes(self.files.memory).decode("utf-8", "surrogateescape")
        lines = tuple(self._not_distilled_yet(before, since))[:MOST_PROPOSED]
        after = _distilled(before, lines)
        names = ("MEMORY.md", "MEMORY.md, with what was distilled")
        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
        return Proposal(lines, "\n".join(diff))

    def apply(self, proposal: Proposal) -> bool:
        """Add what was proposed, to whatever the file says by now."""
        return self.rewrite(self.files.memory, lambda text: _distilled(text, proposal.lines))

    def _not_distilled_yet(self, memory: str, since: date) -> Iterator[str]:
        known, seen = _words(memory), {""}
        for path in sorted(self.files.folder.glob("????-??-??.md")):
            if path.stem < f"{since:%Y-%m-%d}" or not self.files.inside(path):
                continue
            for text in (text for _, line in read_lines(path).lines for text in _lasting(line)):
                words = _words(text)
                if words not in known and words not in seen:
                    seen.add(words)
                    yield f"- {path.stem}: {text}"


def cells_of(line: str) -> tuple[str, str, str] | None:
    """The three cells of a row; None for the head and for anything else."""
    row = _ROW.match(line)
    if row is None or set(row[1]) <= {"-", " "} or row[1] in ("Date", "File"):
        return None
    first, second, third = (cell.replace("\\|", "|") for cell in row.groups())
    return first, second, third


def _row(day: date, *cells: str) -> str:
    return " | ".join([f"| {day:%Y-%m-%d}", *(one_line(cell).replace("|", "\\|") for cell in cells)]) + " |"


def _distilled(text: str, lines: Sequence[str]) -> str:
    if not lines:
        return text
    present = blocks.content(text, blocks.DISTILLED)
    wanted = [*(line for line in lines if line not in present), *present]
    return blocks.updated(text or TITLES["MEMORY.md"], blocks.DISTILLED, wanted)


def _lasting(line: str) -> Iterator[str]:
    """What a line of a log settles; an entry of a session names its decisions itself."""
    from claude_memory.understand.typed import families

    if decided := _DECIDED.search(line):
        yield from (one_line(part) for part in decided[1].split("; ") if part.strip())
        return
    text = _LEAD.sub("", line).strip()
    if text and not text.startswith(("#", "<!--", "|")) and not _LASTING.isdisjoint(families(text)):
        yield one_line(text)


def _words(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.lower()).strip()


# --- what each file says


def of_knowledge(lines: Lines) -> list[Piece]:
    """A note of the knowledge base; what agents added to it stands in a block and is theirs."""
    theirs = _machine_lines(lines, [blocks.AGENT_NOTES])
    return _of_note(_without(lines, theirs)) + [
        Piece(f"added:{_hash(text)}", Kind.NOTE, text, number, f"{lines.path.stem}: {text}", by_agent=True)
        for number, text in lines.lines
        if text in theirs and not text.startswith("#")
    ]


def of_project_file(lines: Lines) -> list[Piece]:
    """A file of the project by its name; of a log or a list, what people wrote."""
    readers = {"working-buffer.md": _of_buffer, "lessons.md": _of_lessons, "MEMORY.md": of_memory_file}
    reader = readers.get(lines.path.name)
    return reader(lines) if reader else _of_note(_without(lines, _machine_lines(lines)))


def _of_note(lines: Lines) -> list[Piece]:
    """A markdown file by its headings."""
    ours = INVITATIONS.get(lines.path.name)
    said = [item for item in lines.lines if item[1] != ours and not _COMMENT.match(item[1])]
    note = markdown.parse(said, lines.path.stem)
    pieces: list[Piece] = []
    seen: dict[tuple[str, ...], int] = {}
    for section in note.sections:
        times = seen[section.path] = seen.get(section.path, 0) + 1
        title = " › ".join([note.title, *(name for name in section.path if name != note.title)])
        key = "/".join(section.path) + (f"#{times}" if times > 1 else "")
        body = markdown.spoken(section.text)
        pieces.append(Piece(key, Kind.NOTE, body, section.line, title, note.tags))
    return pieces


def of_memory_file(lines: Lines) -> list[Piece]:
    """A MEMORY.md: each row of a decision table by itself, the rest by its headings."""
    by_agents = _machine_lines(lines, [blocks.AGENT_DECISIONS])
    tables = by_agents | _machine_lines(lines, [blocks.DECISIONS])
    pieces, rest = [], []
    for number, line in _without(lines, _machine_lines(lines, _FROM_STORE)).lines:
        row = cells_of(line) if line.startswith("|") else None
        if row and _DAY.match(row[0]):
            day, what, why = row
            body = f"{what}\nWhy: {why}" if why.strip(" -–—") else what
            at, by_agent = moment(day), line in by_agents
            key = f"decision:{_hash(what)}"
            pieces.append(Piece(key, Kind.DECISION, body, number, created_at=at, by_agent=by_agent))
        elif line not in tables:
            rest.append((number, line))
    return pieces + _of_note(Lines(lines.path, tuple(rest)))


def _of_lessons(lines: Lines) -> list[Piece]:
    """A list: each item by itself, with the lines that belong to it."""
    machine = _machine_lines(lines, but=blocks.BY_PERSON)
    pieces = []
    for number, text in _items(_without(lines, _machine_lines(lines, _FROM_STORE))):
        dated = _DATED.match(text)
        lesson, at = (text[dated.end() :], moment(dated[1])) if dated else (text, None)
        by_agent = any(text.splitlines()[0] in line for line in machine)
        key = f"item:{_hash(text)}"
        pieces.append(Piece(key, Kind.LESSON, lesson, number, created_at=at, by_agent=by_agent))
    return pieces


def _of_buffer(lines: Lines) -> list[Piece]:
    """What somebody noted on purpose; prompts are found by their exchanges, the rest is gone tomorrow."""
    machine = _machine_lines(lines, but=blocks.BY_PERSON)
    return [
        Piece(
            f"said:{_hash(f'{entry.label}:{entry.text}:{entry.session}')}",
            Kind.NOTE,
            entry.text,
            number,
            created_at=entry.at,
            session=entry.session,
            by_agent=line in machine,
        )
        for number, line in lines.lines
        if (entry := buffer.entry_of(line)) and entry.label == buffer.NOTE
    ]


def _machine_lines(lines: Lines, names: Collection[str] | None = None, but: Collection[str] = ()) -> set[str]:
    """The machine's lines in blocks of these names; in all blocks but some."""
    present = blocks.find([text for _, text in lines.lines])
    wanted = [block for block in present if block.name not in but and (not names or block.name in names)]
    return {line for block in wanted for line in block.machine if line}


def _without(lines: Lines, gone: Collection[str]) -> Lines:
    return Lines(lines.path, tuple(item for item in lines.lines if item[1] not in gone))


def _items(lines: Lines) -> Iterator[tuple[int, str]]:
    current: list[str] = []
    start = 0
    for number, line in [*lines.lines, (0, "")]:
        bullet = _BULLET.match(line)
        if current and not bullet and line.startswith((" ", "\t")) and line.strip():
            current.append(line.strip())
            continue
        if current:
            yield start, "\n".join(current)
        current, start = ([bullet[1]], number) if bullet else ([], 0)


def _hash(text: str) -> str:
    return blocks.short(text.encode("utf-8", "surrogatepass"), 8)
