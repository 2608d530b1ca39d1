"""What readers give: turns of a conversation, in order, whatever agent wrote them.

Values only. A turn is raw: nothing here is redacted, bounded or fit to be stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from claude_memory.understand.speaker import Manner, Speaker, Verdict, of_prompt


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


def closing(turn: Turn) -> Turn:
    """An agent's text that turned out to be its last word to a prompt."""
    return replace(turn, final=True, manner=Manner.CLOSING)


class Chain:
    """A name for everything said so far: copies of a conversation share it, other conversations never do."""

    def __init__(self, seed: str = "") -> None:
        self.name = seed

    def grow(self, *parts: Any) -> str:
        """Add a turn; the name of all up to it."""
        seed = "\0".join((self.name, *map(str, parts))).encode("utf-8", "replace")
        self.name = hashlib.blake2b(seed, digest_size=16).hexdigest()
        return self.name


def text_of(value: Mapping[str, Any], key: str) -> str:
    """The member, if it is a text."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def mapping_of(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The member, if it is an object; else an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def list_of(value: Mapping[str, Any], key: str) -> list[Any]:
    """The member, if it is a list; else an empty one."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def moment_of(value: Any) -> datetime | None:
    """A time as agents write it: ISO 8601, or milliseconds (or seconds) since 1970."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) > 1e11 else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message's content; a plain text is one block."""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [block for block in blocks if isinstance(block, dict)]


def joined_text(content: Any) -> str:
    """The texts of a message's content: a string, or a list of blocks; pictures leave a mark."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            if isinstance(block.get("text"), str):
                parts.append(block["text"])
            elif block.get("type") in ("image", "input_image", "document"):
                parts.append(f"[{block['type']}]")
    return "\n".join(parts)
