"""Changing a setting keeps the person's own file, and a wrong value changes nothing."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from claude_memory.errors import ConfigFault, Conflict
from claude_memory.platform import config_file
from claude_memory.platform.locks import try_lock

OWN = """# my settings
search_limit = 5   # I read no more

# unknown keys are reported, not deleted
exclude = ["a/*"]
"""


def test_comments_and_order_survive_a_change(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(OWN)
    config_file.assign(tmp_path, "search_limit", "7")
    assert (tmp_path / "config.toml").read_text() == OWN.replace("= 5", "= 7")


def test_the_file_is_private(tmp_path: Path) -> None:
    path = config_file.assign(tmp_path / "new", "min_relevance", "0.3")
    assert tomllib.loads(path.read_text()) == {"min_relevance": 0.3}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_list_is_written_as_a_list(tmp_path: Path) -> None:
    path = config_file.assign(tmp_path, "exclude", "a/*, b/*")
    assert tomllib.loads(path.read_text()) == {"exclude": ["a/*", "b/*"]}


@pytest.mark.parametrize(
    ("key", "value"), [("search_limit", "many"), ("search_limit", "-1"), ("layout", "odd"), ("nonsense", "1")]
)
def test_a_wrong_value_changes_nothing(tmp_path: Path, key: str, value: str) -> None:
    (tmp_path / "config.toml").write_text(OWN)
    with pytest.raises(ConfigFault, match=key):
        config_file.assign(tmp_path, key, value)
    assert (tmp_path / "config.toml").read_text() == OWN


def test_a_misspelt_key_is_guessed(tmp_path: Path) -> None:
    with pytest.raises(ConfigFault, match="did you mean search_limit"):
        config_file.assign(tmp_path, "search_limits", "3")


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("search_limit = = 3")
    with pytest.raises(ConfigFault, match=r"config\.toml"):
        config_file.assign(tmp_path, "search_limit", "3")
    assert (tmp_path / "config.toml").read_text() == "search_limit = = 3"


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles.toml"
    elsewhere.write_text(OWN)
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").symlink_to(elsewhere)
    config_file.assign(home, "search_limit", "8")
    assert (home / "config.toml").is_symlink()
    assert "search_limit = 8" in elsewhere.read_text()


def test_taking_a_setting_out_brings_its_default_back(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(OWN)
    assert config_file.remove(tmp_path, "search_limit")
    assert not config_file.remove(tmp_path, "search_limit")
    assert config_file.resolved(tmp_path, None)["search_limit"].value == 10
    assert not config_file.remove(tmp_path / "nowhere", "search_limit")


def test_two_changes_at_once_do_not_lose_one(tmp_path: Path) -> None:
    with try_lock(tmp_path / "config.lock") as taken:
        assert taken
        with pytest.raises(Conflict, match="another process"):
            config_file.assign(tmp_path, "search_limit", "3")


def test_the_origin_of_each_value_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / ".claude-memories").mkdir(parents=True)
    (project / ".claude-memories" / "config.json").write_text('{"layout": "repo", "store": "sqlite:///evil"}')
    (tmp_path / "config.toml").write_text("search_limit = 3")
    monkeypatch.setenv("CLAUDE_MEMORY_STORE", "sqlite:///elsewhere")
    found = config_file.resolved(tmp_path, project)
    assert (found["layout"].value, found["layout"].origin) == ("repo", "project")
    assert (found["search_limit"].value, found["search_limit"].origin) == (3, "config.toml")
    assert (found["store"].value, found["store"].origin) == ("sqlite:///elsewhere", "environment")
    assert found["min_relevance"].origin == "default"
