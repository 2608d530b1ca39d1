"""Two short coding sessions as hooks report them, three older ones as the agent keeps them, and questions.

Belongs here: what `claude-memory demo` plays, as package data.
Does not: anything that another part reads, test data (tests).
"""

from __future__ import annotations

import json
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

FILES = resources.files(__name__)
# Questions, and words of the memory that answers each.
QUESTIONS = (
    ("How do we block staff who quit?", "revoke somebody's session"),
    ("Which timezone bug did we hit?", "naive one, so the comparison raised"),
    ("Did someone transfer money double?", "paid the same invoice twice"),
)


def events(project: Path) -> list[tuple[str, bytes]]:
    """The sample, set in a project folder: what each hook gets, its name and the bytes on standard input."""
    records = [json.loads(line) for line in _placed(FILES / "events.jsonl", project).splitlines()]
    return [(record["event"], json.dumps(record["payload"]).encode()) for record in records]


def write_history(project: Path, home: Path) -> int:
    """Write the older sessions where the agent keeps its own; returns how many."""
    folder = home / ".claude" / "projects" / re.sub("[^a-zA-Z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    sessions = [item for item in (FILES / "history").iterdir() if item.name.endswith(".jsonl")]
    for item in sessions:
        (folder / item.name).write_text(_placed(item, project), "utf-8")
    return len(sessions)


def _placed(item: Traversable, project: Path) -> str:
    return item.read_text("utf-8").replace("{project}", json.dumps(str(project))[1:-1])
