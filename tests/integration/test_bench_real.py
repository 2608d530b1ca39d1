"""The benchmark on real sessions builds its sets from a repository's own branch of checkpoints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.histories import ClaudeSession

BENCH = Path(__file__).parents[2] / "bench"
ID = "a1b2c3d4e5f6"


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit that names its checkpoint, and the checkpoint with one session on its branch."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    session = ClaudeSession("one", "/home/dev/shop")
    session.prompt("The coupon field may be missing, make the checkout survive that")
    edit = {"file_path": "/home/dev/shop/cart.py", "old_string": "a", "new_string": "b"}
    session.tool("Edit", edit, "done")
    message = "Survive carts without coupon"
    session.tool("Bash", {"command": f"git commit -am '{message}'"}, f"[main 1a2b3c4] {message}")
    session.says("Carts without a coupon are fine now.")
    (folder / "cart.py").write_text("b\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", f"{message} (#7)\n\nEntire-Checkpoint: {ID}")
    git(folder, "checkout", "-q", "--orphan", "entire/checkpoints/v1")
    git(folder, "rm", "-rfq", ".")
    place = folder / ID[:2] / ID[2:]
    (place / "0").mkdir(parents=True)
    (place / "metadata.json").write_text(json.dumps({"checkpoint_id": ID}))
    (place / "0/metadata.json").write_text(json.dumps({"session_id": session.id, "agent": "Claude Code"}))
    lines = [json.dumps(line) for line in session.lines]
    (place / "0/full.jsonl").write_text("\n".join(lines[:2]))
    (place / "0/full.jsonl.001").write_text("\n".join(lines[2:]))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Checkpoint")
    git(folder, "checkout", "-q", "main")
    return folder


def test_a_commit_leads_to_the_session_behind_it(repository: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    command = [
        sys.executable,
        str(BENCH / "real.py"),
        "--git",
        str(repository),
        "--words-only",
        "--json",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [row] = json.loads(out.read_text())["shop"]["commits"]
    assert row["question"] == "Survive carts without coupon"
    assert row["ours"][:1] == row["gold"]
    assert "commit → session @1 ours" in done.stdout


def test_the_calls_that_committed_are_cut_from_the_copies(repository: Path, tmp_path: Path) -> None:
    sys.path.insert(0, str(BENCH))
    try:
        from sets.sessions import copied, from_git
    finally:
        sys.path.remove(str(BENCH))
    found = from_git(repository, tmp_path / "scratch")
    assert copied(found, tmp_path / "copies") == 1
    [copy] = (tmp_path / "copies").rglob("*.jsonl")
    assert "Survive carts" not in copy.read_text()
    assert "Carts without a coupon are fine now." in copy.read_text()
