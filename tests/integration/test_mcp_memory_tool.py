"""Anthropic's memory tool over the plain files: its six commands, and no way out of its folder."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.mcp_talk import words_only

from claude_memory import Memory
from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound
from claude_memory.surfaces.mcp.memory_tool import MemoryTool


@pytest.fixture
def tool(tmp_path: Path) -> MemoryTool:
    return MemoryTool(tmp_path / "memory", tmp_path / "aside")


def run(tool: MemoryTool, command: str, **fields: Any) -> str:
    return str(tool.call({"command": command, **fields}))


def test_it_declares_itself(tool: MemoryTool) -> None:
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}


def test_the_six_commands(tool: MemoryTool) -> None:
    run(tool, "create", path="/memories/notes/plan.md", file_text="one\ntwo\nthree\n")
    assert "/memories/notes/plan.md" in run(tool, "view", path="/memories")
    shown = run(tool, "view", path="/memories/notes/plan.md", view_range=[2, 3])
    assert shown.endswith("     2\ttwo\n     3\tthree")
    run(tool, "str_replace", path="/memories/notes/plan.md", old_str="two", new_str="2")
    run(tool, "insert", path="/memories/notes/plan.md", insert_line=0, insert_text="zero\n")
    assert (tool.folder / "notes" / "plan.md").read_text() == "zero\none\n2\nthree\n"
    run(tool, "rename", old_path="/memories/notes", new_path="/memories/kept")
    run(tool, "delete", path="/memories/kept/plan.md")
    with pytest.raises(NotFound):
        run(tool, "view", path="/memories/kept/plan.md")


def test_nothing_is_overwritten_or_lost(tool: MemoryTool, tmp_path: Path) -> None:
    run(tool, "create", path="/memories/a.md", file_text="first")
    run(tool, "create", path="/memories/b.md", file_text="same same")
    for command, fields in (
        ("create", {"path": "/memories/a.md", "file_text": "second"}),
        ("rename", {"old_path": "/memories/b.md", "new_path": "/memories/a.md"}),
    ):
        with pytest.raises(Conflict):
            run(tool, command, **fields)
    with pytest.raises(InvalidInput, match="2 times"):
        run(tool, "str_replace", path="/memories/b.md", old_str="same", new_str="x")
    assert (tool.folder / "a.md").read_text() == "first"
    run(tool, "delete", path="/memories/a.md")
    [aside] = (tmp_path / "aside").iterdir()
    assert aside.read_text() == "first"


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../evil",
        "/memories/a/../../evil",
        "/memories/./evil",
        "/memories/.hidden",
        "/etc/passwd",
        "memories/x",
        "/memoriesx/y",
        "",
        "/memories/a\x00b",
        "/memories/a\\..\\b",
        "/memories/nul",
        "/memories/trailing.",
        "/memories/" + "x" * 200,
        None,
        7,
    ],
)
def test_no_name_leads_out(tool: MemoryTool, path: Any, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    for command, fields in (
        ("create", {"path": path, "file_text": "x"}),
        ("view", {"path": path}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/y"}),
    ):
        with pytest.raises(InvalidInput):
            run(tool, command, **fields)
    assert sorted(tmp_path.rglob("*")) == before


def test_no_link_leads_out(tool: MemoryTool, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (tool.folder / "way").symlink_to(tmp_path / "outside")
    (tool.folder / "dangling.md").symlink_to(tmp_path / "outside" / "new.md")
    for path in ("/memories/way/secret.md", "/memories/way", "/memories/dangling.md"):
        for command, fields in (
            ("view", {"path": path}),
            ("create", {"path": path, "file_text": "x"}),
            ("delete", {"path": path}),
        ):
            with pytest.raises(InvalidInput, match="link"):
                run(tool, command, **fields)
    assert "way" not in run(tool, "view", path="/memories")
    assert sorted(path.name for path in (tmp_path / "outside").iterdir()) == ["secret.md"]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from(["view", "create", "str_replace", "insert", "delete", "rename", "chmod"]),
    path=st.one_of(st.text(max_size=30), st.text(alphabet="abc./~\\", max_size=20).map("/memories/".__add__)),
    text=st.text(max_size=40),
    line=st.integers(-5, 10),
)
def test_any_command_keeps_inside(
    tool: MemoryTool, tmp_path: Path, command: str, path: str, text: str, line: int
) -> None:
    fields = {
        "path": path, "old_path": path, "new_path": f"{path}x", "file_text": text, "old_str": text, "new_str": path,
        "insert_line": line, "insert_text": text, "view_range": [line, -1],
    }  # fmt: skip
    with contextlib.suppress(MemoryFault):
        run(tool, command, **fields)
    outside = [found for found in tmp_path.iterdir() if found.name not in ("memory", "aside")]
    assert outside == []


def test_secrets_are_cut_before_they_are_written(tool: MemoryTool) -> None:
    key = "ghp_" + "Zk3Qw9Lm2Xv7Tn5Rb8Yc1Hd6Gf4Js0PaUeWi"
    run(tool, "create", path="/memories/keys.md", file_text=f"token {key}\n<private>at home</private>\n")
    run(tool, "insert", path="/memories/keys.md", insert_line=0, insert_text=f"again {key}")
    text = (tool.folder / "keys.md").read_text()
    assert key not in text
    assert "at home" not in text


def test_what_it_writes_can_be_searched(scratch_home: Path, tmp_path: Path) -> None:
    home = words_only(scratch_home / "memory")
    folder = tmp_path / "shop"
    folder.mkdir()
    tool = MemoryTool.for_project(home, folder)
    run(
        tool,
        "create",
        path="/memories/prefs.md",
        file_text="# Preferences\n\nThe espresso machine is descaled on Mondays.\n",
    )
    assert list(folder.iterdir()) == [], "a project that was not initialised is not written to"
    with Memory.open(home, folder) as memory:
        memory.sync_files()
        assert (
            "descaled" in memory.search("when is the espresso machine descaled", min_relevance=0.0)[0].snippet
        )
