"""Gives summaries that a command left without vectors theirs, a while at a time; a drain calls it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from claude_memory import logs
from claude_memory.compaction.keeping import add_vectors, has_vectors
from claude_memory.compaction.model import KeptSummary
from claude_memory.compaction.store import Shelf
from claude_memory.embed.protocol import Embedder
from claude_memory.errors import EmbedderUnavailable, MemoryFault
from claude_memory.files import private_folder, write_atomically

SECONDS = 20.0
_CLOCK = 2.0  # how far a file's time may be behind the clock's


def fill(home: Path, embedder: Embedder, *, seconds: float = SECONDS) -> int:
    """Vectors for summaries that have none of this model; how many that were.

    Only sessions that were written to since everything was seen to are looked at: a drain is frequent.
    """
    shelf, begun = Shelf(home), time.time()
    seen, deadline = _seen(home, embedder.model), time.monotonic() + seconds
    made, whole = 0, True
    for kept in _bare(shelf, embedder.model, since=seen):
        if time.monotonic() > deadline:
            return made
        try:
            if add_vectors(shelf, kept, embedder) is not kept:
                made += 1
            elif not _is_there(embedder):
                return made
        except (MemoryFault, OSError) as fault:
            logs.logger("compaction").warning("a summary has no vectors yet: %s", fault)
            whole = False
    if whole:
        _write(home, embedder.model, begun - _CLOCK)
    return made


def _bare(shelf: Shelf, model: str, *, since: float) -> Iterator[KeptSummary]:
    for session in shelf.sessions(since=since):
        yield from (kept for kept in shelf.of(session) if not has_vectors(kept, model))


def _is_there(embedder: Embedder) -> bool:
    """Whether it was the summary that could take no vectors, not the embedder that made none."""
    try:
        return bool(embedder.embed(["ready"]))
    except EmbedderUnavailable:
        return False


def _state(home: Path) -> Path:
    return home / "cache" / "summary-vectors.json"


def _seen(home: Path, model: str) -> float:
    """Until when every summary has vectors of this model; 0 if that is not known."""
    try:
        found = json.loads(_state(home).read_bytes())
        return float(found["until"]) if found["model"] == model else 0.0
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return 0.0


def _write(home: Path, model: str, until: float) -> None:
    private_folder(_state(home).parent)
    write_atomically(_state(home), json.dumps({"model": model, "until": until}).encode())
