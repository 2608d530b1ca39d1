"""Bars on a terminal: how much of how much, how fast, how long still. Nothing when nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_memory.imports.importer import Progress

_DRAWN_SECONDS = 0.1
_WIDTH = 24


@contextmanager
def shown(text: Callable[..., str]) -> Iterator[Callable[..., None] | None]:
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
    filled = round(share * _WIDTH)
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%}"


def _left(rest: float, rate: float) -> str:
    seconds = rest / rate if rate else 0.0
    return f"{seconds:.0f} s left" if seconds < 100 else f"{seconds / 60:.0f} min left"
