"""Our entries in other programs' settings: put in, and taken out, without touching the rest.

Pure functions from bytes to bytes. An entry is ours if it runs our hook program or our server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from claude_memory.errors import ConfigFault, InvalidInput
from claude_memory.install.json_edit import add_item, add_member, remove, scan
from claude_memory.install.plugin import HOOK_FILE

SERVER_NAME = "claude-memory"
_BOM = "\ufeff"
_TOML_START = "# >>> claude-memory"
_TOML_END = "# <<< claude-memory"


def put_hooks(raw: bytes | None, hooks: Mapping[str, list[dict[str, Any]]], key: str = "hooks") -> bytes:
    """A settings text with our hook groups appended under each event."""
    text, encode = _opened(raw)
    if scan(text).child(key) is None:
        return encode(add_member(text, [], key, dict(hooks)))
    for event, groups in hooks.items():
        table = scan(text).child(key)
        if table is None or table.child(event) is None:
            text = add_member(text, [key], event, groups)
        else:
            for group in groups:
                text = add_item(text, [key, event], group)
    return encode(text)


def take_hooks(raw: bytes, key: str = "hooks") -> bytes:
    """The settings text without hook groups of ours; an event or table they alone filled goes too."""
    text, encode = _opened(raw)
    table = scan(text).child(key)
    cleaned = text
    for event in [name for name, _, _ in table.children] if table else []:
        cleaned = _without_groups(cleaned, key, event)
    return encode(cleaned) if cleaned != text else raw


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
    """The settings text without our MCP server."""
    text, encode = _opened(raw)
    table = scan(text).child(key)
    names = [name for name, _, _ in table.children] if table else []
    if SERVER_NAME not in names or not is_our_server(json.loads(text)[key][SERVER_NAME]):
        return raw
    if names == [SERVER_NAME]:
        return encode(_without_member(text, [], key))
    return encode(_without_member(text, [key], SERVER_NAME))


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


def has_hooks(raw: bytes | None, key: str = "hooks") -> bool:
    """Whether hooks of ours are registered in a settings text."""
    if not raw:
        return False
    try:
        return take_hooks(raw, key) != raw
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


def _without_groups(text: str, key: str, event: str) -> str:
    groups = json.loads(text)[key][event]
    if not isinstance(groups, list):
        return text
    for number, group in enumerate(groups):  # somebody may have put their own hook beside ours
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if isinstance(hooks, list) and not is_ours(group):
            for place in reversed([n for n, hook in enumerate(hooks) if is_ours(hook)]):
                text = remove(text, [key, event, number, "hooks"], place)
    groups = json.loads(text)[key][event]
    ours = [number for number, group in enumerate(groups) if is_ours(group)]
    if not ours:
        return text
    if len(ours) < len(groups):
        for number in reversed(ours):
            text = remove(text, [key, event], number)
        return text
    if len(json.loads(text)[key]) == 1:
        return _without_member(text, [], key)
    return _without_member(text, [key], event)


def _without_member(text: str, path: list[str], name: str) -> str:
    place = scan(text)
    for key in path:
        found = place.child(key)
        if found is None:
            return text
        place = found
    numbers = [number for number, (member, _, _) in enumerate(place.children) if member == name]
    for number in reversed(numbers):
        text = remove(text, path, number)
    return text


def _opened(raw: bytes | None) -> tuple[str, Callable[[str], bytes]]:
    try:
        text = (raw or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigFault("the settings file is not UTF-8: nothing was changed") from None
    mark = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(_BOM)
    empty = not body.strip()
    return ("{}\n" if empty else body), lambda changed: (mark + changed).encode()
