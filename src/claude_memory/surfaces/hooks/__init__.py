"""The hooks' answering half: context for the events that want it.

The hook program has spooled the event before it comes here. Words only, unless a running server
of this store answers instead; nothing here may block, write the store, or import numpy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.context.builder import Context
from claude_memory.context.session_state import SessionState
from claude_memory.model import SessionId

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder
    from claude_memory.memory import Memory

MAX_QUESTION_CHARACTERS = 4_000
EDITING_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
AGENT_TOOLS = ("Agent", "Task")


@dataclass(frozen=True, slots=True)
class Moment:
    """One hook call: its event, what the agent said of it, and the memory it is asked of."""

    event: str
    payload: Mapping[str, Any]
    memory: Memory
    now: datetime
    embedder: Embedder | None = None

    @property
    def session(self) -> str:
        return self.text("session_id")

    @property
    def state(self) -> SessionState:
        return SessionState(self.memory.home, self.session)

    def text(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    def tool_input(self, name: str) -> str:
        inputs = self.payload.get("tool_input")
        value = inputs.get(name) if isinstance(inputs, dict) else None
        return value if isinstance(value, str) else ""


def respond(event: str, raw: bytes, home: Path, *, embedder: Embedder | None = None) -> bytes:
    """What to print for an event: a JSON document with context, or nothing. A server lends its embedder."""
    handler = _HANDLERS.get(event)
    payload = json.loads(raw) if handler else None
    if handler is None or not isinstance(payload, dict):
        return b""
    from claude_memory.memory import Memory

    cwd = payload.get("cwd")
    folder = cwd if isinstance(cwd, str) and os.path.isdir(cwd) else None  # noqa: PTH112
    with Memory.open(home, folder) as memory:
        moment = Moment(event, payload, memory, datetime.now(UTC), embedder)
        context = handler(moment)
        if context is None or not context.text:
            return b""
        _account(moment, context)
    return _answer(event, context.text)


def _answer(event: str, text: str) -> bytes:
    document = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return json.dumps(document, ensure_ascii=True).encode("ascii")


def _account(moment: Moment, context: Context) -> None:
    """Note what was given, for the ledger and so that it is not given again."""
    from claude_memory.spool import Spool

    record = {
        "hook_event_name": "Injection",
        "session_id": moment.session,
        "cwd": moment.text("cwd"),
        "given_at": moment.event,
        "tokens": context.tokens,
        "memories": list(context.memories),
        "sections": list(context.sections),
    }
    try:
        Spool(moment.memory.home).put("Injection", json.dumps(record).encode())
        moment.state.give(list(context.memories))
    except OSError:  # a full or read-only disk: the context is worth more than its record
        return


def _session_start(moment: Moment) -> Context | None:
    from claude_memory.surfaces.hooks.start import start_context

    return start_context(moment)


def _prompt(moment: Moment) -> Context | None:
    question = moment.text("prompt")[:MAX_QUESTION_CHARACTERS]
    if question.lstrip().startswith("/") or len(question.split()) < 2:
        return None
    return _relevant(moment, question)


def _tool(moment: Moment) -> Context | None:
    tool = moment.text("tool_name")
    if tool in AGENT_TOOLS:
        moment.state.expect_agent(moment.text("tool_use_id"), moment.tool_input("prompt"))
        return None
    path = moment.tool_input("file_path") or moment.tool_input("notebook_path")
    if tool not in EDITING_TOOLS or not path or not moment.state.first_touch(path):
        return None
    from claude_memory.context.moments import for_file

    memory = moment.memory
    return for_file(memory.store, memory.project, memory.project_root, path, given=moment.state.given())


def _subagent(moment: Moment) -> Context | None:
    from claude_memory.surfaces.hooks.subagent import subagent_context

    return subagent_context(moment) if moment.text("agent_type") else None


def _relevant(moment: Moment, question: str) -> Context:
    from claude_memory.context.moments import for_question
    from claude_memory.recall.relevance import INJECTION_THRESHOLD

    memory = moment.memory
    return for_question(
        memory.store,
        moment.embedder,
        memory.project,
        question,
        session=SessionId(moment.session) if moment.session else None,
        given=moment.state.given(),
        now=moment.now,
        min_relevance=INJECTION_THRESHOLD,
    )


_HANDLERS: dict[str, Callable[[Moment], Context | None]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _tool,
    "SubagentStart": _subagent,
}
