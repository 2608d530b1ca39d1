"""How long a knowledge base takes: the first index, a look when nothing changed, one edit, one rename.

    python bench/knowledge.py [--notes 5000]

Without vectors: they follow in the background.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from claude_memory.memory import Memory

WORDS = [
    stem + ending
    for stem in "alpha beta gamma delta cache queue token store index graph retry shard".split()
    for ending in ("", "s", "ing", "er", "-x", "_y")
]


def write_notes(folder: Path, count: int) -> None:
    """Notes of about 700 words in two sections, fifty folders."""
    chance = random.Random(1)
    for number in range(count):
        path = folder / f"area-{number % 50}" / f"note-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = "\n\n".join(" ".join(chance.choices(WORDS, k=60)) for _ in range(6))
        head = f"---\ntitle: Note {number}\ntags: [t{number % 9}]\n---\n# Note {number}\n\n"
        path.write_text(f"{head}{body}\n\n## Part two\n\nSee [[Note {number + 1}|the next]]. {body}\n")
        os.utime(path, (1_700_000_000, 1_700_000_000))


def timed(name: str, work: Callable[[], object]) -> None:
    """Print what a step took."""
    began = time.perf_counter()
    work()
    print(f"  {name:<24} {time.perf_counter() - began:8.2f} s")


def asked(memory: Memory, query: str) -> object:
    """The best hit, after what changed was read."""
    memory.catch_up()
    return memory.search(query)[0]


def main() -> None:
    """Build the notes in a scratch home and time each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=5000)
    count = parser.parse_args().notes
    with tempfile.TemporaryDirectory() as scratch:
        folder, project = Path(scratch) / "knowledge", Path(scratch) / "project"
        project.mkdir()
        write_notes(folder, count)
        flags = {"embedder": "none", "knowledge": [str(folder)]}
        with Memory.open(Path(scratch) / "home", project, flags=flags) as memory:
            print(f"{count} notes, {sum(path.stat().st_size for path in folder.rglob('*.md')) >> 20} MB")
            timed("first index", memory.upkeep.sync_files)
            timed("nothing changed", memory.upkeep.sync_files)
            note = folder / "area-7" / "note-7.md"
            note.write_text(note.read_text() + "\nzanzibarquokka\n")
            timed("an edit, searched for", lambda: asked(memory, "zanzibarquokka"))
            note.rename(note.with_name("moved.md"))
            timed("a rename, searched for", lambda: asked(memory, "zanzibarquokka"))


if __name__ == "__main__":
    main()
