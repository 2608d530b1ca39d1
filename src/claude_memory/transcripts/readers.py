"""The readers of every agent but Claude Code, and which reader reads which agent's conversations.

Codex: `{timestamp, type, payload}` a line; older ones hold the bare items. Copilot CLI: one event a line,
`{type, data, id, timestamp}`. Gemini CLI: one document, or a line per record, which is written again when it
grows. OpenCode: messages made of parts, each as `{session, message, part}`. Factory and Cursor: messages of
blocks as the Messages API has them; Cursor's have no ids and no times.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from claude_memory.transcripts.claude import ClaudeReader
from claude_memory.transcripts.model import (
    Reader,
    Role,
    SourceFile,
    Turn,
    blocks_of,
    joined_text,
    list_of,
    mapping_of,
    moment_of,
    text_of,
)
from claude_memory.transcripts.sources import json_object
from claude_memory.understand.speaker import Speaker, of_texts

# --- Codex

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_PICTURE = re.compile(r"\s*</?image\b[^>]*>\s*")


class CodexReader(Reader):
    """One rollout. Each turn is also named by all that went before it, so that forks meet their origin."""

    _asked: int | None = None  # prompts since the agent began to work; None while it does not

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        payload = mapping_of(document, "payload")
        kind, at = document.get("type"), document.get("timestamp")
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self.cwd = text_of(payload, "cwd") or self.cwd
        elif kind == "compacted":
            text, before = text_of(payload, "message").strip(), self.chain
            yield self.turn(Role.SUMMARY if text else Role.NOTE, text or "compacted", at)
            if not text:  # such a line was passed over once: what follows keeps its name
                self.chain = before
        elif kind == "response_item":
            yield from self._item(payload, at)
        elif kind == "event_msg":
            # Between the first prompt of a task and its end the agent works: what is typed then was queued.
            if (event := text_of(payload, "type")) == "task_started":
                self._asked = 0
            elif event in ("task_complete", "turn_aborted"):
                self._asked = None
                self.stopped = self.stopped or event == "turn_aborted"
        elif not payload and "id" in document and "instructions" in document:
            self._meta(document)
        elif not payload:
            yield from self._item(document, at)

    def _meta(self, meta: Mapping[str, Any]) -> None:
        if self.chain:  # a fork carries its origin's line too; the first one is its own
            return
        self.session = text_of(meta, "id") or self.session
        self.cwd = text_of(meta, "cwd") or self.cwd
        self.branch = text_of(mapping_of(meta, "git"), "branch") or self.branch
        self.chain = text_of(meta, "forked_from_id") or self.session
        spawned = mapping_of(mapping_of(meta, "source"), "subagent")
        if spawned or text_of(meta, "thread_source") == "subagent":
            self.parent = text_of(mapping_of(spawned, "thread_spawn"), "parent_thread_id") or "codex"

    def _item(self, item: Mapping[str, Any], at: Any) -> Iterator[Turn]:
        kind, role, content = str(item.get("type")), item.get("role"), item.get("content")
        if kind in _CALLS:
            given = item.get("arguments") or item.get("input") or item.get("action")
            yield self.call(text_of(item, "name") or kind, text_of(item, "call_id"), _given(given), at)
        elif kind in _OUTPUTS:
            text, failed = _output(item.get("output"))
            yield self.result(text_of(item, "call_id"), text, at, failed=failed)
        elif kind == "message" and role == "assistant":
            if (text := joined_text(content)).strip():
                yield self.turn(Role.ASSISTANT, text, at)
        elif kind == "message" and role == "user":
            blocks = content if isinstance(content, list) else [content]
            texts = [text for block in blocks if not _PICTURE.fullmatch(text := joined_text([block]))]
            said = of_texts(texts)
            if said is None or said.speaker is not Speaker.PERSON:
                return  # its preambles are no conversation
            yield from self.prompt(texts, at, queued=bool(self._asked))
            self._asked = None if self._asked is None else self._asked + 1

    def turn(self, role: Role, text: str, at: Any = None, *, own: str = "", **more: Any) -> Turn:
        """One turn; a fork writes its origin's turns at another time, so time is no part of its name."""
        made = super().turn(role, text, None, own=own, **more)
        self._at = moment_of(at) or self._at
        return replace(made, at=self._at)


def _given(arguments: Any) -> Any:
    """A call's input; a command given as a list of words becomes a line."""
    found = json_object(arguments.encode("utf-8", "replace")) if isinstance(arguments, str) else arguments
    if not isinstance(found, Mapping):
        return arguments
    command = found.get("command", found.get("cmd"))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        command = words[2] if len(words) > 2 and words[1] in ("-lc", "-c") else " ".join(words)
    if not isinstance(command, str):
        return found
    return {**{key: value for key, value in found.items() if key != "cmd"}, "command": command}


def _output(output: Any) -> tuple[str, bool]:
    """A tool's answer and whether it failed; older versions wrap it in JSON."""
    wrapped = isinstance(output, str) and output.startswith('{"')
    found = json_object(output.encode("utf-8", "replace")) if wrapped else output
    if isinstance(found, Mapping):
        code = mapping_of(found, "metadata").get("exit_code")
        text = joined_text(found.get("output")) or joined_text(found.get("content"))
        return text, found.get("success") is False or (isinstance(code, int) and code != 0)
    text = joined_text(output)
    code_line = re.search(r"^(?:Process exited with code|Exit code:?) (\d+)$", text[:400], re.MULTILINE)
    return text, code_line is not None and code_line.group(1) != "0"


# --- Copilot CLI


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

_REFERENCED = "--- Content from referenced files ---"


class GeminiReader(Reader):
    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        project = next((folder.parent for folder in source.path.parents if folder.name == "chats"), None)
        if project is not None and not self.cwd:
            self.cwd = project.name
            with suppress(OSError, ValueError):  # newer versions note the folder beside the chats
                self.cwd = (project / ".project_root").read_text("utf-8").strip() or project.name

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
        kind, at, own = text_of(record, "type"), record.get("timestamp"), _own("message", record)
        text = joined_text(record.get("content"))
        if kind not in ("user", "gemini", "model"):
            self.stopped = self.stopped or text == "Request cancelled."
            return
        if kind == "user":
            yield from self.prompt(_typed(record), at, own=own)
        elif text.strip():
            yield self.turn(Role.ASSISTANT, text, at, own=own)
        for call in blocks_of(list_of(record, "toolCalls")):
            failed, moment = call.get("status") in ("error", "cancelled"), call.get("timestamp") or at
            answers = []
            for part in blocks_of(list_of(call, "result")):
                response = mapping_of(mapping_of(part, "functionResponse"), "response")
                answers += [
                    text_of(response, "output") or text_of(response, "error") or text_of(part, "text")
                ]
            answer = "\n".join(filter(None, answers)) or text_of(call, "resultDisplay")
            named = text_of(call, "name"), text_of(call, "id")
            yield from self.tool(*named, call.get("args"), answer, moment, failed=failed)


def _typed(record: Mapping[str, Any]) -> Iterator[str]:
    """What the person typed; files that the text refers to are put behind it."""
    content = record.get("displayContent") or record.get("content")
    for block in content if isinstance(content, list) else [content]:
        text = joined_text([block])
        if text.strip() == _REFERENCED:
            return
        yield text.partition(f"\n{_REFERENCED}\n")[0]


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
        parts = source.path.parts
        if "agent-transcripts" in parts and not self.cwd:
            # The folder stands before, as a slug: the path with every separator a dash.
            slug = parts[parts.index("agent-transcripts") - 1]
            self.cwd = _existing(Path(os.sep), slug.split("-")) or slug

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        yield from self.blocks(document)

    def prompt(self, texts: Iterable[str], *given: Any, **more: Any) -> Iterator[Turn]:
        """A person's question stands in a tag among what the agent added."""
        texts = list(texts)
        typed = [found[1] for text in texts if (found := _QUERY.search(text))]
        return super().prompt(typed or texts, *given, **more)


def _existing(root: Path, words: list[str]) -> str:
    """A folder below `root` whose name reads as the words; dashes may belong to names."""
    if not words:
        return str(root)
    names = ("-".join(words[:count]) for count in range(1, len(words) + 1))
    found = (_existing(root / name, words[name.count("-") + 1 :]) for name in names if (root / name).is_dir())
    return next(filter(None, found), "")


READERS: Mapping[str, type[Reader]] = {
    "claude-code": ClaudeReader,
    "codex": CodexReader,
    "gemini-cli": GeminiReader,
    "opencode": OpenCodeReader,
    "factory": FactoryReader,
    "cursor": CursorReader,
    "copilot-cli": CopilotReader,
}
