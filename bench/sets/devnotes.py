"""Developer notes: one unit per note, each question as it was asked and reworded."""

from __future__ import annotations

import json
from pathlib import Path

from sets.corpus import Corpus, Question, Unit


def load(folder: Path) -> list[Corpus]:
    """All notes in one corpus."""
    notes = _lines(folder / "devnotes" / "notes.jsonl")
    asked = [row for path in sorted((folder / "devnotes").glob("questions*.jsonl")) for row in _lines(path)]
    units = tuple(Unit(key=note["slug"], text=note["body"]) for note in notes)
    questions = [Question(row["question"], frozenset({row["slug"]}), "as asked") for row in asked]
    questions += [Question(row["requery"], frozenset({row["slug"]}), "reworded") for row in asked]
    return [Corpus("developer notes", units, tuple(questions))]


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
