"""What the doctor says of what is kept: the store as it is, what waits to get into it, its mirror, vectors.

The store is never made and never migrated here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

from claude_memory.backup import mirror
from claude_memory.capture.spool import Spool
from claude_memory.doctor import Check, fail, ok, warn
from claude_memory.embed import open_embedder
from claude_memory.errors import ConfigFault, EmbedderUnavailable, MemoryFault, SchemaTooNew, StoreCorrupt
from claude_memory.settings import Settings
from claude_memory.store import database_path, inspect, is_server, server_findings
from claude_memory.store.model import Inspection
from claude_memory.store.sql.rows import digest
from claude_memory.text import times
from claude_memory.vector_work import noted

NOTHING_SEEN = Inspection(0, 0, 0, "")
_MB = 1 << 20
_REBUILD = "restore a backup, or `claude-memory reindex --from-files`"
_NEEDED = ("numpy", "onnxruntime", "tokenizers")  # asked for by name only: loading them takes a second
_LONG_UNDRAINED = timedelta(days=1)
_MANY_PENDING = 1000  # every write is followed by a flush, so that a healthy store has next to none
_READ_SECONDS = 2.0
_REPLAY = "`claude-memory reindex --from-files` brings back what the mirror tells, or restore a backup"
_DRAIN = "`claude-memory search` or any other command drains it; see logs/ if it does not shrink"
_FEW = 100
_SHARE = 0.05
_EMBED = "`claude-memory reindex` makes them now"


def look(home: Path, settings: Settings) -> tuple[list[Check], Inspection]:
    """How the store stands, and what was seen of it, for other probes."""
    try:
        if is_server(settings.store):
            return [Check(*finding) for finding in server_findings(settings)], NOTHING_SEEN
        path = database_path(home, settings.store)
        if not path.exists():
            return [_missing(path, home)], NOTHING_SEEN
        seen = inspect(home, settings)
        return list(_judged(seen, path, settings)), seen
    except (MemoryFault, OSError, ValueError) as fault:
        hint = "end the process that holds it, if there is one"
        if is_server(settings.store):
            hint = "capture goes on; what waits is brought in later"
        elif isinstance(fault, SchemaTooNew):
            hint = "upgrade claude-memory, or restore a backup of this version"
        elif isinstance(fault, StoreCorrupt):
            hint = _REBUILD
        return [fail("store", str(fault), hint)], NOTHING_SEEN


def _missing(path: Path, home: Path) -> Check:
    if mirror.paths(home):
        return fail("store", f"{path} is gone, but its mirror is here", _REBUILD)
    return ok("store", "none yet; the first memory makes it")


def _judged(seen: Inspection, path: Path, settings: Settings) -> Iterator[Check]:
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
        yield _pages(seen)
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


def _pages(seen: Inspection) -> Check:
    if seen.problems is None:
        return ok("integrity", "no fault found in a few seconds")
    if seen.problems:
        return fail("integrity", "; ".join(seen.problems)[:300], _REBUILD)
    return ok("integrity", "sound")


# --- whether what is captured gets through: the spool into the store, its changes into the mirror


def spool(home: Path, settings: Settings) -> Iterator[Check]:
    """What waits to be ingested, for how long, and what was refused."""
    place = Spool(home)
    unreadable = [folder for folder in (place.folder, place.new, place.rejected) if _is_closed(folder)]
    if unreadable:
        yield fail("spool", f"{unreadable[0]} cannot be read", "give yourself the rights to it")
        return
    depth = place.depth()
    size = depth.size_bytes / _MB
    text = f"{depth.count} events wait ({size:.1f} MB)"
    if size > settings.spool_cap_mb:
        yield fail("spool", f"{text}, more than the {settings.spool_cap_mb} MB of spool_cap_mb", _DRAIN)
    elif depth.oldest is not None and datetime.now(UTC) - depth.oldest > _LONG_UNDRAINED:
        yield warn("spool", f"{text}, the oldest since {times.minute(depth.oldest)}", _DRAIN)
    else:
        yield ok("spool", text)
    if depth.newer:
        yield warn(
            "spool format", f"{depth.newer} events were captured by a newer version", "upgrade claude-memory"
        )
    if depth.rejected:
        yield warn(
            "rejected",
            f"{depth.rejected} events could not be read",
            f"reasons are in {place.rejected}/*.reason",
        )


def _is_closed(folder: Path) -> bool:
    try:
        with os.scandir(folder):
            return False
    except FileNotFoundError:
        return False
    except OSError:
        return True


def mirror_files(home: Path, view: Inspection) -> Iterator[Check]:
    """Whether memories.jsonl keeps up with the store, can be read, and says the same."""
    is_late = times.deadline(_READ_SECONDS)
    records, texts, lines, whole = mirror.read(home), dict[str, bytes](), 0, True
    for record in records:
        lines += 1
        memory = record.get("memory")
        if isinstance(memory, dict) and isinstance(memory.get("id"), str):
            texts[memory["id"]] = digest(*(str(memory.get(name, "")) for name in ("title", "body")))
        if lines % 256 == 0 and is_late():
            whole = False
            break
    text = f"{lines} changes in {len(mirror.paths(home))} files" + (
        "" if whole else " (the first of them read)"
    )
    bad, pending = records.bad, view.pending_changes
    if pending is not None:
        text += f", {pending} to be written"
    if bad:
        yield warn(
            "mirror", f"{text}; {bad} lines cannot be read", "they are passed over when memories are rebuilt"
        )
    elif pending and pending > _MANY_PENDING:
        yield warn("mirror", text, "any change of a memory writes them; see logs/ if it does not")
    else:
        yield ok("mirror", text)
    if view.last_change is not None and mirror.last_sequence(home) > view.last_change:
        yield fail(
            "lost changes",
            f"the database knows {view.last_change} changes, its mirror {mirror.last_sequence(home)}: it is "
            "older than it was, or its log is lost",
            _REPLAY,
        )
    # A bit that flips in a text leaves a sound database; only a second copy tells.
    stored = view.texts if whole and view.texts is not None else {}
    if differing := [id_ for id_, words in stored.items() if texts.get(id_, words) != words]:
        yield fail(
            "texts",
            f"{len(differing)} memories say something else than their mirror, among them {differing[0]}",
            f"compare `claude-memory show {differing[0]}` with memories.jsonl; {_REPLAY}",
        )


# --- what a search works with


def search(home: Path, settings: Settings, view: Inspection) -> Iterator[Check]:
    """The model in use, and passages that it has not seen."""
    bundled = "`claude-memory config set embedder bundled`"
    try:
        embedder = open_embedder(settings, home / "cache" / "models")
        model = embedder.model if embedder else None
    except ConfigFault as fault:
        yield fail("search", str(fault), bundled)
        return
    except EmbedderUnavailable as fault:
        yield warn("search", f"words only: {fault}", "see the setting `embedder`")
        return
    if model is None:
        yield warn("search", "words only: the setting `embedder` is `none`", bundled)
        return
    needed = () if settings.embedder.startswith("endpoint:") else _NEEDED
    if missing := [name for name in needed if not find_spec(name)]:
        install = f"pip install {' '.join(missing)}"
        yield warn("search", f"words only: {', '.join(missing)} not installed", install)
        return
    yield ok("search", f"words and meaning ({model})")
    yield from _coverage(home, model, view)


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
