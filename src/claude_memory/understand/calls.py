"""What the calls of an exchange did: files, commands and how they went, commits, checks, tasks. Pure.

An exit code that is known is believed; only where a pipe hides it, the report is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from claude_memory.model import Message
from claude_memory.understand import commands, tools
from claude_memory.understand.model import Command, Commit, TaskItem

COMMAND_CHARACTERS = 300
FILES = 80
_CREATED = re.compile(r"Task #(\d+) created")
_SESSION_RUNS = re.compile(r"Process running with session ID (\d+)")


def clip(text: str, limit: int) -> str:
    """Head and tail: the sum of a long text stands at its end."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3].rstrip()}\n[…]\n{text[-(limit // 3) :].lstrip()}"


class Checks:
    """How each check went when it was last run; one that passes on other files clears no failure."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[frozenset[str], Command]] = {}

    def ran(self, command: Command, checks: Iterable[tuple[str, frozenset[str]]]) -> None:
        for name, objects in checks:
            before, last = self._last.get(name, (frozenset(), command))
            elsewhere = last.failed and bool(objects) and before.isdisjoint(objects)
            if command.failed or not elsewhere:
                self._last[name] = (objects, command)

    def failing(self) -> tuple[Command, ...]:
        return tuple({last.ordinal: last for _, last in self._last.values() if last.failed}.values())


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
    checks: Checks = field(default_factory=Checks)
    _running: dict[str, str] = field(default_factory=dict)  # a shell's own number of a command, to the call

    def call(self, position: int, call: Message) -> None:
        tool = call.tool.lower()
        if tool in tools.RUNNING:
            command = tools.command_of(call.text)
            if command:
                shown = clip(command, COMMAND_CHARACTERS)
                self.commands[call.call or str(position)] = Command(call.ordinal, shown)

    def result(self, position: int, result: Message, call: Message | None) -> None:
        if call is None:
            return
        tool, refused = call.tool.lower(), result.manner == "rejection"
        if refused:
            self.commands.pop(call.call, None)
        elif tool in tools.RUNNING:
            self._ran(position, result, call)
        elif tool in tools.POLLING:
            self._printed(position, result, call)
        elif result.failed:
            return
        elif tools.reads(tool, call.text):
            self._reads(tools.files_of(call.text))
        elif tool in tools.CHANGING:
            self._changes(position, tools.files_of(call.text))
        elif "pull_request" in tool:
            self.pull_requests += pull_requests_in(result.text)

    def _ran(self, position: int, result: Message, call: Message) -> None:
        command = tools.command_of(call.text)
        if not command:
            return
        if runs := _SESSION_RUNS.search(result.text[:600]):
            self._running[runs[1]] = call.call
        self._outcome(position, result, call.call, command)
        if not result.failed:
            self._reads(commands.files_read_by(command))
            self._changes(position, commands.files_written_by(command))

    def _printed(self, position: int, result: Message, call: Message) -> None:
        """More output of a command that was still running."""
        given = tools.given_of(call.text)
        origin = self._running.get(given.get("session_id", ""), "")
        command = self.commands.get(origin)
        self._outcome(position, result, origin, command.command if command else "")

    def _outcome(self, position: int, result: Message, id_: str, command: str) -> None:
        checks = commands.checks_of(command)
        doubtful = bool(checks) and commands.hides_exit_code(command)
        failed = result.failed or (doubtful and reports_failure(result.text))
        ran = self.commands.get(id_)
        if ran is not None:
            error = commands.error_lines(result.text) if failed else ""
            self.commands[id_] = ran = Command(ran.ordinal, ran.command, failed, error)
            self.checks.ran(ran, checks)
        for hash_, subject, branch in commits_in(command, result.text, failed=result.failed):
            amends = "--amend" in command
            if amends and self.commits:
                amends = self.commits.pop().amends
            self.commits.append(Commit(result.ordinal, hash_, subject, branch, amends))
            self._committed = position
        if "pr create" in command or "mr create" in command:
            self.pull_requests += pull_requests_in(result.text)

    def _reads(self, names: Iterable[str]) -> None:
        self.read.update(dict.fromkeys(tools.relative(name, self.cwd) for name in names))

    def _changes(self, position: int, names: Iterable[str]) -> None:
        for name in names:
            short = tools.relative(name, self.cwd)
            self.edited[short] += 1
            self._edits[short] = position

    def uncommitted(self) -> tuple[str, ...]:
        """Files edited after the last commit; what lies in scratch folders is never committed."""
        return tuple(
            name for name, at in self._edits.items() if at > self._committed and not tools.is_scratch(name)
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
        if tool in tools.LISTING:
            if listed := tools.tasks_of(call.text):
                self._items = {
                    title: TaskItem(title, _status(status), call.ordinal) for title, status in listed
                }
                self._touched = True
        elif tool == "taskcreate":
            self._calls[call.call] = call
        elif tool == "taskupdate":
            self._update(call)

    def _update(self, call: Message) -> None:
        given = tools.given_of(call.text)
        item = self._items.get(given.get("taskId", "").strip())
        if item is not None:
            title = given.get("subject", "").strip() or item.title
            status = _status(given.get("status", "").strip()) if given.get("status") else item.status
            self._items[given["taskId"].strip()] = TaskItem(title, status, call.ordinal)
            self._touched = True

    def result(self, result: Message) -> None:
        call = self._calls.pop(result.call, None)
        number = _CREATED.match(result.text) if call is not None else None
        if call is not None and number:
            title = tools.given_of(call.text).get("subject", "").strip()
            self._items[number[1]] = TaskItem(title, "pending", call.ordinal)
            self._touched = True

    def standing(self) -> tuple[TaskItem, ...]:
        """The list at the end of the exchange, if it was touched, without what was done before it."""
        if not self._touched:
            return ()
        return tuple(item for id_, item in self._items.items() if id_ not in self._finished)


_STATUSES = {"done": "completed", "cancelled": "deleted", "canceled": "deleted"}
_STATUSES |= dict.fromkeys(("inprogress", "active", "doing"), "in_progress")


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
