"""Copilot CLI's sessions: one event a line, `{type, data, id, timestamp}`.

What hooks, permissions and the program's own notices say is no conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from claude_memory.transcripts.model import Role, SourceFile, Turn, joined_text, mapping_of, text_of
from claude_memory.transcripts.plain import Reader


class CopilotReader(Reader):
    """One session."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        if self.session == "events":  # newer versions give each session a folder
            self.session = source.path.parent.name

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        kind, data = text_of(document, "type"), mapping_of(document, "data")
        at, id_ = document.get("timestamp"), text_of(document, "id")
        own = f"event:{id_}" if id_ else ""
        if kind in ("session.start", "session.resume"):
            place = mapping_of(data, "context")
            self.session = text_of(data, "sessionId") or self.session
            self.cwd = text_of(place, "cwd") or self.cwd
            self.branch = text_of(place, "branch") or self.branch
        elif kind == "user.message":
            yield from self.prompt([text_of(data, "content")], at, own=own, facts=data)
        elif kind == "assistant.message":
            if (text := text_of(data, "content")).strip():
                yield self.turn(Role.ASSISTANT, text, at, own=own)
        elif kind == "tool.execution_start":
            yield self.call(text_of(data, "toolName"), text_of(data, "toolCallId"), data.get("arguments"), at)
        elif kind == "tool.execution_complete":
            yield self._completed(data, at)
        elif kind == "session.compaction_complete":
            summary = text_of(data, "summaryContent").strip()
            yield self.turn(Role.SUMMARY if summary else Role.NOTE, summary or "compacted", at, own=own)
        elif kind == "abort":
            self.stopped = True

    def _completed(self, data: Mapping[str, Any], at: Any) -> Turn:
        result, error = mapping_of(data, "result"), mapping_of(data, "error")
        text = joined_text(result.get("content")) or text_of(error, "message")
        return self.result(text_of(data, "toolCallId"), text, at, failed=data.get("success") is False)
