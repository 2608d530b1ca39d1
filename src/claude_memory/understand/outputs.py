"""What the output of a command says: what went wrong, which commits and pull requests came of it. Pure.

An exit code that is known is believed; only where a pipe hides it, the report is read.
"""

from __future__ import annotations

import re

_FAILURE = re.compile(
    r"^[ \t]*(?:--- FAIL|FAIL(?:ED|URES?)?\b|not ok |error(?:\[\w+\])?:|Error:|ERROR\b|panic:|fatal:"
    r"|Traceback |[✗✖✘×●] )|\b[1-9]\d* (?:\w+ )?(?:failed|failures?|failing|errors?)\b"
    r"|\bexit (?:code|status):? [1-9]|\bcommand not found\b|: error(?: TS\d+|\[)?:|\bERROR task failed\b",
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
