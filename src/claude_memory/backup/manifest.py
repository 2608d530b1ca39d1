"""What a backup says about itself: manifest.json, the head of one at a place, and the names it may hold.

Pure: reads and writes no file. A backup may come from another machine or a stranger, so a name is
accepted only if it is safe on every system, and a figure only if it is within its cap.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import NamedTuple, TypeVar

from claude_memory.errors import SchemaTooNew, StoreCorrupt

NAME = "manifest.json"
FORMAT = 1
DATABASE = "memory.db"

MAX_FILES = 200_000
MAX_MANIFEST_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**30

# What was installed where is true of one machine only.
_EXCLUDED_TOPS = frozenset(
    {"backup.json", "backups", "cache", "install", "install.json", "locks", "logs", "mcp-token", NAME}
)
_TRANSIENT = (".lock", ".lock.owner", ".tmp", ".purge", "-wal", "-shm", "-journal")
# What runs comes with the package: `install` puts it there.
_PROGRAM_TOPS = frozenset({"bin", "hooks", "plugin"})
_PROGRAMS = frozenset(
    ".app .bash .bat .cjs .cmd .com .command .desktop .dll .dylib .egg .exe .fish .jar .js .lua .mjs .node "
    ".php .pl .plist .ps1 .pth .py .pyc .pyd .pyo .pyw .rb .scpt .service .sh .so .ts .vbs .wasm .whl "
    ".zsh".split()
)
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\\ud800-\udfff]|[ .]$')
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9¹²³]) *(\.|$)", re.IGNORECASE)
_HOME = re.compile(r"([0-9a-f]{16})?")
SHA256 = re.compile(r"[0-9a-f]{64}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BackupEntry:
    """One file of the backup: where it goes, and how to tell that it is whole."""

    path: str
    size: int
    sha256: str
    mode: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in the home that the backup does not hold, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The first entry of every backup."""

    created: datetime
    package_version: str
    schema: int
    files: tuple[BackupEntry, ...]
    skipped: tuple[Skipped, ...] = ()
    home: str = ""  # which memory this is, whatever machine it was on
    format: int = FORMAT

    @property
    def size_bytes(self) -> int:
        """What the files take once they are restored."""
        return sum(entry.size for entry in self.files)


Run = tuple[int, int, int]  # number of the pack in its head, first chunk, how many


class Pack(NamedTuple):
    """One pack as a head names it: its checksum, its size at the place, and its index."""

    name: str
    size: int
    index_name: str


@dataclass(frozen=True, slots=True)
class BackupHead:
    """One backup at a place: its manifest, and which chunks of which packs make each of its files."""

    manifest: BackupManifest
    packs: list[Pack] = field(default_factory=list)
    files: dict[str, list[Run]] = field(default_factory=dict)


def encode(value: BackupManifest | BackupHead) -> bytes:
    """A manifest as it stands in a backup, or a head as it lies at a place."""
    from pydantic import TypeAdapter

    return TypeAdapter(type(value)).dump_json(value)


def decode(content: bytes) -> BackupManifest:
    """Read a manifest that anyone may have written; raises what says best why it cannot be used."""
    manifest = _read(BackupManifest, content)
    _check(manifest)
    return manifest


def decode_head(content: bytes) -> BackupHead:
    """The head that bytes from a place describe; StoreCorrupt unless it is one that we wrote."""
    head = _read(BackupHead, content)
    _check(head.manifest)
    if not all(SHA256.fullmatch(name) for pack in head.packs for name in (pack.name, pack.index_name)):
        raise StoreCorrupt("it names packs that we never wrote")
    if head.files.keys() != {entry.path for entry in head.manifest.files}:
        raise StoreCorrupt("its files are not those of its manifest")
    for pack, first, count in (run for runs in head.files.values() for run in runs):
        if not (0 <= pack < len(head.packs) and first >= 0 and count > 0):
            raise StoreCorrupt("it names chunks that we never wrote")
    return head


def _read(kind: type[T], content: bytes) -> T:
    from pydantic import TypeAdapter

    try:
        document = json.loads(content)
        if (version := document.get("manifest", document)["format"]) > FORMAT:
            raise SchemaTooNew(
                f"its format is {version}, this version reads up to {FORMAT}; upgrade claude-memory"
            )
        return TypeAdapter(kind).validate_json(content, strict=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreCorrupt("its manifest cannot be read or is not complete") from None


def _check(manifest: BackupManifest) -> None:
    if len(manifest.files) > MAX_FILES:
        raise StoreCorrupt(f"it claims to hold more than {MAX_FILES} files")
    if manifest.size_bytes > MAX_TOTAL_BYTES:
        raise StoreCorrupt(f"it claims to hold more than {MAX_TOTAL_BYTES // 2**30} GB")
    if manifest.created.tzinfo is None or manifest.schema < 0 or not _HOME.fullmatch(manifest.home):
        raise StoreCorrupt("its manifest is none that we wrote")
    files, folders = set[str](), set[str]()
    for entry in manifest.files:
        named = repr(entry.path[:80])
        if entry.size < 0 or not 0 <= entry.mode <= 0o7777 or not SHA256.fullmatch(entry.sha256):
            raise StoreCorrupt(f"its manifest says of {named} what we never wrote")
        if reason := unfit(entry.path):
            raise StoreCorrupt(f"it holds a file named {named}: {reason}")
        key = collision_key(entry.path)
        above = {str(folder) for folder in PurePosixPath(key).parents}
        if key in files or key in folders or not files.isdisjoint(above):
            raise StoreCorrupt(f"two of its names are the same on some systems: {named}")
        files.add(key)
        folders |= above
    if all(entry.path != DATABASE for entry in manifest.files):
        raise StoreCorrupt("it holds no database")


# --- names


def collision_key(path: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def unfit(path: str) -> str | None:
    """Why a name may not stand in a backup; None if it may. Rules of all systems at once."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "the name leaves its folder or is not relative"
    if any(_FORBIDDEN.search(part) for part in parts):
        return "the name has characters that some systems refuse"
    if any(map(_DEVICE.match, parts)):
        return "the name is a device on Windows"
    if len(path) > 1000 or len(parts) > 32 or any(len(part.encode()) > 255 for part in parts):
        return "the name is too long"
    return None if belongs(path) else "it is no lasting part of a home"


def is_program(path: str) -> bool:
    """Whether a name is one of something that runs; such a file is neither backed up nor restored."""
    folded = path.casefold()
    return folded.partition("/")[0] in _PROGRAM_TOPS or PurePosixPath(folded).suffix in _PROGRAMS


def belongs(path: str) -> bool:
    """Whether a path of the home is part of what lasts: no cache, log, lock, or file in the making."""
    folded = path.casefold()
    if folded.partition("/")[0] in _EXCLUDED_TOPS:
        return False
    return not folded.startswith(("spool/tmp/", f"{DATABASE}.damaged-")) and not folded.endswith(_TRANSIENT)
