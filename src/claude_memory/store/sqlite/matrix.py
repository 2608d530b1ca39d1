"""The vectors of each space and model as one array: what a file holds, and what was committed since.

The table is the truth and a file its copy: a cache, made anew whenever in doubt. The name of a file says of
which vectors it is a copy, and up to which change; it appears whole, by a rename, and is never written again.
What it does not hold yet is read from the table, so a search never misses a committed vector, and works
without any file. Whoever imports this needs numpy.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from claude_memory.platform import files
from claude_memory.store.sql import rows

if TYPE_CHECKING:
    from claude_memory.store.base import Database

Floats = npt.NDArray[np.float32]
Vectors = npt.NDArray[np.int8]
Rows = npt.NDArray[np.void]

_LEAST = 256  # fewer rows are cheaper to read from the table than to write to a file
_TAIL_SHARE = 64  # a tail of one row in so many is written to the file,
_DEAD_SHARE = 10  # and a file of which one row in so many is gone is written without them
_READ_ROWS = 65_536
_TWO_THREADS_FROM = 65_536  # rows; below, starting a second thread takes longer than it saves
_BLOCK_ROWS = 4_096  # whose lengths are computed at once
_SHORTEST = np.float32(1e-9)

_WANTED = """SELECT (SELECT value FROM meta WHERE key = 'store'),
    coalesce((SELECT epoch FROM spaces WHERE number = ?), 0)"""
_GIVEN = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0)"
_VECTORS = """SELECT seq, passage, vector FROM vectors
    WHERE model = ? AND space = ? AND seq > ? AND seq <= ? AND length(vector) = ? ORDER BY seq"""
_DEAD_AFTER = "SELECT seq, passage FROM dead_vectors WHERE model = ? AND space = ? AND seq > ? ORDER BY seq"


def row_type(dimension: int) -> np.dtype[np.void]:
    """A row: whose vector it is, how long, so that cosines are exact, and the vector."""
    return np.dtype([("passage", "<i8"), ("norm", "<f4"), ("vector", "i1", (dimension,))])


def rows_of(passages: list[int], vectors: bytes, dimension: int) -> Rows:
    """Rows of vectors that stand one behind the other."""
    made = np.empty(len(passages), row_type(dimension))
    made["passage"] = passages
    made["vector"] = np.frombuffer(vectors, np.int8).reshape(len(passages), dimension)
    for start in range(0, len(made), _BLOCK_ROWS):
        block = made["vector"][start : start + _BLOCK_ROWS].astype(np.float32)
        made["norm"][start : start + _BLOCK_ROWS] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return made


def cosines(rows: Rows, norms: Floats, query: Vectors) -> Floats:
    """Of every row with the query; a vector of zeros is near to nothing."""
    import simsimd

    threads = 2 if len(rows) >= _TWO_THREADS_FROM else 1
    products = np.asarray(simsimd.cdist(query.reshape(1, -1), rows["vector"], "dot", threads=threads))[0]
    lengths = np.maximum(norms * np.linalg.norm(query.astype(np.float32)), _SHORTEST)
    scores: Floats = np.divide(products, lengths, dtype=np.float32, casting="same_kind")
    return scores


class MatrixCopy(NamedTuple):
    """Of which vectors something is a copy, and up to which change; the name of a file, between dashes."""

    space: int
    model: int  # a model that was dropped and comes back gets a new number
    epoch: int
    dimension: int
    store: int  # the beginning of the store's id
    rows: int = 0
    last_seq: int = 0
    dead_seq: int = 0

    def path(self, folder: Path) -> Path:
        return folder / f"{'-'.join(map(str, self))}.rows"

    def is_for(self, wanted: MatrixCopy) -> bool:
        """Whether it is of the same vectors, however many."""
        return self[:5] == wanted[:5]

    def load(self, folder: Path) -> Rows | None:
        """Map the rows; None if the file is gone by now, or too short."""
        try:
            return np.memmap(self.path(folder), row_type(self.dimension), "r", shape=(self.rows,))
        except (OSError, ValueError):
            return None


def copy_at(path: Path) -> MatrixCopy | None:
    """What a file is a copy of; None if its name does not tell, such as that of an earlier release."""
    try:
        return MatrixCopy(*map(int, path.stem.split("-")))
    except (TypeError, ValueError):
        return None


class Matrix:
    """All vectors of a space and model at one moment: the file's, then what was committed since."""

    def __init__(self, copy: MatrixCopy, *parts: Rows, dead: frozenset[int] = frozenset()) -> None:
        none = np.empty(0, row_type(copy.dimension))
        self.copy, self.dead = copy, dead
        self.parts = (*parts, none, none)[:2]

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
    def outgrows_its_file(self) -> bool:
        """Whether so much was added, or so many rows are gone, that the file should be written anew."""
        filed, tail = map(len, self.parts)
        is_bloated = len(self.dead) > max(_LEAST, len(self) // _DEAD_SHARE)
        return is_bloated or tail > max(_LEAST, filed // _TAIL_SHARE)

    def scores(self, query: Vectors) -> Floats:
        """Cosines of all rows with the query; rows whose passage is gone get NaN."""
        pairs = zip(self.parts, self._norms, strict=True)
        scores = [cosines(part, norms, query) for part, norms in pairs if len(part)]
        joined = scores[0] if len(scores) == 1 else np.concatenate(scores)
        if self.dead:
            joined[self._gone] = np.nan
        return joined

    def with_tail(self, db: Database, through: int = 1 << 62) -> Matrix:
        """And what was committed since: new vectors, and passages that are gone; itself if nothing was."""
        of, added = self.copy, []
        found: Any = db.execute(_VECTORS, (of.model, of.space, of.last_seq, through, of.dimension))
        while chunk := list(islice(found, _READ_ROWS)):
            added.append(rows_of([row[1] for row in chunk], b"".join(row[2] for row in chunk), of.dimension))
            of = of._replace(last_seq=chunk[-1][0])
        gone = rows.fetch(db, _DEAD_AFTER, (of.model, of.space, of.dead_seq))
        if gone:
            of = of._replace(dead_seq=gone[-1][0])
        if of is self.copy:
            return self
        filed, tail = self.parts
        dead = self.dead | {passage for _, passage in gone}
        return Matrix(of, filed, np.concatenate([tail, *added]), dead=dead)


class Matrices:
    """The matrices of one store in this process; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[tuple[int, int], Matrix] = {}
        self._can_write = True
        self._guard = threading.Lock()

    def of(self, db: Database, space: int, model: int, dimension: int) -> Matrix:
        """The vectors of a space and model as a transaction sees them, from memory where nothing changed."""
        store, epoch = next(db.execute(_WANTED, (space,)))
        wanted = MatrixCopy(space, model, int(epoch), dimension, int(store[:8], 16))
        with self._guard:
            held = self._held.get((space, model))
            if held is None or not held.copy.is_for(wanted):
                held = self._from_file(db, wanted)
            held = held.with_tail(db)
            if held.outgrows_its_file and self._can_write:
                held = self._written(held)
            self._held[(space, model)] = held
            return held

    def _from_file(self, db: Database, wanted: MatrixCopy) -> Matrix:
        """What is on disk, if it is a copy of this very store; else nothing yet."""
        given = db.execute(_GIVEN, ("vectors",)).get
        for path in self._files(wanted):
            copy = copy_at(path)
            is_ours = copy is not None and copy.is_for(wanted) and copy.last_seq <= given
            if copy and is_ours and (filed := copy.load(self._folder)) is not None:
                return Matrix(copy, filed)
        return Matrix(wanted._replace(dead_seq=int(db.execute(_GIVEN, ("dead_vectors",)).get)))

    def _files(self, wanted: MatrixCopy) -> list[Path]:
        return list(self._folder.glob(f"{wanted.space}-{wanted.model}-*.rows"))

    def _written(self, held: Matrix) -> Matrix:
        """Write the file anew, with the rows that live; one that was there goes."""
        living = np.concatenate(held.parts)
        if held.dead:
            living = living[~np.isin(held.passages, list(held.dead))]
        copy = held.copy._replace(rows=len(living))
        try:
            files.private_folder(self._folder)
            files.write_atomically(copy.path(self._folder), living.view(np.uint8).data)
        except OSError:  # a full or read-only disk: the table has it all
            self._can_write = False
            return held
        for path in self._files(copy):
            if path != copy.path(self._folder):
                with contextlib.suppress(OSError):  # in use on Windows: goes the next time
                    path.unlink()
        filed = copy.load(self._folder)
        return held if filed is None else Matrix(copy, filed)


def discard_outdated(db: Database, folder: Path) -> None:
    """Remove the files of spaces from which something was erased; they are made anew when next needed."""
    epochs: dict[Any, Any] = dict(db.execute("SELECT number, epoch FROM spaces"))
    for path in folder.rglob("*"):
        copy = copy_at(path)
        if path.is_file() and (copy is None or copy.epoch != epochs.get(copy.space)):
            path.unlink(missing_ok=True)


def damage(db: Database, folder: Path) -> Iterator[str]:
    """Files that say other than the table; made anew, they would be sound."""
    for path in sorted(folder.glob("*.rows")):
        copy = copy_at(path)
        if copy is None:
            continue
        filed = copy.load(folder)
        if filed is None:
            yield f"vector cache {path.name}: it is too short"
            continue
        whole = Matrix(copy._replace(last_seq=0)).with_tail(db, copy.last_seq)
        if filed[~np.isin(filed["passage"], list(whole.dead))].tobytes() != whole.parts[1].tobytes():
            yield f"vector cache {path.name}: it differs from the table"
