"""Which texts say what was erased, and what is left of a document without it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ERASED = "[erased]"
_SHORTEST = 12  # a shorter text may stand somewhere by chance
_SUBSTANCE = ("decision", "error", "solution", "code", "text", "statement", "task")


def wanted(texts: Sequence[str]) -> list[str]:
    """The texts in a form that can be compared, without those that are too short to be told by."""
    return [plain for plain in map(_plain, texts) if len(plain) >= _SHORTEST]


def without(value: Any, texts: Sequence[str]) -> Any:
    """The value without what says one of the texts: entries go, running text loses its lines."""
    if isinstance(value, dict):
        return {name: without(item, texts) for name, item in value.items()}
    if isinstance(value, list):
        left = [without(item, texts) for item in value if not (isinstance(item, str) and says(item, texts))]
        return [item for item in left if not _is_gone(item)]
    if isinstance(value, str) and says(value, texts):
        return _spared(value, texts)
    return value


def _spared(text: str, texts: Sequence[str]) -> str:
    """Running text keeps the lines that do not say it."""
    lines = [line for line in text.splitlines() if not says(line, texts)]
    left = "\n".join(lines)
    return left if left.strip() and not says(left, texts) else ERASED


def _is_gone(entry: Any) -> bool:
    """Whether an entry lost what it was about; a changed file stays without its purpose."""
    return isinstance(entry, dict) and any(entry.get(name) == ERASED for name in _SUBSTANCE)


def says(item: str, texts: Sequence[str]) -> bool:
    """Whether a text quotes one of the texts, or is quoted by one."""
    said = _plain(item)
    return any(text in said or (len(said) >= _SHORTEST and said in text) for text in texts)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .…")
