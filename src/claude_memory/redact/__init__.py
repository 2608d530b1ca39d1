"""Cuts what must never be stored: spans a person marked `<private>`, and secrets.

The only door for text on its way to database, index, log, backup or model. Reads and writes no files. Its
rules are loaded when they are first asked for: a hook that only reads the store needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_memory.redact.door import (
        is_plain,
        kept,
        kept_change,
        kept_document,
        kept_mapping,
        redact,
        redact_document,
        redact_short,
    )
    from claude_memory.redact.engine import Redacted

__all__ = [
    "Redacted",
    "is_plain",
    "kept",
    "kept_change",
    "kept_document",
    "kept_mapping",
    "redact",
    "redact_document",
    "redact_short",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("claude_memory.redact.door"), name)
