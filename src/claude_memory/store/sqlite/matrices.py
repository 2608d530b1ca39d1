"""The vectors of each space as arrays: the file's part and what was committed since.

The table is the truth and a matrix file its copy. What the file does not hold yet is read from the
table, so a search never misses a committed vector, and works without any file.
"""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from claude_memory.store.sqlite import matrix, rows
from claude_memory.store.sqlite.matrix import Manifest, MatrixFile

_APPEND_FROM = 256  # fewer rows are cheaper to read from the table than to write to a file
_READ_ROWS = 65_536
_TWO_THREADS_FROM = 65_536  # rows; below, starting a second thread takes longer than it saves
_SHORTEST = np.float32(1e-9)
_DEAD_SHARE = 0.1
_MOST_PARTS = 16

_SOURCE = """SELECT (SELECT value FROM meta WHERE key = 'store'),
    (SELECT epoch FROM spaces WHERE number = :space), (SELECT id FROM projects WHERE number = :space)"""

Floats = npt.NDArray[np.float32]
Part = tuple[matrix.Vectors, matrix.Rows]


@dataclass(frozen=True)
class Snapshot:
    """All vectors of a space at one moment; the first part is the file's."""

    manifest: Manifest
    parts: tuple[Part, ...]
    last_seq: int
    dead_seq: int
    dead: frozenset[int] = frozenset()

    @cached_property
    def passages(self) -> npt.NDArray[np.int64]:
        """Passage ids, in the order of the scores."""
        return np.concatenate([beside["passage"] for _, beside in self.parts]).astype(np.int64)

    @cached_property
    def gone(self) -> npt.NDArray[np.intp]:
        """Rows whose passage is gone."""
        return np.flatnonzero(np.isin(self.passages, list(self.dead)))

    @property
    def size(self) -> int:
        """How many rows a scan reads."""
        return sum(len(beside) for _, beside in self.parts)

    @property
    def is_bloated(self) -> bool:
        """Whether so many rows are gone that the file should be written anew."""
        return len(self.dead) > max(_APPEND_FROM, _DEAD_SHARE * self.size)

    @property
    def unwritten(self) -> int:
        """Rows that are not in the file."""
        return sum(len(beside) for _, beside in self.parts[1:])


class Source:
    """One space and model in the database, as one transaction sees it."""

    def __init__(
        self, db: apsw.Connection, space: int, model: str, model_number: int, dimension: int
    ) -> None:
        self._db = db
        self.space = space
        self._model = model_number
        store, epoch, name = next(db.execute(_SOURCE, {"space": space}))
        self.wanted = Manifest(str(store), model, model_number, dimension, int(epoch or 0))
        self.name = str(name or "user")

    def empty(self) -> Snapshot:
        """A snapshot that holds nothing yet."""
        part = (np.empty((0, self.wanted.dimension), np.int8), np.empty(0, matrix.ROW))
        dead = int(self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'dead_vectors'").get or 0)
        return Snapshot(replace(self.wanted, dead_seq=dead), (part,), 0, dead)

    def from_file(self, file: MatrixFile) -> Snapshot:
        """What is on disk, if it is a copy of this very store; else nothing yet."""
        manifest = file.read_manifest()
        given = int(self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").get or 0)
        if manifest is None or not manifest.is_for(self.wanted) or manifest.last_seq > given:
            return self.empty()
        loaded = file.load(manifest)
        return Snapshot(manifest, (loaded,), manifest.last_seq, manifest.dead_seq) if loaded else self.empty()

    def with_tail(self, held: Snapshot) -> Snapshot:
        """Add what was committed since: new vectors, and passages that are gone."""
        added, last_seq = self._vectors_after(held.last_seq)
        gone = rows.fetch(
            self._db,
            "SELECT seq, passage FROM dead_vectors WHERE model = ? AND space = ? AND seq > ? ORDER BY seq",
            (self._model, self.space, held.dead_seq),
        )
        if not gone and not added:
            return held
        dead = held.dead | {passage for _, passage in gone}
        parts = _merged((*held.parts, *added))
        return Snapshot(held.manifest, parts, last_seq, gone[-1][0] if gone else held.dead_seq, dead)

    def _vectors_after(self, last_seq: int) -> tuple[list[Part], int]:
        dimension = self.wanted.dimension
        cursor = self._db.execute(
            """SELECT seq, passage, vector FROM vectors WHERE model = ? AND space = ? AND seq > ?
               AND length(vector) = ? ORDER BY seq""",
            (self._model, self.space, last_seq, dimension),
        )
        parts = []
        while chunk := list(islice(cursor, _READ_ROWS)):
            vectors = np.frombuffer(b"".join(row[2] for row in chunk), np.int8).reshape(-1, dimension)
            passages = np.fromiter((row[1] for row in chunk), np.int64, len(chunk))
            parts.append((vectors, matrix.rows_of(passages, vectors)))
            last_seq = chunk[-1][0]
        return parts, last_seq


def _merged(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Few parts: where no file can be written, small ones would pile up."""
    if len(parts) <= _MOST_PARTS:
        return parts
    tail = parts[2:]
    merged = (np.concatenate([part[0] for part in tail]), np.concatenate([part[1] for part in tail]))
    return (*parts[:2], merged)


class Matrices:
    """The matrices of one store in this process; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[tuple[int, int], Snapshot] = {}
        self._unwritable: set[Path] = set()
        self._guard = threading.Lock()

    def snapshot(self, source: Source) -> Snapshot:
        """The vectors of a source, from memory where nothing changed."""
        key = (source.space, source.wanted.model_number)
        file = self._file(source)
        with self._guard:
            held = self._held.get(key)
            if held is None or not held.manifest.is_for(source.wanted):
                held = source.from_file(file)
            held = source.with_tail(held)
            if held.is_bloated or held.unwritten > _APPEND_FROM:
                held = self._written(file, source, held)
            self._held[key] = held
            return held

    def _written(self, file: MatrixFile, source: Source, held: Snapshot) -> Snapshot:
        """Bring the file up to date, if nobody else is at it; else go on from memory."""
        if file.manifest_path in self._unwritable:
            return held
        try:
            with file.lock() as taken:
                return _write(file, source, held) if taken else held
        except OSError:  # a full or read-only disk: the table has it all
            self._unwritable.add(file.manifest_path)
            return held

    def _file(self, source: Source) -> MatrixFile:
        model = source.wanted.model
        slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:40]
        digest = hashlib.blake2b(model.encode("utf-8", "replace"), digest_size=4).hexdigest()
        return MatrixFile(self._folder / f"{slug}-{digest}", source.name)

    def close(self) -> None:
        """Let go of the files."""
        self._held.clear()


def scores_of(snapshot: Snapshot, query: matrix.Vectors) -> Floats:
    """Cosines of all rows with the query; rows that are gone get NaN."""
    length = np.linalg.norm(query.astype(np.float32))
    cosines = [_cosines(part, query, length) for part in snapshot.parts]
    found = cosines[0] if len(cosines) == 1 else np.concatenate(cosines)
    if snapshot.dead:
        found[snapshot.gone] = np.nan
    return found


def _cosines(part: Part, query: matrix.Vectors, length: np.floating[Any]) -> Floats:
    import simsimd

    vectors, beside = part
    if not len(beside):
        return np.empty(0, np.float32)
    threads = 2 if len(beside) >= _TWO_THREADS_FROM else 1
    products = simsimd.cdist(query.reshape(1, -1), vectors, "dot", threads=threads)
    norms = np.maximum(beside["norm"] * length, _SHORTEST)  # a vector of zeros is near to nothing
    cosines: Floats = np.divide(np.asarray(products)[0], norms, dtype=np.float32, casting="same_kind")
    return cosines


def files(folder: Path) -> list[MatrixFile]:
    """Every matrix on disk, also those of projects or models that are gone."""
    return [MatrixFile(path.parent, path.stem) for path in sorted(folder.glob("*/*.json"))]


def discard_outdated(db: apsw.Connection, folder: Path) -> None:
    """Remove the files of spaces from which something was erased; they are rebuilt when next needed."""
    statement = """SELECT coalesce(p.id, 'user'), s.epoch FROM spaces s
        LEFT JOIN projects p ON p.number = s.number"""
    epochs = dict(db.execute(statement))
    for file in files(folder):
        manifest = file.read_manifest()
        if manifest is None or manifest.epoch != epochs.get(file.name):
            file.discard()


def _write(file: MatrixFile, source: Source, held: Snapshot) -> Snapshot:
    """Append the tail, or write all anew if what is on disk is not ours to go on from. Hold the lock."""
    current = file.read_manifest()
    if (
        current is not None
        and not held.is_bloated
        and current != held.manifest
        and current.is_for(source.wanted)
    ):
        held = source.with_tail(source.from_file(file))  # another process was faster
        current = held.manifest
    if current == held.manifest and not held.is_bloated:
        base, parts = current, held.parts[1:]
    else:
        base, parts = replace(source.wanted, dead_seq=held.dead_seq), _living(held)
    if parts:
        vectors = np.concatenate([part[0] for part in parts])
        beside = np.concatenate([part[1] for part in parts])
        base = file.append(base, vectors, beside, held.last_seq)
    loaded = file.load(base)
    if loaded is None:
        return held
    dead = held.dead if base.dead_seq < held.dead_seq else frozenset()
    return Snapshot(base, (loaded,), held.last_seq, held.dead_seq, dead)


def _living(held: Snapshot) -> tuple[Part, ...]:
    gone = np.fromiter(held.dead, np.int64, len(held.dead))
    masks = [~np.isin(beside["passage"], gone) for _, beside in held.parts]
    return tuple((part[0][mask], part[1][mask]) for part, mask in zip(held.parts, masks, strict=True))
