"""Settings: resolved once, in a fixed order; a cloned repository may set next to nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from claude_memory import settings
from claude_memory.errors import ConfigFault
from claude_memory.settings import KEYS, Settings, load


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in settings.ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".claude-memories").mkdir(parents=True)
    return folder


def user_says(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, "utf-8")


def project_says(project: Path, document: object) -> None:
    (project / ".claude-memories" / "config.json").write_text(json.dumps(document), "utf-8")


def test_without_any_file_every_key_has_its_default_and_nothing_is_created(tmp_path: Path) -> None:
    assert load(tmp_path / "none", project_root=tmp_path / "nowhere") == Settings()
    assert list(tmp_path.iterdir()) == []


def test_there_are_at_most_thirty_keys_each_documented() -> None:
    assert len(KEYS) <= 36
    for name, item in KEYS.items():
        assert len(item.metadata["doc"]) > 10, name


def test_flag_beats_environment_beats_user_beats_project_beats_default(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_says(project, {"layout": "repo", "exclude": ["dist/**"]})
    assert load(home, project_root=project).layout == "repo"
    user_says(home, 'layout = "private"\nstore = "sqlite:///a.db"\nlog_level = "error"\n')
    loaded = load(home, project_root=project)
    assert (loaded.layout, loaded.exclude, loaded.store) == ("private", ("dist/**",), "sqlite:///a.db")
    monkeypatch.setenv("CLAUDE_MEMORY_STORE", "sqlite:///b.db")
    monkeypatch.setenv("CLAUDE_MEMORY_DEBUG", "1")
    loaded = load(home, project_root=project, flags={"search_limit": None})
    assert (loaded.store, loaded.log_level, loaded.search_limit) == ("sqlite:///b.db", "debug", 10)
    assert load(home, flags={"store": "sqlite:///c.db"}).store == "sqlite:///c.db"


def test_a_cloned_repository_sets_only_what_is_allowed(home: Path, project: Path) -> None:
    allowed = {name for name, item in KEYS.items() if item.metadata["project"]}
    assert allowed == {"context_tokens", "exclude", "layout"}
    evil = dict.fromkeys(KEYS, "endpoint:http://evil.example")
    project_says(project, evil | {"identity": "someone else", "trust": "user", "__class__": "x"})
    loaded = load(home, project_root=project)
    for name in KEYS.keys() - allowed:
        assert getattr(loaded, name) == getattr(Settings(), name), name


@pytest.mark.parametrize(
    "document",
    [[], "text", 3, None, {"layout": "elsewhere"}, {"layout": 1}, {"exclude": [1]}, {"exclude": {"a": "b"}},
     {"context_tokens": -1}, {"context_tokens": "many"}, {"context_tokens": 1e300}, {"context_tokens": True}],
)  # fmt: skip
def test_what_a_repository_says_wrongly_is_ignored(home: Path, project: Path, document: object) -> None:
    project_says(project, document)
    assert load(home, project_root=project) == Settings()


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"\xff\xfe", b"[" * 50_000, b'{"context_tokens": ' + b"9" * 5000 + b"}"]
)
def test_a_broken_project_file_is_ignored(home: Path, project: Path, raw: bytes) -> None:
    (project / ".claude-memories" / "config.json").write_bytes(raw)
    assert load(home, project_root=project) == Settings()


def test_a_huge_project_file_is_not_read(home: Path, project: Path) -> None:
    project_says(project, {"layout": "repo", "padding": "x" * 100_000})
    assert load(home, project_root=project).layout == "private"
    file = project / ".claude-memories" / "config.json"
    file.write_text('{"layout": "repo"}' + " " * 100_000, "utf-8")  # the head alone would be a document
    assert load(home, project_root=project).layout == "private"


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are POSIX")
def test_a_project_file_that_is_a_link_or_a_pipe_is_not_opened(home: Path, project: Path) -> None:
    file = project / ".claude-memories" / "config.json"
    file.symlink_to("/dev/zero")
    assert load(home, project_root=project) == Settings()
    file.unlink()
    os.mkfifo(file)
    assert load(home, project_root=project) == Settings()


@pytest.mark.parametrize(
    "text", ["store = ", "a = 1\na = 2\n", "\x00", "[[[", "store = 'unclosed", "x = " + "[" * 5000]
)
def test_a_broken_user_file_is_named_with_its_reason(home: Path, text: str) -> None:
    user_says(home, text)
    with pytest.raises(ConfigFault, match=r"config\.toml: .+"):
        load(home)


def test_a_user_file_in_another_encoding_is_named(home: Path) -> None:
    (home / "config.toml").write_bytes('layout = "privé"'.encode("latin-1"))
    with pytest.raises(ConfigFault, match=r"config\.toml"):
        load(home)


def test_a_mark_that_editors_put_first_is_no_error(home: Path) -> None:
    (home / "config.toml").write_bytes(b"\xef\xbb\xbfsearch_limit = 3\r\n")
    assert load(home).search_limit == 3


def test_keys_of_another_version_do_not_stop_anything_and_are_told(home: Path) -> None:
    user_says(home, "search_limit = 5\nserch_limit = 6\n[future]\nx = 1\n")
    assert load(home).search_limit == 5
    assert settings.unknown_keys(home) == ["future", "serch_limit"]
    assert settings.unknown_keys(home / "none") == []
    assert "future" not in settings.origins(home)


@pytest.mark.parametrize(
    ("key", "value"),
    [("search_limit", "'ten'"), ("search_limit", "3.5"), ("search_limit", "true"), ("search_limit", "-1"), ("search_limit", "inf"),
     ("search_limit", "99999999999999999999"), ("search_limit", "1979-05-27"), ("search_limit", "[1]"),
     ("min_relevance", "nan"), ("min_relevance", "inf"), ("min_relevance", "1.5"), ("min_relevance", "'high'"),
     ("store", "5"), ("store", "false"), ("embedder", "{a = 1}"), ("log_level", "'loud'"), ("layout", "'public'"),
     ("exclude", "[1]"), ("exclude", "3")],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_file_and_key(home: Path, key: str, value: str) -> None:
    user_says(home, f"{key} = {value}\n")
    with pytest.raises(ConfigFault, match=rf"config\.toml: setting {key}"):
        load(home)


@pytest.mark.parametrize(
    ("key", "value", "result"),
    [("search_limit", "7", 7), ("search_limit", 7.0, 7), ("min_relevance", 1, 1.0), ("min_relevance", "0.25", 0.25),
     ("exclude", "a/**, b ,", ("a/**", "b")), ("exclude", ["x"], ("x",)), ("keep_events_days", 0, 0)],
)  # fmt: skip
def test_values_come_in_their_keys_type(key: str, value: object, result: object) -> None:
    found = settings.checked(key, value)
    assert found == result
    assert type(found) is type(getattr(Settings(), key))


def test_an_unknown_flag_is_an_error(home: Path) -> None:
    with pytest.raises(ConfigFault, match="unknown setting 'nonsense'"):
        load(home, flags={"nonsense": 1})


def test_the_home_is_absolute_and_a_missing_one_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_MEMORY_HOME", "relative")
    assert settings.home() == tmp_path / "relative"
    monkeypatch.setenv("CLAUDE_MEMORY_HOME", "~no-such-user-here/x")
    with pytest.raises(ConfigFault, match="CLAUDE_MEMORY_HOME"):
        settings.home()
    monkeypatch.delenv("CLAUDE_MEMORY_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert settings.home() == tmp_path / ".claude" / "memory"
