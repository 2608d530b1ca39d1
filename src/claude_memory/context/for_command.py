"""How a command failed in earlier sessions, and what worked: before it runs, and when it failed again.

Every line is a dated fact about this very command, and quotes it: the same call was wrong and another worked,
a check failed for the same reason in several sessions, the same check of the same thing failed. In doubt
nothing is said.
"""

from __future__ import annotations

import os
import re

from claude_memory.context.moments import Line, Offer, day
from claude_memory.text.quotation import quoted
from claude_memory.understand.commands import checks_of, failed_family, families, segments

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from claude_memory.context.moments import Scene
    from claude_memory.store.sqlite.glance import Seen

HEADING = "From earlier sessions in this project:"
MAX_TOKENS = 150
COMMAND_CHARACTERS = 140
SEVERAL = 2  # sessions in which the same reason makes a habit
REASONS = 3
_ALIKE = 0.5  # of the words of two calls
# The call itself was wrong, not what it worked on.
_MISUSED = re.compile(
    r"unknown (?:flag|option|command|shorthand|switch)|unrecogni[sz]ed (?:argument|option)|invalid option"
    r"|flag provided but not defined|command not found|not recognized as|no matches found"
    r"|no (?:task|rule|script) |missing script|accepts at most|requires? (?:an? )?argument"
    r"|\(HTTP 404\)|no such remote|not a valid",
    re.IGNORECASE,
)
_MISPLACED = re.compile(
    r"main module|no go files in|package\.json|not a git repository|no makefile found|could not find `Cargo",
    re.IGNORECASE,
)
_MOVES = re.compile(r"\b(?:cd|pushd|Set-Location) |(?:^|\s)-C ")
_RULE = re.compile(
    r"\(([a-z][a-z0-9-]{2,30})\)\s*$|\b((?:[A-Z]{1,5}\d{3,5})(?:/[a-z-]+)?)\b|\berror\[(E\d+)\]", re.MULTILINE
)
_COMPILERS = ("typecheck",)  # what they say is about one line of the day
_PLACED = re.compile(r"\.\w+:\d|--- FAIL: |FAILED |✕ |not ok \d")
_TEST = re.compile(r"(?:--- FAIL: |FAILED (?:\S+::)?|✕ |not ok \d+ - )([\w/.\[\]-]+)")
_VARIABLE = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|(?:\.{0,2}/)?[\w.@-]*/[\w./@-]+|\b[0-9a-f]{7,40}\b|\d+""")
_TOKEN = re.compile(r"\w[\w-]{2,}")
_ONE_TEST = re.compile(r"Test[A-Z]\w{4,}|test_\w{4,}|[\w./-]+\.(?:test|spec)\.\w+|[\w./-]*test_\w+\.py")
_COLOUR = re.compile(r"\x1b?\[[\d;]*m")
_LABEL = re.compile(r"^\[[\w:.-]+\]\s*|^\S+:\d+(?::\d+)?:?\s*")


class Failure:
    """One failed command of an earlier session, with what was run after it."""

    __slots__ = ("after", "command", "error", "family", "seen")

    def __init__(self, seen: Seen, command: str, error: str, after: Sequence[dict[str, Any]]) -> None:
        self.seen, self.command, self.error = seen, command, error
        self.family = failed_family(command, error)
        worked = [str(run["command"]) for run in after if not run.get("failed")]
        self.after = [other for other in worked if self.family in families(other)]  # the same check passed

    def worked(self) -> str:
        """The call nearest to it that worked afterwards; empty if none is near."""
        best, nearest = "", _ALIKE
        own = _words(self.command)
        for command in self.after:
            other = _words(command)
            if (alike := len(own & other) / max(len(own | other), 1)) > nearest:
                best, nearest = command, alike
        return best

    def line_with(self, pattern: re.Pattern[str]) -> str:
        """The first line of the error in which the pattern stands."""
        return next((line for line in self.error.splitlines() if pattern.search(line)), "")

    def edits(self) -> str:
        """What the exchange edited until it passed."""
        names = [str(path).rpartition("/")[2] for path, _ in self.seen.record.get("files_edited", ())[:3]]
        edited = quoted(", ".join(names), 100)
        return f"it passed later in that exchange, which edited {edited}" if names else ""

    def told(self, text: str, reason: str, command: str = "") -> Line:
        return Line(f"- {text} [{self.seen.id}]", self.seen.id, reason, command=command)


def at_command(scene: Scene, command: str) -> Offer:
    """How a command failed before and what worked, before it runs: at most one line; usually none."""
    past = _failures(scene, families(command))
    is_at_root = os.path.realpath(scene.folder) == os.path.realpath(scene.root)
    line = _other_call(command, past, is_at_root=is_at_root)
    line = line or _same_reason(command, past) or _same_check(command, past)
    found = [line] if line is not None and line.memory not in scene.given else []
    return scene.offer(HEADING, found, MAX_TOKENS)


def at_failure(scene: Scene, command: str, error: str) -> Offer:
    """How the same error went away before, when a command failed."""
    met = set(reasons(error))
    for failure in _failures(scene, families(command)) if met else []:
        shared = [reason for reason in reasons(failure.error) if reason in met]
        outcome = _outcome(failure)
        if shared and outcome and failure.seen.id not in scene.given:
            text = f"The same error on {day(failure.seen.created)} ({quoted(shared[0], 80)}): {outcome}"
            line = failure.told(text, f"the same error: {shared[0]}", failure.worked())
            return scene.offer(HEADING, [line], MAX_TOKENS)
    return Offer()


def _failures(scene: Scene, kinds: Sequence[str]) -> list[Failure]:
    """What failed in other sessions, newest first; of an exchange the last failure comes first."""
    past = []
    for seen in scene.glance.failures(kinds) if kinds else ():
        runs = [] if seen.session == scene.session else seen.record.get("commands", ())
        for place in reversed(range(len(runs))):
            command = str(runs[place]["command"])
            if runs[place].get("failed") and not set(kinds).isdisjoint(families(command)):
                past.append(Failure(seen, command, str(runs[place].get("error", "")), runs[place + 1 :]))
    return [failure for failure in past if failure.family]


def _other_call(command: str, past: Sequence[Failure], *, is_at_root: bool) -> Line | None:
    """The same call failed for the way it was made, or at the root for its folder, and another worked."""
    shapes = set(map(shape, segments(command)))
    for failure in past:
        worked = failure.worked()
        if not worked:
            continue
        failed, error = segments(failure.command), failure.line_with(_MISUSED)
        blamed = set(_TOKEN.findall(error))
        same = [one for one in failed if shape(one) in shapes and blamed.intersection(_TOKEN.findall(one))]
        cure = set(map(shape, segments(worked))).difference(map(shape, failed))
        if not same or not cure or cure & shapes:
            same, error = [failure.command], failure.line_with(_MISPLACED)
            moved = re.match(r"cd (?!\.\.?(?:\s|$))", worked) and not _MOVES.search(command)
            if not error or not is_at_root or not moved:
                continue
        call, then = quoted(same[0], COMMAND_CHARACTERS), quoted(worked, COMMAND_CHARACTERS)
        text = f"{day(failure.seen.created)}: {call} failed with {quoted(error, 120)}; {then} then worked"
        return failure.told(text, "the same call failed before", worked)
    return None


def _same_check(command: str, past: Sequence[Failure]) -> Line | None:
    """The same check of the same thing failed in another session, and passed later there."""
    tests = set(_ONE_TEST.findall(command))
    narrow = tests or re.search(r"\s(?:-run|-k|-t)\b", command)
    checks = dict(checks_of(command))
    for failure in past:
        before = dict(checks_of(failure.command)).get(failure.family)
        targets, error = checks.get(failure.family), failure.line_with(_PLACED)
        if before is None or targets is None or not failure.after or _MISUSED.search(failure.error):
            continue
        is_named = any(name.partition("/")[0] in tests for name in _TEST.findall(failure.error))
        is_same = bool(targets & before) if targets else not before
        edits = failure.edits() if error and (is_named or (is_same and not narrow)) else ""
        if edits:
            own = (one for one in segments(failure.command) if failure.family in families(one))
            failed = f"{quoted(next(own, failure.command), 80)} failed with {quoted(error, 140)}"
            text = f"{day(failure.seen.created)}: {failed}; {edits}"
            return failure.told(text, "the same check failed before")
    return None


def _same_reason(command: str, past: Sequence[Failure]) -> Line | None:
    """A check found the same rule broken in several sessions; tests differ too much from run to run."""
    checks = dict(checks_of(command))
    for kind in reversed(families(command)):
        failures = [failure for failure in past if failure.family == kind and kind in checks]
        sessions: dict[str, set[str]] = {}
        for failure in failures:
            for rule in rules(failure.error):
                sessions.setdefault(rule, set()).add(failure.seen.session)
        often = [rule for rule in sessions if len(sessions[rule]) >= SEVERAL]
        if not often:
            continue
        rule, *others = sorted(often, key=lambda rule: -len(sessions[rule]))[:REASONS]
        last = next(failure for failure in failures if rule in failure.error)
        line = next(line for line in last.error.splitlines() if rule in line)
        since = day(min(failure.seen.created for failure in failures))
        failed = len({failure.seen.session for failure in failures})
        later = ", and passed later in that exchange" if last.after else ""
        more = ", ".join(f"{quoted(other, 60)} in {len(sessions[other])}" for other in others)
        text = (
            f"`{kind}` failed in {failed} sessions since {since}: for {quoted(rule, 60)} in "
            f"{len(sessions[rule])}, the last time on {day(last.seen.created)} with {quoted(line, 140)}"
            f"{later}{f'; for {more}' if more else ''}"
        )
        return last.told(text, f"it failed in {failed} sessions", last.worked())
    return None


def _outcome(failure: Failure) -> str:
    """What made it pass in the same exchange, as far as its commands and edits tell."""
    worked = failure.worked()
    if worked and checks_of(failure.command) and not _MISUSED.search(failure.error):
        return failure.edits()
    is_same = _words(worked) == _words(failure.command) or shape(worked) == shape(failure.command)
    return f"{quoted(worked, COMMAND_CHARACTERS)} then worked" if worked and not is_same else ""


def rules(error: str) -> list[str]:
    """The rules of linters that an error names; compilers' own are none."""
    named = (next(filter(None, groups)) for groups in _RULE.findall(error))
    return list(dict.fromkeys(rule for rule in named if rule not in _COMPILERS))


def reasons(error: str) -> list[str]:
    """Why something failed, in words that come back when it fails again: rules, tests, messages."""
    if told := [*rules(error), *_TEST.findall(error)]:
        return list(dict.fromkeys(told))
    lines = (_LABEL.sub("", line.strip()) for line in _COLOUR.sub("", error).splitlines())
    said = (_VARIABLE.sub("…", line) for line in lines)
    return list(dict.fromkeys(line for line in said if len(line.replace("…", "").split()) > 2))


def shape(segment: str) -> str:
    """A call without what differs from one time to the next: numbers, quoted texts, paths."""
    return " ".join(dict.fromkeys(_VARIABLE.sub("", segment).split()))


def _words(command: str) -> frozenset[str]:
    """The words of a command, without redirections and pipes to look at its output."""
    return frozenset(word for part in segments(command)[:3] for word in part.split())
