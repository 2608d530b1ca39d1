"""Asks a language model what sessions settled, where a setting names one: after the session, within the cap.

The same providers, schema, ledger and outage as for compactions. What it tells is proposed, never settled:
how right a person's own model is, nobody here has measured. Which sessions were asked about is in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory.model import Kind, Status, StoredMemory, Trust, memory_id
from claude_memory.platform import logs
from claude_memory.platform.files import private_folder
from claude_memory.platform.locks import try_lock
from claude_memory.store.archive_protocol import Archive, Conversation
from claude_memory.store.protocol import Store
from claude_memory.summaries.asking import Asker, OverBudget, Unusable
from claude_memory.summaries.ledger import TokenLedger
from claude_memory.summaries.providers.protocol import Provider, ProviderDown
from claude_memory.summaries.summarise import summarise
from claude_memory.summaries.upgrading import Outage
from claude_memory.text.words import query_terms
from claude_memory.understand import sessions
from claude_memory.understand.titles import title_of

RESTING = timedelta(minutes=30)  # a session that was silent for so long is over, or may be summed up as if
AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class SessionAsking:
    """Asks one model about the latest sessions."""

    home: Path
    store: Store
    archive: Archive
    provider: Provider
    daily_tokens: int
    pause: Callable[[float], None]

    def run(self, now: datetime, *, limit: int = AT_ONCE) -> int:
        """Ask about sessions that are over; returns how many memories were proposed."""
        if not Outage(self.home).over(now):
            return 0
        with try_lock(private_folder(self.home / "cache") / "summariser.lock") as free:
            return self._asked(now, limit) if free else 0

    def _asked(self, now: datetime, limit: int) -> int:
        asker = Asker(self.provider, TokenLedger(self.home, self.daily_tokens), now=now, pause=self.pause)
        proposed = 0
        for conversation in self.archive.unasked(before=now - RESTING, limit=limit):
            exchanges = [
                sessions.from_json(record) for *_, record in self.archive.exchanges(conversation.number)
            ]
            exchanges = [exchange for exchange in exchanges if exchange.asked]
            try:
                told = (
                    asker.summary(exchanges, summarise(exchanges), conversation.session) if exchanges else {}
                )
            except OverBudget:
                continue
            except Unusable as fault:  # asking again would cost the same and give the same
                logs.logger("summaries").warning("a session is not asked about: %s", fault)
                told = {}
            except ProviderDown as fault:
                logs.logger("summaries").warning("the model does not answer: %s", fault)
                Outage(self.home).failed(now)
                break
            proposed += self.store.add([], list(_proposed(conversation, told))).memories
            self.archive.asked(conversation.number, conversation.messages)
        return proposed


def _proposed(conversation: Conversation, told: Mapping[str, Any]) -> Iterator[StoredMemory]:
    for entry in told.get("key_decisions", ()):
        because = f"\nBecause: {entry['rationale']}" if entry.get("rationale") else ""
        yield _memory(conversation, Kind.DECISION, f"{entry['decision']}{because}", entry)
    for entry in told.get("error_solutions", ()):
        yield _memory(conversation, Kind.FIX, f"{entry['error']}\nFix: {entry['solution']}", entry)
    for text in told.get("conventions", ()):
        yield _memory(conversation, Kind.CONVENTION, str(text), {})


def _memory(conversation: Conversation, kind: Kind, body: str, entry: Mapping[str, Any]) -> StoredMemory:
    key = " ".join(query_terms(body)[:40])
    messages = [int(place) for place in entry.get("messages", ())]
    return StoredMemory(
        id=memory_id(f"statement:{conversation.project}:model:{kind}:{key}"),
        project=conversation.project,
        kind=kind,
        title=title_of(body),
        body=body,
        created_at=conversation.last,
        updated_at=conversation.last,
        trust=Trust.AGENT,
        status=Status.PROPOSED,
        session=conversation.session,
        files=tuple(str(path) for path in entry.get("files", ()))[:8],
        provenance={
            "source": "understood",
            "by": "model",
            "places": [{"conversation": conversation.session, "messages": messages}],
        },
    )
