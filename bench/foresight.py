"""Foresight on 30 synthetic project histories: are the memories of files touched later given at the start?

    python bench/foresight.py [--json FILE]

Each history has features of several files; sessions work on one feature, and memories are tied to the
files they were about. A new session begins with a branch, one changed file and a first prompt, or, as at its
very start, with the task under way (named after its feature in half of them) in the prompt's place. A hit is
a memory among the first five that is tied to a file the session touches later and has not touched yet.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bootstrap import interval
from claude_memory import Memory, NewMemory
from claude_memory.context.foresight import foreseen
from claude_memory.model import Kind, MemoryFilter, MemoryId, SearchScope, Status
from claude_memory.search.search import search

HISTORIES, FEATURES, SESSIONS, QUESTIONS = 30, 8, 40, 6
LIVE = MemoryFilter(kinds=(Kind.DECISION, Kind.LESSON, Kind.FIX, Kind.FACT), statuses=(Status.ACTIVE,))
NOUNS = (
    "invoice token cart session ledger export webhook report tariff courier refund coupon stock label batch "
    "digest avatar quota tenant locale beacon replica shard cursor widget banner survey thread pledge voucher"
).split()
LAYERS = ("api", "models", "service", "tasks", "views", "store")
SAID = (
    "{a} is computed lazily because the first version was slow",
    "rounding in {a} follows the bank, half to even",
    "a retry here must not send twice, so the key is kept for a day",
    "the test for this waits for the queue, never for the clock",
    "{a} reads its limits from settings, not from the environment",
    "an empty list is a valid answer and must not raise",
    "the old format is still read, never written",
    "locking by id order avoids the deadlock seen in spring",
)
PROMPTS = (
    "continue with the {a} work",
    "why does {a} fail for some people",
    "add a test for the {a} change",
    "please look at this file first",
    "let's finish what we began yesterday",
)
START = datetime(2026, 1, 1, tzinfo=UTC)


NAMES = ("foresight", "BM25", "recency", "foresight at start", "without task", "BM25 at start")


def measured(history: int, base: Path) -> list[tuple[bool, ...]]:
    """Hits of each way, in the order of NAMES, for the questions of one history."""
    chance = random.Random(history)
    nouns = chance.sample(NOUNS, FEATURES)
    files = {noun: [f"src/{layer}/{noun}_{layer}.py" for layer in chance.sample(LAYERS, 4)] for noun in nouns}
    shared = {
        noun: chance.choice([f"src/core/{other}.py" for other in ("money", "http", "time")]) for noun in nouns
    }
    folder = base / str(history)
    folder.mkdir()
    with Memory.open(folder / "home", folder, flags={"embedder": "none"}) as memory:
        for number in range(SESSIONS):
            noun = chance.choice(nouns)
            touched = chance.sample(files[noun], 2) + ([shared[noun]] if chance.random() < 0.3 else [])
            memory.remember_many(
                [
                    NewMemory(
                        chance.choice(SAID).format(a=noun if chance.random() < 0.4 else "it"),
                        kind=chance.choice(LIVE.kinds),
                        files=chance.sample(touched, min(len(touched), chance.choice((1, 2)))),
                        topics=[noun] if chance.random() < 0.3 else [],
                        session=f"s{number}",
                        created_at=START + timedelta(days=number),
                    )
                    for _ in range(2)
                ]
            )
        return [asked(memory, chance, nouns, files) for _ in range(QUESTIONS)]


def asked(
    memory: Memory, chance: random.Random, nouns: list[str], files: dict[str, list[str]]
) -> tuple[bool, ...]:
    """One session's start."""
    noun = chance.choice(nouns)
    order = chance.sample(files[noun], len(files[noun]))
    changed, later = (order[0],), set(order[1:])
    branch = f"feature/{noun}" if chance.random() < 0.5 else f"fix-{chance.randrange(100, 999)}"
    words = chance.choice(PROMPTS).format(a=noun if chance.random() < 0.5 else "this")
    now = START + timedelta(days=SESSIONS)
    scope = SearchScope((memory.project.id,))
    task = f"{noun} rework" if chance.random() < 0.5 else "monday list"

    def ours(words: str) -> list[MemoryId]:
        known = {"branch": branch, "files": changed, "words": words}
        return foreseen(memory.store, memory.project, **known, filter_=LIVE, now=now, limit=5)  # type: ignore[arg-type]

    def plain(words: str) -> list[MemoryId]:
        query = " ".join([branch.replace("/", " "), words, *changed])
        found = search(memory.store, None, scope, query, filter_=LIVE, limit=5, min_relevance=0.0, now=now)
        return [hit.id for hit in found]

    recent = [item.id for item in memory.store.memories(scope, LIVE, limit=5)]
    return tuple(
        any(later & set(item.files) for item in memory.store.memories(scope, LIVE, ids=ids))
        for ids in (ours(words), plain(words), recent, ours(task), ours(""), plain(task))
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the report here")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foresight-") as scratch:
        hits = [row for history in range(HISTORIES) for row in measured(history, Path(scratch))]
    report = {}
    for place, name in enumerate(NAMES):
        values = [100.0 * row[place] for row in hits]
        low, high = interval(values)
        report[name] = {"hit@5": sum(values) / len(values), "low": low, "high": high, "n": len(values)}
        print(f"{name:18s} hit@5 {sum(values) / len(values):5.1f}  ({low:.1f}–{high:.1f}, n {len(values)})")
    if wanted.json:
        wanted.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
