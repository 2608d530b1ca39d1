"""What is done and what is open: from todo lists, from what was put off, from reports of results.

Pure. The last word counts: a later list replaces an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.compaction.model import Remark
from claude_memory.distil.turns import TOOL, Turn
from claude_memory.understand.tools import DONE, DROPPED, is_list, items


def tasks(turns: Sequence[Turn], place: Sequence[int]) -> tuple[list[Remark], list[Remark]]:
    """Tasks completed at any time, and those open in the last list; each with the message that says so."""
    done: dict[str, int] = {}
    pending: dict[str, int] = {}
    for index, turn in enumerate(turns):
        if turn.role != TOOL or turn.failed or not is_list(turn.tool):
            continue
        listed = list(items(turn.given))
        if not listed:
            continue
        pending = {text: place[index] for text, status in listed if status not in DONE | DROPPED}
        for text, status in listed:
            if status in DONE:
                done.setdefault(text, place[index])
            else:
                done.pop(text, None)  # opened again
    return [Remark(text, (at,)) for text, at in done.items()], [
        Remark(text, (at,)) for text, at in pending.items()
    ]
