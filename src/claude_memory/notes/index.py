"""The plain files in the store: each piece a memory with its file and line, kept up by change time and hash.

The files are the truth. What changed is read anew, what moved keeps its memories, what is gone is
hidden. Bounded: what does not fit into the time waits for the next call.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from claude_memory.lifecycle.drafting import clean
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
from claude_memory.notes.person_files import Piece
from claude_memory.notes.text_files import FileProblem, Lines, parse_lines, read_bytes
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.store.base import Store
from claude_memory.text.times import deadline
from claude_memory.text.words import shorten

BATCH = 300
TITLE_CHARACTERS = 120
_FORMAT = 1
_SETTLED_NS = 2_000_000_000  # a file changed this lately may change again within the same tick
_LASTING = "working-buffer.md"  # what left it stays remembered
_ANY = MemoryFilter(statuses=tuple(Status))


@dataclass(frozen=True, slots=True)
class FileSource:
    """A set of files that are read alike and belong together."""

    paths: Iterable[Path]
    read: Callable[[Lines], list[Piece]]
    project: ProjectId
    trust: Trust
    scope: Scope
    prefixes: tuple[str, ...]  # of paths that belong here, also when the file is gone
    root: Path | None = None  # a folder that may be gone for a while, such as one that is not mounted
    shown_from: Path | None = None
    projects: Mapping[str, ProjectId] = field(default_factory=dict)  # by what a file may call them

    def owns(self, path: str) -> bool:
        """Whether a path belongs here; nothing does while the folder itself cannot be seen."""
        return path.startswith(self.prefixes) and (self.root is None or self.root.is_dir())

    def memory(self, path: Path, piece: Piece, file: _File) -> StoredMemory:
        """The memory that a piece is; what names its project belongs there."""
        at = piece.created_at or datetime.fromtimestamp(file.modified / 1e9, UTC)
        is_shown_from = self.shown_from is not None and path.is_relative_to(self.shown_from)
        return StoredMemory(
            id=memory_id(f"file:{file.id}:{piece.key}"),
            project=self.projects.get(piece.project, self.project),
            kind=piece.kind,
            title=clean(shorten(piece.title or piece.body.splitlines()[0], TITLE_CHARACTERS)),
            body=clean(piece.body),
            created_at=at,
            updated_at=at,
            trust=Trust.AGENT if piece.by_agent and self.trust is Trust.USER else self.trust,
            scope=Scope.PROJECT if piece.project else self.scope,
            session=SessionId(piece.session) if piece.session else None,
            topics=piece.topics,
            files=(path.relative_to(self.shown_from or "").as_posix() if is_shown_from else str(path),),
            provenance={"source": "file", "file": str(path), "line": piece.line},
        )


@dataclass(slots=True)
class Synced:
    """What one run did."""

    files: int = 0
    read: int = 0
    added: int = 0
    changed: int = 0
    hidden: int = 0
    renamed: int = 0
    busy: bool = False
    problems: list[FileProblem] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    """What is known of one indexed file."""

    modified: int
    size: int
    hash: str
    id: str
    memories: list[str]
    seen: int

    def is_unchanged(self, status: os.stat_result) -> bool:
        settled = status.st_mtime_ns < self.seen - _SETTLED_NS
        return settled and (self.modified, self.size) == (status.st_mtime_ns, status.st_size)


class FileIndex:
    """Which files of a home one store knows, and the memories of each; derived, so it may be lost."""

    def __init__(self, home: Path, store_setting: str) -> None:
        self.path = home / "cache" / "files.json"
        self.store_key = _store_key(home, store_setting)
        self.known: dict[str, _File] = {}
        try:
            state = json.loads(self.path.read_bytes())
            if state.get("format") == _FORMAT and state.get("store") == self.store_key:
                self.known = {path: _File(*values) for path, values in state["files"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return

    def save(self) -> None:
        files = {path: astuple(item) for path, item in self.known.items()}
        raw = json.dumps({"format": _FORMAT, "store": self.store_key, "files": files})
        write_atomically(self.path, raw.encode("utf-8", "surrogateescape"))


def _store_key(home: Path, setting: str) -> str:
    """Names the very store that the state belongs to: a new database knows nothing of the files yet."""
    if setting and not setting.startswith("sqlite:"):
        return hashlib.blake2b(setting.encode(), digest_size=16).hexdigest()  # it may hold a password
    path = Path(setting.removeprefix("sqlite:///")) if setting else home / "memory.db"
    try:
        status = path.stat()
    except OSError:
        return "none"
    return f"{status.st_dev}:{status.st_ino}"


def drop_state(home: Path) -> None:
    """Have everything read anew next time."""
    (home / "cache" / "files.json").unlink(missing_ok=True)


def sync(
    store: Store, index: FileIndex, sources: Sequence[FileSource], budget_seconds: float | None = None
) -> Synced:
    """Bring the store up to what the files say; secrets and private parts are cut from every text."""
    with try_lock(private_folder(index.path.parent) / "files.lock") as mine:
        if not mine:
            return Synced(busy=True)
        return _Run(store, index).all(sources, deadline(budget_seconds))


class _Run:
    def __init__(self, store: Store, index: FileIndex) -> None:
        self.store, self.index = store, index
        self.now = datetime.now(UTC)
        self.done = Synced()
        self.is_changed = False
        self.gone: dict[str, _File] = {}
        self.pending: list[StoredMemory] = []

    def all(self, sources: Sequence[FileSource], out_of_time: Callable[[], bool]) -> Synced:
        listed = [(source, path) for source in sources for path in source.paths]
        self.done.files = len(listed)
        present = {str(path) for _, path in listed}
        self.gone = {
            path: file
            for path, file in self.index.known.items()
            if path not in present and any(source.owns(path) for source in sources)
        }
        for source, path in listed:
            if out_of_time():
                break
            self.look(source, path)
        else:
            self.flush()  # first: what moved keeps its memories
            self.forget_the_gone()
        self.flush()
        if self.is_changed:
            self.index.save()
        return self.done

    def look(self, source: FileSource, path: Path) -> None:
        """Read a file that is new or changed."""
        known = self.index.known.get(str(path))
        try:
            status = path.lstat()
        except OSError:
            return
        if known and known.is_unchanged(status):
            return
        self.is_changed = True
        content = read_bytes(path)
        digest = hashlib.blake2b(content, digest_size=12).hexdigest()
        fresh = _File(status.st_mtime_ns, status.st_size, digest, "", [], time.time_ns())
        if known and known.hash == digest:
            self.index.known[str(path)] = replace(fresh, id=known.id, memories=known.memories)
        else:
            self.read(source, path, content, fresh)

    def read(self, source: FileSource, path: Path, content: bytes, fresh: _File) -> None:
        lines = parse_lines(path, content)
        self.done.problems += lines.problems
        before = self.index.known.get(str(path)) or self.moved(fresh.hash)
        fresh.id = before.id if before else str(path)
        made = (source.memory(path, piece, fresh) for piece in source.read(lines))
        memories = {memory.id: memory for memory in made}
        fresh.memories = list(memories)
        self.done.read += 1
        self.pending += memories.values()
        if before and path.name != _LASTING:
            self.hide(set(before.memories) - set(memories))
        self.index.known[str(path)] = fresh
        if len(self.pending) >= BATCH:
            self.flush()

    def moved(self, digest: str) -> _File | None:
        """The file that this one was before: the same words, now missing at its old place."""
        for path, file in self.gone.items():
            if file.hash == digest:
                del self.gone[path]
                self.done.renamed += 1
                return self.index.known.pop(path)
        return None

    def flush(self) -> None:
        """Add what is new; bring what is there up to what the file says."""
        wanted = {memory.id: memory for memory in self.pending}
        self.pending = []
        there = {memory.id: memory for memory in self.stored(wanted)}
        new = [memory for id_, memory in wanted.items() if id_ not in there]
        self.done.added += self.store.memories.add(new).memories if new else 0
        for id_, old in there.items():
            self.refresh(old, wanted[id_])

    def refresh(self, old: StoredMemory, fresh: StoredMemory) -> None:
        """A memory that a person forgot stays forgotten; one that left its file comes back with it."""
        returns = old.status is Status.FORGOTTEN and bool(old.provenance.get("gone"))
        changed = replace(
            old,
            project=fresh.project,
            kind=fresh.kind,
            title=old.title if old.body == fresh.body else fresh.title,
            body=fresh.body,
            trust=fresh.trust,
            scope=fresh.scope,
            topics=fresh.topics or old.topics,
            files=fresh.files,
            provenance=fresh.provenance,
            status=Status.ACTIVE if returns else old.status,
            forgotten_at=None if returns else old.forgotten_at,
        )
        if changed != old:
            self.store.memories.update(replace(changed, updated_at=self.now))
            self.done.changed += 1

    def hide(self, ids: Collection[str]) -> None:
        for memory in self.stored(ids):
            if memory.status is not Status.FORGOTTEN:
                hidden = replace(memory, status=Status.FORGOTTEN, forgotten_at=self.now, updated_at=self.now)
                provenance = {**memory.provenance, "gone": True}
                self.store.memories.update(replace(hidden, provenance=provenance))
                self.done.hidden += 1

    def stored(self, ids: Collection[str]) -> list[StoredMemory]:
        wanted = [MemoryId(id_) for id_ in ids]
        return self.store.memories.find(SearchScope(None), _ANY, ids=wanted) if wanted else []

    def forget_the_gone(self) -> None:
        for path, file in self.gone.items():
            self.is_changed = True
            if not path.endswith(_LASTING):
                self.hide(file.memories)
            self.index.known.pop(path, None)
