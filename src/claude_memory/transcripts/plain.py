"""What the readers of all agents share: order, times, and which text is the last word to a prompt.

What a reader does not know it passes over; it never raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from claude_memory.transcripts.model import (
    Chain,
    Role,
    SourceFile,
    Turn,
    closing,
    moment_of,
    prompt_role,
    text_of,
)
from claude_memory.understand.speaker import Manner, Speaker, of_texts

_SPEAKERS = {
    Role.ASSISTANT: (Speaker.AGENT, Manner.SAID),
    Role.CALL: (Speaker.AGENT, Manner.CALL),
    Role.RESULT: (Speaker.TOOL, Manner.RESULT),
    Role.TASK: (Speaker.AGENT, Manner.TASK),
    Role.SUMMARY: (Speaker.AGENT, Manner.CONTINUATION),
    Role.NOTE: (Speaker.HARNESS, Manner.BOUNDARY),
}


class Reader(ABC):
    """Turns one agent's documents into turns; a subclass says what a document holds."""

    def __init__(self, source: SourceFile, state: Mapping[str, Any]) -> None:
        self.source = source
        self.session = text_of(state, "session") or source.path.stem.removesuffix(".jsonl")
        self.cwd = text_of(state, "cwd")
        self.branch = text_of(state, "branch")
        self.parent = text_of(state, "parent")
        self._at = moment_of(state.get("at")) or datetime.fromtimestamp(source.modified_ns / 1e9, UTC)
        self.chain = Chain(text_of(state, "chain"))
        self.stopped = state.get("stopped") is True  # the person interrupted the agent and said nothing since
        self._held: Turn | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing is held back, so that reading may pause here."""
        return self._held is None

    def state(self) -> dict[str, Any]:
        """What must be known to go on from here: ids, times and folders, never what was said."""
        known = {"session": self.session, "cwd": self.cwd, "branch": self.branch, "parent": self.parent}
        return {**known, "chain": self.chain.name, "stopped": self.stopped, "at": self._at.isoformat()}

    def feed(self, document: Mapping[str, Any]) -> list[Turn]:
        """The turns that are certain with this document."""
        return [turn for new in self.turns(document) for turn in self._settle(new)]

    def finish(self) -> list[Turn]:
        """What was held back: at the end of the file the last text is the reply."""
        held, self._held = self._held, None
        return [closing(held)] if held else []

    @abstractmethod
    def turns(self, document: Mapping[str, Any]) -> Iterator[Turn]:
        """The turns of one document, in order."""

    def _settle(self, turn: Turn) -> Iterator[Turn]:
        if self._held is not None and turn.role is Role.ASSISTANT and turn.text == self._held.text:
            return  # the same record, written again because it grew
        if self._held is not None:
            answered = turn.role in (Role.USER, Role.TASK, Role.SUMMARY, Role.NOTE)
            other = turn.session != self._held.session
            yield closing(self._held) if answered or other else self._held
            self._held = None
        if turn.role is Role.ASSISTANT:
            self._held = turn
        else:
            yield turn

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
            more["speaker"], more["manner"] = _SPEAKERS[role]
        self._at = moment_of(at) or self._at
        before = self.chain.grow(at, self.cwd, role, own, text)
        return Turn(
            session=self.session,
            role=role,
            text=text,
            at=self._at,
            cwd=self.cwd,
            branch=self.branch,
            anchors=(own, f"after:{before}") if own else (f"after:{before}",),
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
        return self.turn(
            Role.CALL, "", at, own=f"call:{id_}" if id_ else "", tool=tool, call=id_, given=shown
        )

    def result(self, id_: str, text: str, at: Any = None, *, failed: bool = False, tool: str = "") -> Turn:
        """What a tool answered."""
        own = f"result:{id_}" if id_ else ""
        return self.turn(Role.RESULT, text, at, own=own, tool=tool, call=id_, failed=failed)
