"""Codex's rollouts: `{timestamp, type, payload}` a line; older ones hold the bare items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from claude_memory.transcripts.model import (
    Chain,
    Reader,
    Role,
    Turn,
    joined_text,
    mapping_of,
    moment_of,
    text_of,
)
from claude_memory.transcripts.sources import json_object
from claude_memory.understand.speaker import Speaker, of_texts

_PICTURE = re.compile(r"\s*</?image\b[^>]*>\s*")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


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
            yield self._compacted(text_of(payload, "message").strip(), at)
        elif kind == "response_item":
            yield from self._item(payload, at)
        elif kind == "event_msg":
            self._event(text_of(payload, "type"))
        elif not payload and "id" in document and "instructions" in document:
            self._meta(document)
        elif not payload:
            yield from self._item(document, at)

    def _meta(self, meta: Mapping[str, Any]) -> None:
        if self.chain.name:  # a fork carries its origin's line too; the first one is its own
            return
        self.session = text_of(meta, "id") or self.session
        self.cwd = text_of(meta, "cwd") or self.cwd
        self.branch = text_of(mapping_of(meta, "git"), "branch") or self.branch
        self.chain = Chain(text_of(meta, "forked_from_id") or self.session)
        spawned = mapping_of(mapping_of(meta, "source"), "subagent")
        if spawned or text_of(meta, "thread_source") == "subagent":
            self.parent = text_of(mapping_of(spawned, "thread_spawn"), "parent_thread_id") or "codex"

    def _event(self, kind: str) -> None:
        """Between the first prompt of a task and its end the agent works: what is typed then was queued."""
        if kind == "task_started":
            self._asked = 0
        elif kind in ("task_complete", "turn_aborted"):
            self._asked = None
            self.stopped = self.stopped or kind == "turn_aborted"

    def _item(self, item: Mapping[str, Any], at: Any) -> Iterator[Turn]:
        kind = item.get("type")
        if kind == "message":
            yield from self._message(item, at)
        elif kind in _CALLS:
            given = item.get("arguments") or item.get("input") or item.get("action")
            yield self.call(text_of(item, "name") or str(kind), text_of(item, "call_id"), _given(given), at)
        elif kind in _OUTPUTS:
            text, failed = _output(item.get("output"))
            yield self.result(text_of(item, "call_id"), text, at, failed=failed)

    def _message(self, item: Mapping[str, Any], at: Any) -> Iterator[Turn]:
        content = item.get("content")
        if item.get("role") == "assistant":
            if (text := joined_text(content)).strip():
                yield self.turn(Role.ASSISTANT, text, at)
        elif item.get("role") == "user":
            blocks = content if isinstance(content, list) else [content]
            texts = [text for block in blocks if not _PICTURE.fullmatch(text := joined_text([block]))]
            said = of_texts(texts)
            if said is None or said.speaker is not Speaker.PERSON:
                return  # its preambles are no conversation
            yield from self.prompt(texts, at, queued=bool(self._asked))
            self._asked = None if self._asked is None else self._asked + 1

    def _compacted(self, text: str, at: Any) -> Turn:
        """What a compaction left; where that is not for reading, only that it took place."""
        if text:
            return self.turn(Role.SUMMARY, text, at)
        before = self.chain.name
        made = self.turn(Role.NOTE, "compacted", at)
        self.chain.name = before  # such a line was passed over once: what follows keeps its name
        return made

    def turn(self, role: Role, text: str, at: Any = None, *, own: str = "", **more: Any) -> Turn:
        """One turn; a fork writes its origin's turns at another time, so time is no part of its name."""
        made = super().turn(role, text, None, own=own, **more)
        self._at = moment_of(at) or self._at
        return replace(made, at=self._at)


def _given(arguments: Any) -> Any:
    """A call's input; a command given as a list of words becomes a line."""
    found = json_object(arguments.encode("utf-8", "replace")) if isinstance(arguments, str) else arguments
    if found is None:
        return arguments
    command = found.get("command") if isinstance(found, Mapping) else None
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        shell = len(words) > 2 and words[1] in ("-lc", "-c")
        return {**found, "command": words[2] if shell else " ".join(words)}
    if isinstance(found, Mapping) and isinstance(found.get("cmd"), str):
        return {**{key: value for key, value in found.items() if key != "cmd"}, "command": found["cmd"]}
    return found


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
