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
    from claude_memory.notes.places import ProjectFiles
    from claude_memory.opening import Opened

MAX_QUESTION_CHARACTERS = 4_000
PATIENCE_MS = 50  # with a writer; all that a hook writes can be written by the next one, too
EDITING_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
RUNNING_TOOLS = ("Bash", "shell", "exec_command", "run_shell_command")
AGENT_TOOLS = ("Agent", "Task")


class Moment:
    """One hook call: its event, what the agent said of it, and the memory it is asked of."""

    def __init__(
        self,
        event: str,
        payload: Mapping[str, Any],
        home: str | os.PathLike[str],
        memory: Opened | None = None,
    ) -> None:
        self.event, self.payload, self.home = event, payload, os.fspath(home)
        self.now = datetime.now(UTC)
        self._memory = memory

    @property
    def memory(self) -> Opened:
        """The memory of the folder, opened on first use; most moments get by without it."""
        if self._memory is None:
            from claude_memory.opening import Opened

            self._memory = Opened.open(
                self.home, folder_of(self.payload), patience_ms=PATIENCE_MS, for_hook=True
            )
        return self._memory

    def close(self) -> None:
        """Give back what was opened."""
        if self._memory is not None:
            self._memory.close()

    @property
    def session(self) -> str:
        return self.text("session_id")

    @property
    def state(self) -> SessionState:
        """What the session was given, and the sub-agents it is about to start."""
        return SessionState(self.home, self.session)

    @property
    def reader(self) -> SessionState:
        """What whoever will read the context was given: the session's own agent, or one of its sub-agents."""
        agent = self.text("agent_id")
        return SessionState(self.home, f"{self.session}-{agent}") if agent else self.state

    def text(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    def tool_input(self, name: str) -> str:
        inputs = self.payload.get("tool_input")
        value = inputs.get(name) if isinstance(inputs, dict) else None
        return value if isinstance(value, str) else ""

    def card(self) -> Mapping[str, Any]:
        """Where the session is: project, root, store, and what its settings switch off."""
        stamp = [
            self.text("cwd"),
            os.environ.get("CLAUDE_MEMORY_STORE", ""),
            _stamp(f"{self.home}/config.toml"),
        ]
        try:
            known: dict[str, Any] = json.loads(self.state.read("card") or "{}")
        except ValueError:
            known = {}
        if not self.session or known.get("stamp") != stamp:
            known = {**_looked_up(self.memory), "stamp": stamp}
            if self.session:
                self.state.note("card", json.dumps(known))
        return known

    def is_off(self, kind: str) -> bool:
        """Whether the settings switch off what is given at this kind of moment."""
        return kind in self.card()["off"]

    def scene(self) -> Scene:
        """What the rules of a moment need to know."""
        from claude_memory.context.moments import Scene
        from claude_memory.store.sqlite.glance import Glance

        card = self.card()
        return Scene(
            self.home,
            card["root"],
            Glance(card["store"], card["project"]),
            lambda: self.memory,
            session=self.session,
            given=self.reader.given(),
            now=self.now,
            folder=self.text("cwd"),
        )


class Answer:
    """Context, and the form it takes; by default the client adds it to what the model reads."""

    def __init__(self, offer: Offer, output: Mapping[str, Any] | None = None) -> None:
        self.offer, self.output = offer, output


def respond(event: str, raw: bytes, home: str | os.PathLike[str]) -> bytes:
    """What to print for an event: a JSON document with context, or nothing."""
    payload = wanted(event, raw)
    return answer(Moment(event, payload, home)) if payload is not None else b""


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
    from claude_memory.text.quotation import marked

    found = _HANDLERS[moment.event](moment)
    if found is None or not found.offer.text or not in_time():
        return b""
    _account(moment, found.offer)
    output = found.output or {"additionalContext": marked(found.offer.text)}
    document = {"hookSpecificOutput": {"hookEventName": moment.event, **output}}
    return json.dumps(document, ensure_ascii=True).encode("ascii")


def _account(moment: Moment, offer: Offer) -> None:
    """Note what was given, for the ledger and so that it is not given again."""
    from claude_memory.hook.claude_memory_hook import DEFAULT_AGENT, spool
    from claude_memory.platform.files import reads_only

    memories = offer.memories
    record = {
        "hook_event_name": "Injection",
        "session_id": moment.session,
        "cwd": moment.text("cwd"),
        "given_at": moment.event,
        "given_on": moment.now.isoformat(),
        "tokens": offer.tokens,
        "memories": memories,
        "sections": list(offer.sections),
        "lines": [line.record() for line in offer.lines if line.memory],
    }
    try:
        # Not synced: a crash may cost a line of the ledger, waiting for the disk would cost every prompt.
        if not reads_only():
            spool(moment.home, "Injection", DEFAULT_AGENT, [json.dumps(record).encode()], sync=False)
        if moment.text("tool_name") not in AGENT_TOOLS:  # else a sub-agent that has no name yet reads it
            moment.reader.give(memories)
    except OSError:  # a full or read-only disk: the context is worth more than its record
        return


def _session_start(moment: Moment) -> Answer | None:
    from claude_memory.surfaces.hooks.start import start_context

    context = start_context(moment)
    return None if moment.is_off("start") else Answer(context)


def _prompt(moment: Moment) -> Answer | None:
    write_ahead(moment)  # first: what was settled must outlive whatever comes after
    if moment.is_off("prompt"):
        return None
    from claude_memory.context.for_prompt import at_prompt

    return Answer(at_prompt(moment.scene(), moment.text("prompt")[:MAX_QUESTION_CHARACTERS]))


def _tool(moment: Moment) -> Answer | None:
    tool = moment.text("tool_name")
    if tool in AGENT_TOOLS:
        return _before_agent(moment)
    path = moment.tool_input("file_path") or moment.tool_input("notebook_path")
    if tool in EDITING_TOOLS and path:
        return _before_edit(moment, path)
    command = moment.tool_input("command") if tool in RUNNING_TOOLS else ""
    return _before_command(moment, command) if command else None


def _before_edit(moment: Moment, path: str) -> Answer | None:
    if moment.is_off("file") or not moment.reader.first_touch(path, moment.text("tool_use_id")):
        return None
    from claude_memory.context.for_file import at_file

    return Answer(at_file(moment.scene(), path, _edit_of(moment.payload["tool_input"])))


def _edit_of(inputs: Mapping[str, Any]) -> str:
    """What an edit replaces, and what it puts there."""
    edits = inputs.get("edits")
    parts = [inputs, *(edits if isinstance(edits, list) else ())]
    names = ("old_string", "new_string", "content", "new_source")
    texts = [part.get(name) for part in parts if isinstance(part, dict) for name in names]
    return "\n".join(text for text in texts if isinstance(text, str))


def _before_command(moment: Moment, command: str) -> Answer | None:
    from claude_memory.understand.commands import families

    kinds = " ".join(families(command))
    if not kinds or moment.is_off("command"):
        return None
    if not moment.reader.first_touch(f"$ {kinds}", moment.text("tool_use_id")):
        return None
    from claude_memory.context.for_command import at_command

    return Answer(at_command(moment.scene(), command))


def _failed(moment: Moment) -> Answer | None:
    command = moment.tool_input("command") if moment.text("tool_name") in RUNNING_TOOLS else ""
    error = moment.text("error")
    if not command or not error or moment.payload.get("is_interrupt") or moment.is_off("command"):
        return None
    from claude_memory.context.for_command import at_failure
    from claude_memory.understand.commands import error_lines

    return Answer(at_failure(moment.scene(), command, error_lines(error)))


# --- the write-ahead of a prompt


def write_ahead(moment: Moment) -> None:
    """Append what a person typed to the working buffer, secrets cut; nobody else's words.

    The whole prompt is on disk before the model reads it, without a lock and without the database. A fault
    here costs one entry of the buffer, never the prompt: the prompt itself is in the spool.
    """
    from claude_memory.errors import MemoryFault
    from claude_memory.notes import buffer
    from claude_memory.redact import kept
    from claude_memory.understand.speaker import Speaker, of_hook

    heard = of_hook({**moment.payload, "hook_event_name": moment.event})
    if heard.speaker is not Speaker.PERSON or not heard.words.strip():
        return
    try:
        entry = buffer.BufferEntry(
            moment.now, buffer.SAID, kept(heard.words), buffer.session_name(moment.session)
        )
        buffer.write_ahead(_files(moment), entry)
    except (MemoryFault, OSError):  # a full disk, a link where a file should be
        return


def _files(moment: Moment) -> ProjectFiles:
    """The project's files; without a store to ask, those of the project that its folder says it is."""
    from pathlib import Path

    from claude_memory.errors import MemoryFault
    from claude_memory.notes.places import project_files

    home = Path(moment.home)
    try:
        card = moment.card()
        return project_files(home, card["project"], Path(card["root"]))
    except MemoryFault:
        from claude_memory.platform.project import identify, root_of
        from claude_memory.store.sql.projects import provisional

        root = root_of(folder_of(moment.payload) or ".")
        return project_files(home, provisional(identify(root)).id, root)


# --- sub-agents


def _before_agent(moment: Moment) -> Answer | None:
    """Leave the prompt for SubagentStart, which carries none, or extend it where there is no such event.

    Clients older than SubagentStart call their tool `Task` and take the context through its prompt. One that
    names it `Agent` has SubagentStart; one that says `Task` may have it or not, so its prompt is extended
    unless SubagentStart was seen in this home lately. If that comes after all, it finds the marker of a
    sub-agent that was told already. When several start at once and nobody can tell which prompt is whose,
    only the common part is given.
    """
    from claude_memory.context.moments import at_subagent
    from claude_memory.text.quotation import marked

    prompt, kind = moment.tool_input("prompt"), moment.tool_input("subagent_type")
    told = moment.text("tool_name") == "Task" and not tells_of_subagents(moment.home)
    moment.state.expect_agent(moment.text("tool_use_id"), kind, _question(prompt), told=told)
    if not told or not prompt or moment.is_off("subagent"):
        return None
    offer = at_subagent(moment.scene(), prompt[:MAX_QUESTION_CHARACTERS])
    inputs = {**moment.payload["tool_input"], "prompt": f"{prompt}\n\n{marked(offer.text)}"}
    return Answer(offer, {"updatedInput": inputs})


def _agent_starts(moment: Moment) -> Answer | None:
    """The context of a sub-agent that starts now, unless its prompt holds it already."""
    from claude_memory.context.moments import at_subagent

    if not moment.text("agent_type"):
        return None
    note_subagent_start(moment.home)
    prompt, told = moment.state.started_agent(moment.text("agent_type"), moment.text("agent_id"))
    if told or moment.is_off("subagent"):
        return None
    return Answer(at_subagent(moment.scene(), prompt))


def _question(prompt: str) -> str:
    """What is looked for later: as much as a search reads, without secrets, for it waits on the disk.

    Cut to length last: half a secret would not be known as one.
    """
    from claude_memory.redact import kept

    return kept(prompt[: 2 * MAX_QUESTION_CHARACTERS])[:MAX_QUESTION_CHARACTERS]


# --- where a session is


def _looked_up(memory: Opened) -> dict[str, Any]:
    from claude_memory.store import database_path

    return {
        "project": memory.project.id,
        "root": str(memory.project_root),
        "store": str(database_path(memory.home, memory.settings.store)),
        "off": list(memory.settings.context_off),
    }


def _stamp(path: str) -> list[int]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]


_HANDLERS: dict[str, Callable[[Moment], Answer | None]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _tool,
    "PostToolUseFailure": _failed,
    "SubagentStart": _agent_starts,
}
