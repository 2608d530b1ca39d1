"""Install and uninstall: what others wrote stays byte for byte, twice is once, and nothing is half done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from claude_memory.errors import ConfigFault
from claude_memory.install import installer
from claude_memory.install.edits import INSTALLABLE, edits, has_hooks
from claude_memory.install.installer import install, uninstall
from claude_memory.install.plugin import HOOK_FILE

OTHER_HOOK = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo ünï"}]}'
WILD = {
    "missing": None,
    "empty": b"",
    "blank": b"  \n\n",
    "empty object": b"{}",
    "empty object, newline": b"{}\n",
    "empty object, spaced": b"{ \n }\n",
    "one line": b'{"theme":"dark","permissions":{"allow":["Bash(ls:*)"]}}',
    "one line, spaced": b'{ "theme": "dark" , "verbose" : true }\n',
    "two spaces": b'{\n  "theme": "dark",\n  "model": "opus"\n}\n',
    "four spaces": b'{\n    "theme": "dark",\n    "env": {\n        "A": "1"\n    }\n}',
    "tabs": b'{\n\t"theme": "dark",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
    "CRLF": b'{\r\n  "theme": "dark",\r\n  "model": "opus"\r\n}\r\n',
    "BOM": b'\xef\xbb\xbf{\n  "theme": "dark"\n}\n',
    "no final newline": b'{\n  "theme": "dark"\n}',
    "many final newlines": b'{\n  "theme": "dark"\n}\n\n\n',
    "odd indentation": b'{\n "a": 1,\n      "b": 2,\n  "c": {\n   "d": [1,\n2,\n   3]}\n}\n',
    "no indentation": b'{\n"theme": "dark",\n"model": "opus"\n}\n',
    "unusual order": b'{\n  "zz": 1,\n  "hooks": {},\n  "aa": 2\n}\n',
    "empty hooks": b'{"hooks": {}}',
    "hooks of others": f'{{\n  "hooks": {{\n    "Stop": [\n      {OTHER_HOOK}\n    ]\n  }}\n}}\n'.encode(),
    "hooks of others, one line": f'{{"hooks":{{"PreToolUse":[{OTHER_HOOK},{OTHER_HOOK}]}},"x":1}}'.encode(),
    "empty list of an event": b'{\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    "events we do not know": f'{{"hooks": {{"Someday": [{OTHER_HOOK}]}}}}'.encode(),
    "unicode": '{\n  "note": "héllo 🧠 \\u00e9 日本",\n  "clé": "é"\n}\n'.encode(),
    "escapes": b'{"p": "C:\\\\Users\\\\a\\"b\\"", "q": "\\/", "r": "{[,]}"}\n',
    "numbers": b'{"a": 1e5, "b": -0.0, "c": 12345678901234567890, "d": null, "e": [true,false]}\n',
    "deep": b'{"a":' * 40 + b"1" + b"}" * 40 + b"\n",
    "duplicate keys": b'{\n  "theme": "a",\n  "theme": "b",\n  "env": {},\n  "env": {"X": "1"}\n}\n',
    "duplicate hooks": f'{{"hooks": {{}}, "hooks": {{"Stop": [{OTHER_HOOK}]}}}}'.encode(),
    "other servers": b'{\n  "mcpServers": {\n    "github": {"command": "gh-mcp", "args": []}\n  }\n}\n',
    "long lines": b'{"allow": [' + b", ".join(b'"Bash(x%d:*)"' % n for n in range(500)) + b"]}\n",
    "commas at line starts": b'{ "a": 1\n, "b": 2\n, "hooks": { "Stop": [] }\n}\n',
}


@pytest.fixture
def home(scratch_home: Path) -> Path:
    return scratch_home / "memory"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(scratch_home: Path) -> Path:
    path = scratch_home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    return path


def everything(*roots: Path) -> dict[str, bytes | str]:
    """Every file and link below some folders, our home left out."""
    found: dict[str, bytes | str] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if "memory" in path.relative_to(root).parts:
                continue
            if path.is_symlink():
                found[str(path)] = f"-> {path.readlink()}"
            elif path.is_file():
                found[str(path)] = path.read_bytes()
            else:
                found[str(path)] = "folder"
    return found


def without_client(
    home: Path, agent: str, scope: str, project: Path, **more: bool
) -> list[installer.InstallStep]:
    return install(home, agent, scope, project, client="", **more)


def test_there_are_thirty_of_them() -> None:
    assert len(WILD) >= 30


@pytest.mark.parametrize("name", WILD)
def test_settings_found_in_the_wild_come_back_byte_for_byte(
    name: str, home: Path, project: Path, settings: Path, scratch_home: Path
) -> None:
    content = WILD[name]
    for path in (settings, scratch_home / ".claude.json"):
        if content is not None:
            path.write_bytes(content)
    before = everything(scratch_home, project)
    without_client(home, "claude", "user", project)
    installed = settings.read_bytes()
    _others_are_untouched(content, installed)
    assert has_hooks(installed)
    again = without_client(home, "claude", "user", project)
    assert not any(step.changed for step in again), "twice is once"
    assert settings.read_bytes() == installed
    uninstall(home, None, project, client="")
    assert everything(scratch_home, project) == before
    uninstall(home, None, project, client="")
    assert everything(scratch_home, project) == before


def _others_are_untouched(before: bytes | None, after: bytes) -> None:
    now = json.loads(after.decode("utf-8-sig"))
    then = json.loads((before or b"{}").decode("utf-8-sig").strip() or "{}")
    for key, value in then.items():
        if key != "hooks":
            assert now[key] == value
    for event, groups in (then.get("hooks") or {}).items():
        assert now["hooks"][event][: len(groups)] == groups
    # Ours is put in and nothing of theirs is rewritten: their characters still stand there in their order.
    rest = iter(after)
    assert all(byte in rest for byte in b"".join((before or b"").split()))


@pytest.mark.parametrize("name", WILD)
def test_when_somebody_edits_meanwhile_only_ours_goes(
    name: str, home: Path, project: Path, settings: Path
) -> None:
    if WILD[name] is not None:
        settings.write_bytes(WILD[name] or b"")
    without_client(home, "claude", "user", project)
    edited = json.loads(settings.read_bytes().decode("utf-8-sig"))
    edited["added"] = {"by": "somebody"}
    edited["hooks"].setdefault("Stop", []).append(json.loads(OTHER_HOOK))
    settings.write_text(json.dumps(edited, indent=3), "utf-8")
    uninstall(home, None, project, client="")
    left = json.loads(settings.read_bytes())
    assert left["added"] == {"by": "somebody"}
    assert json.loads(OTHER_HOOK) in left["hooks"]["Stop"]
    assert HOOK_FILE not in settings.read_text("utf-8")


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("agent", INSTALLABLE)
def test_every_agent_gets_its_entries_and_loses_them_again(
    agent: str, scope: str, home: Path, project: Path, scratch_home: Path
) -> None:
    wanted = edits(agent, scope, project, home)
    paths = {edit.path for edit in wanted if not isinstance(edit.entries, bytes)}
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b'# mine\nmodel = "o3"' if path.suffix == ".toml" else b'{\n\t"mine": true\n}')
    before = everything(scratch_home, project)
    without_client(home, agent, scope, project)
    for path in paths:
        assert b"claude" in path.read_bytes()
    assert not any(step.changed for step in without_client(home, agent, scope, project))
    uninstall(home, agent, project, client="")
    assert everything(scratch_home, project) == before


def test_without_the_client_skill_and_commands_are_copied_and_removed(
    home: Path, project: Path, scratch_home: Path
) -> None:
    folder = scratch_home / ".claude"
    theirs = folder / "commands" / "claude-memory" / "search.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine\n")
    before = everything(scratch_home, project)
    without_client(home, "claude", "user", project)
    skill = (folder / "skills" / "claude-memory" / "SKILL.md").read_text("utf-8")
    assert skill.startswith("---\nname: claude-memory\n")
    assert (folder / "skills" / "claude-memory-summarize-context" / "SKILL.md").exists()
    assert (folder / "commands" / "claude-memory" / "remember.md").exists()
    assert theirs.read_text() == "mine\n"
    uninstall(home, "claude", project, client="")
    assert everything(scratch_home, project) == before


@pytest.mark.parametrize("agent", INSTALLABLE)
def test_where_nothing_was_nothing_is_left(agent: str, home: Path, project: Path, scratch_home: Path) -> None:
    before = everything(scratch_home, project)
    without_client(home, agent, "project", project)
    assert everything(scratch_home, project) != before
    uninstall(home, None, project, client="")
    assert everything(scratch_home, project) == before


@pytest.mark.parametrize("agent", INSTALLABLE)
def test_a_dry_run_changes_nothing_and_foretells_all(
    agent: str, home: Path, project: Path, scratch_home: Path
) -> None:
    before = everything(scratch_home, project)
    foretold = without_client(home, agent, "user", project, dry_run=True)
    assert everything(scratch_home, project) == before
    assert not home.exists()
    assert foretold == without_client(home, agent, "user", project)


def test_a_dry_run_shows_the_lines_that_would_be_written(home: Path, project: Path, settings: Path) -> None:
    settings.write_text('{\n  "env": {"KEY": "not-yours-to-print"},\n  "theme": "dark"\n}\n')
    before = settings.read_text()
    shown = {
        step.path: step.difference for step in without_client(home, "claude", "user", project, dry_run=True)
    }
    difference = shown[str(settings)]
    assert "claude_memory_hook.py" in difference
    assert "not-yours-to-print" not in difference
    without_client(home, "claude", "user", project)
    added = [line[1:] for line in difference.splitlines() if line.startswith("+")]
    assert all(line in settings.read_text().splitlines() for line in added)
    assert [line for line in settings.read_text().splitlines() if line not in before.splitlines()] == added
    assert all(not step.difference for step in without_client(home, "claude", "user", project, dry_run=True))


def test_a_link_stays_a_link(home: Path, project: Path, settings: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_bytes(b'{"theme": "dark"}')
    settings.symlink_to(target)
    without_client(home, "claude", "user", project)
    assert settings.is_symlink()
    assert has_hooks(target.read_bytes())
    uninstall(home, None, project, client="")
    assert settings.is_symlink()
    assert target.read_bytes() == b'{"theme": "dark"}'


def test_a_read_only_file_is_refused_before_anything_is_changed(
    home: Path, project: Path, settings: Path, scratch_home: Path
) -> None:
    settings.write_bytes(b"{}")
    servers = scratch_home / ".claude.json"
    servers.write_bytes(b'{"x": 1}')
    servers.chmod(0o444)
    before = everything(scratch_home, project)
    with pytest.raises(ConfigFault, match="read-only"):
        without_client(home, "claude", "user", project)
    assert everything(scratch_home, project) == before


@pytest.mark.parametrize(
    "content",
    [b"[]", b"{,}", b'{"hooks": 3}', b'{"hooks": {"Stop": "x"}}', b"\xff\xfe{", b"// x\n{}", b"null"],
)
def test_a_file_we_do_not_understand_is_left_alone(
    content: bytes, home: Path, project: Path, settings: Path
) -> None:
    settings.write_bytes(content)
    with pytest.raises(ConfigFault, match="nothing was changed"):
        without_client(home, "claude", "user", project)
    assert settings.read_bytes() == content
    uninstall(home, None, project, client="")
    assert settings.read_bytes() == content


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_modes_survive(mode: int, home: Path, project: Path, settings: Path) -> None:
    settings.write_bytes(b"{}")
    settings.chmod(mode)
    without_client(home, "claude", "user", project)
    assert settings.stat().st_mode & 0o777 == mode
    uninstall(home, None, project, client="")
    assert settings.stat().st_mode & 0o777 == mode


def test_a_server_of_somebody_elses_with_our_name_stays(
    home: Path, project: Path, scratch_home: Path
) -> None:
    content = b'{"mcpServers": {"claude-memory": {"command": "my-own"}}}'
    (scratch_home / ".claude.json").write_bytes(content)
    with pytest.raises(ConfigFault, match="already called claude-memory"):
        without_client(home, "claude", "user", project)
    uninstall(home, None, project, client="")
    assert (scratch_home / ".claude.json").read_bytes() == content


def test_a_hook_that_somebody_put_beside_ours_stays(home: Path, project: Path, settings: Path) -> None:
    without_client(home, "claude", "user", project)
    document = json.loads(settings.read_bytes())
    document["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    settings.write_text(json.dumps(document), "utf-8")
    uninstall(home, None, project, client="")
    assert json.loads(settings.read_bytes()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
    }


def test_uninstalling_from_another_folder_finds_the_project(
    home: Path, project: Path, tmp_path: Path
) -> None:
    without_client(home, "claude", "project", project)
    path = project / ".claude" / "settings.json"
    path.write_bytes(path.read_bytes() + b"\n")  # edited since
    uninstall(home, None, tmp_path, client="")
    assert HOOK_FILE.encode() not in path.read_bytes()


def test_entries_whose_record_was_lost_are_found_all_the_same(
    home: Path, project: Path, settings: Path
) -> None:
    settings.write_bytes(b'{"theme": "dark"}')
    without_client(home, "claude", "user", project)
    (home / installer.RECORD).unlink()
    uninstall(home, None, project, client="")
    assert json.loads(settings.read_bytes()) == {"theme": "dark"}


def test_uninstalling_never_touches_memories(home: Path, project: Path) -> None:
    without_client(home, "claude", "user", project)
    for name in ("memory.db", "memories.jsonl", "config.toml"):
        (home / name).write_text("precious")
    uninstall(home, None, project, client="")
    assert {path.name for path in home.iterdir()} >= {"memory.db", "memories.jsonl", "config.toml"}


_CLIENT = """#!/bin/sh
case "$2 $3" in
"install "*) echo '{"theme":"dark","enabledPlugins":{"lasting-memory@x":true}}' > "$SETTINGS" ;;
"uninstall "*) echo '{"theme":"dark","enabledPlugins":{}}' > "$SETTINGS" ;;
esac
"""


def test_what_the_client_rewrote_comes_back_byte_for_byte(
    home: Path, project: Path, settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = tmp_path / "claude"
    client.write_text(_CLIENT)
    client.chmod(0o700)
    monkeypatch.setenv("SETTINGS", str(settings))
    original = b'{\n\t"theme": "dark"\n}'
    settings.write_bytes(original)
    without_client(home, "claude", "user", project)
    for _ in range(2):
        install(home, "claude", "user", project, client=str(client))
        assert b"lasting-memory" in settings.read_bytes()
        assert not has_hooks(settings.read_bytes()), "plugin and settings together would run twice"
    [step] = uninstall(home, None, project, client=str(client))
    assert step.what.startswith("plugin")
    assert settings.read_bytes() == original
    assert not (home / "plugin").exists()
    assert uninstall(home, None, project, client=str(client)) == []


_KILLED = """
import os, sys
from pathlib import Path
from claude_memory.install import installer
left = int(sys.argv[1])
def counted(original):
    def call(*given, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return original(*given, **named)
    return call
for name in ("open", "write", "replace", "rename", "fsync", "fdatasync", "mkdir", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
work = installer.install if sys.argv[2] == "install" else None
home, project = Path(sys.argv[3]), Path(sys.argv[4])
if work:
    work(home, "claude", "user", project, client="")
else:
    installer.uninstall(home, None, project, client="")
"""


@pytest.mark.parametrize("what", ["install", "uninstall"])
def test_killed_at_any_step_a_file_is_old_or_new(
    what: str, home: Path, project: Path, settings: Path, scratch_home: Path
) -> None:
    original = b'{\n\t"theme": "dark"\n}'
    servers = scratch_home / ".claude.json"
    for step in range(0, 200, 3):
        for path in (settings, servers):
            path.write_bytes(original)
        if what == "uninstall":
            without_client(home, "claude", "user", project)
        new = {path: path.read_bytes() for path in (settings, servers)}
        command = [sys.executable, "-c", _KILLED, str(step), what, str(home), str(project)]
        done = subprocess.run(command, capture_output=True)
        for path in (settings, servers):
            now = path.read_bytes()
            assert now in (original, new[path]) or has_hooks(now) or b"claude_memory" in now
            json.loads(now)
        uninstall(home, None, project, client="")
        assert settings.read_bytes() == original
        assert servers.read_bytes() == original
        if done.returncode == 0:
            return
    raise AssertionError("it never came to its end")


def test_a_full_disk_leaves_the_old_file(
    home: Path, project: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_bytes(b'{"theme": "dark"}')

    real = installer.write_atomically

    def full(path: Path, content: bytes, **how: int) -> None:
        if path.name == settings.name:
            raise OSError(28, "No space left on device")
        real(path, content, **how)

    monkeypatch.setattr(installer, "write_atomically", full)
    with pytest.raises((ConfigFault, OSError)):
        without_client(home, "claude", "user", project)
    assert settings.read_bytes() == b'{"theme": "dark"}'
