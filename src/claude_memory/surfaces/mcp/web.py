"""A project's memories as a web: what each mentions and replaces, read from the store as it is walked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.graph.extract import MOST_MENTIONS, plain_path
from claude_memory.model import MemoryFilter, MemoryId, SearchScope, StoredMemory
from claude_memory.store.graph_protocol import Entity, graph_of
from claude_memory.store.lifecycle_protocol import lifecycle_of
from claude_memory.surfaces.mcp.connections import MOST_SHARED, Web
from claude_memory.text.quotation import plain, unquoted

if TYPE_CHECKING:
    from claude_memory.memory import Memory

_MEMORY = "memory:"
_SESSION = "session:"


class Weaver:
    """Looks up ties in one project's graph, and what a model calls its things."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._graph = graph_of(memory.store)
        self._own = memory.project.id
        self._named: set[str] = (
            set()
        )  # what was asked for leads to its newest memories, however many there are
        self.web = Web(self._ties)

    def thing(self, named: str) -> str:
        """What a model means by a name: a thing as we write it, a file, topic, session, or a memory's id."""
        said = unquoted(named)
        kind, colon, rest = said.partition(":")
        for name in (rest, said) if colon else (said,):
            options = self._called(name)
            known = next((item for item in options if item.kind == kind), options[0] if options else None)
            if known is not None and (name == said or known.kind == kind):
                self._named.add(f"{known.kind}:{known.name}")
                return f"{known.kind}:{known.name}"
        if (session := self._session(said)) is not None:
            return session
        try:
            [item] = self._memory.find([said.removeprefix(_MEMORY)])
        except (NotFound, InvalidInput):
            raise NotFound(
                f"nothing here is called {plain(said)[:80]!r}: give a memory's id, or a file, topic or "
                "session that search_memory or get_project_knowledge showed"
            ) from None
        return f"{_MEMORY}{item.id}"

    def _session(self, said: str) -> str | None:
        """A session by the unique beginning of its id, unless a memory is called so."""
        try:
            whole = self._memory.session_id(said.removeprefix(_SESSION))
        except (NotFound, InvalidInput):
            return None
        if not self._called(whole):
            return None
        self._named.add(f"{_SESSION}{whole}")
        return f"{_SESSION}{whole}"

    def memories(self, things: Sequence[str]) -> dict[str, StoredMemory]:
        """Those of the things that are memories one may see."""
        ids = [MemoryId(thing.removeprefix(_MEMORY)) for thing in things if thing.startswith(_MEMORY)]
        found = self._memory.store.memories(SearchScope((self._own,)), MemoryFilter(), ids=ids) if ids else []
        return {f"{_MEMORY}{item.id}": item for item in found if item.project == self._own}

    def _called(self, name: str) -> list[Entity]:
        """Things of this name; a path also by its end, if only one ends so."""
        if not name:
            return []
        path = plain_path(name)
        exact = [item for item in self._graph.find(self._own, name) if item.name == name]
        found = exact or self._graph.find(self._own, path)
        whole = [item for item in found if item.name in (name, path)]
        if whole or len(found) == 1:
            return whole or found
        return self._graph.find(self._own, name.casefold()) if name != name.casefold() else []

    def _ties(self, things: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        memories = self.memories(things)
        found: dict[str, dict[str, str]] = {thing: {} for thing in things}
        for one, other, how in self._of_memories(memories):
            found[one].setdefault(other, how)
        for thing in things:
            if not thing.startswith(_MEMORY):
                found[thing] = self._of_entity(thing)
        return found

    def _of_memories(self, memories: Mapping[str, StoredMemory]) -> Iterator[tuple[str, str, str]]:
        ids = [item.id for item in memories.values()]
        if not ids:
            return
        linked: list[tuple[str, str, str]] = []
        for name, item in memories.items():
            for link, how in ((item.supersedes, "supersedes"), (item.superseded_by, "superseded by")):
                if link:
                    linked.append((name, f"{_MEMORY}{link}", how))
        for relation in lifecycle_of(self._memory.store).relations(ids):
            ends = f"{_MEMORY}{relation.source}", f"{_MEMORY}{relation.target}"
            for one, other in (ends, ends[::-1]):
                if one in memories:
                    linked.append((one, other, relation.kind))
        seen = self.memories([other for _, other, _ in linked])
        yield from (link for link in linked if link[1] in seen)
        for mention in self._graph.of_memories(ids, limit=MOST_MENTIONS * len(ids)):
            how = "in" if mention.entity.kind == "session" else mention.relation
            yield f"{_MEMORY}{mention.memory}", f"{mention.entity.kind}:{mention.entity.name}", how

    def _of_entity(self, thing: str) -> dict[str, str]:
        kind, _, name = thing.partition(":")
        found = self._graph.of_entities(self._own, [Entity(kind, name)], each=MOST_SHARED + 1)
        ties: dict[str, str] = {}
        for mention, _ in found:
            how = "in" if kind == "session" else mention.relation
            ties.setdefault(f"{_MEMORY}{mention.memory}", how)
        return ties if len(ties) <= MOST_SHARED or thing in self._named else {}
