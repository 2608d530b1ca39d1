"""Commands of shells: their parts, their kinds, which of them check the work. Pure.

Hooks load this one, so it imports next to nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Iterable

COMMAND_CHARACTERS = 2_000
_PIECES = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|&&|\|\||[;|\n]|[^'\"&|;\n]+|.", re.DOTALL)
_APART = frozenset(("&&", "||", ";", "|", "\n"))
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")
_BEFORE = re.compile(
    r"\A(?:(?:\w+=(?:'[^']*'|\"[^\"]*\"|\S*)|sudo|time|env|command|npx|bunx|pnpx|uvx|nohup|timeout \S+"
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
    parts = [""]
    for piece in _pieces(command):
        if piece in _APART:
            parts.append("")
        else:
            parts[-1] += piece
    plain = [re.sub(r"\s*(?:\d?>&\d|&?\d?>{1,2}\s*\S+)", "", part.strip()) for part in parts]
    return tuple(bare for part in plain if (bare := _BEFORE.sub("", part, count=1)))


def _pieces(command: str) -> list[str]:
    here = _HEREDOC.search(command[:COMMAND_CHARACTERS])
    return _PIECES.findall(command[: here.start() if here else COMMAND_CHARACTERS])


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


_LOOKING = frozenset(
    """ls cat grep rg find echo head tail sed awk pwd which wc test tree diff rm mkdir cp mv cd export source
    sleep [ for if while do done then fi set unset true false printf sort uniq xargs tee touch chmod kill
    pgrep ps""".split()
)
_INTERPRETERS = frozenset(
    "python python3 node bash sh zsh fish pwsh powershell wsl ruby perl deno jq".split()
)
_BLAMED = re.compile(r"(?:^|[\s:])([a-z][a-z0-9]*): ")
_WITH_PARTS = frozenset(("gh", "docker", "kubectl", "npm", "pnpm", "yarn", "bun", "mise", "uv", "aws", "az"))
_PART = re.compile(r"[a-z][a-z0-9:_-]*$")


def families(command: str) -> list[str]:
    """The kinds of commands a line runs: `go test`, `gh pr diff`, `mise run lint`; none that only look."""
    found: dict[str, None] = {}
    for segment in segments(command):
        if check := _check(segment):
            found[check[0]] = None
            continue
        words = segment.split()
        program = words[0].rpartition("/")[2].removesuffix(".exe")
        if program in _LOOKING or program in _INTERPRETERS or not re.match(r"[\w.+-]+$", program):
            continue
        if program == "git" and words[1:2] == ["-C"]:
            del words[1:3]
        parts = takewhile(_PART.match, words[1 : 3 if program in _WITH_PARTS else 2])
        found[" ".join((program, *parts))] = None
    return list(found)


def failed_family(command: str, error: str) -> str:
    """Which part of a line failed: the last one that its output names, else the last one.

    None where the output blames what only looks, moves or runs a script: `cd: no such file`.
    """
    if not _LOOKING.union(_INTERPRETERS).isdisjoint(_BLAMED.findall(error[:200])):
        return ""
    found = families(command)
    told = [name for name in found if re.search(rf"(?<![\w.]){re.escape(name.split()[-1])}(?![\w.])", error)]
    return (told or found or [""])[-1]


def _objects(words: Iterable[str]) -> frozenset[str]:
    named = (word.strip("'\"") for word in words if not word.startswith("-"))
    return frozenset(word for word in named if word not in _NO_FILTER and re.search(r"[./:]", word))


_SHELL_READS = re.compile(r"^(?:cat|head|tail|nl|bat|sed -n|less|type|Get-Content)\b")
_SHELL_WRITES = re.compile(r"(?:^|[;&|\n]\s*)(?:cat|tee)\s*(?:-a )?>{0,2}\s*(['\"]?)([\w./~-]+\.\w+)\1\s*<<")
_FILE_WORD = re.compile(r"^[\w@~./\\:-]*[\w-]\.\w{1,10}$|^[\w@~.-]+/[\w@~./-]+$")


def files_read_by(command: str) -> list[str]:
    """Files that a shell's command printed: agents without a tool for reading use `sed -n` and `cat`."""
    printed = (segment.split()[1:] for segment in segments(command) if _SHELL_READS.match(segment))
    words = (word.strip("'\"") for given in printed for word in given)
    return [word for word in words if _FILE_WORD.match(word) and not word[0].isdigit()]


def files_written_by(command: str) -> list[str]:
    """Files that a command wrote from a here-document."""
    return (
        [name for _, name in _SHELL_WRITES.findall(command[:COMMAND_CHARACTERS])] if "<<" in command else []
    )


def hides_exit_code(command: str) -> bool:
    """Whether a command ends well although a part of it failed: a pipe, or one command after another."""
    return not {"|", ";", "||", "\n"}.isdisjoint(_pieces(command))


_DETAIL = re.compile(
    r"error|exception|fail|assert|panic|fatal|cannot|can't|could not|unable|undefined|not found|no such"
    r"|missing|denied|refused|expected|mismatch|invalid|timed? ?out|does not|doesn't|not equal",
    re.IGNORECASE,
)
_STATUS_LINE = re.compile(r"(?:Exit code:?|Process exited with code|Wall time:?|Chunk ID:|Original token) .*")
# A line that names its place or its test says more than one that only says that something went wrong.
_FINDING = re.compile(r"[\w./\\@+-]+\.\w+:\d+(?::\d+)?:? \S|(?:--- FAIL: |FAILED |✕ |not ok \d)\S")
_NO_REASON = re.compile(r"FAIL|.* (?:INFO|DEBUG) .*|(?:=== \w+|--- PASS:|PASS|ok) .*")
_WHICH = re.compile(r"(?:\[\S+\] )?ERROR task failed")  # says which part of a line failed, not why
OUTPUT_CHARACTERS = 8_000  # of a report, its end: that is where the sum stands
ERROR_LINES = 4
LINE_CHARACTERS = 200


def error_lines(output: str) -> str:
    """The lines of a report that say what went wrong, in order."""
    lines = [line.strip()[:LINE_CHARACTERS] for line in output[-OUTPUT_CHARACTERS:].splitlines()]
    lines = [line for line in lines if line and not _STATUS_LINE.fullmatch(line)]
    which = [line for line in lines if _WHICH.fullmatch(line)][:1]
    telling = [line for line in lines if _DETAIL.search(line) or _FINDING.match(line)]
    reasons = [line for line in telling if not (_NO_REASON.fullmatch(line) or _WHICH.fullmatch(line))]
    placed = [line for line in reasons if _FINDING.match(line)]
    chosen = list(dict.fromkeys(placed or reasons or telling or lines))[:ERROR_LINES]
    return "\n".join(dict.fromkeys([*chosen, *which]))
