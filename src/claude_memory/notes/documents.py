"""Rewrites of a project's files: inside its own folder only, and copied to the home."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.notes import blocks
from claude_memory.notes.editing import WAIT_SECONDS, edit
from claude_memory.notes.places import ProjectFiles
from claude_memory.platform.files import private_folder, write_atomically


def rewrite(
    files: ProjectFiles,
    home: Path,
    path: Path,
    change: Callable[[str], str],
    *,
    wait_seconds: float = WAIT_SECONDS,
) -> bool:
    """Change one file of the project by a pure function; returns whether it changed."""
    if not files.inside(path):
        raise InvalidInput(f"{path} leads outside the project's own files: it is left alone")
    changed = edit(path, change, home=home, wait_seconds=wait_seconds)
    copy = files.copy_of(path)
    if changed and copy is not None:
        with contextlib.suppress(OSError):  # a convenience: the file itself is the truth
            private_folder(copy.parent)
            write_atomically(copy, path.read_bytes())
    return changed


def set_block(
    files: ProjectFiles,
    home: Path,
    path: Path,
    name: str,
    lines: Callable[[list[str]], Sequence[str]],
    *,
    heading: str = "",
    title: str = "",
) -> bool:
    """Let a block say what `lines` makes of what it says now; a new file begins with its title."""

    def change(text: str) -> str:
        wanted = lines(blocks.content(text, name))
        if not text and wanted and title:
            text = f"{title}\n"
        return blocks.updated(text, name, wanted, heading=heading)

    return rewrite(files, home, path, change)


def one_line(text: str) -> str:
    """A text as one line of a list."""
    return " ".join(text.split())
