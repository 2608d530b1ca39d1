"""What a person says of projects: these two are one, this folder is its own, that folder belongs there."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.capture.drain import Spool
from claude_memory.errors import InvalidInput, NotFound
from claude_memory.lifecycle.intentions import Occasion, due
from claude_memory.model import ProjectIdentity, SearchScope
from claude_memory.store.model import EventFilter
from claude_memory.store.sql import projects
from claude_memory.surfaces.cli import main
from claude_memory.tasks.api import MemoryAPI

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
REMOTE = "https://git.example.com/team/shop.git"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *author, "-C", folder, *arguments], check=True, capture_output=True)


@pytest.fixture
def home(scratch_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = scratch_home / ".claude" / "memory"
    home.mkdir(parents=True, mode=0o700)
    (home / "config.toml").write_text('embedder = "none"\n')
    monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(home))
    return home


@pytest.fixture
def full(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(2):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"{number}")
    git(folder, "remote", "add", "origin", REMOTE)
    return folder


@pytest.fixture
def shallow(tmp_path: Path, full: Path) -> Path:
    git(full, "clone", "-q", "--depth=1", full.as_uri(), str(tmp_path / "ci" / "shop"))
    git(tmp_path / "ci" / "shop", "remote", "set-url", "origin", REMOTE)
    return tmp_path / "ci" / "shop"


def remembered(home: Path, folder: Path, *texts: str) -> str:
    with Memory.open(home, folder) as memory:
        memory.remember_many([NewMemory(text) for text in texts])
        return memory.project.id


def captured(home: Path, folder: Path, session: str, prompt: str) -> None:
    event = {
        "session_id": session,
        "cwd": str(folder),
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }
    Spool(home).put("UserPromptSubmit", json.dumps({**event, "prompt_id": prompt}).encode())
    with Memory.open(home, folder) as memory:
        memory.drain()


def found(home: Path, folder: Path, query: str) -> list[str]:
    with Memory.open(home, folder) as memory:
        return [hit.title for hit in memory.search(query)]


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["projects", "list", "--json"]) == 0
    return list(json.loads(capsys.readouterr().out))


def test_a_shallow_clone_is_merged_once_and_stays_so(
    home: Path, full: Path, shallow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = remembered(home, full, "Invoices are rendered by Typst")
    source = remembered(home, shallow, "The runner has four cores")
    captured(home, shallow, "s1", "why is the build slow on the runner")
    with Memory.open(home, shallow) as memory:
        memory.intentions.set("look at the runner", now=NOW)
    assert source != target
    assert found(home, shallow, "Typst invoices") == []
    assert main(["projects", "merge", source, "--into", target, "--yes"]) == 0
    assert {one["id"] for one in listed(capsys)} >= {target}
    assert source not in {one["id"] for one in listed(capsys)}
    for folder in (full, shallow):
        assert "Invoices are rendered by Typst" in found(home, folder, "Typst invoices")
        assert "The runner has four cores" in found(home, folder, "runner cores")
        with Memory.open(home, folder) as memory:
            assert memory.project.id == target
            assert [one.text for one in memory.intentions.list()] == ["look at the runner"]
            events = memory.store.archive.events(SearchScope((memory.project.id,)), EventFilter(), limit=10)
            assert [event.cwd for event in events] == [str(shallow)]
            assert memory.store.check().problems == ()
    captured(home, shallow, "s1", "and what about the cache of the runner")
    with Memory.open(home, full) as memory:
        assert memory.store.stats(memory.project.id).events == 2


def test_a_merge_outlives_the_database(home: Path, full: Path, shallow: Path) -> None:
    target = remembered(home, full, "Invoices are rendered by Typst")
    source = remembered(home, shallow, "The runner has four cores")
    assert main(["projects", "merge", source, "--into", target, "--yes"]) == 0
    for path in home.glob("memory.db*"):
        path.unlink()
    assert main(["reindex", "--from-files"]) == 0
    for folder in (full, shallow):
        with Memory.open(home, folder) as memory:
            assert memory.project.id == target
        assert "The runner has four cores" in found(home, folder, "runner cores")


def test_files_and_tasks_of_both_are_there_after_a_merge(home: Path, full: Path, shallow: Path) -> None:
    target, source = remembered(home, full, "a"), remembered(home, shallow, "b")
    for folder, name in ((full, "ours"), (shallow, "theirs")):
        assert main(["buffer", "add", f"note of {name}", "--project", str(folder)]) == 0
        MemoryAPI(project=folder).create_scratchpad(name, "text")
    assert main(["projects", "merge", source, "--into", target, "--yes"]) == 0
    kept = [path.read_text() for path in (home / "projects").rglob("working-buffer.md")]
    assert sum("note of ours" in text for text in kept) == sum("note of theirs" in text for text in kept) == 1
    for folder in (full, shallow):
        assert {task.name for task in MemoryAPI(project=folder).list_tasks(all_sessions=True)} == {
            "ours",
            "theirs",
        }


def test_a_clone_is_split_off_with_its_sessions(home: Path, full: Path, tmp_path: Path) -> None:
    git(full, "clone", "-q", full.as_uri(), str(tmp_path / "fork"))
    git(tmp_path / "fork", "remote", "set-url", "origin", REMOTE)
    whole = remembered(home, full, "Invoices are rendered by Typst")
    assert remembered(home, tmp_path / "fork") == whole
    captured(home, tmp_path / "fork", "s2", "rewrite the fork in a language of our own")
    assert main(["projects", "split", str(tmp_path / "fork"), "--yes"]) == 0
    with Memory.open(home, tmp_path / "fork") as memory:
        own = memory.project.id
        assert own != whole
        memory.drain()
        assert memory.project.id == own
        assert memory.store.check().problems == ()
    assert found(home, tmp_path / "fork", "Typst") == []
    assert found(home, tmp_path / "fork", "language of our own") != []
    assert found(home, full, "language of our own") == []
    assert remembered(home, full) == whole


def test_a_folder_is_moved_to_the_project_it_belongs_to(home: Path, full: Path, shallow: Path) -> None:
    target = remembered(home, full, "Invoices are rendered by Typst")
    remembered(home, shallow)
    assert main(["projects", "move", target, str(shallow), "--yes"]) == 0
    assert remembered(home, shallow) == target
    assert found(home, shallow, "Typst invoices") != []


def test_nobody_waits_while_git_is_asked_what_a_folder_is(
    home: Path, full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = projects.identify

    def slow(folder: Path) -> ProjectIdentity:
        remembered(home, full, "said meanwhile")
        return asked(folder)

    with Memory.open(home, full) as memory:
        monkeypatch.setattr(projects, "identify", slow)
        memory.projects.split(full)
        memory.projects.move(memory.project.id, full)


@pytest.mark.parametrize("command", [["merge", "X"], ["split"], ["move", "X"]])
@pytest.mark.parametrize("marker", ["CLAUDECODE", "CLAUDE_MEMORY_SESSION", "CODEX_THREAD_ID"])
def test_an_agent_cannot_say_it(
    home: Path,
    full: Path,
    shallow: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    marker: str,
) -> None:
    target = remembered(home, full, "Invoices are rendered by Typst")
    before = remembered(home, shallow)
    monkeypatch.setenv(marker, "1")
    words = [target if word == "X" else word for word in command]
    assert main(["projects", *words, "--yes", "--project", str(shallow)]) == 1
    assert "is for a person" in capsys.readouterr().err
    monkeypatch.delenv(marker)
    assert remembered(home, shallow) == before
    assert found(home, shallow, "Typst") == []


def test_without_a_terminal_nothing_is_done_unasked(
    home: Path, full: Path, shallow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, source = remembered(home, full), remembered(home, shallow)
    for words in (["merge", source, "--into", target], ["split", str(full)], ["move", target, str(shallow)]):
        assert main(["projects", *words]) == 1
        assert "--yes" in capsys.readouterr().err
    assert (remembered(home, full), remembered(home, shallow)) == (target, source)


def test_a_project_is_named_by_its_id_its_folder_or_a_name_of_its_own(
    home: Path, full: Path, shallow: Path
) -> None:
    target = remembered(home, full)
    with Memory.open(home, full) as memory:
        assert memory.projects.named("shop").id == target
        assert memory.projects.named(str(full)).id == target
        assert memory.projects.named(target[:-2]).id == target
        for wrong in ("nobody", ""):
            with pytest.raises((NotFound, InvalidInput)):
                memory.projects.named(wrong)
    other = remembered(home, shallow)
    with Memory.open(home, full) as memory:
        with pytest.raises(InvalidInput, match=other):
            memory.projects.named("shop")
        assert memory.projects.named(other).id == other


# --- reminders


def test_a_reminder_for_a_codebase_goes_to_that_project_and_no_other_of_its_name(
    home: Path, full: Path, tmp_path: Path
) -> None:
    target = remembered(home, full)
    with Memory.open(home, tmp_path) as memory:
        memory.intentions.set("rotate the key of the shop", codebase="shop", now=NOW)
    evil = tmp_path / "evil" / "shop"
    evil.mkdir(parents=True)
    git(evil, "init", "-q")
    git(evil, "remote", "add", "origin", "https://git.example.com/evil/shop")
    named_like_it = ProjectIdentity((f"path:{tmp_path}/x",), target, f"{tmp_path}/x")
    with Memory.open(home, evil) as memory:
        assert memory.project.name == "shop"
        assert memory.intentions.list() == []
        other = memory.store.project_for(named_like_it)
        assert memory.store.lifecycle.intentions(other) == []
    with Memory.open(home, full) as memory:
        assert [one.intention.text for one in memory.intentions.check(now=NOW)] == [
            "rotate the key of the shop"
        ]


def test_a_reminder_of_the_first_release_names_a_project_while_only_one_has_the_name(
    home: Path, full: Path, tmp_path: Path
) -> None:
    remembered(home, full)
    with Memory.open(home, tmp_path) as memory:
        book = replace(memory.intentions, codebase_of=str)
        book.set("kept by its name", codebase="Shop", now=NOW)
    with Memory.open(home, full) as memory:
        occasion = Occasion(memory.project, NOW)
        assert [one.intention.text for one in due(memory.intentions.list(), occasion)] == ["kept by its name"]
        memory.store.project_for(ProjectIdentity(("path:/elsewhere/shop",), "shop", "/elsewhere/shop"))
        assert memory.intentions.list() == []


def test_a_codebase_that_nobody_knows_is_refused(home: Path, full: Path) -> None:
    with Memory.open(home, full) as memory, pytest.raises(NotFound, match="projects list"):
        memory.intentions.set("x", codebase="nowhere", now=NOW)


# --- task files


def test_task_files_go_by_the_project_not_by_what_a_folder_says(
    home: Path, full: Path, tmp_path: Path
) -> None:
    import hashlib

    target = remembered(home, full)
    with Memory.open(home, full) as memory:  # as 0.1.0 named it
        names = ("remote:git.example.com/team/shop", *memory.project.identities[-1:])
        memory.store.project_for(ProjectIdentity(names, "shop", str(full)))
        assert memory.project.id == target
    key = hashlib.sha256(b"remote:git.example.com/team/shop").hexdigest()[:16]
    MemoryAPI(storage_path=home / "projects" / key).create_scratchpad("of-the-shop", "text")
    evil = tmp_path / "evil"
    evil.mkdir()
    git(evil, "init", "-q")
    git(evil, "commit", "-q", "--allow-empty", "-m", "evil")
    git(evil, "remote", "add", "origin", REMOTE)
    assert [task.name for task in MemoryAPI(project=full).list_tasks(all_sessions=True)] == ["of-the-shop"]
    assert MemoryAPI(project=evil).list_tasks(all_sessions=True) == []
