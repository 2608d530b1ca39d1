"""Lines of a file that may be huge, growing, damaged: streamed, with offsets, one at a time in memory.

Knows bytes and JSON, nothing of agents.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

LINE_BYTES = 16 << 20  # a longer line is no turn of a conversation
_CHUNK = 1 << 20
_ZSTANDARD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: where it ends, and its bytes; None for one that is too long to be read."""

    end: int
    raw: bytes | None
    complete: bool = True


def open_stream(path: Path) -> IO[bytes]:
    """The file's content; what is compressed with Zstandard is unpacked on the way."""
    handle = path.open("rb")
    if handle.read(4) != _ZSTANDARD:
        handle.seek(0)
        return handle
    handle.close()
    return cast("IO[bytes]", _Unpacked(path))


class _Unpacked:
    """A compressed file's content; damage is a ValueError, like any other content that cannot be read."""

    def __init__(self, path: Path) -> None:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        self._handle = zstd.open(path, "rb")
        self._damage = zstd.ZstdError

    def __enter__(self) -> _Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()

    def read(self, size: int) -> bytes:
        try:
            return self._handle.read(size)
        except self._damage as fault:
            raise ValueError(str(fault)) from None

    def seekable(self) -> bool:
        return False


def is_compressed(path: Path) -> bool:
    """Whether offsets in the stream are not offsets in the file."""
    with path.open("rb") as handle:
        return handle.read(4) == _ZSTANDARD


def lines(handle: IO[bytes], start: int = 0, *, cap: int = LINE_BYTES) -> Iterator[Line]:
    """Every line from `start` on; the last one may be incomplete, because its writer is still at it."""
    _skip(handle, start)
    end, rest, overlong = start, b"", 0
    while chunk := handle.read(_CHUNK):
        head, *others = chunk.split(b"\n")
        if not others:
            rest, overlong = _grown(rest, head, overlong, cap)
            continue
        rest, overlong = _grown(rest, head, overlong, cap)
        end += overlong + len(rest) + 1
        yield Line(end, None if overlong else rest)
        for raw in others[:-1]:
            end += len(raw) + 1
            yield Line(end, raw)
        rest, overlong = others[-1], 0
    if rest or overlong:
        yield Line(end + overlong + len(rest), None if overlong else rest, complete=False)


def _grown(rest: bytes, more: bytes, overlong: int, cap: int) -> tuple[bytes, int]:
    """A line so far; past the cap only its length is kept."""
    if overlong or len(rest) + len(more) > cap:
        return b"", overlong + len(rest) + len(more)
    return rest + more, 0


def _skip(handle: IO[bytes], start: int) -> None:
    if not start:
        return
    if handle.seekable():
        handle.seek(start)
        return
    left = start
    while left and (passed := len(handle.read(min(left, _CHUNK)))):
        left -= passed


def document(raw: bytes) -> dict[str, Any] | None:
    """The JSON object on a line, or None if it is none."""
    import orjson

    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        found = _tolerant(raw)
    return found if isinstance(found, dict) else None


def _tolerant(raw: bytes) -> Any:
    """Lone surrogates, NaN, stray bytes: what the fast parser refuses, the standard one may read."""
    try:
        return json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
