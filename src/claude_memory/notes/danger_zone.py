"""When the context is nearly full, the last exchanges go to the working buffer: a compaction is near.

How full it is, the transcript says: the usage of its last answer, against the window of its model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from claude_memory.model import EventKind, SearchScope
from claude_memory.notes import blocks
from claude_memory.notes.journal import documents_of, exchanges_of
from claude_memory.settings import Settings
from claude_memory.store.model import EventFilter
from claude_memory.store.protocol import Store
from claude_memory.understand.model import Exchange

DEFAULT_WINDOW, LONG_WINDOW = 200_000, 1_000_000
# By the beginning of a model's name, longest first; `[1m]` in a name asks for the long window.
WINDOWS = {"gpt-4.1": 1_000_000, "gpt-5": 400_000, "gpt-": 128_000, "gemini-": 1_000_000}
EXCHANGES = 6
TAIL_BYTES = 512 << 10
ASKED_CHARACTERS, ANSWERED_CHARACTERS = 300, 500
RECENTLY = timedelta(minutes=20)
_PARTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens the last answer stood on, and which model gave it."""

    tokens: int
    model: str


def window_of(model: str, setting: int = 0) -> int:
    """The size of a model's window in tokens; a setting above 0 says it outright."""
    name = model.lower()
    if setting > 0 or "[1m]" in name:
        return setting or LONG_WINDOW
    return next((size for start, size in WINDOWS.items() if name.startswith(start)), DEFAULT_WINDOW)


def usage(transcript: Path) -> Usage | None:
    """The last usage a transcript tells of; None if there is none, or no such file."""
    try:
        with transcript.open("rb") as handle:
            handle.seek(max(handle.seek(0, os.SEEK_END) - TAIL_BYTES, 0))
            lines = handle.read(TAIL_BYTES).split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        try:
            message = json.loads(line)["message"] if b'"usage"' in line else {}
            counts = [message["usage"].get(name) for name in _PARTS] if message else []
            if tokens := sum(count for count in counts if isinstance(count, int)):
                return Usage(tokens, str(message.get("model") or ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # the first line may be cut, the last half-written
    return None


def is_near(used: Usage | None, settings: Settings) -> bool:
    """Whether the window is nearly full."""
    if used is None or not settings.danger_zone_percent:
        return False
    return used.tokens * 100 >= window_of(used.model, settings.context_window) * settings.danger_zone_percent


def watch(home: Path, store: Store, settings: Settings, *, now: datetime) -> None:
    """Condense the exchanges of every session at work whose window is nearly full; else they may go."""
    recently = EventFilter(kinds=(EventKind.REPLY,), since=now - RECENTLY)
    replies = store.archive.events(SearchScope(None), recently, limit=50)
    for session, event in {str(event.session): event for event in reversed(replies)}.items():
        path = event.payload.get("transcript_path")
        used = usage(Path(path)) if event.session and isinstance(path, str) and path else None
        if used is None:
            continue
        lines: list[str] = []
        if is_near(used, settings):
            for conversation in store.archive.by_sessions(SearchScope((event.project,)), [session]):
                lines += condensed(exchanges_of(store, conversation))
        documents_of(home, event.project, event.cwd).set_list(blocks.EXCHANGES, lines)


def condensed(exchanges: Sequence[Exchange]) -> list[str]:
    """The last exchanges, as lines: asked and answered."""
    lines = []
    for exchange in exchanges[-EXCHANGES:]:
        for request in exchange.asked:
            lines.append(f"{exchange.began:%H:%M} asked: {_middle_cut(request.words, ASKED_CHARACTERS)}")
        if exchange.closing:
            answer = _middle_cut(exchange.closing, ANSWERED_CHARACTERS)
            lines.append(f"{exchange.ended:%H:%M} answered: {answer}")
    return lines


def _middle_cut(text: str, characters: int) -> str:
    plain = " ".join(text.split())
    head = characters * 2 // 3
    return plain if len(plain) <= characters else f"{plain[:head]} … {plain[head - characters :]}"
