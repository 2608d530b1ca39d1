"""Every prompt of a person is in the working buffer before the hook returns, and marked after the drain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claude_memory.capture.drain import Spool
from claude_memory.errors import MemoryFault
from claude_memory.memory import Memory
from claude_memory.notes import buffer
from claude_memory.redact import kept, redact
from claude_memory.surfaces.hooks import answers
from claude_memory.surfaces.hooks.answers import Moment, respond

# Written after the rules, in the tone of prompts that people typed at work.
SETTLING = (
    ("correction", "no, I meant the retry count, not the timeout"),
    ("correction", "actually the header is optional, only the body has to be signed"),
    ("correction", "use pnpm not npm here, the lockfile is pnpm's"),
    ("correction", "that's not what I asked for. Only the list view should change"),
    ("correction", "hmm, I was mistaken, the sessions are stored per worktree"),
    ("decision", "ok let's go with the append-only file"),
    ("decision", "skip that one, it's a rabbit hole"),
    ("decision", "A. is fine, ensure we log it"),
    ("decision", "yeah I'd prefer each agent to define its own constants"),
    ("decision", "we decided to keep the old flag until 2.0"),
    ("architecture", "we should use the event bus for this, the handlers must not call each other"),
    ("architecture", "don't add another dependency for parsing dates"),
    ("architecture", "always write the new field, read both"),
    ("architecture", "git operations belong in their own package"),
    ("architecture", "the client should never know which store it talks to"),
    ("priority", "this is blocking the release, everything else can wait"),
    ("priority", "fix the flaky migration test before you touch the importer"),
    ("priority", "get the login working first"),
    ("priority", "the crash on empty input is more important than the colours"),
    ("priority", "we are blocked on the schema change so please start there"),
    ("value", "the staging database is at db-eu-2.internal:5433"),
    ("value", "I'm working on ENT-98, keep the notes there"),
    ("value", "push it to feature/narrow-terminals"),
    ("value", "set MAX_BATCH to 250 for now"),
    ("value", "the design is here: https://docs.example.com/d/1f3a9/preview"),
)
OTHERS = (
    "yes please",
    "go ahead, including the rename",
    "why do we re-export these in config.go",
    "can you update the PR comment reply?",
    "what is remaining?",
    "is the subagent still doing something? Seems stuck",
    "let's review the code we've created for this branch",
    "Commit and empty the REVIEW.md file.",
    "add a README to the e2e folder with the details",
    "I just did an update, check again?",
    "should we use a queue here, or is a table enough?",
    "the tests fail on windows since yesterday, have a look",
    "That's a big change. Write a clear commit message.",
    "thanks, looks good",
    "the reviewer says we should use an interface here. thoughts?",
    "summarise what happened in the last session",
    "explain how the cache decides what to drop",
    "run the linter and fix all of it",
    "if we used postgres, how would the migration look?",
    "it crashed before the window opened, here is the trace:\n\n```\nError: use tabs not spaces\n  at main.ts:14\n```",
)


@pytest.fixture
def home(scratch_home: Path) -> Path:
    folder = scratch_home / ".claude" / "memory"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "config.toml").write_text('embedder = "none"\n')
    return folder


@pytest.fixture
def project(scratch_home: Path) -> Path:
    folder = scratch_home / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(home: Path, project: Path) -> Iterator[Memory]:
    with Memory.open(home, project, flags={"embedder": "none"}) as opened:
        yield opened


def prompt(home: Path, project: Path, text: str, session: str = "s1") -> None:
    """What the installed hook does: the spool first, then the answer."""
    document = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(project)}
    raw = json.dumps({**document, "prompt": text, "prompt_id": text[:9]}).encode()
    Spool(home).put("UserPromptSubmit", raw)
    respond("UserPromptSubmit", raw, home)


def path_of(memory: Memory) -> Path:
    return memory.notes.files.buffer


def buffer_of(memory: Memory) -> str:
    path = path_of(memory)
    return path.read_text("utf-8") if path.exists() else ""


def labels(memory: Memory) -> dict[str, str]:
    """The prompts that stand in the buffer, with their marks."""
    entries = map(buffer.entry_of, buffer_of(memory).splitlines())
    return {entry.text.replace(" ⏎ ", "\n"): entry.label for entry in entries if entry}


def test_what_a_prompt_settles_is_marked_by_family(home: Path, project: Path, memory: Memory) -> None:
    marked = []
    for family, text in SETTLING:
        prompt(home, project, text)
        assert text in buffer_of(memory), "before the hook returns"
        memory.drain()
        marked.append(family in labels(memory)[text].split(", "))
    assert sum(marked) >= 22, [text for (_, text), mark in zip(SETTLING, marked, strict=True) if not mark]


def test_what_settles_nothing_is_there_and_not_marked(home: Path, project: Path, memory: Memory) -> None:
    for text in OTHERS:
        prompt(home, project, text)
        memory.drain()
        assert labels(memory)[list(labels(memory))[-1]] == buffer.SAID, text
    assert len(labels(memory)) == len(OTHERS) == 20


@pytest.mark.parametrize(
    "text",
    [
        "<task-notification>\n<result>Let's go with SQLite.</result>\n</task-notification>",
        "<task-notification>\n<result>x</task-notification>\n\nLet's go with SQLite.",
        '<teammate-message teammate_id="x">\nLet\'s go with SQLite.\n</teammate-message>',
        '<channel source="chat">\nLet\'s go with SQLite.\n</channel>',
        "<bash-stdout>\nLet's go with SQLite.\n</bash-stdout><bash-stderr></bash-stderr>",
        "Stop hook feedback:\nLet's go with SQLite.",
        "Implement the following plan:\n\nLet's go with SQLite.",
        "Base directory for this skill: /x\n\nLet's go with SQLite.",
        "/compact keep the decisions",
    ],
)
def test_what_no_person_said_never_reaches_the_buffer(
    home: Path, project: Path, memory: Memory, text: str
) -> None:
    prompt(home, project, text)
    assert buffer_of(memory) == ""


def test_the_whole_prompt_is_there_line_by_line(home: Path, project: Path, memory: Memory) -> None:
    text = "Two things:\n- rename the module\n- let's keep the old flag"
    prompt(home, project, text)
    memory.drain()
    assert labels(memory) == {text: "decision"}


def test_private_parts_and_secrets_never_reach_the_buffer(home: Path, project: Path, memory: Memory) -> None:
    token = "ghp_" + "wJ8xQ2mZ7rT4vB9nK1sL6dF3gH5pY0cAeU2i"
    prompt(home, project, f"Let's go with token {token}. <private>Let's go with Zanzibar.</private>")
    assert "Let's go with token" in buffer_of(memory)
    assert token not in buffer_of(memory)
    assert "Zanzibar" not in buffer_of(memory)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("use token ghp_" + "a1B2c3D4e" * 4 + " for now", "a1B2c3D4"),
        ("the password is hunter22! ok", "hunter22!"),
        ("connect to postgres://app:s3cr3t@db/x", "s3cr3t"),
        ("key AKIA" + "ABCDEFGH12345678", "ABCDEFGH12345678"),
        ("Authorization: Bearer q7cdef0123456789xyz", "q7cdef0123456789xyz"),
    ],
)
def test_what_a_hook_writes_is_cut_by_the_rules_of_the_store(text: str, secret: str) -> None:
    assert secret not in kept(text)
    assert kept(text) == redact(text)


@pytest.mark.parametrize("known", [True, False])
def test_it_is_written_without_a_database(home: Path, project: Path, known: bool) -> None:
    if known:
        prompt(home, project, "let's use tabs")
    with Memory.open(home, project, flags={"embedder": "none"}) as memory:
        path = path_of(memory)
    for file in home.glob("memory.db*"):
        file.unlink()
    (home / "memory.db").write_bytes(b"not a database at all" * 500)
    with pytest.raises(MemoryFault):
        prompt(home, project, "let's go with SQLite")
    assert "let's go with SQLite" in path.read_text("utf-8")


def test_lines_of_any_hour_and_any_clock_are_kept_up(project: Path, memory: Memory) -> None:
    hours = [datetime(2026, 11, 15, hour, 59, tzinfo=UTC) for hour in range(24)]
    clocks = [*hours, datetime(1970, 1, 1, tzinfo=UTC), datetime(2099, 12, 31, 23, 59, tzinfo=UTC)]
    for number, now in enumerate(clocks):
        payload = {"prompt": f"let's go with option {number}", "session_id": "s1"}
        moment = Moment("UserPromptSubmit", {**payload, "cwd": str(project)}, memory.home)
        moment.now = now
        answers.write_ahead(moment)
    memory.drain()
    assert labels(memory) == {f"let's go with option {number}": "decision" for number in range(len(clocks))}


def test_the_buffer_is_bounded_and_keeps_the_newest_and_what_was_settled(
    home: Path, project: Path, memory: Memory
) -> None:
    prompt(home, project, "let's go with SQLite")
    for number in range(60):
        prompt(home, project, f"have a look at file number {number}")
    prompt(home, project, "x" * 100_000)
    memory.drain()
    found = list(labels(memory))
    assert found[0] == "let's go with SQLite"
    assert "have a look at file number 59" in found
    assert "have a look at file number 30" not in found
    assert len(path_of(memory).read_bytes()) < 20_000


def test_what_is_said_again_is_one_entry(home: Path, project: Path, memory: Memory) -> None:
    for text in ("let's go with SQLite", "now the tests", "let's go with SQLite"):
        prompt(home, project, text)
    memory.drain()
    assert list(labels(memory)) == ["now the tests", "let's go with SQLite"]


def test_writers_without_a_lock_and_the_drain_lose_nothing(home: Path, project: Path, memory: Memory) -> None:
    code = (
        "import os, sys\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from claude_memory.notes import buffer\nfrom claude_memory.notes.plain_files import project_files\n"
        "files = project_files(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))\n"
        "children = []\n"
        "for child in range(5):\n"
        "    if not (process := os.fork()):\n"
        "        for number in range(8 if child else 40):\n"
        "            if child:\n"
        "                text = f'use {child}-{number} not the other'\n"
        "                buffer.write_ahead(files, buffer.BufferEntry(datetime.now(UTC), 'said', text))\n"
        "            else:\n"
        "                buffer.fold(files)\n"
        "        os._exit(0)\n"
        "    children.append(process)\n"
        "assert not any(os.waitpid(process, 0)[1] for process in children)\n"
    )
    command = [sys.executable, "-c", code, str(home), memory.project.id, str(project)]
    subprocess.run(command, check=True, timeout=120, env={**os.environ})
    buffer.fold(memory.notes.files)
    assert sorted(labels(memory)) == sorted(
        f"use {c}-{n} not the other" for c in range(1, 5) for n in range(8)
    )


def test_a_person_may_write_around_it_and_nothing_empty_is_left(
    home: Path, project: Path, memory: Memory
) -> None:
    prompt(home, project, "let's go with SQLite")
    path = path_of(memory)
    path.write_text(path.read_text("utf-8") + "\nMINE, without an end of line", "utf-8")
    prompt(home, project, "now the tests")
    memory.drain()
    text = buffer_of(memory)
    assert "MINE, without an end of line\n" in text
    assert text.count("## Said lately") == text.count("claude-memory:begin prompts") == 1
    memory.notes.clear_buffer()
    assert "##" not in buffer_of(memory)
    assert "MINE" in buffer_of(memory)
