"""The doctor on agents: where the memory is installed, and what is doubled, gone or old."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from claude_memory.doctor import Check, check
from claude_memory.doctor.surroundings import agents
from claude_memory.install.installer import install
from claude_memory.install.plugin import HOOK_FILE, MARKETPLACE, PLUGIN, hook_program, hooks_with_paths


@pytest.fixture
def home(scratch_home: Path) -> Path:
    return scratch_home / "memory"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path


def named(found: list[Check], name: str) -> list[Check]:
    return [item for item in found if item.name == name]


def put_plugin(scratch_home: Path, program: bytes) -> Path:
    folder = scratch_home / ".claude" / "plugins" / "cache" / MARKETPLACE / PLUGIN / "0.1.0" / "hooks"
    folder.mkdir(parents=True)
    (folder / HOOK_FILE).write_bytes(program)
    hooks = hooks_with_paths("${CLAUDE_PLUGIN_ROOT}/hooks/" + HOOK_FILE, scratch_home / "memory")
    (folder / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    settings = scratch_home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {f"{PLUGIN}@{MARKETPLACE}": True}}))
    return folder


def test_nothing_installed_is_said_and_is_no_fault(home: Path, project: Path) -> None:
    [only] = agents(project, home)
    assert (only.level, only.message) == ("ok", "installed in no agent")


def test_every_place_is_named(home: Path, project: Path) -> None:
    install(home, "codex", "user", project, client="")
    install(home, "claude", "user", project, client="")
    [only] = agents(project, home)
    assert only.level == "ok"
    assert "claude-code (" in only.message
    assert "codex (" in only.message


def test_user_and_project_settings_together_are_one_too_many(home: Path, project: Path) -> None:
    install(home, "claude", "user", project, client="")
    install(home, "claude", "project", project, client="")
    [warning] = named(list(agents(project, home)), "double registration")
    assert warning.level == "warn"


def test_plugin_and_settings_together_are_one_too_many(home: Path, project: Path, scratch_home: Path) -> None:
    put_plugin(scratch_home, hook_program().read_bytes())
    assert named(list(agents(project, home)), "double registration") == []
    install(home, "claude", "project", project, client="")
    assert named(list(agents(project, home)), "double registration")


def test_a_plugin_that_is_switched_off_counts_for_nothing(
    home: Path, project: Path, scratch_home: Path
) -> None:
    put_plugin(scratch_home, hook_program().read_bytes())
    (scratch_home / ".claude" / "settings.json").write_text("{}")
    [only] = agents(project, home)
    assert only.message == "installed in no agent"


def test_an_old_copy_of_the_hook_program_is_pointed_out(
    home: Path, project: Path, scratch_home: Path
) -> None:
    put_plugin(scratch_home, b"# of an older release\n" + hook_program().read_bytes())
    [warning] = named(list(agents(project, home)), "hook program")
    assert warning.level == "warn"
    assert "another release" in warning.message


def test_an_interpreter_that_is_gone_is_a_failure(home: Path, project: Path, scratch_home: Path) -> None:
    for agent in ("claude", "codex"):
        install(home, agent, "user", project, client="")
    for path in (scratch_home / ".claude" / "settings.json", scratch_home / ".codex" / "hooks.json"):
        path.write_text(path.read_text().replace(sys.executable, "/gone/python"))
    found = named(list(agents(project, home)), "interpreter")
    assert [item.level for item in found] == ["fail", "fail"]


def test_a_hook_program_that_is_gone_is_a_failure(home: Path, project: Path) -> None:
    install(home, "claude", "user", project, client="")
    (home / "hooks" / HOOK_FILE).unlink()
    [failure] = named(list(agents(project, home)), "hook program")
    assert failure.level == "fail"


def test_broken_settings_do_not_break_the_doctor(home: Path, project: Path, scratch_home: Path) -> None:
    (scratch_home / ".claude").mkdir()
    (scratch_home / ".claude" / "settings.json").write_bytes(b"{,")
    assert named(check(home, project), "agents")[0].level == "ok"


def test_two_homes_in_use_are_named(home: Path, project: Path, tmp_path: Path) -> None:
    install(tmp_path / "chosen", "claude", "user", project, client="")
    [warning] = named(list(agents(project, home)), "two homes")
    assert str(tmp_path / "chosen") in warning.message
    assert str(home) in warning.message
    assert named(list(agents(project, tmp_path / "chosen")), "two homes") == []


def test_a_package_that_is_gone_is_a_fault(home: Path, project: Path, scratch_home: Path) -> None:
    install(home, "claude", "user", project, client="")
    settings = scratch_home / ".claude" / "settings.json"
    document = json.loads(settings.read_text())
    for group in (group for groups in document["hooks"].values() for group in groups):
        for hook in group["hooks"]:
            hook["args"][-1] = "/gone/site-packages"
    settings.write_text(json.dumps(document))
    [fault] = named(list(agents(project, home)), "package")
    assert fault.level == "fail"
