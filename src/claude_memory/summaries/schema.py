"""Checks a summary against the published schema, and says what is wrong in a line that one can act on.

`faults` loads `jsonschema` when it is called: for what people, agents and models wrote, never in a hook.
`is_readable` is the quick look that every reader takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ENTRIES = ("key_decisions", "files_modified", "code_snippets", "error_solutions")
TEXTS = ("topics", "tasks_completed", "tasks_pending", "important_context", "conventions")


@cache
def schema() -> dict[str, Any]:
    """The schema of a whole compact_NNN.json."""
    # Read beside this file: `importlib.resources` takes longer to load than a hook has.
    found: dict[str, Any] = json.loads(Path(__file__).with_name("summary.schema.json").read_bytes())
    return found


def faults(document: Any) -> list[str]:
    """What is wrong with a whole document; empty if nothing is."""
    return list(_faults(document, schema(), ""))


def summary_faults(summary: Any) -> list[str]:
    """What is wrong with the part that sums up."""
    return list(_faults(summary, schema()["properties"]["summary"], "summary"))


def _faults(value: Any, rule: Mapping[str, Any], where: str) -> Iterator[str]:
    from jsonschema import Draft202012Validator

    for error in sorted(
        Draft202012Validator(rule).iter_errors(value), key=lambda one: list(map(str, one.path))
    ):
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        place = f"{where}{steps}".lstrip(".")
        # Its own message quotes the value, and what was said belongs into no log.
        if error.validator == "required":
            for name in error.validator_value:
                if isinstance(error.instance, dict) and name not in error.instance:
                    yield f"{place}.{name} is missing".lstrip(".")
        else:
            yield f"{place or 'the document'} {_wanted(error.validator, error.validator_value)}"


def _wanted(rule: object, value: Any) -> str:
    if rule == "type":
        return f"must be of type {value if isinstance(value, str) else ' or '.join(value)}"
    if rule == "enum":
        return f"must be one of {', '.join(value)}"
    if rule in ("minLength", "pattern"):
        return "must not be empty"
    return f"must not be below {value}" if rule == "minimum" else f"must have {value} items"


def is_readable(document: Any) -> bool:
    """Whether a document has the shape that its readers rely on."""
    summary = document.get("summary") if isinstance(document, dict) else None
    if not isinstance(summary, dict) or not str(summary.get("executive") or "").strip():
        return False
    places = document.get("original_message_range")
    return (
        isinstance(document.get("timestamp"), str)
        and isinstance(document.get("token_count_before"), int)
        and isinstance(places, list)
        and [type(place) for place in places] == [int, int]
        and isinstance(summary["executive"], str)
        and all(_lists(summary.get(name, []), dict) for name in ENTRIES)
        and all(_lists(summary.get(name, []), str) for name in TEXTS)
        and isinstance(summary.get("sources", {}), dict)
    )


def _lists(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)
