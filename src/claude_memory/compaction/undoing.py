"""Whose code a change takes out: which words each stretch of work wrote into files, and which it removed.

Pure. Reads edits and the plain commands that change or delete files; follows words, not lines, because a
rewritten line often keeps most of itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from claude_memory.distil.turns import TOOL, Turn

ANYWHERE = "*"  # a command that names no file we know
MAX_CHARACTERS = 40_000
_NAME = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)*")
_PART = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")
_SUBSTITUTED = re.compile(r"s([/|#,])(.*?)(?<!\\)\1(.*?)(?<!\\)\1")
_IN_PLACE = re.compile(r"\b(?:sed|perl)\b.*\s-\w*i")
_STEP = re.compile(r"[;&|\n]+")
_DELETED = re.compile(r"(?<![\w\\])/((?:[^/\\]|\\.)+)/d\b")
_TAKING_OUT = re.compile(
    r"^\s*(?:git )?(?:rm|checkout|restore|revert|reset)\b|^\s*\w+ (?:\w+ )?(?:uninstall|unlink|rm|remove)\b"
)
_BRINGING_IN = re.compile(r"^\s*(?!git\b)\w+ (?:\w+ )?(?:add|install|get|require)\s")
_ENDINGS = ("ing", "ed", "es", "s")
_STEM = 4


class Swap(NamedTuple):
    """What one edit took out, what it brought in instead, and what it left around it."""

    removed: frozenset[str]
    added: frozenset[str]
    kept: frozenset[str]


@dataclass(slots=True)
class Work:
    """What was written and removed for one request; `undone` counts the words of each earlier one."""

    added: dict[str, set[str]] = field(default_factory=dict)
    removed: dict[str, set[str]] = field(default_factory=dict)
    undone: Counter[int] = field(default_factory=Counter)
    swaps: list[Swap] = field(default_factory=list)

    @property
    def written(self) -> frozenset[str]:
        return frozenset().union(*self.added.values())

    @property
    def gone(self) -> frozenset[str]:
        return frozenset().union(*self.removed.values())

    @property
    def files(self) -> frozenset[str]:
        return frozenset({*self.added, *self.removed}) - {ANYWHERE}

    def include(self, other: Work) -> None:
        """Take what was done in a part of the work."""
        for mine, theirs in ((self.added, other.added), (self.removed, other.removed)):
            for path, words in theirs.items():
                mine.setdefault(path, set()).update(words)
        self.undone.update(other.undone)
        self.swaps.extend(other.swaps)


class Ledger:
    """Who wrote each word of each file that was changed; requests are named by a number."""

    def __init__(self) -> None:
        self._content: dict[str, Set[str]] = {}
        self._owners: dict[str, dict[str, int]] = {}

    def note(self, turn: Turn, by: int, work: Work) -> None:
        """Take down what one call changed on behalf of a request."""
        if turn.role != TOOL or turn.failed:
            return
        if turn.changed_file:
            for old, new in self._edits(turn):
                self._change(turn.path, old - new, new - old, by, work)
                if old - new and new - old:
                    work.swaps.append(Swap(old - new, new - old, old & new))
                kept = self._content.get(turn.path, frozenset()) - (old - new)
                self._content[turn.path] = kept | new
        elif turn.command:
            self._ran(turn.command[:MAX_CHARACTERS], by, work)

    def _edits(self, turn: Turn) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        """The words before and after each edit; what is written anew takes the place of what was there."""
        given = turn.given
        content = given.get("content")
        if isinstance(content, str) and "old_string" not in given:
            yield frozenset(self._content.get(turn.path, ())), code_words(content)
        edits = given.get("edits")
        for edit in [given, *(edits if isinstance(edits, list) else ())]:
            if isinstance(edit, Mapping) and "old_string" in edit:
                yield code_words(str(edit["old_string"])), code_words(str(edit.get("new_string", "")))

    def _ran(self, command: str, by: int, work: Work) -> None:
        if _IN_PLACE.search(command):
            for _, old, new in _SUBSTITUTED.findall(command):
                before, after = code_words(old), code_words(new)
                self._change(ANYWHERE, before - after, after - before, by, work)
                work.swaps.append(Swap(before - after, after - before, before & after))
            for old in _DELETED.findall(command):
                self._change(ANYWHERE, code_words(old), frozenset(), by, work)
        for step in _STEP.split(command):
            if _BRINGING_IN.search(step):
                work.added.setdefault(ANYWHERE, set()).update(code_words(step))
            if _TAKING_OUT.search(step):
                work.removed.setdefault(ANYWHERE, set()).update(code_words(step))
                for path in [path for path in self._content if _names(step, path)]:
                    self._change(path, self._content.pop(path), frozenset(), by, work)

    def _change(self, path: str, removed: Set[str], added: Set[str], by: int, work: Work) -> None:
        for word in removed:
            owners = self._owners.get(word, {})
            owner = owners.pop(path, None)
            if owner is None and path == ANYWHERE and owners:
                owner = next(reversed(owners.values()))
            if owner is not None and owner != by:
                work.undone[owner] += 1
        for word in added:
            self._owners.setdefault(word, {})[path] = by
        work.removed.setdefault(path, set()).update(removed)
        work.added.setdefault(path, set()).update(added)


def code_words(text: str) -> frozenset[str]:
    """Names and numbers in code: whole in lower case, and each part of a joined name."""
    found: set[str] = set()
    for name in _NAME.findall(text[:MAX_CHARACTERS]):
        if name[0].isdigit():
            found.add(name)
        elif len(name) > 2:
            found.add(name.lower())
            found.update(stem(part) for part in _PART.findall(name) if len(part) > 2)
    return frozenset(found)


def stem(word: str) -> str:
    """A word without the ending that differs between `chunk`, `chunks` and `chunked`."""
    word = word.lower()
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)]
    return word


def _names(step: str, path: str) -> bool:
    """Whether a command names the file, or a folder that it is in."""
    if path.replace("\\", "/").rpartition("/")[2] in step:
        return True
    folders = (part.strip("./") for part in step.split()[1:] if not part.startswith("-"))
    return any(f"/{folder}/" in path for folder in folders if "/" in folder or "git" in step if folder)
