"""Which messages the entries of a model's or an agent's summary rest on: only such as there are. Pure.

The entries of plain lists have no room for numbers; theirs stand in `sources`, as rules write them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claude_memory.text import query_terms

LISTS = ("tasks_completed", "tasks_pending", "important_context", "conventions")
_ENTRIES = ("key_decisions", "files_modified", "code_snippets", "error_solutions")
_NUMBERS = ("messages", "reversed_messages")
_LEAST_SHARED = 2  # words; one may be shared by chance


def within(summary: Mapping[str, Any], is_message: Callable[[int], bool]) -> dict[str, Any]:
    """A valid summary without the numbers of messages that it cannot rest on."""
    left = dict(summary)
    for name in _ENTRIES:
        left[name] = [_entry(entry, is_message) for entry in summary[name]]
    told = summary.get("sources", {})
    left["sources"] = {name: [_only(own, is_message) for own in told[name]] for name in LISTS if name in told}
    return left


def _entry(entry: Mapping[str, Any], is_message: Callable[[int], bool]) -> dict[str, Any]:
    numbers = {name: _only(entry[name], is_message) for name in _NUMBERS if name in entry}
    return {**entry, **numbers}


def _only(places: Sequence[int], is_message: Callable[[int], bool]) -> list[int]:
    return [place for place in places if is_message(place)]


def sources(
    body: Mapping[str, Any], rules: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]
) -> dict[str, list[list[int]]]:
    """The messages of a merged summary's plain lists: as rules know them, else as an answer says."""
    found: dict[str, list[list[int]]] = {}
    for name in LISTS:
        known = list(_told(rules, name))
        said = {text: places for answer in answers for text, places in _told(answer, name)}
        if body[name]:
            found[name] = [_alike(text, known) or said.get(text, []) for text in body[name]]
    return found


def _told(summary: Mapping[str, Any], name: str) -> list[tuple[str, list[int]]]:
    places = summary.get("sources", {}).get(name, [])
    return list(zip(summary[name], places, strict=False))


def _alike(text: str, known: Sequence[tuple[str, list[int]]]) -> list[int]:
    """The messages of the entry that shares most words with a text; none if it is hardly the same."""
    own = set(query_terms(text))
    best = 0
    places: list[int] = []
    for other, there in known:
        words = set(query_terms(other))
        shared = len(own & words)
        if shared > best and shared >= _LEAST_SHARED and 2 * shared >= min(len(own), len(words)):
            best, places = shared, there
    return list(places)
