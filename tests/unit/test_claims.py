"""What a memory says of a file is checked against the working tree, and silence is the answer in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_memory.lifecycle.staleness import checked, claims


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "client.py").write_text("RETRIES = 7\n\nclass Client:\n    def send(self): ...\n")
    (tmp_path / "app.toml").write_text('timeout = "30s"\n[log]\nlevel: debug\n')
    return tmp_path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The loop is in src/client.py::Client.send()", ""),
        ("The loop is in src/client.py::Client.deliver", "Client.deliver is gone from src/client.py"),
        ("See src/server.py::serve", "src/server.py is gone"),
        ("We set `RETRIES = 5` in `src/client.py`.", "RETRIES in src/client.py changed since, now 7"),
        ("We set `RETRIES = 7` in `src/client.py`.", ""),
        ("app.toml has `timeout = 30s`", ""),
        ("app.toml has `timeout: 3`", "timeout in app.toml changed since, now 30s"),
        ("`backoff = 2` stands in app.toml", "backoff is gone from app.toml"),
        ("elsewhere/x.py::name", ""),  # never was in this tree
        ("`RETRIES = 5` as in src/client.py and app.toml", ""),  # of two files it is not told which
        ("RETRIES is 5 in src/client.py", ""),  # no plain form
        ("nothing at all", ""),
        ("../outside.py::name and /etc/passwd.txt::root", ""),
        ("a\0b.py::name", ""),
    ],
)
def test_a_claim_is_checked_or_nothing_is_said(text: str, told: str, root: Path) -> None:
    (root.parent / "outside.py").write_text("other")
    assert checked(text, root) == told


def test_claims_are_read_once_each_and_not_many() -> None:
    assert claims("a/b.py::f and a/b.py::f") == [("a/b.py", "f", "")]
    assert len(claims(" ".join(f"a/b.py::f{number}" for number in range(50)))) == 5


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    import os

    os.mkfifo(root / "pipe.py")
    assert checked("pipe.py::name", root) == ""
