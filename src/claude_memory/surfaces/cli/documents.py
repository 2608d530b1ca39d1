"""What `--json` prints: plain documents whose field names are a promise to programs."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import Any

from claude_memory.model import Hit

_HIT_FIELDS = (
    "id",
    "kind",
    "title",
    "snippet",
    "relevance",
    "session",
    "project",
    "timestamp",
    "files",
    "status",
    "trust",
)


def hit(found: Hit) -> dict[str, Any]:
    """One answer of a search."""
    values = {name: plain(getattr(found, name)) for name in _HIT_FIELDS}
    more = {name: value for name in ("place", "stale") if (value := getattr(found, name))}
    return {**values, "relevance": round(found.relevance, 4), **more}


def plain(value: Any) -> Any:
    """The value in JSON's own types; times in UTC, to the second and marked as such."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)
