"""Foresight: which memories a session will likely need, told from its branch, its files and its first words.

Words find what is named; the graph finds what hangs on the same files and topics without sharing a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.graph.extract import named, plain_path
from claude_memory.graph.walk import activated
from claude_memory.model import MemoryFilter, MemoryId, Project, SearchScope
from claude_memory.store.graph_protocol import Entity, GraphStore, graph_of
from claude_memory.text import query_terms

if TYPE_CHECKING:
    from claude_memory.store.protocol import Store

# Measured by bench/foresight.py; flat between .3 and .6.
WORDS_SHARE = 0.4
_DEPTH = 30
_MOST_SEEDS = 24
_FILE_SEED, _NAME_SEED = 1.0, 0.7


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
    spread = _scaled(activated(graph, project.id, seeds(graph, project, branch, files, words)))
    lexical = _by_words(store, project, branch, files, words, filter_, now)
    together = {
        id_: WORDS_SHARE * lexical.get(id_, 0.0) + (1.0 - WORDS_SHARE) * spread.get(id_, 0.0)
        for id_ in {**lexical, **spread}
    }
    order = sorted(together, key=lambda id_: (-together[id_], id_))
    scope = SearchScope((project.id,))
    return [memory.id for memory in store.memories(scope, filter_, ids=order[:_DEPTH])][:limit]


def seeds(
    graph: GraphStore, project: Project, branch: str, files: tuple[str, ...], words: str
) -> dict[Entity, float]:
    """What is known to be in play: the files, and every topic or name that branch and words speak of."""
    found = {Entity("file", plain_path(file)): _FILE_SEED for file in files[:_MOST_SEEDS]}
    for entity in named(words):
        found.setdefault(entity, _NAME_SEED)
    for term in dict.fromkeys([*_parts(branch), *query_terms(words)]):
        if len(found) >= _MOST_SEEDS:
            break
        for entity in graph.find(project.id, term, limit=2):
            if entity.kind != "session":
                found.setdefault(entity, _NAME_SEED)
    return found


def _parts(branch: str) -> list[str]:
    plain = branch.replace("/", " ").replace("_", " ").replace("-", " ")
    return [part.casefold() for part in plain.split() if len(part) > 2]


def _by_words(
    store: Store,
    project: Project,
    branch: str,
    files: tuple[str, ...],
    words: str,
    filter_: MemoryFilter,
    now: datetime,
) -> dict[MemoryId, float]:
    from claude_memory.recall.search import search

    query = " ".join([*_parts(branch), words, *files[:20]]).strip()
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


def _scaled(values: Mapping[MemoryId, float]) -> dict[MemoryId, float]:
    top = max(values.values(), default=0.0)
    return {id_: value / top for id_, value in values.items()} if top > 0 else {}
