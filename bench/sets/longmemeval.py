"""LongMemEval-S: one corpus per question, one unit per session of its haystack."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sets.corpus import Corpus, Question, Unit


def load(folder: Path) -> list[Corpus]:
    """One corpus per line of every file of the set."""
    files = sorted((folder / "longmemeval").glob("*.jsonl.gz"))
    return [
        _corpus(json.loads(line))
        for path in files
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


def _corpus(row: dict[str, Any]) -> Corpus:
    units = tuple(
        Unit(item["session_id"], item["text_head500"], item["session_id"], _moment(item["date"]))
        for item in row["haystack"]
        if item["text_head500"].strip()
    )
    gold = frozenset(row["answer_session_ids"]) & {unit.key for unit in units}
    kind = "abstention" if row["question_id"].endswith("_abs") else row["question_type"]
    questions = (Question(row["question"], gold, kind),) if gold else ()
    return Corpus(f"longmemeval {row['question_id']}", units, questions)


def _moment(text: str) -> datetime:
    day, _, time = text.split()
    return datetime.strptime(f"{day} {time}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
