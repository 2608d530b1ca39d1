"""The tools of coding agents: what each is for, and what its input says. Pure.

An archived call keeps its input as text (`rendered`); everything here reads that text. Long inputs were
cut in their middle, so nothing may rely on their end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
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
ASKING = frozenset("askuserquestion ask_user request_user_input question".split())
DONE = frozenset(("completed", "done"))
DROPPED = frozenset(("cancelled", "canceled", "deleted"))

INPUT_CHARACTERS = 24_000  # of a nested input, before the message as a whole is bounded
COMMAND_CHARACTERS = 2_000
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


def reads(tool: str, text: str) -> bool:
    """Whether a call only looked at its file."""
    return tool in READING or (tool in CHANGING and text.startswith("$ view"))


def relative(name: str, cwd: str) -> str:
    """A file's name as the project knows it."""
    name, root = name.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    if root and name[: len(root) + 1].lower() == root.lower() + "/":
        return name[len(root) + 1 :]
    return name.removeprefix("./")


_SHELL_READS = re.compile(r"^(?:cat|head|tail|nl|bat|sed -n|less|type|Get-Content)\b")
_SHELL_WRITES = re.compile(r"(?:^|[;&|\n]\s*)(?:cat|tee)\s*(?:-a )?>{0,2}\s*(['\"]?)([\w./~-]+\.\w+)\1\s*<<")
_FILE_WORD = re.compile(r"^[\w@~./\\:-]*[\w-]\.\w{1,10}$|^[\w@~.-]+/[\w@~./-]+$")


def files_read_by(command: str) -> list[str]:
    """Files that a shell's command printed: agents without a tool for reading use `sed -n` and `cat`."""
    names = []
    for segment in segments(command):
        if _SHELL_READS.match(segment):
            words = [word.strip("'\"") for word in segment.split()[1:]]
            names += [word for word in words if _FILE_WORD.match(word) and not word[0].isdigit()]
    return names


def files_written_by(command: str) -> list[str]:
    """Files that a command wrote from a text of its own: a patch, or a here-document."""
    if "*** Begin Patch" in command:
        return [name.strip() for name in _PATCHED.findall(command)]
    if "<<" not in command:
        return []
    return [found[1] for found in _SHELL_WRITES.findall(command)]


# --- lists of tasks


def is_list(tool: str) -> bool:
    """Whether a tool of this name keeps a list of tasks, in any agent that is known."""
    return tool.lower() in LISTING


def items(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What such a tool was given: each task and its status, in lower case."""
    listed = given.get("todos", given.get("plan"))
    if isinstance(listed, str):
        yield from _from_text(listed)
    elif isinstance(listed, list):
        yield from _from_list(listed)


def _from_text(text: str) -> Iterator[tuple[str, str]]:
    """The archive keeps an input as text, and a long one without its middle."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        for content, status in _ITEM.findall(text):
            yield content.replace('\\"', '"'), status.lower()
        return
    if isinstance(listed, list):
        yield from _from_list(listed)


def _from_list(listed: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for item in listed:
        if not isinstance(item, Mapping):
            continue
        text = next((item[key] for key in ("content", "step", "description") if item.get(key)), "")
        status = item.get("status")
        if isinstance(text, str) and text.strip() and isinstance(status, str):
            yield " ".join(text.split()), status.lower()


# --- commands: their parts, checks, and what their output says

_PIECES = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|&&|\|\||[;|\n]|[^'\"&|;\n]+|.", re.DOTALL)
_APART = frozenset(("&&", "||", ";", "|", "\n"))
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")
_BEFORE = re.compile(
    r"(?:(?:\w+=(?:'[^']*'|\"[^\"]*\"|\S*)|sudo|time|env|command|npx|bunx|pnpx|uvx|nohup|timeout \S+"
    r"|(?:uv|poetry|pipenv|hatch|pdm|rye) run|bundle exec|(?:pnpm|yarn) exec|mise (?:exec|x) (?:\S+ )?--"
    r"|(?:\S*/)?python[\d.]* -m|[({!])\s+)+"
)
_CHECKERS = frozenset(
    """pytest tox nox ruff mypy pyright flake8 pylint black isort tsc eslint prettier biome vitest jest mocha
    playwright cypress golangci-lint staticcheck gofmt shellcheck markdownlint markdownlint-cli2 hadolint
    phpunit phpstan rspec rubocop ctest vale gotestsum stylelint actionlint yamllint tflint""".split()
)
_WITH_VERBS = frozenset(
    """go npm pnpm yarn bun cargo mix make just task mise gradle gradlew mvn dotnet rake rails hatch deno
    swift flutter dart composer zig bazel terraform nx turbo ninja cmake pre-commit goreleaser""".split()
)
_CHECKING_VERB = re.compile(
    r"[\w:.-]*(?:test|lint|check|build|clippy|vet|fmt|format|typecheck|types|verify|validate|spec|ci|e2e"
    r"|compile)[\w:.-]*$|--build$"
)
_NO_FILTER = frozenset(("./...", ".", "...", "./"))


@lru_cache(maxsize=4096)
def segments(command: str) -> tuple[str, ...]:
    """The single commands of a line, without here-documents, assignments and wrappers."""
    command = command[:COMMAND_CHARACTERS]
    here = _HEREDOC.search(command)
    parts = [""]
    for piece in _PIECES.findall(command[: here.start()] if here else command):
        if piece in _APART:
            parts.append("")
        else:
            parts[-1] += piece
    return tuple(bare for part in parts if (bare := _bare(part)))


def _bare(segment: str) -> str:
    segment = re.sub(r"\s*(?:\d?>&\d|&?\d?>{1,2}\s*\S+)", "", segment.strip())
    before = _BEFORE.match(segment)
    return segment[before.end() :] if before else segment


def checks_of(command: str) -> list[tuple[str, frozenset[str]]]:
    """The tests, linters, builds and type checks of a command: each with what it was pointed at."""
    return [found for segment in segments(command) if (found := _check(segment)) is not None]


def _check(segment: str) -> tuple[str, frozenset[str]] | None:
    words = segment.split()
    program = words[0].rpartition("/")[2].removesuffix(".exe")
    if program in _CHECKERS:
        return program, _objects(words[1:])
    if program not in _WITH_VERBS:
        return None
    verbs = [word for word in words[1:] if not word.startswith("-") or word == "--build"]
    taken = 2 if verbs[:1] in (["run"], ["exec"]) else 1
    if len(verbs) < taken or not _CHECKING_VERB.match(verbs[taken - 1]):
        return None
    return " ".join((program, *verbs[:taken])), _objects(verbs[taken:])


def _objects(words: Iterable[str]) -> frozenset[str]:
    named = (word.strip("'\"") for word in words if not word.startswith("-"))
    return frozenset(word for word in named if word not in _NO_FILTER and re.search(r"[./:]", word))


_FAILURE = re.compile(
    r"^\s*(?:--- FAIL|FAIL(?:ED|URES?)?\b|not ok |error(?:\[\w+\])?:|Error:|ERROR\b|panic:|fatal:|Traceback "
    r"|[✗✖✘×●] )|\b[1-9]\d* (?:\w+ )?(?:failed|failures?|failing|errors?)\b|\bexit (?:code|status):? [1-9]"
    r"|\bcommand not found\b|: error(?: TS\d+|\[)?:|\bERROR task failed\b",
    re.MULTILINE,
)
_DETAIL = re.compile(
    r"error|exception|fail|assert|panic|fatal|cannot|can't|could not|unable|undefined|not found|no such"
    r"|missing|denied|refused|expected|mismatch|invalid|timed? ?out|does not|doesn't|not equal",
    re.IGNORECASE,
)
_STATUS_LINE = re.compile(r"(?:Exit code:?|Process exited with code|Wall time:?|Chunk ID:|Original token) .*")
OUTPUT_CHARACTERS = 8_000  # of a report, its end: that is where the sum stands
ERROR_LINES = 4
LINE_CHARACTERS = 200


def hides_exit_code(command: str) -> bool:
    """Whether a command ends well although a part of it failed: a pipe, or one command after another."""
    here = _HEREDOC.search(command)
    pieces = _PIECES.findall(command[: here.start()] if here else command[:COMMAND_CHARACTERS])
    return not {"|", ";", "||", "\n"}.isdisjoint(pieces)


def reports_failure(output: str) -> bool:
    """Whether a check's report says that something failed."""
    return _FAILURE.search(output[-OUTPUT_CHARACTERS:]) is not None


def error_lines(output: str) -> str:
    """The lines of a report that say what went wrong, in order."""
    lines = [line.strip()[:LINE_CHARACTERS] for line in output[-OUTPUT_CHARACTERS:].splitlines()]
    lines = [line for line in lines if line and not _STATUS_LINE.fullmatch(line)]
    telling = [line for line in lines if _DETAIL.search(line)]
    return "\n".join(list(dict.fromkeys(telling or lines))[:ERROR_LINES])


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


def commits_in(command: str, output: str) -> list[tuple[str, str, str]]:
    """Commits that went through: hash, subject, branch. A quiet one is read from its command, its hash
    from a log that the command printed after it, if it did.
    """
    found = [
        (hash_, subject.strip(), "" if branch == "detached HEAD" else branch)
        for branch, hash_, subject in _COMMITTED.findall(output)
    ]
    if found or "git" not in command or " commit" not in command:
        return found
    subjects = [next(filter(None, groups)).strip() for groups in _MESSAGE.findall(command)]
    logged = {subject: hash_ for hash_, subject in reversed(_LOGGED.findall(output))}
    if not any(subject in logged for subject in subjects) and not _QUIET.search(command):
        return []
    return [(logged.get(subject, ""), subject, "") for subject in subjects]


def pull_requests_in(text: str) -> list[str]:
    """Addresses of pull requests, each once."""
    return list(dict.fromkeys(_PULL_REQUEST.findall(text))) if "://" in text else []
