"""Claude Code's transcripts: one JSON object a line, conversation among much bookkeeping.

Knows the format only. Lines that agents' hooks added (our own context among them) are no conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_memory.transcripts.model import (
    Chain,
    Role,
    SourceFile,
    Turn,
    joined_text,
    mapping_of,
    moment_of,
    text_of,
)

AGENT = "claude-code"
# Bookkeeping repeats prompts and dominates the size. These lines begin with their type, so most of a
# file is passed over without being parsed.
_TYPE_FIRST = re.compile(rb'\{\s?"type"\s?:\s?"(?!user"|assistant"|system"|attachment")')
_ATTACHMENT = re.compile(  # only plain members may stand before it: what is quoted never matches
    rb'\{(?:\s?"\w+"\s?:\s?(?:"[^"\\]*"|null|true|false)\s?,)*'
    rb'\s?"attachment"\s?:\s?\{\s?"type"\s?:\s?"(?!queued_command")'
)
_SPILLED = re.compile(r"[/\\]tool-results[/\\]([\w.-]{1,128})")
_SPILLED_CHARACTERS = 200_000
_SUMMARY_HEAD = re.compile(r"^This session is being continued from a previous conversation.*?\n\n", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_SUMMARY_TAIL = re.compile(
    r"\n+(?:If you need specific details|Please continue the conv|Continue the conversation from where).*$",
    re.DOTALL,
)
_REFUSED = ("The user doesn't want to proceed", "[Request interrupted", "The user doesn't want to take this")


def is_bookkeeping(raw: bytes) -> bool:
    """Whether a line is certainly no conversation, told from its first bytes."""
    return _TYPE_FIRST.match(raw) is not None or _ATTACHMENT.match(raw) is not None


class ClaudeReader:
    """One transcript, of a session or of a sub-agent."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self._folder = source.path.parent
        self._name = source.path.stem
        self._prompt = text_of(state, "prompt")
        self._first = text_of(state, "first")
        self._at = moment_of(state.get("at")) or datetime.fromtimestamp(source.modified_ns / 1e9, UTC)
        self._chain = Chain(text_of(state, "chain"))
        self._held: Turn | None = None
        self._going_on = False

    @property
    def settled(self) -> bool:
        """Whether nothing is held back."""
        return self._held is None

    def state(self) -> dict[str, Any]:
        """The prompt that is being answered, and the last time seen."""
        known = {"prompt": self._prompt, "first": self._first, "chain": self._chain.name}
        return {**known, "at": self._at.isoformat()}

    def feed(self, document: Mapping[str, Any]) -> list[Turn]:
        """The turns of one line; an assistant's text waits until it is known whether it is the last."""
        kind = document.get("type")
        if kind == "user":
            found = self._user(document)
        elif kind == "assistant":
            found = self._assistant(document)
        elif kind == "system":
            found = self._system(document)
        elif kind == "attachment":
            found = self._attachment(document)
        else:
            return []
        return [turn for new in found for turn in self._settle(new)]

    def finish(self) -> list[Turn]:
        """At the end of the file the last text is the reply, unless the agent was about to use a tool."""
        held, self._held = self._held, None
        return [held if self._going_on else replace(held, final=True)] if held else []

    def _settle(self, turn: Turn) -> Iterator[Turn]:
        if self._held is not None:
            answered = turn.role in (Role.USER, Role.TASK, Role.SUMMARY, Role.NOTE)
            yield replace(self._held, final=True) if answered else self._held
            self._held = None
        if turn.role is Role.ASSISTANT and not turn.failed:
            self._held = turn
        else:
            yield turn

    def _user(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        if line.get("isMeta") is True:
            return
        prompt = text_of(line, "promptId")
        message = mapping_of(line, "message")
        content = message.get("content")
        if line.get("isCompactSummary") is True:
            self._prompt = prompt or self._prompt
            yield self._turn(line, Role.SUMMARY, summary_text(joined_text(content)), prompt)
            return
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        spoken = []
        for block in blocks:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_result":
                yield self._result(line, block, prompt)
            elif (text := joined_text([block])) and not text.startswith("<system-reminder>"):
                spoken.append(text)
        if any(text.strip() for text in spoken):
            yield self._spoken(line, "\n".join(spoken), prompt)

    def _spoken(self, line: Mapping[str, Any], text: str, prompt: str) -> Turn:
        self._prompt = prompt
        if text_of(line, "agentId") or line.get("isSidechain") is True:
            return self._turn(line, Role.TASK, text, prompt)
        # Several texts may stand under one prompt id; the first is what its hook reported.
        known = bool(prompt) and self._first == prompt
        self._first = prompt
        anchors = (f"prompt:{prompt}",) if prompt else ()
        return self._turn(line, Role.USER, text, "" if known else prompt, anchors=anchors)

    def _result(self, line: Mapping[str, Any], block: Mapping[str, Any], prompt: str) -> Turn:
        call = text_of(block, "tool_use_id")
        text = joined_text(block.get("content"))
        failed = block.get("is_error") is True
        return self._turn(
            line,
            Role.RESULT,
            self._unspilled(line, text),
            prompt,
            anchors=(f"result:{call}",) if call else (),
            call=call,
            failed=failed,
            interrupted=failed and text.startswith(_REFUSED),
        )

    def _assistant(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        message = mapping_of(line, "message")
        id_ = text_of(message, "id")
        broken = line.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>"
        self._going_on = message.get("stop_reason") == "tool_use"
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                yield self._call(line, block)
            elif block.get("type") == "text" and (text := text_of(block, "text")).strip():
                turn = self._turn(
                    line, Role.ASSISTANT, text, self._prompt, anchors=(f"message:{id_}",) if id_ else ()
                )
                yield replace(turn, failed=broken) if broken else turn

    def _call(self, line: Mapping[str, Any], block: Mapping[str, Any]) -> Turn:
        call = text_of(block, "id")
        return self._turn(
            line,
            Role.CALL,
            "",
            self._prompt,
            anchors=(f"call:{call}",) if call else (),
            tool=text_of(block, "name"),
            call=call,
            given=mapping_of(block, "input"),
        )

    def _system(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        if line.get("subtype") == "compact_boundary":
            facts = mapping_of(line, "compactMetadata")
            trigger = text_of(facts, "trigger")
            yield self._turn(line, Role.NOTE, f"compacted ({trigger})" if trigger else "compacted", "")

    def _attachment(self, line: Mapping[str, Any]) -> Iterator[Turn]:
        """A prompt that a person typed while the agent worked; every other attachment is machinery."""
        attachment = mapping_of(line, "attachment")
        if attachment.get("type") == "queued_command":
            text = joined_text(attachment.get("prompt"))
            if text.strip() and not text.lstrip().startswith("<"):
                yield self._spoken(line, text, text_of(line, "promptId"))

    def _turn(
        self,
        line: Mapping[str, Any],
        role: Role,
        text: str,
        prompt: str,
        *,
        anchors: tuple[str, ...] = (),
        tool: str = "",
        call: str = "",
        given: Mapping[str, Any] | None = None,
        failed: bool = False,
        interrupted: bool = False,
    ) -> Turn:
        stamp = text_of(line, "timestamp")
        self._at = moment_of(stamp) or self._at
        session = text_of(line, "sessionId") or self._name
        subagent = text_of(line, "agentId")
        uuid = text_of(line, "uuid")
        # One line may hold several blocks: its uuid names the line, the text the block.
        if uuid:
            anchors = (f"uuid:{uuid}", *anchors)
        cwd = text_of(line, "cwd")
        anchors = (*anchors, f"after:{self._chain.grow(stamp, cwd, role, text)}")
        return Turn(
            session=f"agent-{subagent}" if subagent else session,
            role=role,
            text=text,
            at=self._at,
            cwd=cwd,
            branch=text_of(line, "gitBranch"),
            anchors=anchors,
            tool=tool,
            call=call,
            given=given or {},
            failed=failed,
            interrupted=interrupted,
            prompt=prompt,
            subagent=subagent,
            parent=session if subagent else "",
        )

    def _unspilled(self, line: Mapping[str, Any], text: str) -> str:
        """A large output lies in a file of its own; the line holds its beginning and the file's name."""
        found = _SPILLED.search(text) if len(text) < 8_000 else None
        if found is None:
            return text
        for folder in (self._folder / text_of(line, "sessionId"), self._folder.parent, self._folder):
            if whole := _head(folder / "tool-results" / found.group(1)):
                return whole
        return text


def summary_text(text: str) -> str:
    """A compaction's summary without the sentences that the agent puts around it."""
    body = _REMINDER.sub("", _SUMMARY_HEAD.sub("", text, count=1))
    return _SUMMARY_TAIL.sub("", body).strip() or text.strip()


def _head(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            return handle.read(_SPILLED_CHARACTERS).decode("utf-8", "replace")
    except OSError:
        return ""
