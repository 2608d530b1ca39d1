"""What is done and what is open: from todo lists, from what was put off, from reports of results.

Pure. The last word counts: a later list replaces an earlier one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from claude_memory.compaction.model import Remark
from claude_memory.distil.turns import TOOL, Turn

TODO_TOOLS = frozenset("todowrite todo_write update_plan todo updatetodos write_todos".split())
_ITEM = re.compile(r'"(?:content|step|description)"\s*:\s*"((?:[^"\\]|\\.)*)"[^{}]*?"status"\s*:\s*"(\w+)"')
_DONE = frozenset(("completed", "done"))
_DROPPED = frozenset(("cancelled", "canceled", "deleted"))


def tasks(turns: Sequence[Turn], place: Sequence[int]) -> tuple[list[Remark], list[Remark]]:
    """Tasks completed at any time, and those open in the last list; each with the message that says so."""
    done: dict[str, int] = {}
    pending: dict[str, int] = {}
    for index, turn in enumerate(turns):
        if turn.role != TOOL or turn.failed or turn.tool.lower() not in TODO_TOOLS:
            continue
        listed = list(_items(turn.given))
        if not listed:
            continue
        pending = {text: place[index] for text, status in listed if status not in _DONE | _DROPPED}
        for text, status in listed:
            if status in _DONE:
                done.setdefault(text, place[index])
            else:
                done.pop(text, None)  # opened again
    return [Remark(text, (at,)) for text, at in done.items()], [
        Remark(text, (at,)) for text, at in pending.items()
    ]


def _items(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    listed = given.get("todos", given.get("plan"))
    if isinstance(listed, str):
        yield from _from_text(listed)
    elif isinstance(listed, list):
        yield from _from_list(listed)


def _from_text(text: str) -> Iterator[tuple[str, str]]:
    """The archive keeps an input as text, and a long one without its middle."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        for content, status in _ITEM.findall(text):
            yield content.replace('\\"', '"'), status.lower()
        return
    if isinstance(listed, list):
        yield from _from_list(listed)


def _from_list(listed: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for item in listed:
        if not isinstance(item, Mapping):
            continue
        text = next((item[key] for key in ("content", "step", "description") if item.get(key)), "")
        status = item.get("status")
        if isinstance(text, str) and text.strip() and isinstance(status, str):
            yield " ".join(text.split()), status.lower()
