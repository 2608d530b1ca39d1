"""Writing answers: plain and stable when piped, coloured on a terminal, one document for programs.

The only module that writes to standard output. A line is a text in which `bold`, `dim` and the like mark
parts. Text of memories may come from anywhere, so control characters never reach a terminal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO

from claude_memory.errors import InvalidInput
from claude_memory.model import Hit, Status, StoredMemory
from claude_memory.text import times

FAILURE_CHARACTERS = 1000
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_MARKED = re.compile("\x02((?:bold |)(?:bold|dim|cyan|green|red|yellow))\x1f([^\x03]*)\x03")
_DRAWN_SECONDS = 0.1


# --- parts of a line


def styled(style: str, text: object) -> str:
    """A part of a line that looks different on a terminal; empty if the text is."""
    return f"\x02{style}\x1f{clean(str(text))}\x03" if text and style else str(text or "")


bold, dim, cyan, yellow, red = (partial(styled, style) for style in ("bold", "dim", "cyan", "yellow", "red"))


def clean(text: str) -> str:
    """The text without what could move a cursor, ring, or turn the reading direction."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def day(moment: datetime) -> str:
    """The day in the reader's own zone."""
    return f"{moment.astimezone():%Y-%m-%d}"


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(count: int) -> str:
    from rich.filesize import decimal

    return decimal(count)


def words(value: object) -> str:
    """A value as a person reads it; empty where there is none."""
    if isinstance(value, datetime):
        return times.minute(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "yes" if value is True else "" if value is None or value is False else str(value)


# --- lines that several commands share


def head(id_: str, facts: str, title: str, more: str = "") -> str:
    """The line that a thing is listed by: its id, facts, its title."""
    return f"{cyan(id_)}  {dim(facts)}  {bold(one_line(title))}{more}"


def standing(status: Status, superseded_by: str | None) -> str:
    """What to know of a memory that does not simply hold, for the end of its head line."""
    if status is Status.SUPERSEDED:
        return yellow(f"  superseded by {superseded_by}" if superseded_by else "  superseded")
    return {Status.ARCHIVED: dim("  archived"), Status.FORGOTTEN: red("  forgotten")}.get(status, "")


def listed(item: StoredMemory) -> str:
    more = standing(item.status, item.superseded_by)
    return head(item.id, f"{day(item.created_at)}  {item.kind:<10}", item.title, more)


def hit_lines(hits: Sequence[Hit], columns: int | None) -> Iterator[str]:
    """Each hit with its head line and, where it says more than the title, its snippet."""
    for item in hits:
        facts = f"{bold(f'{item.relevance:.2f}')}  {dim(f'{item.kind:<11} {day(item.timestamp)}')}"
        title = f"{bold(one_line(item.title))}{standing(item.status, item.superseded_by)}"
        yield f"{cyan(item.id)}  {facts}  {title}"
        snippet = one_line(item.snippet)
        if snippet and snippet.rstrip("…") not in one_line(item.title):
            yield from paragraph(snippet, columns, "    ")
        if item.place:
            yield dim(f"    {item.place}")
        if item.stale:
            yield yellow(f"    out of date? {one_line(item.stale)}")


def paragraph(text: str, columns: int | None, indent: str) -> Iterator[str]:
    """A text within the columns of a terminal; whole where there is none."""
    text = clean(text).rstrip()
    room = max((columns or 0) - len(indent), 20)
    yield from (indent + line for line in ([text] if columns is None else textwrap.wrap(text, room) or [""]))


def table(values: Mapping[str, object], style: str = "dim", indent: str = "") -> Iterator[str]:
    """Names and values, aligned; what has no value is left out."""
    longest = max((len(name) for name in values), default=0)
    for name, value in values.items():
        if text := one_line(words(value)):
            yield f"{indent}{styled(style, f'{name:<{longest}}')}  {text}"


# --- writing


def document(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    # A lone surrogate comes out as \\udXXX, which is what JSON wants for it.
    raw((text + "\n").encode("utf-8", "backslashreplace"))


def raw(content: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def binary() -> BinaryIO:
    """Standard output for bytes that no terminal should be given."""
    if sys.stdout.isatty():
        raise InvalidInput("a terminal cannot show a backup: send it on with `|` or `>`")
    sys.stdout.flush()
    return sys.stdout.buffer


def lines(content: Iterable[str]) -> None:
    """Print lines, with colours only where a person sees them."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        sys.stdout.writelines("".join(text for text, _ in pieces(line)).rstrip() + "\n" for line in content)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True, emoji=False, markup=False)
    for line in content:
        console.print(Text.assemble(*pieces(line)))


def pieces(line: str) -> Iterator[tuple[str, str]]:
    parts = iter(_MARKED.split(line))  # what is not marked, then a style, a text, what is not marked …
    yield clean(next(parts)), ""
    for style, text, rest in zip(parts, parts, parts, strict=True):
        yield clean(text), style
        yield clean(rest), ""


def note(message: str) -> None:
    sys.stderr.write(f"{clean(message)}\n")


def failure(message: str) -> None:
    reason = one_line(message)
    if len(reason) > FAILURE_CHARACTERS:  # it quotes what was given: the reason stands before and after that
        reason = f"{reason[: FAILURE_CHARACTERS - 200]} … {reason[-200:]}"
    sys.stderr.write(f"claude-memory: {reason}\n")


def confirm(
    question: str, *, yes: bool, unasked: str = "this cannot be undone: repeat it with --yes"
) -> None:
    """Ask before what should not happen by mistake; without a terminal only `--yes` answers."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(unasked)
    if not answered(question):
        raise InvalidInput("nothing done")


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


# --- values for programs


def hit(item: Hit) -> dict[str, Any]:
    values = {**asdict(item), "relevance": round(item.relevance, 4)}
    unsaid = {"superseded_by", "score", *(name for name in ("place", "stale") if not values[name])}
    return {name: value for name, value in values.items() if name not in unsaid}


def plain(value: Any) -> Any:
    """The value in JSON's own types; times in UTC, to the second and marked as such."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


# --- how far long work is


@contextmanager
def progress_bar(unit: str, size: float = 1.0) -> Iterator[Callable[..., None]]:
    """A bar on the terminal; what is yielded gets how much is done, how much is left, what else to tell.

    `size` says how many of what is counted make one unit.
    """
    begun, drawn, seen = time.monotonic(), 0.0, sys.stderr.isatty()

    def show(done: float, left: float, beside: str = "") -> None:
        nonlocal drawn
        now = time.monotonic()
        if not seen or now - drawn < _DRAWN_SECONDS:
            return
        drawn, share, rate = now, done / max(done + left, 1), done / max(now - begun, 0.001)
        amount = f"{done / size:,.0f} of {(done + left) / size:,.0f} {unit}  {rate / size:,.1f} {unit}/s"
        wait = f"{left / max(rate, 0.001):,.0f} s left"
        sys.stderr.write(f"\r[{'#' * round(share * 24):.<24}] {share:4.0%}  {amount}  {wait}  {beside}\x1b[K")
        sys.stderr.flush()

    yield show
    if drawn:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
