"""What was done is found by the work itself: by file and line, by error, by command, commit, branch and agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.integration.histories import ClaudeSession, codex_lines, write_lines

from claude_memory.memory import Memory
from claude_memory.search.conversations import resume
from claude_memory.surfaces.cli.app import run

SHOP = "/home/dev/shop"
ERROR = "ModuleNotFoundError: No module named 'pricing'"
COMMITTED = "[main 1a2b3c4] Round half up\n 1 file changed"
Command = Callable[..., tuple[int, str, str]]


def rounding() -> ClaudeSession:
    session = ClaudeSession("rounding", SHOP)
    session.prompt("Round prices half up, the tax office wants it so")
    session.tool("Bash", {"command": "pytest tests/test_price.py"}, f"E  {ERROR}", failed=True)
    session.tool("Bash", {"command": "pip install -e ./pricing", "description": "Install pricing"}, "ok")
    edit = {
        "file_path": f"{SHOP}/src/price.py",
        "old_string": "return x",
        "new_string": "return half_up(price, 2)",
    }
    session.tool("Edit", edit, "done")
    session.tool("Bash", {"command": "pytest tests/test_price.py"}, "3 passed")
    session.tool("Bash", {"command": "git commit -am 'Round half up'"}, COMMITTED)
    return session.says("Prices are rounded half up now; pricing had to be installed first.")


def discount() -> ClaudeSession:
    session = ClaudeSession("discount", SHOP)
    session.moment += timedelta(days=2)
    session.prompt("Add a discount for members to the price")
    edit = {"file_path": f"{SHOP}/src/price.py", "old_string": "a", "new_string": "members = 0.9"}
    session.tool("Edit", edit, "done")
    session.tool("Bash", {"command": "pytest tests/test_price.py"}, f"E  {ERROR}", failed=True)
    session.says("Members pay nine tenths; the tests cannot import pricing here.")
    for line in session.lines:
        line["gitBranch"] = "feature/discount"
    return session


@pytest.fixture
def memory(scratch_home: Path) -> Iterator[Memory]:
    rounding().write(scratch_home)
    discount().write(scratch_home)
    write_lines(
        scratch_home / ".codex/sessions/2026/10/02/rollout-2026-10-02T08-00-00-c.jsonl", codex_lines()
    )
    with Memory.open(scratch_home / "memory", scratch_home, flags={"embedder": "none"}) as opened:
        opened.import_history(workers=0)
        (opened.home / "config.toml").write_text('embedder = "none"\n')
        (opened.home / "config.toml").chmod(0o600)
        yield opened


@pytest.fixture
def command(memory: Memory, capsysbinary: pytest.CaptureFixture[bytes]) -> Command:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["--home", str(memory.home), *arguments])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


def test_blame_tells_who_shaped_a_file_and_why_the_newest_first(memory: Memory) -> None:
    newest, oldest = memory.work(all_projects=True).blame("src/price.py")
    assert (newest.branch, newest.why) == ("feature/discount", "Add a discount for members to the price")
    assert oldest.commits == ("1a2b3c4 Round half up",)
    assert "rounded half up" in oldest.ended


def test_blame_of_a_line_begins_with_the_exchange_that_wrote_it(memory: Memory) -> None:
    first, second = memory.work(all_projects=True).blame("src/price.py", line="    return half_up(price, 2)")
    assert first.line
    assert first.why.startswith("Round prices half up")
    assert not second.line


def test_a_file_that_nobody_edited_is_said_so(command: Command) -> None:
    code, out, err = command("blame", "src/other.py", "--all-projects", "--json")
    assert (code, json.loads(out)) == (0, [])
    assert "no exchange is known to have edited src/other.py" in err


def test_a_line_of_a_file_is_read_from_the_folder(command: Command, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/price.py").write_text("import x\n    return half_up(price, 2)\n")
    code, out, _ = command("blame", "src/price.py:2", "--all-projects")
    assert code == 0
    assert "this line" in out.splitlines()[0]
    assert command("blame", "src/price.py:9", "--all-projects")[0] == 2


def test_fix_tells_what_was_done_after_an_error_and_whether_it_held(memory: Memory) -> None:
    found = {one.title: one for one in memory.work(all_projects=True).fix(ERROR)}
    assert len(found) == 2
    [first] = [one for one in found.values() if one.outcome == "passed"]
    assert "pip install -e ./pricing" in first.after
    assert first.came_back is not None  # two days later
    [second] = [one for one in found.values() if one is not first]
    assert (second.outcome, second.came_back) == ("unknown", None)


def test_an_error_that_was_never_met_gives_nothing(command: Command) -> None:
    code, out, err = command("fix", "segmentation fault in the flux capacitor", "--all-projects", "--json")
    assert (code, json.loads(out)) == (0, [])
    assert "was not met here before" in err


def test_how_shows_commands_by_what_they_do_and_how_often_they_worked(memory: Memory) -> None:
    [best, *_] = memory.work(all_projects=True).how("run price tests pytest")
    assert (best.command, best.worked, best.failed) == ("pytest tests/test_price.py", 1, 2)
    [installed] = memory.work(all_projects=True).how("install pricing")[:1]
    assert installed.command == "pip install -e ./pricing"


def test_every_answer_about_work_is_one_document_and_readable_lines(command: Command) -> None:
    for words in (["blame", "src/price.py"], ["fix", ERROR], ["how", "pytest"]):
        assert isinstance(json.loads(command(*words, "--all-projects", "--json")[1]), list)
        code, out, _ = command(*words, "--all-projects")
        assert code == 0
        assert out


@pytest.mark.parametrize(
    ("filters", "exchanges"),
    [
        ({"branch": "feature/discount"}, 1),
        ({"agent": "codex"}, 1),
        ({"command": "pip install"}, 1),
        ({"command": "pytest", "failed": True}, 2),
        ({"command": "git commit", "failed": True}, 0),
        ({"failed": True}, 3),
        ({"commit": "1a2b3c4"}, 1),
        ({"commit": "half up"}, 1),
        ({"commit": "nobody made this"}, 0),
    ],
)
def test_search_is_narrowed_by_the_work(memory: Memory, filters: dict[str, object], exchanges: int) -> None:
    question = "price rounded members exporter semicolons"
    hits = memory.search(question, all_projects=True, min_relevance=0.0, kinds=["observation"], **filters)  # type: ignore[arg-type]
    assert len(hits) == exchanges


def test_an_exchange_is_one_hit_and_its_session_is_not_told_twice(memory: Memory) -> None:
    hits = memory.search("prices rounded half up", all_projects=True, min_relevance=0.0)
    rounding_hits = [hit for hit in hits if hit.session == rounding().id]
    assert len(rounding_hits) == 1


def test_an_agent_that_lost_its_file_goes_on_with_what_the_archive_holds(memory: Memory) -> None:
    [talk] = [item.conversation for item in memory.recall("members discount")][:1]
    there = resume(talk, memory.archive)
    assert there is not None
    assert there.arguments[:2] == ("claude", "--resume")
    Path(talk.path).unlink()
    gone = resume(talk, memory.archive)
    assert gone is not None
    assert gone.handed
    assert "Add a discount for members" in gone.arguments[1]
    assert "src/price.py" in gone.arguments[1]
