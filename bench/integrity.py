"""Facts that change, and planted ones: bettermemory's Integrity set, run against this memory.

    pip download --no-deps --no-binary :all: bettermemory     # MIT; unpack it beside, nothing of it is copied
    python bench/integrity.py FOLDER/bench/integrity [--json FILE]

Statements come in the order of the set, a day apart: a person remembers them, an agent the planted texts.
Top-1 current: the first hit carries the current value of the topic. Planted: how many are ever the first hit,
and how many have the trust of a person.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory import Memory, NewMemory
from claude_memory.model import Trust

NOISE = re.compile(r"[\s\-_.`'\"]+")


def carries(text: str, value: str) -> bool:
    """The set's own rule: the value without case, spaces and marks stands in the text."""
    return NOISE.sub("", value.lower()) in NOISE.sub("", text.lower())


def plan(corpus: dict[str, Any]) -> list[str]:
    """Every first statement, the hard negatives, then updates, distractors and reversions."""
    by_role = {
        role: [
            item["text"] for topic in corpus["topics"] for item in topic["statements"] if item["role"] == role
        ]
        for role in ("f1", "f2", "d", "f3")
    }
    negatives = [item["text"] for item in corpus["hard_negatives"]]
    return [*by_role["f1"], *negatives, *by_role["f2"], *by_role["d"], *by_role["f3"]]


def asked(memory: Memory, corpus: dict[str, Any]) -> dict[str, Any]:
    """The answers to every topic's question."""
    first = within = 0
    for topic in corpus["topics"]:
        current = topic["values"][topic["current"]]
        hits = memory.search(topic["query"], limit=5)
        bodies = [item.body for item in memory.show([hit.id for hit in hits])]
        first += bool(bodies) and carries(bodies[0], current)
        within += any(carries(body, current) for body in bodies)
    n = len(corpus["topics"])
    return {"n": n, "top_1_current": round(first / n, 3), "top_5_current": round(within / n, 3)}


def planted(memory: Memory, corpus: dict[str, Any], ids: list[str]) -> dict[str, int]:
    """What becomes of planted texts: the first answer, or the word of a person."""
    texts = {item["text"] for item in corpus["poison"]}
    queries = [topic["query"] for topic in corpus["topics"]]
    queries += [item["text"] for item in corpus["generic_queries"]]
    first: set[str] = set()
    for query in queries:
        hits = memory.search(query, limit=1)
        first |= {item.body for item in memory.show([hit.id for hit in hits])} & texts
    found = memory.show(ids)
    return {
        "planted": len(texts),
        "kept": len(found),
        "first_hit": len(first),
        "trusted_as_a_person": sum(item.trust is Trust.USER for item in found),
    }


def remember(memory: Memory, texts: list[str], start: datetime, trust: Trust) -> list[str]:
    """One statement a day; their ids."""
    ids: list[str] = []
    for day, text in enumerate(texts):
        new = NewMemory(body=text, kind="fact", trust=trust, created_at=start + timedelta(days=day))
        ids += memory.remember_many([new])
    return ids


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    corpus = json.loads((chosen.folder / "corpus.json").read_text("utf-8"))
    start = datetime.now(UTC) - timedelta(days=200)
    with tempfile.TemporaryDirectory() as scratch:
        home, project = Path(scratch) / "home", Path(scratch) / "project"
        project.mkdir()
        with Memory.open(home, project) as memory:
            remember(memory, plan(corpus), start, Trust.USER)
            figures: dict[str, Any] = asked(memory, corpus)
            texts = [item["text"] for item in corpus["poison"]]
            ids = remember(memory, texts, start + timedelta(days=150), Trust.AGENT)
            figures["with_planted"] = {**asked(memory, corpus), **planted(memory, corpus, ids)}
    print(json.dumps(figures, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(figures), "utf-8")


if __name__ == "__main__":
    main()
