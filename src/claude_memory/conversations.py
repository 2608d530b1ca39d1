"""Looking up archived conversations as a person names them: by the beginning of an id, by a range."""

from __future__ import annotations

import re

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.model import SearchScope
from claude_memory.store.archive_protocol import Archive, Conversation

_RANGE = re.compile(r"(?P<first>\d+)?(?P<dash>-)?(?P<last>\d+)?")
EVERYWHERE = SearchScope(None)


def find(archive: Archive, id_: str) -> Conversation:
    """The one conversation whose id begins so."""
    prefix = id_.strip()
    found = archive.conversations(EVERYWHERE, prefix=prefix, limit=20) if prefix else []
    if not found:
        raise NotFound(f"no conversation {id_!r}; `claude-memory import` reads what agents keep")
    exact = [item for item in found if item.session == prefix]
    if len(found) > 1 and len(exact) != 1:
        names = ", ".join(item.session for item in found[:4])
        raise InvalidInput(f"{id_!r} could be {names}: give more of the id")
    return exact[0] if exact else found[0]


def split_range(named: str) -> tuple[str, int, int | None]:
    """`ID`, `ID:7`, `ID:5-9`, `ID:5-`, `ID:-9`: the id, the first and the last message wanted."""
    id_, colon, text = named.rpartition(":")
    if not colon:
        return named, 1, None
    match = _RANGE.fullmatch(text)
    if not id_ or match is None or not text or text == "-":
        raise InvalidInput(f"cannot read the range {text!r}: try ID:7, ID:5-9, ID:5- or ID:-9")
    first, last = match["first"], match["last"]
    if not match["dash"]:
        return id_, int(first), int(first)
    return id_, int(first or 1), int(last) if last else None
