"""Checks a summary against the published schema: the few words of JSON Schema that it uses, no library.

Says what is wrong and where, in a line that a person or a model can act on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


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
    place = where or "the document"
    if "enum" in rule:
        if value not in rule["enum"]:
            yield f"{place} must be one of {', '.join(rule['enum'])}"
        return
    wanted = rule.get("type")
    if wanted is not None and not _is(value, wanted):
        named = wanted if isinstance(wanted, str) else " or ".join(wanted)
        yield f"{place} must be of type {named}"
    elif isinstance(value, dict):
        yield from _object_faults(value, rule, where)
    elif isinstance(value, list):
        yield from _array_faults(value, rule, place)
    elif isinstance(value, str) and len(value.strip()) < rule.get("minLength", 0):
        yield f"{place} must not be empty"
    elif isinstance(value, int | float) and value < rule.get("minimum", value):
        yield f"{place} must not be below {rule['minimum']}"


def _object_faults(value: Mapping[str, Any], rule: Mapping[str, Any], where: str) -> Iterator[str]:
    for name in rule.get("required", ()):
        if name not in value:
            yield f"{where}.{name} is missing".lstrip(".")
    for name, inner in rule.get("properties", {}).items():
        if name in value:
            yield from _faults(value[name], inner, f"{where}.{name}".lstrip("."))


def _array_faults(value: list[Any], rule: Mapping[str, Any], place: str) -> Iterator[str]:
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        yield f"{place} must have {rule['minItems']} items"
    for number, item in enumerate(value):
        yield from _faults(item, rule.get("items", {}), f"{place}[{number}]")


def _is(value: Any, wanted: str | list[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)
