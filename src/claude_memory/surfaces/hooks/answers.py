"""Answers to hooks: context for a session's start, a prompt, a sub-agent, the first touch of a file.

The event is in the spool before anybody comes here. Words only, unless a server lends its embedder;
nothing here may block, and no fault may cost more than the context.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.context.session_state import SessionState
from claude_memory.model import SessionId
from claude_memory.text.tokens import Context, marked
from claude_memory.verbs.opened import Opened

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder

MAX_QUESTION_CHARACTERS = 4_000
PATIENCE_MS = 50  # with a writer; all that a hook writes can be written by the next one, too
EDITING_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
AGENT_TOOLS = ("Agent", "Task")


@dataclass(frozen=True, slots=True)
class Moment:
    """One hook call: its event, what the agent said of it, and the memory it is asked of."""

    event: str
    payload: Mapping[str, Any]
    memory: Opened
    now: datetime
    embedder: Embedder | None = None

    @property
    def session(self) -> str:
        return self.text("session_id")

    @property
    def state(self) -> SessionState:
        """What the session was given, and the sub-agents it is about to start."""
        return SessionState(self.memory.home, self.session)

    @property
    def reader(self) -> SessionState:
        """What whoever will read the context was given: the session's own agent, or one of its sub-agents."""
        agent = self.text("agent_id")
        return SessionState(self.memory.home, f"{self.session}-{agent}") if agent else self.state

    def text(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    def tool_input(self, name: str) -> str:
        inputs = self.payload.get("tool_input")
        value = inputs.get(name) if isinstance(inputs, dict) else None
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Context, and the form it takes; by default the client adds it to what the model reads."""

    context: Context
    output: Mapping[str, Any] | None = None


def respond(event: str, raw: bytes, home: Path) -> bytes:
    """What to print for an event: a JSON document with context, or nothing."""
    payload = wanted(event, raw)
    if payload is None:
        return b""
    with Opened.open(home, folder_of(payload), patience_ms=PATIENCE_MS) as memory:
        return answer(Moment(event, payload, memory, datetime.now(UTC)))


def wanted(event: str, raw: bytes) -> Mapping[str, Any] | None:
    """The payload of an event that may be answered."""
    payload = json.loads(raw) if event in _HANDLERS else None
    return payload if isinstance(payload, dict) else None


def folder_of(payload: Mapping[str, Any]) -> str | None:
    """The folder a hook speaks for; the process's own if that one is gone."""
    cwd = payload.get("cwd")
    return cwd if isinstance(cwd, str) and os.path.isdir(cwd) else None  # noqa: PTH112


def answer(moment: Moment, *, in_time: Callable[[], bool] = lambda: True) -> bytes:
    """The answer for one moment; what comes too late is neither given nor accounted for."""
    found = _HANDLERS[moment.event](moment)
    if found is None or not found.context.text or not in_time():
        return b""
    context = marked(found.context)
    _account(moment, context)
    output = found.output or {"additionalContext": context.text}
    document = {"hookSpecificOutput": {"hookEventName": moment.event, **output}}
    return json.dumps(document, ensure_ascii=True).encode("ascii")


def _account(moment: Moment, context: Context) -> None:
    """Note what was given, for the ledger and so that it is not given again."""
    from claude_memory.hook.claude_memory_hook import DEFAULT_AGENT, spool

    record = {
        "hook_event_name": "Injection",
        "session_id": moment.session,
        "cwd": moment.text("cwd"),
        "given_at": moment.event,
        "given_on": moment.now.isoformat(),
        "tokens": context.tokens,
        "memories": list(context.memories),
        "sections": list(context.sections),
    }
    try:
        # Not synced: a crash may cost a line of the ledger, waiting for the disk would cost every prompt.
        spool(str(moment.memory.home), "Injection", DEFAULT_AGENT, [json.dumps(record).encode()], sync=False)
        if moment.text("tool_name") not in AGENT_TOOLS:  # else a sub-agent that has no name yet reads it
            moment.reader.give(list(context.memories))
    except OSError:  # a full or read-only disk: the context is worth more than its record
        return


def _session_start(moment: Moment) -> Answer:
    from claude_memory.surfaces.hooks.start import start_context

    return Answer(start_context(moment))


def _prompt(moment: Moment) -> Answer | None:
    from claude_memory.context.moments import for_question, intentions_due, joined
    from claude_memory.surfaces.hooks import write_ahead

    write_ahead.note(moment)  # first: what was settled must outlive whatever comes after

    question = moment.text("prompt")[:MAX_QUESTION_CHARACTERS]
    memory = moment.memory
    given = moment.reader.given()
    due = intentions_due(memory.store, memory.project, words=question, given=given, now=moment.now)
    if question.lstrip().startswith("/") or len(question.split()) < 2:
        return Answer(due)
    from claude_memory.search.relevance import INJECTION_THRESHOLD

    found = for_question(
        memory.store,
        moment.embedder,
        memory.project,
        question,
        session=SessionId(moment.session) if moment.session else None,
        given=given,
        now=moment.now,
        min_relevance=INJECTION_THRESHOLD,
    )
    return Answer(joined(due, found))


def _tool(moment: Moment) -> Answer | None:
    tool = moment.text("tool_name")
    if tool in AGENT_TOOLS:
        from claude_memory.surfaces.hooks.subagent import before_agent

        return before_agent(moment)
    path = moment.tool_input("file_path") or moment.tool_input("notebook_path")
    if (
        tool not in EDITING_TOOLS
        or not path
        or not moment.reader.first_touch(path, moment.text("tool_use_id"))
    ):
        return None
    from claude_memory.context.moments import for_file, intentions_due, joined

    memory = moment.memory
    given = moment.reader.given()
    due = intentions_due(memory.store, memory.project, files=(path,), given=given, now=moment.now)
    known = for_file(memory.store, memory.project, memory.project_root, path, given=given)
    return Answer(joined(due, known))


def _subagent(moment: Moment) -> Answer | None:
    from claude_memory.surfaces.hooks.subagent import at_start

    return at_start(moment) if moment.text("agent_type") else None


_HANDLERS: dict[str, Callable[[Moment], Answer | None]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _tool,
    "SubagentStart": _subagent,
}
