"""What two homes exchange, and how two versions of one memory become one. Pure, shared by all backends.

Whatever order versions meet in, and however often, the same one comes out: the later change of what is said,
and apart from it the later word on whether it is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from claude_memory.errors import StoreCorrupt
from claude_memory.model import BY_HAND, Status, StoredMemory, Trust

# In this order: what is said of conversations finds their messages there.
MESSAGES, ITEMS = "messages", "items"
STREAMS = (MESSAGES, ITEMS)
_TRUST = (Trust.IMPORTED, Trust.TOOL, Trust.AGENT, Trust.USER)
# Made from messages alone: every home that has the messages makes them itself.
DERIVED = ("exchange", "session")
_MARKS = ("pinned", "status", "topics", "kind", "supersedes", "superseded_by")


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """What changed in a home after a number of one of its streams, oldest first; `through` is the last one.

    Records are plain JSON values. One whose number did not go on is the end.
    """

    stream: str
    through: int
    records: Sequence[Mapping[str, Any]] = ()

    def document(self) -> dict[str, Any]:
        """The batch as plain JSON values."""
        return {"stream": self.stream, "through": self.through, "records": list(self.records)}


def batch_from(document: Any) -> FeedBatch:
    """The batch that a document describes; StoreCorrupt if it does not describe one."""
    try:
        stream, through, told = document["stream"], int(document["through"]), document["records"]
        if stream not in STREAMS or through < 0 or not all(isinstance(item, dict) for item in told):
            raise ValueError(stream)
    except (KeyError, TypeError, ValueError):
        raise StoreCorrupt("what came is no batch of changes") from None
    return FeedBatch(stream, through, tuple(told))


@dataclass(frozen=True, slots=True)
class Sender:
    """The home that a batch is from. One that was never paired is `foreign`: it adds, and changes nothing."""

    replica: str = ""  # the very copy, whose numbers count on; empty if it is not seen again
    person: str = ""
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """What a batch changed here."""

    messages: int = 0
    added: int = 0
    changed: int = 0
    erased: int = 0  # tombstones
    other: int = 0  # projects, reminders, refusals
    passed_over: int = field(default=0, compare=False)

    def __add__(self, more: Taken) -> Taken:
        return Taken(*(getattr(self, name) + getattr(more, name) for name in self.__slots__))

    @property
    def anything(self) -> bool:
        """Whether anything is different now."""
        return self != Taken()


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A memory with when and where it became so, and when and where it was last hidden or shown."""

    memory: StoredMemory
    clock: int
    home: str
    hidden_clock: int = 0
    hidden_home: str = ""

    @property
    def said(self) -> tuple[int, str]:
        """What orders versions by what they say."""
        return self.clock, self.home

    @property
    def hiding(self) -> tuple[int, str, bool]:
        """What orders versions by whether they are hidden; of two that nobody can tell apart, hidden wins."""
        return self.hidden_clock, self.hidden_home, self.is_hidden

    @property
    def is_hidden(self) -> bool:
        return self.memory.status is Status.FORGOTTEN


def merged(mine: MemoryVersion, theirs: MemoryVersion, *, makes_own: bool) -> MemoryVersion:
    """The one version that two become. `makes_own`: this home has the messages that it is made from."""
    # Of the same change mine stays: what was erased from it stays away.
    later, hiding = max(mine, theirs, key=lambda one: one.said), max(mine, theirs, key=lambda one: one.hiding)
    memory = later.memory
    if makes_own and later is theirs and is_derived(mine.memory) and is_derived(theirs.memory):
        memory = _with_marks(mine.memory, theirs.memory)
    if mine.memory.body == theirs.memory.body:
        memory = replace(memory, trust=max(mine.memory.trust, theirs.memory.trust, key=_TRUST.index))
    memory = replace(
        memory,
        provenance=_with_places(memory.provenance, mine.memory, theirs.memory),
        updated_at=max(mine.memory.updated_at, theirs.memory.updated_at),
    )
    return MemoryVersion(_shown_as(memory, hiding), *later.said, hiding.hidden_clock, hiding.hidden_home)


def is_derived(memory: StoredMemory) -> bool:
    """Whether it says what messages say, in nobody's own words."""
    return memory.provenance.get("source") in DERIVED and not memory.provenance.get(BY_HAND)


def is_touched(memory: StoredMemory) -> bool:
    """Whether somebody did something to what was derived."""
    return memory.pinned or memory.status is not Status.ACTIVE or not is_derived(memory)


def _with_marks(mine: StoredMemory, theirs: StoredMemory) -> StoredMemory:
    return replace(mine, **{name: getattr(theirs, name) for name in _MARKS})


def _with_places(origin: Mapping[str, Any], *told: StoredMemory) -> Mapping[str, Any]:
    """One statement is one memory, however many places say it: those of both."""
    listed = [place for memory in told for place in memory.provenance.get("places", ())]
    if not listed:
        return origin
    by_name = {str(place.get("conversation")): place for place in listed if isinstance(place, dict)}
    return {**origin, "places": [by_name[name] for name in sorted(by_name)]}


def _shown_as(memory: StoredMemory, hiding: MemoryVersion) -> StoredMemory:
    if hiding.is_hidden:
        return replace(memory, status=Status.FORGOTTEN, forgotten_at=hiding.memory.forgotten_at)
    if memory.status is Status.FORGOTTEN:
        shown = Status.SUPERSEDED if memory.superseded_by else Status.ACTIVE
        return replace(memory, status=shown, forgotten_at=None)
    return replace(memory, forgotten_at=None)
