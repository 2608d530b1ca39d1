"""The lists of tasks that agents keep with a tool of theirs: each item with its status. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

DONE = frozenset(("completed", "done"))
DROPPED = frozenset(("cancelled", "canceled", "deleted"))
_TOOLS = frozenset("todowrite todo_write update_plan todo updatetodos write_todos".split())
_ITEM = re.compile(r'"(?:content|step|description)"\s*:\s*"((?:[^"\\]|\\.)*)"[^{}]*?"status"\s*:\s*"(\w+)"')


def is_list(tool: str) -> bool:
    """Whether a tool of this name keeps such a list, in any agent that is known."""
    return tool.lower() in _TOOLS


def items(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a tool was given: each task and its status, in lower case."""
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
