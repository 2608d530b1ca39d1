"""Gemini CLI's chats: one document, or a line per record with `$set` and `$rewindTo` among them.

A record is written again when it grows; what is known of it is told by its id and text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claude_memory.transcripts.model import Role, SourceFile, Turn, joined_text, list_of, mapping_of, text_of
from claude_memory.transcripts.plain import Reader

_ROLES = {"user": Role.USER, "gemini": Role.ASSISTANT, "model": Role.ASSISTANT}
_CANCELLED = "Request cancelled."
_REFERENCED = "--- Content from referenced files ---"
_FAILED = ("error", "cancelled")


class GeminiReader(Reader):
    """One chat."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.cwd = self.cwd or folder_of(source.path)

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one record, or of a whole chat."""
        self.session = text_of(document, "sessionId") or self.session
        if "$rewindTo" in document:
            target = document["$rewindTo"]
            yield self.turn(Role.NOTE, "rewound", own=f"rewind:{self.session}:{target}")
            return
        changed = mapping_of(document, "$set")
        self.session = text_of(changed, "sessionId") or self.session
        records = [document] if "type" in document else []
        for record in (*records, *list_of(document, "messages"), *list_of(changed, "messages")):
            if isinstance(record, Mapping):
                yield from self._record(record)

    def _record(self, record: Mapping[str, Any]) -> Iterator[Turn]:
        role = _ROLES.get(text_of(record, "type"))
        if role is None:
            self.stopped = self.stopped or joined_text(record.get("content")) == _CANCELLED
            return
        id_, at = text_of(record, "id"), record.get("timestamp")
        own = f"message:{id_}" if id_ else ""
        if role is Role.USER:
            yield from self.prompt(_typed(record), at, own=own)
        elif (text := joined_text(record.get("content"))).strip():
            yield self.turn(role, text, at, own=own)
        for call in list_of(record, "toolCalls"):
            if isinstance(call, Mapping):
                yield from self._tool(call, at)

    def _tool(self, call: Mapping[str, Any], at: Any) -> Iterator[Turn]:
        id_, name = text_of(call, "id"), text_of(call, "name")
        at, failed = call.get("timestamp") or at, call.get("status") in _FAILED
        yield from self.tool(name, id_, call.get("args"), _response(call), at, failed=failed)


def _typed(record: Mapping[str, Any]) -> Iterator[str]:
    """What the person typed; files that the text refers to are put behind it."""
    content = record.get("displayContent") or record.get("content")
    for block in content if isinstance(content, list) else [content]:
        text = joined_text([block])
        if text.strip() == _REFERENCED:
            return
        yield text.partition(f"\n{_REFERENCED}\n")[0]


def _response(call: Mapping[str, Any]) -> str:
    parts = []
    result = call.get("result")
    for part in result if isinstance(result, list) else [result]:
        if isinstance(part, Mapping):
            response = mapping_of(mapping_of(part, "functionResponse"), "response")
            parts.append(text_of(response, "output") or text_of(response, "error") or text_of(part, "text"))
        elif isinstance(part, str):
            parts.append(part)
    return "\n".join(filter(None, parts)) or text_of(call, "resultDisplay")


def folder_of(path: Path) -> str:
    """The project's folder, which newer versions note beside the chats; else the folder's own name."""
    project = next((folder.parent for folder in path.parents if folder.name == "chats"), None)
    if project is None:
        return ""
    try:
        named = (project / ".project_root").read_text("utf-8").strip()
    except (OSError, ValueError):
        named = ""
    return named or project.name
