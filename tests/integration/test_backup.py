"""Backups: the whole home in one file and back, whatever is in the way."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from tests.backup_steps import create, restore, verify

from claude_memory.backup import archives, backups, home_state, mirror
from claude_memory.backup import home_state as manifests
from claude_memory.backup import restore as restoring
from claude_memory.backup.backups import Backups, list_backups
from claude_memory.errors import (
    Conflict,
    InvalidInput,
    MemoryFault,
    NotFound,
    SchemaTooNew,
    StoreCorrupt,
    StoreFault,
)
from claude_memory.model import Kind, MemoryFilter, MemoryId, ProjectIdentity, SearchScope, StoredMemory
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store

EVERYTHING = SearchScope(None)


def remember(store: Store, *bodies: str) -> None:
    project = store.project_for(ProjectIdentity(("path:/somewhere",), "somewhere", "/somewhere"))
    now = datetime.now(UTC)
    store.memories.add(
        [
            StoredMemory(
                MemoryId(f"m{hashlib.md5(body.encode()).hexdigest()[:12]}"),
                project.id,
                Kind.NOTE,
                body,
                body,
                now,
                now,
            )
            for body in bodies
        ]
    )


def bodies(home: Path) -> set[str]:
    store = open_store(home, Settings())
    try:
        return {memory.body for memory in store.memories.find(EVERYTHING, MemoryFilter())}
    finally:
        store.close()


def files_of(home: Path) -> dict[str, bytes]:
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("memory.db") and not path.name.endswith(".lock")
    }


LASTING = {
    "MEMORY.md": b"# Who I am\n",
    "config.toml": b"search_limit = 7\n",
    "reflections.jsonl": b'{"type":"idea","content":"x"}\n',
    "sessions/2026-11-15.jsonl": b"{}\n",
    "sessions/session_a b/summaries/compact_001.json": b"{}",
    "projects/p1/patterns.json": "naïve 数据".encode(),
    "spool/rejected/2.json": b"rejected",
}
PASSING = {
    "spool/new/1.json": b"raw event \xff\x00",
    "hooks/claude_memory_hook.py": b"print()",
    "plugin/claude-memory/hooks/hooks.json": b"{}",
    "projects/p1/build.sh": b"make",
    "spool/.lock.owner": b"{}",
    "cache/models/model.onnx": b"weights",
    "cache/vectors.bin": b"vectors",
    "logs/log.txt": b"log",
    "backups/older.zip": b"old",
    "spool/tmp/half": b"half",
    "locks/x": b"",
    "install.json": b"{}",
    "memory.db.damaged-20260101T000000Z": b"old",
    "install/original": b"{}",
    ".MEMORY.md.0123.tmp": b"half",
}


def fill(home: Path, content: dict[str, bytes]) -> None:
    for name, data in content.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one memory and something in every folder."""
    root = tmp_path / "home"
    root.mkdir(mode=0o700)
    fill(root, LASTING | PASSING)
    return root


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    opened = open_store(home, Settings())
    remember(opened, "we chose WAL")
    mirror.flush(home, opened)
    yield opened
    opened.close()


@pytest.fixture
def packed(home: Path, store: Store, tmp_path: Path) -> Path:
    return create(home, store, tmp_path / "packed.zip")


def test_a_home_goes_into_one_file_and_comes_back(packed: Path, home: Path, tmp_path: Path) -> None:
    report = restore(packed, tmp_path / "other" / "home", replace=False)
    restored = tmp_path / "other" / "home"
    assert report.ok
    assert (report.home, report.previous) == (restored, None)
    assert bodies(restored) == {"we chose WAL"}
    expected = LASTING | {mirror.CURRENT: (home / mirror.CURRENT).read_bytes()}
    assert {name: data for name, data in files_of(restored).items() if name in expected} == expected
    assert not any(name in PASSING for name in files_of(restored))


def test_the_manifest_comes_first_and_says_what_is_inside(packed: Path) -> None:
    with zipfile.ZipFile(packed) as opened:
        assert opened.namelist()[0] == "manifest.json"
        said = json.loads(opened.read("manifest.json"))
        assert {entry["path"] for entry in said["files"]} == set(opened.namelist()[1:])
        for entry in said["files"]:
            content = opened.read(entry["path"])
            assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["size"], entry["sha256"])
    assert said["schema"] >= 1
    assert not verify(packed).problems


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_only_the_owner_can_read_backup_and_restored_home(packed: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(packed.stat().st_mode) == 0o600
    restored = tmp_path / "again"
    restore(packed, restored, replace=False)
    for path in [restored, *restored.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_no_path_of_the_machine_is_inside(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as opened:
        for name in opened.namelist():
            assert str(tmp_path).encode() not in opened.read(name), name


def test_the_default_place_is_the_homes_own_folder_newest_first(home: Path, store: Store) -> None:
    made = [create(home, store, None) for _ in range(3)]
    assert len(set(made)) == 3
    assert all(path.parent == home / "backups" and path.name.startswith("claude-memory-") for path in made)
    listed = list_backups(home / "backups")
    assert {item.path for item in listed} == set(made)
    assert [item.created for item in listed] == sorted((item.created for item in listed), reverse=True)
    assert all(item.size_bytes == item.path.stat().st_size for item in listed)
    assert list_backups(home / "nowhere") == []


def test_folders_are_made_and_a_file_is_replaced_only_by_force(
    home: Path, store: Store, tmp_path: Path
) -> None:
    assert create(home, store, tmp_path / "a" / "b" / "c.zip").is_file()
    assert create(home, store, tmp_path / "volume" / "backups").parent == tmp_path / "volume" / "backups"
    taken = tmp_path / "taken.zip"
    taken.write_bytes(b"mine")
    with pytest.raises(Conflict, match="exists already"):
        create(home, store, taken)
    assert taken.read_bytes() == b"mine"
    assert create(home, store, taken, force=True) == taken
    assert verify(taken).ok
    for wrong in (home / "sessions" / "b.zip", tmp_path / "b.rar"):
        with pytest.raises(InvalidInput):
            create(home, store, wrong)
    assert not [path.name for path in tmp_path.rglob(".*") if path.is_file() and "home" not in path.parts]


def test_a_folder_keeps_the_newest_and_nothing_else_is_taken_away(
    home: Path, store: Store, tmp_path: Path
) -> None:
    usb = tmp_path / "usb"
    usb.mkdir()
    (usb / "claude-memory-notes.zip").write_bytes(b"mine")
    made = [create(home, store, usb, keep=2) for _ in range(5)]
    assert {item.path for item in list_backups(usb)} == set(made[-2:])
    assert (usb / "claude-memory-notes.zip").read_bytes() == b"mine"
    with pytest.raises(InvalidInput, match="--keep"):
        create(home, store, usb / "named.zip", keep=2)


@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".tar.zst"])
def test_the_name_says_how_it_is_packed_and_the_content_how_it_is_read(
    home: Path, store: Store, tmp_path: Path, ending: str
) -> None:
    long_name = "projects/p1/" + "/".join(["a long name of a folder with ä"] * 6) + "/notes.md"
    fill(home, {long_name: b"deep"})
    made = create(home, store, tmp_path / f"made{ending}")
    magic = {".zip": b"PK", ".tar.gz": b"\x1f\x8b", ".tar.zst": b"\x28\xb5\x2f\xfd"}[ending]
    assert made.read_bytes().startswith(magic)
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    renamed = made.rename(tmp_path / "renamed")
    assert verify(renamed).ok
    restore(renamed, tmp_path / "restored")
    assert bodies(tmp_path / "restored") == {"we chose WAL"}
    assert (tmp_path / "restored" / long_name).read_bytes() == b"deep"
    assert {
        name: data for name, data in files_of(tmp_path / "restored").items() if name in LASTING
    } == LASTING


def test_other_programs_can_read_the_tar(home: Path, store: Store, tmp_path: Path) -> None:
    made = create(home, store, tmp_path / "made.tar.gz")
    with tarfile.open(made) as opened:
        assert opened.getnames()[0] == "manifest.json"
        assert {member.type for member in opened.getmembers()} == {tarfile.REGTYPE}


def test_a_backup_goes_through_a_pipe(home: Path, store: Store, tmp_path: Path) -> None:
    ends = os.pipe()
    with os.fdopen(ends[0], "rb") as reader, ThreadPoolExecutor(1) as pool:
        done = pool.submit(Backups(tmp_path / "restored", Settings()).restore, "-", reader)
        with os.fdopen(ends[1], "wb") as writer:
            Backups(home, Settings()).stream(store, writer)
        assert done.result().ok
    assert bodies(tmp_path / "restored") == {"we chose WAL"}


def test_what_is_written_during_a_backup_is_in_it_or_whole_outside(
    home: Path, store: Store, tmp_path: Path
) -> None:
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_backup import *
home = Path(sys.argv[1])
store = open_store(home, Settings())
print("ready", flush=True)
number = 0
while not (home / "cache" / "stop").exists():
    remember(store, f"live {number}")
    mirror.flush(home, store)
    number += 1
"""
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(home), str(Path(__file__).parent)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout
        writer.stdout.readline()
        for number in range(3):
            made = create(home, store, tmp_path / f"live{number}.zip")
            assert verify(made).ok
            restored = tmp_path / f"restored{number}"
            restore(made, restored, replace=False)
            rebuilt = {record["memory"]["body"] for record in mirror.read(restored) if "memory" in record}
            opened = open_store(restored, Settings())
            waiting = {
                change.record["memory"]["body"]
                for change in opened.changes_since("memories.jsonl", 10_000)
                if "memory" in change.record
            }
            opened.close()
            # The mirror, with what still waits in the database, is never behind the database.
            assert bodies(restored) <= rebuilt | waiting
    finally:
        (home / "cache" / "stop").touch()
        assert writer.wait(30) == 0
        if writer.stdout:
            writer.stdout.close()


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs links and odd names")
def test_links_pipes_and_hostile_names_are_left_out_and_reported(
    home: Path, store: Store, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("PRIVATE")
    (home / "MEMORY.md").unlink()
    (home / "MEMORY.md").symlink_to(outside / "key")
    (home / "sessions" / "elsewhere").symlink_to(outside)
    (home / "linked").symlink_to(outside)
    os.mkfifo(home / "projects" / "pipe")
    (home / "projects" / "a:b").write_text("colon")
    (home / "projects" / "CON.txt").write_text("device")
    (home / "projects" / os.fsdecode(b"bad\xff")).write_text("bytes")
    (home / "projects" / "Case").write_text("1")
    (home / "projects" / "case").write_text("2")
    apsw.Connection(str(home / "other.db")).execute("CREATE TABLE x(y)")
    (home / "projects" / "unreadable").write_text("x")
    made = create(home, store, tmp_path / "made.zip")
    report = verify(made)
    assert report.ok
    skipped = {item.path: item.reason for item in report.skipped}
    assert skipped.keys() >= {
        "MEMORY.md", "sessions/elsewhere", "linked", "projects/pipe", "projects/a:b", "projects/CON.txt",
        "projects/bad\\udcff", "projects/case", "other.db",
    }  # fmt: skip
    assert "link" in skipped["MEMORY.md"]
    assert b"PRIVATE" not in b"".join(zipfile.ZipFile(made).read(n) for n in zipfile.ZipFile(made).namelist())
    restore(made, tmp_path / "restored", replace=False)


def test_restoring_needs_leave_to_replace_and_keeps_the_old_home(
    packed: Path, home: Path, store: Store
) -> None:
    store.close()
    changed = open_store(home, Settings())
    remember(changed, "after the backup")
    changed.close()
    (home / "spool/new/9.json").write_bytes(b"later event")
    before = files_of(home)
    with pytest.raises(Conflict, match="not empty"):
        restore(packed, home, replace=False)
    assert files_of(home) == before

    report = restore(packed, home, replace=True)

    assert bodies(home) == {"we chose WAL"}
    assert report.previous is not None
    assert report.previous.name.startswith("home.before-restore-")
    assert bodies(report.previous) == {"we chose WAL", "after the backup"}
    assert (report.previous / "spool/new/9.json").read_bytes() == b"later event"
    assert (home / "backups/older.zip").exists()
    assert (home / "cache/models/model.onnx").exists()
    assert (home / "install.json").exists()  # true of this machine, before and after
    assert not (home / "cache/vectors.bin").exists()  # belongs to the old database
    assert sorted(path.name for path in home.parent.iterdir()) == sorted(
        ["home", packed.name, report.previous.name]
    )


def test_a_backup_in_the_home_itself_can_be_restored_over_it(home: Path, store: Store) -> None:
    made = create(home, store, None)
    store.close()
    restore(made, home, replace=True)
    assert made.exists()
    assert bodies(home) == {"we chose WAL"}


def test_what_was_erased_since_the_backup_stays_erased(home: Path, store: Store, tmp_path: Path) -> None:
    remember(store, "the launch code is zebra", *(f"note {number}" for number in range(700)))
    mirror.flush(home, store)
    made = create(home, store, tmp_path / "made.zip")
    [secret] = [m for m in store.memories.find(EVERYTHING, MemoryFilter()) if "zebra" in m.body]
    store.memories.erase([secret.id])
    mirror.purge(home, [secret.id])
    mirror.flush(home, store)
    store.close()

    report = restore(made, home, replace=True)

    assert any(note.startswith("1 memories") for note in report.notes)
    assert len(bodies(home)) == 701
    assert not any(b"zebra" in path.read_bytes() for path in home.rglob("*") if path.is_file())
    again = restore(made, home, replace=True)  # the tombstone came along
    assert any(note.startswith("1 memories") for note in again.notes)
    assert restore(made, tmp_path / "elsewhere", replace=False).notes == ()


def test_a_home_too_broken_to_read_can_still_be_replaced(packed: Path, home: Path, store: Store) -> None:
    store.close()
    (home / mirror.CURRENT).unlink()
    (home / mirror.CURRENT).mkdir()
    (home / "memory.db").write_bytes(b"rubbish")
    (home / "config.toml").write_bytes(b"= = =")
    assert restore(packed, home, replace=True).ok
    assert bodies(home) == {"we chose WAL"}


@pytest.mark.parametrize("present", [[], ["spool/new/"], ["logs/log.txt", "cache/models/m.onnx"], ["x.lock"]])
def test_an_empty_home_is_filled_without_asking(packed: Path, tmp_path: Path, present: list[str]) -> None:
    target = tmp_path / "fresh"
    target.mkdir()
    for name in present:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            (target / name).write_bytes(b"x")
    report = restore(packed, target, replace=False)
    assert report.previous is None
    assert bodies(target) == {"we chose WAL"}
    assert [path.name for path in tmp_path.iterdir() if "before-restore" in path.name] == []


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_linked_home_stays_a_link(packed: Path, tmp_path: Path) -> None:
    real = tmp_path / "disk" / "real"
    real.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)
    restore(packed, link, replace=False)
    assert link.is_symlink()
    assert bodies(real) == {"we chose WAL"}


# --- damage


def test_a_backup_that_is_not_there_or_no_backup_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        verify(tmp_path / "nothing.zip")
    with pytest.raises(NotFound):
        restore(tmp_path / "nothing.zip", tmp_path / "home", replace=False)
    for content in (b"", b"hello", b"PK\x05\x06" + bytes(18)):
        fake = tmp_path / "fake.zip"
        fake.write_bytes(content)
        assert not verify(fake).ok
        with pytest.raises(StoreCorrupt):
            restore(fake, tmp_path / "home", replace=False)
    assert not (tmp_path / "home").exists()


def test_no_flipped_or_missing_byte_goes_unnoticed_or_crashes(packed: Path, tmp_path: Path) -> None:
    whole = packed.read_bytes()
    random_ = random.Random(7)
    with zipfile.ZipFile(packed) as opened:
        expected = {name: opened.read(name) for name in opened.namelist()}
    for number in range(150):
        damaged = bytearray(whole)
        if number % 5 == 0:
            del damaged[random_.randrange(len(damaged)) :]
        else:
            for _ in range(random_.choice([1, 1, 4])):
                damaged[random_.randrange(len(damaged))] ^= 1 << random_.randrange(8)
        path = tmp_path / "damaged.zip"
        path.write_bytes(damaged)
        report = verify(path)  # never raises
        if report.ok:  # a byte that no content depends on, such as a time in the directory
            again = tmp_path / "again"
            again.mkdir()
            archives.backup_file(path).unpack(again)
            unpacked = {name: data for name, data in expected.items() if name != "manifest.json"}
            assert {name: (again / name).read_bytes() for name in unpacked} == unpacked
            shutil.rmtree(again)
        else:
            assert "\n" not in "".join(report.problems)
            with pytest.raises(MemoryFault):
                restore(path, tmp_path / "target", replace=False)
            assert not (tmp_path / "target").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["damaged.zip", "home", "packed.zip"]


def rewritten(
    packed: Path, target: Path, change: Callable[[dict[str, bytes]], None], fix: bool = True
) -> Path:
    """A backup of a stranger: the content changed, the manifest made to agree with it."""
    with zipfile.ZipFile(packed) as opened:
        content = {name: opened.read(name) for name in opened.namelist()}
    change(content)
    said = json.loads(content.pop("manifest.json"))
    if fix:
        said["files"] = [
            {"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "mode": 0o600}
            for name, data in content.items()
        ]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("manifest.json", json.dumps(said))
        for name, data in content.items():
            info = zipfile.ZipInfo("placeholder")
            info.filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            written.writestr(info, data)
    return target


HOSTILE_NAMES = [
    "../evil", "sessions/../../evil", "/etc/evil", "C:/evil", "C:evil", "\\\\server\\evil", "..\\evil",
    "sessions//evil", "./evil", "evil/.", "evil/", "nul", "Con.txt", "lpt1", "aux .md", "com¹.txt", "evil.", "evil ",
    "a\nb", "a\x7fb", "x" * 300, "/".join("d" * 40), "cache/models/model.onnx", "Cache/x", "backups/x.zip",
    "logs/x", "memory.db-wal", "MEMORY.DB-wal", "memory.db-shm", "spool/tmp/x", ".mirror.lock", "memory.db/evil",
    "MEMORY.DB",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_escapes_the_home_or_plants_what_no_backup_holds(
    packed: Path, tmp_path: Path, name: str
) -> None:
    hostile = rewritten(packed, tmp_path / "hostile.zip", lambda content: content.update({name: b"evil"}))
    before = sorted(path for path in tmp_path.rglob("*"))
    assert not verify(hostile).ok
    with pytest.raises(StoreCorrupt):
        restore(hostile, tmp_path / "target", replace=False)
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_names_that_collide_on_some_systems_are_refused(packed: Path, tmp_path: Path) -> None:
    for one, other in [
        ("a.md", "A.md"),
        ("\u00e9", "e\u0301"),
        ("x", "x/y"),
        ("X/y", "x"),
        ("stra\u00dfe", "strasse"),
    ]:
        hostile = rewritten(
            packed, tmp_path / "h.zip", lambda content, o=one, p=other: content.update({o: b"1", p: b"2"})
        )
        assert not verify(hostile).ok, (one, other)


def test_entries_beyond_the_manifest_or_missing_or_double_are_refused(packed: Path, tmp_path: Path) -> None:
    def check(hostile: Path, reason: str) -> None:
        assert reason in verify(hostile).problems[0]
        with pytest.raises(StoreCorrupt, match=reason):
            restore(hostile, tmp_path / "target", replace=False)

    check(rewritten(packed, tmp_path / "1.zip", lambda c: c.update(extra=b"x"), fix=False), "does not know")
    check(rewritten(packed, tmp_path / "2.zip", lambda c: [c.pop("MEMORY.md")], fix=False), "missing")
    check(
        rewritten(packed, tmp_path / "3.zip", lambda c: c.update({"MEMORY.md": b"# Who I Am\n"}), fix=False),
        "not what",
    )
    check(
        rewritten(packed, tmp_path / "4.zip", lambda c: c.update({"MEMORY.md": b""}), fix=False),
        "not as long",
    )
    check(rewritten(packed, tmp_path / "5.zip", lambda c: [c.pop("memory.db")]), "no database")
    check(
        rewritten(packed, tmp_path / "6.zip", lambda c: c.update({"memory.db": b"not sqlite" * 100})),
        "database",
    )
    double = tmp_path / "7.zip"
    shutil.copy(packed, double)
    with zipfile.ZipFile(double, "a") as opened, pytest.warns(UserWarning, match="Duplicate"):
        opened.writestr("MEMORY.md", LASTING["MEMORY.md"])
    check(double, "twice")


def test_links_folders_and_strange_packing_are_refused(packed: Path, tmp_path: Path) -> None:
    for attributes, name in [
        (stat.S_IFLNK | 0o777, "link"),
        (stat.S_IFDIR | 0o755, "dir"),
        (stat.S_IFIFO, "pipe"),
    ]:
        hostile = tmp_path / "h.zip"
        shutil.copy(packed, hostile)
        with zipfile.ZipFile(hostile, "a") as opened:
            info = zipfile.ZipInfo(name)
            info.external_attr = attributes << 16
            opened.writestr(info, "/etc/passwd")
        assert "does not know" in verify(hostile).problems[0]
    with zipfile.ZipFile(hostile, "w", zipfile.ZIP_LZMA) as opened:
        opened.writestr("manifest.json", "{}")
    assert not verify(hostile).ok


@pytest.mark.parametrize(
    ("kind", "size", "reason"),
    [
        (tarfile.SYMTYPE, 0, "no regular file"),
        (tarfile.LNKTYPE, 0, "no regular file"),
        (tarfile.DIRTYPE, 0, "no regular file"),
        (tarfile.FIFOTYPE, 0, "no regular file"),
        (tarfile.XHDTYPE, 1 << 20, "no regular file"),
        (tarfile.GNUTYPE_SPARSE, 512, "no regular file"),
        (tarfile.GNUTYPE_LONGLINK, 512, "no regular file"),
        (tarfile.GNUTYPE_LONGNAME, 64 << 20, "too long"),
        (tarfile.REGTYPE, 5, "does not know"),
    ],
)
def test_a_tar_brings_regular_files_that_its_manifest_knows_and_nothing_else(
    packed: Path, tmp_path: Path, kind: bytes, size: int, reason: str
) -> None:
    hostile = tmp_path / "hostile.tar.gz"
    with (
        zipfile.ZipFile(packed) as opened,
        tarfile.open(hostile, "w:gz", format=tarfile.GNU_FORMAT) as written,
    ):
        extra = tarfile.TarInfo("evil")
        extra.type, extra.linkname, extra.size = kind, "/etc/passwd", size
        for name in opened.namelist():
            info = tarfile.TarInfo(name)
            info.size = len(opened.read(name))
            written.addfile(info, io.BytesIO(opened.read(name)))
        written.addfile(extra, io.BytesIO(bytes(size)))
    assert reason in verify(hostile).problems[0]
    with pytest.raises(StoreCorrupt):
        restore(hostile, tmp_path / "target", replace=False)
    assert not (tmp_path / "target").exists()


def test_no_flipped_or_missing_byte_of_a_tar_goes_unnoticed(home: Path, store: Store, tmp_path: Path) -> None:
    random_ = random.Random(11)
    for ending in (".tar.gz", ".tar.zst"):
        whole = create(home, store, tmp_path / f"whole{ending}").read_bytes()
        for number in range(20):
            damaged = bytearray(whole)
            if number % 2:
                del damaged[random_.randrange(len(damaged) * 9 // 10) :]
            else:
                damaged[random_.randrange(len(damaged))] ^= 1 << random_.randrange(8)
            (tmp_path / "damaged").write_bytes(damaged)
            report = verify(tmp_path / "damaged")  # never raises
            assert "\n" not in "".join(report.problems)
            assert not (number % 2 and report.ok)


def test_what_claims_more_than_there_is_room_for_is_refused_before_it_unpacks(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = rewritten(
        packed, tmp_path / "bomb.zip", lambda c: c.update({"sessions/zeros": bytes(200 * 2**20)})
    )
    assert bomb.stat().st_size < 2**20
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100 * 2**20))
    assert "no room" in verify(bomb).problems[0]
    with pytest.raises(StoreFault, match="no room"):
        restore(bomb, tmp_path / "target", replace=False)

    def lie(content: dict[str, bytes]) -> None:
        said = json.loads(content["manifest.json"])
        said["files"][0]["size"] = 2**62
        content["manifest.json"] = json.dumps(said).encode()

    assert not verify(rewritten(packed, tmp_path / "lie.zip", lie, fix=False)).ok


def test_a_home_of_zeros_can_still_be_backed_up_and_restored(
    home: Path, store: Store, tmp_path: Path
) -> None:
    (home / "sessions" / "zeros").write_bytes(bytes(80 * 2**20))
    made = create(home, store, tmp_path / "zeros.zip")
    assert restore(made, tmp_path / "restored", replace=False).ok


def test_a_newer_format_or_schema_is_named_as_such(packed: Path, tmp_path: Path) -> None:
    def newer_format(content: dict[str, bytes]) -> None:
        said = json.loads(content["manifest.json"])
        content["manifest.json"] = json.dumps({**said, "format": manifests.FORMAT + 1}).encode()

    def newer_schema(content: dict[str, bytes]) -> None:
        path = tmp_path / "newer.db"
        path.write_bytes(content["memory.db"])
        apsw.Connection(str(path)).pragma("user_version", 999)
        content["memory.db"] = path.read_bytes()

    for number, change in enumerate((newer_format, newer_schema)):
        newer = rewritten(packed, tmp_path / f"{number}.zip", change, fix=change is newer_schema)
        with pytest.raises(SchemaTooNew, match=r"upgrade"):
            restore(newer, tmp_path / "target", replace=False)
        assert "upgrade" in verify(newer).problems[0]
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"format": 1}', b'{"format": true}', b'{"format": "1"}', b'{"format": 1, "files": 3}',
     b'{"format":1,"created":"x","package_version":"1","schema":1,"files":[]}', b"[" * 100_000, b"\xff", b"9" * 10_000,
     b'{"format":1,"created":"2026-01-01T00:00:00Z","package_version":"1","schema":-1,"files":[]}'],
)  # fmt: skip
def test_a_manifest_can_be_anything(content: bytes, packed: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt):
        manifests.decode(content)


# --- failures on the way


def kill_points(home: Path, packed: Path, replace: bool) -> Iterator[tuple[int, int]]:
    """Run a restore that dies at its n-th step that touches a file, for every n."""
    script = """
import os, sys
from pathlib import Path
from claude_memory.backup import restore as restoring
from claude_memory.backup.archives import backup_file
if sys.argv[5] == "two":
    restoring.exchange = lambda one, other: False
left = int(sys.argv[1])
def watch(event, arguments):
    global left
    if event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree") or (
        event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
    ):
        left -= 1
        if left < 0:
            os._exit(9)
import claude_memory.store.sqlite
sys.addaudithook(watch)
restoring.restore(backup_file(Path(sys.argv[2])), Path(sys.argv[3]), replace=sys.argv[4] == "True")
"""
    mode = "two" if os.environ.get("TWO_RENAMES") else "one"
    for step in range(200):
        done = subprocess.run(
            [sys.executable, "-c", script, str(step), packed, home, str(replace), mode], check=False
        )
        yield step, done.returncode
        if done.returncode == 0:
            return
    pytest.fail("the restore never ended")


@pytest.mark.parametrize("way", ["one", "two"])
def test_killed_at_any_step_the_home_is_the_old_or_the_new(
    way: str, packed: Path, home: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "two":
        monkeypatch.setenv("TWO_RENAMES", "1")
    store.close()
    small = rewritten(
        packed, tmp_path / "small.zip", lambda c: [c.pop(n) for n in LASTING if n != "MEMORY.md"]
    )
    shutil.rmtree(home / "sessions")
    old = open_store(home, Settings())
    remember(old, "after the backup")
    old.close()
    (home / "MEMORY.md").write_bytes(b"new identity")
    seen = set()
    for step, code in kill_points(home, small, replace=True):
        assert code in (0, 9)
        restoring.recover(home)
        is_old = (home / "MEMORY.md").read_bytes() == b"new identity"
        assert bodies(home) == ({"we chose WAL", "after the backup"} if is_old else {"we chose WAL"}), step
        assert (home / "memories.jsonl").exists()
        if not is_old:
            [kept] = [
                path for path in tmp_path.glob("home.before-restore-*") if (path / "memory.db").exists()
            ]
            assert bodies(kept) == {"we chose WAL", "after the backup"}
            seen.add("new")
            break
        seen.add("old")
        for leftover in tmp_path.glob("*restor*"):
            # Nothing that lies beside an old home may be the only copy of it.
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    assert seen == {"old", "new"}


def test_a_failing_step_leaves_the_home_and_nothing_beside_it(
    packed: Path, home: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    bodies(home)
    before = files_of(home)
    beside = sorted(path.name for path in tmp_path.iterdir())

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for place, name in [
        (archives.BackupSource, "unpack"),
        (archives, "sync_file"),
        (archives, "check_file"),
        (restoring, "exchange"),
        (restoring, "_aside"),
        (restoring, "sync_folder"),
    ]:
        with monkeypatch.context() as patched:
            patched.setattr(place, name, fail)
            with pytest.raises((StoreFault, OSError)):
                restore(packed, home, replace=True)
        assert files_of(home) == before, name
        assert sorted(path.name for path in tmp_path.iterdir()) == beside, name
    assert bodies(home) == {"we chose WAL"}


def test_when_the_second_rename_fails_the_first_is_undone(
    packed: Path, home: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if target == home and ".restore-" in self.name:
            raise OSError(13, "Permission denied")
        return real(self, target)

    monkeypatch.setattr(restoring, "exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(StoreFault, match="Permission denied"):
        restore(packed, home, replace=True)
    assert bodies(home) == {"we chose WAL"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "packed.zip"]


def test_what_a_killed_restore_left_goes_with_the_next(packed: Path, tmp_path: Path) -> None:
    for name, age in (("old", 7200), ("running", 0)):
        left = tmp_path / f".target.restore-{name}.tmp"
        left.mkdir()
        os.utime(left, (time.time() - age,) * 2)
    restore(packed, tmp_path / "target", replace=False)
    assert [path.name for path in tmp_path.glob(".target*")] == [".target.restore-running.tmp"]


def test_no_room_is_said_before_anything_is_written(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(StoreFault, match="no room"):
        restore(packed, tmp_path / "target", replace=False)
    assert not (tmp_path / "target").exists()


def test_a_backup_that_fails_leaves_nothing_behind(
    home: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for place, name in ((backups, "sync_file"), (home_state, "_open_regular"), (backups, "put_in_place")):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, fail)
            if name == "_open_regular":  # one unreadable file is reported, not fatal
                assert verify(create(home, store, tmp_path / "partial.zip")).skipped
                (tmp_path / "partial.zip").unlink()
                continue
            with pytest.raises(StoreFault, match="No space left"):
                create(home, store, tmp_path / "made.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


@pytest.mark.parametrize("hidden", ["O_NOFOLLOW", "O_DIRECTORY", "fdatasync", "link", "O_CLOEXEC"])
def test_it_works_without_what_only_posix_has(
    home: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:

    monkeypatch.delattr(os, hidden, raising=False)
    monkeypatch.setattr(restoring, "exchange", lambda one, other: False)
    made = create(home, store, tmp_path / "made.zip")
    store.close()
    assert verify(made).ok
    assert restore(made, home, replace=True).previous is not None
    assert bodies(home) == {"we chose WAL"}


def test_settings_that_name_another_store_are_pointed_out(home: Path, store: Store, tmp_path: Path) -> None:
    (home / "config.toml").write_text('store = "sqlite:///elsewhere/secret.db"\n')
    made = create(home, store, tmp_path / "made.zip")
    report = restore(made, tmp_path / "restored", replace=False, with_settings=True)
    assert any("another store" in note for note in report.notes)


def test_the_backup_reads_back_through_a_pipe_of_bytes(packed: Path) -> None:
    assert zipfile.ZipFile(io.BytesIO(packed.read_bytes())).testzip() is None
