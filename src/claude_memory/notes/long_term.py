"""A project's MEMORY.md: the table of decisions with their reasons, and the files that work comes back to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from claude_memory.notes.documents import one_line, set_block
from claude_memory.notes.places import ProjectFiles

DECISIONS = "decisions"
AGENT_DECISIONS = "agent-decisions"  # shown as a quotation until a person moves the row to the other table
KEY_FILES = "key-files"
DISTILLED = "distilled"
TITLE = "# Project memory"
MAX_KEY_FILES = 15
_DECISION_HEAD = ("| Date | Decision | Rationale |", "|---|---|---|")
_KEY_FILE_HEAD = ("| File | Sessions | Last |", "|---|---|---|")
_CELL = r"((?:\\\||[^|])*?)"
_ROW = re.compile(rf"^\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*$")


def add_decisions(
    files: ProjectFiles,
    home: Path,
    decisions: Sequence[tuple[str, str]],
    *,
    day: date,
    by_agent: bool = False,
) -> bool:
    """Add rows to the table of decisions (what, why); one that stands there already is not repeated."""

    def rows(present: list[str]) -> list[str]:
        known = {cells[1] for line in present if (cells := cells_of(line))}
        fresh = [
            _row(f"{day:%Y-%m-%d}", what, why)
            for what, why in dict(decisions).items()
            if one_line(what) not in known
        ]
        return [*(present or _DECISION_HEAD), *fresh] if fresh else present

    block = AGENT_DECISIONS if by_agent else DECISIONS
    heading = "## Decisions noted by agents" if by_agent else "## Architecture decisions"
    return set_block(files, home, files.memory, block, rows, heading=heading, title=TITLE)


def count_files(files: ProjectFiles, home: Path, touched: Sequence[str], *, day: date) -> bool:
    """Count a session for each file it changed; the files that work comes back to most are kept."""

    def rows(present: list[str]) -> list[str]:
        counts = _counts(present)
        for name in dict.fromkeys(map(one_line, touched)):
            counts[name] = (counts.get(name, (0, ""))[0] + 1, f"{day:%Y-%m-%d}")
        kept = sorted(counts.items(), key=lambda item: (-item[1][0], item[1][1], item[0]))
        by_use = sorted(kept, key=lambda item: (item[1][0], item[1][1]), reverse=True)[:MAX_KEY_FILES]
        return [*_KEY_FILE_HEAD, *(_row(name, str(count), last) for name, (count, last) in by_use)]

    if not touched:
        return False
    return set_block(files, home, files.memory, KEY_FILES, rows, heading="## Key files", title=TITLE)


def cells_of(line: str) -> tuple[str, str, str] | None:
    """The three cells of a row; None for the head and for anything else."""
    found = _ROW.match(line)
    if found is None or set(found[1]) <= {"-", " "} or found[1] in ("Date", "File"):
        return None
    first, second, third = (cell.replace("\\|", "|") for cell in found.groups())
    return first, second, third


def _counts(present: Sequence[str]) -> dict[str, tuple[int, str]]:
    counts: dict[str, tuple[int, str]] = {}
    for line in present:
        cells = cells_of(line)
        if cells and cells[1].isdigit():
            counts[cells[0]] = (int(cells[1]), cells[2])
    return counts


def _row(*cells: str) -> str:
    return "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"
