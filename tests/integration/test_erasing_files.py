"""Erasing takes the words out of what the machine wrote into plain files, and tells where a person wrote them."""

from __future__ import annotations

import json
from pathlib import Path

from claude_memory import Memory, NewMemory
from claude_memory.notes import blocks
from claude_memory.notes.plain_files import project_files

SECRET = "the launch codeword is Blue Heron at midnight"
OTHER = "the staging box is called otter"


def test_the_machines_lines_go_and_a_persons_are_told_of(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory.open(home, tmp_path, flags={"embedder": "none"}) as memory:
        erased = memory.remember(NewMemory(SECRET))
        files = project_files(home, memory.project.id, memory.project_root)
        files.buffer.parent.mkdir(parents=True)
        lines = [f"- 14:02 decision: {SECRET}", f"- {OTHER}", f"| 2026-11-01 | {SECRET} | because |"]
        files.buffer.write_text(blocks.updated("My own line.\n", "said", lines), "utf-8")
        files.memory.write_text(f"# Project\n\nRemember: {SECRET}\n", "utf-8")
        log = home / "sessions" / "2026-11-01.jsonl"
        log.parent.mkdir(parents=True)
        record = {"session": "s1", "summary": OTHER, "decisions": [{"decision": SECRET, "why": "x"}, OTHER]}
        log.write_text(json.dumps(record) + "\nnot json\n", "utf-8")

        done = memory.erase([erased.id])

    assert files.buffer.read_text("utf-8").startswith("My own line.\n")
    assert SECRET not in files.buffer.read_text("utf-8")
    assert OTHER in files.buffer.read_text("utf-8")
    assert SECRET not in log.read_text("utf-8")
    assert json.loads(log.read_text("utf-8").splitlines()[0])["decisions"] == [OTHER]
    assert log.read_text("utf-8").splitlines()[1] == "not json"
    assert SECRET in files.memory.read_text("utf-8")
    assert done.left == (f"{files.memory}:3",)


def test_what_has_no_quote_in_any_file_leaves_the_files_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory.open(home, tmp_path, flags={"embedder": "none"}) as memory:
        kept = memory.remember(NewMemory(SECRET))
        files = project_files(home, memory.project.id, memory.project_root)
        files.buffer.parent.mkdir(parents=True)
        files.buffer.write_text(blocks.updated("Mine.\r\n", "said", [OTHER]), "utf-8", newline="")
        before = files.buffer.read_bytes()
        done = memory.erase([kept.id])
    assert files.buffer.read_bytes() == before
    assert done.left == ()
