"""Paths between memories, through the things they mention and the links between them.

Pure: memories, mentions and relations in, paths out. A thing is named by its kind: `memory:ID`,
`file:PATH`, `topic:NAME`, `session:ID`; a thing that everything shares leads nowhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from claude_memory.model import StoredMemory
from claude_memory.store.graph_protocol import Mention
from claude_memory.store.lifecycle_protocol import Relation

# A session or topic of hundreds of memories connects everything and says nothing.
MOST_SHARED = 60
LONGEST_PATH = 12


@dataclass(slots=True)
class Web:
    """Who is tied to whom, and by what."""

    memories: Mapping[str, StoredMemory]
    ties: dict[str, dict[str, str]] = field(default_factory=dict)

    def neighbours(self, thing: str) -> Mapping[str, str]:
        """What a thing is tied to, and how; not through what ties too much together."""
        found = self.ties.get(thing, {})
        return found if thing.startswith("memory:") or len(found) <= MOST_SHARED else {}


def woven(
    memories: Iterable[StoredMemory], mentions: Iterable[Mention], relations: Iterable[Relation]
) -> Web:
    """The web of these memories."""
    web = Web({f"memory:{item.id}": item for item in memories})
    for mention in mentions:
        if f"memory:{mention.memory}" in web.memories:
            thing = f"{mention.entity.kind}:{mention.entity.name}"
            _tie(web, f"memory:{mention.memory}", thing, mention.relation)
    for name, item in web.memories.items():
        if item.session:
            _tie(web, name, f"session:{item.session}", "in")
        if item.supersedes and f"memory:{item.supersedes}" in web.memories:
            _tie(web, name, f"memory:{item.supersedes}", "supersedes")
    for relation in relations:
        ends = f"memory:{relation.source}", f"memory:{relation.target}"
        if all(end in web.memories for end in ends):
            _tie(web, *ends, relation.kind)
    return web


def chain(web: Web, start: str, end: str) -> list[str]:
    """A shortest path, both ends included; empty if there is none."""
    came: dict[str, str] = {start: ""}
    waiting = deque([start])
    while waiting and end not in came:
        here = waiting.popleft()
        for there in sorted(web.neighbours(here)):
            if there not in came:
                came[there] = here
                waiting.append(there)
    if end not in came:
        return []
    path = [end]
    while came[path[-1]]:
        path.append(came[path[-1]])
    return path[::-1] if len(path) <= LONGEST_PATH else []


def around(web: Web, start: str, limit: int) -> list[tuple[str, str]]:
    """Other memories nearest to a thing, with what ties them: those with most ties first."""
    ties: dict[str, list[str]] = {}
    for near, how in web.neighbours(start).items():
        if near.startswith("memory:"):
            ties.setdefault(near, []).append(how)
            continue
        for far in web.neighbours(near):
            if far != start and far.startswith("memory:"):
                ties.setdefault(far, []).append(near)
    ordered = sorted(ties, key=lambda name: (-len(ties[name]), name))
    return [(name, ", ".join(sorted(set(ties[name])))) for name in ordered[:limit]]


def bridges(web: Web, start: str, end: str, limit: int) -> list[tuple[str, str]]:
    """Things that tie the surroundings of one to those of the other; most ties first."""
    one, other = _reach(web, start), _reach(web, end)
    shared = (one.keys() & other.keys()) - {start, end}
    ordered = sorted(shared, key=lambda name: (one[name] + other[name], name))
    return [(name, f"{one[name]} and {other[name]} steps away") for name in ordered[:limit]]


def _reach(web: Web, start: str, most: int = 3) -> dict[str, int]:
    found = {start: 0}
    edge: Sequence[str] = [start]
    for distance in range(1, most + 1):
        edge = [there for here in edge for there in web.neighbours(here) if there not in found]
        for there in edge:
            found.setdefault(there, distance)
    return found


def _tie(web: Web, one: str, other: str, how: str) -> None:
    web.ties.setdefault(one, {})[other] = how
    web.ties.setdefault(other, {})[one] = how
