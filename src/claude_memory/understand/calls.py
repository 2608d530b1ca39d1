"""What the calls of an exchange did: files, commands and how they went, commits, checks, tasks. Pure.

An archived call keeps its input as text (`rendered`), and what a tool was given is read from that text.
Long inputs were cut in their middle, so nothing may rely on their end. An exit code that is known is
believed; only where a pipe hides it, the report is read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from claude_memory.model import Message
from claude_memory.understand import commands
from claude_memory.understand.model import Command, Commit, TaskItem

# --- tools: what each is for, and what its input says

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

COMMAND_CHARACTERS = 300
FILES = 80
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
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_DEFINED = re.compile(
    r"(?:^|\n|_string: |content: )(?:[+ \t]*(?:export |default |async |pub |public |private |static )*"
    r"(?:func(?: \([^)\n]*\))?|def|function|class|type|fn|interface|struct|enum) +(\w{3,60})"
    r"|\+?(?:const|var|let|export const) +(\w{3,60})(?:[ \w.*\[\]]*?(= *[\d.]+(?: *\* *[\w.]+)?)(?=[;\s]))?)"
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
    """The members of an input that `rendered` showed, each as text; long ones may be cut."""
    _, *rest = _MEMBER.split(text)
    members: dict[str, str] = {}
    for key, value in zip(rest[::2], rest[1::2], strict=True):
        members.setdefault(key, value.strip())  # a text that looks like a member stands behind the real ones
    return members


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:INPUT_CHARACTERS]
    except (RecursionError, ValueError, TypeError):
        return "[nested too deeply]"


def command_of(text: str) -> str:
    """What a running tool was given to run."""
    return _BESIDE_COMMAND.split(text[2:], maxsplit=1)[0].strip() if text.startswith("$ ") else ""


def files_of(text: str) -> list[str]:
    """The files that a reading or changing tool was pointed at, as it names them."""
    if "*** Begin Patch" in text:
        return [name.strip() for name in _PATCHED.findall(text)]
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


# --- what they did

_CREATED = re.compile(r"Task #(\d+) created")
_SESSION_RUNS = re.compile(r"Process running with session ID (\d+)")


def clip(text: str, limit: int) -> str:
    """Head and tail: the sum of a long text stands at its end."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3].rstrip()}\n[…]\n{text[-(limit // 3) :].lstrip()}"


def failing(runs: Iterable[Command]) -> tuple[Command, ...]:
    """The checks whose last run failed; one that passes on other files clears no failure."""
    last: dict[str, tuple[frozenset[str], Command]] = {}
    for command in runs:
        for name, objects in commands.checks_of(command.command):
            before, earlier = last.get(name, (frozenset(), command))
            elsewhere = earlier.failed and bool(objects) and before.isdisjoint(objects)
            if command.failed or not elsewhere:
                last[name] = (objects, command)
    return tuple({command.ordinal: command for _, command in last.values() if command.failed}.values())


@dataclass(slots=True)
class Work:
    """What the calls of one exchange did, in their order."""

    cwd: str
    read: dict[str, None] = field(default_factory=dict)
    edited: Counter[str] = field(default_factory=Counter)
    commands: dict[str, Command] = field(default_factory=dict)  # by the call's id
    commits: list[Commit] = field(default_factory=list)
    pull_requests: list[str] = field(default_factory=list)
    _edits: dict[str, int] = field(default_factory=dict)  # when each file was last edited
    _committed: int = -1
    _running: dict[str, str] = field(default_factory=dict)  # a shell's own number of a command, to the call

    def call(self, position: int, call: Message) -> None:
        if call.tool.lower() in RUNNING and (command := command_of(call.text)):
            shown = clip(command, COMMAND_CHARACTERS)
            self.commands[call.call or str(position)] = Command(call.ordinal, shown)

    def result(self, position: int, result: Message, call: Message | None) -> None:
        if call is None:
            return
        tool = call.tool.lower()
        if result.manner == "rejection":
            self.commands.pop(call.call, None)
        elif tool in RUNNING:
            command = command_of(call.text)
            if runs := _SESSION_RUNS.search(result.text[:600]):
                self._running[runs[1]] = call.call
            self._outcome(position, result, call.call, command)
            if not result.failed:
                self._reads(commands.files_read_by(command))
                patched = files_of(command) if "*** Begin Patch" in command else []
                self._changes(position, patched or commands.files_written_by(command))
        elif tool in POLLING:  # more output of a command that was still running
            origin = self._running.get(given_of(call.text).get("session_id", ""), "")
            ran = self.commands.get(origin)
            self._outcome(position, result, origin, ran.command if ran else "")
        elif result.failed:
            return
        elif reads(tool, call.text):
            self._reads(files_of(call.text))
        elif tool in CHANGING:
            self._changes(position, files_of(call.text))
        elif "pull_request" in tool:
            self.pull_requests += pull_requests_in(result.text)

    def _outcome(self, position: int, result: Message, id_: str, command: str) -> None:
        doubtful = commands.hides_exit_code(command) and bool(commands.checks_of(command))
        failed = result.failed or (doubtful and reports_failure(result.text))
        ran = self.commands.get(id_)
        if ran is not None:
            error = commands.error_lines(result.text) if failed else ""
            self.commands[id_] = Command(ran.ordinal, ran.command, failed, error)
        for hash_, subject, branch in commits_in(command, result.text, failed=result.failed):
            amends = "--amend" in command
            if amends and self.commits:
                amends = self.commits.pop().amends
            self.commits.append(Commit(result.ordinal, hash_, subject, branch, amends))
            self._committed = position
        if "pr create" in command or "mr create" in command:
            self.pull_requests += pull_requests_in(result.text)

    def _reads(self, names: Iterable[str]) -> None:
        self.read.update(dict.fromkeys(relative(name, self.cwd) for name in names))

    def _changes(self, position: int, names: Iterable[str]) -> None:
        for name in names:
            short = relative(name, self.cwd)
            self.edited[short] += 1
            self._edits[short] = position

    def uncommitted(self) -> tuple[str, ...]:
        """Files edited after the last commit; what lies in scratch folders is never committed."""
        return tuple(
            name for name, at in self._edits.items() if at > self._committed and not is_scratch(name)
        )[:FILES]


class Tasks:
    """The agent's own list of tasks. It lasts for the whole session; an exchange shows what it touched."""

    def __init__(self) -> None:
        self._items: dict[str, TaskItem] = {}
        self._calls: dict[str, Message] = {}
        self._finished: set[str] = set()
        self._touched = False

    def begin(self) -> None:
        self._touched = False
        self._finished = {id_ for id_, item in self._items.items() if item.status in ("completed", "deleted")}

    def call(self, call: Message) -> None:
        tool = call.tool.lower()
        if tool in LISTING:
            if listed := _listed(call):
                self._items, self._touched = listed, True
        elif tool == "taskcreate":
            self._calls[call.call] = call
        elif tool == "taskupdate":
            given = given_of(call.text)
            id_ = given.get("taskId", "")
            if item := self._items.get(id_):
                title, status = given.get("subject") or item.title, given.get("status")
                status = _status(status) if status else item.status
                self._items[id_] = TaskItem(title, status, call.ordinal)
                self._touched = True

    def result(self, result: Message) -> None:
        call = self._calls.pop(result.call, None)
        if call is not None and (number := _CREATED.match(result.text)):
            self._items[number[1]] = TaskItem(given_of(call.text).get("subject", ""), "pending", call.ordinal)
            self._touched = True

    def standing(self) -> tuple[TaskItem, ...]:
        """The list at the end of the exchange, if it was touched, without what was done before it."""
        if not self._touched:
            return ()
        return tuple(item for id_, item in self._items.items() if id_ not in self._finished)


def _listed(call: Message) -> dict[str, TaskItem]:
    """The tasks of a whole list that a tool was given."""
    given = given_of(call.text)
    try:
        items = json.loads(given.get("todos", given.get("plan", "")))
    except (ValueError, RecursionError):  # a long input has lost its middle
        return {}
    tasks = {}
    for item in items if isinstance(items, list) else ():
        named = item if isinstance(item, Mapping) else {}
        title = next((named[key] for key in ("content", "step", "description") if named.get(key)), "")
        if isinstance(title, str) and title.strip() and isinstance(named.get("status"), str):
            title = " ".join(title.split())
            tasks[title] = TaskItem(title, _status(named["status"]), call.ordinal)
    return tasks


_STATUSES = {"done": "completed", "cancelled": "deleted", "canceled": "deleted", "inprogress": "in_progress"}


def _status(status: str) -> str:
    status = _STATUSES.get(status.lower(), status.lower())
    return status if status in ("completed", "deleted", "in_progress") else "pending"


# --- what a command printed

_FAILURE = re.compile(
    r"^[ \t]*(?:--- FAIL|FAIL(?:ED|URES?)?\b|not ok |error(?:\[\w+\])?:|Error:|ERROR\b|panic:|fatal:"
    r"|Traceback |[✗✖✘×●] )|\b[1-9]\d* (?:\w+ )?(?:failed|failures?|failing|errors?)\b"
    r"|\bexit (?:code|status):? [1-9]|\bcommand not found\b|: error(?: TS\d+|\[)?:|\bERROR task failed\b",
    re.MULTILINE,
)


def reports_failure(output: str) -> bool:
    """Whether a check's report says that something failed."""
    return _FAILURE.search(output[-commands.OUTPUT_CHARACTERS :]) is not None


_COMMITTED = re.compile(
    r"^\[([^\s\]]+|detached HEAD)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE
)
_LOGGED = re.compile(r"^([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(.+)$", re.MULTILINE)
_MESSAGE = re.compile(
    r"(?:-a?m|--message)[ =]?(?:\"\$\(cat <<-?\s?['\"]?\w+['\"]?\n\s*([^\n]+)|\"([^\"\n]+)|'([^'\n]+))"
    r"|(?:-F|--file)[ =]?- <<-?\s?['\"]?\w+['\"]?\n\s*([^\n]+)"
)
_QUIET = re.compile(r"\bcommit(?: -\S+)* (?:-q|--quiet)\b")
_PULL_REQUEST = re.compile(r"https?://[\w./-]+/(?:pull|merge_requests|pull-requests)/\d+")


def commits_in(command: str, output: str, *, failed: bool = False) -> list[tuple[str, str, str]]:
    """Commits that went through: hash, subject, branch. A quiet one is read from its command, its hash
    from a log that the command printed after it, if it did.
    """
    found = [
        (hash_, subject.strip(), "" if branch == "detached HEAD" else branch)
        for branch, hash_, subject in _COMMITTED.findall(output)
    ]
    if found or failed or "git" not in command or " commit" not in command:
        return found
    messages = (next(filter(None, groups)).strip() for groups in _MESSAGE.findall(command))
    subjects = [message for message in messages if "$" not in message]  # a script's variable is no subject
    logged = {subject: hash_ for hash_, subject in reversed(_LOGGED.findall(output))}
    if not any(subject in logged for subject in subjects) and not _QUIET.search(command):
        return []
    return [(logged.get(subject, ""), subject, "") for subject in subjects]


def pull_requests_in(text: str) -> list[str]:
    """Addresses of pull requests, each once."""
    return list(dict.fromkeys(_PULL_REQUEST.findall(text))) if "://" in text else []
