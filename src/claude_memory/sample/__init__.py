"""Two short coding sessions as an agent's hooks report them, and questions that share no word with them.

Package data for `claude-memory demo`; nothing else reads it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SampleEvent:
    """What one hook gets: its name, and the bytes on its standard input."""

    name: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and words of the memory that answers it."""

    text: str
    answer: str


QUESTIONS = (
    Question("How do we block staff who quit?", "revoke somebody's session"),
    Question("Which timezone bug did we hit?", "naive one, so the comparison raised"),
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
