"""Taking erased words out of the summaries: an entry that says them goes, whatever else it says.

The files keep their numbers and stay valid. Nothing here asks; `erase` did.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from claude_memory.compaction.store import Shelf
from claude_memory.erasure import wanted, without


def purge(home: Path, texts: Sequence[str]) -> int:
    """Remove every entry that quotes one of the texts, or is quoted by one; returns files changed."""
    quoted = wanted(texts)
    shelf = Shelf(home)
    changed = 0
    for session in shelf.sessions() if quoted else []:
        for kept in shelf.of(session):
            document = {**kept.document, "summary": without(kept.document.get("summary"), quoted)}
            if document["summary"] != kept.document.get("summary"):
                document["embeddings"] = {"model": None, "summary_vector": [], "topic_vectors": {}}
                shelf.replace(kept, document)
                changed += 1
    return changed
