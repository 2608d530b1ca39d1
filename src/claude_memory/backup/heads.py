"""The head of a backup at a place: its manifest, and which chunks of which packs make each of its files.

Pure: reads and writes no file. Every name and number in it is checked, because anyone may have written it.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from claude_memory.backup.manifest import SHA256, BackupManifest, decode
from claude_memory.errors import StoreCorrupt

ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_TIME = "%Y%m%dT%H%M%SZ"

Run = tuple[int, int, int]  # number of the pack in its head, first chunk, how many


@dataclass(frozen=True, slots=True)
class Pack:
    """One pack as a head names it: its checksum, its size at the place, and its index."""

    name: str
    size: int
    index: str


@dataclass(slots=True)
class BackupHead:
    """One backup at a place."""

    id: str
    manifest: BackupManifest
    packs: list[Pack] = field(default_factory=list)
    files: dict[str, list[Run]] = field(default_factory=dict)

    def encode(self) -> bytes:
        """The head as it lies at the place, before packing and sealing."""
        document = {
            "manifest": json.loads(self.manifest.encode()),
            "packs": [[pack.name, pack.size, pack.index] for pack in self.packs],
            "files": self.files,
        }
        return json.dumps(document, separators=(",", ":")).encode("ascii")


def decoded(id_: str, content: bytes) -> BackupHead:
    """The head that bytes from a place describe; StoreCorrupt unless it is one that we wrote."""
    try:
        document = json.loads(content)
        manifest = decode(json.dumps(document["manifest"]).encode())
        packs = [Pack(str(name), int(size), str(index)) for name, size, index in document["packs"]]
        files = {
            str(name): [_run(run, len(packs)) for run in runs] for name, runs in document["files"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreCorrupt("it cannot be read") from None
    if not all(SHA256.fullmatch(name) for pack in packs for name in (pack.name, pack.index)):
        raise StoreCorrupt("it names packs that we never wrote")
    if files.keys() != {entry.path for entry in manifest.files}:
        raise StoreCorrupt("its files are not those of its manifest")
    return BackupHead(id_, manifest, packs, files)


def _run(given: Any, packs: int) -> Run:
    pack, first, count = (int(number) for number in given)
    if not (0 <= pack < packs and first >= 0 and count > 0):
        raise ValueError
    return pack, first, count


def next_id(ids: list[str]) -> str:
    """A name that sorts behind all others, even if the clock was set back."""
    now = datetime.now(UTC)
    if ids:
        now = max(now, time_of(ids[0]) + timedelta(seconds=1))
    return f"{now:{_TIME}}-{secrets.token_hex(4)}"


def time_of(id_: str) -> datetime:
    """When a backup was made, by its name."""
    with contextlib.suppress(ValueError):
        return datetime.strptime(id_[:16], _TIME).replace(tzinfo=UTC)
    return datetime.fromtimestamp(0, UTC)
