"""No archive does harm: mutated backups are refused or restored whole, and nothing is written elsewhere.

ARCHIVE_FUZZ sets how many a soak tries.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import stat
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backup_steps import create, restore

from claude_memory import Memory, NewMemory
from claude_memory.errors import MemoryFault
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.sql import rows

zstd = rows.zstd()
MANY = int(os.environ.get("ARCHIVE_FUZZ", "20000"))
HOSTILE = (
    "../evil", "/etc/evil", "a/../../evil", "C:\\evil", "con", "x" * 300, "a\0b", "\u202egpj.exe", "a//b", ".", "",
    "memory.db", "MEMORY.DB", "hooks/claude_memory_hook.py", "config.toml", "spool/new/x.json", "cache/x", "a\nb",
)  # fmt: skip
VALUES: tuple[Any, ...] = (None, True, -1, 0, 2**70, 1.5, "", "x", [], {}, "\ud800", [[[]]], *HOSTILE)


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[Path, bytes]]:
    """A folder in memory where there is one, and a sound backup."""
    memory_disk = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory_disk if os.access(memory_disk, os.W_OK) else None))
    home = folder / "source"
    with Memory.open(home, folder, flags={"embedder": "none"}) as memory:
        memory.remember_many([NewMemory(f"note {number} about the harbour") for number in range(5)])
        (home / "MEMORY.md").write_text("# Me\n")
        path = create(home, memory.store, folder / "sound.zip")
    content = path.read_bytes()
    for left in folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    yield folder, content
    shutil.rmtree(folder)


Change = Callable[[bytes, random.Random], bytes]
KINDS = (
    tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE,
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.CONTTYPE,
)  # fmt: skip


def changed(value: Any, chance: random.Random, depth: int = 0) -> Any:
    if chance.random() < 0.1 or depth > 5:
        return chance.choice(VALUES)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if chance.random() < 0.2:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: changed(value[key], chance, depth + 1)}
    if isinstance(value, list) and value:
        place = chance.randrange(len(value))
        return [*value[:place], changed(value[place], chance, depth + 1), *value[place:]]
    return chance.choice(VALUES)


def rebuilt(content: bytes, chance: random.Random) -> bytes:
    """The same archive with another manifest, other names, links, members twice, or none of some."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for info in old.infolist():
            body, name = old.read(info), info.filename
            if name == "manifest.json" and chance.random() < 0.7:
                manifest = json.loads(body)
                for _ in range(chance.randrange(1, 4)):
                    manifest = changed(manifest, chance)
                body = json.dumps(manifest).encode()
            fate = chance.random()
            if fate < 0.05:
                continue
            if fate < 0.15:
                name = chance.choice(HOSTILE) or "x"
            if fate > 0.9:
                body = mutated(body, chance)
            entry = zipfile.ZipInfo(name.replace("\0", "_"))
            if chance.random() < 0.1:
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            for _ in range(1 + (chance.random() < 0.05)):
                new.writestr(entry, body)
    return target.getvalue()


def forged(content: bytes, chance: random.Random) -> bytes:
    """Other content, other names and more members, with a manifest that vouches for all of it."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        manifest = json.loads(old.read("manifest.json"))
        members = {name: old.read(name) for name in old.namelist() if name != "manifest.json"}
    for name in list(members):
        fate = chance.random()
        if fate < 0.3:
            members[name] = mutated(members[name], chance)
        elif fate < 0.4:
            members[chance.choice(HOSTILE).replace("\0", "_") or "x"] = members.pop(name)
    for _ in range(chance.randrange(3)):
        members[chance.choice(HOSTILE).replace("\0", "_") or "x"] = b"import os\n" * chance.randrange(5)
    manifest["files"] = [
        {"path": name, "size": len(body), "sha256": hashlib.sha256(body).hexdigest(), "mode": 0o777}
        for name, body in members.items()
    ]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("manifest.json", json.dumps(manifest))
        for name, body in members.items():
            new.writestr(zipfile.ZipInfo(name), body)
    return target.getvalue()


def as_tar(content: bytes, chance: random.Random) -> bytes:
    """What a zip holds, with its hostile names and kinds, as a tar of one of the two packings."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = [(info, old.read(info)) for info in old.infolist()]
    plain = io.BytesIO()
    format_ = chance.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT))
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as new:
        for info, body in members:
            member = tarfile.TarInfo(info.filename)
            member.size = len(body)
            if stat.S_ISLNK(info.external_attr >> 16) or chance.random() < 0.02:
                member.type = chance.choice(KINDS)
                member.linkname = chance.choice(("../../evil", "/etc/passwd", "memory.db"))
                member.size = 0 if chance.random() < 0.5 else len(body)
            new.format = format_ if len(info.filename) < 90 else tarfile.GNU_FORMAT
            with contextlib.suppress(ValueError):
                new.addfile(member, io.BytesIO(body))
    raw = mutated(plain.getvalue(), chance) if chance.random() < 0.3 else plain.getvalue()
    packed = gzip.compress(raw, 1) if chance.random() < 0.5 else zstd.compress(raw, 1)
    return mutated(packed, chance) if chance.random() < 0.3 else packed


def tar_of(change: Change, content: bytes, chance: random.Random) -> bytes:
    """A changed zip as a tar; where the zip itself is beyond reading, a sound one."""
    changed_zip = change(content, chance)
    try:
        return as_tar(changed_zip, chance)
    except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, EOFError, OSError, RuntimeError):
        return as_tar(content, chance)


def mutated(content: bytes, chance: random.Random) -> bytes:
    raw = bytearray(content)
    for _ in range(chance.randrange(1, 12)):
        if raw:
            raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw[: chance.randrange(len(raw) + 1)] if chance.random() < 0.2 else raw)


def fuzz(folder: Path, content: bytes, count: int, seed: int) -> tuple[int, int]:
    chance = random.Random(seed)
    restored = refused = 0
    place, path = folder / "place", folder / "mutated.zip"
    for _ in range(count):
        with warnings.catch_warnings(action="ignore"):  # members that stand twice
            change: Change = chance.choice((rebuilt, forged, mutated))
            is_tar = chance.random() < 0.5
            path.write_bytes(tar_of(change, content, chance) if is_tar else change(content, chance))
        place.mkdir()
        home = place / "home"
        try:
            restore(path, home)
        except MemoryFault as fault:
            told = str(fault)
            refused += 1
            assert list(place.iterdir()) == [], "a refused archive left something"
            assert "\n" not in told
        else:
            restored += 1
            check_restored(home)
            assert [one.name for one in place.iterdir()] == ["home"]
        assert sorted(one.name for one in folder.iterdir()) == ["mutated.zip", "place"]
        shutil.rmtree(place)
    path.unlink()
    return restored, refused


def check_restored(home: Path) -> None:
    for one in home.rglob("*"):
        assert not one.is_symlink()
        assert not one.lstat().st_mode & 0o077, f"others may use {one}"
    store = open_store(home, Settings())
    store.close()


def test_hundreds_of_mutated_archives_do_no_harm(made: tuple[Path, bytes]) -> None:
    restored, refused = fuzz(*made, 200, seed=3)
    assert restored
    assert refused > 100


@pytest.mark.soak
def test_twenty_thousand_mutated_archives_do_no_harm(made: tuple[Path, bytes]) -> None:
    restored, refused = fuzz(*made, MANY, seed=4)
    print(f"restored {restored}, refused {refused}")
    assert restored + refused == MANY
