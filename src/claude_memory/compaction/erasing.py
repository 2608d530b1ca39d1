"""Taking erased words out of the summaries: an entry that says them goes, whatever else it says.

The files keep their numbers and stay valid. Nothing here asks; `erase` did.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claude_memory.compaction.store import Shelf

_SHORTEST = 12  # a shorter text may stand in an entry by chance
ERASED = "[erased]"
_SUBSTANCE = ("decision", "error", "solution", "code", "text", "statement", "task")


def purge(home: Path, texts: Sequence[str]) -> int:
    """Remove every entry that quotes one of the texts, or is quoted by one; returns files changed."""
    wanted = [_plain(text) for text in texts if len(_plain(text)) >= _SHORTEST]
    shelf = Shelf(home)
    changed = 0
    for session in shelf.sessions() if wanted else []:
        for kept in shelf.of(session):
            document = {**kept.document, "summary": _without(kept.document.get("summary"), wanted)}
            if document["summary"] != kept.document.get("summary"):
                document["embeddings"] = {"model": None, "summary_vector": [], "topic_vectors": {}}
                shelf.replace(kept, document)
                changed += 1
    return changed


def _without(value: Any, texts: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(item, texts) for name, item in value.items()}
    if isinstance(value, list):
        left = [_without(item, texts) for item in value if not (isinstance(item, str) and _says(item, texts))]
        return [item for item in left if not _is_gone(item)]
    if isinstance(value, str) and _says(value, texts):
        return _spared(value, texts)
    return value


def _spared(text: str, texts: Sequence[str]) -> str:
    """Running text keeps the lines that do not say it."""
    lines = [line for line in text.splitlines() if not _says(line, texts)]
    left = "\n".join(lines)
    return left if left.strip() and not _says(left, texts) else ERASED


def _is_gone(entry: Any) -> bool:
    """Whether an entry lost what it was about; a changed file stays without its purpose."""
    return isinstance(entry, dict) and any(entry.get(name) == ERASED for name in _SUBSTANCE)


def _says(item: str, texts: Sequence[str]) -> bool:
    said = _plain(item)
    return any(text in said or (len(said) >= _SHORTEST and said in text) for text in texts)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .…")
