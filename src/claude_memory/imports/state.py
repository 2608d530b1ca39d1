"""Whether a source is the one that was read before, and from where to go on. Reads a few bytes only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_memory.store.archive_protocol import ImportFile
from claude_memory.transcripts.model import SourceFile

HEAD_BYTES = 4096
TAIL_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Start:
    """From where a source is read; the beginning, unless it grew since it was last read."""

    offset: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)
    skipped: int = 0


def start_of(source: SourceFile, known: ImportFile | None) -> Start | None:
    """Where to go on, or None when there is nothing new.

    A file that was cut, rewritten or replaced is read again from its beginning: what is known in it is
    passed over by its keys.
    """
    if known is None:
        return Start()
    same = (known.size, known.modified_ns, known.inode) == (source.size, source.modified_ns, source.inode)
    if same and (known.offset >= known.size or not known.tail):
        return None
    if (
        known.tail
        and known.offset <= source.size
        and prints(source.path, known.offset)
        == (
            known.head,
            known.tail,
        )
    ):
        return None if known.offset == source.size else Start(known.offset, known.state, known.skipped)
    return Start()


def prints(path: Path, offset: int) -> tuple[str, str]:
    """Hashes of the file's first bytes and of those before an offset."""
    try:
        with path.open("rb") as handle:
            head = handle.read(min(HEAD_BYTES, offset))
            handle.seek(max(0, offset - TAIL_BYTES))
            tail = handle.read(min(TAIL_BYTES, offset))
    except OSError:
        return "", ""
    return _hash(head), _hash(tail)


def _hash(content: bytes) -> str:
    return f"{len(content)}:{hashlib.blake2b(content, digest_size=12).hexdigest()}"
