"""Cuts what must never be stored: spans a person marked `<private>`, and secrets.

The only door for text on its way to database, index, log, backup or model. Reads and writes no files.
"""

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
