"""Two short coding sessions as hooks report them, three older ones as the agent keeps them, and questions.

Belongs here: what `claude-memory demo` plays, as package data.
Does not: anything that another part reads, test data (tests).
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import NamedTuple


class SampleEvent(NamedTuple):
    """What one hook gets: its name, and the bytes on its standard input."""

    name: str
    raw: bytes


class SampleQuestion(NamedTuple):
    """A question, and words of the memory that answers it."""

    text: str
    answer: str


QUESTIONS = (
    SampleQuestion("How do we block staff who quit?", "revoke somebody's session"),
    SampleQuestion("Which timezone bug did we hit?", "naive one, so the comparison raised"),
    SampleQuestion("Did someone transfer money double?", "paid the same invoice twice"),
)


def events(project: Path) -> list[SampleEvent]:
    """The sample, set in a project folder."""
    text = resources.files(__name__).joinpath("events.jsonl").read_text("utf-8")
    inside = json.dumps(str(project))[1:-1]
    found = []
    for line in text.replace("{project}", inside).splitlines():
        record = json.loads(line)
        found.append(SampleEvent(record["event"], json.dumps(record["payload"]).encode()))
    return found


def write_history(project: Path, home: Path) -> int:
    """Write the older sessions where the agent keeps its own; returns how many."""
    folder = home / ".claude" / "projects" / re.sub("[^a-zA-Z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    inside = json.dumps(str(project))[1:-1]
    written = 0
    for item in resources.files(__name__).joinpath("history").iterdir():
        if item.name.endswith(".jsonl"):
            text = item.read_text("utf-8").replace("{project}", inside)
            (folder / item.name).write_text(text, "utf-8")
            written += 1
    return written
