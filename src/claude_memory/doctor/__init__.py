"""`claude-memory doctor`: looks at a home from every side and says what is wrong and what to do.

Belongs here: one check after another, each with its level, its words and its hint. It reads, never raises.
Does not: repairing anything, making or migrating a store (store), loading a model unless it is asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from claude_memory import settings as settings_module
from claude_memory.backup import mirror
from claude_memory.capture.drain import Spool
from claude_memory.embed import open_embedder
from claude_memory.errors import ConfigFault, EmbedderUnavailable, MemoryFault, SchemaTooNew, StoreCorrupt
from claude_memory.lifecycle import retention
from claude_memory.settings import Settings
from claude_memory.store import database_path, inspect, is_server, server_findings
from claude_memory.store.model import Inspection
from claude_memory.store.sql.rows import digest
from claude_memory.text import times
from claude_memory.vector_work import noted

_NOTHING_SEEN = Inspection(0, 0, 0, "")
_MB = 1 << 20
_REBUILD = "restore a backup, or `claude-memory reindex --from-files`"
_NEEDED = ("numpy", "onnxruntime", "tokenizers")  # asked for by name only: loading them takes a second
_LONG_UNDRAINED = timedelta(days=1)
_MANY_PENDING = 1000  # every write is followed by a flush, so that a healthy store has next to none
_READ_SECONDS = 2.0
_FEW = 100
_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it stands, and what to do about it."""

    name: str
    level: str  # ok, warn, fail
    message: str
    hint: str = ""


def check(home: Path, project_root: Path | None = None) -> list[Check]:
    """Everything that can be said about a home within a few seconds."""
    from claude_memory.doctor import surroundings

    finding, settings = _settings(home, project_root)
    probes: dict[str, Callable[[], Iterable[Check]]] = {
        "versions": surroundings.versions,
        "home": partial(surroundings.home, home),
        "disk": partial(surroundings.disk, home),
        "settings": lambda: [finding],
    }
    if home.is_dir():
        stored, view = _store(home, settings)
        probes |= {
            "locks": partial(surroundings.locking, home),
            "store": lambda: stored,
            "spool": partial(_spool, home, settings),
            "mirror": partial(_mirror, home, view),
            "search": partial(_search, home, settings, view),
            "backups": partial(surroundings.backups, home, settings),
            "logs": partial(surroundings.logs, home, settings),
            "conversations": partial(surroundings.histories, home, settings),
        }
    if project_root is not None:
        probes["tasks"] = partial(surroundings.tasks, home, project_root)
        probes["agents"] = partial(surroundings.agents, project_root, home)
    probes["retention"] = partial(_retention, home, settings)
    found: list[Check] = []
    for name, probe in probes.items():
        try:
            found += list(probe())
        except (MemoryFault, OSError, ValueError) as fault:  # where it cannot even look, that is the finding
            found.append(Check(name, "fail", f"cannot be checked: {fault}"))
    return [item if item.level != "ok" else replace(item, hint="") for item in found]


def _settings(home: Path, project_root: Path | None) -> tuple[Check, Settings]:
    try:
        settings = settings_module.load(home, project_root=project_root)
        unknown = ", ".join(settings_module.unknown_keys(home))[:200]
    except ConfigFault as fault:
        hint = "correct the file; until then defaults are assumed here"
        return Check("settings", "fail", str(fault), hint), Settings()
    if unknown:
        message = f"config.toml has keys nobody reads: {unknown}"
        return Check("settings", "warn", message, "see `claude-memory config list`"), settings
    return Check("settings", "ok", "config.toml is fine" if settings != Settings() else "defaults"), settings


def _store(home: Path, settings: Settings) -> tuple[list[Check], Inspection]:
    """How the store stands, and what was seen of it, for other probes."""
    try:
        if is_server(settings.store):
            return [Check(*finding) for finding in server_findings(settings)], _NOTHING_SEEN
        path = database_path(home, settings.store)
        if path.exists():
            seen = inspect(home, settings)
            return list(_judged(seen, path, settings)), seen
        if mirror.paths(home):
            lost = f"{path} is gone, but its mirror is here"
            return [Check("store", "fail", lost, _REBUILD)], _NOTHING_SEEN
        return [Check("store", "ok", "none yet; the first memory makes it")], _NOTHING_SEEN
    except (MemoryFault, OSError, ValueError) as fault:
        hint = "end the process that holds it, if there is one"
        if is_server(settings.store):
            hint = "capture goes on; what waits is brought in later"
        elif isinstance(fault, SchemaTooNew):
            hint = "upgrade claude-memory, or restore a backup of this version"
        elif isinstance(fault, StoreCorrupt):
            hint = _REBUILD
        return [Check("store", "fail", str(fault), hint)], _NOTHING_SEEN


def _judged(seen: Inspection, path: Path, settings: Settings) -> Iterator[Check]:
    if seen.version == 0:
        yield Check("store", "fail", f"{path.name} is empty", "delete it; the next memory makes a new one")
        return
    size, cap = seen.size_bytes / _MB, settings.store_cap_mb
    text, hint = f"schema {seen.version}, {size:.1f} MB", ""
    if size > cap:
        text += f", more than the {cap} MB of store_cap_mb"
        hint = "the drain after the next session takes out the oldest tool output, then messages"
    if seen.version < seen.current:
        text += f"; schema {seen.current} comes with its next use, after a copy"
    yield Check("store", "warn" if size > cap or seen.version < seen.current else "ok", text, hint)
    if seen.lock:
        hint = "if it is stuck, end it: nothing is lost, capture goes on in the spool"
        yield Check("write lock", "ok" if seen.lock == "free" else "fail", seen.lock, hint)
    if seen.version == seen.current:
        text = f"{seen.memories} memories, {seen.passages} passages, {seen.text_entries} text entries"
        if seen.passages is None:
            text = "too large to count in a few seconds"
        is_whole = seen.passages is None or seen.passages == seen.text_entries
        yield Check("index", "ok" if is_whole else "fail", text, "`claude-memory reindex` makes them anew")
        text = "sound" if seen.problems is not None else "no fault found in a few seconds"
        problems = "; ".join(seen.problems or ())[:300]
        yield Check("integrity", "fail" if problems else "ok", problems or text, _REBUILD)
    if seen.on_network:
        yield Check("file system", "warn", "the store is on a network drive", "keep the home on a local disk")


def _spool(home: Path, settings: Settings) -> Iterator[Check]:
    place = Spool(home)
    for folder in (place.folder, place.new, place.rejected):
        with contextlib.suppress(FileNotFoundError):
            next(folder.iterdir(), None)  # what cannot be read is told; the count passes over it
    depth, level = place.depth(), "ok"
    text = f"{depth.count} events wait ({depth.size_bytes / _MB:.1f} MB)"
    if depth.size_bytes / _MB > settings.spool_cap_mb:
        level, text = "fail", f"{text}, more than the {settings.spool_cap_mb} MB of spool_cap_mb"
    elif depth.oldest is not None and datetime.now(UTC) - depth.oldest > _LONG_UNDRAINED:
        level, text = "warn", f"{text}, the oldest since {times.minute(depth.oldest)}"
    drain = "`claude-memory search` or any other command drains it; see logs/ if it does not shrink"
    yield Check("spool", level, text, drain)
    if depth.newer:
        text = f"{depth.newer} events were captured by a newer version"
        yield Check("spool format", "warn", text, "upgrade claude-memory")
    if depth.rejected:
        hint = f"reasons are in {place.rejected}/*.reason"
        yield Check("rejected", "warn", f"{depth.rejected} events could not be read", hint)


def _mirror(home: Path, view: Inspection) -> Iterator[Check]:
    """Whether memories.jsonl keeps up with the store, can be read, and says the same."""
    is_late = times.deadline(_READ_SECONDS)
    unread, texts, lines, part = list[bytes](), dict[str, bytes](), 0, ""
    for record in mirror.read(home, unread):
        lines += 1
        memory = record.get("memory")
        if isinstance(memory, dict) and isinstance(memory.get("id"), str):
            texts[memory["id"]] = digest(*(str(memory.get(name, "")) for name in ("title", "body")))
        if lines % 256 == 0 and is_late():
            part = " (the first of them read)"
            break
    pending = view.pending_changes or 0
    text = f"{lines} changes in {len(mirror.paths(home))} files{part}, {pending} to be written"
    hint = "any change of a memory writes them; see logs/ if it does not"
    if unread:
        text += f"; {len(unread)} lines cannot be read"
        hint = "they are passed over when memories are rebuilt"
    yield Check("mirror", "warn" if unread or pending > _MANY_PENDING else "ok", text, hint)
    replay = "`claude-memory reindex --from-files` brings back what the mirror tells, or restore a backup"
    if view.last_change is not None and mirror.last_sequence(home) > view.last_change:
        known = f"the database knows {view.last_change} changes, its mirror {mirror.last_sequence(home)}"
        yield Check("lost changes", "fail", f"{known}: it is older than it was, or its log is lost", replay)
    # A bit that flips in a text leaves a sound database; only a second copy tells.
    stored = {} if part else view.texts or {}
    if differing := [id_ for id_, words in stored.items() if texts.get(id_, words) != words]:
        text = f"{len(differing)} memories say something else than their mirror, among them {differing[0]}"
        hint = f"compare `claude-memory show {differing[0]}` with memories.jsonl; {replay}"
        yield Check("texts", "fail", text, hint)


def _search(home: Path, settings: Settings, view: Inspection) -> Iterator[Check]:
    """The model in use, and passages that it has not seen."""
    bundled = "`claude-memory config set embedder bundled`"
    try:
        embedder = open_embedder(settings, home / "cache" / "models")
    except ConfigFault as fault:
        yield Check("search", "fail", str(fault), bundled)
        return
    except EmbedderUnavailable as fault:
        yield Check("search", "warn", f"words only: {fault}", "see the setting `embedder`")
        return
    if embedder is None:
        yield Check("search", "warn", "words only: the setting `embedder` is `none`", bundled)
        return
    needed = () if settings.embedder.startswith("endpoint:") else _NEEDED
    if missing := [name for name in needed if not find_spec(name)]:
        install = f"pip install {' '.join(missing)}"
        yield Check("search", "warn", f"words only: {', '.join(missing)} not installed", install)
        return
    yield Check("search", "ok", f"words and meaning ({embedder.model})")
    if view.passages is None:
        return
    counts = dict(view.vectors)
    progress = noted(home, view.passages, view.passages - counts.pop(embedder.model, 0))
    if counts:
        name, count = max(counts.items(), key=lambda item: item[1])
        text = f"{count} vectors of another model ({name})"
        yield Check("vectors", "warn", text, "`claude-memory reindex` drops them")
    is_in_work = progress.working and not progress.stopped
    is_late = progress.missing > max(_FEW, view.passages * _SHARE) and not is_in_work
    if progress.missing or not counts:
        hint = "`claude-memory reindex` makes them now"
        yield Check("vectors", "warn" if is_late else "ok", progress.words, hint)


def _retention(home: Path, settings: Settings) -> Iterator[Check]:
    days, state = settings.keep_events_days, retention.load(home)
    kept = f"events are kept for {days} days" if days else "events are kept for ever"
    undo = f"`forget` can be undone for {settings.forget_undo_days} days"
    text = f"{kept}; {undo}; at most {settings.store_cap_mb} MB of store"
    if made := retention.room_made(home):
        text += f"; over that, {retention.told(made[1])}, last on {made[0]:%Y-%m-%d}"
    if state is not None and state.jumped_from is not None:
        jump = f"the clock jumped from {_day(state.jumped_from)} to {_day(state.wall)}"
        yield Check("retention", "warn", f"{text}; {jump}: nothing goes until it has run on for a day")
        return
    waiting = []
    if state is not None and state.events_before is not None and days:
        waiting.append(f"events from before {_day(state.events_before)}")
    if state is not None and (due := state.past_undoing(settings.forget_undo_days - 1)):
        waiting.append(f"{len(due)} forgotten memories")
    if state is not None and waiting:
        text += f"; after {times.minute(state.goes_at())} go {' and '.join(waiting)}"
    yield Check("retention", "ok", text)


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
