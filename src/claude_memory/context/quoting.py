"""Text from memories made safe to stand in an agent's context.

Only a person's own words are handed on plainly. Everything else is quoted as data. From either,
what could pass for markup or hide from a reader is taken out.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from claude_memory.model import StoredMemory, Trust

if TYPE_CHECKING:
    from claude_memory.lifecycle.intentions import Due

# Anything shaped like a tag: a model may take `<system-reminder>` for a voice it must obey.
_TAG = re.compile(r"</?[A-Za-z!?][^<>]{0,200}>")
# What is left of one, or made by taking one out of another's middle: it keeps its shape, not its meaning.
_OPENING = re.compile(r"<(?=[A-Za-z/!?])")
_SPACE = re.compile(r"\s+")
_READ_CHARACTERS = 4_000  # a memory may be huge; its line never is
_KEPT_CONTROLS = "\n\t"
DUE_HEADING = "Noted earlier for this moment (when done: `claude-memory intend complete ID`):"


def plain(text: str) -> str:
    """The text in one line, without tags, control, zero-width, bidirectional and unassigned characters."""
    if text.isascii() and text.isprintable():
        return _untagged(text)
    visible = "".join(
        character
        for character in text
        if character in _KEPT_CONTROLS
        or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    return _untagged(visible)


def _untagged(text: str) -> str:
    return _SPACE.sub(" ", _OPENING.sub("‹", _TAG.sub("", text))).strip()


def clipped(text: str, characters: int) -> str:
    """At most so many characters, cut at a word, with an ellipsis where something is missing."""
    if len(text) <= characters:
        return text
    head = text[: characters - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[characters // 2 :] else head).rstrip(" ,;:") + "…"


def line_for(memory: StoredMemory, *, characters: int = 320) -> str:
    """One line for a memory: kind, day, what it says; quoted unless a person said it."""
    said = _closed(clipped(plain(_statement(memory)), characters))
    shown = said if memory.trust is Trust.USER else f"“{said}”, from {_SOURCES[memory.trust]}"
    stale = memory.provenance.get("stale")
    doubt = f" (possibly out of date: {clipped(plain(str(stale)), 120)})" if stale else ""
    return f"- {memory.kind}, {memory.created_at:%Y-%m-%d}: {shown}{doubt} [{memory.id}]"


def _closed(text: str) -> str:
    """With the end of a quotation that was cut: what follows is ours again."""
    return text + "”" if text.count("“") > text.count("”") else text


def intention_line(due: Due) -> str:
    """One line for an intention whose time has come."""
    said = clipped(plain(due.intention.text), 320)
    urgent = "important, " if due.intention.priority == "high" else ""
    return f"- “{said}” ({urgent}{clipped(plain(due.reason), 120)}) [{due.intention.id}]"


def _statement(memory: StoredMemory) -> str:
    title = memory.title.rstrip("…").strip()
    body = memory.body[:_READ_CHARACTERS]
    if not title or plain(body).startswith(plain(title)):
        return body
    return f"{memory.title}. {body}"


_SOURCES = {
    Trust.AGENT: "an earlier agent reply",
    Trust.TOOL: "a tool's output",
    Trust.IMPORTED: "an imported file",
}
