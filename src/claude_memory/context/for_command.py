"""How a command failed in earlier sessions, and what worked: before it runs, and when it failed again.

Every line is a dated fact about this very command, and quotes it: the same call was wrong and another worked,
the same check of the same thing failed, a check failed for the same reason in several sessions, the same
thing made the command work in several. In doubt nothing is said.
"""

from __future__ import annotations

import os
import re

from claude_memory.context.moments import Line, Offer, day
from claude_memory.text.quotation import quoted
from claude_memory.understand.commands import checks_of, failed_family, families, segments

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from claude_memory.context.moments import Scene
    from claude_memory.store.sqlite.glance import Glance, Seen

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
_RULE = re.compile(
    r"\(([a-z][a-z0-9-]{2,30})\)\s*$|\b((?:[A-Z]{1,5}\d{3,5})(?:/[a-z-]+)?)\b|\berror\[(E\d+)\]", re.MULTILINE
)
_COMPILERS = ("typecheck",)  # what they say is about one line of the day
_PLACED = re.compile(r"\.\w+:\d|--- FAIL: |FAILED |✕ |not ok \d")
_TEST = re.compile(r"(?:--- FAIL: |FAILED (?:\S+::)?|✕ |not ok \d+ - )([\w/.\[\]-]+)")
_VARIABLE = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|(?:\.{0,2}/)?[\w.@-]*/[\w./@-]+|\b[0-9a-f]{7,40}\b|\d+""")
_TOKEN = re.compile(r"\w[\w-]{2,}")
_ONE_TEST = re.compile(r"Test[A-Z]\w{4,}|test_\w{4,}|[\w./-]+\.(?:test|spec)\.\w+|[\w./-]*test_\w+\.py")
_LOOKS = frozenset(("git status", "git log", "git diff", "git show", "git branch", "gh pr view", "gh api"))
_COLOUR = re.compile(r"\x1b?\[[\d;]*m")
_LABEL = re.compile(r"^\[[\w:.-]+\]\s*|^\S+:\d+(?::\d+)?:?\s*")


class Failure:
    """One failed command of an earlier session, with what was run after it."""

    __slots__ = ("after", "command", "error", "family", "seen")

    def __init__(self, seen: Seen, command: str, error: str, after: Sequence[dict[str, Any]]) -> None:
        self.seen, self.command, self.error, self.after = seen, command, error, after
        self.family = failed_family(command, error)

    def worked(self) -> str:
        """The call nearest to it that worked afterwards; empty if none is near."""
        own = _words(self.command)
        best, nearest = "", _ALIKE
        for run in self.after:
            if not run.get("failed") and self.family in families(run["command"]):
                other = _words(run["command"])
                alike = len(own & other) / len(own | other) if own | other else 0.0
                if alike > nearest:
                    best, nearest = str(run["command"]), alike
        return best

    def cure(self) -> str:
        """What was done between the failure and the call that then worked; empty if nothing is known."""
        between: list[str] = []
        for run in self.after:
            command = str(run["command"])
            if run.get("failed"):
                continue
            if self.family in families(command):
                own = families(self.command)
                added = [one for one in segments(command) if set(families(one)) - {*own, *_LOOKS}]
                return next(iter(added or between[-1:]), "")
            if set(families(command)) - _LOOKS:
                between.append(command)
        return ""

    def passed(self) -> bool:
        """Whether the same check passed later in the exchange."""
        return any(not run.get("failed") and self.family in families(run["command"]) for run in self.after)


def at_command(scene: Scene, command: str) -> Offer:
    """How a command failed before and what worked, before it runs: at most one line; usually none."""
    kinds = families(command)
    past = _failures(scene.glance, kinds, scene.session) if kinds else []
    is_at_root = os.path.realpath(scene.folder) == os.path.realpath(scene.root)
    line = (
        _misused(command, past)
        or (_misplaced(command, past) if is_at_root else None)
        or _repeated(command, past)
        or _same_call(command, past)
    )
    found = [line] if line is not None and line.memory not in scene.given else []
    return scene.offer(HEADING, found, MAX_TOKENS)


def at_failure(scene: Scene, command: str, error: str) -> Offer:
    """How the same error went away before, when a command failed."""
    met = set(reasons(error))
    kinds = families(command)
    for failure in _failures(scene.glance, kinds, scene.session) if met and kinds else []:
        shared = [reason for reason in reasons(failure.error) if reason in met]
        outcome = _outcome(failure)
        if shared and outcome and failure.seen.id not in scene.given:
            when = day(failure.seen.created)
            text = f"- The same error on {when} ({quoted(shared[0], 80)}): {outcome} [{failure.seen.id}]"
            line = Line(text, failure.seen.id, f"the same error: {shared[0]}", command=failure.worked())
            return scene.offer(HEADING, [line], MAX_TOKENS)
    return Offer()


def _failures(glance: Glance, kinds: Sequence[str], session: str) -> list[Failure]:
    """What failed in other sessions, newest first; of an exchange the last failure comes first."""
    past = []
    for seen in glance.failures(kinds):
        runs = [] if seen.session == session else seen.record.get("commands", ())
        for place in reversed(range(len(runs))):
            if runs[place].get("failed"):
                command, error = str(runs[place]["command"]), str(runs[place].get("error", ""))
                failure = Failure(seen, command, error, runs[place + 1 :])
                if failure.family and not set(kinds).isdisjoint(families(command)):
                    past.append(failure)
    return past


def _misused(command: str, past: Sequence[Failure]) -> Line | None:
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
        cure = {shape(one) for one in segments(worked)} - {shape(one) for one in segments(failure.command)}
        if worked and same and cure and not cure & shapes:
            return _instead(failure, same[0], error, worked)
    return None


def _misplaced(command: str, past: Sequence[Failure]) -> Line | None:
    """At the project's root: the same program failed for its folder there, and worked after a `cd`."""
    if re.search(r"\b(?:cd|pushd|Set-Location) |(?:^|\s)-C ", command):
        return None
    for failure in past:
        error = next((line for line in failure.error.splitlines() if _MISPLACED.search(line)), "")
        worked = failure.worked() if error else ""
        if re.match(r"cd (?!\.\.?(?:\s|$))", worked):
            return _instead(failure, failure.command, error, worked)
    return None


def _instead(failure: Failure, call: str, error: str, worked: str) -> Line:
    text = (
        f"- {day(failure.seen.created)}: {quoted(call, COMMAND_CHARACTERS)} failed with "
        f"{quoted(error, 120)}; {quoted(worked, COMMAND_CHARACTERS)} then worked [{failure.seen.id}]"
    )
    return Line(text, failure.seen.id, "the same call failed before", command=worked)


def _same_call(command: str, past: Sequence[Failure]) -> Line | None:
    """The same check of the same thing failed in another session, and passed later there."""
    tests = set(_ONE_TEST.findall(command))
    checks = dict(checks_of(command))
    for failure in past:
        before = dict(checks_of(failure.command)).get(failure.family)
        if before is None or failure.family not in checks or not failure.passed():
            continue
        failed = [name for name in _TEST.findall(failure.error) if name.partition("/")[0] in tests]
        targets = checks[failure.family]
        narrow = bool(tests or re.search(r"\s(?:-run|-k|-t)\b", command))
        same = bool(targets & before) if targets else not before
        line = next((one for one in failure.error.splitlines() if _PLACED.search(one)), "")
        if not (failed or (same and not narrow)) or _MISUSED.search(failure.error):
            continue
        how = _by_edits(failure) if line else _by_command(failure)
        if how:
            line = line or failure.error.splitlines()[0]
            text = (
                f"- {day(failure.seen.created)}: {quoted(_call(failure), 80)} failed with {quoted(line, 140)}"
            )
            return Line(f"{text}; {how} [{failure.seen.id}]", failure.seen.id, "the same check failed before")
    return None


def _by_edits(failure: Failure) -> str:
    edited = [str(path).rpartition("/")[2] for path, _ in failure.seen.record.get("files_edited", ())[:3]]
    return (
        f"it passed later in that exchange, which edited {quoted(', '.join(edited), 100)}" if edited else ""
    )


def _by_command(failure: Failure) -> str:
    cure = failure.cure() if failure.error else ""
    return f"{quoted(cure, COMMAND_CHARACTERS)} came before it worked" if cure else ""


def _call(failure: Failure) -> str:
    """The part of a line that failed."""
    return next(
        (one for one in segments(failure.command) if failure.family in families(one)), failure.command
    )


def _repeated(command: str, past: Sequence[Failure]) -> Line | None:
    """The command failed for the same reason in several sessions, or the same thing made it work in them."""
    checks = dict(checks_of(command))
    for kind in reversed(families(command)):
        failures = [failure for failure in past if failure.family == kind]
        line = _same_reason(kind, failures) if kind in checks else _same_cure(command, failures)
        if line is not None:
            return line
    return None


def _same_reason(kind: str, failures: Sequence[Failure]) -> Line | None:
    """A check found the same rule broken in several sessions; tests differ too much from run to run."""
    sessions: dict[str, set[str]] = {}
    for failure in failures:
        for reason in rules(failure.error):
            sessions.setdefault(reason, set()).add(failure.seen.session)
    often = [reason for reason in sessions if len(sessions[reason]) >= SEVERAL]
    often.sort(key=lambda reason: -len(sessions[reason]))
    counts = {reason: len(sessions[reason]) for reason in often[:REASONS]}
    return _often(kind, failures, counts) if counts else None


def _same_cure(command: str, failures: Sequence[Failure]) -> Line | None:
    """What came between failing and working, the same kind of command in several sessions."""
    cured: dict[str, list[tuple[Failure, str]]] = {}
    for failure in failures:
        cure = failure.cure() if failure.family not in _LOOKS else ""
        for kind in set(families(cure)).difference(families(command)):
            cured.setdefault(kind, []).append((failure, cure))
    for found in cured.values():
        days = {failure.seen.session: day(failure.seen.created) for failure, _ in found}
        failure, cure = found[0]
        if len(days) >= SEVERAL and failure.error:
            error = failure.error.splitlines()[0]
            when = " and ".join(dict.fromkeys(list(days.values())[:SEVERAL][::-1]))
            text = f"- {when}: {quoted(failure.command, 80)} failed with {quoted(error, 120)}; "
            text += f"{quoted(cure, COMMAND_CHARACTERS)} came before it worked [{failure.seen.id}]"
            return Line(text, failure.seen.id, f"it failed in {len(days)} sessions", command=cure)
    return None


def _often(kind: str, failures: Sequence[Failure], counts: Mapping[str, int]) -> Line:
    reason, *others = counts
    last = next(failure for failure in failures if reason in failure.error)
    line = next(line for line in last.error.splitlines() if reason in line)
    since = day(min(failure.seen.created for failure in failures))
    failed = len({failure.seen.session for failure in failures})
    later = ", and passed later in that exchange" if last.passed() else ""
    more = ", ".join(f"{quoted(other, 60)} in {counts[other]}" for other in others)
    text = (
        f"- `{kind}` failed in {failed} sessions since {since}: for {quoted(reason, 60)} in "
        f"{counts[reason]}, the last time on {day(last.seen.created)} with {quoted(line, 140)}{later}"
        f"{f'; for {more}' if more else ''} [{last.seen.id}]"
    )
    return Line(text, last.seen.id, f"it failed in {failed} sessions", command=last.worked())


def _outcome(failure: Failure) -> str:
    """What made it pass in the same exchange, as far as its commands and edits tell."""
    worked = failure.worked()
    if not worked:
        return ""
    if checks_of(failure.command) and not _MISUSED.search(failure.error):
        return _by_edits(failure)
    if not _same(worked, failure.command):
        return f"{quoted(worked, COMMAND_CHARACTERS)} then worked"
    return _by_command(failure)


def rules(error: str) -> list[str]:
    """The rules of linters that an error names; compilers' own are none."""
    named = (next(filter(None, groups)) for groups in _RULE.findall(error))
    return list(dict.fromkeys(rule for rule in named if rule not in _COMPILERS))


def reasons(error: str) -> list[str]:
    """Why something failed, in words that come back when it fails again: rules, tests, messages."""
    if told := [*rules(error), *_TEST.findall(error)]:
        return list(dict.fromkeys(told))
    lines = [_LABEL.sub("", line.strip()) for line in _COLOUR.sub("", error).splitlines()]
    said = (_VARIABLE.sub("…", line) for line in lines)
    return list(dict.fromkeys(line for line in said if len(line.replace("…", "").split()) > 2))


def shape(segment: str) -> str:
    """A call without what differs from one time to the next: numbers, quoted texts, paths."""
    return " ".join(dict.fromkeys(_VARIABLE.sub("", segment).split()))


def _words(command: str) -> frozenset[str]:
    """The words of a command, without redirections and pipes to look at its output."""
    return frozenset(word for part in segments(command)[:3] for word in part.split())


def _same(one: str, other: str) -> bool:
    return _words(one) == _words(other) or shape(one) == shape(other)
