"""Foresight: which memories a session will likely need, told from its branch, its files and its first words.

Words find what is named; the graph finds what hangs on the same files and topics without sharing a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.graph.walk import activated, seeds
from claude_memory.model import MemoryFilter, MemoryId, Project, SearchScope
from claude_memory.store.graph_protocol import graph_of

if TYPE_CHECKING:
    from claude_memory.store.protocol import Store

# Measured by bench/foresight.py; flat between .3 and .6.
WORDS_SHARE = 0.4
_DEPTH = 30


def foreseen(
    store: Store,
    project: Project,
    *,
    branch: str = "",
    files: tuple[str, ...] = (),
    words: str = "",
    filter_: MemoryFilter,
    now: datetime,
    limit: int = 10,
) -> list[MemoryId]:
    """The memories most likely needed, best first; none where nothing is known of the session."""
    graph = graph_of(store)
    known = seeds(graph, project.id, f"{plain_words(branch)} {words}", files)
    spread = _scaled(activated(graph, project.id, known))
    lexical = _by_words(store, project, branch, files, words, filter_, now)
    together = {
        id_: WORDS_SHARE * lexical.get(id_, 0.0) + (1.0 - WORDS_SHARE) * spread.get(id_, 0.0)
        for id_ in {**lexical, **spread}
    }
    order = sorted(together, key=lambda id_: (-together[id_], id_))
    scope = SearchScope((project.id,))
    return [memory.id for memory in store.memories(scope, filter_, ids=order[:_DEPTH])][:limit]


def _by_words(
    store: Store,
    project: Project,
    branch: str,
    files: tuple[str, ...],
    words: str,
    filter_: MemoryFilter,
    now: datetime,
) -> dict[MemoryId, float]:
    from claude_memory.search.search import search

    query = " ".join([plain_words(branch), words, *files[:20]]).strip()
    if not query:
        return {}
    hits = search(
        store,
        None,
        SearchScope((project.id,)),
        query,
        filter_=filter_,
        limit=_DEPTH,
        min_relevance=0.0,
        now=now,
        boost_files=files,
    )
    return _scaled({hit.id: hit.score for hit in hits})


def plain_words(branch: str) -> str:
    """A branch's name as words."""
    plain = branch.replace("/", " ").replace("_", " ").replace("-", " ")
    return " ".join(part.casefold() for part in plain.split() if len(part) > 2)


def _scaled(values: Mapping[MemoryId, float]) -> dict[MemoryId, float]:
    top = max(values.values(), default=0.0)
    return {id_: value / top for id_, value in values.items()} if top > 0 else {}
