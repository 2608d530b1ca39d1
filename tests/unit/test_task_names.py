"""Any name becomes a safe, readable file name of its own, or is refused with a reason."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory import MemoryAPI
from claude_memory.errors import InvalidInput
from claude_memory.tasks import model as names
from claude_memory.tasks.model import Part

HOSTILE = [
    "../../evil",
    "..",
    ".",
    "/etc/passwd",
    "C:\\Windows\\System32",
    "\\\\server\\share",
    "CON",
    "con.txt",
    "NUL",
    "LPT1",
    "trailing...",
    "trailing dot.",
    ".hidden",
    "a/b",
    "a\\b",
    "x" * 300,
    "ж" * 300,
    "🎉🔥",
    "实现认证",
    "認証を実装",
    'quotes "and" <tags> & $(commands)',
    "-rf",
    "~root",
    "%2e%2e%2f",
    "name:stream",
    "a|b*c?",
    "session",
    "{task}",
]


def everything_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def api(tmp_path: Path) -> MemoryAPI:
    return MemoryAPI(tmp_path / "outer" / "project" / "storage", by="person:test")


def test_a_plain_name_stays_as_it_is() -> None:
    for name in ("implement-auth", "my-task", "fix_performance", "v1.2", "Task42"):
        assert names.stem(name) == name


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_stored_inside_and_found_again(api: MemoryAPI, tmp_path: Path, name: str) -> None:
    api.create_scratchpad(name, "explored")
    api.create_plan(name, "planned")
    api.append_progress(name, "done")
    assert api.get_task_status(name).task_name == name
    assert [task.name for task in api.list_tasks()] == [name]
    assert (api.get_scratchpad(name), api.get_plan(name)) == ("explored", "planned")
    assert all(path.is_relative_to(api.storage.folder) for path in everything_in(tmp_path))
    assert all(len(os.fsencode(path.name)) <= 255 for path in everything_in(tmp_path))


@pytest.mark.parametrize(
    "name", ["nul\0byte", "", "   ", "line\nbreak", "\x1b[31m", "\ud800", "x" * 1001, "\u2028"]
)
def test_names_no_file_can_carry_are_refused_and_leave_nothing(
    api: MemoryAPI, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidInput, match=r"task|name"):
        api.create_scratchpad(name, "text")
    assert everything_in(tmp_path) == set()


def test_names_a_file_system_could_confuse_are_kept_apart(api: MemoryAPI) -> None:
    alike = [
        "Auth",
        "auth",
        "AUTH",
        "caf\u00e9",
        "cafe\u0301",
        "CAFE\u0301",
        "a b",
        "a-b",
        "ﬁx",
        "fix",
        "ß",
        "ss",
    ]
    for name in alike:
        api.create_scratchpad(name, f"text of {name}")
    files = [file.path.name for task in api.list_tasks() for file in task.files]
    assert len({names.fold(file) for file in files}) == len(alike)
    assert {name: api.get_scratchpad(name) for name in alike} == {name: f"text of {name}" for name in alike}


def test_long_names_that_differ_at_their_ends_are_kept_apart(api: MemoryAPI) -> None:
    first, second = "x" * 299 + "a", "x" * 299 + "b"
    api.create_scratchpad(first, "a")
    api.create_scratchpad(second, "b")
    assert (api.get_scratchpad(first), api.get_scratchpad(second)) == ("a", "b")


@given(st.text(min_size=1, max_size=400))
def test_a_stem_is_always_one_portable_name(name: str) -> None:
    try:
        checked = names.checked(name)
    except InvalidInput:
        return
    stem = names.stem(checked)
    assert stem
    assert not set(stem) & set('/\\:*?"<>|\0')
    assert not stem.startswith(".")
    assert not stem.endswith((".", " "))
    assert len(stem.encode()) <= 130


def test_session_ids_become_folders_of_their_own(api: MemoryAPI, tmp_path: Path) -> None:
    ids = ["abc123-def456", "../../up", "A", "a", "CON", "x" * 300, "é"]
    folders = [api.session_manager.start_session(session_id=one).folder for one in ids]
    assert len({names.fold(folder.name) for folder in folders}) == len(ids)
    assert all(folder.parent == api.storage.folder / "sessions" for folder in folders)
    assert {session.session_id for session in api.session_manager.list_sessions()} == set(ids)
    assert folders[0].name == "abc123-def456"


def test_links_that_lead_outside_are_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / ".claude-memories").symlink_to(outside, target_is_directory=True)
    with pytest.raises(InvalidInput, match="leads outside"):
        MemoryAPI(project=project)
    assert list(outside.iterdir()) == []


def test_a_linked_folder_inside_the_storage_is_refused(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / ".claude-memories").mkdir(parents=True)
    outside.mkdir()
    (project / ".claude-memories" / "sessions").symlink_to(outside, target_is_directory=True)
    with pytest.raises(InvalidInput, match="leads outside"):
        MemoryAPI(project=project).create_scratchpad("task", "text")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("part", list(Part))
def test_a_linked_document_is_neither_read_nor_written(tmp_path: Path, part: Part) -> None:
    secret = tmp_path / "secret"
    secret.write_text("private")
    api = MemoryAPI(tmp_path / "storage", session="s1")
    api.create_scratchpad("task", "text")
    folder = api.session_manager.get_current_session().folder / "tasks"
    target = folder / f"task-s1-{part}.md"
    target.unlink(missing_ok=True)
    target.symlink_to(secret)
    write = {"scratchpad": api.update_scratchpad, "plan": api.create_plan, "progress": api.append_progress}[
        part
    ]
    with contextlib.suppress(InvalidInput):  # or the document is given another name
        write("task", "more")
        assert "private" not in str(api.export_task("task"))
    assert secret.read_text() == "private"
    assert target.is_symlink()
