"""A plan or a past entry that was changed is found; what was not changed is never accused."""

from __future__ import annotations

import builtins
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_memory import MemoryAPI


@pytest.fixture
def api(tmp_path: Path) -> MemoryAPI:
    found = MemoryAPI(tmp_path / "storage", session="s1", by="agent")
    found.create_scratchpad("task", "explored")
    found.create_plan("task", "step one\nstep two")
    for number in range(1, 5):
        found.append_progress("task", f"entry number {number}")
    return found


def folder(api: MemoryAPI) -> Path:
    return api.storage.folder / "sessions" / "s1" / "tasks"


def change(path: Path, edit: Callable[[str], str]) -> None:
    path.chmod(0o644)
    path.write_text(edit(path.read_text("utf-8")), "utf-8")


def messages(api: MemoryAPI) -> list[str]:
    return [str(problem) for problem in api.verify("task")]


def test_nothing_is_wrong_with_what_nobody_changed(api: MemoryAPI) -> None:
    api.amend_plan("task", "because")
    assert api.verify() == []
    assert api.get_task_status("task").problems == ()
    assert api.verify() == []


def test_checking_creates_nothing(api: MemoryAPI) -> None:
    shutil.rmtree(api.storage.folder / "sessions" / "s1" / ".locks")
    before = sorted(api.storage.folder.rglob("*"))
    (folder(api) / "task-s1-progress.md").write_text("nonsense")
    assert len(api.verify()) == 2
    assert sorted(api.storage.folder.rglob("*")) == before


def test_an_edited_plan_is_found(api: MemoryAPI) -> None:
    change(folder(api) / "task-s1-plan.md", lambda text: text.replace("step two", "step 2"))
    assert messages(api) == ["task-s1-plan.md: front matter or entry 1 of 1 was changed after it was written"]
    assert api.get_task_status("task").problems[0].tampered
    assert [problem.task for problem in api.problems()] == ["task"]


def test_an_edited_author_or_date_is_found(api: MemoryAPI) -> None:
    change(folder(api) / "task-s1-plan.md", lambda text: text.replace("by: agent", "by: person:boss"))
    assert len(messages(api)) == 1


def test_an_edited_past_entry_is_found(api: MemoryAPI) -> None:
    change(
        folder(api) / "task-s1-progress.md", lambda text: text.replace("entry number 2", "entry number two")
    )
    assert messages(api) == ["task-s1-progress.md: entry 2 of 4 was changed after it was written"]


def test_a_removed_entry_is_found(api: MemoryAPI) -> None:
    def without_second(text: str) -> str:
        start = text.index("<!-- entry 1 ")
        start = text.index("\n", start) + 1
        end = text.index("\n", text.index("<!-- entry 2 ")) + 1
        return text[:start] + text[end:]

    change(folder(api) / "task-s1-progress.md", without_second)
    assert messages(api) == ["task-s1-progress.md: entry 2 is missing or out of place"]


def test_entries_cut_from_the_end_are_found(api: MemoryAPI) -> None:
    def without_last(text: str) -> str:
        return text[: text.index("\n", text.index("<!-- entry 3 ")) + 1]

    change(folder(api) / "task-s1-progress.md", without_last)
    assert messages(api) == ["task-s1-progress.md: 1 of 4 entries are missing from the end"]


def test_a_record_rewritten_with_its_own_seals_is_found(api: MemoryAPI, tmp_path: Path) -> None:
    forger = MemoryAPI(tmp_path / "elsewhere", session="s1", by="agent")
    for number in range(1, 5):
        forger.append_progress("task", f"a nicer entry {number}")
    forged = (tmp_path / "elsewhere" / "sessions" / "s1" / "tasks" / "task-s1-progress.md").read_text("utf-8")
    change(folder(api) / "task-s1-progress.md", lambda _: forged)
    assert messages(api) == ["task-s1-progress.md: it was replaced by a record with other content"]


def test_text_added_by_hand_is_found_and_kept(api: MemoryAPI) -> None:
    path = folder(api) / "task-s1-progress.md"
    change(path, lambda text: text + "\nI was never here")
    assert messages(api) == ["task-s1-progress.md: text after entry 4 was not written by claude-memory"]
    api.append_progress("task", "the next one")
    assert [entry.text for entry in api.get_progress("task")][-2:] == ["I was never here", "the next one"]
    assert messages(api) == ["task-s1-progress.md: entry 5 was cut short by a crash or added by hand"]


def test_an_entry_cut_short_by_a_crash_does_not_harm_the_next(api: MemoryAPI) -> None:
    path = folder(api) / "task-s1-progress.md"
    path.write_bytes(
        path.read_bytes() + b"\n## 2026-11-15T20:00:00.000000Z \xc2\xb7 agent\n\nhalf an ent\xc3"
    )
    api.append_progress("task", "whole")
    assert api.get_progress("task")[-1].text == "whole"
    assert [entry.number for entry in api.get_progress("task")] == [1, 2, 3, 4, 5, 6]


def test_a_blank_line_at_the_end_is_no_crime(api: MemoryAPI) -> None:
    change(folder(api) / "task-s1-progress.md", lambda text: text + "\n\n")
    api.append_progress("task", "next")
    assert messages(api) == []


def test_a_removed_plan_is_found(api: MemoryAPI) -> None:
    (folder(api) / "task-s1-plan.md").unlink()
    assert messages(api) == ["task-s1-plan.md: the plan was removed"]


def test_loosened_modes_are_no_tampering(api: MemoryAPI) -> None:
    for path in api.storage.folder.rglob("*"):
        path.chmod(0o755)
    assert api.verify() == []


def test_a_long_list_opens_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = MemoryAPI(tmp_path, session="s1")
    for number in range(40):
        api.create_scratchpad(f"task-{number}", "explored")
        api.append_progress(f"task-{number}", "done")
    opened = count_opened(monkeypatch)
    assert len(api.list_tasks(all_sessions=True)) == 40
    assert len(opened) <= 3, opened


def count_opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    opened: list[str] = []
    real_open, real_os_open = builtins.open, os.open
    monkeypatch.setattr(builtins, "open", lambda *a, **k: opened.append(str(a[0])) or real_open(*a, **k))
    monkeypatch.setattr(os, "open", lambda *a, **k: opened.append(str(a[0])) or real_os_open(*a, **k))
    return opened
