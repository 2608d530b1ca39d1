"""A stretch of a session summed up by rules alone: the same turns give the same summary, at once.

Pure. Keeps within a tenth of the tokens it sums up, by leaving out what matters least.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from claude_memory.compaction.abridge import abridged, gist
from claude_memory.compaction.changes import changes
from claude_memory.compaction.comparing import Sense
from claude_memory.compaction.executive import executive
from claude_memory.compaction.model import Decision, FileChange, Remark, Summary, about_tokens, as_json
from claude_memory.compaction.outcomes import results, with_fixes
from claude_memory.compaction.points import clip, points
from claude_memory.compaction.purposes import purpose, snippets
from claude_memory.compaction.todo import tasks
from claude_memory.distil import work
from claude_memory.distil.exchange import terms
from claude_memory.distil.turns import PERSON, Origin, Turn
from claude_memory.model import Kind

RATIO = 10.5  # tokens summed up for each token of the summary
MIN_TOKENS = 1_200
MAX_TOKENS = 6_000
MAX_SNIPPETS = 6
Cut = Callable[[Summary], Summary | None]


def summarise(
    turns: Sequence[Turn], origin: Origin, *, tokens_before: int | None = None, sense: Sense | None = None
) -> Summary:
    """What these turns leave, within the budget that their size allows.

    `sense` is what a model tells of two requests; without it their words have to do.
    """
    turns = list(turns)
    place = [_place(turn, index) for index, turn in enumerate(turns)]
    known = points(turns, place, origin.cwd, spoken_kinds(turns, origin), sense)
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


def tokens_of(summary: Summary) -> int:
    """About how many tokens the summary takes as it is written."""
    return about_tokens(json.dumps(as_json(summary), ensure_ascii=False, separators=(",", ":")))


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


def fitted(summary: Summary, max_tokens: int) -> Summary:
    """The summary within so many tokens: what matters least goes first."""
    for cut in _CUTS:
        while tokens_of(summary) > max_tokens:
            shorter = cut(summary)
            if shorter is None:
                break
            summary = shorter
    return summary


def _fewer_snippets(least: int, importance: str = "") -> Cut:
    def cut(summary: Summary) -> Summary | None:
        chosen = [one for one in summary.code_snippets if not importance or one.importance != importance]
        if len(summary.code_snippets) <= least or not chosen:
            return None
        drop = chosen[-1]
        return replace(summary, code_snippets=tuple(one for one in summary.code_snippets if one is not drop))

    return cut


def _fewer_remarks(name: str, least: int) -> Cut:
    def cut(summary: Summary) -> Summary | None:
        listed: tuple[Remark, ...] = getattr(summary, name)
        if len(listed) <= least:
            return None
        drop = min(listed, key=lambda one: _weight(one.text))
        kept = tuple(one for one in listed if one is not drop)
        return _with(summary, name, kept)

    return cut


@lru_cache(maxsize=4_000)
def _weight(text: str) -> float:
    """Numbers and names tell more than other words; long texts cost more."""
    telling = sum(character.isdigit() or character in "`_=/" for character in text)
    return min(telling, 12) + min(len(terms(text)), 20)


def _shorter(name: str, fields: Sequence[str], characters: int) -> Cut:
    def cut(summary: Summary) -> Summary | None:
        listed = getattr(summary, name)
        short = tuple(
            replace(one, **{field: clip(getattr(one, field), characters) for field in fields})
            for one in listed
        )
        return None if short == listed else _with(summary, name, short)

    return cut


def _abridged_decisions(characters: int) -> Cut:
    return _each_decision(
        lambda one: replace(one, decision=abridged(one.decision, characters, one.reverses, one.core))
    )


def _shorter_reasons(characters: int) -> Cut:
    return _each_decision(lambda one: replace(one, rationale=gist(one.rationale, characters, one.decision)))


def _each_decision(shorter: Callable[[Decision], Decision]) -> Cut:
    def cut(summary: Summary) -> Summary | None:
        short = tuple(map(shorter, summary.key_decisions))
        return None if short == summary.key_decisions else replace(summary, key_decisions=short)

    return cut


def _fewer_of(name: str, least: int) -> Cut:
    """The oldest go first."""

    def cut(summary: Summary) -> Summary | None:
        listed = getattr(summary, name)
        return _with(summary, name, listed[1:]) if len(listed) > least else None

    return cut


def _with(summary: Summary, name: str, value: object) -> Summary:
    return replace(summary, **{name: value})  # type: ignore[arg-type]


_CUTS: tuple[Cut, ...] = (
    _fewer_snippets(0, "high"),
    _fewer_snippets(1),
    _shorter("key_decisions", ("reverses",), 130),
    _shorter("error_solutions", ("error",), 110),
    _fewer_snippets(0),
    _shorter_reasons(300),
    _shorter("files_modified", ("purpose",), 80),
    _fewer_remarks("important_context", 12),
    _shorter("important_context", ("text",), 200),
    _shorter_reasons(230),
    _shorter("files_modified", ("purpose",), 60),
    _shorter_reasons(200),
    _abridged_decisions(300),
    _fewer_remarks("important_context", 5),
    _fewer_remarks("tasks_completed", 5),
    _abridged_decisions(200),
    _shorter("error_solutions", ("solution",), 220),
    _shorter("files_modified", ("purpose",), 50),
    _fewer_remarks("important_context", 0),
    _fewer_of("key_decisions", 8),
    _fewer_of("error_solutions", 6),
    _fewer_remarks("tasks_pending", 8),
    _fewer_remarks("conventions", 8),
    _shorter("files_modified", ("purpose",), 1),
    _fewer_of("key_decisions", 3),
    _fewer_of("error_solutions", 2),
)
