"""`sync` and `backup merge` as a person uses them: whom they trust, what they say, what they leave alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.integration.histories import ClaudeSession
from tests.integration.test_sync_histories import SSH, state
from tests.places import KINDS, spot

from claude_memory import Memory, NewMemory
from claude_memory.store.sql.rows import zstd

SECRET = "the harbour master lives in the yellow house by the mole"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three homes that never met, a project, and a stand-in for ssh that reaches them by name."""
    (tmp_path / "project").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text(SSH.format(python=sys.executable))
    (tmp_path / "bin" / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOMES", str(tmp_path))
    monkeypatch.setenv("CUT", "")
    for name in "abc":
        (tmp_path / name).mkdir(mode=0o700)
        (tmp_path / name / "config.toml").write_text('embedder = "none"\n')
        with opened(tmp_path, name) as memory:
            made = memory.remember(NewMemory(f"home {name} calls its tariff okapi{name}", trust="user"))
            memory.revise(made.id, pinned=True)
    return tmp_path


def opened(world: Path, name: str) -> Memory:
    return Memory.open(world / name, world / "project")


def command(world: Path, name: str, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "claude_memory", "--home", str(world / name), *words],
        cwd=world / "project", capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def trusts(world: Path, name: str) -> dict[str, tuple[str, int]]:
    told = state(world / name)["memories"].values()
    return {row["body"].split()[1]: (row["trust"], row["pinned"]) for row in told}


def exchanged(world: Path, name: str, *words: str) -> Any:
    return json.loads(command(world, name, "sync", *words, "--json"))


WAYS = [["../b"], ["ssh", "b"]]


@pytest.mark.parametrize("way", WAYS, ids=["path", "ssh"])
def test_a_home_that_was_never_paired_is_foreign_until_the_person_pairs_it(
    world: Path, way: list[str]
) -> None:
    met = exchanged(world, "a", *way)["met"][0]
    assert (met["paired"], met["received"]["added"], met["sent"]["added"]) == (False, 1, 1)
    assert trusts(world, "a") == {"a": ("user", 1), "b": ("imported", 0)}
    assert trusts(world, "b") == {"b": ("user", 1), "a": ("imported", 0)}
    assert exchanged(world, "a", *way, "--pair")["met"][0]["paired"]
    assert trusts(world, "a") == trusts(world, "b") == {"a": ("user", 1), "b": ("user", 1)}
    again = exchanged(world, "b", "../a")["met"][0]  # the other knows it by now
    assert again["paired"]
    assert not any(again["received"][name] for name in ("messages", "added", "changed", "erased", "other"))


def test_a_stranger_changes_hides_and_erases_nothing(world: Path) -> None:
    exchanged(world, "a", "../b", "--pair")
    with opened(world, "b") as memory:
        [own] = [hit.id for hit in memory.search("okapia")]
    (world / "b" / "backup.json").unlink()  # whoever has a copy of a home, and another name, is a stranger
    with opened(world, "b") as memory:
        memory.revise(own, body="home a calls its tariff nonsense", trust="user")
    exchanged(world, "b", "../a")
    assert trusts(world, "a")["a"] == ("user", 1)
    assert "nonsense" not in str(state(world / "a")["memories"])
    with opened(world, "b") as memory:
        memory.erase([own])
    exchanged(world, "b", "../a")
    assert "okapia" in str(state(world / "a")["memories"])
    assert state(world / "a")["tombstones"] == []


@pytest.mark.parametrize("way", [*WAYS, ["../place"]], ids=["path", "ssh", "place"])
def test_a_dry_run_says_what_would_come_and_changes_nothing(world: Path, way: list[str]) -> None:
    if way == ["../place"]:
        exchanged(world, "b", *way)
    before = {name: state(world / name) for name in "ab"}
    listed = sorted(path.name for path in (world / "place").rglob("*"))
    told = exchanged(world, "a", *way, "--dry-run", "--pair")
    assert told["dry_run"]
    assert told["met"][0]["received"]["added"] == 1
    assert {name: state(world / name) for name in "ab"} == before
    assert sorted(path.name for path in (world / "place").rglob("*")) == listed
    assert not exchanged(world, "a", *way)["met"][0]["paired"]


def test_three_homes_meet_at_a_place_and_no_word_of_an_encrypted_feed_can_be_read(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyrage = pytest.importorskip("pyrage")
    monkeypatch.setenv("MEMORY_KEY", str(pyrage.x25519.Identity.generate()))
    for name in "abc":
        command(world, name, "config", "set", "backup_key", "env:MEMORY_KEY")
    with opened(world, "a") as memory:
        memory.remember(NewMemory(SECRET, trust="user"))
    for name in "abcab":
        exchanged(world, name, "../place", "--pair")
    assert trusts(world, "a") == trusts(world, "b") == trusts(world, "c")
    lying = b"".join(path.read_bytes() for path in (world / "place").rglob("*") if path.is_file())
    parts = [SECRET[at : at + 16].encode() for at in range(len(SECRET) - 15)]
    assert not any(part in lying for part in parts)
    monkeypatch.setenv("MEMORY_KEY", str(pyrage.x25519.Identity.generate()))
    assert "another key" in command(world, "a", "sync", "../place", code=1)


@pytest.mark.parametrize("kind", KINDS)
def test_homes_meet_at_every_kind_of_place(
    kind: str, world: Path, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = spot(kind, world, s3)
    for variable, value in place.environment.items():
        monkeypatch.setenv(variable, value)
    for name in "abab":
        exchanged(world, name, place.name, "--pair")
    assert trusts(world, "a") == trusts(world, "b") == {"a": ("user", 1), "b": ("user", 1)}
    assert exchanged(world, "a", place.name)["written"] == 0
    # The same place keeps backups: the one does not disturb the other.
    command(world, "a", "backup", "push", place.name)
    with opened(world, "b") as memory:
        memory.forget([hit.id for hit in memory.search("okapia")])
    for name in "ba":
        exchanged(world, name, place.name)
    assert {row["status"] for row in state(world / "a")["memories"].values()} == {"active", "forgotten"}
    assert json.loads(command(world, "a", "backup", "verify", place.name, "--json"))["ok"]


def test_an_erased_sentence_leaves_the_feed_at_the_place(world: Path) -> None:
    with opened(world, "a") as memory:
        erased = memory.remember(NewMemory(SECRET, trust="user")).id
    for name in "abab":
        exchanged(world, name, "../place", "--pair")
    with opened(world, "b") as memory:
        memory.erase([erased])
    for name in "bab":
        exchanged(world, name, "../place")
    pieces = [zstd().decompress(path.read_bytes()) for path in (world / "place" / "feeds").iterdir()]
    assert pieces
    assert not any(SECRET.encode() in piece for piece in pieces)
    for name in "ab":
        assert SECRET not in str(state(world / name))


def test_damage_at_the_place_is_one_line_and_changes_nothing(world: Path) -> None:
    exchanged(world, "a", "../place")
    [piece] = (world / "place" / "feeds").iterdir()
    before = state(world / "b")
    sound = piece.read_bytes()
    document = json.loads(zstd().decompress(sound))
    wrong = (
        {},
        [],
        {"sender": [], "batch": 1},
        {**document, "batch": None},
        {**document, "sender": {"home": 1}},
    )
    forged = [zstd().compress(json.dumps(value).encode()) for value in wrong]
    for content in (b"", b"nonsense", sound[:-3], *forged):
        piece.write_bytes(content)
        told = command(world, "b", "sync", "../place", code=1)
        assert len(told.splitlines()) == 1
        assert "damaged" in told
        assert state(world / "b") == before


def test_an_end_that_is_not_there_is_one_line(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUT", "20")
    assert "b: `claude-memory sync --stdio` there" in command(world, "a", "sync", "ssh", "b", code=1)
    known = {"home": "h", "replica": "r", "person": "p", "format": 1}
    for answers in (
        ["Welcome!"],
        ["[]"],
        ['{"answer": null}'],
        [json.dumps({"answer": known}), '{"answer": [1]}'],
    ):
        lines = "; ".join(f"read asked; echo '{answer}'" for answer in answers)
        (world / "bin" / "ssh").write_text(f"#!/bin/sh\n{lines}\n")
        told = command(world, "a", "sync", "ssh", "b", code=1).splitlines()[-1]
        assert told.endswith("b: `claude-memory sync --stdio` there said something else"), told
    assert "name one host" in command(world, "a", "sync", "ssh", "--", "-oProxyCommand=x", code=1)
    assert "is this home itself" in command(world, "a", "sync", str(world / "a"), code=1)


def test_interrupted_it_ends_with_130_and_goes_on_the_next_time(world: Path) -> None:
    with opened(world, "b") as memory:
        memory.remember_many([NewMemory(f"sentence {n} of the harbour", trust="user") for n in range(3000)])
    process = subprocess.Popen(
        [sys.executable, "-m", "claude_memory", "--home", str(world / "a"), "sync", "../b", "--pair"],
        cwd=world / "project", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Ignored where the tests run in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(state(world / "a")["memories"]) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    command(world, "a", "sync", "../b")
    assert state(world / "a")["memories"].keys() == state(world / "b")["memories"].keys()


def test_a_backup_file_is_taken_in_beside_what_is_here(world: Path) -> None:
    file = str(world / "b.tar.zst")
    command(world, "b", "backup", "create", file)
    told = json.loads(command(world, "a", "backup", "merge", file, "--json"))
    assert told["met"][0]["received"]["added"] == 1
    assert trusts(world, "a")["b"] == ("imported", 0)
    told = json.loads(command(world, "a", "backup", "merge", file, "--pair", "--json"))
    assert trusts(world, "a")["b"] == ("user", 1)
    assert (
        json.loads(command(world, "a", "backup", "merge", file, "--json"))["met"][0]["received"]["added"] == 0
    )
    Path(file).write_bytes(Path(file).read_bytes()[:-100])
    before = state(world / "a")
    assert "damaged" in command(world, "a", "backup", "merge", file, code=1)
    assert state(world / "a") == before


def test_a_conversation_from_another_home_goes_along_when_its_folder_is_split_off(world: Path) -> None:
    inner = world / "project" / "inner"
    inner.mkdir()
    talk = (
        ClaudeSession("split", str(inner)).prompt("which channel at night?").says("the northern one, always")
    )
    with opened(world, "a") as memory:
        memory.import_history([talk.write(world / "user")], workers=1)
    exchanged(world, "a", "../b", "--pair")
    with opened(world, "b") as memory:
        made = memory.projects.split(inner).project.id
    rows = state(world / "b")
    assert {talk["project"] for talk in rows["conversations"].values()} == {made}
    told = [row["project"] for row in rows["memories"].values() if "channel" in row["body"]]
    assert told == [made] * len(told) != []
