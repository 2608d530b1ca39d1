"""MemoryCode: one unit per mentor session, a question for every rule that was changed later."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sets.corpus import Corpus, Question, Unit

_QUESTION = "What is our current convention for {} names and style when writing code?"
_START = datetime(2024, 1, 1, tzinfo=UTC)


def load(folder: Path) -> list[Corpus]:
    """One corpus per dialogue of every file of the set."""
    files = sorted((folder / "memorycode").glob("*.jsonl.gz"))
    return [
        _corpus(json.loads(line))
        for path in files
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


def _corpus(row: dict[str, Any]) -> Corpus:
    units, changes = [], {}
    for number, session in enumerate(row["sessions"]):
        key = f"session-{number:03d}"
        units.append(Unit(key, session["text"], key, _START + timedelta(weeks=number)))
        for rule in session["rules"]:
            changes.setdefault(rule[0], []).append(key)
    questions = []
    for subject, keys in changes.items():
        stale = frozenset(keys) - {keys[-1]}
        if stale:
            questions.append(
                Question(_QUESTION.format(subject), frozenset({keys[-1]}), "changed rule", stale)
            )
    return Corpus(f"memorycode {row['id']}", tuple(units), tuple(questions))
