"""When the context is nearly full, the last exchanges go to the working buffer: a compaction is near.

How full it is, the transcript says: the usage of its last answer, against the window of its model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory.model import EventKind, SearchScope
from claude_memory.notes import buffer
from claude_memory.notes.journal import exchanges_of
from claude_memory.notes.places import project_files
from claude_memory.platform.project import root_of
from claude_memory.settings import Settings
from claude_memory.store.archive_model import EventFilter
from claude_memory.store.protocol import Store
from claude_memory.understand.model import Exchange

DEFAULT_WINDOW = 200_000
# By the beginning of a model's name, longest first; `[1m]` in a name asks for the long window.
WINDOWS = {
    "claude-": 200_000,
    "gpt-5": 400_000,
    "gpt-4.1": 1_000_000,
    "gpt-": 128_000,
    "gemini-": 1_000_000,
    "o3": 200_000,
    "o4": 200_000,
}
LONG_WINDOW = 1_000_000
EXCHANGES = 6
TAIL_BYTES = 512 << 10
ASKED_CHARACTERS = 300
ANSWERED_CHARACTERS = 500
RECENTLY = timedelta(minutes=20)
_PARTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens the last answer stood on, and which model gave it."""

    tokens: int
    model: str


def window_of(model: str, setting: int = 0) -> int:
    """The size of a model's window in tokens; a setting above 0 says it outright."""
    if setting > 0:
        return setting
    if "[1m]" in model.lower():
        return LONG_WINDOW
    known = sorted((name for name in WINDOWS if model.lower().startswith(name)), key=len, reverse=True)
    return WINDOWS[known[0]] if known else DEFAULT_WINDOW


def usage(transcript: Path) -> Usage | None:
    """The last usage a transcript tells of; None if there is none, or no such file."""
    for line in reversed(list(_tail(transcript))):
        if b'"usage"' not in line:
            continue
        try:
            message = json.loads(line).get("message")
        except (ValueError, AttributeError, RecursionError):
            continue
        found = _usage(message) if isinstance(message, dict) else None
        if found:
            return found
    return None


def is_near(found: Usage | None, settings: Settings) -> bool:
    """Whether the window is nearly full."""
    if found is None or not settings.danger_zone_percent:
        return False
    return (
        found.tokens * 100 >= window_of(found.model, settings.context_window) * settings.danger_zone_percent
    )


def watch(home: Path, store: Store, settings: Settings, *, now: datetime) -> int:
    """Condense the exchanges of every session at work whose window is nearly full; else they may go."""
    replies = store.archive.events(
        SearchScope(None), EventFilter(kinds=(EventKind.REPLY,), since=now - RECENTLY), limit=50
    )
    latest = {str(event.session): event for event in reversed(replies) if event.session}
    written = 0
    for session, event in latest.items():
        path = event.payload.get("transcript_path")
        if not isinstance(path, str) or not path or (used := usage(Path(path))) is None:
            continue
        lines: list[str] = []
        if is_near(used, settings):
            for conversation in store.archive.by_sessions(SearchScope((event.project,)), [session]):
                lines += condensed(exchanges_of(store, conversation))
        files = project_files(home, event.project, root_of(event.cwd) if event.cwd else home)
        written += buffer.set_block(files, home, buffer.EXCHANGES, lines)
    return written


def condensed(exchanges: Sequence[Exchange]) -> list[str]:
    """The last exchanges, as lines: asked and answered."""
    lines = []
    for exchange in exchanges[-EXCHANGES:]:
        at = exchange.began
        lines += [f"- {at:%H:%M} asked: {_short(one.words, ASKED_CHARACTERS)}" for one in exchange.asked]
        if exchange.closing:
            lines.append(
                f"- {exchange.ended:%H:%M} answered: {_short(exchange.closing, ANSWERED_CHARACTERS)}"
            )
    return lines


def _usage(message: dict[str, Any]) -> Usage | None:
    told = message.get("usage")
    if not isinstance(told, dict):
        return None
    counts = [told.get(name) for name in _PARTS]
    tokens = sum(count for count in counts if isinstance(count, int))
    model = message.get("model")
    return Usage(tokens, model if isinstance(model, str) else "") if tokens else None


def _tail(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            handle.seek(max(size - TAIL_BYTES, 0))
            content = handle.read(TAIL_BYTES)
    except OSError:
        return
    lines = content.split(b"\n")
    yield from lines[1:] if size > TAIL_BYTES else lines


def _short(text: str, characters: int) -> str:
    plain = " ".join(text.split())
    if len(plain) <= characters:
        return plain
    head = characters * 2 // 3
    return f"{plain[:head]} … {plain[-(characters - head) :]}"
