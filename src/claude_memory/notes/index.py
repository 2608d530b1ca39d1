"""The plain files in the store: each piece a memory with its file and line, kept up by change time and hash.

The files are the truth. What changed is read anew, what moved keeps its memories, what is gone is
hidden. Bounded: what does not fit into the time waits for the next call. What was itself made from the
store, such as a table of what sessions settled, is read by people and not by us.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
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
from claude_memory.notes import blocks, buffer, plain_files
from claude_memory.notes.person_files import Piece, of_reflections, of_session_log
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.store.base import Store
from claude_memory.text import markdown
from claude_memory.text.times import deadline, stated
from claude_memory.text.words import shorten

BATCH = 300
TITLE_CHARACTERS = 120
STATE = "files.json"
_FORMAT = 1
_SETTLED_NS = 2_000_000_000  # a file changed this lately may change again within the same tick
_LASTING = "working-buffer.md"  # what left it stays remembered
_TAKEN = ("project", "kind", "body", "trust", "scope", "files", "provenance")  # from what the file says now
_ANY = MemoryFilter(statuses=tuple(Status))
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)\s*$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d): (?=\S)")
_COMMENT = re.compile(r"^<!--.*-->$")


class FileSource(NamedTuple):
    paths: Iterable[Path]
    project: ProjectId
    trust: Trust
    scope: Scope
    prefixes: tuple[str, ...]  # of paths that belong here, also when the file is gone
    root: Path | None = None  # a folder that may be gone for a while, such as one that is not mounted
    shown_from: Path | None = None
    by_name: bool = True  # whether a file's name says what it holds; notes are notes, whatever their name
    projects: Mapping[str, ProjectId] = MappingProxyType({})  # by what a file may call them

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
    files: int = 0
    read: int = 0
    added: int = 0
    changed: int = 0
    hidden: int = 0
    renamed: int = 0
    busy: bool = False
    problems: list[plain_files.FileProblem] = field(default_factory=list)


class _File(NamedTuple):
    modified: int
    size: int
    hash: str
    id: str
    memories: list[str]
    seen: int


class FileIndex:
    """Which files of a home one store knows, and the memories of each; derived, so it may be lost."""

    def __init__(self, home: Path, store_setting: str, store: Store) -> None:
        self.path, self.store, self.now = home / "cache" / STATE, store, datetime.now(UTC)
        self.store_key = _store_key(home, store_setting)
        self.known: dict[str, _File] = {}
        self.done = Synced()
        self.gone: dict[str, _File] = {}
        self.pending: list[StoredMemory] = []
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            state = json.loads(self.path.read_bytes())
            if state.get("format") == _FORMAT and state.get("store") == self.store_key:
                self.known = {path: _File(*values) for path, values in state["files"].items()}

    def sync(self, sources: Sequence[FileSource], budget_seconds: float | None) -> Synced:
        """Bring the store up to what the files say; secrets and private parts are cut from every text."""
        if not (sources or self.known):
            return Synced()
        with try_lock(private_folder(self.path.parent) / "files.lock") as mine:
            if not mine:
                return Synced(busy=True)
            before = dict(self.known)
            self._read_all(sources, deadline(budget_seconds))
            if self.known != before:
                state = {"format": _FORMAT, "store": self.store_key, "files": self.known}
                write_atomically(self.path, json.dumps(state).encode("utf-8", "surrogateescape"))
            return self.done

    def _read_all(self, sources: Sequence[FileSource], out_of_time: Callable[[], bool]) -> None:
        listed = [(source, path) for source in sources for path in source.paths]
        self.done.files = len(listed)
        present = {str(path) for _, path in listed}
        # Nothing is lost while the folder itself cannot be seen.
        seen = [source for source in sources if source.root is None or source.root.is_dir()]
        inside = tuple(prefix for source in seen for prefix in source.prefixes)
        lost = (path for path in self.known if path not in present and path.startswith(inside))
        self.gone = {path: self.known[path] for path in lost}
        for source, path in listed:
            if out_of_time():
                break
            self._look(source, path)
        else:
            self._flush()  # first: what moved keeps its memories
            for name, file in self.gone.items():
                if not name.endswith(_LASTING):
                    self._hide(file.memories)
                self.known.pop(name, None)
        self._flush()

    def _look(self, source: FileSource, path: Path) -> None:
        """Read a file if it changed; one that was moved keeps its memories."""
        name, known = str(path), self.known.get(str(path))
        try:
            status = path.lstat()
        except OSError:
            return
        state = (status.st_mtime_ns, status.st_size)
        if known and state == known[:2] and known.modified < known.seen - _SETTLED_NS:
            return
        content = plain_files.read_bytes(path)
        digest = hashlib.blake2b(content, digest_size=12).hexdigest()
        fresh = _File(*state, digest, name, [], time.time_ns())
        if known and known.hash == digest:
            self.known[name] = fresh._replace(id=known.id, memories=known.memories)
            return
        before = known
        if not known and (old := next((old for old, file in self.gone.items() if file.hash == digest), None)):
            before = self.known.pop(old)
            del self.gone[old]
            self.done.renamed += 1
        fresh = fresh._replace(id=before.id) if before else fresh
        lines = plain_files.read_lines(path, content)
        self.done.problems += lines.problems
        made = (source.memory(path, piece, fresh) for piece in pieces_of(lines, by_name=source.by_name))
        memories = {memory.id: memory for memory in made}
        self.done.read += 1
        self.pending += memories.values()
        if before and path.name != _LASTING:
            self._hide(set(before.memories) - set(memories))
        self.known[name] = fresh._replace(memories=list(memories))
        if len(self.pending) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        """Add what is new; bring what is there up to what the file says."""
        wanted = {memory.id: memory for memory in self.pending}
        self.pending = []
        there = {memory.id: memory for memory in self._stored(wanted)}
        new = [memory for id_, memory in wanted.items() if id_ not in there]
        self.done.added += self.store.memories.add(new).memories if new else 0
        for id_, old in there.items():
            # What a person forgot stays forgotten; what left its file comes back with it.
            fresh, returns = wanted[id_], old.status is Status.FORGOTTEN and bool(old.provenance.get("gone"))
            changed = replace(
                old,
                **{name: getattr(fresh, name) for name in _TAKEN},
                title=old.title if old.body == fresh.body else fresh.title,
                topics=fresh.topics or old.topics,
                status=Status.ACTIVE if returns else old.status,
                forgotten_at=None if returns else old.forgotten_at,
            )
            if changed != old:
                self.store.memories.update(replace(changed, updated_at=self.now))
                self.done.changed += 1

    def _hide(self, ids: Collection[str]) -> None:
        for memory in self._stored(ids):
            if memory.status is not Status.FORGOTTEN:
                hidden = replace(memory, status=Status.FORGOTTEN, forgotten_at=self.now, updated_at=self.now)
                provenance = {**memory.provenance, "gone": True}
                self.store.memories.update(replace(hidden, provenance=provenance))
                self.done.hidden += 1

    def _stored(self, ids: Collection[str]) -> list[StoredMemory]:
        wanted = [MemoryId(id_) for id_ in ids]
        return self.store.memories.find(SearchScope(None), _ANY, ids=wanted) if wanted else []


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


# --- what a file says: a person's words, and what agents wrote into blocks of their own

Numbered = Sequence[tuple[int, str]]


def pieces_of(lines: plain_files.Lines, *, by_name: bool = True) -> list[Piece]:
    name = lines.path.name
    if by_name and lines.path.suffix == ".jsonl":
        return [*(of_reflections(lines) if name == "reflections.jsonl" else of_session_log(lines))]
    ours: set[str] = set()
    by_agents: set[str] = set()
    for block in blocks.find([text for _, text in lines.lines]):
        if block.name in blocks.BY_PERSON:  # of a person's own words our headings alone are left out
            ours |= {line for line in block.machine if line.startswith("#") or line in plain_files.TABLE_HEAD}
        elif block.name != blocks.DISTILLED:
            ours.update(filter(None, block.machine))
        if block.name in blocks.BY_AGENT:
            by_agents |= {line for line in block.machine if line and not line.startswith("#")}
    read = _READERS.get(name, _of_note) if by_name else _of_note
    own = read(lines.path, [item for item in lines.lines if item[1] not in ours], False)
    added = read(lines.path, [item for item in lines.lines if item[1] in by_agents], True)
    return [*own, *(piece._replace(by_agent=True) for piece in added)]


def _of_note(path: Path, lines: Numbered, by_agent: bool) -> Iterator[Piece]:
    """A markdown file by its headings; what agents added, line by line."""
    if by_agent:
        for number, text in lines:
            yield Piece(f"added:{blocks.short(text, 8)}", Kind.NOTE, text, number, f"{path.stem}: {text}")
        return
    invitation = plain_files.INVITATIONS.get(path.name)
    said = [item for item in lines if item[1] != invitation and not _COMMENT.match(item[1])]
    note = markdown.parse(said, path.stem)
    seen: Counter[tuple[str, ...]] = Counter()
    for section in note.sections:
        seen[section.path] += 1
        title = " › ".join([note.title, *(name for name in section.path if name != note.title)])
        times = seen[section.path]
        key = "/".join(section.path) + (f"#{times}" if times > 1 else "")
        yield Piece(key, Kind.NOTE, markdown.spoken(section.text), section.line, title, note.tags)


def _of_memory(path: Path, lines: Numbered, by_agent: bool) -> Iterator[Piece]:
    """A MEMORY.md: each row of a decision table by itself, the rest by its headings."""
    rest = []
    for number, line in lines:
        row = plain_files.cells_of(line) if line.startswith("|") else None
        if row and _DAY.match(row[0]):
            day, what, why = row
            body = f"{what}\nWhy: {why}" if why.strip(" -–—") else what
            yield Piece(
                f"decision:{blocks.short(what, 8)}", Kind.DECISION, body, number, created_at=stated(day)
            )
        else:
            rest.append((number, line))
    if not by_agent:
        yield from _of_note(path, rest, by_agent)


def _of_lessons(path: Path, lines: Numbered, by_agent: bool) -> Iterator[Piece]:  # noqa: ARG001
    """A list: each item by itself, with the indented lines that belong to it."""
    items: list[tuple[int, list[str]]] = []
    is_open = False
    for number, line in lines:
        if bullet := _BULLET.match(line):
            items.append((number, [bullet[1]]))
            is_open = True
        elif is_open and line.startswith((" ", "\t")) and line.strip():
            items[-1][1].append(line.strip())
        else:
            is_open = False
    for number, parts in items:
        text = "\n".join(parts)
        dated = _DATED.match(text)
        lesson, at = (text[dated.end() :], stated(dated[1])) if dated else (text, None)
        yield Piece(f"item:{blocks.short(text, 8)}", Kind.LESSON, lesson, number, created_at=at)


def _of_buffer(path: Path, lines: Numbered, by_agent: bool) -> Iterator[Piece]:  # noqa: ARG001
    """What somebody noted on purpose; prompts are found by their exchanges, the rest is gone tomorrow."""
    for number, line in lines:
        entry = buffer.entry_of(line)
        if entry and entry.label == buffer.NOTE:
            key = f"said:{blocks.short(f'{entry.label}:{entry.text}:{entry.session}', 8)}"
            piece = Piece(key, Kind.NOTE, entry.text, number, created_at=entry.at)
            yield piece._replace(session=entry.session)


_READERS = {"MEMORY.md": _of_memory, "lessons.md": _of_lessons, "working-buffer.md": _of_buffer}
