"""Long texts as few bytes, and back. What short texts gain is not worth it, so they stay text.

Older stores hold zlib's bytes, which are still read; Zstandard packs five times as fast, and no worse.
"""

from __future__ import annotations

import sys
import zlib
from functools import cache
from typing import Any

PACK_FROM = 160  # characters
_LEVEL = 3
_ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how every frame begins; no stream of zlib does


def packed(text: str, *, always: bool = False) -> str | bytes:
    """A text as it is kept; `always` as bytes. Halves of a surrogate pair must be gone from it."""
    if len(text) < PACK_FROM and not always:
        return text
    if not text:
        return b""
    compressor, whole = _compressor()
    made: bytes = compressor.compress(text.encode(), whole)
    return made


def unpacked(body: str | bytes) -> str:
    """The text of a kept body."""
    if not body:
        return ""
    if isinstance(body, str):
        return body
    if body.startswith(_ZSTANDARD):
        return str(zstd().decompress(body), "utf-8")
    return zlib.decompress(body).decode()


@cache
def _compressor() -> tuple[Any, Any]:
    """One for all texts, each a frame of its own: making one takes as long as packing with it."""
    kind = zstd().ZstdCompressor
    return kind(_LEVEL), kind.FLUSH_FRAME


@cache
def zstd() -> Any:
    """The library, which Python has of its own from 3.14 on."""
    if sys.version_info >= (3, 14):
        from compression import zstd as library
    else:
        from backports import zstd as library
    return library
