"""The tools of coding agents: what each is for, and what its input says. Pure.

An archived call keeps its input as text (`rendered`); everything here reads that text. Long inputs were
cut in their middle, so nothing may rely on their end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

READING = frozenset("read read_file readfile view view_file open_file notebookread read_many_files".split())
CHANGING = frozenset(
    "edit write multiedit notebookedit apply_patch str_replace_editor str_replace_based_edit_tool replace"
    " write_file edit_file search_replace create_file create patch".split()
)
RUNNING = frozenset(
    "bash shell powershell run_shell_command exec exec_command shell_command local_shell_call execute"
    " terminal run run_terminal_cmd".split()
)
# What a command that still ran had printed since: Codex's and Copilot's shells, Claude Code's tasks.
POLLING = frozenset("write_stdin read_bash stop_bash bashoutput taskoutput killshell".split())
LISTING = frozenset("todowrite todo_write update_plan todo updatetodos write_todos update_todo".split())
PLANNING = frozenset("exitplanmode exit_plan_mode".split())

INPUT_CHARACTERS = 24_000  # of a nested input, before the message as a whole is bounded
_BESIDE_COMMAND = re.compile(
    r"\n(description|timeout|run_in_background|workdir|cwd|justification|yield_time_ms|max_output_tokens"
    r"|timeout_ms|sandbox_permissions|with_escalated_permissions|prefix_rule|login|tty|shell|shellId|mode"
    r"|initial_wait|directory|dir_path|dangerouslyDisableSandbox): "
)
_MEMBER = re.compile(r"(?:^|\n)([a-zA-Z_]\w{0,40}): ")
_PATH = re.compile(
    r"(?:^|\n)(?:file_path|notebook_path|filePath|target_file|absolute_path|filename|path): ([^\n]+)"
)
_PATHS = re.compile(r"(?:^|\n)paths: (\[[^\n]*\])")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_DEFINED = re.compile(
    r"(?:^|\n|_string: |content: )(?:[+ \t]*(?:export |default |async |pub |public |private |static )*"
    r"(?:func(?: \([^)\n]*\))?|def|function|class|type|fn|interface|struct|enum) +(\w{3,60})"
    r"|\+?(?:const|var|let|export const) +(\w{3,60})(?:[ \w.*\[\]]*?(= *[\d.]+(?: *\* *[\w.]+)?)(?=[;\s]))?)"
)
_ITEM = re.compile(
    r'"(?:content|step|description)"\s?:\s?"((?:[^"\\]|\\.)*)"[^{}"]*(?:"\w+"\s?:\s?"[^"]*"[^{}"]*)?'
    r'"status"\s?:\s?"(\w+)"'
)


def rendered(given: Mapping[str, Any]) -> str:
    """A tool's input as a person reads it: the command first, everything else by name."""
    command = given.get("command")
    parts = [f"$ {command}"] if isinstance(command, str) else []
    for key, value in given.items():
        if key != "command" or not parts:
            parts.append(f"{key}: {value if isinstance(value, str) else _as_json(value)}")
    return "\n".join(parts)


def given_of(text: str) -> dict[str, str]:
    """The input that `rendered` showed: the command, and each member as text. Long ones may be cut."""
    if text.startswith("$ "):
        command, *rest = _BESIDE_COMMAND.split(text[2:])
        return {"command": command, **dict(zip(rest[::2], rest[1::2], strict=True))}
    _, *rest = _MEMBER.split(text)
    members: dict[str, str] = {}
    for key, value in zip(rest[::2], rest[1::2], strict=True):
        members.setdefault(key, value)  # a text that looks like a member stands behind the real ones
    return members


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:INPUT_CHARACTERS]
    except (RecursionError, ValueError, TypeError):
        return "[nested too deeply]"


def command_of(text: str) -> str:
    """What a running tool was given to run."""
    if text.startswith("$ "):
        return _BESIDE_COMMAND.split(text[2:], maxsplit=1)[0].strip()
    given = given_of(text)
    return next((given[key] for key in ("cmd", "script", "input") if key in given), "").strip()


def files_of(text: str) -> list[str]:
    """The files that a reading or changing tool was pointed at, as it names them."""
    if "*** Begin Patch" in text:
        return [name.strip() for name in _PATCHED.findall(text)]
    if many := _PATHS.search(text):
        try:
            return [name for name in json.loads(many[1]) if isinstance(name, str)]
        except ValueError:
            return []
    path = _PATH.search(text)
    return [path[1].strip()] if path else []


def definitions_of(text: str) -> list[str]:
    """The names that a changing tool's input defines, the first first; of a constant with its value."""
    return list(
        dict.fromkeys(" ".join(match.groups(default="")).strip() for match in _DEFINED.finditer(text))
    )


def reads(tool: str, text: str) -> bool:
    """Whether a call only looked at its file."""
    return tool in READING or (tool in CHANGING and text.startswith("$ view"))


def relative(name: str, cwd: str) -> str:
    """A file's name as the project knows it."""
    name, root = name.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    if root and name[: len(root) + 1].lower() == root.lower() + "/":
        return name[len(root) + 1 :]
    return name.removeprefix("./")


def same_file(one: str, other: str) -> bool:
    """Whether two paths name one file: either may name more of the way to it."""
    one, other = (path.replace("\\", "/").lstrip("./") for path in (one, other))
    return bool(one and other) and (one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}"))


_SCRATCH = re.compile(r"(?:^|/)(?:tmp|temp|scratchpad|var/folders)/|/\.claude/|/dev/", re.IGNORECASE)


def is_scratch(name: str) -> bool:
    """Whether a file lies where nothing is kept: temporary folders, the agent's own notes."""
    return _SCRATCH.search(name) is not None


# --- lists of tasks


def tasks_of(text: str) -> list[tuple[str, str]]:
    """What a tool that keeps a list of tasks was given: each task and its status, in lower case."""
    given = given_of(text)
    listed = given.get("todos", given.get("plan", ""))
    try:
        items = json.loads(listed)
    except (ValueError, RecursionError):  # a long input has lost its middle
        return [(content.replace('\\"', '"'), status.lower()) for content, status in _ITEM.findall(listed)]
    tasks = []
    for item in items if isinstance(items, list) else ():
        named = item if isinstance(item, Mapping) else {}
        title = next((named[key] for key in ("content", "step", "description") if named.get(key)), "")
        if isinstance(title, str) and title.strip() and isinstance(named.get("status"), str):
            tasks.append((" ".join(title.split()), named["status"].lower()))
    return tasks
