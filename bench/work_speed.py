"""How fast `blame`, `fix` and `how` answer.

    python bench/work_speed.py FOLDER [--exchanges 100000] [--json FILE]

Imports made-up Claude Code sessions of twenty exchanges each (a prompt, an edit, a failing and a passing
command, a reply) into FOLDER by words alone, then asks each question of a warm store. Medians in ms.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory import Memory

EACH = 20  # exchanges of a session
WORDS = "price order cart refund invoice tax stock user login token cache queue retry parser schema".split()
VERBS = "fix add move rename test split merge check drop speed".split()


def session(number: int, work: Path, rng: random.Random) -> Iterator[dict[str, Any]]:
    """The lines of one conversation."""
    at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    name = str(uuid.UUID(int=number + 1))
    common = {"sessionId": name, "cwd": str(work), "gitBranch": f"work-{number % 50}", "version": "2.0.0"}
    parent = None
    for turn in range(EACH):
        one, other, verb = rng.choice(WORDS), rng.choice(WORDS), rng.choice(VERBS)
        file = f"src/{one}/{other}_{rng.randrange(40)}.py"
        error = f"KeyError: '{other}_{rng.randrange(2000)}'"
        test = f"pytest tests/{one}/test_{other}.py -q"
        said: list[tuple[str, Any]] = [
            ("user", f"{verb} the {one} {other}, ticket {number * EACH + turn}"),
            _call("Bash", f"{number}-{turn}a", {"command": test, "description": f"Run the {one} tests"}),
            _result(f"{number}-{turn}a", f"FAILED tests/{one}/test_{other}.py\n{error}", failed=True),
            _call(
                "Edit",
                f"{number}-{turn}b",
                {"file_path": f"{work}/{file}", "old_string": "pass", "new_string": f"return {one}[{turn}]"},
            ),
            _result(f"{number}-{turn}b", "The file has been updated.", failed=False),
            _call("Bash", f"{number}-{turn}c", {"command": test, "description": f"Run the {one} tests"}),
            _result(f"{number}-{turn}c", "1 passed", failed=False),
            (
                "assistant",
                [{"type": "text", "text": f"Done: {file} now handles {other}, and its test passes."}],
            ),
        ]
        for role, content in said:
            at += timedelta(seconds=5)
            id_ = str(uuid.UUID(int=rng.getrandbits(128)))
            message = {"role": role, "content": content}
            stamp = at.isoformat().replace("+00:00", "Z")
            yield {
                **common,
                "type": role,
                "uuid": id_,
                "parentUuid": parent,
                "timestamp": stamp,
                "message": message,
            }
            parent = id_


def _call(tool: str, id_: str, given: dict[str, Any]) -> tuple[str, Any]:
    return "assistant", [{"type": "tool_use", "id": id_, "name": tool, "input": given}]


def _result(id_: str, text: str, *, failed: bool) -> tuple[str, Any]:
    return "user", [{"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}]


def build(folder: Path, exchanges: int) -> Memory:
    """A home with so many exchanges; an earlier one is taken as it is."""
    work, talks = folder / "work", folder / "sessions"
    work.mkdir(parents=True, exist_ok=True)
    memory = Memory.open(folder / "home", work, flags={"embedder": "none"})
    if not talks.exists():
        talks.mkdir()
        rng = random.Random(1)
        for number in range(exchanges // EACH):
            lines = (json.dumps(line) + "\n" for line in session(number, work, rng))
            (talks / f"{uuid.UUID(int=number + 1)}.jsonl").write_text("".join(lines), "utf-8")
        memory.import_history((talks,), workers=1)
    return memory


def milliseconds(call: Callable[[], object], times: int = 15) -> float:
    call()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return round(1e3 * statistics.median(taken), 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--exchanges", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    started = time.perf_counter()
    memory = build(chosen.folder, chosen.exchanges)
    print(f"built in {time.perf_counter() - started:.0f} s", flush=True)
    work = memory.work(all_projects=True)
    figures: dict[str, Any] = {
        "exchanges": memory.archive.totals(),
        "blame FILE": milliseconds(lambda: work.blame("src/price/order_7.py")),
        "blame FILE:LINE": milliseconds(lambda: work.blame("src/price/order_7.py", line="return price[7]")),
        "fix, a rare error": milliseconds(lambda: work.fix("KeyError: 'order_7'")),
        "fix, a common error": milliseconds(lambda: work.fix("FAILED tests/price/test_order.py")),
        "how, one word": milliseconds(lambda: work.how("pytest")),
        "how, some words": milliseconds(lambda: work.how("run the price tests")),
        "load": os.getloadavg(),
    }
    memory.close()
    print(json.dumps(figures, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures), "utf-8")


if __name__ == "__main__":
    main()
