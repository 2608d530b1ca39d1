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
        if isinstance(value, str):
            shown = value
        else:
            try:
                shown = json.dumps(value, ensure_ascii=False)[:INPUT_CHARACTERS]
            except (RecursionError, ValueError, TypeError):
                shown = "[nested too deeply]"
        if key != "command" or not parts:
            parts.append(f"{key}: {shown}")
    return "\n".join(parts)


def given_of(text: str) -> dict[str, str]:
    """The members of an input that `rendered` showed, each as text; long ones may be cut."""
    _, *rest = _MEMBER.split(text)
    members: dict[str, str] = {}
    for key, value in zip(rest[::2], rest[1::2], strict=True):
        members.setdefault(key, value.strip())  # a text that looks like a member stands behind the real ones
    return members


def command_of(text: str) -> str:
    return _BESIDE_COMMAND.split(text[2:], maxsplit=1)[0].strip() if text.startswith("$ ") else ""


def files_of(text: str) -> list[str]:
    """The files that a reading or changing tool was pointed at, as it names them."""
    if "*** Begin Patch" in text:
        return [name.strip() for name in _PATCHED.findall(text)]
    path = _PATH.search(text)
    return [path[1].strip()] if path else []


def definitions_of(text: str) -> list[str]:
    """The names that a changing tool's input defines, the first first; of a constant with its value."""
    found = (" ".join(match.groups(default="")).strip() for match in _DEFINED.finditer(text))
    return list(dict.fromkeys(found))


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
    """What the calls of one exchange did, in their order; `items` is the whole session's list of tasks."""

    cwd: str
    items: dict[str, TaskItem]
    read: dict[str, None] = field(default_factory=dict)
    edited: Counter[str] = field(default_factory=Counter)
    commands: dict[str, Command] = field(default_factory=dict)  # by the call's id
    commits: list[Commit] = field(default_factory=list)
    pull_requests: dict[str, None] = field(default_factory=dict)
    _loose: dict[str, bool] = field(default_factory=dict)  # files, and whether they changed since a commit
    _running: dict[str, str] = field(default_factory=dict)  # a shell's own number of a command, to the call
    _finished: frozenset[str] = frozenset()  # tasks that were done before
    _touched: bool = False  # the list

    def __post_init__(self) -> None:
        done = (id_ for id_, item in self.items.items() if item.status in ("completed", "deleted"))
        self._finished = frozenset(done)

    def call(self, call: Message) -> None:
        tool = call.tool.lower()
        if tool in RUNNING and (command := command_of(call.text)):
            shown = clip(command, COMMAND_CHARACTERS)
            self.commands[call.call or str(call.ordinal)] = Command(call.ordinal, shown)
        elif tool in LISTING and (listed := _listed(call)):
            self.items.clear()
            self.items.update(listed)
            self._touched = True
        elif tool == "taskupdate":
            given = given_of(call.text)
            id_ = given.get("taskId", "")
            if item := self.items.get(id_):
                status = _status(given.get("status") or item.status)
                self.items[id_] = TaskItem(given.get("subject") or item.title, status, call.ordinal)
                self._touched = True

    def result(self, result: Message, call: Message | None) -> None:
        if call is None:
            return
        tool = call.tool.lower()
        if tool == "taskcreate" and (number := _CREATED.match(result.text)):
            title = given_of(call.text).get("subject", "")
            self.items[number[1]] = TaskItem(title, "pending", call.ordinal)
            self._touched = True
        if result.manner == "rejection":
            self.commands.pop(call.call, None)
        elif tool in RUNNING:
            command = command_of(call.text)
            if runs := _SESSION_RUNS.search(result.text[:600]):
                self._running[runs[1]] = call.call
            if not result.failed:
                self._reads(commands.files_read_by(command))
                patched = files_of(command) if "*** Begin Patch" in command else []
                self._changes(patched or commands.files_written_by(command))
            self._outcome(result, call.call, command)  # Last: a commit takes what its own line wrote.
        elif tool in POLLING:  # more output of a command that was still running
            origin = self._running.get(given_of(call.text).get("session_id", ""), "")
            ran = self.commands.get(origin)
            self._outcome(result, origin, ran.command if ran else "")
        elif result.failed:
            return
        elif tool in READING or (tool in CHANGING and call.text.startswith("$ view")):
            self._reads(files_of(call.text))
        elif tool in CHANGING:
            self._changes(files_of(call.text))
        elif "pull_request" in tool:
            self.find_pull_requests(result.text)

    def _outcome(self, result: Message, id_: str, command: str) -> None:
        # Where a pipe or another command hides a check's exit code, its report says whether it failed.
        doubtful = commands.hides_exit_code(command) and bool(commands.checks_of(command))
        report = result.text[-commands.OUTPUT_CHARACTERS :] if doubtful else ""
        failed = result.failed or _FAILURE.search(report) is not None
        if ran := self.commands.get(id_):
            error = commands.error_lines(result.text) if failed else ""
            self.commands[id_] = Command(ran.ordinal, ran.command, failed, error)
        for hash_, subject, branch in commits_in(command, result.text, failed=result.failed):
            amends = "--amend" in command
            if amends and self.commits:
                amends = self.commits.pop().amends
            self.commits.append(Commit(result.ordinal, hash_, subject, branch, amends))
            self._loose = dict.fromkeys(self._loose, False)
        if "pr create" in command or "mr create" in command:
            self.find_pull_requests(result.text)

    def _reads(self, names: Iterable[str]) -> None:
        self.read.update(dict.fromkeys(relative(name, self.cwd) for name in names))

    def _changes(self, names: Iterable[str]) -> None:
        short = [relative(name, self.cwd) for name in names]
        self.edited.update(short)
        self._loose.update(dict.fromkeys(short, True))

    def find_pull_requests(self, text: str) -> None:
        """Addresses of pull requests, each once."""
        self.pull_requests.update(dict.fromkeys(_PULL_REQUEST.findall(text) if "://" in text else ()))

    def uncommitted(self) -> tuple[str, ...]:
        """Files edited after the last commit; what lies in scratch folders is never committed."""
        return tuple(name for name, loose in self._loose.items() if loose and not is_scratch(name))

    def tasks(self) -> tuple[TaskItem, ...]:
        """The list at the end of the exchange, if it was touched, without what was done before it."""
        kept = (item for id_, item in self.items.items() if id_ not in self._finished)
        return tuple(kept) if self._touched else ()


def _listed(call: Message) -> dict[str, TaskItem]:
    """The tasks of a whole list that a tool was given."""
    given = given_of(call.text)
    try:
        items = json.loads(given.get("todos", given.get("plan", "")))
    except (ValueError, RecursionError):  # a long input has lost its middle
        return {}
    tasks = {}
    for item in [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else ():
        title = next((item[key] for key in ("content", "step", "description") if item.get(key)), "")
        if isinstance(title, str) and title.strip() and isinstance(item.get("status"), str):
            title = " ".join(title.split())
            tasks[title] = TaskItem(title, _status(item["status"]), call.ordinal)
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
