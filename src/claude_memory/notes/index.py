"""The plain files in the store: each piece a memory with its file and line, kept up by change time and hash.

The files are the truth. What changed is read anew, what moved keeps its memories, what is gone is
hidden. Bounded: what does not fit into the time waits for the next call. What was itself made from the
store, such as a table of what sessions settled, is read by people and not by us.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from claude_memory.lifecycle.drafting import clean
from claude_memory.model import (
    Kind,
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
from claude_memory.notes import blocks, buffer
from claude_memory.notes.person_files import Piece, moment, of_reflections, of_session_log
from claude_memory.notes.places import INVITATIONS
from claude_memory.notes.project_documents import TABLE_HEAD, cells_of
from claude_memory.notes.text_files import FileProblem, Lines, read_bytes, read_lines
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.store.base import Store
from claude_memory.text import markdown
from claude_memory.text.times import deadline
from claude_memory.text.words import shorten

BATCH = 300
TITLE_CHARACTERS = 120
_FORMAT = 1
_SETTLED_NS = 2_000_000_000  # a file changed this lately may change again within the same tick
_LASTING = "working-buffer.md"  # what left it stays remembered
_ANY = MemoryFilter(statuses=tuple(Status))
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)\s*$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d): (?=\S)")
_COMMENT = re.compile(r"^<!--.*-->$")


@dataclass(frozen=True, slots=True)
class FileSource:
    """A set of files that are read alike and belong together."""

    paths: Iterable[Path]
    project: ProjectId
    trust: Trust
    scope: Scope
    prefixes: tuple[str, ...]  # of paths that belong here, also when the file is gone
    root: Path | None = None  # a folder that may be gone for a while, such as one that is not mounted
    shown_from: Path | None = None
    projects: Mapping[str, ProjectId] = field(default_factory=dict)  # by what a file may call them
    by_name: bool = True  # whether a file's name says what it holds; notes are notes, whatever their name

    def owns(self, path: str) -> bool:
        """Whether a path belongs here; nothing does while the folder itself cannot be seen."""
        return path.startswith(self.prefixes) and (self.root is None or self.root.is_dir())

    def memory(self, path: Path, piece: Piece, file_id: str, modified: int) -> StoredMemory:
        """The memory that a piece is; what names its project belongs there."""
        at = piece.created_at or datetime.fromtimestamp(modified / 1e9, UTC)
        is_shown_from = self.shown_from is not None and path.is_relative_to(self.shown_from)
        return StoredMemory(
            id=memory_id(f"file:{file_id}:{piece.key}"),
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


class _File(NamedTuple):
    modified: int
    size: int
    hash: str
    id: str
    memories: list[str]
    seen: int


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

    def sync(self, store: Store, sources: Sequence[FileSource], budget_seconds: float | None) -> Synced:
        """Bring the store up to what the files say; secrets and private parts are cut from every text."""
        with try_lock(private_folder(self.path.parent) / "files.lock") as mine:
            if not mine:
                return Synced(busy=True)
            before = dict(self.known)
            done = _Run(store, self.known).all(sources, deadline(budget_seconds))
            if self.known != before:
                state = {"format": _FORMAT, "store": self.store_key, "files": self.known}
                write_atomically(self.path, json.dumps(state).encode("utf-8", "surrogateescape"))
            return done


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


class _Run:
    def __init__(self, store: Store, known: dict[str, _File]) -> None:
        self.store, self.known = store, known
        self.now = datetime.now(UTC)
        self.done = Synced()
        self.gone: dict[str, _File] = {}
        self.pending: list[StoredMemory] = []

    def all(self, sources: Sequence[FileSource], out_of_time: Callable[[], bool]) -> Synced:
        listed = [(source, path) for source in sources for path in source.paths]
        self.done.files = len(listed)
        present = {str(path) for _, path in listed}
        lost = [path for path in self.known if path not in present]
        self.gone = {path: self.known[path] for path in lost if any(each.owns(path) for each in sources)}
        for source, path in listed:
            if out_of_time():
                break
            self.look(source, path)
        else:
            self.flush()  # first: what moved keeps its memories
            for name, file in self.gone.items():
                if not name.endswith(_LASTING):
                    self.hide(file.memories)
                self.known.pop(name, None)
        self.flush()
        return self.done

    def look(self, source: FileSource, path: Path) -> None:
        known = self.known.get(str(path))
        try:
            status = path.lstat()
        except OSError:
            return
        state = (status.st_mtime_ns, status.st_size)
        if known and state == known[:2] and known.modified < known.seen - _SETTLED_NS:
            return
        content = read_bytes(path)
        digest = hashlib.blake2b(content, digest_size=12).hexdigest()
        fresh = _File(*state, digest, str(path), [], time.time_ns())
        if known and known.hash == digest:
            self.known[str(path)] = fresh._replace(id=known.id, memories=known.memories)
        else:
            self.read(source, path, content, fresh, known or self.moved(digest))

    def read(
        self, source: FileSource, path: Path, content: bytes, fresh: _File, before: _File | None
    ) -> None:
        lines = read_lines(path, content)
        self.done.problems += lines.problems
        file_id = before.id if before else fresh.id
        pieces = pieces_of(lines, by_name=source.by_name)
        made = (source.memory(path, piece, file_id, fresh.modified) for piece in pieces)
        memories = {memory.id: memory for memory in made}
        self.done.read += 1
        self.pending += memories.values()
        if before and path.name != _LASTING:
            self.hide(set(before.memories) - set(memories))
        self.known[str(path)] = fresh._replace(id=file_id, memories=list(memories))
        if len(self.pending) >= BATCH:
            self.flush()

    def moved(self, digest: str) -> _File | None:
        """The file that this one was before: the same words, now missing at its old place."""
        for path, file in self.gone.items():
            if file.hash == digest:
                del self.gone[path]
                self.done.renamed += 1
                return self.known.pop(path)
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
        taken = ("project", "kind", "body", "trust", "scope", "files", "provenance")
        changed = replace(
            old,
            **{name: getattr(fresh, name) for name in taken},
            title=old.title if old.body == fresh.body else fresh.title,
            topics=fresh.topics or old.topics,
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


# --- what a file says: a person's words, and what agents wrote into blocks of their own

Numbered = Sequence[tuple[int, str]]


def pieces_of(lines: Lines, *, by_name: bool = True) -> list[Piece]:
    """The pieces of a file, by its name or as a note."""
    name = lines.path.name
    if by_name and lines.path.suffix == ".jsonl":
        return of_reflections(lines) if name == "reflections.jsonl" else of_session_log(lines)
    ours: set[str] = set()
    by_agents: set[str] = set()
    for block in blocks.find([text for _, text in lines.lines]):
        if block.name in blocks.BY_PERSON:  # of a person's own words our headings alone are left out
            ours |= {line for line in block.machine if line.startswith("#") or line in TABLE_HEAD}
        elif block.name != blocks.DISTILLED:
            ours.update(filter(None, block.machine))
        if block.name in blocks.BY_AGENT:
            by_agents |= {line for line in block.machine if line and not line.startswith("#")}
    read = _READERS.get(name, _of_note) if by_name else _of_note
    own = read(lines.path, [item for item in lines.lines if item[1] not in ours], False)
    return own + read(lines.path, [item for item in lines.lines if item[1] in by_agents], True)


def _of_note(path: Path, lines: Numbered, by_agent: bool) -> list[Piece]:
    """A markdown file by its headings; what agents added, line by line."""
    if by_agent:
        return [
            Piece(f"added:{_hash(text)}", Kind.NOTE, text, number, f"{path.stem}: {text}", by_agent=True)
            for number, text in lines
        ]
    said = [item for item in lines if item[1] != INVITATIONS.get(path.name) and not _COMMENT.match(item[1])]
    note = markdown.parse(said, path.stem)
    pieces: list[Piece] = []
    seen: dict[tuple[str, ...], int] = {}
    for section in note.sections:
        times = seen[section.path] = seen.get(section.path, 0) + 1
        title = " › ".join([note.title, *(name for name in section.path if name != note.title)])
        key = "/".join(section.path) + (f"#{times}" if times > 1 else "")
        body = markdown.spoken(section.text)
        pieces.append(Piece(key, Kind.NOTE, body, section.line, title, note.tags))
    return pieces


def _of_memory(path: Path, lines: Numbered, by_agent: bool) -> list[Piece]:
    """A MEMORY.md: each row of a decision table by itself, the rest by its headings."""
    pieces, rest = [], []
    for number, line in lines:
        row = cells_of(line) if line.startswith("|") else None
        if row and _DAY.match(row[0]):
            day, what, why = row
            body = f"{what}\nWhy: {why}" if why.strip(" -–—") else what
            piece = Piece(f"decision:{_hash(what)}", Kind.DECISION, body, number)
            pieces.append(replace(piece, created_at=moment(day), by_agent=by_agent))
        else:
            rest.append((number, line))
    return pieces if by_agent else pieces + _of_note(path, rest, by_agent)


def _of_lessons(path: Path, lines: Numbered, by_agent: bool) -> list[Piece]:  # noqa: ARG001
    """A list: each item by itself, with the lines that belong to it."""
    pieces = []
    for number, text in _items(lines):
        dated = _DATED.match(text)
        lesson, at = (text[dated.end() :], moment(dated[1])) if dated else (text, None)
        key = f"item:{_hash(text)}"
        pieces.append(Piece(key, Kind.LESSON, lesson, number, created_at=at, by_agent=by_agent))
    return pieces


def _items(lines: Numbered) -> Iterator[tuple[int, str]]:
    current: list[str] = []
    start = 0
    for number, line in [*lines, (0, "")]:
        bullet = _BULLET.match(line)
        if current and not bullet and line.startswith((" ", "\t")) and line.strip():
            current.append(line.strip())
            continue
        if current:
            yield start, "\n".join(current)
        current, start = ([bullet[1]], number) if bullet else ([], 0)


def _of_buffer(path: Path, lines: Numbered, by_agent: bool) -> list[Piece]:  # noqa: ARG001
    """What somebody noted on purpose; prompts are found by their exchanges, the rest is gone tomorrow."""
    pieces = []
    for number, line in lines:
        entry = buffer.entry_of(line)
        if entry and entry.label == buffer.NOTE:
            key = f"said:{_hash(f'{entry.label}:{entry.text}:{entry.session}')}"
            piece = Piece(key, Kind.NOTE, entry.text, number, by_agent=by_agent)
            pieces.append(replace(piece, created_at=entry.at, session=entry.session))
    return pieces


_READERS = {"MEMORY.md": _of_memory, "lessons.md": _of_lessons, "working-buffer.md": _of_buffer}


def _hash(text: str) -> str:
    return blocks.short(text.encode("utf-8", "surrogatepass"), 8)
