"""Factory's sessions: a `session_start` line, then messages with blocks as the Messages API has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from claude_memory.transcripts.model import Role, Turn, joined_text, mapping_of, text_of
from claude_memory.transcripts.plain import PlainReader


class FactoryReader(PlainReader):
    """One session."""

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one line."""
        if document.get("type") == "session_start":
            self.session = text_of(document, "id") or self.session
            self.cwd = text_of(document, "cwd") or self.cwd
        elif document.get("type") == "message":
            yield from block_turns(self, document)


def block_turns(reader: PlainReader, document: Mapping[str, Any]) -> Iterator[Turn]:
    """The turns of a message whose content is blocks: text, tool_use, tool_result."""
    message = mapping_of(document, "message")
    at, id_ = document.get("timestamp"), text_of(document, "id")
    person = (text_of(message, "role") or text_of(document, "role")) == "user"
    own = f"message:{id_}" if id_ else ""
    content = message.get("content")

    def said(texts: list[str]) -> Iterator[Turn]:
        if person:
            yield from reader.prompt(texts, at, own=own)
        elif texts:
            yield reader.turn(Role.ASSISTANT, "\n".join(texts), at, own=own)

    spoken: list[str] = []
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if not isinstance(block, Mapping):
            continue
        if block.get("type") in ("tool_use", "tool_result"):
            yield from said(spoken)
            spoken = []
            yield _tool(reader, block, at)
        elif (text := joined_text([block])).strip():
            spoken.append(text)
    yield from said(spoken)


def _tool(reader: PlainReader, block: Mapping[str, Any], at: Any) -> Turn:
    if block.get("type") == "tool_use":
        return reader.call(text_of(block, "name"), text_of(block, "id"), block.get("input"), at)
    failed = block.get("is_error") is True
    return reader.result(text_of(block, "tool_use_id"), joined_text(block.get("content")), at, failed=failed)
