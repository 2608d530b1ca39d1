"""Messages that may be kept: from a turn of a transcript, and from an event of a hook.

A turn is withheld, redacted, bounded and named here; an event was already, by `parse`. A hook's report and a
transcript's line of the same thing share a key, so that the archive keeps it once, whichever comes first.
Pure but for the settings of a turn's project. Nothing unredacted leaves here, its state included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_memory.capture.parse import bound_text, event_kind, identity
from claude_memory.capture.withhold import WITHHELD, withhold
from claude_memory.hook.claude_memory_hook import DEFAULT_AGENT
from claude_memory.model import Event, EventKind, ProjectId, SessionId
from claude_memory.redact import kept_mapping, redact
from claude_memory.settings import Settings
from claude_memory.store.model import NewMessage
from claude_memory.store.sql.rows import packed
from claude_memory.text.quotation import clean
from claude_memory.transcripts.model import Role, Turn, text_of
from claude_memory.understand.calls import rendered
from claude_memory.understand.speaker import Manner, Speaker, Verdict, of_prompt, of_result

RESULT_CHARACTERS = 8_000  # of a tool's output: head and tail
CALL_CHARACTERS = 6_000
OPEN_CALLS = 100  # calls whose result has not been seen yet
_MARGIN = 8 << 10  # longer than any secret that a cut could halve
_SLIM = {"command": 1000, "file_path": 500, "notebook_path": 500, "path": 500, "description": 200}
_ID_CHARACTERS = 200
_OWN_ID = 12  # a shorter id of a tool use may come again in another session
_KNOWN_AS = {"gemini-cli": "gemini"}  # the name by which homes of 0.1.0 know an agent's messages


@dataclass
class Preparer:
    """Prepares the turns of one file in order; remembers open calls, redacted, to pair their results."""

    agent: str
    settings: Settings
    exclude_of: Callable[[str], Sequence[str]]
    calls: dict[str, Any] = field(default_factory=dict)
    path: str = ""
    own_machine: bool = True

    def message(self, turn: Turn) -> NewMessage | None:
        """What is kept of a turn; None when its folder is excluded or nothing is left of it."""
        exclude = (*self.settings.exclude, *self.exclude_of(turn.cwd))
        if exclude and "prompt" not in withhold({"cwd": turn.cwd, "prompt": ""}, exclude):
            return None
        if turn.role is Role.CALL:
            return self._call(turn, exclude)
        if turn.role is Role.RESULT:
            tool, given, withheld = self.calls.pop(turn.call, (turn.tool, {}, False))
            text = WITHHELD if withheld else cut_clean(turn.text, RESULT_CHARACTERS)
            return self._built(turn, text, text, {"tool_name": tool, "tool_input": given}, tool)
        whole = redact(turn.text)
        shown = bound_text(whole, self.settings.event_max_kb * 1024)
        return self._built(turn, shown, whole, {}) if whole.strip() else None

    def _call(self, turn: Turn, exclude: Sequence[str]) -> NewMessage:
        left = withhold({"tool_name": turn.tool, "tool_input": turn.given, "tool_response": ""}, exclude)
        given = _clean_input(left["tool_input"])
        if turn.call:
            slim = {key: str(given[key])[:size] for key, size in _SLIM.items() if key in given}
            self.calls[turn.call[:_ID_CHARACTERS]] = [turn.tool[:_ID_CHARACTERS], slim, "withheld" in left]
            if len(self.calls) > OPEN_CALLS:
                # What is withheld is remembered longest: its result may come after a thousand others.
                open_ones = (call for call, (_, _, withheld) in self.calls.items() if not withheld)
                del self.calls[next(open_ones, next(iter(self.calls)))]
        text = bound_text(rendered(given), CALL_CHARACTERS)
        return self._built(turn, text, text, {})

    def _built(
        self, turn: Turn, text: str, whole: str, more: Mapping[str, Any], tool: str = ""
    ) -> NewMessage:
        event = self._event(turn, whole, more)
        return _message(
            self.agent,
            turn.session,
            turn.role,
            text,
            Verdict(turn.speaker, turn.manner, text),
            at=turn.at,
            keys=keys(self.agent, turn.anchors, whole, event.id if event else ""),
            cwd=turn.cwd,
            branch=turn.branch[:_ID_CHARACTERS],
            tool=(tool or turn.tool)[:_ID_CHARACTERS],
            call=turn.call[:_ID_CHARACTERS],
            failed=turn.failed,
            parent=turn.parent[:_ID_CHARACTERS],
            path=self.path,
            event=event,
            imported=not self.own_machine,
        )

    def _event(self, turn: Turn, whole: str, more: Mapping[str, Any]) -> Event | None:
        """The event a hook would have reported of this turn, in a hook's shape."""
        name, key = "", ""
        if turn.role is Role.USER:
            name, key = "UserPromptSubmit", "prompt"
        elif turn.role is Role.ASSISTANT and turn.final:
            name, key = "SubagentStop" if turn.subagent else "Stop", "last_assistant_message"
        elif turn.role is Role.RESULT and turn.failed and turn.call:
            # A tool use that went well is a message like any other; only a hook makes an event of it.
            name, key = "PostToolUseFailure", "error"
        elif turn.role is Role.SUMMARY:
            name, key = "PostCompact", "compact_summary"
        elif turn.role is Role.NOTE and turn.text.startswith("compacted") and self.agent != DEFAULT_AGENT:
            # A compaction's note stands for its report, but for Claude Code, whose summary always follows.
            name = "PreCompact"
        if not name:
            return None
        session = turn.parent or turn.session
        prompt = turn.prompt or (turn.anchors[0] if turn.role is Role.NOTE else "")  # two in one minute
        payload: dict[str, Any] = {"hook_event_name": name, "cwd": turn.cwd, **more, "session_id": session}
        ids = {"prompt_id": prompt, "tool_use_id": turn.call, "agent_id": turn.subagent}
        payload |= {key: id_ for key, id_ in ids.items() if id_}
        if turn.interrupted:
            payload["is_interrupt"] = True
        kind = event_kind(name)
        id_ = identity(kind, {**payload, key: whole} if key else payload, turn.at)
        if key:
            payload[key] = bound_text(whole, self.settings.event_max_kb * 1024)
        if turn.speaker is not Speaker.PERSON and turn.role is Role.USER:
            # A record tells more than a hook's payload; after the id, which both must share.
            payload |= {"speaker": turn.speaker.value, "manner": turn.manner.value}
        own = SessionId(session[:_ID_CHARACTERS])
        return Event(id_, kind, self.agent, own, ProjectId(""), turn.cwd, turn.at, payload)


def cut_clean(text: str, limit: int) -> str:
    """A long text's head and tail without secrets; only what may be kept is looked through."""
    if len(text) <= limit + 4 * _MARGIN or "private" in text.lower():
        return bound_text(redact(text), limit)
    head, tail = limit * 2 // 3, limit // 3
    first = redact(text[: head + _MARGIN])[:-_MARGIN]
    last = redact(text[-tail - _MARGIN :])[_MARGIN:]
    left_out = len(text) - len(first) - len(last)
    return f"{first}\n[… {left_out:,} characters left out …]\n{last}"


def _clean_input(given: Any) -> dict[str, Any]:
    """A tool's input without secrets; long texts in it are cut first, each by itself."""
    if not isinstance(given, Mapping):
        return {}
    long = {
        key: cut_clean(value, CALL_CHARACTERS)
        for key, value in given.items()
        if isinstance(value, str) and len(value) > CALL_CHARACTERS + 4 * _MARGIN
    }
    short = {key: value for key, value in given.items() if key not in long}
    return {**kept_mapping(short), **long}


# --- what a hook reported

_OWN_NAMES = {  # an agent's own id of a message: what it is called, and where a hook reports it
    Role.USER: ("prompt", "prompt_id"),
    Role.CALL: ("call", "tool_use_id"),
    Role.RESULT: ("result", "tool_use_id"),
}
_RESPONSES = ("stdout", "stderr", "output", "content", "text", "result")


def messages_of(event: Event, branch: str = "") -> list[NewMessage]:
    """What an event says, as messages; most kinds of events say nothing. A hook tells of no branch."""
    payload = event.payload
    made = []
    if event.kind is EventKind.PROMPT:
        said = of_prompt(text_of(payload, "prompt"), payload)
        made = [_reported(event, Role.USER, said.words, said)]
    elif event.kind in (EventKind.REPLY, EventKind.SUBAGENT_RESULT):
        text = text_of(payload, "last_assistant_message")
        made = [_reported(event, Role.ASSISTANT, text, Verdict(Speaker.AGENT, Manner.CLOSING, text))]
    elif event.kind is EventKind.COMPACTION:
        text = text_of(payload, "compact_summary")
        made = [_reported(event, Role.SUMMARY, text, Verdict(Speaker.AGENT, Manner.CONTINUATION, text))]
    elif event.kind in (EventKind.TOOL_USE, EventKind.TOOL_FAILURE):
        given = payload.get("tool_input")
        call = bound_text(rendered(given if isinstance(given, Mapping) else {}), CALL_CHARACTERS)
        failed = event.kind is EventKind.TOOL_FAILURE
        text = text_of(payload, "error") if failed else _response_text(payload.get("tool_response"))
        said = of_result(text_of(payload, "tool_name"), text, {**payload, "is_error": failed})
        text = bound_text(said.words or text or "(no output)", RESULT_CHARACTERS)
        made = [
            _reported(event, Role.CALL, call or " ", Verdict(Speaker.AGENT, Manner.CALL, call)),
            _reported(event, Role.RESULT, text, said),
        ]
    return [one._replace(branch=branch[:_ID_CHARACTERS]) for one in made if one.text.strip()]


def _reported(event: Event, role: Role, text: str, said: Verdict) -> NewMessage:
    payload = event.payload
    # What names no session is one conversation a day and project.
    session = str(event.session or f"unnamed-{event.project}-{event.timestamp:%Y-%m-%d}")
    sub_agent = text_of(payload, "agent_id")
    name, key = _OWN_NAMES.get(role, ("", ""))
    # Without an id of the agent's own, the event is what the message is known by.
    anchor = f"{name}:{id_}" if (id_ := text_of(payload, key)) else f"event:{event.id}:{role}"
    of_tool = role in (Role.CALL, Role.RESULT)
    failed = role is Role.RESULT and event.kind is EventKind.TOOL_FAILURE
    is_event = failed or not of_tool  # a tool use that went well is a message like any other
    return _message(
        event.agent,
        f"agent-{sub_agent}" if sub_agent else session,
        role,
        text,
        said,
        at=event.timestamp,
        keys=keys(event.agent, (anchor,), text, event.id if is_event else ""),
        cwd=event.cwd,
        tool=text_of(payload, "tool_name")[:_ID_CHARACTERS] if of_tool else "",
        call=text_of(payload, "tool_use_id")[:_ID_CHARACTERS] if of_tool else "",
        failed=failed,
        parent=session[:_ID_CHARACTERS] if sub_agent else "",
        event=event if is_event else None,
    )


def _response_text(value: Any) -> str:
    """What a tool answered, whatever shape its report has."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = [value[key] for key in _RESPONSES if value.get(key)]
    return "\n".join(filter(None, map(_response_text, value))) if isinstance(value, list) else ""


# --- what both share


def _message(agent: str, session: str, role: Role, text: str, said: Verdict, **more: Any) -> NewMessage:
    packed_text = packed(clean(text))  # as it is where that is shorter
    return NewMessage(
        SessionId(session[:_ID_CHARACTERS]),
        agent,
        role.value,
        text=text,
        packed=packed_text if isinstance(packed_text, bytes) else None,
        speaker=said.speaker.value,
        manner=said.manner.value,
        **more,
    )


def keys(agent: str, anchors: Sequence[str], text: str, event: str = "") -> tuple[int, ...]:
    """What a message is known by: each anchor together with its text, and the event that it is.

    A tool use has an id that no other has; its text differs between a hook's report and a transcript, so
    that it does not count. 63 bits, what SQLite keeps as an integer: ten million messages collide with
    probability 1e-5.
    """
    said = hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=16).digest()
    seeds = []
    for anchor in anchors:
        name, _, id_ = anchor.partition(":")
        of_tool = name in ("call", "result") and len(id_) >= _OWN_ID
        seed = f"{_KNOWN_AS.get(agent, agent)}\0{anchor}\0".encode("utf-8", "replace")
        seeds.append(seed if of_tool else seed + said)
    if event:
        seeds.append(f"event\0{event}".encode())
    return tuple(int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big") >> 1 for seed in seeds)
