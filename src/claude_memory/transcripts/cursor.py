"""Cursor's agent transcripts: a role and blocks a line, no ids and no times.

Each turn is named by all that went before it; the file's own time stands for the missing ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from claude_memory.transcripts.factory import block_turns
from claude_memory.transcripts.model import SourceFile, Turn
from claude_memory.transcripts.plain import PlainReader

_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)


class CursorReader(PlainReader):
    """One transcript."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.cwd = self.cwd or folder_of(source.path)

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one line."""
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
