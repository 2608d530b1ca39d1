"""A feature from first idea to record, by the commands and the Python names that people already know."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _a_person_s_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_SESSION_ID", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def editor(tmp_path: Path) -> str:
    """An editor that adds a line."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\nopen(sys.argv[1], 'a', encoding='utf-8').write('\\nwritten in the editor')\n"
    )
    return f"{sys.executable} {script}"


def python(cli: Any, program: str) -> str:
    environment = {**os.environ, "CLAUDE_MEMORY_HOME": str(cli.home)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=cli.project,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- quick start


def test_from_init_to_status(cli: Any) -> None:
    cli.ok("init")
    cli.ok("scratchpad", "implement-auth", "--content", "We need a login.")
    cli.ok("plan", "implement-auth", "--content", "## Plan\n1. a user model\n2. tokens")
    cli.ok("append", "implement-auth", "✅ user model with hashed passwords")
    cli.ok("append", "implement-auth", "✅ tokens are made and checked")
    shown = cli.ok("status", "implement-auth").out
    assert "execution" in shown
    assert "2 entries" in shown
    [session] = (cli.project / ".claude-memories" / "sessions").iterdir()
    short = session.name.split("-")[0]
    assert sorted(path.name for path in (session / "tasks").glob("*.md")) == [
        f"implement-auth-{short}-{phase}.md" for phase in ("plan", "progress", "scratchpad")
    ]
    assert (session / "session.json").is_file()
    assert (cli.project / ".claude-memories" / "config.json").is_file()


# --- the three phases


def test_a_scratchpad_is_rewritten_edited_and_brought_back(cli: Any, editor: str) -> None:
    cli.ok("scratchpad", "my-task", "--content", "first look")
    cli.ok("scratchpad", "my-task", "--content", "three options:\n1. tokens\n2. sessions\n3. OAuth")
    cli.ok("scratchpad", "my-task", "--edit", EDITOR=editor, VISUAL="")
    shown = cli.ok("scratchpad", "my-task").out
    assert shown == "three options:\n1. tokens\n2. sessions\n3. OAuth\nwritten in the editor\n"
    assert len(cli.ok("scratchpad", "my-task", "--history").out.splitlines()) == 2
    cli.ok("scratchpad", "my-task", "--restore", "1")
    assert cli.ok("scratchpad", "my-task").out == "first look\n"
    failed = cli("scratchpad", "my-task", "--edit", EDITOR="false", VISUAL="")
    assert (failed.code, "nothing was saved" in failed.err) == (1, True)
    missing = cli("scratchpad", "my-task", "--edit", EDITOR="no-such-editor", VISUAL="")
    assert (missing.code, "set EDITOR" in missing.err) == (1, True)


def test_texts_come_from_files_and_pipes_too(cli: Any) -> None:
    (cli.project / "notes.md").write_text("from a file")
    cli.ok("scratchpad", "a", "--file", "notes.md")
    cli.ok("scratchpad", "b", stdin="through a pipe ✅".encode())
    cli.ok("scratchpad", "c", "--content", "-", stdin=b"named stdin")
    cli.ok("plan", "a", "--from-scratchpad")
    cli.ok("append", "a", "-", stdin=b"piped entry")
    texts = [cli.ok("scratchpad", task).out for task in ("a", "b", "c")]
    assert texts == ["from a file\n", "through a pipe ✅\n", "named stdin\n"]
    exported = cli.ok("export", "a").json
    assert (exported["plan"], exported["progress"][0]["text"]) == ("from a file", "piped entry")


def test_steps_out_of_order_are_refused_with_the_way_on(cli: Any) -> None:
    early = cli("plan", "task", "--content", "too soon")
    assert early.code == 1
    assert 'claude-memory scratchpad "task"' in early.err
    cli.ok("scratchpad", "task", "--content", "explored")
    early = cli("append", "task", "too soon")
    assert early.code == 1
    assert 'claude-memory plan "task"' in early.err
    assert len(early.err.strip().splitlines()) == 1
    cli.ok("append", "task", "it was urgent", "--force")
    [entry] = cli.ok("export", "task").json["progress"]
    assert entry["marks"] == ["forced", "unplanned"]


def test_a_plan_is_locked_and_amended(cli: Any) -> None:
    cli.ok("init")
    cli.ok("scratchpad", "task", "--content", "explored")
    path = Path(cli.ok("plan", "task", "--content", "the plan", "--json").json["path"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    again = cli("plan", "task", "--content", "another")
    assert again.code == 1
    assert str(path) in again.err
    assert "--amend" in again.err
    cli.ok("plan", "task", "--amend", "tokens expire after an hour")
    assert cli.ok("plan", "task").out == "the plan\n"
    assert "tokens expire after an hour" in path.read_text("utf-8")


def test_tampering_is_shown_by_status(cli: Any) -> None:
    cli.ok("scratchpad", "task", "--content", "explored")
    plan = Path(cli.ok("plan", "task", "--content", "the plan", "--json").json["path"])
    record = Path(cli.ok("append", "task", "first entry", "--json").json["path"])
    cli.ok("append", "task", "second entry")
    assert cli.ok("status", "--json").json["problems"] == []
    record.write_text(record.read_text("utf-8").replace("first entry", "1st entry"), "utf-8")
    plan.chmod(0o600)
    plan.write_text(plan.read_text("utf-8").replace("the plan", "a plan"), "utf-8")
    for arguments in (["status", "task"], ["status"]):
        shown = cli.ok(*arguments).out
        assert "entry 1 of 2 was changed" in shown
        assert plan.name in shown
    for arguments in (["status", "--verify"], ["status", "task", "--verify"]):
        checked = cli(*arguments)
        assert (checked.code, plan.name in checked.out) == (1, True)
    assert len(cli.ok("status", "--json").json["problems"]) == 2


# --- sessions


def test_sessions_are_started_listed_and_switched(cli: Any) -> None:
    cli.ok("session", "start", "--id", "abc123-def456")
    cli.ok("session", "start", "--name", "feature-work")
    assert "feature-work" in cli.ok("session", "info").out
    assert "abc123-def456" in cli.ok("session", "list").out
    cli.ok("session", "switch", "abc123")
    assert cli.ok("session", "info", "--json").json["session_id"] == "abc123-def456"
    cli.ok("session", "switch", "abc123-def456")
    path = cli.ok("scratchpad", "implement-auth", "--content", "x", "--json").json["path"]
    assert path.endswith(
        "sessions/abc123-def456/tasks/implement-auth-abc123-scratchpad.md".replace("/", os.sep)
    )
    unknown = cli("session", "switch", "nosuch")
    assert unknown.code == 1
    assert "session list" in unknown.err
    [current] = [found for found in cli.ok("session", "list", "--json").json if found["current"]]
    assert current["tasks"] == ["implement-auth"]


def test_an_agent_s_shell_stays_in_its_own_session(cli: Any) -> None:
    cli.ok("scratchpad", "agent-task", "--content", "x", CLAUDE_MEMORY_SESSION="agent-1111", CLAUDECODE="1")
    switched = cli.ok("session", "start", "--name", "mine", CLAUDE_MEMORY_SESSION="agent-1111")
    assert "tied to session agent-1111" in switched.err
    assert (
        cli.ok("session", "info", "--json", CLAUDE_MEMORY_SESSION="agent-1111").json["session_id"]
        == "agent-1111"
    )
    shown = cli.ok("status").out
    assert "session agent-1111" in shown
    cli.ok("plan", "agent-task", "--content", "written by the person")
    [task] = cli.ok("status", "--json").json["tasks"]
    assert (task["session"], task["phase"]) == ("agent-1111", "planning")


# --- project and context


def test_the_project_is_described(cli: Any) -> None:
    (cli.project / "pyproject.toml").write_text('[project]\nname = "shop"\ndependencies = ["fastapi"]\n')
    assert "FastAPI" in cli.ok("project-info").out
    (cli.project / "pyproject.toml").write_text('[project]\nname = "shop"\ndependencies = ["django"]\n')
    assert "Django" in cli.ok("project-context", "--refresh").out
    assert cli.ok("project-context", "--json").json["languages"] == ["Python"]


def test_a_sub_agent_would_be_told_of_the_tasks(cli: Any) -> None:
    assert cli.ok("context").out == ""
    cli.ok("init")
    for task in ("implement-auth", "add-testing"):
        cli.ok("scratchpad", task, "--content", "x")
    cli.ok("plan", "implement-auth", "--content", "x")
    shown = cli.ok("context").out
    assert str(cli.project / ".claude-memories") in shown
    assert "- implement-auth: planning, plan locked" in shown
    assert "- add-testing: discovery" in shown


# --- export, clean-up, debugging


def test_exports_parse_in_the_narrowest_terminal_and_through_pipes(cli: Any) -> None:
    task = "a task with quite a long name, emoji 🎉 and 漢字"
    cli.ok("scratchpad", task, "--content", "long words " * 50 + "[bold]not markup[/bold]")
    for columns in ("20", "200"):
        exported = cli.ok("export", task, "--format", "json", COLUMNS=columns)
        subprocess.run(
            [sys.executable, "-m", "json.tool"], input=exported.out.encode(), check=True, capture_output=True
        )
        assert exported.json["scratchpad"].endswith("[bold]not markup[/bold]")
    if sys.platform != "win32":
        assert json.loads(on_a_terminal(cli, "export", task, columns=20))["task"] == task
    assert cli.ok("export", task, "--format", "md").out.startswith(f"# {task}\n")
    assert cli.ok("export", task, "--format", "html").out.startswith("<!doctype html>")
    cli.ok("export", task, "--output", "backup.json")
    assert json.loads((cli.project / "backup.json").read_text("utf-8"))["task"] == task
    unknown = cli("export", task, "--format", "pdf")
    assert (unknown.code, "'json', 'md', 'html'" in unknown.err) == (2, True)


def on_a_terminal(cli: Any, *arguments: str, columns: int) -> str:
    """What a command writes to a terminal of so many columns."""
    import pty  # not on Windows

    leader, follower = pty.openpty()
    environment = {
        **os.environ,
        "CLAUDE_MEMORY_HOME": str(cli.home),
        "COLUMNS": str(columns),
        "TERM": "xterm",
    }
    process = subprocess.Popen(
        [*cli.command(), *arguments], cwd=cli.project, env=environment, stdout=follower
    )
    os.close(follower)
    written = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux reports the end of a terminal as an error
            break
        if not piece:
            break
        written += piece
    os.close(leader)
    assert process.wait() == 0
    return written.decode("utf-8").replace("\r\n", "\n")


def test_old_sessions_are_cleaned_into_an_archive(cli: Any) -> None:
    cli.ok("session", "start", "--id", "old")
    cli.ok("scratchpad", "task", "--content", "x")
    cli.ok("session", "start", "--id", "new")
    assert cli.ok("cleanup", "--days", "30", "--json").json["sessions"] == []
    assert cli.ok("cleanup", "--days", "0", "--dry-run", "--json").json["sessions"] == ["old"]
    unasked = cli("cleanup", "--days", "0")
    assert unasked.code == 1
    assert "1 session would be archived: repeat it with --yes" in unasked.err
    done = cli.ok("cleanup", "--days", "0", "--yes", "--json").json
    assert done["lock_files"] >= 1
    assert done["sessions"] == ["old"]
    assert Path(done["archives"][0]).is_file()
    assert [found["session_id"] for found in cli.ok("session", "list", "--json").json] == ["new"]


def test_debugging_shows_where_a_request_failed(cli: Any) -> None:
    for arguments, variables in (
        (["status", "none"], {"CLAUDE_MEMORY_DEBUG": "1"}),
        (["--debug", "status", "none"], {}),
    ):
        assert "Traceback" in cli(*arguments, **variables).err
    plain = cli("status", "none")
    assert (plain.code, plain.out) == (1, "")
    assert plain.err == "claude-memory: no task 'none' in this project; `claude-memory status` lists all\n"


def test_loosened_permissions_change_nothing(cli: Any) -> None:
    cli.ok("init")
    cli.ok("scratchpad", "task", "--content", "x")
    cli.ok("plan", "task", "--content", "the plan")
    for path in (cli.project / ".claude-memories").rglob("*"):
        path.chmod(0o755)
    assert cli("plan", "task", "--content", "again").code == 1
    assert cli.ok("status", "--json", "--verify").json["problems"] == []


def test_what_git_clean_deleted_is_brought_back(cli: Any) -> None:
    cli.ok("init")
    cli.ok("scratchpad", "task", "--content", "explored")
    shutil.rmtree(cli.project / ".claude-memories")
    lost = cli.ok("status")
    assert "--recover" in lost.err
    assert "task" in cli.ok("status", "--recover").out
    assert cli.ok("scratchpad", "task").out == "explored\n"


# --- Python


def test_the_three_phases_in_python(cli: Any) -> None:
    shown = python(
        cli,
        """
from claude_memory import MemoryAPI

api = MemoryAPI()
api.create_scratchpad("implement-cache", "which cache?")
api.update_scratchpad("implement-cache", "memory first, then redis")
api.create_plan("implement-cache", "1. cachetools\\n2. redis")
api.append_progress("implement-cache", "Started")
api.append_progress("implement-cache", "✅ both layers")
status = api.get_task_status("implement-cache")
print(f"Task: {status.task_name}")
print(f"Phase: {status.current_phase}")
print(f"Files: {len(status.files)} files")
""",
    )
    assert shown == "Task: implement-cache\nPhase: execution\nFiles: 3 files\n"
    assert list(cli.project.iterdir()) == []  # never initialised, so never written to


def test_sessions_phases_lists_and_exports_in_python(cli: Any) -> None:
    cli.ok("scratchpad", "my-task", "--content", "x")
    cli.ok("plan", "my-task", "--content", "y")
    shown = python(
        cli,
        """
import json
from claude_memory import MemoryAPI, SessionManager
from claude_memory.core import WorkflowEnforcer

session_mgr = SessionManager()
current_session = session_mgr.get_current_session()
session_id = current_session.session_id
session_mgr.switch_to_session("other-session-id")
assert session_mgr.get_current_session().session_id == "other-session-id"
session_mgr.switch_to_session(session_id)

api = MemoryAPI()
enforcer = WorkflowEnforcer(api.memory_manager)
assert enforcer.get_current_phase("my-task") == "planning"
for task in api.list_tasks():
    print(f"{task.name}: {task.current_phase} ({task.file_count} files)")
print(json.dumps(api.export_task("my-task", format="json"), indent=2))
""",
    )
    first, _, rest = shown.partition("\n")
    assert first == "my-task: planning (2 files)"
    assert json.loads(rest)["plan"] == "y"


def test_a_service_that_never_plans(cli: Any) -> None:
    python(
        cli,
        """
from claude_memory import MemoryAPI

class MyService:
    def __init__(self):
        self.memory = MemoryAPI()

    def start_feature(self, feature_name):
        self.memory.create_scratchpad(feature_name, f"Starting work on {feature_name}...")

    def log_progress(self, feature_name, progress):
        self.memory.append_progress(feature_name, progress)

service = MyService()
service.start_feature("user-notifications")
service.log_progress("user-notifications", "email templates")
service.log_progress("user-notifications", "queue")
""",
    )
    status = cli.ok("status", "user-notifications", "--json").json
    assert (status["phase"], status["entries"], status["unplanned_entries"]) == ("execution", 2, 2)


def test_storage_names_and_context_of_one_s_own(cli: Any, tmp_path: Path) -> None:
    python(
        cli,
        f"""
from claude_memory import MemoryAPI

api = MemoryAPI(storage_path={str(tmp_path / "custom" / ".memories")!r})
api.memory_manager.set_file_pattern("{{task}}-{{timestamp}}-{{phase}}.md")
api.context_manager.add_custom_context({{"framework": "FastAPI", "database": "PostgreSQL", "deployment": "Docker"}})
api.create_scratchpad("task", "x")
assert api.context_manager.get_context().custom["database"] == "PostgreSQL"
""",
    )
    [path] = (tmp_path / "custom" / ".memories").rglob("*-scratchpad.md")
    assert path.name.startswith("task-20")


def test_the_page_about_tasks_tells_the_truth(cli: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text("utf-8")
    programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert "implement-cache execution 3" in python(cli, "\n".join(programs))
    scripts = "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    commands = [shlex.split(part) for part in scripts.split("claude-memory ")[1:]]
    assert len(commands) >= 8
    for command in commands:
        cli.ok(*command)
