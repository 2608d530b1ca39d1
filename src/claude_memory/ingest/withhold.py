"""Capture by name only: what stands in private files never enters the memory, not even redacted.

Pure. Decides by the names in a tool's input; the content is dropped, the fact that the file was
touched stays. The same goes for what our own tools answered: it is in the memory already.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from claude_memory.ingest.exclusions import LONGEST_COMMAND, matches

WITHHELD = "[withheld]"

_PRIVATE = (
    *(".env", ".env.*", "*.env", ".envrc", "credentials", "credentials.*", ".credentials*", "secrets.*"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "service-account*.json", "*.tfvars", "*.tfstate"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".htpasswd", ".dockercfg"),
    *("kubeconfig", "kubeconfig.*", "*.kubeconfig"),
)
_PRIVATE_ENDINGS = (".claude/setup.md", ".kube/config", ".docker/config.json", ".config/gh/hosts.yml")
_PRIVATE_FOLDERS = ("/.ssh/", "/.gnupg/", "/.aws/")
_PUBLIC = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")
# As one expression each: a history of years asks this of every word of every command.
_PRIVATE_NAME = re.compile("|".join(map(fnmatch.translate, _PRIVATE)))
_PUBLIC_NAME = re.compile("|".join(map(fnmatch.translate, _PUBLIC)))

_PATH_KEYS = frozenset({"file_path", "filePath", "path", "notebook_path", "filename", "file", "uri"})
_NAME_KEYS = _PATH_KEYS | {"description", "pattern", "glob", "offset", "limit"}
_IDENTIFYING = frozenset(
    """session_id transcript_path cwd hook_event_name prompt_id permission_mode agent_id agent_type source
    trigger reason tool_name tool_use_id duration_ms is_interrupt""".split()
)
_COMMAND_KEYS = ("command", "cmd", "script")
_SHELL_WORDS = re.compile(r"[^\s;|&<>()'\"`=,]+")
_WRITES = re.compile(r"[>\n]|<<|\btee\b|\bsed\b|\becho\b|\bprintf\b")
_OWN_TOOL = re.compile(
    r"^mcp__(?:[\w-]*?claude[-_]memory[\w-]*?|plugin_lasting-memory_\w+?)__", re.IGNORECASE
)
_OWN_COMMAND = re.compile(r"(?:^|[\s;|&/])claude-memory\s+(?:search|show|timeline|recall|conversation|why)\b")


def withhold(payload: Mapping[str, Any], exclude: Sequence[str] = ()) -> dict[str, Any]:
    """The payload without the content of private or excluded files."""
    cwd = payload.get("cwd")
    if isinstance(cwd, str) and exclude and matches(cwd, tuple(exclude)):
        return {key: value for key, value in payload.items() if key in _IDENTIFYING}
    kept = _walk(payload, exclude)
    return kept if isinstance(kept, dict) else {}


def is_private(name: str, exclude: Sequence[str] = ()) -> bool:
    """Whether a file of this name is captured by name only."""
    return _is_private(name, tuple(exclude))


@lru_cache(maxsize=8192)
def _is_private(name: str, exclude: tuple[str, ...]) -> bool:
    path = name.replace("\\", "/").rstrip("/")
    base = path.rsplit("/", 1)[-1].lower()
    if exclude and matches(path, exclude):
        return True
    if _PUBLIC_NAME.match(base):
        return False
    rooted = "/" + path.lower().removeprefix("~").lstrip("/")
    return (
        _PRIVATE_NAME.match(base) is not None
        or any(rooted.endswith("/" + ending) for ending in _PRIVATE_ENDINGS)
        or any(folder in rooted for folder in _PRIVATE_FOLDERS)
    )


def _walk(value: Any, exclude: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_walk(item, exclude) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "tool_input" in value:  # the event itself, and each call of a batch
        return _tool(value, exclude)
    return {key: _walk(item, exclude) for key, item in value.items()}


def _tool(call: Mapping[str, Any], exclude: Sequence[str]) -> dict[str, Any]:
    given = call["tool_input"] if isinstance(call["tool_input"], Mapping) else {}
    if _touches_private(given, exclude):
        kept = {key: value for key, value in call.items() if key in _IDENTIFYING}
        return {**kept, "tool_input": _names(given), "withheld": True}
    if _is_own(call, given):
        return {key: value for key, value in call.items() if key != "tool_response"} | {"withheld": True}
    return dict(call)


def _touches_private(given: Mapping[str, Any], exclude: Sequence[str]) -> bool:
    if any(is_private(str(given[key]), exclude) for key in _PATH_KEYS if isinstance(given.get(key), str)):
        return True
    commands = [given[key] for key in _COMMAND_KEYS if isinstance(given.get(key), str)]
    if exclude and any(len(command) > LONGEST_COMMAND for command in commands):
        return True  # it may name anything, and looking through all of it has no bound
    return any(is_private(word, exclude) for command in commands for word in _SHELL_WORDS.findall(command))


def _names(given: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in given.items() if key in _NAME_KEYS}
    for key in _COMMAND_KEYS:
        if isinstance(command := given.get(key), str):
            # A command that writes may carry the content itself.
            kept[key] = WITHHELD if _WRITES.search(command) else command
    return kept


def _is_own(call: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    if _OWN_TOOL.match(str(call.get("tool_name", ""))):
        return True
    return any(_OWN_COMMAND.search(str(given.get(key, ""))) for key in _COMMAND_KEYS)
