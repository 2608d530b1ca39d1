"""The files that people read about a project: todo, lessons, MEMORY.md, the day's log, the working buffer.

Each keeps its entries in marked blocks: a person's own, an agent's, and what was read from sessions. In the
blocks of lists and tables the newest stands first. Templates, and what of the logs belongs into MEMORY.md.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from claude_memory.errors import InvalidInput
from claude_memory.notes import blocks, buffer
from claude_memory.notes.places import INVITATIONS, ProjectFiles
from claude_memory.notes.text_files import edit, one_line, read_bytes, read_lines
from claude_memory.platform.files import private_folder, write_atomically

TITLES = {
    "MEMORY.md": "# Project memory\n",
    "todo.md": "# To do\n",
    "lessons.md": "# Lessons\n",
    "working-buffer.md": buffer.TITLE,
}
MEMORY_TEMPLATE = """
## Project state

<!-- what it is, what works, what is missing -->

## Active Workstreams

<!-- what is being worked on, and how it stands -->

## Architecture decisions

<!-- claude-memory decide "what" --why "why" -->
"""
MOST_LEARNED = 50
MOST_PROPOSED = 30
TABLE_HEAD = ("| Date | Decision | Rationale |", "|---|---|---|")
_CELL = r"((?:\\\||[^|])*?)"
_ROW = re.compile(rf"^\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*$")
_LEAD = re.compile(r"^(?:\s*(?:[-*+]|\d+[.)])\s+)?(?:\d\d:\d\d\s+)?")
_DECIDED = re.compile(r"decided: (.*?)(?= · | \(session |$)")
_LASTING = {"decision", "architecture", "correction", "value"}

Change = Callable[[list[str]], Sequence[str]]  # what a block says now, and what it is to say


class Proposal(NamedTuple):
    """What would be added to MEMORY.md, and how the file would change."""

    lines: tuple[str, ...]
    diff: str


class ProjectDocuments(NamedTuple):
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

    def change_block(self, name: str, lines: Change, path: Path | None = None) -> bool:
        """Let a block say what `lines` makes of what it says now; a new file begins with its title."""
        target = path or self.path_of(name)
        return self.rewrite(target, lambda text: _with_block(text, target, name, lines))

    def path_of(self, block: str) -> Path:
        return self.files.base / next(file for file, names in blocks.IN_FILES.items() if block in names)

    def set_list(self, name: str, items: Sequence[str]) -> bool:
        """Let a block be just this list."""
        return self.change_block(name, lambda _: [f"- {one_line(item)}" for item in items])

    def add_dated(self, name: str, texts: Sequence[str], day: date) -> bool:
        """Add lessons to a list; one that stands there already is not repeated."""

        def lines(present: list[str]) -> list[str]:
            known = {line.partition(": ")[2] for line in present}
            fresh = [f"- {day:%Y-%m-%d}: {text}" for text in map(one_line, texts) if text not in known]
            return [*fresh, *present][: MOST_LEARNED if name == blocks.LEARNED else None]

        return self.change_block(name, lines)

    def add_decision(self, what: str, why: str, *, day: date, by_agent: bool) -> bool:
        """Add a row to the table of decisions; one that stands there already is not repeated.

        An agent's is shown as a quotation until a person moves the row to the other table.
        """

        def rows(present: list[str]) -> list[str]:
            known = {line: cells for line in present if (cells := cells_of(line))}
            if one_line(what) in {cells[1] for cells in known.values()}:
                return present
            return [*TABLE_HEAD, row_of(day, what, why), *known]

        return self.change_block(blocks.AGENT_DECISIONS if by_agent else blocks.DECISIONS, rows)

    def log_day(self, day: date, entry: str, mark: str) -> bool:
        """Put an entry into a day's log in place of the one that ends in the same mark."""

        def lines(present: list[str]) -> list[str]:
            return sorted([*(line for line in present if not line.endswith(mark)), entry])

        return self.change_block(blocks.SESSIONS, lines, self.files.daily(day))

    def fold_buffer(self) -> bool:
        """Bring the prompts that hooks appended to the working buffer into one block."""
        path = self.files.buffer
        if not self.files.inside(path) or not buffer.needs_folding(read_bytes(path)):
            return False
        return self.change_block(blocks.PROMPTS, buffer.folded)

    def clear_buffer(self) -> bool:
        """Empty the machine's blocks of the working buffer; what a person wrote stays."""
        names = [name for name in buffer.BLOCKS if self.change_block(name, lambda _: ())]
        return bool(names)

    def put_templates(self) -> list[Path]:
        """Make MEMORY.md, todo.md and lessons.md where they are missing; returns what was made."""
        made = []
        for path in (self.files.memory, self.files.todo, self.files.lessons):
            if not path.exists() and self.files.inside(path):
                private_folder(path.parent)
                rest = MEMORY_TEMPLATE if path == self.files.memory else ""
                write_atomically(path, f"{TITLES[path.name]}\n{INVITATIONS[path.name]}\n{rest}".encode())
                made.append(path)
        return made

    # --- what of the daily logs belongs into MEMORY.md

    def propose(self, *, since: date) -> Proposal:
        """What the logs from `since` on settled and MEMORY.md does not say yet."""
        import difflib

        before = read_bytes(self.files.memory).decode("utf-8", "surrogateescape")
        lines = tuple(self._not_distilled_yet(before, since))[:MOST_PROPOSED]
        after = _with_block(before, self.files.memory, blocks.DISTILLED, _distilled(lines))
        names = ("MEMORY.md", "MEMORY.md, with what was distilled")
        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
        return Proposal(lines, "\n".join(diff))

    def apply(self, proposal: Proposal) -> bool:
        """Add what was proposed, to whatever the file says by now."""
        return self.change_block(blocks.DISTILLED, _distilled(proposal.lines))

    def _not_distilled_yet(self, memory: str, since: date) -> Iterator[str]:
        known, seen = _words(memory), {""}
        for path in sorted((self.files.base / "memory").glob("????-??-??.md")):
            if path.stem < f"{since:%Y-%m-%d}" or not self.files.inside(path):
                continue
            for text in (text for _, line in read_lines(path).lines for text in _lasting(line)):
                words = _words(text)
                if words not in known and words not in seen:
                    seen.add(words)
                    yield f"- {path.stem}: {text}"


def _with_block(text: str, path: Path, name: str, lines: Change) -> str:
    wanted = lines(blocks.content(text, name))
    if not text and wanted:
        text = TITLES.get(path.name, f"# {path.stem}\n")
    return blocks.updated(text, name, wanted)


def cells_of(line: str) -> tuple[str, str, str] | None:
    """The three cells of a row; None for the head and for anything else."""
    row = _ROW.match(line)
    if row is None or set(row[1]) <= {"-", " "} or row[1] in ("Date", "File"):
        return None
    first, second, third = (cell.replace("\\|", "|") for cell in row.groups())
    return first, second, third


def row_of(day: date, *cells: str) -> str:
    return " | ".join([f"| {day:%Y-%m-%d}", *(one_line(cell).replace("|", "\\|") for cell in cells)]) + " |"


def _distilled(lines: Sequence[str]) -> Change:
    return lambda present: [*(line for line in lines if line not in present), *present]


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
