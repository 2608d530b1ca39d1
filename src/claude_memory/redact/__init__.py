"""Cuts what must never be stored: spans a person marked `<private>`, secrets, and what was erased.

Belongs here: the formats of secrets as rules, the engine that finds them, the one door every text passes.
Does not: reading files, storing. Rules load when first asked for: a hook that only reads needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_memory.redact.door import is_plain, kept, kept_change, kept_mapping, redact, redact_document

__all__ = ["is_plain", "kept", "kept_change", "kept_mapping", "redact", "redact_document"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("claude_memory.redact.door"), name)
