"""A home as backups see it: `backup.json`, which tells which memory it is, and still copies of what lasts.

The id travels in every manifest, so that a place can tell this memory, come back on another machine, from
somebody else's. The file itself stays here. Caches, logs, locks, programs and other backups are no part of a
copy; links are not followed. Captured events that still wait are not redacted yet, so they stay out as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from claude_memory import __version__
from claude_memory.backup import mirror
from claude_memory.backup.manifest import (
    DATABASE,
    MAX_FILES,
    BackupEntry,
    BackupManifest,
    Skipped,
    belongs,
    collision_key,
    is_program,
    unfit,
)
from claude_memory.capture.drain import Spool
from claude_memory.errors import Conflict
from claude_memory.platform.files import FILE_MODE, FOLDER_MODE, private_folder, write_atomically
from claude_memory.platform.leftovers import temporary_folder
from claude_memory.store.base import Store

FILE = "backup.json"
CHUNK = 1 << 20
_INSTALLED = ("hooks/", "plugin/")
_SQLITE_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True)
class HomeState:
    """`seen` sums up the files of the last push, `pushed_at` is its time, `fault` why the next one failed.

    `token` tells this very copy from all others; `paired` are the homes that the person said are theirs, with
    the name they were met by. Neither comes with a backup.
    """

    home: str = ""
    place: str = ""
    seen: str = ""
    pushed_at: float = 0.0
    fault: str = ""
    token: str = ""
    paired: dict[str, str] = field(default_factory=dict)


def load(home: Path) -> HomeState:
    """What is known; nothing where there is no such file or it cannot be read."""
    try:
        document = json.loads((home / FILE).read_bytes())
        usable = {
            name: document[name]
            for name, default in asdict(HomeState()).items()
            if type(document.get(name)) is type(default)
        }
    except (OSError, ValueError, AttributeError, RecursionError):
        return HomeState()
    return HomeState(**usable)


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
        with mirror.locked(home):
            files, skipped = _copied(home, staging)
        created = datetime.now(UTC).replace(microsecond=0)
        yield BackupManifest(created, __version__, schema, files, skipped, home_id(home)), staging


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


def _copied(home: Path, staging: Path) -> tuple[tuple[BackupEntry, ...], tuple[Skipped, ...]]:
    """Copies of a home's files beside the database's, and what was left out."""
    with (staging / DATABASE).open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        files = {DATABASE: BackupEntry(DATABASE, source.tell(), digest, FILE_MODE)}
    skipped = []
    waiting = Spool(home).depth()
    if count := waiting.count + waiting.newer:
        reason = f"{count} captured events wait to be stored, and are not redacted before that"
        skipped.append(Skipped("spool/new", reason))
    for name in lasting_names(home):
        if name == DATABASE or (is_program(name) and name.startswith(_INSTALLED)):
            continue
        key = collision_key(name)
        twin = "another name is the same on some systems" if key in files else ""
        entry = twin or _copy(name, home, staging)
        if isinstance(entry, BackupEntry):
            files[key] = entry
        elif entry:
            skipped.append(Skipped(name.encode("utf-8", "backslashreplace").decode("utf-8"), entry))
        if len(files) > MAX_FILES:
            raise Conflict(f"the home holds more than {MAX_FILES} files; drain the spool first")
    return tuple(files.values()), tuple(skipped)


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
