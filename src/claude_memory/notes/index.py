"""The plain files in the store: each piece a memory with its file and line, kept up by change time and hash.

The files are the truth. What changed is read anew, what moved keeps its memories, what is gone is
hidden. Bounded: what does not fit into the time waits for the next call.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_memory.model import (
    MemoryFilter,
    MemoryId,
    ProjectId,
    Scope,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
    memory_id,
)
from claude_memory.notes import markdown
from claude_memory.notes.pieces import Piece
from claude_memory.notes.reading import Lines, Problem, parse_lines, read_bytes
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.store.protocol import Store
from claude_memory.text.times import deadline

BATCH = 300
STATE = "files.json"
_FORMAT = 1
_SETTLED_NS = 2_000_000_000  # a file changed this lately may change again within the same tick
_LASTING = "working-buffer.md"  # what left it stays remembered
_ANY = MemoryFilter(statuses=tuple(Status))


@dataclass(frozen=True, slots=True)
class FileSource:
    """A set of files that are read alike and belong together."""

    list_paths: Callable[[], Iterable[Path]]
    read: Callable[[Lines], list[Piece]]
    project: ProjectId
    trust: Trust
    scope: Scope
    prefixes: tuple[str, ...]  # of paths that belong here, also when the file is gone
    root: Path | None = None  # a folder that may be gone for a while, such as one that is not mounted
    shown_from: Path | None = None
    projects: Mapping[str, ProjectId] = field(default_factory=dict)  # by what a file may call them

    def owns(self, path: str) -> bool:
        """Whether a path belongs here."""
        return path.startswith(self.prefixes)

    def is_there(self) -> bool:
        """Whether the folder itself can be seen."""
        return self.root is None or self.root.is_dir()

    def home_of(self, piece: Piece) -> tuple[ProjectId, Scope]:
        """The project that a piece is about, and how far it is seen."""
        if not piece.project:
            return self.project, self.scope
        return self.projects.get(piece.project, self.project), Scope.PROJECT

    def shown(self, path: Path) -> str:
        """The file as a person would name it."""
        if self.shown_from is not None and path.is_relative_to(self.shown_from):
            return path.relative_to(self.shown_from).as_posix()
        return str(path)


@dataclass(slots=True)
class Synced:
    """What one run did."""

    files: int = 0
    read: int = 0
    added: int = 0
    changed: int = 0
    hidden: int = 0
    renamed: int = 0
    complete: bool = True
    busy: bool = False
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    """What is known of one indexed file."""

    modified: int
    size: int
    hash: str
    id: str
    memories: list[str]
    seen: int = 0

    def is_unchanged(self, found: os.stat_result) -> bool:
        settled = found.st_mtime_ns < self.seen - _SETTLED_NS
        return settled and (self.modified, self.size) == (found.st_mtime_ns, found.st_size)


def sync(
    home: Path,
    store: Store,
    sources: Sequence[FileSource],
    *,
    clean: Callable[[str], str],
    now: datetime,
    store_key: str,
    budget_seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Synced:
    """Bring the store up to what the files say. `clean` cuts secrets and private parts from every text."""
    with try_lock(private_folder(home / "cache") / "files.lock") as mine:
        if not mine:
            return Synced(busy=True)
        run = _Run(home, store, clean, now, deadline(budget_seconds), progress)
        run.load(store_key)
        for source in sources:
            run.source(source)
        run.flush()
        if run.done.complete:
            run.forget_the_gone(sources)
        run.save(store_key)
        return run.done


@dataclass(slots=True)
class _Run:
    home: Path
    store: Store
    clean: Callable[[str], str]
    now: datetime
    out_of_time: Callable[[], bool]
    progress: Callable[[int], None] | None
    done: Synced = field(default_factory=Synced)
    known: dict[str, _File] = field(default_factory=dict)
    dirty: bool = False
    gone: dict[str, _File] = field(default_factory=dict)
    pending: list[StoredMemory] = field(default_factory=list)

    def load(self, store_key: str) -> None:
        try:
            state = json.loads((self.home / "cache" / STATE).read_bytes())
            if state.get("format") == _FORMAT and state.get("store") == store_key:
                self.known = {path: _File(*values) for path, values in state["files"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            self.known = {}  # derived: made anew from the files

    def save(self, store_key: str) -> None:
        if not self.dirty:
            return
        files = {
            path: [item.modified, item.size, item.hash, item.id, item.memories, item.seen]
            for path, item in self.known.items()
        }
        raw = json.dumps({"format": _FORMAT, "store": store_key, "files": files})
        write_atomically(self.home / "cache" / STATE, raw.encode("utf-8", "surrogateescape"))

    def source(self, source: FileSource) -> None:
        paths = list(source.list_paths())
        self.done.files += len(paths)
        if not source.is_there():
            return
        present = set(map(str, paths))
        self.gone.update(
            (path, item) for path, item in self.known.items() if source.owns(path) and path not in present
        )
        for path in paths:
            if self.out_of_time():
                self.done.complete = False
                return
            self.file(source, path)

    def file(self, source: FileSource, path: Path) -> None:
        try:
            found = path.lstat()
        except OSError:
            return
        item = self.known.get(str(path))
        if item is not None and item.is_unchanged(found):
            return
        self.dirty = True
        content = read_bytes(path)
        digest = hashlib.blake2b(content, digest_size=12).hexdigest()
        seen = time.time_ns()
        if item is not None and item.hash == digest:
            item.modified, item.size, item.seen = found.st_mtime_ns, found.st_size, seen
            return
        self.read(source, path, content, _File(found.st_mtime_ns, found.st_size, digest, "", [], seen))

    def read(self, source: FileSource, path: Path, content: bytes, fresh: _File) -> None:
        lines = parse_lines(path, content)
        self.done.problems += lines.problems
        named = markdown.parse(lines.lines, path.stem).id if source.root is not None else ""
        own_id = f"note:{named}" if named else ""
        before = self.known.get(str(path)) or self.moved(fresh.hash, own_id)
        fresh.id = before.id if before else own_id or str(path)
        made = [self.memory(source, path, piece, fresh) for piece in source.read(lines)]
        once = {memory.id: memory for memory in made}
        fresh.memories = list(once)
        self.done.read += 1
        self.pending += once.values()
        left = set(before.memories) - set(once) if before else set()
        if path.name != _LASTING:
            self.hide(left)
        self.known[str(path)] = fresh
        if len(self.pending) >= BATCH:
            self.flush()

    def moved(self, digest: str, own_id: str) -> _File | None:
        """The file that this one was before: the same words or the same id, now missing at its old place."""
        for path, item in self.gone.items():
            if item.hash == digest or (own_id and item.id == own_id):
                del self.gone[path]
                self.known.pop(path, None)
                self.done.renamed += 1
                return item
        return None

    def memory(self, source: FileSource, path: Path, piece: Piece, file: _File) -> StoredMemory:
        provenance: dict[str, Any] = {"source": "file", "file": str(path), "line": piece.line}
        if piece.links:
            provenance["links"] = list(piece.links)
        at = piece.created_at or datetime.fromtimestamp(file.modified / 1e9, UTC)
        trust = Trust.AGENT if piece.by_agent and source.trust is Trust.USER else source.trust
        project, scope = source.home_of(piece)
        return StoredMemory(
            id=memory_id(f"file:{file.id}:{piece.key}"),
            project=project,
            kind=piece.kind,
            title=self.clean(piece.title),
            body=self.clean(piece.body),
            created_at=at,
            updated_at=at,
            trust=trust,
            scope=scope,
            session=SessionId(piece.session) if piece.session else None,
            topics=piece.topics,
            files=(source.shown(path),),
            provenance=provenance,
        )

    def flush(self) -> None:
        """Add what is new; bring what is there up to what the file says."""
        if not self.pending:
            return
        wanted = {memory.id: memory for memory in self.pending}
        self.pending = []
        there = {memory.id: memory for memory in self.stored(list(wanted))}
        new = [memory for id_, memory in wanted.items() if id_ not in there]
        self.done.added += self.store.memories.add(new).memories
        for id_, old in there.items():
            self.refresh(old, wanted[id_])
        if self.progress is not None:
            self.progress(self.done.added)

    def refresh(self, old: StoredMemory, said: StoredMemory) -> None:
        """A memory that a person forgot stays forgotten; one that left its file comes back with it."""
        returns = old.status is Status.FORGOTTEN and bool(old.provenance.get("gone"))
        changed = replace(
            said,
            created_at=old.created_at,
            updated_at=old.updated_at,
            status=Status.ACTIVE if returns else old.status,
            forgotten_at=None if returns else old.forgotten_at,
            superseded_by=old.superseded_by,
            supersedes=old.supersedes,
            session=old.session,
            title=old.title if old.body == said.body else said.title,
            topics=said.topics or old.topics,
            pinned=old.pinned,
        )
        if changed != old:
            self.store.memories.update(replace(changed, updated_at=self.now))
            self.done.changed += 1

    def hide(self, ids: set[str]) -> None:
        for memory in self.stored([MemoryId(id_) for id_ in ids]):
            if memory.status is not Status.FORGOTTEN:
                provenance = {**memory.provenance, "gone": True}
                self.store.memories.update(
                    replace(
                        memory,
                        status=Status.FORGOTTEN,
                        forgotten_at=self.now,
                        updated_at=self.now,
                        provenance=provenance,
                    )
                )
                self.done.hidden += 1

    def stored(self, ids: Sequence[MemoryId]) -> list[StoredMemory]:
        return self.store.memories.find(SearchScope(None), _ANY, ids=ids) if ids else []

    def forget_the_gone(self, sources: Sequence[FileSource]) -> None:
        """Only of folders that are there: one that is not mounted took nothing back."""
        for path, item in self.gone.items():
            owners = [source for source in sources if source.owns(path) and source.is_there()]
            if owners:
                self.dirty = True
                if not path.endswith(_LASTING):
                    self.hide(set(item.memories))
                self.known.pop(path, None)


def known_files(home: Path, store_key: str) -> Mapping[str, Sequence[str]]:
    """Which files are indexed, and the memories of each, for `notes status`."""
    run = _Run(home, None, str, datetime.now(UTC), lambda: False, None)  # type: ignore[arg-type]
    run.load(store_key)
    return {path: item.memories for path, item in run.known.items()}


def drop_state(home: Path) -> None:
    """Have everything read anew next time."""
    (home / "cache" / STATE).unlink(missing_ok=True)


def store_key(home: Path, setting: str) -> str:
    """Names the very store that the state belongs to: a new database knows nothing of the files yet."""
    path = Path(setting.removeprefix("sqlite:///")) if setting.startswith("sqlite:") else home / "memory.db"
    if setting and not setting.startswith("sqlite:"):
        return setting
    try:
        found = path.stat()
    except OSError:
        return "none"
    return f"{found.st_dev}:{found.st_ino}"
