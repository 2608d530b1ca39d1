"""Capture goes on while the store is locked, the disk is full, or the home may only be read."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory.capture.drain import Drained, Spool, drain
from claude_memory.errors import MemoryFault
from claude_memory.hook import claude_memory_hook as hook
from claude_memory.model import SearchScope
from claude_memory.settings import Settings
from claude_memory.store import open_store
from claude_memory.store.base import Store
from claude_memory.store.model import EventFilter

HOLD = """
import apsw, sys
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def capture(home: Path, number: int, padding: int = 0) -> None:
    """One prompt through the real hook program, which must be silent whatever the state of the home."""
    payload = {
        "session_id": "s1",
        "cwd": "/shop",
        "prompt_id": f"p{number}",
        "prompt": f"a question of some words, number {number}",
        "padding": "x " * padding,
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", hook.__file__, "UserPromptSubmit"],
        input=json.dumps(payload).encode(),
        env={"CLAUDE_MEMORY_HOME": str(home)},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def run(home: Path, store: Store) -> Drained:
    return drain(home, store, Settings(), now=datetime.now(UTC))


def prompts(store: Store) -> list[str]:
    events = store.archive.events(SearchScope(None), EventFilter(), limit=100_000, newest_first=False)
    return [event.payload["prompt_id"] for event in events]


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Store]:
    store = open_store(home, Settings())
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A file system of two megabytes, and a way to mount it anew with other options."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True, capture_output=True
        )

    try:
        mount("size=2m")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a file system is not permitted here")
    yield place, mount
    subprocess.run(["umount", "-l", str(place)], check=True)  # whatever a failed test left open


def test_hooks_do_not_notice_who_holds_the_store(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with opened(home) as store:
        command = [sys.executable, "-c", HOLD, str(home / "memory.db")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            for number in range(8):
                capture(home, number)
            assert run(home, store) == Drained(remaining=8, busy=True)
            assert holder.poll() is None  # held from the first hook to the last
            holder.communicate()
        assert run(home, store) == Drained(events=8, memories=2)  # one open request, and its session
        assert prompts(store) == [f"p{number}" for number in range(8)]


def test_a_full_disk_harms_nothing_stored_and_loses_nothing_acknowledged(
    small_disk: tuple[Path, Callable[[str], None]],
) -> None:
    home = small_disk[0] / "memory"
    with opened(home) as store:
        capture(home, 0)
        assert run(home, store).events == 1
        capture(home, 1)
        filler = small_disk[0] / "filler"
        fill(filler)
        for number in range(2, 6):
            capture(home, number, padding=100_000)
        acknowledged = Spool(home).depth().count
        assert acknowledged == 1
        assert not list(Spool(home).temporary.iterdir())
        with contextlib.suppress(MemoryFault):
            run(home, store)
        assert "p0" in prompts(store)
        filler.unlink()
        capture(home, 6)
        run(home, store)
        assert prompts(store) == ["p0", "p1", "p6"]
        assert store.check().problems == ()
        assert Spool(home).depth().count == Spool(home).depth().rejected == 0


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as handle, contextlib.suppress(OSError):
        while True:
            handle.write(b"\0" * 4096)


def test_the_hooks_log_tells_of_a_full_disk_once_there_is_room(
    small_disk: tuple[Path, Callable[[str], None]],
) -> None:
    home = small_disk[0] / "memory"
    capture(home, 0)
    capture(home, 1, padding=2_000_000)
    assert "UserPromptSubmit: not captured: OSError No space left" in (home / "logs" / "hook.log").read_text()
    assert Spool(home).depth().count == 1


def test_a_read_only_home_is_silent_and_unharmed(small_disk: tuple[Path, Callable[[str], None]]) -> None:
    place, mount = small_disk
    home = place / "memory"
    with opened(home) as store:
        capture(home, 0)
        assert run(home, store).events == 1
    capture(home, 1)
    mount("remount,ro")
    before = sorted(home.rglob("*"))
    capture(home, 2)
    with contextlib.suppress(MemoryFault), opened(home) as store:
        assert run(home, store) == Drained(remaining=1, busy=True)
    assert sorted(home.rglob("*")) == before
    mount("remount,rw,size=2m")
    with opened(home) as store:
        run(home, store)
        assert prompts(store) == ["p0", "p1"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)
def test_a_home_of_somebody_else_is_silent_and_unharmed(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    Spool(home).put("Stop", b"{}")
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "import claude_memory_hook as hook\n"
        "os.setuid(65534)\n"
        "sys.exit(hook.main(['Stop'], 0, {'CLAUDE_MEMORY_HOME': sys.argv[2]}))"
    )
    command = [sys.executable, "-S", "-c", code, str(Path(hook.__file__).parent), str(home)]
    done = subprocess.run(command, input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert Spool(home).depth().count == 1
