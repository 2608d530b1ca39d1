"""OpenCode's conversations: messages made of parts, from its database or its older tree of files.

`documents` finds the pieces; here each comes as `{session, message, part}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from claude_memory.transcripts.model import Role, Turn, mapping_of, text_of
from claude_memory.transcripts.plain import PlainReader


class OpenCodeReader(PlainReader):
    """All sessions of a database, or one of the tree."""

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one part."""
        session, message = mapping_of(document, "session"), mapping_of(document, "message")
        part = mapping_of(document, "part")
        self.session = text_of(session, "id") or self.session
        self.cwd = text_of(session, "directory") or text_of(mapping_of(message, "path"), "cwd") or self.cwd
        self.parent = text_of(session, "parentID")
        at = mapping_of(part, "time").get("start") or mapping_of(message, "time").get("created")
        own = text_of(part, "id")
        if part.get("type") == "text":
            person = message.get("role") == "user"
            text = text_of(part, "text")
            if text.strip() and part.get("synthetic") is not True:
                role = (Role.TASK if self.parent else Role.USER) if person else Role.ASSISTANT
                if not person and message.get("summary") is True:
                    role = Role.SUMMARY  # what a compaction left
                yield self.turn(role, text, at, own=f"part:{own}" if own else "")
        elif part.get("type") == "compaction":
            yield self.turn(Role.NOTE, "compacted", at, own=f"part:{own}" if own else "")
        elif part.get("type") == "tool":
            yield from self._tool(part, at)

    def _tool(self, part: Mapping[str, Any], at: Any) -> Iterator[Turn]:
        id_, name = text_of(part, "callID"), text_of(part, "tool")
        state = mapping_of(part, "state")
        yield self.call(name, id_, state.get("input"), at)
        failed = state.get("status") == "error"
        text = text_of(state, "error") if failed else text_of(state, "output")
        if text:
            yield self.result(id_, text, at, failed=failed, tool=name)
