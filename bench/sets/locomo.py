"""LoCoMo: one unit per turn, one corpus per conversation; adversarial questions (category 5) left out."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sets.corpus import Corpus, Question, Unit

_TURN = re.compile(r"D\d+:\d+")
_ADVERSARIAL = 5


def load(folder: Path) -> list[Corpus]:
    """Every conversation of every file of the set."""
    files = sorted((folder / "locomo").glob("locomo*.json"))
    return [_corpus(sample) for path in files for sample in json.loads(path.read_text("utf-8"))]


def _corpus(sample: dict[str, Any]) -> Corpus:
    units = tuple(_units(sample["conversation"]))
    known = {unit.key for unit in units}
    questions = []
    for row in sample["qa"]:
        gold = frozenset(_TURN.findall(" ".join(row["evidence"]))) & known
        if row["category"] != _ADVERSARIAL and gold:
            questions.append(Question(row["question"], gold, f"category {row['category']}"))
    return Corpus(f"locomo {sample['sample_id']}", units, tuple(questions))


def _units(conversation: dict[str, Any]) -> list[Unit]:
    units = []
    for number in range(1, 200):
        session = f"session_{number}"
        for turn in conversation.get(session, []):
            when = _moment(conversation[f"{session}_date_time"])
            units.append(Unit(turn["dia_id"], f"{turn['speaker']}: {turn['text']}", session, when))
    return units


def _moment(text: str) -> datetime:
    return datetime.strptime(text.upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)
