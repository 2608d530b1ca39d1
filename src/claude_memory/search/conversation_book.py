"""The archived conversations of every project, for `memory.conversations`: look up, read, resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from claude_memory.search import lookup
from claude_memory.search.conversations import asked_of
from claude_memory.search.message_match import Question
from claude_memory.search.resume import Resume, resume
from claude_memory.store.archive_protocol import Archive, Conversation, Message


@dataclass(frozen=True, slots=True)
class ConversationBook:
    """What agents and people said, message by message."""

    archive: Archive

    def named(self, id_: str) -> Conversation:
        """The one conversation whose id begins so."""
        return lookup.find(self.archive, id_)

    def messages(
        self, conversation: Conversation, *, first: int = 1, last: int | None = None
    ) -> Sequence[Message]:
        """Its messages by their ordinals."""
        return self.archive.messages(conversation.number, first=first, last=last)

    def count(self) -> int:
        """How many there are."""
        return self.archive.totals()["conversations"]

    def agents(self) -> Sequence[str]:
        """Whose there are."""
        return self.archive.agents()

    def asked(self, query: str) -> Question:
        """A question taken apart, to mark in messages what answers it."""
        return asked_of(self.archive, query) if query.strip() else Question("", {}, {}, {})

    @staticmethod
    def resume(conversation: Conversation) -> Resume | None:
        """How a person goes on with it; None where its agent has no command for that."""
        return resume(conversation)

    @staticmethod
    def range_of(named: str) -> tuple[str, int, int | None]:
        """`ID`, `ID:7`, `ID:5-9`, `ID:5-`, `ID:-9`: the id, the first and the last message wanted."""
        return lookup.split_range(named)
