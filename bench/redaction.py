"""Counts what redaction cuts from real text, and what that costs.

Run: python bench/redaction.py FOLDER…: agents' sessions (`*.jsonl`, one document a line, as a hook or an
import sees them) and source code. Prints the cuts of each kind for 20 MB, the CPU time, and with `--show`
each cut with its surroundings, its value masked so that it can be told harmless from real.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claude_memory.redact import redact, redact_document
from claude_memory.redact.engine import RULES, find

SUFFIXES = {".py", ".pyi", ".md", ".txt", ".rst", ".toml", ".json", ".js", ".ts", ".h", ".c", ".sh", ".cfg"}
SUFFIXES |= {".yml", ".yaml", ".html", ".css", ".xml", ".ini", ".go", ".rs", ".jsonl"}
MAX_BYTES = 64 << 20
AROUND = 60
MARK = re.compile(r"\[(?:secret:)?([a-z0-9-]+)\]")


def main() -> None:
    """Go through the folders and print what was cut."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="show N cuts of each kind")
    parser.add_argument("--kind", default="", help="show cuts of this kind only")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    size, began = 0, time.process_time()
    spent = 0.0
    for path in files(given.folders):
        for value, length in documents(path):
            size += length
            start = time.process_time()
            cut = redact(value) if isinstance(value, str) else redact_document(value)
            spent += time.process_time() - start
            found = [
                mark[1]
                for before, after in pairs(value, cut)
                if before != after
                for mark in MARK.finditer(after)
            ]
            total.update(found)
            if found and given.show:
                show(path, value, cut, shown, given.show, given.kind)
    megabytes = size / 1e6
    for kind, count in total.most_common():
        print(f"{count:6}  {kind}")
    cuts = sum(total.values())
    print(f"{cuts} cuts in {megabytes:.0f} MB: {cuts * 20 / megabytes:.2f} per 20 MB")
    print(f"redaction {spent:.2f} s of CPU, {1000 * spent / megabytes:.1f} ms per MB", end="; ")
    print(f"all {time.process_time() - began:.2f} s")


def files(folders: list[Path]) -> Iterator[Path]:
    """Every file that holds text, in a stable order."""
    for folder in folders:
        found = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        yield from (
            p for p in found if p.is_file() and p.suffix in SUFFIXES and p.stat().st_size <= MAX_BYTES
        )


def documents(path: Path) -> Iterator[tuple[Any, int]]:
    """The file's text, or each of its lines as a document."""
    if path.suffix != ".jsonl":
        text = path.read_text("utf-8", "replace")
        yield text, len(text)
        return
    with path.open("rb") as handle:
        for line in handle:
            try:
                yield json.loads(line), len(line)
            except ValueError:
                yield line.decode("utf-8", "replace"), len(line)


def show(path: Path, value: Any, cut: Any, shown: Counter[str], limit: int, kind: str) -> None:
    """Print each cut once with what stands around it; digits and letters of the value are masked."""
    for before, after in pairs(value, cut):
        if before == after:
            continue
        spans = find(before)
        for span in spans:
            name = RULES[span.rank].kind
            line = before[max(span.start - AROUND, 0) : span.start], before[span.start : span.end]
            _print(path, name, line[0], line[1], before[span.end : span.end + 20], shown, limit, kind)
        if not spans:
            _print(path, "by its name", after[:AROUND], before, "", shown, limit, kind)


def _print(
    path: Path, name: str, left: str, value: str, right: str, shown: Counter[str], limit: int, kind: str
) -> None:
    shown[name] += 1
    if shown[name] <= limit and kind in name:
        print(f"{name}: {left!r} ⟦{masked(value)}⟧ {right!r}  ({path.parent.name}/{path.name})")


def masked(value: str) -> str:
    """The shape of a value: a few letters at its start, then classes of characters."""
    rest = "".join(
        "9" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in value[4:60]
    )
    return f"{value[:4]}{rest}{'…' if len(value) > 60 else ''} ({len(value)})"


def pairs(before: Any, after: Any) -> Iterator[tuple[str, str]]:
    """The strings of two documents of the same structure, side by side."""
    waiting = [(before, after)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, str):
            yield one, str(other)
        elif isinstance(one, dict):
            waiting += [*zip(one.values(), other.values(), strict=False), *zip(one, other, strict=False)]
        elif isinstance(one, list):
            waiting += zip(one, other, strict=False)


if __name__ == "__main__":
    sys.exit(main())
