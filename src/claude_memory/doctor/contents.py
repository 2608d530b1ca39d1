"""What the doctor says of the store, after a look at it as it is, and of what a search works with.

The store is never made and never migrated here.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from claude_memory.backup import mirror
from claude_memory.doctor.report import Check, fail, ok, warn
from claude_memory.embed import open_embedder
from claude_memory.embed.protocol import Embedder
from claude_memory.errors import ConfigFault, EmbedderUnavailable, MemoryFault, SchemaTooNew, StoreCorrupt
from claude_memory.settings import Settings
from claude_memory.store import database_path, inspect, is_server, server_findings
from claude_memory.store.model import Inspection
from claude_memory.vector_work import noted

NOTHING_SEEN = Inspection(0, 0, 0, "")
_MB = 1 << 20
_REBUILD = "restore a backup, or `claude-memory reindex --from-files`"
_NEEDED = ("numpy", "onnxruntime", "tokenizers")  # asked for by name only: loading them takes a second
_FEW = 100
_SHARE = 0.05
_EMBED = "`claude-memory reindex` makes them now"


def look(home: Path, settings: Settings, *, deep: bool) -> tuple[list[Check], Inspection]:
    """How the store stands, and what was seen of it, for other probes."""
    return (
        (_server(settings), NOTHING_SEEN) if is_server(settings.store) else _file(home, settings, deep=deep)
    )


def _server(settings: Settings) -> list[Check]:
    try:
        made = {"ok": ok, "warn": warn, "fail": fail}
        return [made[level](name, text, hint) for name, level, text, hint in server_findings(settings)]
    except MemoryFault as fault:
        return [fail("store", str(fault), "capture goes on; what waits is brought in later")]


def _file(home: Path, settings: Settings, *, deep: bool) -> tuple[list[Check], Inspection]:
    try:
        path = database_path(home, settings.store)
        if not path.exists():
            return [_missing(path, home)], NOTHING_SEEN
        seen = inspect(home, settings, deep=deep)
    except SchemaTooNew as fault:
        hint = "upgrade claude-memory, or restore a backup of this version"
        return [fail("store", str(fault), hint)], NOTHING_SEEN
    except StoreCorrupt as fault:
        return [fail("store", str(fault), _REBUILD)], NOTHING_SEEN
    except (MemoryFault, OSError, ValueError) as fault:
        if is_server(settings.store):
            return [
                fail("store", str(fault), "capture goes on; what waits is brought in later")
            ], NOTHING_SEEN
        return [fail("store", str(fault), "end the process that holds it, if there is one")], NOTHING_SEEN
    return list(_judged(seen, path, settings, deep=deep)), seen


def _missing(path: Path, home: Path) -> Check:
    if mirror.paths(home):
        return fail("store", f"{path} is gone, but its mirror is here", _REBUILD)
    return ok("store", "none yet; the first memory makes it")


def _judged(seen: Inspection, path: Path, settings: Settings, *, deep: bool) -> Iterator[Check]:
    if seen.version == 0:
        yield fail("store", f"{path.name} is empty", "delete it; the next memory makes a new one")
        return
    yield _size(seen, settings)
    if seen.lock == "free":
        yield ok("write lock", "free")
    elif seen.lock:
        hint = "if it is stuck, end it: nothing is lost, capture goes on in the spool"
        yield fail("write lock", seen.lock, hint)
    if seen.version == seen.current:
        yield _index(seen)
        yield _pages(seen, deep=deep)
    if seen.on_network:
        yield warn("file system", "the store is on a network drive", "keep the home on a local disk")


def _size(seen: Inspection, settings: Settings) -> Check:
    size = seen.size_bytes / _MB
    text = f"schema {seen.version}, {size:.1f} MB"
    if size > settings.store_cap_mb:
        limit = f"more than the {settings.store_cap_mb} MB of store_cap_mb"
        hint = "the drain after the next session takes out the oldest tool output, then messages"
        return warn("store", f"{text}, {limit}", hint)
    if seen.version < seen.current:
        return warn("store", f"{text}; schema {seen.current} comes with its next use, after a copy")
    return ok("store", text)


def _index(seen: Inspection) -> Check:
    if seen.passages is None:
        return ok("index", "too large to count in a few seconds")
    text = f"{seen.memories} memories, {seen.passages} passages"
    if seen.passages != seen.text_entries:
        hint = "`claude-memory reindex` makes them anew"
        return fail("index", f"{text}, but {seen.text_entries} text entries", hint)
    return ok("index", f"{text}, as many text entries")


def _pages(seen: Inspection, *, deep: bool) -> Check:
    if seen.problems is None:
        return ok("integrity", "no fault found in a few seconds; a deep check reads it all")
    if seen.problems:
        return fail("integrity", "; ".join(seen.problems)[:300], _REBUILD)
    return ok("integrity", "every page and link is sound" if deep else "sound")


def search(home: Path, settings: Settings, view: Inspection, *, deep: bool) -> Iterator[Check]:
    """The model in use, and passages that it has not seen."""
    try:
        embedder = open_embedder(settings, home / "cache" / "models")
        model = embedder.model if embedder else None
    except ConfigFault as fault:
        yield fail("search", str(fault), "`claude-memory config set embedder bundled`")
        return
    except EmbedderUnavailable as fault:
        yield warn("search", f"words only: {fault}", "see the setting `embedder`")
        return
    if embedder is None or model is None:
        yield warn(
            "search",
            "words only: the setting `embedder` is `none`",
            "`claude-memory config set embedder bundled`",
        )
        return
    missing = (
        [] if settings.embedder.startswith("endpoint:") else [name for name in _NEEDED if not find_spec(name)]
    )
    if missing:
        yield warn(
            "search", f"words only: {', '.join(missing)} not installed", f"pip install {' '.join(missing)}"
        )
        return
    yield from _tried(embedder, model) if deep else [ok("search", f"words and meaning ({model})")]
    yield from _coverage(home, model, view)


def _tried(embedder: Embedder, model: str) -> Iterator[Check]:
    try:
        [vector] = embedder.embed(["is the model well?"], query=True)
    except EmbedderUnavailable as fault:
        yield warn("search", f"words only: {fault}", "see the setting `embedder`")
    else:
        yield ok("search", f"words and meaning ({model}, tried now, {len(vector)} dimensions)")


def _coverage(home: Path, model: str, view: Inspection) -> Iterator[Check]:
    if view.passages is None:
        return
    others = {name: count for name, count in view.vectors.items() if name != model}
    progress = noted(home, view.passages, view.passages - view.vectors.get(model, 0))
    if others:
        name, count = max(others.items(), key=lambda item: item[1])
        yield warn(
            "vectors", f"{count} vectors of another model ({name})", "`claude-memory reindex` drops them"
        )
    if progress.missing > max(_FEW, view.passages * _SHARE) and (progress.stopped or not progress.working):
        yield warn("vectors", progress.words, _EMBED)
    elif not others or progress.missing:
        yield ok("vectors", progress.words)
