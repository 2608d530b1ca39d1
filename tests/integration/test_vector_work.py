"""Vectors come by themselves after an import: newest first, across restarts, told, and stoppable."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_memory.memory import Memory
from claude_memory.model import NewMemory
from claude_memory.platform.locks import try_lock
from claude_memory.surfaces.cli import main
from claude_memory.surfaces.hooks import background
from claude_memory.vector_work import ASKED_FOR, BATCH, VectorProgress, stop

from .histories import ClaudeSession

CODE = "from claude_memory.surfaces.hooks.background import drain_all; import sys; drain_all(sys.argv[1])"


@pytest.fixture
def memory(memory_home: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(memory_home, tmp_path) as opened:
        yield opened


def fill(memory: Memory, count: int) -> list[str]:
    bodies = [f"Rule {number}: the port of service {number} is {8000 + number}." for number in range(count)]
    return list(map(str, memory.remember_many([NewMemory(body) for body in bodies], embed=False)))


def test_the_background_makes_every_vector_and_ends(memory: Memory) -> None:
    fill(memory, BATCH + 8)
    assert memory.upkeep.vectors.progress.missing == BATCH + 8

    subprocess.run([sys.executable, "-c", CODE, str(memory.home)], check=True)

    progress = memory.upkeep.vectors.progress
    assert (progress.missing, progress.working) == (0, False)
    assert progress.per_second > 0
    assert progress.words == f"all {BATCH + 8} passages have a vector"


def test_killed_work_goes_on_where_it_was(memory: Memory) -> None:
    fill(memory, 400)
    work = subprocess.Popen([sys.executable, "-c", CODE, str(memory.home)])
    while memory.upkeep.vectors.progress.missing == 400 and work.poll() is None:
        time.sleep(0.01)
    work.kill()
    work.wait()
    left = memory.upkeep.vectors.progress.missing

    assert left < 400
    assert memory.upkeep.vectors.rest() == left


def test_what_was_stopped_is_not_made_in_passing(memory: Memory) -> None:
    fill(memory, 4)
    memory.upkeep.stop_vectors()
    memory.catch_up()
    assert memory.upkeep.vectors.progress.missing == 4
    assert memory.embed_pending() == 4  # asked for by name


def test_a_person_stops_it_and_an_import_lets_it_go_on(memory: Memory) -> None:
    fill(memory, 3)
    memory.upkeep.stop_vectors()

    assert memory.upkeep.vectors.rest() == 0
    assert "`claude-memory reindex` goes on" in memory.upkeep.vectors.progress.words

    memory.import_history(workers=0)
    assert memory.upkeep.vectors.rest() == 3


def test_one_process_works_at_a_time_and_a_person_waits_with_it(memory: Memory) -> None:
    fill(memory, 3)
    (memory.home / "cache").mkdir(exist_ok=True)
    with try_lock(memory.home / "cache" / "embed.lock") as free:
        assert free
        progress = memory.upkeep.vectors.progress
        assert progress.working
        assert "being made in the background" in progress.words
        assert memory.upkeep.vectors.rest() == 0
    told: list[tuple[int, int]] = []
    assert memory.upkeep.vectors.all(lambda made, missing: told.append((made, missing))) == 3
    assert told == [(3, 0)]


def test_to_remember_does_not_wait_for_what_an_import_left(memory: Memory) -> None:
    fill(memory, 5)
    [id_] = memory.remember_many([NewMemory("We deploy on Tuesdays.")])

    assert memory.upkeep.vectors.progress.missing == 5
    assert memory.search("when do we release?")[0].id == id_


def test_an_answer_tells_what_is_found_by_words_only(memory: Memory) -> None:
    fill(memory, 2)
    assert memory.search_mode == "words only: no passage has a vector yet"
    memory.remember_many([NewMemory("We deploy on Tuesdays.")])
    assert memory.search_mode.endswith("; 2 of 3 passages by words only, as yet")
    memory.embed_pending()
    assert memory.search_mode.startswith("words and meaning")
    assert "only" not in memory.search_mode


def test_import_leaves_the_rest_to_the_background_and_says_so(
    scratch_home: Path,
    memory_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    started: list[Path] = []
    monkeypatch.setattr(background, "start", started.append)
    session = ClaudeSession("auth", "/home/dev/auth").prompt("Refuse revoked accounts at login")
    session.says("Done.").write(scratch_home)

    main(["import", "--json"])
    told = capsys.readouterr()
    assert json.loads(told.out)["vectors"]["missing"] > 0
    assert started == [memory_home]
    assert "`reindex --stop` stops it" in told.err

    main(["import", "--wait", "--json"])
    assert json.loads(capsys.readouterr().out)["vectors"]["missing"] == 0
    assert len(started) == 1


def test_a_question_starts_it_again_where_much_is_missing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Path] = []
    monkeypatch.setattr(background, "start", started.append)
    monkeypatch.setattr(background, "MUCH", 5)
    fill(memory, 5)

    background.go_on(memory)
    assert started == [memory.home]

    stop(memory.home)
    background.go_on(memory)
    assert len(started) == 1


def test_the_words_tell_how_long_it_takes() -> None:
    slow = VectorProgress(passages=40_000, missing=30_000, working=True, per_second=20.0)
    assert slow.words == (
        "10,000 of 40,000 passages have a vector; the rest is being made in the background, about 25 min"
    )
    assert ASKED_FOR > BATCH
