"""What a backup says about itself: manifest.json, the head of one at a place, and the names it may hold.

Pure: reads and writes no file. A backup may come from another machine or a stranger, so a name is
accepted only if it is safe on every system, and a figure only if it is within its cap.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from claude_memory.errors import SchemaTooNew, StoreCorrupt

NAME = "manifest.json"
FORMAT = 1
DATABASE = "memory.db"

MAX_FILES = 200_000
MAX_MANIFEST_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**30
MAX_RATIO = 400  # deflate reaches 1,032 on zeros; what people write stays below 50
RATIO_MATTERS_FROM = 64 * 2**20

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
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_HOME = re.compile(r"([0-9a-f]{16})?")
SHA256 = re.compile(r"[0-9a-f]{64}")


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

    @property
    def size_bytes(self) -> int:
        """What the files take once they are restored."""
        return sum(entry.size for entry in self.files)

    def encode(self) -> bytes:
        """The manifest as it stands in the backup."""
        document = {
            "format": FORMAT,
            "package_version": self.package_version,
            "created": self.created.isoformat(),
            "schema": self.schema,
            "home": self.home,
            "files": [asdict(entry) for entry in self.files],
            "skipped": [asdict(skipped) for skipped in self.skipped],
        }
        return json.dumps(document, ensure_ascii=True, indent=1).encode("ascii")


def decode(content: bytes) -> BackupManifest:
    """Read a manifest that anyone may have written; raises what says best why it cannot be used."""
    try:
        document = json.loads(content.decode("utf-8"))
        version = _number(document["format"], 2**31)
    except (ValueError, RecursionError, KeyError, TypeError):
        raise StoreCorrupt("its manifest cannot be read") from None
    if version > FORMAT:
        raise SchemaTooNew(
            f"its format is {version}, this version reads up to {FORMAT}; upgrade claude-memory"
        )
    try:
        manifest = _manifest(document)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StoreCorrupt("its manifest is not complete") from None
    _check_names(entry.path for entry in manifest.files)
    if all(entry.path != DATABASE for entry in manifest.files):
        raise StoreCorrupt("it holds no database")
    if manifest.size_bytes > MAX_TOTAL_BYTES:
        raise StoreCorrupt(f"it claims to hold more than {MAX_TOTAL_BYTES // 2**30} GB")
    return manifest


def _manifest(document: dict[str, Any]) -> BackupManifest:
    if len(document["files"]) > MAX_FILES:
        raise StoreCorrupt(f"it claims to hold more than {MAX_FILES} files")
    created, home = datetime.fromisoformat(document["created"]), document.get("home", "")
    if created.tzinfo is None or not _HOME.fullmatch(home):
        raise ValueError
    return BackupManifest(
        created=created,
        package_version=str(document["package_version"])[:100],
        schema=_number(document["schema"], 2**31),
        files=tuple(map(_entry, document["files"])),
        skipped=tuple(
            Skipped(str(item["path"])[:1000], str(item["reason"])[:200])
            for item in document.get("skipped", [])[:MAX_FILES]
        ),
        home=home,
    )


def _entry(item: dict[str, Any]) -> BackupEntry:
    path, digest = item["path"], item["sha256"]
    if not isinstance(path, str) or not SHA256.fullmatch(digest):
        raise ValueError
    return BackupEntry(path, _number(item["size"], MAX_TOTAL_BYTES), digest, _number(item["mode"], 0o7777))


def _number(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError
    return value


# --- the head of a backup at a place: its manifest, and which chunks of which packs make each of its files

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


def decode_head(id_: str, content: bytes) -> BackupHead:
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


# --- names


def _check_names(paths: Iterable[str]) -> None:
    files, folders = set[str](), set[str]()
    for path in paths:
        if reason := unfit(path):
            raise StoreCorrupt(f"it holds a file named {path[:80]!r}: {reason}")
        key = collision_key(path)
        if key in files or key in folders:
            raise StoreCorrupt(f"two of its names are the same on some systems: {path[:80]!r}")
        above = {str(folder) for folder in PurePosixPath(key).parents}
        if not files.isdisjoint(above):
            raise StoreCorrupt(f"it holds {path[:80]!r} inside a file")
        files.add(key)
        folders |= above


def collision_key(path: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def unfit(path: str) -> str | None:
    """Why a name may not stand in a backup; None if it may. Rules of all systems at once."""
    parts = path.split("/")
    if not path or len(path) > 1000 or len(parts) > 32:
        return "the name is empty or too long"
    for part in parts:
        reason = _unfit_part(part)
        if reason:
            return reason
    if not belongs(path):
        return "it is no lasting part of a home"
    return None


def _unfit_part(part: str) -> str | None:
    if part in ("", ".", ".."):
        return "the name leaves its folder or is not relative"
    if _FORBIDDEN.search(part):
        return "the name has characters that some systems refuse"
    if part[-1] in " .":
        return "the name ends in a dot or a space"
    if part.split(".", 1)[0].rstrip(" ").lower() in _DEVICES:
        return "the name is a device on Windows"
    try:
        too_long = len(part.encode("utf-8")) > 255
    except UnicodeEncodeError:
        return "the name is not valid Unicode"
    return "the name is too long" if too_long else None


def is_program(path: str) -> bool:
    """Whether a name is one of something that runs; such a file is neither backed up nor restored."""
    folded = path.casefold()
    return folded.partition("/")[0] in _PROGRAM_TOPS or PurePosixPath(folded).suffix in _PROGRAMS


def belongs(path: str) -> bool:
    """Whether a path of the home is part of what lasts: no cache, log, lock, or file in the making."""
    top = path.partition("/")[0].casefold()
    folded = path.casefold()
    if top in _EXCLUDED_TOPS or folded.startswith(("spool/tmp/", f"{DATABASE}.damaged-")):
        return False
    return not folded.endswith(_TRANSIENT)
