"""Sessions whose messages hold blocks as the Messages API has them: Factory's and Cursor's.

Factory begins with a `session_start` line. Cursor has a role and blocks a line, no ids and no times: a turn
is named by all that went before it, and the file's own time stands for the missing ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from claude_memory.transcripts.model import (
    Role,
    SourceFile,
    Turn,
    blocks_of,
    joined_text,
    mapping_of,
    text_of,
)
from claude_memory.transcripts.plain import Reader


class FactoryReader(Reader):
    """One session."""

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        if document.get("type") == "session_start":
            self.session = text_of(document, "id") or self.session
            self.cwd = text_of(document, "cwd") or self.cwd
        elif document.get("type") == "message":
            yield from block_turns(self, document)


def block_turns(reader: Reader, document: Mapping[str, Any]) -> Iterator[Turn]:
    """The turns of a message whose content is blocks: text, tool_use, tool_result."""
    message = mapping_of(document, "message")
    at, id_ = document.get("timestamp"), text_of(document, "id")
    person = (text_of(message, "role") or text_of(document, "role")) == "user"
    own = f"message:{id_}" if id_ else ""

    def said(texts: list[str]) -> Iterator[Turn]:
        if person:
            yield from reader.prompt(texts, at, own=own)
        elif texts:
            yield reader.turn(Role.ASSISTANT, "\n".join(texts), at, own=own)

    spoken: list[str] = []
    for block in blocks_of(message.get("content")):
        if block.get("type") in ("tool_use", "tool_result"):
            yield from said(spoken)
            spoken = []
            yield _tool(reader, block, at)
        elif (text := joined_text([block])).strip():
            spoken.append(text)
    yield from said(spoken)


def _tool(reader: Reader, block: Mapping[str, Any], at: Any) -> Turn:
    if block.get("type") == "tool_use":
        return reader.call(text_of(block, "name"), text_of(block, "id"), block.get("input"), at)
    failed = block.get("is_error") is True
    return reader.result(text_of(block, "tool_use_id"), joined_text(block.get("content")), at, failed=failed)


_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)


class CursorReader(Reader):
    """One transcript."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.cwd = self.cwd or folder_of(source.path)

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        yield from block_turns(self, document)

    def prompt(self, texts: Iterable[str], *given: Any, **more: Any) -> Iterator[Turn]:
        """A person's question stands in a tag among what the agent added."""
        texts = list(texts)
        typed = [found[1] for text in texts if (found := _QUERY.search(text))]
        return super().prompt(typed or texts, *given, **more)


def folder_of(path: Path) -> str:
    """The project's folder, from its slug: the path with every separator a dash."""
    parts = path.parts
    if "agent-transcripts" not in parts:
        return ""
    slug = parts[parts.index("agent-transcripts") - 1]
    return _existing(os.sep, slug.split("-")) or slug


def _existing(root: str, words: list[str]) -> str:
    """A folder below `root` whose name reads as the words; dashes may belong to names."""
    for count in range(1, len(words) + 1):
        folder = os.path.join(root, "-".join(words[:count]))  # noqa: PTH118
        if not os.path.isdir(folder):  # noqa: PTH112
            continue
        if count == len(words):
            return folder
        if found := _existing(folder, words[count:]):
            return found
    return ""
