"""Bound what one event may take in the store: long texts keep head and tail, and say what is gone.

Pure. Cutting comes after redaction, never before: a cut could part a secret from its marks.
"""

from __future__ import annotations

from typing import Any

MAX_ITEMS = 2000  # of one list or object; a listing's head and tail tell what it was
_TEXTS = 8  # an event may hold about this many texts of full length
_LEAST = 512


def bound_text(text: str, limit: int) -> str:
    """The text, or its head (two thirds) and tail around a line that says how much is left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out …]\n{text[len(text) - tail :]}"


def bound_document(value: Any, limit: int) -> Any:
    """A JSON value with every text within `limit`, and all of them together within eight times that."""
    bounded = _bounded(value, limit)
    share = limit
    while share > _LEAST and _characters(bounded) > _TEXTS * limit:
        share //= 2
        bounded = _bounded(value, share)
    return bounded


def _bounded(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return bound_text(value, limit)
    if isinstance(value, list):
        return [_bounded(item, limit) for item in _ends(value)]
    if isinstance(value, dict):
        kept = value.items() if len(value) <= MAX_ITEMS else list(value.items())[:MAX_ITEMS]
        return {bound_text(key, limit): _bounded(item, limit) for key, item in kept}
    return value


def _ends(items: list[Any]) -> list[Any]:
    if len(items) <= MAX_ITEMS:
        return items
    half = MAX_ITEMS // 2
    return [*items[:half], f"[… {len(items) - 2 * half:,} items left out …]", *items[-half:]]


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_characters, value))
    if isinstance(value, dict):
        return sum(len(key) + _characters(item) for key, item in value.items())
    return 8
