"""Looking up archived conversations as a person names them: by the beginning of an id, by a range."""

from __future__ import annotations

import re

from claude_memory.errors import InvalidInput
from claude_memory.model import SearchScope, SessionId
from claude_memory.store.archive_protocol import Archive, Conversation
from claude_memory.text.ids import meant

_RANGE = re.compile(r"(?P<first>\d+)?(?P<dash>-)?(?P<last>\d+)?")
EVERYWHERE = SearchScope(None)


def find(archive: Archive, id_: str) -> Conversation:
    """The one conversation whose id begins so."""
    prefix = id_.strip()
    found = archive.conversations(EVERYWHERE, prefix=prefix, limit=20) if prefix else []
    names: list[str] = [item.session for item in found]
    session = meant(id_, names, f"conversation {id_!r}; `claude-memory import` reads what agents keep")
    if names.count(session) > 1:  # two agents may use the same id
        raise InvalidInput(f"{id_!r} could be {', '.join(names[:4])}: give more of the id")
    return found[names.index(session)]


def session_named(archive: Archive, scope: SearchScope, named: str) -> SessionId:
    """The one session in scope whose id begins so, whether its conversation is archived or not."""
    return SessionId(meant(named, archive.session_ids(scope, named.strip()), f"session {named!r} here"))


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
