"""Rules that change: does a question about the present find the session that set the current rule?

    python bench/memorycode.py DATA_FOLDER [--words-only] [--cache FOLDER] [--json FILE]

MemoryCode is fed session by session, as the mentor spoke. Every changed rule is asked for in the
set's own wording and in five others. "current@k": the current rule's session is among the first k;
"stale first": a session that set an earlier value comes first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bootstrap import interval
from claude_memory import Memory
from quality import embedder_for, feed
from sets import memorycode

# Written before any rule was: none of them shares the set's own sentence.
WORDINGS = (
    "What is our current convention for {} names and style when writing code?",
    "How should I name and style a {} right now?",
    "Which rule for {}s applies at the moment?",
    "I'm about to write some code: what do we do about {} naming and form these days?",
    "latest {} convention",
    "Has anything changed about how {}s must look? What holds today?",
)


def measured(folder: Path, *, words_only: bool, cache: Path | None) -> list[dict[str, float | str]]:
    """One row per wording: current@1, current@5, stale first, n."""
    found: dict[str, list[tuple[bool, bool, bool]]] = {wording: [] for wording in WORDINGS}
    with tempfile.TemporaryDirectory(prefix="memorycode-") as scratch:
        home = Path(scratch)
        embedder = None if words_only else embedder_for(home, cache)
        for number, corpus in enumerate(memorycode.load(folder)):
            place = home / "projects-under-test" / str(number)
            place.mkdir(parents=True)
            with Memory.open(home, place, flags={"embedder": "none"} if words_only else {}) as memory:
                if embedder is not None:
                    memory._embedder = embedder
                keys = feed(memory, corpus)
                for question in corpus.questions:
                    for wording in WORDINGS:
                        asked = wording.format(subject_of(question.text))
                        order = [keys[hit.id] for hit in memory.search(asked, limit=10)]
                        found[wording].append(judged(order, question.gold, question.stale))
    return list(rows(found))


def subject_of(question: str) -> str:
    """The object that the set's own sentence asks for."""
    return question.removeprefix("What is our current convention for ").partition(" names and")[0]


def judged(order: list[str], gold: frozenset[str], stale: frozenset[str]) -> tuple[bool, bool, bool]:
    """Whether the current one is first, among five, and whether a stale one is first."""
    return (
        bool(gold & set(order[:1])),
        bool(gold & set(order[:5])),
        bool(stale & set(order[:1])),
    )


def rows(found: dict[str, list[tuple[bool, bool, bool]]]) -> Iterator[dict[str, float | str]]:
    """Means and 95% intervals by wording."""
    for wording, values in found.items():
        row: dict[str, float | str] = {"wording": wording, "n": len(values)}
        for place, name in enumerate(("current@1", "current@5", "stale first")):
            column = [100.0 * value[place] for value in values]
            low, high = interval(column)
            row |= {name: sum(column) / len(column), f"{name} low": low, f"{name} high": high}
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words-only", action="store_true")
    parser.add_argument("--cache", type=Path, help="folder for vectors of repeated runs")
    parser.add_argument("--json", type=Path, help="write the report here")
    wanted = parser.parse_args()
    report = measured(wanted.folder, words_only=wanted.words_only, cache=wanted.cache)
    for row in report:
        print(
            f"@1 {row['current@1']:5.1f}  @5 {row['current@5']:5.1f}  stale first {row['stale first']:5.1f}"
            f"  n {row['n']}  {row['wording']}"
        )
    if wanted.json:
        wanted.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
