"""The readers of the smaller formats, and which reader reads which agent's conversations.

Copilot CLI: one event a line, `{type, data, id, timestamp}`. Gemini CLI: one document, or a line per record,
which is written again when it grows. OpenCode: messages made of parts, each as `{session, message, part}`.
Factory and Cursor: messages of blocks as the Messages API has them; Cursor's have no ids and no times.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from claude_memory.transcripts.claude import ClaudeReader
from claude_memory.transcripts.codex import CodexReader
from claude_memory.transcripts.model import (
    Reader,
    Role,
    SourceFile,
    Turn,
    blocks_of,
    joined_text,
    list_of,
    mapping_of,
    text_of,
)


class CopilotReader(Reader):
    """One session. What hooks, permissions and the program's own notices say is no conversation."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        if self.session == "events":  # newer versions give each session a folder
            self.session = source.path.parent.name

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        kind, data = text_of(document, "type"), mapping_of(document, "data")
        at, own = document.get("timestamp"), _own("event", document)
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
            answer = joined_text(mapping_of(data, "result").get("content"))
            text = answer or text_of(mapping_of(data, "error"), "message")
            yield self.result(text_of(data, "toolCallId"), text, at, failed=data.get("success") is False)
        elif kind == "session.compaction_complete":
            summary = text_of(data, "summaryContent").strip()
            yield self.turn(Role.SUMMARY if summary else Role.NOTE, summary or "compacted", at, own=own)
        elif kind == "abort":
            self.stopped = True


def _own(kind: str, document: Mapping[str, Any]) -> str:
    """A turn's name by the agent's own id, if it has one."""
    id_ = text_of(document, "id")
    return f"{kind}:{id_}" if id_ else ""


# --- Gemini CLI

_ROLES = {"user": Role.USER, "gemini": Role.ASSISTANT, "model": Role.ASSISTANT}
_REFERENCED = "--- Content from referenced files ---"


class GeminiReader(Reader):
    """One chat."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.cwd = self.cwd or _noted_folder(source.path)

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one record, or of a whole chat."""
        self.session = text_of(document, "sessionId") or self.session
        if "$rewindTo" in document:
            yield self.turn(Role.NOTE, "rewound", own=f"rewind:{self.session}:{document['$rewindTo']}")
            return
        changed = mapping_of(document, "$set")
        self.session = text_of(changed, "sessionId") or self.session
        records = [document] if "type" in document else []
        for record in (*records, *list_of(document, "messages"), *list_of(changed, "messages")):
            if isinstance(record, Mapping):
                yield from self._record(record)

    def _record(self, record: Mapping[str, Any]) -> Iterator[Turn]:
        role = _ROLES.get(text_of(record, "type"))
        text, at, own = joined_text(record.get("content")), record.get("timestamp"), _own("message", record)
        if role is None:
            self.stopped = self.stopped or text == "Request cancelled."
            return
        if role is Role.USER:
            yield from self.prompt(_typed(record), at, own=own)
        elif text.strip():
            yield self.turn(role, text, at, own=own)
        for call in blocks_of(list_of(record, "toolCalls")):
            id_, name, failed = text_of(call, "id"), text_of(call, "name"), call.get("status")
            moment, answer = call.get("timestamp") or at, _response(call)
            cut = failed in ("error", "cancelled")
            yield from self.tool(name, id_, call.get("args"), answer, moment, failed=cut)


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


def _noted_folder(path: Path) -> str:
    """The project's folder, which newer versions note beside the chats; else the folder's own name."""
    project = next((folder.parent for folder in path.parents if folder.name == "chats"), None)
    if project is None:
        return ""
    try:
        return (project / ".project_root").read_text("utf-8").strip() or project.name
    except (OSError, ValueError):
        return project.name


# --- OpenCode


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
        if part.get("type") == "text":
            text = text_of(part, "text")
            if not text.strip() or part.get("synthetic") is True:
                return
            if message.get("role") == "user":
                yield from self.prompt([text], at, own=_own("part", part))
            else:  # what a compaction left is marked as a summary
                role = Role.SUMMARY if message.get("summary") is True else Role.ASSISTANT
                yield self.turn(role, text, at, own=_own("part", part))
        elif part.get("type") == "compaction":
            yield self.turn(Role.NOTE, "compacted", at, own=_own("part", part))
        elif part.get("type") == "tool":
            state = mapping_of(part, "state")
            at = mapping_of(state, "time").get("start") or at  # the message's time is before its other parts
            failed = state.get("status") == "error"
            answer, id_ = text_of(state, "error" if failed else "output"), text_of(part, "callID")
            yield from self.tool(text_of(part, "tool"), id_, state.get("input"), answer, at, failed=failed)


# --- Factory and Cursor


class FactoryReader(Reader):
    """One session; it begins with a `session_start` line."""

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        if document.get("type") == "session_start":
            self.session = text_of(document, "id") or self.session
            self.cwd = text_of(document, "cwd") or self.cwd
        elif document.get("type") == "message":
            yield from self.blocks(document)

    def blocks(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of a message whose content is blocks: text, tool_use, tool_result."""
        message = mapping_of(document, "message")
        at, own = document.get("timestamp"), _own("message", document)
        person = (text_of(message, "role") or text_of(document, "role")) == "user"
        spoken: list[str] = []

        def said() -> Iterator[Turn]:
            if person:
                yield from self.prompt(spoken, at, own=own)
            elif spoken:
                yield self.turn(Role.ASSISTANT, "\n".join(spoken), at, own=own)
            spoken.clear()

        for block in blocks_of(message.get("content")):
            if block.get("type") == "tool_use":
                yield from said()
                yield self.call(text_of(block, "name"), text_of(block, "id"), block.get("input"), at)
            elif block.get("type") == "tool_result":
                yield from said()
                text, failed = joined_text(block.get("content")), block.get("is_error") is True
                yield self.result(text_of(block, "tool_use_id"), text, at, failed=failed)
            elif (text := joined_text([block])).strip():
                spoken.append(text)
        yield from said()


_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)


class CursorReader(FactoryReader):
    """One transcript. A turn is named by all that went before it, and the file's own time stands for its."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.cwd = self.cwd or _slug_folder(source.path)

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        yield from self.blocks(document)

    def prompt(self, texts: Iterable[str], *given: Any, **more: Any) -> Iterator[Turn]:
        """A person's question stands in a tag among what the agent added."""
        texts = list(texts)
        typed = [found[1] for text in texts if (found := _QUERY.search(text))]
        return super().prompt(typed or texts, *given, **more)


def _slug_folder(path: Path) -> str:
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


READERS: Mapping[str, type[Reader]] = {
    "claude-code": ClaudeReader,
    "codex": CodexReader,
    "gemini-cli": GeminiReader,
    "opencode": OpenCodeReader,
    "factory": FactoryReader,
    "cursor": CursorReader,
    "copilot-cli": CopilotReader,
}
