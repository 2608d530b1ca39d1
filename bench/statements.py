"""How right what was settled and proposed is, by readers who saw the sessions and not the rules.

    claude-memory --home HOME import FOLDER --agent claude-code     # the sessions that the verdicts are about
    python bench/statements.py HOME

Verdicts are kept by a statement's id, which follows from its project's folder and its words: a home made on
another machine has the same ids. Statements without a verdict are counted apart.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

from claude_memory.model import MemoryFilter, SearchScope, Status
from claude_memory.settings import Settings
from claude_memory.store import open_store

VERDICTS = Path(__file__).parents[1] / "tests/quality/data/real/statements.jsonl"


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("home", type=Path)
    home = parser.parse_args().home
    verdicts = {line["id"]: line for line in map(json.loads, VERDICTS.read_text("utf-8").splitlines())}
    store = open_store(home, Settings())
    for status in (Status.ACTIVE, Status.PROPOSED):
        found = store.memories.find(SearchScope(None), MemoryFilter(statuses=(status,)))
        made = [memory for memory in found if memory.provenance.get("source") == "understood"]
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for memory in made:
            told = verdicts.get(memory.id)
            for name in ("all", memory.kind, f"by {memory.provenance.get('by')}") if told else ():
                counts[name][0] += bool(told["good"])
                counts[name][1] += 1
        print(f"{status}: {len(made)}")
        for name, (good, labelled) in counts.items():
            print(f"  {name:<14} {good:>4} of {labelled:<4} {good / labelled:.2f}")
    store.close()


if __name__ == "__main__":
    main()
