"""From a raw turn to a message that may be kept: withhold, redact, bound, name.

Pure but for the settings of a turn's project. A hook's event and a transcript's turn of the same thing
get the same id, so that they meet in one row. Nothing unredacted leaves here, its state included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claude_memory.capture.parse import bound_text, event_kind, identity
from claude_memory.capture.withhold import WITHHELD, withhold
from claude_memory.model import Event, ProjectId, SessionId
from claude_memory.redact import is_plain, redact, redact_document
from claude_memory.settings import Settings
from claude_memory.store.archive_model import NewMessage
from claude_memory.store.packing import packed
from claude_memory.text.characters import clean
from claude_memory.transcripts.claude import AGENT as CLAUDE
from claude_memory.transcripts.model import Role, Turn
from claude_memory.understand.speaker import MANNER, SPEAKER, Speaker
from claude_memory.understand.tools import rendered

RESULT_CHARACTERS = 8_000  # of a tool's output: head and tail
CALL_CHARACTERS = 6_000
OPEN_CALLS = 100  # calls whose result has not been seen yet
_MARGIN = 8 << 10  # longer than any secret that a cut could halve
_SLIM = {"command": 1000, "file_path": 500, "notebook_path": 500, "path": 500, "description": 200}
_ID_CHARACTERS = 200
_OWN_ID = 12  # a shorter id of a tool use may come again in another session
_EVENTS = {
    Role.USER: "UserPromptSubmit",
    Role.ASSISTANT: "Stop",
    Role.SUMMARY: "PostCompact",
}
_TEXT_KEYS = {
    "UserPromptSubmit": "prompt",
    "Stop": "last_assistant_message",
    "SubagentStop": "last_assistant_message",
    "PostToolUseFailure": "error",
    "PostCompact": "compact_summary",
}


class Preparer:
    """Prepares the turns of one file in order; remembers open calls, redacted, to pair their results."""

    def __init__(
        self,
        agent: str,
        settings: Settings,
        exclude_of: Callable[[str], Sequence[str]],
        calls: Mapping[str, Any] | None = None,
        *,
        path: str = "",
        own_machine: bool = True,
    ) -> None:
        self._agent = agent
        self._path = path
        self._settings = settings
        self._exclude_of = exclude_of
        self._own_machine = own_machine
        self.calls: dict[str, Any] = dict(calls or {})

    def message(self, turn: Turn) -> NewMessage | None:
        """What is kept of a turn; None when its folder is excluded or nothing is left of it."""
        exclude = (*self._settings.exclude, *self._exclude_of(turn.cwd))
        if exclude and "prompt" not in withhold({"cwd": turn.cwd, "prompt": ""}, exclude):
            return None
        if turn.role is Role.CALL:
            return self._call(turn, exclude)
        if turn.role is Role.RESULT:
            return self._result(turn)
        whole = _clean(turn.text)
        if not whole.strip():
            return None
        return self._built(turn, bound_text(whole, self._settings.event_max_kb * 1024), whole)

    def _call(self, turn: Turn, exclude: Sequence[str]) -> NewMessage:
        payload = {"tool_name": turn.tool, "tool_input": turn.given, "tool_response": ""}
        kept = withhold(payload, exclude)
        given = _clean_input(kept["tool_input"])
        if turn.call:
            slim = {key: str(given[key])[:size] for key, size in _SLIM.items() if key in given}
            self.calls[turn.call[:_ID_CHARACTERS]] = [turn.tool[:_ID_CHARACTERS], slim, "withheld" in kept]
            if len(self.calls) > OPEN_CALLS:
                # What is withheld is remembered longest: its result may come after a thousand others.
                open_ones = (call for call, (_, _, withheld) in self.calls.items() if not withheld)
                del self.calls[next(open_ones, next(iter(self.calls)))]
        text = bound_text(rendered(given), CALL_CHARACTERS)
        return self._built(turn, text, text)

    def _result(self, turn: Turn) -> NewMessage:
        tool, given, withheld = self.calls.pop(turn.call, (turn.tool, {}, False))
        text = WITHHELD if withheld else cut_clean(turn.text, RESULT_CHARACTERS)
        payload = {"tool_name": tool, "tool_input": given}
        return self._built(turn, text, text, payload, tool)

    def _built(
        self, turn: Turn, text: str, whole: str, more: Mapping[str, Any] | None = None, tool: str = ""
    ) -> NewMessage:
        event = self._event(turn, whole, more or {})
        return NewMessage(
            session=SessionId(turn.session[:_ID_CHARACTERS]),
            agent=self._agent,
            role=turn.role.value,
            at=turn.at,
            text=text,
            keys=keys(self._agent, turn.anchors, whole, event.id if event else ""),
            cwd=turn.cwd,
            branch=turn.branch[:_ID_CHARACTERS],
            tool=(tool or turn.tool)[:_ID_CHARACTERS],
            call=turn.call[:_ID_CHARACTERS],
            failed=turn.failed,
            parent=turn.parent[:_ID_CHARACTERS],
            path=self._path,
            speaker=turn.speaker.value,
            manner=turn.manner.value,
            packed=packed_text(text),
            event=event,
            imported=not self._own_machine,
        )

    def _event(self, turn: Turn, whole: str, more: Mapping[str, Any]) -> Event | None:
        """The event a hook would have reported of this turn, in a hook's shape."""
        name = _event_name(turn) or self._noted(turn)
        if not name:
            return None
        payload: dict[str, Any] = {"hook_event_name": name, "cwd": turn.cwd, **more}
        payload["session_id"] = session = turn.parent or turn.session
        if turn.prompt or turn.role is Role.NOTE:
            payload["prompt_id"] = turn.prompt or turn.anchors[0]  # two may be compacted in one minute
        if turn.call:
            payload["tool_use_id"] = turn.call
        if turn.subagent:
            payload["agent_id"] = turn.subagent
        if turn.interrupted:
            payload["is_interrupt"] = True
        key = _TEXT_KEYS.get(name)
        if key:
            payload[key] = whole
        kind = event_kind(name)
        id_ = identity(kind, payload, turn.at)
        if key:
            payload[key] = bound_text(whole, self._settings.event_max_kb * 1024)
        if turn.speaker is not Speaker.PERSON and turn.role is Role.USER:
            # A record tells more than a hook's payload; after the id, which both must share.
            payload |= {SPEAKER: turn.speaker.value, MANNER: turn.manner.value}
        return Event(
            id_,
            kind,
            self._agent,
            SessionId(session[:_ID_CHARACTERS]),
            ProjectId(""),
            turn.cwd,
            turn.at,
            payload,
        )

    def _noted(self, turn: Turn) -> str:
        """A compaction's note stands for its report, but for Claude Code, whose summary always follows."""
        compacted = turn.role is Role.NOTE and turn.text.startswith("compacted")
        return "PreCompact" if compacted and self._agent != CLAUDE else ""


def _event_name(turn: Turn) -> str:
    if turn.role is Role.ASSISTANT:
        if not turn.final:
            return ""
        return "SubagentStop" if turn.subagent else "Stop"
    if turn.role is Role.RESULT:
        # A tool use that went well is a message like any other; only a hook makes an event of it.
        return "PostToolUseFailure" if turn.failed and turn.call else ""
    return _EVENTS.get(turn.role, "")


def cut_clean(text: str, limit: int) -> str:
    """A long text's head and tail without secrets; only what may be kept is looked through."""
    if len(text) <= limit + 4 * _MARGIN or "private" in text.lower():
        return bound_text(_clean(text), limit)
    head, tail = limit * 2 // 3, limit // 3
    first = _clean(text[: head + _MARGIN])[:-_MARGIN]
    last = _clean(text[-tail - _MARGIN :])[_MARGIN:]
    left_out = len(text) - len(first) - len(last)
    return f"{first}\n[… {left_out:,} characters left out …]\n{last}"


def _clean(text: str) -> str:
    return redact(text).text


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
    if not is_plain(short):
        cleaned, _ = redact_document(short)
        short = cleaned if isinstance(cleaned, dict) else {}
    return {**short, **long}


def keys(agent: str, anchors: Sequence[str], text: str, event: str = "") -> tuple[int, ...]:
    """What a message is known by: each anchor together with its text, and the event that it is.

    A tool use has an id that no other has; its text differs between a hook's report and a transcript, so
    that it does not count. 63 bits, what SQLite keeps as an integer: ten million messages collide with
    probability 1e-5.
    """
    said = hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=16).digest()
    seeds = [
        f"{agent}\0{anchor}\0".encode("utf-8", "replace") + (b"" if _is_tool_use(anchor) else said)
        for anchor in anchors
    ]
    if event:
        seeds.append(f"event\0{event}".encode())
    return tuple(int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest(), "big") >> 1 for seed in seeds)


def _is_tool_use(anchor: str) -> bool:
    name, _, id_ = anchor.partition(":")
    return name in ("call", "result") and len(id_) >= _OWN_ID


def packed_text(text: str) -> bytes | None:
    """The text compressed; None if it is shorter as it is."""
    body = packed(clean(text))
    return body if isinstance(body, bytes) else None
