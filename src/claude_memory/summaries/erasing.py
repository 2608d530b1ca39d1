"""Taking erased words out of the summaries: an entry that says them goes, whatever else it says.

The files keep their numbers and stay valid. Nothing here asks; `erase` did.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from claude_memory.redact.erasure import Holder, without
from claude_memory.summaries.shelf import Shelf


def purge(home: Path, quoted: Holder, sessions: Collection[str] = ()) -> int:
    """Remove every entry that holds one of the sentences, or is a piece of one; returns files changed.

    No model will sum up those files again, nor any of `sessions`, where the words were said.
    """
    shelf = Shelf(home)
    changed = 0
    for session in shelf.sessions():
        for kept in shelf.of(session):
            change = partial(_purged, quoted=quoted, said_here=session in sessions)
            if change(kept.document) is not None:
                changed += shelf.replace(kept, change) is not None
    return changed


def _purged(document: Mapping[str, Any], *, quoted: Holder, said_here: bool) -> dict[str, Any] | None:
    """The document without what is quoted; None if nothing changes."""
    before, by = document.get("summary"), document.get("summariser")
    summary = _left(before, quoted) if isinstance(before, dict) else before
    marked = {**by, "erased": True} if isinstance(by, dict) else {"erased": True}
    if summary == before and (not said_here or marked == by):
        return None
    left = {**document, "summary": summary, "summariser": marked}
    if summary != before:
        left["embeddings"] = {"model": None, "summary_vector": [], "topic_vectors": {}}
    return left


def _left(summary: Mapping[str, Any], quoted: Holder) -> dict[str, Any]:
    """The summary without what is quoted; what is left of a plain list keeps its own messages."""
    sources = summary.get("sources")
    if not isinstance(sources, dict):
        return dict(without(summary, quoted, pieces=True))
    staying = {name: _with_sources(summary.get(name), places, quoted) for name, places in sources.items()}
    left = without({name: value for name, value in summary.items() if name != "sources"}, quoted, pieces=True)
    return {**left, "sources": staying}


def _with_sources(texts: Any, places: Any, quoted: Holder) -> Any:
    """The messages of those texts of a list that stay."""
    if not isinstance(texts, list) or not isinstance(places, list):
        return places
    return [own for text, own in zip(texts, places, strict=False) if without([text], quoted, pieces=True)]
