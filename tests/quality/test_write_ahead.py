"""The write-ahead scan against two sets of labelled prompts.

Rules and weights were made with sight of the first set, of the `dev` items of the second and of the third; the
`held` items of the second were not looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from claude_memory.layers.triggers import scan

DATA = Path(__file__).parent / "data"
PRECISION = 0.9
RECALL = 0.8
SETS = [("prompts", "dev"), ("prompts", "held"), ("prompts_second", "dev"), ("prompts_second", "held")]


def prompts(name: str, half: str) -> list[dict[str, Any]]:
    lines = (DATA / name / "prompts.jsonl").read_text("utf-8").splitlines()
    return [item for line in lines if (item := json.loads(line))["half"] == half]


def figures(name: str, half: str) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """By label: right, wrong, missed."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for item in prompts(name, half):
        said, found = set(item["labels"]), {hit.label for hit in scan(item["text"])}
        right.update(said & found)
        wrong.update(found - said)
        missed.update(said - found)
    return right, wrong, missed


@pytest.mark.parametrize(("name", "half"), SETS)
def test_what_is_worth_writing_down_is_told_from_what_is_not(name: str, half: str) -> None:
    items = [(bool(item["labels"]), bool(scan(item["text"]))) for item in prompts(name, half)]
    right = sum(said and found for said, found in items)
    precision = right / max(sum(found for _, found in items), 1)
    recall = right / sum(said for said, _ in items)
    assert precision >= PRECISION, f"{precision:.3f}"
    assert recall >= RECALL, f"{recall:.3f}"


@pytest.mark.parametrize(("name", "half"), SETS)
def test_each_kind_of_thing_is_told_from_the_others(name: str, half: str) -> None:
    """Harder, and less depends on it: a decision that is taken for a rule is still written down."""
    right, wrong, missed = figures(name, half)
    precision = right.total() / (right.total() + wrong.total())
    recall = right.total() / (right.total() + missed.total())
    assert precision >= PRECISION, f"{precision:.3f}; wrong: {dict(wrong)}"
    assert recall >= RECALL, f"{recall:.3f}; missed: {dict(missed)}"
