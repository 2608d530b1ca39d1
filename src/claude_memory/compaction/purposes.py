"""What a change to a file was for, and the code in it that is worth keeping in its own words. Pure."""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from claude_memory.compaction.changes import Change
from claude_memory.compaction.model import Snippet
from claude_memory.compaction.points import clip
from claude_memory.understand.sentences import spoken
from claude_memory.distil.turns import AGENT, PERSON, Turn

PURPOSE_CHARACTERS = 150
CODE_CHARACTERS = 320
NEAR = 10
_DEFINED = re.compile(
    r"^\s*(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)]*\))?\s+)?(?:public |private |internal |abstract |static |async |final |data |sealed )*"
    r"(?:def|class|func|fn|function|struct|enum|trait|interface|type|object|module|defmodule|defp?|const|let|var|val|table|resource)\s+(?:\([^)]*\)\s*)?([A-Za-z_][\w.]*)",
    re.MULTILINE,
)
_ASSIGNED = re.compile(r"^\s*[\"']?([A-Za-z_][\w.-]{2,40})[\"']?\s*(?::?=|:)(?!=)", re.MULTILINE)
_NOISE = frozenset("import from return if else for while with try self this func err one out".split())


def purpose(change: Change, turns: Sequence[Turn]) -> str:
    """What an agent said of the file near its change, and what the change put into it."""
    told = _told(change, turns)
    names = list(dict.fromkeys(_names(change, turns)))[:4]
    put = ", ".join(names)
    if told and put and not all(name in told for name in names):
        return clip(f"{put}: {told}", PURPOSE_CHARACTERS)
    return clip(told or put or _asked(change, turns), PURPOSE_CHARACTERS)


def _told(change: Change, turns: Sequence[Turn]) -> str:
    """The sentence of an agent that names the file."""
    wanted = {change.path, change.path.rpartition("/")[2]}
    wanted |= {change.renamed_from, change.renamed_from.rpartition("/")[2]} - {""}
    best = ""
    for index in reversed(change.turns):
        for near in sorted(range(index - NEAR, index + NEAR), key=lambda other: abs(other - index)):
            if 0 <= near < len(turns) and turns[near].role == AGENT:
                for sentence in spoken(turns[near].text):
                    if any(name in sentence.said for name in wanted):
                        return sentence.said
                    if change.action in ("deleted", "renamed") and near == index + 1 and not best:
                        best = sentence.said
    return best


def _names(change: Change, turns: Sequence[Turn]) -> Iterator[str]:
    """What the change defines or sets."""
    for index in change.turns:
        before, text = _before_after(turns[index])
        for pattern in (_DEFINED, _ASSIGNED):
            for name in pattern.findall(text):
                if name not in before and name not in _NOISE:
                    yield name


def _before_after(turn: Turn) -> tuple[str, str]:
    given = turn.given
    new = given.get("content") or given.get("new_string") or given.get("new_source") or ""
    old = given.get("old_string") or ""
    edits = _listed(given.get("edits"))
    if isinstance(edits, list):
        pairs = [edit for edit in edits if isinstance(edit, dict)]
        old = "\n".join(str(edit.get("old_string", "")) for edit in pairs)
        new = "\n".join(str(edit.get("new_string", "")) for edit in pairs)
    return str(old), str(new)


def _edits(turn: Turn) -> list[tuple[str, str]]:
    """What one call put in the place of what."""
    listed = _listed(turn.given.get("edits"))
    given = [turn.given, *(listed if isinstance(listed, list) else ())]
    return [
        (one["old_string"], one["new_string"])
        for one in given
        if isinstance(one, Mapping)
        and isinstance(one.get("old_string"), str)
        and isinstance(one.get("new_string"), str)
    ]


def _edited(code: str, later: Sequence[tuple[str, str]]) -> str:
    """Code with the edits that were made to it afterwards."""
    for old, new in later:
        code = code.replace(old, new, 1) if old else code
    return code


def _listed(edits: object) -> object:
    """Several edits; the archive keeps them as text."""
    if not isinstance(edits, str):
        return edits
    try:
        return json.loads(edits)
    except (ValueError, RecursionError):
        return None


def _asked(change: Change, turns: Sequence[Turn]) -> str:
    """Without a better answer, what the person had asked for."""
    for index in range(change.turns[0], -1, -1):
        if turns[index].role == PERSON:
            return next((sentence.said for sentence in spoken(turns[index].text)), "")
    return ""


def snippets(changes: Sequence[Change], turns: Sequence[Turn], place: Sequence[int]) -> list[Snippet]:
    """Code of each file that is still there, in its last form, new files first."""
    kept = [change for change in changes if change.action in ("created", "modified", "renamed")]
    found = []
    for change in sorted(kept, key=lambda one: one.action != "created"):
        later: list[tuple[str, str]] = []
        for index in reversed(change.turns):
            code = _edited(_before_after(turns[index])[1], later)
            later[:0] = _edits(turns[index])
            names = _DEFINED.findall(code)
            if code.strip() and (names or change.action != "created"):
                importance = "high" if change.action == "created" and names else "medium"
                shown = _code(code)
                found.append(
                    Snippet(change.path, names[0] if names else "", shown, importance, (place[index],))
                )
                break
    return found


def _code(code: str) -> str:
    code = code.strip("\n")
    if len(code) <= CODE_CHARACTERS:
        return code
    return code[:CODE_CHARACTERS].rsplit("\n", 1)[0] + "\n…"
