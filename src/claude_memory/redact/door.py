"""The door that every text passes before it reaches a disk outside the spool, whatever field it stands in.

Most of what comes by was redacted already; names, paths and ids come again and again. Passing twice changes
nothing, so whoever is not sure passes its text once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from claude_memory.redact.document import redact, redact_document
from claude_memory.redact.engine import RE2, Engine, shadow_of
from claude_memory.redact.secrets import lightest

_SHORT = 300  # characters of a name, a path or an id, which are remembered
_BY_HAND = 4_000  # characters that the standard library's engine is given
_FIRST = 32  # texts: who keeps more than these is no hook, and re2 pays for its loading
_seen = 0


def kept(text: str) -> str:
    """The text without secrets and private parts: what leaves here may be stored."""
    return _remembered(text) if len(text) <= _SHORT else _cut(text)


def kept_document(value: Any) -> Any:
    """The same for a JSON value: every string and every key."""
    return redact_document(value)[0] if value else value


def kept_mapping(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a mapping of names to JSON values."""
    if is_plain(value):
        return dict(value)
    found = kept_document(dict(value))
    return found if isinstance(found, dict) else {}


def is_plain(values: Mapping[str, Any]) -> bool:
    """Whether nothing in these strings, by their names, calls for any rule: one look for most rows.

    False also where a value is neither text nor a plain figure: then each part has to be looked at.
    """
    shown = "\n".join([f'{name}="{value}"' for name, value in values.items() if isinstance(value, str)])
    flat = all(isinstance(value, str | int | float | None) for value in values.values())
    if not flat or "private" in shown.lower():
        return False
    return not _engine(shown).wanted(shadow_of(shown)) if shown else True


def kept_change(before: str, after: str) -> str:
    """A changed text in which what is new was passed through; what stood there is its writer's own."""
    old, new = before.split("\n"), after.split("\n")
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    end = len(new) - tail
    fresh = kept("\n".join(new[head:end])).split("\n") if end > head else []
    return "\n".join([*new[:head], *fresh, *new[end:]])


@lru_cache(maxsize=8192)
def _remembered(text: str) -> str:
    return _cut(text)


def _cut(text: str) -> str:
    return redact(text, using=_engine(text)).text


def _engine(text: str) -> Engine:
    global _seen  # noqa: PLW0603 - one process, one count
    _seen += 1
    return lightest() if len(text) <= _BY_HAND and _seen <= _FIRST else RE2
