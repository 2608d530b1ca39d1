"""A backup as a tar, packed by gzip or Zstandard: written in one go, read in one go, never by `extractall`.

The reader knows regular files with short or GNU long names, which is all that the writer makes. Any other
kind of member is refused, and no length that a header claims is read into memory.
"""

from __future__ import annotations

import gzip
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol

from claude_memory.backup.manifest import MAX_RATIO, NAME, RATIO_MATTERS_FROM, Manifest
from claude_memory.errors import StoreCorrupt
from claude_memory.platform.files import FILE_MODE

CHUNK = 1 << 20
_LEVEL = 3
_BLOCK = tarfile.BLOCKSIZE
_LONGEST_NAME = 4096
_LARGEST_WINDOW = 25  # as a power of two: what a reader must hold in memory
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)
_MAGIC = {b"\x1f\x8b": ".tar.gz", b"\x28\xb5\x2f\xfd": ".tar.zst"}


class Readable(Protocol):
    """Something that gives its bytes in order."""

    def read(self, size: int, /) -> bytes: ...


def zstd() -> Any:
    """The library, which Python has of its own from 3.14 on."""
    if sys.version_info >= (3, 14):
        from compression import zstd as library
    else:
        from backports import zstd as library
    return library


def ending_of(head: bytes) -> str | None:
    """The name's ending that fits the first bytes of a file; None for no tar that we write."""
    return next((ending for magic, ending in _MAGIC.items() if head.startswith(magic)), None)


def write(manifest: Manifest, staging: Path, sink: BinaryIO, ending: str) -> None:
    """Write the staged files as one stream, the manifest first; the sink need not be seekable."""
    with (
        _packer(sink, ending) as packer,
        tarfile.open(fileobj=packer, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        content = manifest.encode()
        info = _info(manifest, NAME, len(content), FILE_MODE)
        tar.addfile(info, _Bytes(content))
        for entry in manifest.files:
            with (staging / entry.path).open("rb") as source:
                tar.addfile(_info(manifest, entry.path, entry.size, entry.mode), source)
        tar.close()
        if manifest.size_bytes > RATIO_MATTERS_FROM:
            # A home of zeros packs so well that reading it would look like an attack. What stands behind
            # the end of a tar is passed over.
            _pad(packer, manifest.size_bytes // MAX_RATIO)


def read(path: Path, ending: str) -> Iterator[tuple[str, int, Readable]]:
    """Each file's name, size and content, in order; the content must be read before the next is asked for."""
    with path.open("rb") as packed, _unpacker(packed, ending) as stream:
        long_name = ""
        while (block := _exactly(stream, _BLOCK)) != bytes(_BLOCK):
            info = _header(block)
            if info.type == tarfile.GNUTYPE_LONGNAME:
                if info.size > _LONGEST_NAME:
                    raise StoreCorrupt("a name in it is too long")
                long_name = _text(_exactly(stream, _rounded(info.size))[: info.size])
                continue
            name, long_name = long_name or info.name, ""
            if info.type not in _REGULAR or info.size < 0:
                raise StoreCorrupt(f"its entry {name[:80]!r} is no regular file")
            member = _Member(stream, info.size)
            yield name, info.size, member
            member.skip_padding()


class _Bytes:
    """What tarfile needs of a file that lies in memory."""

    def __init__(self, content: bytes) -> None:
        self._left = memoryview(content)

    def read(self, size: int = -1) -> bytes:
        size = len(self._left) if size < 0 else size
        part, self._left = self._left[:size], self._left[size:]
        return bytes(part)


class _Member:
    """The content of one file of a stream; ends where the file ends."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self._left = size
        self._padding = _rounded(size) - size

    def read(self, size: int) -> bytes:
        part = self._stream.read(min(size, self._left))
        if not part and self._left and size:
            raise StoreCorrupt("it ends too soon")
        self._left -= len(part)
        return part

    def skip_padding(self) -> None:
        if self._left:
            raise StoreCorrupt("a file in it was not read to its end")
        _exactly(self._stream, self._padding)


def _packer(sink: BinaryIO, ending: str) -> Any:
    if ending == ".tar.gz":
        return gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=sink, mtime=0)
    return zstd().ZstdFile(sink, "wb", level=_LEVEL)


def _unpacker(packed: BinaryIO, ending: str) -> Any:
    if ending == ".tar.gz":
        return gzip.GzipFile(fileobj=packed, mode="rb")
    library = zstd()
    bound = {library.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    return library.ZstdFile(packed, "rb", options=bound)


def _info(manifest: Manifest, name: str, size: int, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, mode, int(manifest.created.timestamp())
    return info


def _pad(packer: IO[bytes], size: int) -> None:
    while size > 0:
        size -= packer.write(os.urandom(min(size, CHUNK)))


def _header(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.TarError as fault:
        raise StoreCorrupt(f"a header in it cannot be read: {fault}") from None


def _text(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _rounded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _exactly(stream: Readable, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = stream.read(size - len(parts))
        if not part:
            raise StoreCorrupt("it ends too soon")
        parts += part
    return parts
