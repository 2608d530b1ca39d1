"""From a hook's event to the messages of the same conversation that its transcript would give.

The event is redacted, withheld and bounded already. A hook's report and a transcript's line of the same
thing share a key, so that the archive keeps it once, whichever comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from claude_memory.capture.parse import bound_text
from claude_memory.capture.prepare import CALL_CHARACTERS, RESULT_CHARACTERS, keys, packed_text
from claude_memory.model import Event, EventKind, SessionId
from claude_memory.store.archive_model import NewMessage
from claude_memory.transcripts.model import Role, text_of
from claude_memory.understand.speaker import Manner, Speaker, Verdict, of_hook, of_result
from claude_memory.understand.tools import rendered

_ID_CHARACTERS = 200
_RESPONSES = ("stdout", "stderr", "output", "content", "text", "result")


def messages_of(event: Event, branch: str = "") -> list[NewMessage]:
    """What an event says, as messages; most kinds of events say nothing."""
    return [message for message in _messages(event, branch) if message.text.strip()]


def _messages(event: Event, branch: str) -> Iterator[NewMessage]:
    payload = event.payload
    if event.kind is EventKind.PROMPT:
        verdict = of_hook({**payload, "hook_event_name": "UserPromptSubmit"})
        yield _message(
            event, branch, Role.USER, verdict.words, verdict, _named("prompt", payload, "prompt_id")
        )
    elif event.kind in (EventKind.REPLY, EventKind.SUBAGENT_RESULT):
        text = text_of(payload, "last_assistant_message")
        yield _message(event, branch, Role.ASSISTANT, text, Verdict(Speaker.AGENT, Manner.CLOSING, text))
    elif event.kind is EventKind.COMPACTION:
        text = text_of(payload, "compact_summary")
        yield _message(event, branch, Role.SUMMARY, text, Verdict(Speaker.AGENT, Manner.CONTINUATION, text))
    elif event.kind in (EventKind.TOOL_USE, EventKind.TOOL_FAILURE):
        yield from _tool_use(event, branch)


def _tool_use(event: Event, branch: str) -> Iterator[NewMessage]:
    payload = event.payload
    given = payload.get("tool_input")
    call = bound_text(rendered(given if isinstance(given, Mapping) else {}), CALL_CHARACTERS)
    verdict = Verdict(Speaker.AGENT, Manner.CALL, call)
    yield _message(
        event, branch, Role.CALL, call or " ", verdict, _named("call", payload, "tool_use_id"), is_event=False
    )
    failed = event.kind is EventKind.TOOL_FAILURE
    text = text_of(payload, "error") if failed else response_text(payload.get("tool_response"))
    verdict = of_result(text_of(payload, "tool_name"), text, {**payload, "is_error": failed})
    yield _message(
        event,
        branch,
        Role.RESULT,
        bound_text(verdict.words or text or "(no output)", RESULT_CHARACTERS),
        verdict,
        _named("result", payload, "tool_use_id"),
        is_event=failed,
    )


def _message(
    event: Event,
    branch: str,
    role: Role,
    text: str,
    verdict: Verdict,
    anchors: tuple[str, ...] = (),
    *,
    is_event: bool = True,
) -> NewMessage:
    payload = event.payload
    sub_agent = text_of(payload, "agent_id")
    session = f"agent-{sub_agent}" if sub_agent else session_of(event)
    return NewMessage(
        session=SessionId(session[:_ID_CHARACTERS]),
        agent=event.agent,
        role=role.value,
        at=event.timestamp,
        text=text,
        # Without an id of the agent's own, the event is what the message is known by.
        keys=keys(event.agent, anchors or (f"event:{event.id}:{role}",), text, event.id if is_event else ""),
        cwd=event.cwd,
        branch=branch[:_ID_CHARACTERS],
        tool=text_of(payload, "tool_name")[:_ID_CHARACTERS] if role in (Role.CALL, Role.RESULT) else "",
        call=text_of(payload, "tool_use_id")[:_ID_CHARACTERS] if role in (Role.CALL, Role.RESULT) else "",
        failed=role is Role.RESULT and event.kind is EventKind.TOOL_FAILURE,
        parent=session_of(event)[:_ID_CHARACTERS] if sub_agent else "",
        speaker=verdict.speaker.value,
        manner=verdict.manner.value,
        packed=packed_text(text),
        event=event if is_event else None,
    )


def session_of(event: Event) -> str:
    """The conversation an event belongs to; what names none is one conversation a day and project."""
    return str(event.session or f"unnamed-{event.project}-{event.timestamp:%Y-%m-%d}")


def _named(name: str, payload: Mapping[str, Any], key: str) -> tuple[str, ...]:
    own = text_of(payload, key)
    return (f"{name}:{own}",) if own else ()


def response_text(value: Any) -> str:
    """What a tool answered, whatever shape its report has."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        parts = [response_text(value[key]) for key in _RESPONSES if value.get(key)]
        return "\n".join(part for part in parts if part)
    if isinstance(value, list):
        return "\n".join(filter(None, map(response_text, value)))
    return ""
