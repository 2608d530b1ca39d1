"""How a command failed in earlier sessions, and what worked: before it runs, and when it failed again.

Before a command, two things are worth a line: the same call failed for the way it was made, and another
call worked; or commands of its kind failed for the same reason in several sessions. After a failure: the
same error was met before, and what came after it.
"""

from __future__ import annotations

import re

from claude_memory.context.hints import Hint, day
from claude_memory.text.quotation import quoted
from claude_memory.understand.commands import checks_of, failed_family, families, segments

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from claude_memory.store.sqlite.glance import Glance, Seen

HEADING = "From earlier sessions in this project:"
MAX_TOKENS = 150
COMMAND_CHARACTERS = 140
ERROR_CHARACTERS = 140
SEVERAL = 2  # sessions in which the same reason makes a habit
MANY = 2  # sessions in which a check failed, for whatever reason
REASONS = 3
_ALIKE = 0.5  # of the words of two calls
# The call itself was wrong, not what it worked on.
_MISUSED = re.compile(
    r"unknown (?:flag|option|command|shorthand|switch)|unrecogni[sz]ed (?:argument|option)|invalid option"
    r"|flag provided but not defined|command not found|not recognized as|no matches found|no such file"
    r"|parse error near|did not match any|no (?:task|rule|script) |missing script|accepts at most"
    r"|not a git repository|cannot find main module|\(HTTP 404\)|requires? (?:an? )?argument|does not exist"
    r"|syntax error|permission denied|no such remote|usage:",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"\(([a-z][a-z0-9-]{2,30})\)\s*$|\b((?:[A-Z]{1,5}\d{3,5})(?:/[a-z-]+)?)\b|\berror\[(E\d+)\]", re.MULTILINE
)
_TEST = re.compile(r"(?:--- FAIL: |FAILED (?:\S+::)?|✕ |not ok \d+ - )([\w/.\[\]-]+)")
_VARIABLE = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|(?:\.{0,2}/)?[\w.@-]*/[\w./@-]+|\b[0-9a-f]{7,40}\b|\d+""")
_TOKEN = re.compile(r"\w[\w-]{2,}")
_TARGET = re.compile(r"(?=.{6})(?!-)(?:\./)?[\w.@-]*(?:/|\w\.\w)[\w./@-]*$|Test[A-Z]\w+$|test_\w+$")
_LOOKS = frozenset(("git status", "git log", "git diff", "git show", "git branch", "gh pr view", "gh api"))
_COLOUR = re.compile(r"\x1b?\[[\d;]*m")
_LABEL = re.compile(r"^\[[\w:.-]+\]\s*|^\S+:\d+(?::\d+)?:?\s*")
_NOTHING = re.compile(
    r"^(?:\[[\w:.-]+\]\s*)?(?:ERROR task failed|FAIL(?:ED)?\b|exit (?:code|status)|Error:|ok\b)"
    r"(?:.{0,50}|.*\])$"
    r"|Error Trace:|.*[{(]$"
)


class Failure:
    """One failed command of an earlier session, with what was run after it."""

    __slots__ = ("after", "command", "error", "family", "seen")

    def __init__(self, seen: Seen, command: str, error: str, after: Sequence[dict[str, Any]]) -> None:
        self.seen, self.command, self.error, self.after = seen, command, error, after
        self.family = failed_family(command, error)

    def worked(self) -> str:
        """The call nearest to it that worked afterwards; empty if none is near, or none was needed."""
        own = words_of(self.command)
        best, nearest = "", _ALIKE
        for run in self.after:
            if not run.get("failed") and self.family in families(run["command"]):
                alike = _share(own, words_of(run["command"]))
                if alike > nearest:
                    best, nearest = str(run["command"]), alike
        return best


def for_command(glance: Glance, command: str, *, session: str, given: Collection[str]) -> list[Hint]:
    """Before a command runs: at most one line; usually none."""
    kinds = families(command)
    past = _failures(glance, kinds, session) if kinds else []
    hint = _misuse(command, past) or _same_target(command, past) or _habit(kinds, past)
    return [hint] if hint is not None and hint.memory not in given else []


def after_failure(
    glance: Glance, command: str, error: str, *, session: str, given: Collection[str]
) -> list[Hint]:
    """When a command failed: how the same error went away before."""
    met = set(reasons(error))
    kinds = families(command)
    for failure in _failures(glance, kinds, session) if met and kinds else []:
        shared = [reason for reason in reasons(failure.error) if reason in met]
        outcome = _outcome(failure)
        if shared and outcome and failure.seen.id not in given:
            when = day(failure.seen.created)
            text = f"- The same error on {when} ({quoted(shared[0], 80)}): {outcome} [{failure.seen.id}]"
            return [Hint(text, failure.seen.id, f"the same error: {shared[0]}", command=failure.worked())]
    return []


def _failures(glance: Glance, kinds: Sequence[str], session: str) -> list[Failure]:
    """What failed in other sessions, newest first; of an exchange the last failure comes first."""
    found = []
    for seen in glance.failures(kinds):
        runs = [] if seen.session == session else seen.record.get("commands", ())
        for place in reversed(range(len(runs))):
            if runs[place].get("failed"):
                failure = Failure(
                    seen, str(runs[place]["command"]), str(runs[place].get("error", "")), runs[place + 1 :]
                )
                if failure.family and not set(kinds).isdisjoint(families(failure.command)):
                    found.append(failure)
    return found


def _misuse(command: str, past: Sequence[Failure]) -> Hint | None:
    """The same call failed for the way it was made, and another worked."""
    shapes = {shape(segment) for segment in segments(command)}
    for failure in past:
        worked = failure.worked()
        error = next((line for line in failure.error.splitlines() if _MISUSED.search(line)), "")
        blamed = set(_TOKEN.findall(error))
        same = [
            segment
            for segment in segments(failure.command)
            if shape(segment) in shapes and blamed.intersection(_TOKEN.findall(segment))
        ]
        cure = {shape(segment) for segment in segments(worked)} - {
            shape(one) for one in segments(failure.command)
        }
        if worked and same and not _is_same(worked, failure.command) and not cure & shapes:
            text = (
                f"- {quoted(same[0], COMMAND_CHARACTERS)} failed on {day(failure.seen.created)} "
                f"with {quoted(error, ERROR_CHARACTERS)}; {quoted(worked, COMMAND_CHARACTERS)} worked "
                f"[{failure.seen.id}]"
            )
            return Hint(text, failure.seen.id, "the same call failed before", command=worked)
    return None


def _same_target(command: str, past: Sequence[Failure]) -> Hint | None:
    """A command of this kind, pointed at the same thing, failed in another session and passed later."""
    targets, kinds = _targets(command), families(command)
    for failure in past:
        shared = targets & _targets(failure.command) if failure.family in kinds else None
        outcome, why = _outcome(failure), reasons(failure.error)
        if shared and outcome and why:
            text = (
                f"- `{failure.family}` on {quoted(max(shared, key=len), 80)} failed on "
                f"{day(failure.seen.created)} with {quoted(why[0], ERROR_CHARACTERS)}; {outcome} "
                f"[{failure.seen.id}]"
            )
            return Hint(text, failure.seen.id, "it failed on the same target", command=failure.worked())
    return None


def _targets(command: str) -> set[str]:
    """What a command is pointed at: packages, files, single tests."""
    words = (
        word.strip("'\"")
        for segment in segments(command)
        if families(segment)
        for word in segment.split()[1:]
    )
    return {word for word in words if _TARGET.match(word)}


def _habit(kinds: Sequence[str], past: Sequence[Failure]) -> Hint | None:
    """Commands of this kind, or of the kind run after it, failed for the same reason in several sessions."""
    for kind in reversed(kinds):
        mine = [failure for failure in past if failure.family == kind]
        hint = _often(f"`{kind}`", mine) if mine else None
        after = [
            failure for failure in past if checks_of(failure.family) and kind in families(failure.command)
        ]
        if hint is None and checks_of(kind) and after:
            later = after[0].family
            hint = _often(f"`{later}`, run after it,", [one for one in after if one.family == later])
        if hint is not None:
            return hint
    return None


def _often(what: str, failures: Sequence[Failure]) -> Hint | None:
    sessions: dict[str, set[str]] = {}
    for failure in failures:
        for reason in reasons(failure.error):
            sessions.setdefault(reason, set()).add(failure.seen.session)
    often = [reason for reason in sessions if len(sessions[reason]) >= SEVERAL]
    failed = len({failure.seen.session for failure in failures})
    is_check = bool(checks_of(failures[0].family))
    if not often and is_check and failed >= MANY:
        often = list(sessions)[:1]
    often.sort(key=lambda reason: -len(sessions[reason]))
    last = next((one for one in failures if set(often).intersection(reasons(one.error))), None)
    outcome = _outcome(last) if last is not None else ""
    if last is None or not (outcome or is_check):
        return None
    listed = ", ".join(
        f"{quoted(reason, 80)} ({_times(len(sessions[reason]))})" for reason in often[:REASONS]
    )
    text = f"- {what} failed in {_times(failed)} before: {listed}; last on {day(last.seen.created)}"
    text += f", {outcome}" if outcome else ""
    reason = f"{last.family} failed in {_times(failed)}"
    return Hint(f"{text} [{last.seen.id}]", last.seen.id, reason, command=last.worked())


def _times(sessions: int) -> str:
    return "one session" if sessions == 1 else f"{sessions} sessions"


def _outcome(failure: Failure) -> str:
    """What made it pass in the same exchange, as far as its commands and edits tell."""
    worked = failure.worked()
    if not worked:
        return ""
    if checks_of(failure.command) and not _MISUSED.search(failure.error):
        edited = [str(path).rpartition("/")[2] for path, _ in failure.seen.record.get("files_edited", ())[:3]]
        return f"it passed after edits of {quoted(', '.join(edited), 100)}" if edited else ""
    if not _is_same(worked, failure.command):
        return f"{quoted(worked, COMMAND_CHARACTERS)} worked"
    place = next(n for n, run in enumerate(failure.after) if run["command"] == worked)
    between = [
        str(run["command"])
        for run in failure.after[:place]
        if not run.get("failed") and _acts(run["command"])
    ]
    return f"{quoted(between[-1], COMMAND_CHARACTERS)} came first when it worked" if between else ""


def _acts(command: str) -> bool:
    return any(kind not in _LOOKS for kind in families(command))


def _is_same(one: str, other: str) -> bool:
    return words_of(one) == words_of(other) or shape(one) == shape(other)


def reasons(error: str) -> list[str]:
    """Why something failed, in words that come back when it fails again: rules, tests, messages."""
    rules = [next(filter(None, found)) for found in _RULE.findall(error)]
    tests = _TEST.findall(error)
    if rules or tests:
        return list(dict.fromkeys((*rules, *tests)))
    lines = [_LABEL.sub("", line.strip()) for line in _COLOUR.sub("", error).splitlines()]
    said = [_VARIABLE.sub("…", line) for line in lines if not _NOTHING.match(line)]
    return list(dict.fromkeys(line for line in said if len(line.replace("…", "").split()) > 2))


def shape(segment: str) -> str:
    """A call without what differs from one time to the next: numbers, quoted texts, paths."""
    return " ".join(
        dict.fromkeys(word for word in _VARIABLE.sub("", segment).split() if word not in ("|", "&&", ";"))
    )


def words_of(command: str) -> frozenset[str]:
    """The words of a command, without redirections and pipes to look at its output."""
    return frozenset(word for part in segments(command)[:3] for word in part.split())


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0
