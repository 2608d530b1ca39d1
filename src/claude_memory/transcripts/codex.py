"""Codex's rollouts: `{timestamp, type, payload}` a line; older ones hold the bare items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from claude_memory.transcripts.lines import document as parsed
from claude_memory.transcripts.model import Chain, Role, Turn, joined_text, mapping_of, moment_of, text_of
from claude_memory.transcripts.plain import PlainReader

_PREAMBLE = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<environment_context>|<user_instructions>|<permissions instructions>"
    r"|<collaboration_mode>|<turn_aborted>|<INSTRUCTIONS>|<skill>)"
)
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


class CodexReader(PlainReader):
    """One rollout. Each turn is also named by all that went before it, so that forks meet their origin."""

    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one line."""
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

    def _item(self, item: Mapping[str, Any], at: Any) -> Iterator[Turn]:
        kind = item.get("type")
        if kind == "message":
            role = {"user": Role.USER, "assistant": Role.ASSISTANT}.get(text_of(item, "role"))
            text = joined_text(item.get("content"))
            if role and text.strip() and not _PREAMBLE.match(text):
                yield self.turn(role, text, at)
        elif kind in _CALLS:
            given = item.get("arguments") or item.get("input") or item.get("action")
            yield self.call(text_of(item, "name") or str(kind), text_of(item, "call_id"), _given(given), at)
        elif kind in _OUTPUTS:
            text, failed = _output(item.get("output"))
            yield self.result(text_of(item, "call_id"), text, at, failed=failed)

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
    found = parsed(arguments.encode("utf-8", "replace")) if isinstance(arguments, str) else arguments
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
    found = parsed(output.encode("utf-8", "replace")) if _is_object(output) else output
    if isinstance(found, Mapping):
        code = mapping_of(found, "metadata").get("exit_code")
        text = joined_text(found.get("output")) or joined_text(found.get("content"))
        return text, found.get("success") is False or (isinstance(code, int) and code != 0)
    text = joined_text(output)
    code_line = re.search(r"^(?:Process exited with code|Exit code:?) (\d+)$", text[:400], re.MULTILINE)
    return text, code_line is not None and code_line.group(1) != "0"


def _is_object(output: Any) -> bool:
    return isinstance(output, str) and output.startswith('{"')
