"""Adding to and removing from a JSON text without touching any other byte of it.

People format their settings as they like; a round trip through a serialiser would rewrite lines
that are not ours. So the text is scanned for the place of each value, and spliced there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_memory.errors import InvalidInput

Path = Sequence[str | int]  # names of members and numbers of items, from the top

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]\}]+")
_DECODER = json.JSONDecoder()


@dataclass(slots=True)
class Place:
    """Where a value stands: `start` to `stop` in the text; children of objects and arrays in order."""

    start: int
    stop: int
    kind: str
    children: list[tuple[str, int, Place]] = field(default_factory=list)

    def child(self, key: str) -> Place | None:
        """The member of that name; the last one counts, as it does for every JSON reader."""
        return next((place for name, _, place in reversed(self.children) if name == key), None)


def scan(text: str) -> Place:
    """The places of all values of a JSON text whose top is an object."""
    try:
        top = json.loads(text)
        place = _value(text, _skip(text, 0))
    except (ValueError, RecursionError, IndexError) as fault:
        raise InvalidInput(f"not valid JSON: {fault}") from None
    if not isinstance(top, dict):
        raise InvalidInput("not a JSON object")
    return place


def add_member(text: str, path: Path, key: str, value: Any) -> str:
    """The text with `key: value` as the last member of the object at `path`."""
    return _add(text, _at(text, path), f"{json.dumps(key)}: ", value)


def add_item(text: str, path: Path, value: Any) -> str:
    """The text with the value as the last item of the array at `path`."""
    return _add(text, _at(text, path), "", value)


def remove(text: str, path: Path, index: int) -> str:
    """The text without the child number `index` of the object or array at `path`, comma and all."""
    parent = _at(text, path)
    _, start, place = parent.children[index]
    if len(parent.children) == 1:
        return text[: parent.start + 1] + text[parent.stop - 1 :]
    if index == 0:
        return text[:start] + text[parent.children[1][1] :]
    return text[: parent.children[index - 1][2].stop] + text[place.stop :]


def _at(text: str, path: Path) -> Place:
    place: Place | None = scan(text)
    for key in path:
        if place is not None:
            place = place.child(key) if isinstance(key, str) else place.children[key][2]
    if place is None:
        raise InvalidInput(f"no {'.'.join(map(str, path))} in the document")
    return place


def _add(text: str, parent: Place, prefix: str, value: Any) -> str:
    if parent.kind not in ("object", "array"):
        raise InvalidInput("an entry of ours would replace a value that is neither object nor array")
    newline = "\r\n" if "\r\n" in text else "\n"
    own, unit = _indents(text, parent)
    inner = own + unit
    if parent.children and "\n" not in text[parent.start : parent.children[0][1]]:
        last = parent.children[-1][2].stop
        return f"{text[:last]}, {prefix}{json.dumps(value, ensure_ascii=False)}{text[last:]}"
    rendered = json.dumps(value, indent=unit or None, ensure_ascii=False).replace("\n", newline + inner)
    entry = prefix + rendered
    if parent.children:
        last = parent.children[-1][2].stop
        return f"{text[:last]},{newline}{inner}{entry}{text[last:]}"
    return f"{text[: parent.start + 1]}{newline}{inner}{entry}{newline}{own}{text[parent.stop - 1 :]}"


def _indents(text: str, parent: Place) -> tuple[str, str]:
    """The indent of the line the parent starts on, and one step of indentation as this file has it."""
    own = _indent_at(text, parent.start)
    if parent.children and "\n" in text[parent.start : parent.children[0][1]]:
        inner = _indent_at(text, parent.children[0][1])
        if inner.startswith(own) and len(inner) > len(own):
            return own, inner[len(own) :]
        return inner, ""
    first = re.search(r"\n([ \t]+)\S", text)
    return own, first.group(1) if first else "  "


def _indent_at(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    found = re.match(r"[ \t]*", line)
    return found.group() if found else ""


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _value(text: str, start: int) -> Place:
    opening = text[start]
    if opening == "{":
        return _container(text, start, "object", "}")
    if opening == "[":
        return _container(text, start, "array", "]")
    if opening == '"':
        return Place(start, _string_end(text, start), "string")
    found = _SCALAR.match(text, start)
    return Place(start, found.end() if found else start + 1, "scalar")


def _container(text: str, start: int, kind: str, closing: str) -> Place:
    place = Place(start, start, kind)
    cursor = _skip(text, start + 1)
    while text[cursor] != closing:
        if text[cursor] == ",":
            cursor = _skip(text, cursor + 1)
        begin, name = cursor, ""
        if kind == "object":
            end = _string_end(text, cursor)
            name = json.loads(text[cursor:end])
            cursor = _skip(text, _skip(text, end) + 1)  # past the colon
        value = _value(text, cursor)
        place.children.append((name, begin, value))
        cursor = _skip(text, value.stop)
    place.stop = cursor + 1
    return place


def _string_end(text: str, start: int) -> int:
    return _DECODER.raw_decode(text, start)[1]
