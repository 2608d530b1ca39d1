"""Verbs that answer: search, why, show, timeline, recall, knowledge, stats, ledger."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from claude_memory.errors import InvalidInput, NotFound, StoreBusy, StoreFault
from claude_memory.model import Hit, Kind, MemoryFilter, MemoryId, StoredMemory
from claude_memory.platform.files import FILE_MODE, private_folder
from claude_memory.verbs.fields import clean, kind_of
from claude_memory.verbs.upkeep import Upkeep

if TYPE_CHECKING:
    from claude_memory.graph.draw import Label
    from claude_memory.graph.knowledge import Knowledge
    from claude_memory.graph.walk import Neighbourhood
    from claude_memory.lifecycle.ledger import Given, LedgerLine
    from claude_memory.lifecycle.life import Life
    from claude_memory.search.conversations import Recalled
    from claude_memory.search.explain import Explanation
    from claude_memory.search.timeline import TimelineEntry
    from claude_memory.store.archive_protocol import Conversation, ConversationFilter
    from claude_memory.store.protocol import StoreStats


class Asking(Upkeep):
    """Questions bring in what waits first, and never fail because that could not be done."""

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        kinds: Sequence[Kind | str] = (),
        topics: Sequence[str] = (),
        files: Sequence[str] = (),
        task: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        min_relevance: float | None = None,
        all_projects: bool = False,
    ) -> list[Hit]:
        """The best answers, most relevant first, from what is stored and what still waits in the spool."""
        from claude_memory.embed import prepare
        from claude_memory.search.search import search

        if min_relevance is not None and not 0.0 <= min_relevance <= 1.0:
            raise InvalidInput(f"a relevance is between 0 and 1, not {min_relevance}")
        prepare(self.embedder)
        self._catch_up()
        filter_ = MemoryFilter(
            kinds=tuple(kind_of(kind) for kind in kinds),
            topics=tuple(topics),
            files=tuple(files),
            task=task,
            session=self.session_id(session, all_projects=all_projects) if session else None,
            since=since,
            until=until,
        )
        hits = search(
            self.store,
            self._heeded(),
            self._scope(all_projects=all_projects),
            query,
            filter_=filter_,
            limit=self.settings.search_limit if limit is None else limit,
            min_relevance=(self.settings.min_relevance or None) if min_relevance is None else min_relevance,
            now=datetime.now(UTC),
            boosts=self._activated(query, files),
        )
        if not self.reads_only:
            self._note_search(query)
        return hits

    def _activated(self, query: str, files: Sequence[str]) -> dict[MemoryId, float]:
        """What spreads through the graph from the question; nothing unless the setting asks for it."""
        if not self.settings.activation:
            return {}
        from claude_memory.graph.walk import activated, seeds
        from claude_memory.store.graph_protocol import graph_of

        graph, project = graph_of(self.store), self.project.id
        reached = activated(graph, project, seeds(graph, project, query, files))
        top = max(reached.values(), default=0.0) or 1.0
        return {memory: self.settings.activation * value / top for memory, value in reached.items()}

    def why(self, id_: str, query: str | None = None) -> Explanation:
        """Why a memory answers a question (default: the last one asked here), in numbers and words."""
        from claude_memory.search.explain import explain

        memory = self._one(id_)
        asked = query if query is not None else self._noted_search()
        found = explain(
            self.store,
            self.embedder,
            self._scope(all_projects=memory.project != self.project.id),
            asked,
            memory.id,
            now=datetime.now(UTC),
        )
        return replace(found, words=(*found.words, *self.lifecycle.told(memory, now=datetime.now(UTC))))

    def given(self, id_: str) -> list[Given]:
        """When and where hooks handed a memory to an agent, newest first."""
        from claude_memory.lifecycle.ledger import given

        self._catch_up()
        return given(self.store, self._scope(), self._one(id_).id)

    def show(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Whole memories by id or unique beginning of one; being opened keeps them strong."""
        found = [self._one(id_) for id_ in ids]
        if not self.reads_only:
            with contextlib.suppress(StoreFault, OSError):  # a busy or read-only store still answers
                self.lifecycle.review(found, "opened")
        return found

    def find(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Memories by id or unique beginning of one, without counting as a use."""
        return [self._one(id_) for id_ in ids]

    def graph(self, start: str, *, hops: int = 2) -> tuple[Neighbourhood, Label]:
        """What is around a memory, a file, a topic; and how its nodes are called."""
        from claude_memory.graph.neighbourhood import around

        return around(self.store, self.project, start, hops=hops)

    def knowledge(self, topic: str | None = None) -> Knowledge:
        """Decisions with their reasons, and rules with how often and since when they came up."""
        from claude_memory.graph.knowledge import knowledge
        from claude_memory.lifecycle.derive import derive_pending

        self._catch_up()
        if not self.reads_only:
            derive_pending(self.store, self.project.id)
        return knowledge(self.store, self.project, topic)

    @property
    def lifecycle(self) -> Life:
        """What memories are worth and how they hang together."""
        from claude_memory.lifecycle.life import Life

        return Life(self.store, self.project)

    def conversation(self, id_: str) -> Conversation:
        """An archived conversation of any project, by its id or the unique beginning of one."""
        from claude_memory.search.lookup import find

        return find(self.archive, id_)

    def recall(
        self,
        query: str,
        *,
        within: ConversationFilter | None = None,
        here: bool = False,
        limit: int | None = None,
        own_first: bool = True,
        quick: bool = False,
    ) -> list[Recalled]:
        """Archived conversations that answer a question, or the newest; of this project only with `here`.

        A `quick` answer is by words alone and from newer messages where many share the words.
        """
        from claude_memory.search.conversations import recall
        from claude_memory.store.archive_protocol import ANY_CONVERSATION

        return recall(
            self.archive,
            self.store,
            None if quick else self.embedder,
            self._scope(all_projects=not here),
            query,
            within=within or ANY_CONVERSATION,
            limit=self.settings.search_limit if limit is None else limit,
            now=datetime.now(UTC),
            own=self.project.id if own_first else None,
            thorough=not quick,
        )

    def timeline(
        self,
        *,
        around: str | None = None,
        query: str | None = None,
        before: int = 5,
        after: int = 5,
        session: str | None = None,
    ) -> list[TimelineEntry]:
        """What happened around a memory, around a question's best hit, or most recently."""
        from claude_memory.search.timeline import entries_around

        self._catch_up()
        wanted = self.session_id(session) if session else None
        anchor = self._one(around) if around else None
        if anchor is None and query is not None:
            hits = self.search(query, limit=1, session=session)
            if not hits:
                raise NotFound(f"nothing found for {query!r} to draw a timeline around")
            anchor = self._one(hits[0].id)
        return entries_around(
            self.store,
            self._scope(),
            anchor,
            before=before,
            after=after,
            session=wanted,
        )

    def stats(self, *, all_projects: bool = False) -> StoreStats:
        """Counts and sizes."""
        return self.store.stats(None if all_projects else self.project.id)

    def ledger(self, *, since: datetime | None = None) -> list[LedgerLine]:
        """What hooks gave to agents in this project."""
        from claude_memory.lifecycle.ledger import ledger

        self._catch_up()
        return ledger(self.store, self._scope(), since=since)

    def _note_search(self, query: str) -> None:
        try:
            path = private_folder(self.home / "cache") / self._last_search().name
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as handle:
                handle.write(clean(query[:2000]).encode("utf-8", "replace"))
        except (OSError, StoreBusy):  # only `why` without a question misses it
            return

    def _noted_search(self) -> str:
        try:
            return self._last_search().read_text("utf-8")
        except OSError:
            raise InvalidInput("nothing was searched here yet: give the question with --query") from None
