"""Writing answers: plain and stable when piped, coloured on a terminal, one document for programs.

The only module that writes to standard output. Text of memories may come from anywhere, so control
characters never reach a terminal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO

from claude_memory.errors import InvalidInput
from claude_memory.surfaces.cli import documents

# A piece of a line with its style ("" for none); a line is a list of pieces.
Piece = tuple[str, str]
Line = list[Piece]

FAILURE_CHARACTERS = 1000
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def prepare_streams() -> None:
    """Let no character make printing fail, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def document(value: Any) -> None:
    """Print one JSON document, never wrapped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    # A lone surrogate comes out as \\udXXX, which is what JSON wants for it.
    content = (text + "\n").encode("utf-8", "backslashreplace")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def binary() -> BinaryIO:
    """Standard output for bytes that no terminal should be given."""
    if sys.stdout.isatty():
        raise InvalidInput("a terminal cannot show a backup: send it on with `|` or `>`")
    sys.stdout.flush()
    return sys.stdout.buffer


def lines(content: Iterable[Line]) -> None:
    """Print lines, with colours only where a person sees them."""
    if not _coloured():
        sys.stdout.writelines("".join(clean(text) for text, _ in line).rstrip() + "\n" for line in content)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True, emoji=False, markup=False)
    for line in content:
        console.print(Text.assemble(*[(clean(text), style) for text, style in line]))


def answer(value: Any, shown: Iterable[Line] | str, *, json: bool) -> None:
    """What a command found: one document for programs, else lines for a person; a text is one line."""
    if json:
        document(documents.plain(value))
    else:
        lines([[(shown, "")]] if isinstance(shown, str) else shown)


def note(message: str) -> None:
    """Tell the person something beside the answer."""
    sys.stderr.write(f"{clean(message)}\n")


def failure(message: str) -> None:
    """One line that says why the request failed."""
    told = " ".join(clean(message).split())
    if len(told) > FAILURE_CHARACTERS:  # it quotes what was given: the reason stands before and after that
        told = f"{told[: FAILURE_CHARACTERS - 200]} … {told[-200:]}"
    sys.stderr.write(f"claude-memory: {told}\n")


def confirmed(
    question: str, *, yes: bool, unasked: str = "this cannot be undone: repeat it with --yes"
) -> bool:
    """Ask before what should not happen by mistake; without a terminal only `--yes` answers."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidInput(unasked)
    return _answered(clean(question))


def _answered(question: str) -> bool:
    """Yes or no from the terminal. Not the library's: it writes to standard output, and hides Ctrl-C."""
    while True:
        sys.stderr.write(f"{question} [y/N]: ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
        if not answer:  # Ctrl-D leaves the cursor behind the question
            note("")
        if answer.strip().lower() in ("y", "yes"):
            return True
        if answer.strip().lower() in ("", "n", "no"):
            return False


def width() -> int | None:
    """Columns of the terminal, or None when nobody looks and lines stay whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun, which is the plural with -s unless told otherwise."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def clean(text: str) -> str:
    """The text without what could move a cursor, ring, or turn the reading direction."""
    return _CONTROL.sub("", text)


def _coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
