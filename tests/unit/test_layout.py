"""`init` makes one folder that git ignores, and leaves everything else as it was."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from claude_memory.errors import ConfigFault, InvalidInput
from claude_memory.platform.project import prepare


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_project_gets_its_folder_and_nothing_else_changes(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("mine")
    done = prepare(tmp_path)
    assert done.created
    assert done.layout == "private"
    assert set(tree(tmp_path)) == {"CLAUDE.md", ".claude-memories/.gitignore", ".claude-memories/config.json"}
    assert (tmp_path / "CLAUDE.md").read_text() == "mine"
    assert stat.S_IMODE(done.folder.stat().st_mode) == 0o700


def test_git_sees_nothing_of_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    prepare(tmp_path, "repo")
    seen = subprocess.run(
        ["git", "-C", str(tmp_path), "status", "--porcelain"], capture_output=True, check=True
    )
    assert seen.stdout == b""


def test_doing_it_twice_is_doing_it_once(tmp_path: Path) -> None:
    prepare(tmp_path, "repo")
    before = tree(tmp_path)
    again = prepare(tmp_path)
    assert not again.created
    assert not again.changed
    assert again.layout == "repo"
    assert tree(tmp_path) == before


def test_a_new_layout_keeps_other_settings(tmp_path: Path) -> None:
    prepare(tmp_path)
    config = tmp_path / ".claude-memories" / "config.json"
    config.write_text('{"exclude": ["secret/*"]}')
    prepare(tmp_path, "repo")
    assert json.loads(config.read_text()) == {"exclude": ["secret/*"], "layout": "repo"}


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000])
def test_a_broken_config_is_not_overwritten(tmp_path: Path, content: str) -> None:
    prepare(tmp_path)
    config = tmp_path / ".claude-memories" / "config.json"
    config.write_text(content)
    with pytest.raises(ConfigFault, match="repair or remove"):
        prepare(tmp_path, "repo")
    assert config.read_text() == content


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / ".claude-memories").symlink_to(outside)
    with pytest.raises(InvalidInput, match="not a folder"):
        prepare(project)
    assert list(outside.iterdir()) == []


def test_an_unknown_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="private, repo"):
        prepare(tmp_path, "weird")
    assert list(tmp_path.iterdir()) == []
