"""What checks showed: failures that were repaired without a word, and the last results. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from claude_memory.compaction.model import Remark, Solution
from claude_memory.compaction.points import MAX_FILES, clip
from claude_memory.distil.fixes import Fix, diagnosis, error_lines, find_fixes
from claude_memory.distil.runs import run_of
from claude_memory.distil.turns import Turn, relative

MAX_RESULTS = 3
_TOLD = re.compile(
    r"\d+ (?:passed|passing|tests?|ok|examples|pass)\b|\b[\d.]+ ?(?:kB|MB|ms|s|%)\b", re.IGNORECASE
)
_RULE = re.compile(r"^[=\-_ ]+|[=\-_ ]+$")


def with_fixes(
    solutions: Sequence[Solution], turns: Sequence[Turn], place: Sequence[int], cwd: str
) -> list[Solution]:
    """The solutions that were told, and the repairs that only show in what was changed."""
    found = list(solutions)
    for fix in find_fixes(turns, cwd)[0]:
        messages = {place[index] for index in fix.evidence}
        known = next((one for one in found if place[fix.failing.index] in one.messages), None)
        if known is None:
            found.append(_solution(fix, turns, messages, cwd))
        else:
            changed = _changed(fix, turns)
            solution = known.solution if changed in known.solution else f"{known.solution} [{changed}]"
            better = replace(known, solution=solution, verified=True)
            found[found.index(known)] = better
    return sorted(found, key=lambda one: one.messages[0] if one.messages else 0)


def _solution(fix: Fix, turns: Sequence[Turn], messages: set[int], cwd: str) -> Solution:
    errors = error_lines(fix.failing.turn.output)
    files = dict.fromkeys(
        relative(turns[index].changed_file, cwd) for index in fix.changes if turns[index].changed_file
    )
    told = diagnosis(turns, fix)
    text = " → ".join(part for part in (told, _changed(fix, turns)) if part)
    return Solution(
        clip(" · ".join(errors[:2]), 200), clip(text), tuple(files)[:MAX_FILES], True, tuple(sorted(messages))
    )


def _changed(fix: Fix, turns: Sequence[Turn]) -> str:
    """The last change, as it reads now."""
    turn = turns[fix.changes[-1]]
    new = turn.given.get("new_string")
    old = turn.given.get("old_string")
    if isinstance(new, str) and isinstance(old, str):
        lines = [line.strip() for line in new.splitlines() if line.strip() and line not in old]
        return clip("; ".join(lines) or "taken out: " + old, 110)
    return clip(turn.command or turn.path, 110)


def results(turns: Sequence[Turn], place: Sequence[int]) -> list[Remark]:
    """How each check went the last time, if it went well and says something in numbers."""
    last: dict[str, Remark] = {}
    for index, turn in enumerate(turns):
        run = run_of(index, turn)
        if run is None:
            continue
        program = run.checks[0].program if run.checks else ""
        last.pop(program, None)
        line = "" if run.failed else _telling(turn.output)
        if line:
            last[program] = Remark(f"{clip(turn.command, 50)}: {clip(line, 70)}", (place[index],))
    return list(last.values())[-MAX_RESULTS:]


def _telling(output: str) -> str:
    lines = [line for line in output[-4000:].splitlines() if _TOLD.search(line)]
    return _RULE.sub("", lines[-1].strip()) if lines else ""
