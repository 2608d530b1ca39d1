"""Vectors of one space and model as files that numpy maps: a cache, rebuilt whenever in doubt.

`NAME.json` is the manifest; it names the data files and is replaced as a whole, so its rename is the
commit of every append. Rows past the manifest's count are leftovers of a crash and are cut off.
This module knows files and numpy, not the database.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from claude_memory.platform import files, locks

FORMAT = 1
BLOCK_ROWS = 4096  # rows under one checksum

ROW = np.dtype([("passage", "<i8"), ("norm", "<f4")])

Vectors = npt.NDArray[np.int8]
Rows = npt.NDArray[np.void]


def rows_of(passages: npt.NDArray[np.int64], vectors: Vectors) -> Rows:
    """What is kept beside the vectors: whose they are, and how long, so that cosines are exact."""
    rows = np.empty(len(passages), ROW)
    rows["passage"] = passages
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = vectors[start : start + BLOCK_ROWS].astype(np.float32)
        rows["norm"][start : start + BLOCK_ROWS] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return rows


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the files hold, and of which store they are a copy."""

    store: str
    model: str
    model_number: int  # a model that was dropped and comes back gets a new one
    dimension: int
    epoch: int
    rows: int = 0
    last_seq: int = 0
    dead_seq: int = 0
    data: str = ""
    vector_sums: tuple[int, ...] = field(default=())
    row_sums: tuple[int, ...] = field(default=())
    format: int = FORMAT

    def is_for(self, other: Manifest) -> bool:
        """Whether both describe copies of the same store, model and epoch."""
        return self.identity == other.identity

    @property
    def identity(self) -> tuple[int, str, str, int, int, int]:
        """All that must be equal for the rows to be usable."""
        return (self.format, self.store, self.model, self.model_number, self.dimension, self.epoch)


class MatrixFile:
    """The files of one matrix. Everything that goes wrong with them means: there is no matrix."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.manifest_path = folder / f"{name}.json"

    def read_manifest(self) -> Manifest | None:
        """The manifest, unless it is missing, damaged, or its data files are too short."""
        try:
            document = json.loads(self.manifest_path.read_bytes())
            manifest = Manifest(**{**document["manifest"], **_tuples(document["manifest"])})
            sound = document["sum"] == _manifest_sum(manifest)
            sound = sound and self._size(manifest, ".i8") >= manifest.rows * manifest.dimension
            sound = sound and self._size(manifest, ".rows") >= manifest.rows * ROW.itemsize
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return manifest if sound else None

    def _size(self, manifest: Manifest, suffix: str) -> int:
        return (self.folder / (manifest.data + suffix)).stat().st_size

    def load(self, manifest: Manifest) -> tuple[Vectors, Rows] | None:
        """Map the vectors and read the rows beside them; None if the files are gone by now."""
        shape = (manifest.rows, manifest.dimension)
        if manifest.rows == 0:
            return np.empty(shape, np.int8), np.empty(0, ROW)
        try:
            vectors = np.memmap(self.folder / f"{manifest.data}.i8", np.int8, "r", shape=shape)
            rows = np.fromfile(self.folder / f"{manifest.data}.rows", ROW, manifest.rows)
        except (OSError, ValueError):
            return None
        return vectors, rows

    @contextlib.contextmanager
    def lock(self) -> Iterator[bool]:
        """The right to write, without waiting; False too where nothing can be written."""
        try:
            files.private_folder(self.folder)
            context = locks.try_lock(self.folder / f"{self.name}.lock")
            taken = context.__enter__()
        except OSError:
            yield False
            return
        try:
            yield taken
        finally:
            context.__exit__(None, None, None)

    def append(self, manifest: Manifest, vectors: Vectors, rows: Rows, last_seq: int) -> Manifest:
        """Add rows, durable before the manifest tells of them. Hold the lock."""
        if not manifest.data:
            manifest = replace(manifest, data=f"{self.name}-{secrets.token_hex(4)}")
        self._write(manifest, ".i8", manifest.rows * manifest.dimension, vectors.tobytes())
        self._write(manifest, ".rows", manifest.rows * ROW.itemsize, rows.tobytes())
        grown = replace(
            manifest,
            rows=manifest.rows + len(rows),
            last_seq=last_seq,
            vector_sums=_extended(manifest.vector_sums, manifest.rows, vectors),
            row_sums=_extended(manifest.row_sums, manifest.rows, rows),
        )
        self._commit(grown)
        self._clear(keep=grown.data)
        return grown

    def _write(self, manifest: Manifest, suffix: str, offset: int, content: bytes) -> None:
        path = self.folder / (manifest.data + suffix)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), files.FILE_MODE)
        with os.fdopen(descriptor, "r+b") as handle:
            handle.truncate(offset)
            handle.seek(offset)
            handle.write(content)
            files.sync_file(handle)

    def _commit(self, manifest: Manifest) -> None:
        document = {"manifest": asdict(manifest), "sum": _manifest_sum(manifest)}
        files.write_atomically(self.manifest_path, json.dumps(document).encode())

    def discard(self) -> None:
        """Remove every file of this matrix."""
        self.manifest_path.unlink(missing_ok=True)
        self._clear(keep="")

    def _clear(self, keep: str) -> None:
        for path in self.folder.glob(f"{self.name}-????????.*"):
            if path.stem != keep:
                with contextlib.suppress(OSError):  # in use on Windows: goes the next time
                    path.unlink()

    def damage(self) -> str | None:
        """Read everything and compare checksums; what is wrong, in one line."""
        if not self.manifest_path.exists():
            return None
        manifest = self.read_manifest()
        loaded = self.load(manifest) if manifest else None
        if manifest is None or loaded is None:
            return f"vector cache {self.name}: manifest and files do not fit"
        vectors, rows = loaded
        if _extended((), 0, vectors) != manifest.vector_sums:
            return f"vector cache {self.name}: a block of vectors has a wrong checksum"
        if _extended((), 0, rows) != manifest.row_sums:
            return f"vector cache {self.name}: a block of rows has a wrong checksum"
        return None


def _tuples(document: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(document[name]) for name in ("vector_sums", "row_sums")}


def _manifest_sum(manifest: Manifest) -> int:
    return zlib.crc32(json.dumps(asdict(manifest), sort_keys=True).encode())


def _extended(sums: tuple[int, ...], rows: int, added: npt.NDArray[Any]) -> tuple[int, ...]:
    """Checksums of all blocks after `added` rows follow `rows` old ones; the open block goes on."""
    result = list(sums)
    start = 0
    while start < len(added):
        room = BLOCK_ROWS - (rows + start) % BLOCK_ROWS
        part = np.ascontiguousarray(added[start : start + room]).tobytes()
        if room < BLOCK_ROWS:
            result[-1] = zlib.crc32(part, result[-1])
        else:
            result.append(zlib.crc32(part))
        start += room
    return tuple(result)
