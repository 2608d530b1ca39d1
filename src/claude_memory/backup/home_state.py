"""A home as backups see it: what of it lasts, the manifest that names that, still copies, and `backup.json`.

A backup may come from another machine or a stranger, so a name is accepted only if it is safe on every
system, and a figure only if it is within its cap. Caches, logs, locks, programs and other backups are no part
of a copy; links are not followed. Captured events that still wait are not redacted yet, so they stay out.
`backup.json` tells which memory this is. The id travels in every manifest, so that a place can tell this
memory, come back on another machine, from somebody else's. The file itself stays here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, TypeVar

from claude_memory import __version__
from claude_memory.backup import mirror
from claude_memory.capture.drain import Spool
from claude_memory.errors import Conflict, SchemaTooNew, StoreCorrupt
from claude_memory.platform.files import FILE_MODE, FOLDER_MODE, private_folder, write_atomically
from claude_memory.platform.leftovers import temporary_folder
from claude_memory.store.base import Store

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
    path: str
    size: int
    sha256: str
    mode: int


@dataclass(frozen=True, slots=True)
class Skipped:
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
    from pydantic import TypeAdapter

    return TypeAdapter(type(value)).dump_json(value)


def decode(content: bytes) -> BackupManifest:
    """Read a manifest that anyone may have written; raises what says best why it cannot be used."""
    return _checked(_read(BackupManifest, content))


def decode_head(content: bytes) -> BackupHead:
    """The head that bytes from a place describe; StoreCorrupt unless it is one that we wrote."""
    head = _read(BackupHead, content)
    _checked(head.manifest)
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


def _checked(manifest: BackupManifest) -> BackupManifest:
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
    return manifest


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


# --- which memory this is

FILE = "backup.json"
CHUNK = 1 << 20
_INSTALLED = ("hooks/", "plugin/")
_SQLITE_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class HomeState:
    home: str = ""  # the id of this memory
    place: str = ""
    seen: str = ""  # sums up the files of the last push
    pushed_at: float = 0.0
    fault: str = ""  # why the next one failed
    token: str = ""  # tells this very copy from all others, and does not come with a backup; nor does:
    paired: dict[str, str] = field(default_factory=dict)  # homes the person called theirs, and their names


def load(home: Path) -> HomeState:
    """What is known; nothing where there is no such file or it cannot be read."""
    kinds = {name: type(default) for name, default in asdict(HomeState()).items()}
    try:
        told = json.loads((home / FILE).read_bytes()).items()
    except (OSError, ValueError, AttributeError, RecursionError):
        return HomeState()
    return HomeState(**{name: value for name, value in told if type(value) is kinds.get(name)})


def note(folder: Path, /, **changed: Any) -> HomeState:
    """Change some of it; returns all of it."""
    state = replace(load(folder), **changed)
    write_atomically(private_folder(folder) / FILE, json.dumps(asdict(state), indent=1).encode())
    return state


def home_id(home: Path) -> str:
    """The id of this memory; a new one is made once."""
    return load(home).home or note(home, home=secrets.token_hex(8)).home


def copy_token(home: Path) -> str:
    """What a copy of this folder at another place does not have; a new one for a home that was moved."""
    where = f"{os.path.realpath(home)}:{home.stat().st_ino}"
    token = load(home).token
    return token if token.endswith(where) else note(home, token=f"{secrets.token_hex(8)}:{where}").token


@contextlib.contextmanager
def staged(home: Path, store: Store) -> Iterator[tuple[BackupManifest, Path]]:
    """Copies of everything that lasts in a folder of ours, and the manifest that names them."""
    # Always in the home, where the sweep finds it: a copy of everything must not stay if we are killed.
    with temporary_folder(private_folder(home / "cache"), ".backup.") as staging:
        # The database before the mirror: what is written meanwhile is in the mirror at least.
        schema = store.export(staging / DATABASE)
        with (staging / DATABASE).open("rb") as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
            files = {DATABASE: BackupEntry(DATABASE, source.tell(), digest, FILE_MODE)}
        skipped, waiting = [], Spool(home).depth()
        if count := waiting.count + waiting.newer:
            reason = f"{count} captured events wait to be stored, and are not redacted before that"
            skipped.append(Skipped("spool/new", reason))
        with mirror.locked(home):
            for name in lasting_names(home):
                if name == DATABASE or (is_program(name) and name.startswith(_INSTALLED)):
                    continue
                key = collision_key(name)
                twin = "another name is the same on some systems" if key in files else ""
                entry = twin or _copy(name, home, staging)
                if isinstance(entry, BackupEntry):
                    files[key] = entry
                elif entry:
                    shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
                    skipped.append(Skipped(shown, entry))
                if len(files) > MAX_FILES:
                    raise Conflict(f"the home holds more than {MAX_FILES} files; drain the spool first")
        created, entries = datetime.now(UTC).replace(microsecond=0), tuple(files.values())
        yield BackupManifest(created, __version__, schema, entries, tuple(skipped), home_id(home)), staging


def lasting_names(home: Path) -> Iterator[str]:
    """Every file that may be part of a backup, in order; links to folders too, so that they are told of."""
    for folder, folders, names in os.walk(home):
        inside = Path(folder).relative_to(home)
        folders[:] = sorted(name for name in folders if belongs((inside / name).as_posix()))
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in sorted([*names, *links]):
            path = (inside / name).as_posix()
            # What waits in the spool is not redacted; what was rejected is.
            if belongs(path) and (not path.startswith("spool/") or path.startswith("spool/rejected/")):
                yield path


def _copy(name: str, home: Path, staging: Path) -> BackupEntry | str:
    """The copy of a file, with the checksum of the very bytes copied; else why there is none."""
    if is_program(name):
        return "a program; what runs comes with the package"
    if reason := unfit(name):
        return reason
    try:
        reader = _open_regular(home / name)
    except FileNotFoundError:
        return ""  # drained, purged or rotated since the folder was read
    except OSError as fault:
        return str(fault.strerror or fault)
    copy = staging / name
    copy.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with reader, copy.open("wb") as writer:
        mode = stat.S_IMODE(os.fstat(reader.fileno()).st_mode)
        while piece := reader.read(CHUNK):
            if not size and piece.startswith(_SQLITE_MAGIC):
                return "another database; only the store is backed up"
            digest.update(piece)
            size += writer.write(piece)
    return BackupEntry(name, size, digest.hexdigest(), mode)


def _open_regular(path: Path) -> BinaryIO:
    """Open a regular file and nothing else: no link, no pipe that would wait for ever."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError("a link is not followed" if path.is_symlink() else "no regular file")
    return os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb")
