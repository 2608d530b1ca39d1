"""A disk that fails at any step leaves every document old or new, and the work can go on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from claude_memory import MemoryAPI
from claude_memory.platform import files

CALLS = ("open", "write", "replace", "fsync", "fdatasync")


@contextmanager
def failing_at(step: int) -> Iterator[list[int]]:
    """The step-th call that touches the disk, and all after it, fail as on a full disk."""
    made = [0]
    patch = pytest.MonkeyPatch()

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            made[0] += 1
            if made[0] >= step:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **options)

        return call

    for name in CALLS:
        if hasattr(os, name):
            patch.setattr(os, name, wrapped(getattr(os, name)))
    try:
        yield made
    finally:
        patch.undo()


def steps(work: Callable[[], object], check: Callable[[], None]) -> int:
    """Let the work fail at every step in turn until it succeeds; returns how many steps there were."""
    for step in range(1, 200):
        with failing_at(step) as made:
            try:
                work()
            except OSError:
                pass
            else:
                if made[0] < step:
                    return step
        check()
    raise AssertionError("the work never succeeded")


@pytest.fixture
def api(tmp_path: Path) -> MemoryAPI:
    made = MemoryAPI(tmp_path / "storage", session="s1")
    made.create_scratchpad("task", "old")
    return made


def test_a_scratchpad_is_old_or_new(api: MemoryAPI) -> None:
    def check() -> None:
        assert MemoryAPI(api.storage.folder).get_scratchpad("task") in ("old", "new")

    assert steps(lambda: api.update_scratchpad("task", "new"), check) > 5
    assert api.get_scratchpad("task") == "new"


def test_a_plan_is_whole_or_not_there(tmp_path: Path) -> None:
    number = iter(range(1000))

    def work() -> None:
        api = MemoryAPI(tmp_path / "storage", session="s1")
        api.create_plan(f"task-{next(number)}", "the whole plan")

    def check() -> None:
        api = MemoryAPI(tmp_path / "storage")
        for task in api.list_tasks(all_sessions=True):
            assert api.get_plan(task.name) == "the whole plan"
        assert api.verify() == []

    assert steps(work, check) > 5


def test_a_record_keeps_what_was_acknowledged_and_goes_on(api: MemoryAPI) -> None:
    api.append_progress("task", "acknowledged")
    acknowledged = 1

    def check() -> None:
        nonlocal acknowledged
        api.append_progress("task", "acknowledged")
        acknowledged += 1
        assert [entry.text for entry in api.get_progress("task")].count("acknowledged") == acknowledged
        assert api.verify() == []

    assert steps(lambda: api.append_progress("task", "maybe"), check) > 5


def test_no_temporary_file_is_left_behind(api: MemoryAPI) -> None:
    def check() -> None:
        assert list(api.storage.folder.rglob("*.tmp")) == []

    steps(lambda: api.update_scratchpad("task", "new"), check)
    assert files.FILE_MODE == 0o600
