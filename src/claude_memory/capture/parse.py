"""From a hook's raw bytes to an event: read, redact, withhold, bound, name.

Knows the shapes of agents' hook inputs and nothing of stores or files. Redaction comes first:
nothing else here sees a secret. Whatever cannot be read is `Unreadable`, with a reason that quotes
none of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from claude_memory.capture.withhold import withhold
from claude_memory.hook.claude_memory_hook import DEFAULT_AGENT
from claude_memory.model import Event, EventId, EventKind, ProjectId, SessionId
from claude_memory.platform.agents import AGENTS, canonical
from claude_memory.redact import redact_document
from claude_memory.settings import Settings
from claude_memory.transcripts.model import text_of

MAX_BYTES = 64 << 20  # what a hook may be handed is a tenth of this
MAX_DEPTH = 100
MAX_ITEMS = 2000  # of one list or object; a listing's head and tail tell what it was
SLOT_SECONDS = 60  # things without an id of their own are the same within a minute

# A hook's name in small letters: the kind, the agent's own id for it, and the text that tells several reports
# under one id apart.
_EVENTS = {
    "sessionstart": (EventKind.SESSION_START, "", ""),
    "userpromptsubmit": (EventKind.PROMPT, "prompt_id", ""),
    "pretooluse": (EventKind.TOOL_CALL, "tool_use_id", ""),
    "posttooluse": (EventKind.TOOL_USE, "tool_use_id", ""),
    "posttoolusefailure": (EventKind.TOOL_FAILURE, "tool_use_id", ""),
    "stop": (EventKind.REPLY, "prompt_id", "last_assistant_message"),
    "subagentstart": (EventKind.SUBAGENT_START, "agent_id", "prompt_id"),
    "subagentstop": (EventKind.SUBAGENT_RESULT, "agent_id", "last_assistant_message"),
    "precompact": (EventKind.COMPACTION_START, "prompt_id", "trigger"),
    "postcompact": (EventKind.COMPACTION, "prompt_id", "compact_summary"),
    "sessionend": (EventKind.SESSION_END, "", ""),
    "instructionsloaded": (EventKind.INSTRUCTIONS, "", ""),
    "injection": (EventKind.INJECTION, "", ""),
}
_OWN = {kind: keys for kind, *keys in _EVENTS.values()}
_SESSION_KINDS = (EventKind.SESSION_START, EventKind.SESSION_END, EventKind.INSTRUCTIONS)
_SESSION_KEYS = ("session_id", "source", "reason", "file_path", "load_reason")
_VOLATILE = ("transcript_path", "agent_transcript_path", "permission_mode", "duration_ms")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INJECTED = re.compile(r"<claude-memory(?P<tag>[\w-]*)[^>]*>.*?</claude-memory(?P=tag)>", re.DOTALL)


class Unreadable(ValueError):
    """The bytes are no event; the message says why without quoting them."""


def parse(
    raw: bytes,
    name: str,
    agent: str,
    moment: datetime,
    settings: Settings,
    project_of: Callable[[str], ProjectId],
    exclude_of: Callable[[str], Sequence[str]] = lambda _: (),
) -> Event | None:
    """The event, or None for what an agent reports of its own internals.

    `name`, `agent` and `moment` are what the name of the spooled file says.
    `exclude_of` gives what the project of a folder excludes beside the person's own settings.
    """
    heard = read(raw)
    payload = familiar(heard)
    kind = event_kind(text_of(payload, "hook_event_name") or name)
    if kind is EventKind.OTHER and agent != DEFAULT_AGENT:
        kind = event_kind(name)  # another agent's name; the registration says which of ours it is
    if kind is EventKind.SUBAGENT_RESULT and payload.get("agent_type") == "":
        return None  # a compaction's own workers; their transcript does not exist
    cwd = text_of(payload, "cwd")
    payload = withhold(payload, (*settings.exclude, *exclude_of(cwd)))
    # The agent it was registered for, unless it speaks like another.
    speaking = (known.name for known in AGENTS if any(name in heard for name in known.speaks))
    session = text_of(payload, "session_id")
    return Event(
        id=identity(kind, payload, moment),
        kind=kind,
        agent=next(speaking, canonical(agent)),
        session=SessionId(session) if session else None,
        project=project_of(cwd),
        cwd=cwd,
        timestamp=moment,
        payload=bound_document(payload, settings.event_max_kb * 1024),
    )


def event_kind(name: str) -> EventKind:
    """What an agent's name for an event means; what is unknown is kept as `other`."""
    return _EVENTS[name.lower()][0] if name.lower() in _EVENTS else EventKind.OTHER


def event_id(kind: EventKind, *, own_id: str = "", content: str = "", moment: datetime) -> EventId:
    """The id of an event, the same from a hook and from a transcript: `<kind>:<32 hex digits>`.

    The digits are a BLAKE2b hash of the agent's own id and, where one id can report several times (`_EVENTS`
    has both), of the text, without the white space around it, after redaction, before bounding. Without an
    own id, of session, content and minute: two sessions may be asked the same at the same time. A session
    never counts where there is an own id, because forks rename it. Of a compaction's start the minute counts,
    of other kinds of events the whole payload and the minute.
    """
    parts = (own_id, content) if own_id else ("", content, _slot(moment))
    seed = "\0".join((kind, *parts)).encode("utf-8", "replace")
    return EventId(f"{kind}:{hashlib.blake2b(seed, digest_size=16).hexdigest()}")


def read(raw: bytes) -> dict[str, Any]:
    """The redacted JSON object in the bytes, fit for any store."""
    if not raw.strip():
        raise Unreadable("empty: the agent handed nothing to the hook")
    if len(raw) > MAX_BYTES:
        raise Unreadable(f"too large: {len(raw):,} bytes, at most {MAX_BYTES:,} are read")
    try:
        document = json.loads(raw.decode("utf-8-sig", "replace"), parse_constant=lambda _: None)
        if not isinstance(document, dict):
            raise Unreadable(f"not a JSON object but a {type(document).__name__}")
        redacted: dict[str, Any] = redact_document(_storable(document, 0))
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except json.JSONDecodeError as fault:
        raise Unreadable(f"not JSON: {fault.msg} at character {fault.pos}") from None
    except ValueError:
        raise Unreadable("a number is too long") from None
    return redacted


def _storable(value: Any, depth: int) -> Any:
    """Lone surrogates and endless numbers have no place in UTF-8 or JSON; our own context comes out."""
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, str):
        text = _SURROGATE.sub("\ufffd", value)
        return _INJECTED.sub("", text) if "<claude-memory" in text else text
    if isinstance(value, dict):
        return {_storable(key, depth + 1): _storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item, depth + 1) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def identity(kind: EventKind, payload: Mapping[str, Any], moment: datetime) -> EventId:
    """The id of an event from its payload, which may come from a hook or be drawn up from a transcript."""
    own_key, text_key = _OWN.get(kind, ("", ""))
    own, content = text_of(payload, own_key), ""
    if own:
        content = text_of(payload, text_key).strip()
        if kind is EventKind.COMPACTION_START:
            content += f" {_slot(moment)}"
    elif kind in _SESSION_KINDS:
        content = _canonical([text_of(payload, key) for key in _SESSION_KEYS])
    else:
        content = _canonical({key: item for key, item in payload.items() if key not in _VOLATILE})
    return event_id(kind, own_id=own, content=content, moment=moment)


def _slot(moment: datetime) -> str:
    return str(int(moment.timestamp()) // SLOT_SECONDS)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


_NAMES = {
    "conversation_id": "session_id",
    "sessionId": "session_id",
    "generation_id": "prompt_id",
    "hookEventName": "hook_event_name",
    "transcriptPath": "transcript_path",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_response",
    "tool_output": "tool_response",
    "toolCallId": "tool_use_id",
    "toolUseId": "tool_use_id",
    "prompt_response": "last_assistant_message",
    "lastAssistantMessage": "last_assistant_message",
    "subagent_type": "agent_type",
    "error_message": "error",
}


def familiar(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with the names that Claude Code gives its fields; what it has already stays."""
    known = dict(payload)
    for theirs, ours in _NAMES.items():
        if theirs in known and ours not in known:
            known[ours] = known.pop(theirs)
    roots = known.get("workspace_roots")
    if not known.get("cwd") and isinstance(roots, list) and roots and isinstance(roots[0], str):
        known["cwd"] = roots[0]
    if isinstance(text := known.get("tool_input"), str):
        known["tool_input"] = {"text": text}
        with contextlib.suppress(ValueError, RecursionError):
            if isinstance(value := json.loads(text), dict):  # it came as a text of JSON
                known["tool_input"] = value
    return known


_TEXTS = 8  # an event may hold about this many texts of full length
_LEAST = 512


def bound_text(text: str, limit: int) -> str:
    """The text, or its head (two thirds) and tail around a line that says how much is left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out …]\n{text[len(text) - tail :]}"


def bound_document(value: Any, limit: int) -> Any:
    """A JSON value with every text within `limit`, and all of them together within eight times that."""
    bounded = _bounded(value, limit)
    share = limit
    while share > _LEAST and _characters(bounded) > _TEXTS * limit:
        share //= 2
        bounded = _bounded(value, share)
    return bounded


def _bounded(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return bound_text(value, limit)
    if isinstance(value, list):
        if len(value) > MAX_ITEMS:
            half = MAX_ITEMS // 2
            value = [*value[:half], f"[… {len(value) - 2 * half:,} items left out …]", *value[-half:]]
        return [_bounded(item, limit) for item in value]
    if isinstance(value, dict):
        members = islice(value.items(), MAX_ITEMS)
        return {bound_text(key, limit): _bounded(item, limit) for key, item in members}
    return value


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_characters, value))
    if isinstance(value, dict):
        return sum(len(key) + _characters(item) for key, item in value.items())
    return 8
