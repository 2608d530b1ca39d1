"""A session's turns for distilling, from the events that hooks left or from the messages of a conversation.

Pure. Both give a turn the same key, so that what is distilled from either is the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from claude_memory.distil.observe import is_spoken, of_event
from claude_memory.distil.turns import AGENT, CHANGING_TOOLS, PERSON, RUNNING_TOOLS, TOOL, Turn
from claude_memory.model import Event, EventKind, SessionId
from claude_memory.store.archive_protocol import Message
from claude_memory.understand.speaker import Speaker
from claude_memory.understand.tools import given_of as read_back

KINDS = (EventKind.PROMPT, EventKind.REPLY, EventKind.TOOL_USE, EventKind.TOOL_FAILURE)
OUTPUT_CHARACTERS = 12_000
_OWN_ID = 12  # a shorter id of a tool use may come again in another session
_SAID = {EventKind.PROMPT: (PERSON, "prompt"), EventKind.REPLY: (AGENT, "last_assistant_message")}
_RESPONSES = ("stdout", "stderr", "output", "content", "text", "result")


def from_events(events: Iterable[Event]) -> list[Turn]:
    """The turns that events report, in their order."""
    return [turn for event in events if (turn := _from_event(event)) is not None]


def _from_event(event: Event) -> Turn | None:
    ref = {"event": event.id}
    if event.kind in _SAID:
        role, key = _SAID[event.kind]
        text = _text(event.payload, key)
        if role == PERSON:
            said = of_event(event)
            text = said.words if said.speaker is Speaker.PERSON else ""
        if not text.strip():
            return None
        return Turn(role, event.id, event.timestamp, text, ref=ref)
    if event.kind not in (EventKind.TOOL_USE, EventKind.TOOL_FAILURE):
        return None
    if event.payload.get("is_interrupt") is True or event.payload.get("agent_id"):
        return None  # cut short by the person, or a sub-agent's own work
    said = of_event(event)
    if said.speaker is Speaker.PERSON:  # an answer to the agent's question, or why a tool was refused
        return Turn(PERSON, event.id, event.timestamp, said.words, ref=ref)
    given = event.payload.get("tool_input")
    failed = event.kind is EventKind.TOOL_FAILURE
    output = _text(event.payload, "error") if failed else _response(event.payload.get("tool_response"))
    return Turn(
        TOOL,
        _call_key(_text(event.payload, "tool_use_id"), event.session, event.id),
        event.timestamp,
        tool=_text(event.payload, "tool_name"),
        given=given if isinstance(given, Mapping) else {},
        output=output[:OUTPUT_CHARACTERS],
        failed=failed,
        ref=ref,
    )


def from_messages(session: SessionId, messages: Sequence[Message]) -> list[Turn]:
    """The turns of an archived conversation; a call and its result become one."""
    calls = {message.call: message for message in messages if message.role == "call" and message.call}
    return [turn for message in messages for turn in _from_message(session, message, calls)]


def _from_message(session: SessionId, message: Message, calls: Mapping[str, Message]) -> Iterator[Turn]:
    ref: dict[str, Any] = {"conversation": session, "message": message.ordinal}
    if message.event:
        ref["event"] = message.event
    key = message.event or f"{session}:{message.ordinal}"
    if message.role == "user" and is_spoken(message.text):
        yield Turn(PERSON, key, message.at, message.text, ref=ref)
    elif message.role == "assistant":
        yield Turn(AGENT, key, message.at, message.text, ref=ref)
    elif message.role == "result":
        call = calls.get(message.call)
        tool = message.tool or (call.tool if call else "")
        yield Turn(
            TOOL,
            _call_key(message.call, session, key),
            message.at,
            tool=tool,
            given=given_of(tool, call.text) if call else {},
            output=message.text[:OUTPUT_CHARACTERS],
            failed=message.failed,
            ref=ref,
        )


def given_of(tool: str, text: str) -> dict[str, str]:
    """A tool's input back from how the archive keeps it: the command first, everything else by name."""
    if tool.lower() not in CHANGING_TOOLS | RUNNING_TOOLS:
        return {}
    return read_back(text)


def _call_key(call: str, session: SessionId | None, other: str) -> str:
    if not call:
        return other
    return call if len(call) >= _OWN_ID else f"{session}:{call}"


def _response(value: Any) -> str:
    """What a tool answered, whatever shape its report has."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        parts = [_response(value[key]) for key in _RESPONSES if value.get(key)]
        return "\n".join(part for part in parts if part)
    if isinstance(value, list):
        return "\n".join(filter(None, map(_response, value)))
    return ""


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""
