"""tasks/todo.md: a person's own list, and beside it the agent's, ticked where a session shows it done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from claude_memory.notes.documents import one_line, set_block
from claude_memory.notes.places import ProjectFiles

BLOCK = "todo"
TITLE = "# To do"
MAX_DONE = 30
_ITEM = re.compile(r"^- \[([ x])\] (.*)$")


def keep(files: ProjectFiles, home: Path, items: Sequence[tuple[str, bool]]) -> bool:
    """Bring the agent's list up to date: (what, whether done). What a person wrote is not touched."""

    def lines(present: list[str]) -> list[str]:
        state = {found[2]: found[1] == "x" for line in present if (found := _ITEM.match(line))}
        for what, done in items:
            name = one_line(what)
            if name:
                state[name] = done
        finished = [name for name, done in state.items() if done][-MAX_DONE:]
        kept = {name: done for name, done in state.items() if not done or name in finished}
        return [f"- [{'x' if done else ' '}] {name}" for name, done in kept.items()]

    return bool(items) and set_block(
        files, home, files.todo, BLOCK, lines, heading="## The agent's list", title=TITLE
    )
