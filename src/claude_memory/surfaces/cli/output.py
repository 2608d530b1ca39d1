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
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from claude_memory.errors import InvalidInput
from claude_memory.model import Hit

if TYPE_CHECKING:
    from claude_memory.imports.importer import Progress

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
    raw((text + "\n").encode("utf-8", "backslashreplace"))


def raw(content: bytes) -> None:
    """Print bytes as they are."""
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


def note(message: str) -> None:
    """Tell the person something beside the answer."""
    sys.stderr.write(f"{clean(message)}\n")


def failure(message: str) -> None:
    """One line that says why the request failed."""
    told = " ".join(clean(message).split())
    if len(told) > FAILURE_CHARACTERS:  # it quotes what was given: the reason stands before and after that
        told = f"{told[: FAILURE_CHARACTERS - 200]} … {told[-200:]}"
    sys.stderr.write(f"claude-memory: {told}\n")


def confirm(
    question: str,
    *,
    yes: bool,
    unasked: str = "this cannot be undone: repeat it with --yes",
    refused: str = "nothing done",
) -> None:
    """Ask before what should not happen by mistake; without a terminal only `--yes` answers."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(unasked)
    if not answered(question):
        raise InvalidInput(refused)


def answered(question: str) -> bool:
    """Yes or no from the terminal. Not the library's: it writes to standard output, and hides Ctrl-C."""
    while True:
        sys.stderr.write(f"{clean(question)} [y/N]: ")
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


HIT_FIELDS = "id kind title snippet relevance session project timestamp files status trust".split()


def hit(found: Hit) -> dict[str, Any]:
    """One answer of a search, for programs."""
    values = {name: getattr(found, name) for name in HIT_FIELDS}
    more = {name: value for name in ("place", "stale") if (value := getattr(found, name))}
    return {**values, "relevance": round(found.relevance, 4), **more}


def plain(value: Any) -> Any:
    """The value in JSON's own types; times in UTC, to the second and marked as such."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


_DRAWN_SECONDS = 0.1
_BAR_CHARACTERS = 24


@contextmanager
def progress_bar(text: Callable[..., str]) -> Iterator[Callable[..., None] | None]:
    """What to tell of progress; `text` gets the seconds since the beginning, then what is told."""
    if not sys.stderr.isatty():
        yield None
        return
    begun, drawn = time.monotonic(), 0.0

    def show(*told: Any) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - drawn >= _DRAWN_SECONDS:
            drawn = now
            sys.stderr.write(f"\r{text(now - begun, *told)}\x1b[K")
            sys.stderr.flush()

    yield show
    if drawn:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def bytes_text(seconds: float, progress: Progress) -> str:
    """The bar of an import."""
    total = max(progress.total_bytes, 1)
    rate = progress.done_bytes / max(seconds, 0.001)
    return (
        f"{_bar(progress.done_bytes, total)}  {progress.done_bytes / 1e6:,.0f} of {total / 1e6:,.0f} MB  "
        f"{rate / 1e6:.1f} MB/s  {_left(total - progress.done_bytes, rate)}  "
        f"{progress.imported.messages:,} messages"
    )


def vectors_text(seconds: float, made: int, missing: int) -> str:
    """The bar of vectors: of those that were missing when it began."""
    rate = made / max(seconds, 0.001)
    bar = _bar(made, max(made + missing, 1))
    return f"{bar}  {made:,} of {made + missing:,} vectors  {rate:.0f} a second  {_left(missing, rate)}"


def _bar(done: int, total: int) -> str:
    share = min(done / total, 1.0)
    filled = round(share * _BAR_CHARACTERS)
    return f"[{'#' * filled}{'.' * (_BAR_CHARACTERS - filled)}] {share:4.0%}"


def _left(rest: float, rate: float) -> str:
    seconds = rest / rate if rate else 0.0
    return f"{seconds:.0f} s left" if seconds < 100 else f"{seconds / 60:.0f} min left"
