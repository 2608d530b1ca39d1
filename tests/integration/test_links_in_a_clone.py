"""Links that come with a clone show nothing of another project, and nothing is written through them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory import Memory
from claude_memory.errors import InvalidInput, MemoryFault
from claude_memory.install.plugin import hook_arguments, hook_program
from claude_memory.notes.plain_files import approve, project_files
from claude_memory.platform.project import prepare
from claude_memory.settings import of_project
from claude_memory.surfaces.cli import main
from claude_memory.tasks.api import MemoryAPI

SECRET = "the launch code is on the blue card"


@pytest.fixture
def home(scratch_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = scratch_home / ".claude" / "memory"
    monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(home))
    home.mkdir(parents=True, mode=0o700)
    (home / "config.toml").write_text('embedder = "none"\n')
    return home


@pytest.fixture
def victim(tmp_path: Path, home: Path) -> Path:
    """A project of the person's own, with something in every file."""
    folder = tmp_path / "victim"
    folder.mkdir()
    own = prepare(folder).folder
    with Memory.open(home, folder, flags={"embedder": "none"}) as memory:
        approve(home, memory.project.id, folder)
    for name in ("memory/working-buffer.md", "memory/2026-05-04.md", "tasks/lessons.md", "tasks/todo.md"):
        (own / name).parent.mkdir(exist_ok=True)
        (own / name).write_text(f"- {SECRET}\n- we decided that {SECRET}\n")
    (own / "MEMORY.md").write_text(f"- {SECRET}\n")
    api = MemoryAPI(project=folder, by="me")
    api.create_scratchpad("blue-card", SECRET)
    api.create_scratchpad("blue-card", SECRET + " again")
    return folder


def clone(folder: Path, layout: str = "private") -> Path:
    (folder / ".claude-memories").mkdir(parents=True)
    (folder / ".claude-memories" / "config.json").write_text(json.dumps({"layout": layout}))
    return folder


def shown(home: Path, folder: Path, printed: pytest.CaptureFixture[str]) -> str:
    """Everything that a session, a command or a tool is told there."""
    event = {"session_id": "s", "cwd": str(folder), "hook_event_name": "SessionStart", "source": "resume"}
    hook = [sys.executable, *hook_arguments(str(hook_program()), "SessionStart")]
    done = subprocess.run(hook, input=json.dumps(event).encode(), capture_output=True, timeout=60)
    assert done.returncode == 0
    told = [done.stdout.decode(), done.stderr.decode()]
    for command in (
        *(["buffer"], ["distill", "--since", "2026-01-01"], ["search", "launch code", "--json"], ["status"]),
        *(["scratchpad", "blue-card", "--history"], ["export", "blue-card"], ["context"]),
    ):
        main([*command, "--project", str(folder)])
    told += printed.readouterr()
    return "\n".join(told)


LINKS = {
    "memory": "memory",
    "tasks": "tasks",
    "sessions": "sessions",
    "MEMORY.md": "MEMORY.md",
    "memory/working-buffer.md": "memory/working-buffer.md",
    "tasks/lessons.md": "tasks/lessons.md",
}


@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize("name", LINKS)
def test_nothing_of_another_project_is_shown(
    tmp_path: Path, home: Path, victim: Path, capsys: pytest.CaptureFixture[str], name: str, approved: bool
) -> None:
    evil = clone(tmp_path / "evil")
    link = evil / ".claude-memories" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(victim / ".claude-memories" / LINKS[name])
    if approved:
        with Memory.open(home, evil, flags={"embedder": "none"}) as memory:
            approve(home, memory.project.id, evil)
    told = shown(home, evil, capsys)
    assert SECRET not in told
    assert "blue-card" not in told.replace("'blue-card'", "").replace("blue-card.md", "")


def test_the_look_would_find_it(home: Path, victim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(home, victim, capsys).count(SECRET) > 5


@pytest.mark.parametrize("name", ["memory", "tasks"])
def test_a_repository_whose_files_stand_at_its_top_is_no_exception(
    tmp_path: Path, home: Path, victim: Path, name: str
) -> None:
    evil = clone(tmp_path / "evil", "repo")
    (evil / name).symlink_to(victim / ".claude-memories" / name)
    files = project_files(home, "evil", evil)
    assert files.imported == ()
    assert not any(str(path).startswith(str(evil)) for path in files.all())


@pytest.mark.parametrize("way", ["tasks", ".history", ".locks", "session"])
def test_task_files_are_not_read_or_written_through_a_link(
    tmp_path: Path, home: Path, victim: Path, way: str
) -> None:
    theirs = next((victim / ".claude-memories" / "sessions").iterdir())
    evil = clone(tmp_path / "evil")
    sessions = evil / ".claude-memories" / "sessions"
    sessions.mkdir()
    if way == "session":
        (sessions / theirs.name).symlink_to(theirs)
    else:
        own = sessions / theirs.name
        (own / "tasks").mkdir(parents=True)
        (own / "session.json").write_bytes((theirs / "session.json").read_bytes())
        if way == "tasks":
            (own / "tasks").rmdir()
            (own / "tasks").symlink_to(theirs / "tasks")
        elif way == ".history":
            name = next(path.name for path in (theirs / "tasks").glob("*scratchpad*.md"))
            (own / "tasks" / name).write_text("---\ntask: blue-card\nphase: scratchpad\n---\n\nours\n")
            (own / "tasks" / ".history").symlink_to(theirs / "tasks" / ".history")
        else:
            (own / ".locks").symlink_to(theirs / ".locks")
    before = {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()}
    api = MemoryAPI(project=evil, by="me")
    looks: list[Callable[[], str]] = [
        lambda: str(api.list_tasks(all_sessions=True)),
        lambda: str(api.get_scratchpad("blue-card")),
        lambda: str([path.path.read_text() for path in api.scratchpad_history("blue-card")]),
        lambda: str(api.create_scratchpad("blue-card", "overwritten")),
        lambda: str(api.append_progress("blue-card", "overwritten")),
    ]
    for look in looks:
        try:
            told = look()
        except MemoryFault as fault:
            told = str(fault)
        assert SECRET not in told
    assert {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()} == before


def test_what_is_written_stays_in_the_project(tmp_path: Path, home: Path, victim: Path) -> None:
    evil = clone(tmp_path / "evil")
    (evil / ".claude-memories" / "memory").symlink_to(victim / ".claude-memories" / "memory")
    before = {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()}
    with Memory.open(home, evil, flags={"embedder": "none"}) as memory:
        approve(home, memory.project.id, evil)
    main(["buffer", "add", "something of ours", "--project", str(evil)])
    main(["lesson", "something of ours", "--project", str(evil)])
    assert {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()} == before


def test_settings_are_not_read_or_copied_through_a_link(tmp_path: Path, victim: Path) -> None:
    (victim / ".claude-memories" / "config.json").write_text('{"exclude": ["blue/*"]}')
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".claude-memories").symlink_to(victim / ".claude-memories")
    assert of_project(linked) == {}
    evil = clone(tmp_path / "evil")
    (evil / ".claude-memories" / "config.json").unlink()
    (evil / ".claude-memories" / "config.json").symlink_to(victim / ".claude-memories" / "config.json")
    assert of_project(evil) == {}
    with pytest.raises(InvalidInput):
        prepare(evil)


def test_a_link_that_stays_inside_is_followed(tmp_path: Path, home: Path) -> None:
    own = clone(tmp_path / "own", "repo")
    (own / "docs" / "memory").mkdir(parents=True)
    (own / "docs" / "memory" / f"{datetime.now(UTC):%Y-%m-%d}.md").write_text("- a note\n")
    (own / "memory").symlink_to("docs/memory")
    assert [path.name for path in project_files(home, "own", own).all()] != []
