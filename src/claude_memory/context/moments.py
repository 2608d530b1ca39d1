"""Contexts for a moment inside a session: a prompt, a sub-agent, the first touch of a file.

Each is small, and silence is the usual answer. What the agent was given before in this session,
or said itself, is not repeated.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.quoting import DUE_HEADING, intention_line, line_for
from claude_memory.model import (
    Kind,
    MemoryFilter,
    MemoryId,
    Project,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
)
from claude_memory.text.quotation import named
from claude_memory.text.tokens import MARK_TOKENS, Context, tokens

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder
    from claude_memory.store.protocol import Store

PROMPT_MEMORIES = 3
PROMPT_TOKENS = 400
SUBAGENT_MEMORIES = 5
SUBAGENT_TOKENS = 600
FILE_TOKENS = 150
DUE_AT_ONCE = 5
FILE_KINDS = (Kind.DECISION, Kind.LESSON, Kind.CORRECTION, Kind.CONVENTION, Kind.FIX)

_LIVE = (Status.ACTIVE,)


def for_question(
    store: Store,
    embedder: Embedder | None,
    project: Project,
    question: str,
    *,
    session: SessionId | None,
    given: Collection[str],
    now: datetime,
    limit: int = PROMPT_MEMORIES,
    max_tokens: int = PROMPT_TOKENS,
    min_relevance: float,
) -> Context:
    """The few memories that answer a prompt; empty when nothing is relevant enough."""
    from claude_memory.search.search import search

    scope = SearchScope((project.id,))
    hits = search(
        store,
        embedder,
        scope,
        question,
        filter_=MemoryFilter(statuses=_LIVE),
        limit=4 * limit,
        min_relevance=min_relevance,
        now=now,
    )
    fresh = [hit.id for hit in hits if hit.id not in given and not (session and hit.session == session)]
    memories = store.memories(scope, MemoryFilter(statuses=_LIVE), ids=fresh[:limit])
    return _listed("From this project's memory, possibly relevant:", memories, max_tokens)


def for_file(
    store: Store,
    project: Project,
    root: Path,
    path: str,
    *,
    given: Collection[str],
    max_tokens: int = FILE_TOKENS,
) -> Context:
    """Decisions, lessons and corrections tied to one file."""
    wanted = MemoryFilter(kinds=FILE_KINDS, files=tuple(_spellings(root, path)), statuses=_LIVE)
    found = store.memories(SearchScope((project.id,)), wanted, limit=10)
    fresh = [memory for memory in found if memory.id not in given]
    return _listed(f"Known about {named(Path(path).name, 80)}:", fresh, max_tokens)


def intentions_due(
    store: Store,
    project: Project,
    *,
    words: str = "",
    files: tuple[str, ...] = (),
    given: Collection[str],
    now: datetime,
) -> Context:
    """Intentions whose time has come and that this session was not told yet."""
    if not store.has_open_intentions():
        return Context("", 0, (), ())
    from claude_memory.lifecycle.intentions import Occasion, due
    from claude_memory.store.lifecycle_protocol import lifecycle_of

    named = (*files, *(word for word in words.split() if "/" in word or "." in word[1:-1]))
    found = due(lifecycle_of(store).intentions(project), Occasion(project, now, named, words), given=given)
    if not found:
        return Context("", 0, (), ())
    text = "\n".join([DUE_HEADING, *(intention_line(one) for one in found[:DUE_AT_ONCE])])
    ids = tuple(MemoryId(one.intention.id) for one in found[:DUE_AT_ONCE])
    return Context(text, tokens(text), ids, ("intentions",))


def joined(*contexts: Context) -> Context:
    """Several contexts as one."""
    text = "\n".join(context.text for context in contexts if context.text)
    memories = tuple(id_ for context in contexts for id_ in context.memories)
    return Context(text, tokens(text), memories, tuple(name for one in contexts for name in one.sections))


def _listed(heading: str, memories: Iterable[StoredMemory], max_tokens: int) -> Context:
    lines: list[str] = []
    ids: list[MemoryId] = []
    spent = MARK_TOKENS + tokens(heading) + 1
    for memory in memories:
        line = line_for(memory)
        cost = tokens(line) + 1
        if spent + cost <= max_tokens:
            lines.append(line)
            ids.append(memory.id)
            spent += cost
    text = "\n".join([heading, *lines]) if lines else ""
    return Context(text, tokens(text), tuple(ids), ())


def _spellings(root: Path, path: str) -> list[str]:
    """A file as memories may name it: as given, and relative to the project."""
    names = [path]
    with contextlib.suppress(ValueError):  # another drive
        names.append(Path(os.path.relpath(path, root)).as_posix())
    return list(dict.fromkeys(name for name in names if not name.startswith("..")))
