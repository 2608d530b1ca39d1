"""Fixes: a check failed, something was changed, the same check passed, and it stayed so.

Pure. What was taken back, did not help, or was tried in a scratch file is no fix.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from claude_memory.distil.phrases import REJECTING, fits
from claude_memory.distil.runs import MAX_OUTPUT, Run, changes_something, repairs_first, run_of, turns_back
from claude_memory.understand.sentences import sentences
from claude_memory.distil.turns import AGENT, PERSON, Turn, relative

MAX_DISTANCE = 120  # turns between failing and passing: beyond it, they have little to do with each other
LOOK_AHEAD = 16  # turns after the passing run in which it may still be taken back
ERROR_LINES = 4
_SCRATCH = re.compile(
    r"(?:^|/)(?:tmp|temp|scratch|playground|sandbox)(?:/|$|[._-])|(?:^|/)(?:scratch|demo|tmp|repro)[\w-]*\.\w+$"
)
_DETAIL = re.compile(
    r"error|exception|fail|assert|panic|fatal|cannot|can't|could not|unable|undefined|not found|no such|missing|denied|refused"
    r"|expected|mismatch|invalid|unexpected|timed? ?out|does not|doesn't|nonexistent|not equal",
    re.IGNORECASE,
)
_FAILED_NAME = re.compile(
    r"(?:FAILED|FAIL:?|---\s*FAIL:|not ok \d+ -?|✗|✖|✘|×|●|\[FAIL\])\s+([\w./:\[\]-]*\w[\w./:\[\]() ›>-]*)"
    r"|\btest (\S+) \.\.\. FAILED|^\s*\d+\) (\S.*)$|[›>] ([^›>\n]+)$|^\* (\w+)$|\bTest\s+#\d+: (\S+) \.*\*+",
    re.MULTILINE,
)
_ERROR_NAME = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Fault)|[A-Z]{2,}\d{3,}|E\d{4}|error\[\w+\]|error TS\d+)\b"
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class Fix:
    """One failure, what was changed, and the run that showed that it helped."""

    failing: Run
    changes: tuple[int, ...]
    passing: Run

    @property
    def evidence(self) -> tuple[int, ...]:
        return (self.failing.index, *self.changes, self.passing.index)


def find_fixes(turns: Sequence[Turn], cwd: str = "") -> tuple[list[Fix], list[Fix]]:
    """The fixes that hold, and those that looked like one and did not."""
    runs = [run for index, turn in enumerate(turns) if (run := run_of(index, turn)) is not None]
    found: list[Fix] = []
    for place, failing in enumerate(runs):
        if failing.failed and _first_of_its_kind(runs[:place], failing):
            fix = _followed(turns, runs, place, cwd)
            if fix is not None:
                found.append(fix)
    holding = [_last_form(turns, runs, fix) for fix in found]
    kept = [new for new in holding if new is not None]
    return kept, [old for old, new in zip(found, holding, strict=True) if new is None]


def _first_of_its_kind(before: Sequence[Run], failing: Run) -> bool:
    """The same failure shown again is one failure, until a pass lies between."""
    for run in reversed(before):
        if failing.index - run.index > MAX_DISTANCE:
            break
        if run.same_as(failing) or failing.same_as(run):
            if not run.failed:
                return True
            if _same_error(run, failing):
                return False
    return True


def _followed(turns: Sequence[Turn], runs: Sequence[Run], place: int, cwd: str) -> Fix | None:
    failing = runs[place]
    since = failing.index
    changes: list[int] = []
    for run in runs[place + 1 :]:
        if run.index - failing.index > MAX_DISTANCE:
            break
        if not run.same_as(failing):
            continue
        window = range(since + 1, run.index + 1)
        changed = list(_changes(turns, window, run, cwd))
        if any(turns_back(turns[index].command) for index in window):
            changes = []
        since = run.index
        if not run.failed:
            changes = [index for index in changes + changed if _is_step(turns, index, changes + changed)]
            return Fix(failing, tuple(changes[-6:]), run) if changes else None
        if _same_error(run, failing):
            changes = [index for index in changes + changed if _is_step(turns, index, changes + changed)]
        elif changed:
            # The failure gave way to another one: what was changed until here removed it.
            later = _passing(runs, run)
            return Fix(failing, tuple((changes + changed)[-6:]), later) if later else None
    return None


def _passing(runs: Sequence[Run], failing: Run) -> Run | None:
    return next(
        (run for run in runs if run.index > failing.index and not run.failed and run.same_as(failing)), None
    )


def _is_step(turns: Sequence[Turn], index: int, changes: Sequence[int]) -> bool:
    """Whether a change of a failed attempt still stands: nothing replaced just its new text."""
    new = turns[index].given.get("new_string")
    return not any(turns[later].given.get("old_string") == new for later in changes if later > index and new)


def _changes(turns: Sequence[Turn], window: range, passing: Run, cwd: str) -> Iterator[int]:
    """What was changed in these turns; edits count before commands, which often only prepare."""
    edits, commands = [], []
    for index in window:
        turn = turns[index]
        if turn.changed_file:
            if not _SCRATCH.search(relative(turn.changed_file, cwd)):
                edits.append(index)
        elif turn.command and not turn.failed and changes_something(turn.command):
            run = run_of(index, turn, judged=False)
            if index != passing.index and not (run and run.same_as(passing)):
                commands.append(index)
    if not edits and not commands and repairs_first(passing.turn.command):
        commands.append(passing.index)
    yield from edits or commands


def _last_form(turns: Sequence[Turn], runs: Sequence[Run], fix: Fix) -> Fix | None:
    """The fix as it stood at the end: replaced by a better one, or None if it was taken back."""
    if _comes_back(runs, fix):
        return None
    files = {turns[index].changed_file for index in fix.changes} - {""}
    rejected = False
    for index in range(fix.passing.index + 1, min(fix.passing.index + LOOK_AHEAD, len(turns))):
        turn = turns[index]
        if turn.role == PERSON:
            if not rejected and not _rejects(turn.text):
                return fix  # the person went on
            rejected = True
        elif turn.command and turns_back(turn.command):
            return None
        elif rejected and turn.changed_file in files and _undoes(turn, turns, fix.changes):
            again = next((run for run in runs if run.index > index and run.same_as(fix.failing)), None)
            return Fix(fix.failing, (index,), again) if again and not again.failed else None
    return fix


def _comes_back(runs: Sequence[Run], fix: Fix) -> bool:
    """Whether the same failure was seen again soon: it had not been repaired."""
    end = fix.passing.index
    return any(
        run.failed
        and end < run.index <= end + LOOK_AHEAD
        and run.same_as(fix.failing)
        and _same_error(run, fix.failing)
        for run in runs
    )


def _rejects(text: str) -> bool:
    return any(fits(REJECTING, sentence.lower().replace("’", "'")) for sentence in sentences(text))


def _undoes(turn: Turn, turns: Sequence[Turn], changes: Sequence[int]) -> bool:
    old = turn.given.get("old_string")
    return isinstance(old, str) and bool(old) and any(
        old in str(turns[index].given.get("new_string") or turns[index].given.get("content") or "")
        for index in changes
    )  # fmt: skip


def _same_error(one: Run, other: Run) -> bool:
    """Whether two failing runs fail at the same thing: the same names, or lines alike but for numbers."""
    mine, theirs = _marks(one.turn.output), _marks(other.turn.output)
    return bool(mine & theirs) if mine and theirs else not (mine or theirs)


@lru_cache(maxsize=512)
def _marks(output: str) -> frozenset[str]:
    output = output[-MAX_OUTPUT:]
    named = {next(filter(None, found)).strip() for found in _FAILED_NAME.findall(output)}
    errors = set(_ERROR_NAME.findall(output))
    lines = {_NUMBERS.sub("#", line) for line in error_lines(output)[:2]}
    return frozenset(named) or frozenset(errors) or frozenset(lines)


def error_lines(output: str) -> list[str]:
    """The lines of a report that say what went wrong, in order."""
    lines = [line.strip() for line in output[-MAX_OUTPUT:].splitlines() if line.strip()]
    lines = [line for line in lines if not re.fullmatch(r"Exit code \d+", line)]
    telling = [line for line in lines if _DETAIL.search(line)]
    return list(dict.fromkeys(telling or lines))[:ERROR_LINES]


def diagnosis(turns: Sequence[Turn], fix: Fix) -> str:
    """What the agent said was wrong, just before the change that helped."""
    last = fix.changes[-1]
    for index in range(last, fix.failing.index, -1):
        if turns[index].role == AGENT:
            told = [sentence for sentence in sentences(turns[index].text) if not sentence.endswith("?")]
            return " ".join(told[:2])
    return ""
