"""A memory says when its files have moved on, and grows stronger when what was given was used."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.context.sections import line_for
from claude_memory.lifecycle.staleness import changed_share, sketch
from claude_memory.lifecycle.strength import note_uses
from claude_memory.model import Event, EventId, EventKind, SessionId
from claude_memory.surfaces.cli import main

WORDS = {"embedder": "none"}
NOW = datetime.now(UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    folder = tmp_path / "shop"
    folder.mkdir()
    with Memory.open(tmp_path / "home", folder, flags=WORDS) as opened:
        yield opened


def lines(count: int, start: int = 0) -> bytes:
    return "\n".join(f"line {number} of the file" for number in range(start, start + count)).encode()


@pytest.mark.parametrize(("kept", "share"), [(100, 0.0), (90, 0.1), (50, 0.5), (0, 1.0)])
def test_a_sketch_tells_how_much_changed(kept: int, share: float) -> None:
    after = lines(kept) + b"\n" + lines(100 - kept, 1000)
    union = 1 - kept / (200 - kept)
    assert changed_share(sketch(lines(100)), sketch(after)) == pytest.approx(union, abs=0.15)
    assert (changed_share(sketch(lines(100)), sketch(after)) == 0) is (share == 0)


def test_what_a_memory_claims_of_a_file_is_checked_when_it_is_found_or_shown(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    (memory.project_root / "client.py").write_text("RETRIES = 7\n")
    kept = memory.remember(NewMemory("We set `RETRIES = 5` in `client.py`.", kind="decision"))
    memory.remember(NewMemory("Then: `RETRIES = 5` in `client.py`.", kind="observation"))
    told = "RETRIES in client.py changed since, now 7"

    stale = {hit.kind: hit.stale for hit in memory.search("retries")}
    assert stale == {"decision": told, "observation": ""}  # what was said at its time is no claim

    place = ["--home", str(memory.home), "--project", str(memory.project_root)]
    main(["show", kept.id, *place])
    assert f"stale       {told}" in capsys.readouterr().out
    main(["search", "retries", "--json", *place])
    assert told in [found.get("stale") for found in json.loads(capsys.readouterr().out)]

    (memory.project_root / "client.py").write_text("RETRIES = 5\n")
    assert memory.stale(kept) == ""


def test_a_memory_is_marked_when_its_file_changed_a_lot_and_cleared_when_it_came_back(memory: Memory) -> None:
    file = memory.project_root / "auth.py"
    file.write_bytes(lines(80))
    kept = memory.remember(NewMemory("Tokens live in auth.py", kind="decision", files=["auth.py"]))
    file.write_bytes(lines(80) + b"\none more line")
    memory.upkeep.consolidate()
    assert "out of date" not in line_for(memory.show([kept.id])[0])
    file.write_bytes(lines(80, 500))
    memory.upkeep.consolidate()
    [marked] = memory.show([kept.id])
    assert "possibly out of date: “auth.py changed" in line_for(marked)
    assert any("may be out of date" in line for line in memory.why(kept.id, "tokens").words)
    file.unlink()
    memory.upkeep.consolidate()
    assert "auth.py is gone" in line_for(memory.show([kept.id])[0])
    file.write_bytes(lines(80))
    memory.upkeep.consolidate()
    assert "out of date" not in line_for(memory.show([kept.id])[0])


def test_a_stale_memory_ranks_below_its_equal(memory: Memory) -> None:
    (memory.project_root / "a.py").write_bytes(lines(50))
    [stale, sound] = memory.remember_many(
        [NewMemory("the cache is warm", files=["a.py"]), NewMemory("the cache is cold")]
    )
    (memory.project_root / "a.py").unlink()
    memory.upkeep.consolidate()
    assert [hit.id for hit in memory.search("the cache")] == [sound, stale]


def test_no_file_outside_the_project_is_read(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (memory.project_root / "link.txt").symlink_to(tmp_path / "secret.txt")
    memory.remember(NewMemory("x", files=["../secret.txt", "link.txt", "/etc/hostname"]))
    assert memory.store.lifecycle.file_states(memory.scope()) == []


def event(memory: Memory, kind: EventKind, minute: int, **payload: object) -> Event:
    when = NOW - timedelta(hours=1) + timedelta(minutes=minute)
    id_ = EventId(f"e{kind}{minute}")
    return Event(id_, kind, "claude-code", SessionId("s1"), memory.project.id, "/", when, payload)


def test_what_was_given_and_then_used_grows_stronger_once(memory: Memory) -> None:
    touched, spoken, ignored = memory.remember_many(
        [
            NewMemory("Tokens expire after an hour", trust="agent", files=["src/auth.py"]),
            NewMemory("The invoice numbers restart every January per country", trust="agent"),
            NewMemory("The moon landing was televised in colour somewhere", trust="agent"),
        ]
    )
    memory.store.archive.add(
        events=[
            event(memory, EventKind.TOOL_USE, 0, tool_input={"file_path": "/srv/shop/src/auth.py"}),
            event(memory, EventKind.INJECTION, 1, memories=[touched, spoken, ignored]),
            event(memory, EventKind.TOOL_USE, 2, tool_input={"file_path": "/srv/shop/src/auth.py"}),
            event(
                memory,
                EventKind.REPLY,
                3,
                last_assistant_message="Since invoice numbers restart each January per country, I will …",
            ),
        ]
    )
    since = NOW - timedelta(days=1)
    assert note_uses(memory.store, memory.project, since) == 2
    assert note_uses(memory.store, memory.project, since) == 0
    known = memory.store.lifecycle.strengths([touched, spoken, ignored])
    assert set(known) == {touched, spoken}


def test_slack_tends_every_project_that_wants_it(memory: Memory) -> None:
    memory.remember(NewMemory("Scripts are plain sh.", kind="convention"))
    memory.upkeep.consolidate_in_slack()
    assert memory.store.lifecycle.last_run(memory.project.id) is not None
    assert (memory.home / "projects" / memory.project.id / "conventions.json").exists()


def test_a_pipe_among_a_memorys_files_is_not_waited_for_nor_a_name_no_file_can_have(memory: Memory) -> None:
    os.mkfifo(memory.project_root / "pipe")
    kept = memory.remember(NewMemory("Read the pipe", files=["pipe", "a\0b", "../outside"]))
    assert memory.show([kept.id])[0].files[:2] == ("pipe", "a\0b")
