"""What readers give, and what the readers of all agents share.

A turn is one thing said or done, whatever agent wrote it: raw, neither redacted nor bounded. `Reader` knows
order, times, and which text is the last word to a prompt. What a reader does not know it passes over; it
never raises.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from claude_memory.understand.speaker import Manner, Speaker, Verdict, of_prompt, of_texts


class Role(StrEnum):
    """What a turn is in the archive's format. Who speaks in it is its `speaker`."""

    USER = "user"  # what the agent was given as a prompt, by whomever
    ASSISTANT = "assistant"
    CALL = "call"  # the agent calls a tool
    RESULT = "result"  # what the tool answered
    TASK = "task"  # an agent's order to a sub-agent, or a program's that reads like a person's
    SUMMARY = "summary"  # what a compaction left
    NOTE = "note"  # a boundary: compacted here, rewound there


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file (or database) that holds conversations, as it was when it was found."""

    agent: str
    path: Path
    size: int = 0
    modified_ns: int = 0
    inode: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said or done.

    `anchors` name the turn, each together with its text: ids, and a hash of all that went before. A copy
    of a conversation keeps at least one of them.
    """

    session: str
    role: Role
    text: str
    at: datetime
    speaker: Speaker = Speaker.HARNESS
    manner: Manner = Manner.REMINDER
    cwd: str = ""
    branch: str = ""
    anchors: tuple[str, ...] = ()
    tool: str = ""
    call: str = ""  # the agent's id of the tool use
    given: Mapping[str, Any] = field(default_factory=dict)  # a call's input
    failed: bool = False
    interrupted: bool = False
    final: bool = False  # the assistant's last word to a prompt
    prompt: str = ""  # the agent's id of the prompt it belongs to
    subagent: str = ""
    parent: str = ""  # the session that a sub-agent works for


def prompt_role(said: Verdict) -> Role:
    """A prompt's role. What only its record betrays is a task: by its text it would pass for a person's."""
    if said.manner is Manner.TASK:
        return Role.TASK
    passes = said.speaker is not Speaker.PERSON and of_prompt(said.words).speaker is Speaker.PERSON
    return Role.TASK if passes else Role.USER


def chained(name: str, *parts: Any) -> str:
    """The name of all up to a turn, by that of all before: copies share it, other conversations never do."""
    seed = "\0".join((name, *map(str, parts))).encode("utf-8", "replace")
    return hashlib.blake2b(seed, digest_size=16).hexdigest()


# --- members of a document that may hold anything


def text_of(value: Mapping[str, Any], key: str) -> str:
    """The member, if it is a text; else an empty one."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def mapping_of(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def list_of(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def moment_of(value: Any) -> datetime | None:
    """A time as agents write it: ISO 8601, or milliseconds (or seconds) since 1970."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message's content; a plain text is one block."""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [block for block in blocks if isinstance(block, dict)]


def joined_text(content: Any) -> str:
    """The texts of a message's content: a string, or a list of blocks; pictures leave a mark."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            if isinstance(block.get("text"), str):
                parts.append(block["text"])
            elif block.get("type") in ("image", "input_image", "document"):
                parts.append(f"[{block['type']}]")
    return "\n".join(parts)


# --- what all readers share

_ANSWERED = (Role.USER, Role.TASK, Role.SUMMARY, Role.NOTE)
SPEAKERS = {
    Role.ASSISTANT: (Speaker.AGENT, Manner.SAID),
    Role.CALL: (Speaker.AGENT, Manner.CALL),
    Role.RESULT: (Speaker.TOOL, Manner.RESULT),
    Role.TASK: (Speaker.AGENT, Manner.TASK),
    Role.SUMMARY: (Speaker.AGENT, Manner.CONTINUATION),
    Role.NOTE: (Speaker.HARNESS, Manner.BOUNDARY),
}


_TIMESTAMP = re.compile(rb'"timestamp": ?"([^"]{10,40})"')
_HEAD_BYTES = 1 << 16


class Reader(ABC):
    """Turns one agent's documents into turns; a subclass says what a document holds."""

    @staticmethod
    def is_bookkeeping(raw: bytes) -> bool:  # noqa: ARG004
        """Whether a line is certainly no conversation, told from its first bytes."""
        return False

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.source = source
        self.session = text_of(state, "session") or source.path.stem.removesuffix(".jsonl")
        self.cwd = text_of(state, "cwd")
        self.branch = text_of(state, "branch")
        self.parent = text_of(state, "parent")
        self._at = moment_of(state.get("at")) or self._first_moment()
        self.chain = text_of(state, "chain")  # the name of all that was said so far
        self.stopped = state.get("stopped") is True  # the person interrupted the agent and said nothing since
        self._held: Turn | None = None  # the agent's text that may be its last word to a prompt

    def _first_moment(self) -> datetime:
        """What stands before the first time is from then, not from when the file was copied."""
        stated = None
        with suppress(OSError), self.source.path.open("rb") as handle:
            match = _TIMESTAMP.search(handle.read(_HEAD_BYTES))
            stated = moment_of(match[1].decode("ascii", "replace")) if match else None
        return stated or datetime.fromtimestamp(self.source.modified_ns / 1e9, UTC)

    @property
    def settled(self) -> bool:
        """Whether nothing is held back, so that reading may pause here."""
        return self._held is None

    def state(self) -> dict[str, Any]:
        """What must be known to go on from here: ids, times and folders, never what was said."""
        known = {"session": self.session, "cwd": self.cwd, "branch": self.branch, "parent": self.parent}
        return {**known, "chain": self.chain, "stopped": self.stopped, "at": self._at.isoformat()}

    def feed(self, document: Mapping[str, Any]) -> list[Turn]:
        """The turns that are certain with this document."""
        return [turn for new in self.turns(document) for turn in self._settle(new)]

    def finish(self) -> list[Turn]:
        """What was held back: at the end of the file the last text is the reply."""
        return self._released(closes=True)

    @abstractmethod
    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one document, in order."""

    def _settle(self, turn: Turn) -> Iterator[Turn]:
        held, says = self._held, turn.role is Role.ASSISTANT and not turn.failed
        if held is not None and says and turn.text == held.text:
            return  # the same record, written again because it grew
        other = held is not None and turn.session != held.session
        yield from self._released(closes=other or turn.role in _ANSWERED)
        if says:
            self._held = turn
        else:
            yield turn

    def _released(self, *, closes: bool) -> list[Turn]:
        held, self._held = self._held, None
        if held is not None and closes:
            held = replace(held, final=True, manner=Manner.CLOSING)
        return [held] if held is not None else []

    def prompt(
        self,
        texts: Iterable[str],
        at: Any = None,
        *,
        own: str = "",
        facts: Mapping[str, Any] | None = None,
        queued: bool = False,
    ) -> Iterator[Turn]:
        """The turn of what the agent was given as a prompt; none if a program only reminded it."""
        side = {"isSidechain": True} if self.parent else {}
        said = of_texts(texts, {**(facts or {}), **side})
        if said is None:
            return
        speaker, manner, words = said
        if speaker is Speaker.PERSON:
            if self.stopped or queued:
                manner = Manner.AFTER_INTERRUPTION if self.stopped else Manner.QUEUED
            self.stopped = False
        yield self.turn(prompt_role(said), words, at, own=own, speaker=speaker, manner=manner)

    def turn(self, role: Role, text: str, at: Any = None, *, own: str = "", **more: Any) -> Turn:
        """One turn of this conversation. `own` is the agent's id of it, if it has one."""
        if "speaker" not in more:
            more["speaker"], more["manner"] = SPEAKERS[role]
        self._at = moment_of(at) or self._at
        self.chain = chained(self.chain, at, self.cwd, role, own, text)
        after = f"after:{self.chain}"
        return Turn(
            session=self.session,
            role=role,
            text=text,
            at=self._at,
            cwd=self.cwd,
            branch=self.branch,
            anchors=(own, after) if own else (after,),
            parent=self.parent,
            subagent=self.session if self.parent else "",
            **more,
        )

    def tool(self, name: str, id_: str, given: Any, answer: str, at: Any, *, failed: bool) -> Iterator[Turn]:
        """A tool call, and what it answered if that is known already."""
        yield self.call(name, id_, given, at)
        if answer:
            yield self.result(id_, answer, at, failed=failed, tool=name)

    def call(self, tool: str, id_: str, given: Any, at: Any = None) -> Turn:
        """A tool call; an input that is no object is kept as its one member."""
        shown = given if isinstance(given, Mapping) else {"input": given} if given else {}
        own = f"call:{id_}" if id_ else ""
        return self.turn(Role.CALL, "", at, own=own, tool=tool, call=id_, given=shown)

    def result(self, id_: str, text: str, at: Any = None, *, failed: bool = False, tool: str = "") -> Turn:
        own = f"result:{id_}" if id_ else ""
        return self.turn(Role.RESULT, text, at, own=own, tool=tool, call=id_, failed=failed)
