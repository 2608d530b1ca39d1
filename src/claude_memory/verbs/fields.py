"""The fields of a memory as a caller gives them, made fit to be kept."""

from __future__ import annotations

from typing import TypeVar

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, Scope, StoredMemory, Trust

TITLE_CHARACTERS = 80

_Choice = TypeVar("_Choice", Kind, Trust, Scope)


def clean(text: str | None) -> str:
    """The text without secrets and private parts: what leaves here may reach disk."""
    from claude_memory.redact import kept

    return kept(text) if text else ""


def title_of(body: str) -> str:
    """The first line that says something, cut at a word."""
    line = next((line.strip() for line in body.splitlines() if line.strip()), "")
    if len(line) <= TITLE_CHARACTERS:
        return line
    return line[: TITLE_CHARACTERS - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def has_derived_title(memory: StoredMemory) -> bool:
    """Whether nobody gave the memory a title of its own."""
    return memory.title == title_of(memory.body)


def kind_of(kind: Kind | str) -> Kind:
    """The kind by its name."""
    return choice(Kind, kind, "kind")


def choice(values: type[_Choice], value: _Choice | str, name: str) -> _Choice:
    """One of the values by its name, or what is wrong with it."""
    try:
        return values(value)
    except ValueError:
        raise InvalidInput(f"unknown {name} {value!r}: one of {', '.join(values)}") from None
