"""The vectors of each space and model as one array: what a file holds, and what was committed since.

The table is the truth and a file its copy: a cache, made anew whenever in doubt. What the file does not
hold yet is read from the table, so a search never misses a committed vector, and works without any file.
`SPACE-MODEL.json` names the data file and is replaced as a whole, so its rename is the commit of every
append; rows past its count are leftovers of a crash and are cut off.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from claude_memory.platform import files, locks
from claude_memory.store.sql import rows
from claude_memory.store.sqlite.cosine import Floats, Rows, Vectors, cosines, row_type, rows_of

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_FORMAT = 2
_APPEND_FROM = 256  # fewer rows are cheaper to read from the table than to write to a file
_READ_ROWS = 65_536
_DEAD_SHARE = 0.1  # of all rows; with more of them gone, the file is written anew

_WANTED = """SELECT (SELECT value FROM meta WHERE key = 'store'),
    coalesce((SELECT epoch FROM spaces WHERE number = ?), 0)"""
_GIVEN = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)"
_VECTORS = """SELECT seq, passage, vector FROM vectors
    WHERE model = ? AND space = ? AND seq > ? AND seq <= ? AND length(vector) = ? ORDER BY seq"""
_DEAD_AFTER = "SELECT seq, passage FROM dead_vectors WHERE model = ? AND space = ? AND seq > ? ORDER BY seq"


@dataclass(frozen=True, slots=True)
class MatrixManifest:
    """What a file holds, and of which store it is a copy."""

    store: str
    epoch: int
    space: int
    model: int  # a model that was dropped and comes back gets a new number
    dimension: int
    rows: int = 0
    last_seq: int = 0
    dead_seq: int = 0
    data: str = ""
    format: int = _FORMAT

    def is_for(self, wanted: MatrixManifest) -> bool:
        """Whether it is of the same vectors, however many."""
        return replace(self, rows=0, last_seq=0, dead_seq=0, data="") == wanted


@dataclass(frozen=True)
class Matrix:
    """All vectors of a space and model at one moment: the file's, then what was committed since."""

    manifest: MatrixManifest
    parts: tuple[Rows, Rows]
    last_seq: int
    dead_seq: int
    dead: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @cached_property
    def passages(self) -> npt.NDArray[np.int64]:
        """Passage ids, in the order of the scores."""
        return np.concatenate([part["passage"] for part in self.parts])

    @cached_property
    def _norms(self) -> list[Floats]:
        return [np.ascontiguousarray(part["norm"]) for part in self.parts]

    @cached_property
    def _gone(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(np.isin(self.passages, list(self.dead)))

    @property
    def is_bloated(self) -> bool:
        """Whether so many rows are gone that the file should be written anew."""
        return len(self.dead) > max(_APPEND_FROM, _DEAD_SHARE * len(self))

    def scores(self, query: Vectors) -> Floats:
        """Cosines of all rows with the query; rows whose passage is gone get NaN."""
        pairs = zip(self.parts, self._norms, strict=True)
        scores = [cosines(part, norms, query) for part, norms in pairs if len(part)]
        joined = scores[0] if len(scores) == 1 else np.concatenate(scores)
        if self.dead:
            joined[self._gone] = np.nan
        return joined


class MatrixFile:
    """The files of one space and model: knows files and numpy, not the database."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.manifest_path = folder / f"{name}.json"

    def manifest(self) -> MatrixManifest | None:
        """What is on disk, unless it is missing, damaged, of another format, or its data is too short."""
        try:
            head, _, document = self.manifest_path.read_bytes().partition(b"\n")
            manifest = MatrixManifest(**json.loads(document))
            size = self._data(manifest).stat().st_size
            sound = int(head) == zlib.crc32(document) and manifest.format == _FORMAT
            whole = size >= manifest.rows * row_type(manifest.dimension).itemsize
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return manifest if sound and whole else None

    def _data(self, manifest: MatrixManifest) -> Path:
        return self.folder / f"{manifest.data}.rows"

    def load(self, manifest: MatrixManifest) -> Rows | None:
        """Map the rows; None if the file is gone by now."""
        try:
            return np.memmap(self._data(manifest), row_type(manifest.dimension), "r", shape=(manifest.rows,))
        except (OSError, ValueError):
            return None

    def append(self, manifest: MatrixManifest, added: Rows, last_seq: int) -> MatrixManifest:
        """Add rows, durable before the manifest tells of them. Hold the lock."""
        data = manifest.data or f"{self.name}-{secrets.token_hex(4)}"
        grown = replace(manifest, data=data, rows=manifest.rows + len(added), last_seq=last_seq)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self._data(grown), flags, files.FILE_MODE), "r+b") as handle:
            handle.seek(manifest.rows * added.itemsize)
            handle.truncate()
            handle.write(added.tobytes())
            files.sync_file(handle)
        document = json.dumps(asdict(grown)).encode()
        files.write_atomically(self.manifest_path, b"%d\n" % zlib.crc32(document) + document)
        self._clear(keep=data)
        return grown

    def discard(self) -> None:
        """Remove every file of this matrix."""
        self.manifest_path.unlink(missing_ok=True)
        self._clear(keep="")

    def _clear(self, keep: str) -> None:
        for path in self.folder.glob(f"{self.name}-????????.*"):
            if path.stem != keep:
                with contextlib.suppress(OSError):  # in use on Windows: goes the next time
                    path.unlink()


class Matrices:
    """The matrices of one store in this process; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[tuple[int, int], Matrix] = {}
        self._unwritable: set[Path] = set()
        self._guard = threading.Lock()

    def of(self, db: Database, space: int, model: int, dimension: int) -> Matrix:
        """The vectors of a space and model as a transaction sees them, from memory where nothing changed."""
        store, epoch = next(db.execute(_WANTED, (space,)))
        wanted = MatrixManifest(str(store), int(epoch), space, model, dimension)
        file = MatrixFile(self._folder, f"{space}-{model}")
        with self._guard:
            held = self._held.get((space, model))
            if held is None or not held.manifest.is_for(wanted):
                held = _from_file(db, file, wanted)
            held = _with_tail(db, held)
            if held.is_bloated or len(held.parts[1]) > _APPEND_FROM:
                held = self._written(db, file, wanted, held)
            self._held[(space, model)] = held
            return held

    def _written(self, db: Database, file: MatrixFile, wanted: MatrixManifest, held: Matrix) -> Matrix:
        """Bring the file up to date, if nobody else is at it; else go on from memory."""
        if file.manifest_path in self._unwritable:
            return held
        try:
            files.private_folder(file.folder)
            with locks.try_lock(file.folder / f"{file.name}.lock") as taken:
                return _write(db, file, wanted, held) if taken else held
        except OSError:  # a full or read-only disk: the table has it all
            self._unwritable.add(file.manifest_path)
            return held

    def close(self) -> None:
        """Let go of the files."""
        self._held.clear()


def _from_file(db: Database, file: MatrixFile, wanted: MatrixManifest) -> Matrix:
    """What is on disk, if it is a copy of this very store; else nothing yet."""
    manifest = file.manifest()
    if manifest and manifest.is_for(wanted) and manifest.last_seq <= db.execute(_GIVEN, ("vectors",)).get:
        filed = file.load(manifest)
        if filed is not None:
            none = _nothing(wanted).parts[1]
            return Matrix(manifest, (filed, none), manifest.last_seq, manifest.dead_seq)
    return _nothing(replace(wanted, dead_seq=int(db.execute(_GIVEN, ("dead_vectors",)).get)))


def _nothing(manifest: MatrixManifest) -> Matrix:
    none = np.empty(0, row_type(manifest.dimension))
    return Matrix(manifest, (none, none), 0, manifest.dead_seq)


def _with_tail(db: Database, held: Matrix, through: int = 1 << 62) -> Matrix:
    """Add what was committed since: new vectors, and passages that are gone."""
    of = held.manifest
    added: Any = db.execute(_VECTORS, (of.model, of.space, held.last_seq, through, of.dimension))
    while chunk := list(islice(added, _READ_ROWS)):
        new = rows_of([row[1] for row in chunk], b"".join(row[2] for row in chunk), of.dimension)
        parts = (held.parts[0], np.concatenate([held.parts[1], new]))
        held = replace(held, parts=parts, last_seq=chunk[-1][0])
    gone = rows.fetch(db, _DEAD_AFTER, (of.model, of.space, held.dead_seq))
    if gone:
        held = replace(held, dead=held.dead | {row[1] for row in gone}, dead_seq=gone[-1][0])
    return held


def _write(db: Database, file: MatrixFile, wanted: MatrixManifest, held: Matrix) -> Matrix:
    """Append the tail, or write all anew if what is on disk is not ours to go on from. Hold the lock."""
    current = file.manifest()
    if current and not held.is_bloated and current != held.manifest and current.is_for(wanted):
        held = _with_tail(db, _from_file(db, file, wanted))  # another process was faster
    if current == held.manifest and not held.is_bloated:
        base, added = held.manifest, held.parts[1]
    else:
        base, added = replace(wanted, dead_seq=held.dead_seq), np.concatenate(held.parts)
        added = added[~np.isin(added["passage"], list(held.dead))]
    base = file.append(base, added, held.last_seq) if len(added) else base
    filed = file.load(base)
    if filed is None:
        return held
    dead = held.dead if base.dead_seq < held.dead_seq else frozenset[int]()
    return Matrix(base, (filed, held.parts[1][:0]), held.last_seq, held.dead_seq, dead)


def cached(folder: Path) -> Iterator[MatrixFile]:
    """Every matrix on disk, also those of an earlier format, whose folders are named after models."""
    return (MatrixFile(path.parent, path.stem) for path in sorted(folder.rglob("*.json")))


def discard_outdated(db: Database, folder: Path) -> None:
    """Remove the files of spaces from which something was erased; they are made anew when next needed."""
    epochs: dict[Any, Any] = dict(db.execute("SELECT number, epoch FROM spaces"))
    for file in cached(folder):
        manifest = file.manifest()
        if manifest is None or manifest.epoch != epochs.get(manifest.space):
            file.discard()


def damage(db: Database, folder: Path) -> Iterator[str]:
    """Matrices that say other than the table; made anew, they would be sound."""
    for file in cached(folder):
        manifest = file.manifest()
        filed = file.load(manifest) if manifest else None
        if manifest is None or filed is None:
            yield f"vector cache {file.name}: manifest and files do not fit"
            continue
        whole = _with_tail(db, _nothing(manifest), manifest.last_seq)
        if filed[~np.isin(filed["passage"], list(whole.dead))].tobytes() != whole.parts[1].tobytes():
            yield f"vector cache {file.name}: it differs from the table"
