"""What a command was run for and how it went: the same check is recognised again, and whether it failed.

Pure; knows the shells' and test runners' manners, nothing of sessions.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from claude_memory.distil.turns import TOOL, Turn

# Programs that look and change nothing; a run of them proves nothing by itself.
_LOOKING = frozenset(
    """ls cat head tail less more grep egrep rg ag find fd wc which whereis type echo printf pwd cd tree stat
    file du df ps pgrep top free env printenv date whoami hostname uname id diff cmp sort uniq cut awk jq yq
    tr column history man sleep true test [ read export set source . unset watch timedatectl crontab nl xxd
    hexdump md5sum sha256sum realpath basename dirname lsof ss netstat uptime journalctl dmesg xargs tee sed""".split()
)
_LOOKING_GIT = frozenset(
    """status log diff show blame branch grep ls-files rev-parse describe remote reflog shortlog fetch add
    commit push tag""".split()
)
# Back to what was there before: no change that repairs anything.
_TURNING_BACK = re.compile(r"\bgit (?:checkout|switch|stash|restore|reset|revert|worktree)\b|\bgit clean\b")
_TAKEN_BACK = re.compile(
    r"\bgit (?:checkout (?:\S+ )?(?:--|\.|[\w*/-]+[./])|restore|reset --hard|stash(?! (?:pop|apply))|revert)"
)
_REPAIRING = re.compile(
    r"\b(?:install|add|migrate|create|chmod|chown|mkdir|ln|sed|set|upgrade|rollback|enable|grant|unlock|init|apply|daemon-reload)\b"
)
_LOOKING_AT = re.compile(
    r"\b(?:docker|podman|kubectl|oc)(?: compose)? (?:ps|logs|images|get|describe|top|inspect|version)\b"
    r"|\b(?:systemctl|service) (?:\S+ )?(?:status|is-active|list-\S+|show|cat)\b|\b(?:pip|npm|yarn|pnpm|cargo|brew|apt|gem)\b"
    r" (?:list|ls|show|view|outdated|search|info|why|tree|freeze|--version)\b|\bapt-cache\b|--version\b|--help\b"
    r"|\bgh (?:run|pr|issue|repo|release) (?:view|list|watch|checks|status|diff)\b|\b(?:psql|sqlite3|mysql)\b.*\b(?:select|explain|\\d)\b",
    re.IGNORECASE,
)
_LOGS = re.compile(
    r"[\w./~-]*(?:\.log\b|/logs?/[\w./-]+)|\b(?:journalctl|(?:docker|kubectl|podman)(?: compose)? logs|gh run (?:view|watch|list)|gh pr checks"
    r"|systemctl (?:--user )?(?:status|is-active)|(?:docker|podman)(?: compose)? ps|kubectl get (?:pods?|deployments?|jobs?))\b[^|&;\n]*"
)
_WRAPPERS = frozenset(
    """sudo time nice env command exec npx bunx pnpx uvx xvfb-run stdbuf nohup doas timeout poetry pipenv uv
    hatch rye pdm bundle mise direnv dotenv run exec""".split()
)
_FAILED = re.compile(
    # sums and verdicts
    r"\b[1-9]\d*\)? (?:\w+ )?(?:failed|failures?|failing|errors?)\b(?![=:])|\b(?:failed|ERROR)[=: ]+[1-9]|\b(?:[Ff]ailures|[Ee]rrors|failed): ?[1-9]"
    r"|^(?:--- FAIL|\*\*\* |E  |not ok|FAIL|FAILED|FAILURES?|ERROR|ERR!|fatal|panic|Traceback|error|CMake Error|✗|✘|×)(?:\b|!|:|\s|\[)|^\s*● "
    r"|^\s*✖ (?!\d+ problems? \(0 errors)|^\s*✗ |(?<!\b0 )\b(?:Build|build|BUILD|Compilation|compilation|Job|Run|Pipeline|Deploy|deployment|Test|Tests|tests|Task|Step|test|CONNECTION|UPGRADE|INSTALLATION) (?:has )?(?:failed|FAILED|FAILURE|stopped)\b"
    r"|(?:Exit code|exit code:?|exit status|exited with(?: code)?|returned non-zero exit status|Exited \(|Error) ?[1-9]\d*\b|\b(?:completed|conclusion:?)\s+failure\b"
    # named errors
    r"|\b(?:[A-Z]\w*)?(?:Error|Exception)(?: in [^:]{1,60}| from server[^:]{0,30})? ?: |\berror(?:\[\w+\]| [A-Z]+\d+)?:(?: |$|num=)|\((?:\w+\.)?\w+Error\)|\bException in thread\b|\bnpm (?:ERR!|error)|(?:^|[:\]] )ERROR:? |\[(?:emerg|crit|FAIL|ERROR)\]"
    r"|\bSegmentation fault\b|\bcommand not found\b|\bNo such file\b|\b[Uu]ndefined (?:symbol|references?|citations?|control sequence|method)\b|: undefined: |\bimported and not used\b|\bcore dumped\b|\b\.\.\. ?FAILED\b|\bunexpected (?:EOF|end of file|token)\b"
    # what does not run, answer or let in
    r"|\bunhealthy\b|\b(?:CrashLoop|ImagePull)BackOff\b|\bErrImagePull\b|\bOOMKilled\b|^Killed$|\bRestarting \(|\bfailed \(Result:|\btimed out\b|\bcurl: \(\d+\)|\bHTTP/[\d.]+ 5\d\d\b|\b50[0234] (?:Bad Gateway|Internal Server Error|Service Unavailable|Gateway Time)|\bPermission denied\b|\b[Cc]onnection refused\b|\bECONN(?:REFUSED|RESET)\b"
    # what linters and sanitisers object to
    r"|\bSC\d{4} \(|\bDL\d{4} |\bAddressSanitizer\b|\b[Cc]ode style issues found\b|\bwould be reformatted\b|: wrong fs type\b",
    re.MULTILINE,
)
# A sum at the end that leaves no doubt; what failed before it was tried again.
_PASSED = re.compile(
    r"\b[1-9]\d* (?:tests? |specs? |examples?, )?(?:passed|passing)\b|\b0 fail(?:ed|ures)\b|^OK\b"
)
_SUM_OF_FAILED = re.compile(r"\W*[1-9]\d* (?:tests? )?(?:failed|failures?|errors?|failing)\b")
_REFUSED = re.compile(
    r"user doesn't want to|user rejected|tool use was rejected|request interrupted|permission to use|was not allowed|operation was aborted",
    re.IGNORECASE,
)
_PIECES = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|&&|\|\||;|\n|[^'\"&|;\n]+|.", re.DOTALL)
_APART = frozenset(["&&", "||", ";", "\n"])
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
_BESIDES = re.compile(r"\w+=\S*$|-|\d+$")  # assignments and a wrapper's own options
_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")
MAX_COMMAND = 2_000
MAX_OUTPUT = 8_000  # of a report, its end: that is where the sum stands
MAX_LINE = 400
# One of these stands in whatever `_FAILED` finds; asking for them costs a hundredth.
_CUES = (
    "fail", "error", "err!", "panic", "fatal", "traceback", "not ok", "exit", "exception", "stopped", "fault",
    "not found", "no such file", "undefined", "dumped", "unhealthy", "backoff", "timed out", "✗", "✖", "✘", "×",
    "***", "● ", "emerg", "crit", "imported and not", "killed", "restarting", "curl: (", "http/", "gateway",
    "service unav", "denied", "refused", "econn", "unexpected", " (info", " (warn", "dl3", "dl4", "sanitizer",
    "style issues", "reformatted", "wrong fs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Check:
    """One program of a command, with what it was pointed at."""

    program: str
    objects: frozenset[str]

    def covers(self, other: Check, named: str = "") -> bool:
        """Whether this run says something about what the other one ran; `named`: what failed there."""
        if self.program != other.program:
            return False
        if all(one in other.objects or _holds(one, other.objects) for one in self.objects):
            return True
        more = self.objects - other.objects
        return other.objects <= self.objects and all(_stem(one) in named for one in more)


@dataclass(frozen=True, slots=True)
class Run:
    """A turn that ran checks, and its outcome."""

    index: int
    turn: Turn
    checks: tuple[Check, ...]
    failed: bool

    def same_as(self, failing: Run) -> bool:
        """Whether this run repeats the check that failed."""
        named = failing.turn.output[-MAX_OUTPUT:]
        return any(mine.covers(theirs, named) for mine in self.checks for theirs in failing.checks)


def run_of(index: int, turn: Turn, *, judged: bool = True) -> Run | None:
    """The run a turn made, if what it ran can fail for a reason worth keeping; `judged`: say if it did."""
    if turn.role != TOOL or _REFUSED.search(turn.output[:400]):
        return None
    command = turn.command[:MAX_COMMAND] or (turn.path if turn.tool.lower() in ("read", "read_file") else "")
    if not command:
        return None
    logs = _LOGS.search(command)
    checks = tuple(_checks(command)) if turn.command else ()
    if logs is not None and (
        not checks or any(_looks(part) and _LOGS.search(part) for part in _segments(command))
    ):
        checks = (*checks, Check("log", _place(logs[0])))
    if not checks:
        return None
    return Run(index, turn, checks, turn.failed or (judged and reports_failure(turn.output)))


def _place(read: str) -> frozenset[str]:
    """Where a log lies or a state is asked for; how much of it is read does not matter."""
    words = (re.sub(r"\d+", "#", word) for word in _TOKEN.findall(read) if word[0] not in "-'\"")
    return frozenset(word for word in words if word != "#")


def reports_failure(output: str) -> bool:
    """Whether a report says that something failed; most are passed by their words alone."""
    lowered = output[-MAX_OUTPUT:].lower()
    if not any(cue in lowered for cue in _CUES):
        return False
    lines = output[-MAX_OUTPUT:].splitlines()
    last = next((line[:MAX_LINE] for line in reversed(lines) if line.strip()), "")
    if _PASSED.search(last) and not _FAILED.search(last) and not any(map(_SUM_OF_FAILED.match, lines)):
        return False
    return any(
        _FAILED.search(line[:MAX_LINE]) is not None
        for line in lines
        if any(cue in line.lower() for cue in _CUES)
    )


def changes_something(command: str) -> bool:
    """Whether a command changes the state of files, packages or services."""
    if _TURNING_BACK.search(command):
        return False
    return any(not _looks(segment) for segment in _segments(command))


def repairs_first(command: str) -> bool:
    """`apt install libheif1 && make images`: what was missing is put in place before the run."""
    *before, _ = _segments(command) or [""]
    return any(_REPAIRING.search(segment) and not _looks(segment) for segment in before)


def turns_back(command: str) -> bool:
    """Whether a command takes changes of files back."""
    return _TAKEN_BACK.search(command) is not None


def _checks(command: str) -> Iterator[Check]:
    for segment in _segments(command):
        if _looks(segment) or re.match(r"git\b", segment):
            continue
        words = _words(segment)
        if not words:
            continue
        program, given = _program(words)
        yield Check(program, frozenset(_objects(given)))


def _segments(command: str) -> list[str]:
    first = _HEREDOC.split(command)[0] if _HEREDOC.search(command) else command
    parts = [""]
    for piece in _PIECES.findall(first):
        if piece in _APART:
            parts.append("")
        else:
            parts[-1] += piece
    return [bare for part in parts if (bare := _bare(part.strip()))]


def _bare(segment: str) -> str:
    """The segment without what it is piped into, its redirections, assignments and wrappers."""
    head = re.split(r"\s\|&?\s", segment, maxsplit=1)[0].strip().lstrip("(! ")
    head = re.sub(r"\s*(?:\d?>&?\d?|&>)\s*\S*", "", head)
    words = _TOKEN.findall(head)
    while words and (words[0] in _WRAPPERS or _BESIDES.match(words[0])):
        words = words[1:]
    return " ".join(words)


def _looks(segment: str) -> bool:
    words = _words(segment)
    if not words:
        return True
    program = words[0].rpartition("/")[2] if not words[0].startswith("./") else words[0]
    if program == "sed":
        return "-i" not in segment
    if program == "git":
        rest = [word for word in words[1:] if not word.startswith("-")]
        return not rest or rest[0] in _LOOKING_GIT
    if program == "ssh":
        inner = " ".join(words[2:]).strip("'\"")
        return not inner or all(_looks(piece) for piece in _segments(inner))
    return program in _LOOKING or _LOOKING_AT.search(segment) is not None


def _words(segment: str) -> list[str]:
    return _TOKEN.findall(segment)


def _program(words: list[str]) -> tuple[str, list[str]]:
    """The program with its subcommand, and what it is given: `go test`, `python -m pytest` is `pytest`."""
    first, rest = words[0].rpartition("/")[2], words[1:]
    if re.fullmatch(r"python[\d.]*|py", first) and len(rest) > 1 and rest[0] == "-m":
        return rest[1], rest[2:]
    if first in _WITH_VERBS:
        place = next((at for at, word in enumerate(rest) if not word.startswith("-")), len(rest))
        if place < len(rest) and re.fullmatch(r"[a-z][\w:.-]*", rest[place]):
            taken = 2 if rest[place] == "run" and place + 1 < len(rest) else 1
            return " ".join([first, *rest[place : place + taken]]), rest[:place] + rest[place + taken :]
    if re.fullmatch(_INTERPRETERS, first) and rest and re.search(r"\w\.\w+$", rest[0]):
        return rest[0].rpartition("/")[2], rest[1:]  # `sh x.sh` and `./x.sh` run the same
    return first, rest


_INTERPRETERS = r"(?:ba|da|z|k|fi)?sh|python[\d.]*|py|node|ruby|perl|php|bun|tsx|ts-node|lua|Rscript|julia"
_WITH_VERBS = frozenset(
    """go npm pnpm yarn bun cargo mix make gradle gradlew mvn dotnet docker kubectl terraform helm rake rails
    bundle poetry uv deno swift flutter dart composer artisan ansible stack cabal zig bazel just task nox
    tox hatch php gh aws gcloud az systemctl rustup nix""".split()
)


_EVERYTHING = frozenset([".", "./", "...", "./...", "//..."])


def _objects(words: list[str]) -> Iterator[str]:
    """What a check is pointed at; how it reports and how often it runs do not matter."""
    for word in words:
        plain = word.strip("'\"")
        if plain.startswith("-"):
            _, equals, value = plain.partition("=")
            if equals and re.search(r"[./:]\D|\w{4,}", value):
                yield value
        elif plain and not plain.isdigit() and plain not in _EVERYTHING:
            yield re.sub(r"\d{3,}", "#", plain.removeprefix("./"))


def _holds(folder: str, names: frozenset[str]) -> bool:
    """`tests` holds `tests/test_cart.py`: a run over a folder covers what failed in it."""
    inside = folder.removesuffix("...").rstrip("/") + "/"
    return any(name.startswith(inside) for name in names)


def _stem(name: str) -> str:
    """The part of a name that a report repeats."""
    last = re.split(r"::|/", name.rstrip("/."))[-1]
    return re.sub(r"\.\w{1,4}$", "", last)
