"""Prompts that wait while Claude Code's agent works: which of them stand nowhere else in the transcript.

A prompt is put into the queue; then it is submitted (its own line follows), handed to the agent in the
middle of its work (in older versions nothing follows), or taken back by the person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from claude_memory.transcripts.model import text_of
from claude_memory.understand.speaker import Speaker, of_prompt


@dataclass(slots=True, eq=False)
class Waiting:
    """One prompt in the queue, the line that put it there, and whether the agent worked meanwhile."""

    text: str
    line: Mapping[str, Any]
    worked: bool = False


class Queue:
    """The prompts that wait, oldest first."""

    def __init__(self, told: Iterable[Any] = ()) -> None:
        self._waiting: list[Waiting] = []
        self._submitted: list[Waiting] = []
        self._told = {str(name) for name in told}

    @property
    def waits(self) -> bool:
        """Whether anything is in it that its own line may still tell."""
        return bool(self._waiting or self._submitted)

    def state(self) -> list[str]:
        """The names of what was told from the queue since a person last spoke; never what was said."""
        return sorted(self._told)

    def works(self) -> None:
        """The agent said or did something."""
        for prompt in self._waiting:
            prompt.worked = True

    def changed(self, line: Mapping[str, Any]) -> list[Waiting]:
        """Take note of one operation; returns the person's prompts that nothing else will tell."""
        operation, text = line.get("operation"), text_of(line, "content")
        if operation == "enqueue":
            self._waiting.append(Waiting(text, line))
        elif operation == "popAll":
            self._waiting.clear()  # taken back before the agent saw them
        elif operation == "dequeue" and (prompt := self._taken(text)):
            self._submitted.append(prompt)
        elif operation == "remove" and (prompt := self._taken(text)):
            return list(self._tell([prompt]))
        return []

    def arrived(self, text: str) -> Waiting | None:
        """The prompt that waited and now has its own line, alone or together with others."""
        said = text.strip()
        submitted = [prompt for prompt in self._submitted if prompt.text.strip() in said]
        waiting = [prompt for prompt in self._waiting if prompt.text.strip() == said][:1]
        found = submitted or waiting
        self._submitted = [prompt for prompt in self._submitted if prompt not in found]
        self._waiting = [prompt for prompt in self._waiting if prompt not in found]
        return found[0] if found else None

    def rest(self) -> list[Waiting]:
        """The person's prompts that are left; their own lines are not expected any more."""
        prompts = [*self._submitted, *self._waiting]
        self._submitted, self._waiting = [], []
        return list(self._tell(prompts))

    def was_told(self, text: str) -> bool:
        """Whether these words were already told from the queue; each is asked for once."""
        name = _name(text)
        known = name in self._told
        self._told.discard(name)
        return known

    def _taken(self, text: str) -> Waiting | None:
        found = next((prompt for prompt in self._waiting if text and prompt.text == text), None)
        found = found or (self._waiting[0] if self._waiting else None)
        if found is not None:
            self._waiting.remove(found)
        return found

    def _tell(self, prompts: list[Waiting]) -> Iterator[Waiting]:
        for prompt in prompts:
            verdict = of_prompt(prompt.text)
            if verdict.speaker is Speaker.PERSON and prompt.text.strip():
                self._told.add(_name(verdict.words))
                yield Waiting(verdict.words, prompt.line, worked=True)

    def forget(self) -> None:
        """A person typed something new: no line will repeat what was told before."""
        self._told.clear()


def _name(text: str) -> str:
    return hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()
