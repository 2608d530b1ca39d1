"""Lines of a file that may be huge, growing, damaged: streamed, with offsets, one at a time in memory.

Knows bytes and JSON, nothing of agents.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

LINE_BYTES = 16 << 20  # a longer line is no turn of a conversation
_BUFFER = 1 << 20
_ZSTANDARD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: where it ends, and its bytes; None for one that is too long to be read."""

    end: int
    raw: bytes | None
    complete: bool = True


@contextmanager
def open_stream(path: Path) -> Iterator[IO[bytes]]:
    """The file's content; what is compressed with Zstandard is unpacked on the way.

    Damage is a ValueError, like any other content that cannot be read.
    """
    if not is_compressed(path):
        with path.open("rb", buffering=_BUFFER) as handle:
            yield handle
        return
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        with zstd.open(path, "rb") as unpacked:
            yield cast("IO[bytes]", unpacked)
    except zstd.ZstdError as fault:
        raise ValueError(str(fault)) from None


def is_compressed(path: Path) -> bool:
    """Whether offsets in the stream are not offsets in the file."""
    with path.open("rb") as handle:
        return handle.read(4) == _ZSTANDARD


def lines(handle: IO[bytes], start: int = 0, *, cap: int = LINE_BYTES) -> Iterator[Line]:
    """Every line from `start` on; the last one may be incomplete, because its writer is still at it."""
    handle.seek(start)
    end = start
    while raw := handle.readline(cap + 1):
        end += len(raw)
        last = raw
        while len(last) > cap and not last.endswith(b"\n"):
            last = handle.readline(cap + 1)
            end += len(last)
        complete = last.endswith(b"\n")
        yield Line(end, raw.removesuffix(b"\n") if last is raw else None, complete)


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
