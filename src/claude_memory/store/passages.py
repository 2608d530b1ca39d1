"""How a memory becomes passages, and which words each is found by: its own, its neighbours', its day's.

Pure, and shared by all backends, so that each finds the same. Where passages are kept is the backend's part.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from claude_memory.text import words

REACH = 2  # neighbours of the same session whose words count, on either side
NEIGHBOUR_TERMS = 200  # of each neighbour: enough for a turn, little enough that a paste drowns nobody

Place = tuple[int, int]  # of a memory in its session: time and number


class Terms(NamedTuple):
    """The terms of one passage, each column a text of terms between spaces."""

    own: str
    near: str  # of the neighbours at distance one
    far: str  # and two
    dates: str

    @property
    def length(self) -> float:
        """As BM25 counts it: own and near terms whole, far ones half."""
        own, near, far = (column.count(" ") + 1 if column else 0 for column in self[:3])
        return own + near + 0.5 * far


class Cut(NamedTuple):
    """One passage to be: where it stands in the memory's text, and its own terms."""

    start: int
    stop: int
    own: str


def searchable(title: str, body: str) -> str:
    """What is searched and embedded of a memory; a title that only repeats the beginning adds nothing."""
    head = title.strip().rstrip("…").rstrip()
    return body if not head or body.lstrip().startswith(head) else f"{title}\n{body}"


def cuts(title: str, body: str) -> Iterator[Cut]:
    """The passages of a memory; later ones are found by the words of its title, too."""
    whole = searchable(title, body)
    start = 0
    for ordinal, part in enumerate(words.passages(whole)):
        # Slices overlap, so each is found from where the last one began.
        start = whole.index(part, start + 1 if ordinal else 0)
        terms = words.index_terms(part)
        if ordinal:
            terms = words.index_terms(title) + terms
        yield Cut(start, start + len(part), " ".join(terms))


def date_terms(at: datetime) -> str:
    """The words for the day that a memory is from."""
    return " ".join(words.date_terms(at))


def head_terms(own: str) -> str:
    """Those of a first passage's terms that its neighbours are found by."""
    return " ".join(own.split(" ", NEIGHBOUR_TERMS)[:NEIGHBOUR_TERMS])


def beside(
    chain: Sequence[Place], heads: Mapping[int, str], places: Sequence[Place]
) -> dict[int, tuple[str, str]]:
    """The near and the far terms of the memories at and around some places of a session.

    `chain` has all memories from twice the reach before the first place to as many after the last, in
    order. A place may be empty: that is the gap of a memory that is gone, or seen no longer.
    """
    terms = [heads.get(number, "") for _, number in chain]
    around: set[int] = set()
    for place in places:
        at = bisect_left(chain, place)
        around.update(range(max(0, at - REACH), min(len(chain), at + REACH + 1)))
    # Forgotten and personal memories stand outside the chain, and have no neighbours.
    found = dict.fromkeys((number for _, number in places), ("", ""))
    for at in around:
        found[chain[at][1]] = (_joined(terms, at - 1, at + 1), _joined(terms, at - 2, at + 2))
    return found


def _joined(terms: Sequence[str], *places: int) -> str:
    return " ".join(terms[place] for place in places if 0 <= place < len(terms) and terms[place])
