"""Our entries in other programs' settings: put in, and taken out, without touching any other byte.

Pure functions from bytes to bytes. An entry is ours if it runs our hook program or our server. People format
their settings as they like, and a round trip through a serialiser would rewrite lines that are not ours: so a
JSON text is scanned for the place of each value, and spliced there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_memory.errors import ConfigFault, InvalidInput
from claude_memory.install.plugin import HOOK_FILE

SERVER_NAME = "claude-memory"
Steps = Sequence[str | int]  # names of members and numbers of items, from the top
_BOM = "\ufeff"
_HOOKS = "hooks"
_TOML_START = "# >>> claude-memory"
_TOML_END = "# <<< claude-memory"
_SPACE = re.compile(r"[ \t\r\n]*")
_CLOSING = {"{": "}", "[": "]"}
_DECODER = json.JSONDecoder()


def put_hooks(raw: bytes | None, hooks: Mapping[str, list[dict[str, Any]]]) -> bytes:
    """A settings text with our hook groups appended under each event."""
    text, encode = _opened(raw)
    if scan(text).child(_HOOKS) is None:
        return encode(add_member(text, [], _HOOKS, dict(hooks)))
    for event, groups in hooks.items():
        if _at(text, [_HOOKS]).child(event) is None:
            text = add_member(text, [_HOOKS], event, groups)
        else:
            for group in groups:
                text = add_item(text, [_HOOKS, event], group)
    return encode(text)


def take_hooks(raw: bytes) -> bytes:
    """The settings text without hooks of ours; a group, event or table they alone filled goes too."""
    text, encode = _opened(raw)
    scan(text)
    places = list(_our_hooks(json.loads(text).get(_HOOKS)))
    for place in reversed(places):
        text = _without(text, place)
    return encode(text) if places else raw


def put_server(raw: bytes | None, key: str, entry: Any) -> bytes:
    """A settings text with our MCP server under `key`."""
    text, encode = _opened(raw)
    table = scan(text).child(key)
    if table is None:
        return encode(add_member(text, [], key, {SERVER_NAME: entry}))
    if table.child(SERVER_NAME) is not None:
        raise InvalidInput(f"another server is already called {SERVER_NAME}")
    return encode(add_member(text, [key], SERVER_NAME, entry))


def take_server(raw: bytes, key: str) -> bytes:
    """The settings text without our MCP server; a table that it alone filled goes too."""
    text, encode = _opened(raw)
    table = scan(text).child(key)
    if table is None or table.child(SERVER_NAME) is None:
        return raw
    if not is_our_server(json.loads(text)[key][SERVER_NAME]):
        return raw
    return encode(_without(text, [key, SERVER_NAME]))


def put_toml(raw: bytes | None, table: str) -> bytes:
    """A TOML text with our table between two marks at its end."""
    before = raw or b""
    if table.splitlines()[0].encode() in before:
        raise InvalidInput(f"another server is already called {SERVER_NAME}")
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    return before + gap + f"{_TOML_START}\n{table.rstrip()}\n{_TOML_END}\n".encode()


def take_toml(raw: bytes) -> bytes:
    """The TOML text without what stands between our marks."""
    start, end = raw.find(_TOML_START.encode()), raw.find(_TOML_END.encode())
    if start == -1 or end < start:
        return raw
    return raw[:start] + raw[end + len(_TOML_END) :].removeprefix(b"\n")


def has_hooks(raw: bytes) -> bool:
    """Whether hooks of ours are registered in a settings text."""
    try:
        return take_hooks(raw) != raw
    except (ConfigFault, InvalidInput):
        return False


def is_ours(group: Any) -> bool:
    """Whether a hook, or a group of them, runs our hook program and nothing else."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if isinstance(hooks, list):
        return bool(hooks) and all(HOOK_FILE in json.dumps(hook) for hook in hooks)
    return HOOK_FILE in json.dumps(group)


def is_our_server(entry: Any) -> bool:
    """Whether an entry starts our MCP server."""
    return "claude_memory" in json.dumps(entry)


def _our_hooks(table: Any) -> Iterator[Steps]:
    """Where hooks of ours stand: whole groups, or single hooks that somebody put their own beside."""
    for event, groups in table.items() if isinstance(table, dict) else ():
        for number, group in enumerate(groups) if isinstance(groups, list) else ():
            hooks = group.get("hooks") if isinstance(group, dict) else None
            if is_ours(group):
                yield [_HOOKS, event, number]
            elif isinstance(hooks, list):
                ours = (place for place, hook in enumerate(hooks) if is_ours(hook))
                yield from ([_HOOKS, event, number, "hooks", place] for place in ours)


def _without(text: str, path: Steps) -> str:
    """The text without the value at a place, and without whatever holds nothing else."""
    above, last = path[:-1], path[-1]
    parent = _at(text, above)
    if above and len(parent.children) == 1:
        return _without(text, above)
    names = [name for name, _, _ in parent.children]
    index = last if isinstance(last, int) else len(names) - 1 - names[::-1].index(last)
    return remove(text, above, index)


def _opened(raw: bytes | None) -> tuple[str, Callable[[str], bytes]]:
    try:
        text = (raw or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigFault("the settings file is not UTF-8: nothing was changed") from None
    body = text.removeprefix(_BOM)
    mark = text[: len(text) - len(body)]
    return body if body.strip() else "{}\n", lambda changed: (mark + changed).encode()


# --- splicing a JSON text


@dataclass(slots=True)
class JsonSpan:
    """Where a value stands: `start` to `stop` in the text; children of objects and arrays in order."""

    start: int
    stop: int
    children: list[tuple[str, int, JsonSpan]] = field(default_factory=list)

    def child(self, key: str) -> JsonSpan | None:
        """The member of that name; the last one counts, as it does for every JSON reader."""
        return next((place for name, _, place in reversed(self.children) if name == key), None)


def scan(text: str) -> JsonSpan:
    """The places of all values of a JSON text whose top is an object."""
    try:
        top = json.loads(text)
        place = _span(text, _skip(text, 0))
    except (ValueError, RecursionError, IndexError) as fault:
        raise InvalidInput(f"not valid JSON: {fault}") from None
    if not isinstance(top, dict):
        raise InvalidInput("not a JSON object")
    return place


def add_member(text: str, path: Steps, key: str, value: Any) -> str:
    """The text with `key: value` as the last member of the object at `path`."""
    return _add(text, _at(text, path), f"{json.dumps(key)}: ", value)


def add_item(text: str, path: Steps, value: Any) -> str:
    """The text with the value as the last item of the array at `path`."""
    return _add(text, _at(text, path), "", value)


def remove(text: str, path: Steps, index: int) -> str:
    """The text without the child number `index` of the object or array at `path`, comma and all."""
    parent = _at(text, path)
    _, start, place = parent.children[index]
    if len(parent.children) == 1:
        return text[: parent.start + 1] + text[parent.stop - 1 :]
    if index == 0:
        return text[:start] + text[parent.children[1][1] :]
    return text[: parent.children[index - 1][2].stop] + text[place.stop :]


def _at(text: str, path: Steps) -> JsonSpan:
    place: JsonSpan | None = scan(text)
    for key in path:
        if place is not None:
            place = place.child(key) if isinstance(key, str) else place.children[key][2]
    if place is None:
        raise InvalidInput(f"no {'.'.join(map(str, path))} in the document")
    return place


def _add(text: str, parent: JsonSpan, prefix: str, value: Any) -> str:
    if text[parent.start] not in _CLOSING:
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


def _indents(text: str, parent: JsonSpan) -> tuple[str, str]:
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


def _span(text: str, start: int) -> JsonSpan:
    if text[start] not in _CLOSING:
        return JsonSpan(start, _DECODER.raw_decode(text, start)[1])
    closing = _CLOSING[text[start]]
    place = JsonSpan(start, start)
    cursor = _skip(text, start + 1)
    while text[cursor] != closing:
        if text[cursor] == ",":
            cursor = _skip(text, cursor + 1)
        begin, name = cursor, ""
        if closing == "}":
            name, end = _DECODER.raw_decode(text, cursor)
            cursor = _skip(text, _skip(text, end) + 1)  # past the colon
        value = _span(text, cursor)
        place.children.append((name, begin, value))
        cursor = _skip(text, value.stop)
    place.stop = cursor + 1
    return place
