"""A stretch of a session summed up by rules alone: the same turns give the same summary, at once.

Pure. Keeps within a tenth of the tokens it sums up, by leaving out what matters least.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from claude_memory.compaction.changes import changes
from claude_memory.compaction.comparing import Sense
from claude_memory.compaction.executive import executive
from claude_memory.compaction.fitting import fitted
from claude_memory.compaction.model import FileChange, Remark, Summary, about_tokens
from claude_memory.compaction.outcomes import results, with_fixes
from claude_memory.compaction.points import Points, points
from claude_memory.compaction.purposes import purpose, snippets
from claude_memory.compaction.todo import tasks
from claude_memory.distil import work
from claude_memory.distil.exchange import terms
from claude_memory.distil.turns import PERSON, Origin, Turn
from claude_memory.model import Kind

RATIO = 10.2  # tokens summed up for each token of the summary
MIN_TOKENS = 1_200
MAX_TOKENS = 6_000
MAX_SNIPPETS = 6
MAX_EARLIER = 400  # turns


def summarise(
    turns: Sequence[Turn],
    origin: Origin,
    *,
    tokens_before: int | None = None,
    sense: Sense | None = None,
    earlier: Sequence[Turn] = (),
) -> Summary:
    """What these turns leave, within the budget that their size allows.

    `sense` is what a model tells of two requests; without it their words have to do. `earlier` are turns that
    were summed up before: a decision may take back what was decided in them.
    """
    known = _points(turns, origin, sense, earlier[-MAX_EARLIER:])
    turns = list(turns)
    place = [_place(turn, index) for index, turn in enumerate(turns)]
    touched = changes(turns, origin.cwd)
    files = tuple(
        FileChange(
            one.path,
            one.action,
            purpose(one, turns),
            one.renamed_from,
            tuple(dict.fromkeys(place[index] for index in one.turns[-3:])),
        )
        for one in touched
    )
    solutions = with_fixes(known.solutions, turns, place, origin.cwd)
    done, pending = tasks(turns, place)
    pending = _without_repeats([*pending, *known.pending])
    done = _without_repeats([*known.done, *done, *results(turns, place)])
    asked = next((turn.text for turn in turns if turn.role == PERSON), "")
    summary = Summary(
        executive=executive(asked, known.decisions, files, solutions, done, pending),
        key_decisions=tuple(known.decisions),
        files_modified=files,
        code_snippets=tuple(snippets(touched, turns, place)[:MAX_SNIPPETS]),
        topics=work.topics(turns, origin.cwd),
        tasks_completed=tuple(done),
        tasks_pending=tuple(pending),
        important_context=tuple(known.context),
        error_solutions=tuple(solutions),
        conventions=tuple(known.conventions),
    )
    return fitted(summary, budget(size_of(turns) if tokens_before is None else tokens_before))


def _points(turns: Sequence[Turn], origin: Origin, sense: Sense | None, earlier: Sequence[Turn]) -> Points:
    whole = [*earlier, *turns]
    place = [_place(turn, index) for index, turn in enumerate(whole)]
    return points(whole, place, origin.cwd, spoken_kinds(whole, origin), sense, len(earlier))


def budget(tokens_before: int) -> int:
    """How many tokens a summary of so many may take."""
    return int(min(max(tokens_before / RATIO, MIN_TOKENS), MAX_TOKENS))


def size_of(turns: Sequence[Turn]) -> int:
    """About how many tokens the turns take in an agent's window."""
    return sum(
        about_tokens(turn.text)
        + about_tokens(turn.output)
        + (about_tokens(json.dumps(dict(turn.given), ensure_ascii=False, default=str)) if turn.given else 0)
        for turn in turns
    )


def _place(turn: Turn, index: int) -> int:
    found = turn.ref.get("message")
    return found if isinstance(found, int) else index + 1


def spoken_kinds(turns: Sequence[Turn], origin: Origin) -> Mapping[int, Kind]:
    """The turns of which the distilled memories say that they decide, correct or prefer something."""
    from claude_memory.distil.session import distil

    kinds = (Kind.DECISION, Kind.CORRECTION, Kind.PREFERENCE)
    said = [memory for memory in distil(turns, origin).memories if memory.kind in kinds]
    places = {
        json.dumps(dict(turn.ref), sort_keys=True, default=str): index for index, turn in enumerate(turns)
    }
    found: dict[int, Kind] = {}
    for memory in said:
        for ref in memory.provenance["evidence"]:
            index = places.get(json.dumps(ref, sort_keys=True, default=str))
            if index is not None:
                found[index] = memory.kind
    return found


def _without_repeats(remarks: Sequence[Remark]) -> list[Remark]:
    """Each thing once: what a longer remark says already is left out."""
    kept: list[Remark] = []
    for remark in remarks:
        mine = terms(remark.text)
        if not mine or any(mine <= terms(other.text) for other in kept):
            continue
        kept.append(remark)
    return kept
