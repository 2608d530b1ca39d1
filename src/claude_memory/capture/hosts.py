"""Other agents' hook inputs in the one shape that the rest knows. Pure; nothing is dropped.

Several agents also run hooks that were registered for another, so the payload itself, not the
registration, tells who speaks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from claude_memory.platform.agents import AGENTS, canonical

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
    if isinstance(known.get("tool_input"), str):
        known["tool_input"] = _opened(known["tool_input"])
    return known


def speaker(payload: Mapping[str, Any], registered: str) -> str:
    """Who sent this: the agent it was registered for, unless it speaks like another."""
    speaking = (agent.name for agent in AGENTS if any(name in payload for name in agent.speaks))
    return next(speaking, canonical(registered))


def _opened(text: str) -> Any:
    """A tool's input that came as a text of JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return value if isinstance(value, dict) else {"text": text}
