"""Hints: the lines that are given at a moment inside a session, and what they are made of.

Hooks load this at every answer, so it imports next to nothing. Only a person's own words are handed on
plainly; everything else is quoted as data.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from claude_memory.text.quotation import MARK_TOKENS, clipped, plain, quoted, tokens

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from claude_memory.store.sqlite.glance import Seen

QUOTED_CHARACTERS = 260
ASKED_CHARACTERS = 110
_CLAIMING = re.compile(r"\w::\w|`[\w.-]+\s*[=:]")


class Hint:
    """One line: what it says, the memory it is from, why it is given, what would show that it was used."""

    __slots__ = ("command", "file", "memory", "reason", "text")

    def __init__(self, text: str, memory: str, reason: str, *, file: str = "", command: str = "") -> None:
        self.text, self.memory, self.reason = text, memory, reason
        self.file, self.command = file, command

    def record(self) -> dict[str, str]:
        """As the ledger keeps it."""
        parts = {"id": self.memory, "reason": self.reason, "file": self.file, "command": self.command}
        return {name: value for name, value in parts.items() if value}


def fitted(heading: str, hints: Iterable[Hint], max_tokens: int) -> list[Hint]:
    """As many of the hints, in their order, as the budget holds."""
    left = max_tokens - MARK_TOKENS - tokens(heading) - 1
    kept = []
    for hint in hints:
        cost = tokens(hint.text) + 1
        if cost <= left:
            kept.append(hint)
            left -= cost
    return kept


def doubted(hint: Hint, root: str) -> Hint:
    """The hint with a mark before its id if the working tree says otherwise by now."""
    said, bracket, id_ = hint.text.rpartition(" [")
    hint.text = f"{said}{doubt(said, root)}{bracket}{id_}"
    return hint


def rendered(heading: str, hints: Sequence[Hint]) -> str:
    """The hints under their heading; empty without any."""
    return "\n".join([heading, *(hint.text for hint in hints)]) if hints else ""


def doubt(text: str, root: str) -> str:
    """A mark for what a text says of a file and no longer holds; few texts have the form of such a claim."""
    if not _CLAIMING.search(text):
        return ""
    from pathlib import Path

    from claude_memory.lifecycle.staleness import checked

    found = checked(text, Path(root))
    return f" (possibly out of date: {quoted(found, 120)})" if found else ""


def day(microseconds: int) -> str:
    """The day of a moment of the store: `12 Jan`, with the year where that is not the present one."""
    moment = datetime.fromtimestamp(microseconds / 1e6, UTC)
    year = "" if moment.year == datetime.now(UTC).year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year}"


def of_memory(seen: Seen, characters: int = QUOTED_CHARACTERS) -> str:
    """What a statement says: a person's words as they are, others quoted."""
    body = (
        seen.body
        if plain(seen.body).startswith(plain(seen.title.rstrip("…")))
        else f"{seen.title}. {seen.body}"
    )
    if seen.trust == "user":
        said = clipped(plain(body[:4_000]), characters)
        return said + "”" if said.count("“") > said.count("”") else said
    return quoted(body[:4_000], characters)


def refusals(record: dict[str, Any]) -> list[str]:
    """What the person said when they refused a step of an exchange."""
    return [str(spoken["words"]) for spoken in record.get("asked", ()) if spoken.get("manner") == "rejection"]
