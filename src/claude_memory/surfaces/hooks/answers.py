"""Answers to hooks: context for a session's start, a prompt, a file, a command, a failure, a sub-agent.

The event is in the spool before anybody comes here. Nothing here may block, and no fault may cost more than
the context. All but the start of a session get by on a quick look into the store: where a session is and
what its settings switch off is noted once, on a card beside its other markers.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

from claude_memory.context.session_state import SessionState, note_subagent_start, tells_of_subagents

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from claude_memory.context.moments import Offer, Scene
    from claude_memory.opening import Opened

MAX_QUESTION_CHARACTERS = 4_000
PATIENCE_MS = 50  # with a writer; all that a hook writes can be written by the next one, too
EDITING_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
RUNNING_TOOLS = ("Bash", "shell", "exec_command", "run_shell_command")
AGENT_TOOLS = ("Agent", "Task")


class Moment:
    """One hook call: its event, what the agent said of it, and the memory it is asked of."""

    def __init__(self, event: str, payload: Mapping[str, Any], home: str | os.PathLike[str]) -> None:
        self.event, self.payload, self.home = event, payload, os.fspath(home)
        self.now = datetime.now(UTC)
        self.session, cwd = self.text("session_id"), self.text("cwd")
        self.folder = cwd if os.path.isdir(cwd) else None  # noqa: PTH112  gone: the process's own
        self.state = SessionState(self.home, self.session)
        # Whoever will read the context: the session's own agent, or one of its sub-agents.
        agent = self.text("agent_id")
        self.reader = SessionState(self.home, f"{self.session}-{agent}") if agent else self.state
        self.output: Mapping[str, Any] = {}  # in place of lines for the model to read
        self.opened: Opened | None = None

    @property
    def memory(self) -> Opened:
        """The memory of the folder, opened on first use; most moments get by without it."""
        if self.opened is None:
            from claude_memory.opening import Opened

            self.opened = Opened.open(self.home, self.folder, patience_ms=PATIENCE_MS, for_hook=True)
        return self.opened

    def text(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    def tool_input(self, name: str) -> str:
        inputs = self.payload.get("tool_input")
        value = inputs.get(name) if isinstance(inputs, dict) else None
        return value if isinstance(value, str) else ""

    def card(self) -> Mapping[str, Any]:
        """Where the session is: project, root, store, and what its settings switch off."""
        stamp: list[str | int] = [self.text("cwd"), os.environ.get("CLAUDE_MEMORY_STORE", "")]
        known: dict[str, Any] = {}
        try:
            known = json.loads(self.state.read("card") or "{}")
            config = os.stat(f"{self.home}/config.toml")  # noqa: PTH116
            stamp += [config.st_mtime_ns, config.st_size]
        except (OSError, ValueError):
            pass
        if not self.session or known.get("stamp") != stamp:
            from claude_memory.store import database_path

            memory = self.memory
            known = {
                "project": memory.project.id,
                "root": str(memory.project_root),
                "store": str(database_path(memory.home, memory.settings.store)),
                "off": list(memory.settings.context_off),
                "stamp": stamp,
            }
            if self.session:
                self.state.note("card", json.dumps(known))
        return known

    def is_off(self, kind: str) -> bool:
        return kind in self.card()["off"]

    def scene(self) -> Scene:
        from claude_memory.context.moments import Scene
        from claude_memory.store.sqlite.glance import Glance

        card = self.card()
        glance = Glance(card["store"], card["project"])
        scene = Scene(
            self.home, card["root"], glance, lambda: self.memory, now=self.now, session=self.session
        )
        scene.given, scene.folder = self.reader.given(), self.text("cwd") or scene.root
        return scene


def respond(
    event: str, raw: bytes, home: str | os.PathLike[str], in_time: Callable[[], bool] | None = None
) -> bytes:
    """What to print for an event: a JSON document with context, or nothing.

    A server says by `in_time` whether it is still waited for: what comes too late is neither given nor noted.
    """
    payload = json.loads(raw) if event in _HANDLERS else None
    if not isinstance(payload, dict):
        return b""
    moment = Moment(event, payload, home)
    try:
        offer = _HANDLERS[event](moment)
        if offer is None or not offer.text or (in_time is not None and not in_time()):
            return b""
        _account(moment, offer)
        from claude_memory.text.quotation import marked

        output = moment.output or {"additionalContext": marked(offer.text)}
        document = {"hookSpecificOutput": {"hookEventName": event, **output}}
        return json.dumps(document, ensure_ascii=True).encode("ascii")
    finally:
        if in_time is not None and moment.opened is not None:  # a hook's process ends with its answer
            moment.opened.close()


def _account(moment: Moment, offer: Offer) -> None:
    """Note what was given, for the ledger and so that it is not given again."""
    from claude_memory.hook.claude_memory_hook import DEFAULT_AGENT, spool
    from claude_memory.platform.files import reads_only

    record = {
        "hook_event_name": "Injection",
        "session_id": moment.session,
        "cwd": moment.text("cwd"),
        "given_at": moment.event,
        "given_on": moment.now.isoformat(),
        "tokens": offer.tokens,
        "memories": offer.memories,
        "sections": list(offer.sections),
        "lines": [line.record() for line in offer.lines if line.memory],
    }
    try:
        # Not synced: a crash may cost a line of the ledger, waiting for the disk would cost every prompt.
        if not reads_only():
            spool(moment.home, "Injection", DEFAULT_AGENT, [json.dumps(record).encode()], sync=False)
        if moment.text("tool_name") not in AGENT_TOOLS:  # else a sub-agent that has no name yet reads it
            moment.reader.give(offer.memories)
    except OSError:
        pass  # a full or read-only disk: the context is worth more than its record


def _session_start(moment: Moment) -> Offer | None:
    from claude_memory.surfaces.hooks.start import start_context

    return start_context(moment)


def _prompt(moment: Moment) -> Offer | None:
    write_ahead(moment)  # first: what was settled must outlive whatever comes after
    if moment.is_off("prompt"):
        return None
    from claude_memory.context.for_prompt import at_prompt

    return at_prompt(moment.scene(), moment.text("prompt")[:MAX_QUESTION_CHARACTERS])


def _tool(moment: Moment) -> Offer | None:
    tool = moment.text("tool_name")
    if tool in AGENT_TOOLS:
        return _before_agent(moment)
    call = moment.text("tool_use_id")
    path = moment.tool_input("file_path") or moment.tool_input("notebook_path")
    if tool in EDITING_TOOLS and path and not moment.is_off("file") and moment.reader.first_touch(path, call):
        from claude_memory.context.for_file import at_file

        # What the edit replaces, and what it puts there.
        inputs = moment.payload["tool_input"]
        edits = inputs.get("edits")
        parts = [inputs, *(edits if isinstance(edits, list) else ())]
        names = ("old_string", "new_string", "content", "new_source")
        texts = [part.get(name) for part in parts if isinstance(part, dict) for name in names]
        return at_file(moment.scene(), path, "\n".join(text for text in texts if isinstance(text, str)))
    if tool not in RUNNING_TOOLS:
        return None
    from claude_memory.understand.commands import families

    command = moment.tool_input("command")
    kinds = " ".join(families(command))
    if not kinds or moment.is_off("command") or not moment.reader.first_touch(f"$ {kinds}", call):
        return None
    from claude_memory.context.for_command import at_command

    return at_command(moment.scene(), command)


def _failed(moment: Moment) -> Offer | None:
    command = moment.tool_input("command") if moment.text("tool_name") in RUNNING_TOOLS else ""
    error = moment.text("error")
    if not command or not error or moment.payload.get("is_interrupt") or moment.is_off("command"):
        return None
    from claude_memory.context.for_command import at_failure
    from claude_memory.understand.commands import error_lines

    return at_failure(moment.scene(), command, error_lines(error))


# --- the write-ahead of a prompt


def write_ahead(moment: Moment) -> None:
    """Append what a person typed to the working buffer, secrets cut; nobody else's words.

    The whole prompt is on disk before the model reads it, without a lock and without the database.
    """
    from pathlib import Path

    from claude_memory.errors import MemoryFault
    from claude_memory.notes import buffer
    from claude_memory.notes.plain_files import project_files
    from claude_memory.redact import kept
    from claude_memory.understand.speaker import Speaker, of_prompt

    heard = of_prompt(moment.text("prompt"), moment.payload)
    if heard.speaker is not Speaker.PERSON or not heard.words.strip():
        return
    try:
        try:
            card = moment.card()
            project, root = card["project"], Path(card["root"])
        except MemoryFault:  # without a store to ask, the project that its folder says it is
            from claude_memory.platform.project import identify, root_of
            from claude_memory.store.sql.projects import provisional

            root = root_of(moment.folder or ".")
            project = provisional(identify(root)).id
        said, session = kept(heard.words), buffer.session_name(moment.session)
        entry = buffer.BufferEntry(moment.now, buffer.SAID, said, session)
        buffer.write_ahead(project_files(Path(moment.home), project, root), entry)
    except (MemoryFault, OSError):
        pass  # a full disk, a link where a file should be: it costs one entry, the prompt is in the spool


# --- sub-agents


def _before_agent(moment: Moment) -> Offer | None:
    """Leave the prompt for SubagentStart, which carries none, or extend it where there is no such event.

    Clients older than SubagentStart call their tool `Task` and take the context through its prompt. One that
    names it `Agent` has SubagentStart; one that says `Task` may have it or not, so its prompt is extended
    unless SubagentStart was seen in this home lately. If that comes after all, it finds the marker of a
    sub-agent that was told already. When several start at once and nobody can tell which prompt is whose,
    only the common part is given.
    """
    from claude_memory.redact import kept

    prompt, kind = moment.tool_input("prompt"), moment.tool_input("subagent_type")
    told = moment.text("tool_name") == "Task" and not tells_of_subagents(moment.home)
    # It waits on the disk, so without secrets, and cut to length last: half a secret is not known as one.
    question = kept(prompt[: 2 * MAX_QUESTION_CHARACTERS])[:MAX_QUESTION_CHARACTERS]
    moment.state.expect_agent(moment.text("tool_use_id"), kind, question, told=told)
    if not told or not prompt or moment.is_off("subagent"):
        return None
    from claude_memory.context.moments import at_subagent
    from claude_memory.text.quotation import marked

    offer = at_subagent(moment.scene(), prompt[:MAX_QUESTION_CHARACTERS])
    extended = {**moment.payload["tool_input"], "prompt": f"{prompt}\n\n{marked(offer.text)}"}
    moment.output = {"updatedInput": extended}
    return offer


def _agent_starts(moment: Moment) -> Offer | None:
    """The context of a sub-agent that starts now, unless its prompt holds it already."""
    if not moment.text("agent_type"):
        return None
    note_subagent_start(moment.home)
    prompt, told = moment.state.started_agent(moment.text("agent_type"), moment.text("agent_id"))
    if told or moment.is_off("subagent"):
        return None
    from claude_memory.context.moments import at_subagent

    return at_subagent(moment.scene(), prompt)


_HANDLERS: dict[str, Callable[[Moment], Offer | None]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _tool,
    "PostToolUseFailure": _failed,
    "SubagentStart": _agent_starts,
}
