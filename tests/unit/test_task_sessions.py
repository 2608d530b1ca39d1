"""Which session is current, where its files stand, and how they come back when they are gone."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
import subprocess
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory import MemoryAPI, SessionManager
from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.platform import locks
from claude_memory.platform.project import prepare
from claude_memory.tasks import documents


@pytest.fixture(autouse=True)
def _no_session_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_MEMORY_SESSION", "CLAUDE_SESSION_ID", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def git(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, env=environment, capture_output=True
    )


# --- which session


def test_a_session_is_made_when_there_is_none(project: Path) -> None:
    made = SessionManager(project=project).get_current_session()
    first, _, second = made.session_id.partition("-")
    assert (len(first), len(second)) == (6, 6)
    assert SessionManager(project=project).get_current_session().session_id == made.session_id


def test_told_beats_environment_beats_switched_to_beats_newest(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = SessionManager(project=project)
    for name in ("older", "newer"):
        manager.start_session(session_id=name)
    assert SessionManager(project=project).current_id() == "newer"
    manager.switch_to_session("older")
    assert SessionManager(project=project).current_id() == "older"
    monkeypatch.setenv("CLAUDE_SESSION_ID", "agents-own")
    assert SessionManager(project=project).current_id() == "agents-own"
    monkeypatch.setenv("CLAUDE_MEMORY_SESSION", "hooked")
    assert SessionManager(project=project).current_id() == "hooked"
    assert SessionManager(project=project, session="newer").current_id() == "newer"


def test_asking_for_the_current_id_makes_nothing(project: Path, scratch_home: Path) -> None:
    assert SessionManager(project=project).current_id() is None
    assert listed(project) == set()
    assert listed(scratch_home) == set()


def test_a_session_is_found_by_the_beginning_of_its_id(project: Path) -> None:
    manager = SessionManager(project=project)
    manager.start_session("feature-work", session_id="abc123-def456")
    manager.start_session(session_id="abd999-000000")
    assert manager.switch_to_session("abc123").session_id == "abc123-def456"
    assert manager.get_session("abc123").name == "feature-work"
    with pytest.raises(InvalidInput, match="give more of the id"):
        manager.get_session("ab")
    with pytest.raises(NotFound, match="no session 'zzz'"):
        manager.get_session("zzz")
    with pytest.raises(NotFound):
        manager.switch_to_session("zzz", create=False)
    with pytest.raises(Conflict, match="exists already"):
        manager.start_session(session_id="abc123-def456")


def test_a_task_is_seen_from_every_session_and_written_in_its_own(project: Path) -> None:
    MemoryAPI(project=project, session="one").create_scratchpad("task", "explored")
    other = MemoryAPI(project=project, session="two")
    other.create_scratchpad("another", "x")
    other.create_plan("task", "planned elsewhere")
    assert other.get_task_status("task").session_id == "one"
    assert other.get_task_status("task").current_phase == "planning"
    assert [task.name for task in other.list_tasks()] == ["another"]
    assert {task.name: task.session_id for task in other.list_tasks(all_sessions=True)} == {
        "task": "one",
        "another": "two",
    }


def test_told_to_a_task_is_written_in_another_session(project: Path) -> None:
    api = MemoryAPI(project=project, session="one")
    api.create_scratchpad("task", "in one")
    api.create_scratchpad("task", "in two", session="two")
    assert api.get_scratchpad("task") == "in one"
    assert api.get_scratchpad("task", session="two") == "in two"
    assert MemoryAPI(project=project, session="two").get_scratchpad("task") == "in two"


def test_an_index_that_claims_paths_or_another_session_is_not_believed(project: Path) -> None:
    api = MemoryAPI(project=project, session="s1")
    api.create_scratchpad("task", "text")
    index = api.session_manager.get_current_session().folder / "session.json"
    good = index.read_text()
    for bad in ("", "[]", "{}", good.replace("task-s1-", "../../../evil-"), good.replace('"s1"', '"s2"')):
        index.write_text(bad)
        found = MemoryAPI(project=project)
        assert [task.name for task in found.list_tasks(all_sessions=True)] == ["task"]
        assert found.get_scratchpad("task") == "text"
        assert found.get_task_status("task").session_id == "s1"


@pytest.mark.parametrize("nonsense", ["", "../..", "nul\0", "gone-session", "\x1b[31m"])
def test_a_default_that_is_nonsense_is_ignored(project: Path, nonsense: str) -> None:
    api = MemoryAPI(project=project, session="s1")
    api.create_scratchpad("task", "text")
    (api.storage.folder / "current-session").write_text(nonsense)
    assert SessionManager(project=project).current_id() == "s1"


# --- where


def test_a_project_that_was_not_initialised_is_not_written_to(project: Path, scratch_home: Path) -> None:
    api = MemoryAPI(project=project)
    api.create_scratchpad("task", "text")
    api.context_manager.add_custom_context({"a": "b"})
    api.memory_manager.set_file_pattern("{task}-{phase}.md")
    assert listed(project) == set()
    assert api.storage.folder.parent == scratch_home / ".claude" / "memory" / "projects"
    files = [path for path in scratch_home.rglob("*") if path.is_file()]
    assert files
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in files)


def test_an_initialised_project_keeps_its_own_files_and_a_copy_in_the_home(project: Path) -> None:
    prepare(project)
    api = MemoryAPI(project=project, session="s1")
    api.create_scratchpad("task", "explored")
    api.create_plan("task", "planned")
    for number in range(3):
        api.append_progress("task", f"entry {number}")
    own = project / ".claude-memories" / "sessions" / "s1" / "tasks"
    assert api.storage.mirror is not None
    copies = api.storage.mirror / "sessions" / "s1" / "tasks"
    for name in ("task-s1-scratchpad.md", "task-s1-plan.md", "task-s1-progress.md"):
        assert (own / name).read_bytes() == (copies / name).read_bytes()


def test_what_git_clean_deletes_comes_back(project: Path) -> None:
    prepare(project)
    api = MemoryAPI(project=project, session="s1")
    api.create_scratchpad("task", "one")
    api.update_scratchpad("task", "explored")
    api.create_plan("task", "planned")
    api.append_progress("task", "done")
    before = {path.name: path.read_bytes() for path in (project / ".claude-memories").rglob("*.md")}
    shutil.rmtree(project / ".claude-memories")
    lost = MemoryAPI(project=project)
    assert lost.list_tasks(all_sessions=True) == []
    assert lost.lost_files()
    assert lost.recover()
    found = MemoryAPI(project=project)
    assert {path.name: path.read_bytes() for path in (project / ".claude-memories").rglob("*.md")} == before
    assert found.get_task_status("task").problems == ()
    assert found.lost_files() == []
    with pytest.raises(Conflict):
        found.create_plan("task", "again")


@pytest.mark.parametrize("initialised", [True, False])
def test_tasks_of_a_removed_work_tree_come_back_in_another(tmp_path: Path, initialised: bool) -> None:
    main, side = tmp_path / "main", tmp_path / "side"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(side))
    if initialised:
        prepare(main)
    prepare(side)
    in_side = MemoryAPI(project=side, session="side-session")
    in_side.create_scratchpad("feature", "explored in the work tree")
    in_side.create_plan("feature", "planned")
    assert MemoryAPI(project=main).lost_files() == []
    git(main, "worktree", "remove", "--force", str(side))
    assert not side.exists()
    assert MemoryAPI(project=main).recover()
    found = MemoryAPI(project=main)
    assert found.get_scratchpad("feature") == "explored in the work tree"
    assert found.get_task_status("feature").problems == ()
    assert found.lost_files() == []


def test_tasks_begun_before_init_stay_visible_and_are_continued_where_they_are(project: Path) -> None:
    early = MemoryAPI(project=project, session="s1").create_scratchpad("early", "text")
    prepare(project)
    api = MemoryAPI(project=project, session="s1")
    late = api.create_scratchpad("late", "text")
    assert late.is_relative_to(project / ".claude-memories")
    assert api.create_plan("early", "planned").parent == early.parent
    assert {task.name for task in api.list_tasks()} == {"early", "late"}
    [session] = api.session_manager.list_sessions()
    assert set(session.tasks) == {"early", "late"}
    assert api.get_scratchpad("early", session="s1") == api.get_scratchpad("late", session="s1") == "text"
    assert api.verify() == []


def test_a_repository_keeps_its_tasks_when_it_gets_commits_and_a_remote(project: Path) -> None:
    def tasks() -> list[str]:
        from claude_memory.platform import project as projects

        projects._roots.cache_clear()
        return [task.name for task in MemoryAPI(project=project).list_tasks(all_sessions=True)]

    git(project, "init", "-q")
    MemoryAPI(project=project).create_scratchpad("task", "text")
    git(project, "commit", "-q", "--allow-empty", "-m", "first")
    assert tasks() == ["task"]
    git(project, "remote", "add", "origin", "https://example.org/team/app.git")
    assert tasks() == ["task"]


def test_a_path_of_one_s_own_is_used_as_it_is(tmp_path: Path) -> None:
    api = MemoryAPI(storage_path=str(tmp_path / "custom" / ".memories"))
    path = api.create_scratchpad("task", "text")
    assert path.is_relative_to(tmp_path / "custom" / ".memories" / "sessions")


# --- locks


def _hold(
    path: str, ready: multiprocessing.synchronize.Event, end: multiprocessing.synchronize.Event
) -> None:
    with documents.held(Path(path)):
        ready.set()
        end.wait(30)


def test_a_lock_of_a_live_process_is_waited_for_then_a_clear_error(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready, end = spawn.Event(), spawn.Event()
    path = tmp_path / "task.lock"
    holder = spawn.Process(target=_hold, args=(str(path), ready, end))
    holder.start()
    assert ready.wait(30)
    with pytest.raises(Conflict, match="another process holds"), documents.held(path, wait_seconds=0.05):
        pass
    assert not locks.drop_if_free(path)
    end.set()
    with documents.held(path, wait_seconds=20):
        pass
    holder.join()


def test_a_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready, end = spawn.Event(), spawn.Event()
    path = tmp_path / "task.lock"
    holder = spawn.Process(target=_hold, args=(str(path), ready, end))
    holder.start()
    assert ready.wait(30)
    holder.kill()
    holder.join()
    with documents.held(path, wait_seconds=5):
        pass


def test_a_removed_lock_file_does_not_let_two_in(tmp_path: Path) -> None:
    path = tmp_path / "task.lock"
    with documents.held(path):
        pass
    assert locks.drop_if_free(path)
    assert not path.exists()
    with documents.held(path, wait_seconds=1):
        assert path.exists()


# --- clean-up


def aged(folder: Path, days: int) -> None:
    old = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (old, old))
    index = folder / "session.json"
    born = documents_time(old)
    text = index.read_text("utf-8")
    index.write_text(
        text[: text.index('"created": "')] + f'"created": "{born}' + text[text.index('Z",') :], "utf-8"
    )
    os.utime(index, (old, old))


def documents_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def test_old_sessions_go_to_an_archive_and_the_current_one_stays(project: Path) -> None:
    prepare(project)
    for name in ("old", "fresh", "current"):
        api = MemoryAPI(project=project, session=name)
        api.create_scratchpad(f"{name}-task", "explored")
        api.create_plan(f"{name}-task", "planned")
    for name in ("old", "current"):
        aged(project / ".claude-memories" / "sessions" / name, 40)
    now = datetime.now(UTC)
    manager = api.session_manager
    planned = manager.untouched(30, now=now)
    assert [session.session_id for session in planned] == ["old"]
    assert (project / ".claude-memories" / "sessions" / "old").is_dir()
    [archived] = manager.archive(planned, now=now)
    assert {session.session_id for session in manager.list_sessions()} == {"fresh", "current"}
    with zipfile.ZipFile(archived) as archive:
        assert archive.testzip() is None
        assert "old/tasks/old-task-old-plan.md" in archive.namelist()
    assert api.lost_files() == []


def test_idle_lock_files_are_removed_and_held_ones_stay(project: Path) -> None:
    api = MemoryAPI(project=project, session="s1")
    api.append_progress("task", "x")
    manager = api.session_manager
    folder = manager.get_current_session().folder / ".locks"
    old = (datetime.now(UTC) - timedelta(days=3)).timestamp()
    for path in folder.iterdir():
        os.utime(path, (old, old))
    idle = manager.idle_locks(1, now=datetime.now(UTC))
    with documents.held(folder / "session.lock"):
        dropped = [path.name for path in idle if locks.drop_if_free(path)]
    assert dropped == ["task-task.lock"]
    assert (folder / "session.lock").exists()


def test_lock_files_that_a_link_leads_to_are_not_ours(project: Path, tmp_path: Path) -> None:
    manager = MemoryAPI(project=project, session="s1").session_manager
    folder = manager.get_current_session().folder / ".locks"
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(InvalidInput, match="leads outside"):
        manager.idle_locks(0, now=datetime.now(UTC) + timedelta(days=1))


def test_no_session_is_untouched_for_a_negative_time(project: Path) -> None:
    with pytest.raises(InvalidInput, match="negative"):
        SessionManager(project=project).untouched(-1, now=datetime.now(UTC))


@pytest.mark.parametrize("own_folder", [True, False])
def test_an_archived_session_comes_back_as_it_was(project: Path, *, own_folder: bool) -> None:
    if own_folder:
        prepare(project)
    for name in ("old-1", "current"):
        api = MemoryAPI(project=project, session=name)
        api.create_scratchpad(f"{name}-task", "notes")
        api.create_plan(f"{name}-task", "planned")
    manager = api.session_manager
    before = contents(manager.get_session("old-1").folder)
    later = datetime.now(UTC) + timedelta(days=40)
    [archive] = manager.archive(manager.untouched(30, now=later), now=later)
    back = manager.restore_session("old")
    assert (back.session_id, set(back.tasks)) == ("old-1", {"old-1-task"})
    assert contents(back.folder) == before
    assert not archive.exists()
    assert api.lost_files() == []
    with pytest.raises(NotFound, match="archived: none"):
        manager.restore_session("old")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file() and ".locks" not in path.parts
    }


@pytest.mark.parametrize("inner", ["../../evil.md", "/evil.md", "old-1/../../evil.md", "a\\b.md", "evil.md"])
def test_an_archive_that_leads_elsewhere_is_refused(project: Path, inner: str) -> None:
    manager = SessionManager(project=project)
    folder = manager.storage.folder / "archive"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "old-1-20260101T000000.zip", "w") as archive:
        archive.writestr(inner, "evil")
    with pytest.raises(InvalidInput, match="no archive of a session"):
        manager.restore_session("old-1")
