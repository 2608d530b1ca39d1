"""Paths between memories, through the things they mention and the links between them.

Pure but for looking up, which is handed in and asked for many things at once. A thing is named by its
kind: `memory:ID`, `file:PATH`, `topic:NAME`, `session:ID`; a thing that everything shares leads nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from claude_memory.text.quotation import named

# A session or topic of hundreds of memories connects everything and says nothing.
MOST_SHARED = 60
LONGEST_PATH = 12
# A walk looks at so many things at most: the end of a path that long says nothing either.
MOST_THINGS = 1_500

Ties = Mapping[str, str]  # what a thing is tied to, and how


class Web:
    """Who is tied to whom, and by what; read as far as somebody walks."""

    def __init__(self, look_up: Callable[[Sequence[str]], Mapping[str, Ties]]) -> None:
        self._look_up = look_up
        self._known: dict[str, Ties] = {}

    def of(self, things: Iterable[str]) -> dict[str, Ties]:
        """The ties of things; none of what ties too much together."""
        wanted = list(dict.fromkeys(things))
        new = [thing for thing in wanted if thing not in self._known]
        if new:
            found = self._look_up(new)
            self._known.update({thing: found.get(thing, {}) for thing in new})
        return {thing: self._known[thing] for thing in wanted}

    @property
    def size(self) -> int:
        """How many things were looked up."""
        return len(self._known)


def chain(web: Web, start: str, end: str) -> list[str]:
    """A shortest path, both ends included; empty if there is none within reach. Walks from both ends."""
    if start == end:
        return [start]
    sides: tuple[dict[str, str], dict[str, str]] = ({start: ""}, {end: ""})
    edges = [[start], [end]]
    for _ in range(LONGEST_PATH - 1):
        side = 0 if len(edges[0]) <= len(edges[1]) else 1
        came, other = sides[side], sides[1 - side]
        edges[side] = _step(web, edges[side], came)
        met = sorted(thing for thing in edges[side] if thing in other)
        if met:
            return [*_back(sides[0], met[0])[::-1], *_back(sides[1], met[0])[1:]]
        if not edges[side] or web.size > MOST_THINGS:
            return []
    return []


def around(web: Web, start: str, limit: int) -> list[tuple[str, str]]:
    """Other memories nearest to a thing, with what ties them: what few share ties closest."""
    near = web.of([start])[start]
    through = [thing for thing in near if not thing.startswith("memory:")]
    ties: dict[str, dict[str, float]] = {
        thing: {how: 1.0} for thing, how in near.items() if thing.startswith("memory:")
    }
    for thing, found in web.of(through).items():
        for far in found:
            if far != start and far.startswith("memory:"):
                ties.setdefault(far, {})[named(thing)] = 1.0 / len(found)
    ordered = sorted(ties, key=lambda name: -sum(ties[name].values()))  # stable: the newest first
    return [(name, ", ".join(sorted(ties[name]))) for name in ordered[:limit]]


def bridges(web: Web, start: str, end: str, limit: int) -> list[tuple[str, str]]:
    """Things that tie the surroundings of one to those of the other; the nearest first."""
    one, other = _reach(web, start), _reach(web, end)
    shared = (one.keys() & other.keys()) - {start, end}
    ordered = sorted(shared, key=lambda name: (one[name] + other[name], name))
    return [(name, _steps_away(one[name], other[name])) for name in ordered[:limit]]


def _steps_away(one: int, other: int) -> str:
    if one == other == 1:
        return "tied to both"
    return f"{one} step{'s' * (one > 1)} from one, {other} from the other"


def _step(web: Web, edge: Sequence[str], came: dict[str, str]) -> list[str]:
    """One step outwards from an edge; notes from where each new thing was reached."""
    fresh: list[str] = []
    for here, ties in web.of(sorted(edge)[:MOST_THINGS]).items():
        for there in sorted(ties):
            if there not in came:
                came[there] = here
                fresh.append(there)
    return fresh


def _back(came: Mapping[str, str], thing: str) -> list[str]:
    path = [thing]
    while came[path[-1]]:
        path.append(came[path[-1]])
    return path


def _reach(web: Web, start: str, most: int = 3) -> dict[str, int]:
    found = {start: 0}
    edge = [start]
    for distance in range(1, most + 1):
        edge = list(
            dict.fromkeys(
                there for ties in web.of(edge[:MOST_THINGS]).values() for there in ties if there not in found
            )
        )
        found.update(dict.fromkeys(edge, distance))
        if web.size > MOST_THINGS:
            break
    return found
