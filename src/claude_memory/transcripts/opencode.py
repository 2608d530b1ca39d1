"""OpenCode's conversations: messages made of parts, from its database or its older tree of files.

`documents` finds the pieces; here each comes as `{session, message, part}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from claude_memory.transcripts.model import Role, Turn, blocks_of, list_of, mapping_of, text_of
from claude_memory.transcripts.plain import Reader


class OpenCodeReader(Reader):
    """All sessions of a database, or one of the tree."""

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one part, or of a session that was exported as one document."""
        if "messages" in document:
            for entry in blocks_of(list_of(document, "messages")):
                for piece in blocks_of(list_of(entry, "parts")):
                    known = {"session": document.get("info"), "message": entry.get("info"), "part": piece}
                    yield from self.turns(known)
            return
        session, message = mapping_of(document, "session"), mapping_of(document, "message")
        part = mapping_of(document, "part")
        self.session = text_of(session, "id") or self.session
        self.cwd = text_of(session, "directory") or text_of(mapping_of(message, "path"), "cwd") or self.cwd
        self.parent = text_of(session, "parentID")
        at = mapping_of(part, "time").get("start") or mapping_of(message, "time").get("created")
        own = text_of(part, "id")
        if part.get("type") == "text":
            text, own = text_of(part, "text"), f"part:{own}" if own else ""
            if not text.strip() or part.get("synthetic") is True:
                return
            if message.get("role") == "user":
                yield from self.prompt([text], at, own=own)
            else:  # what a compaction left is marked as a summary
                role = Role.SUMMARY if message.get("summary") is True else Role.ASSISTANT
                yield self.turn(role, text, at, own=own)
        elif part.get("type") == "compaction":
            yield self.turn(Role.NOTE, "compacted", at, own=f"part:{own}" if own else "")
        elif part.get("type") == "tool":
            yield from self._tool(part, at)

    def _tool(self, part: Mapping[str, Any], at: Any) -> Iterator[Turn]:
        id_, name = text_of(part, "callID"), text_of(part, "tool")
        state = mapping_of(part, "state")
        at = mapping_of(state, "time").get("start") or at  # the message's time is before its other parts
        failed = state.get("status") == "error"
        text = text_of(state, "error" if failed else "output")
        yield from self.tool(name, id_, state.get("input"), text, at, failed=failed)
