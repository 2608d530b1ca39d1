"""Asks a language model about what rules summed up, where a setting names one: compactions and sessions.

The rules' summary stands from the start and stays whenever a model fails. What a model tells of a session is
proposed, never settled: how right a person's own model is, nobody here has measured. One process asks at a
time, and an endpoint that is down is left alone for a while that doubles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory.model import Status, StoredMemory, Trust, memory_id
from claude_memory.platform import logs
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.store.archive_model import Conversation
from claude_memory.store.protocol import Archive, Store
from claude_memory.summaries.asking import Asker, OverBudget, Unusable
from claude_memory.summaries.keeping import Keeper, Material, written_entries
from claude_memory.summaries.making import summarise
from claude_memory.summaries.model import OPEN, RULES, KeptSummary
from claude_memory.summaries.providers import ProviderDown
from claude_memory.summaries.shelf import Shelf
from claude_memory.text.words import query_terms
from claude_memory.understand import sessions
from claude_memory.understand.model import Exchange
from claude_memory.understand.titles import title_of

FIRST_WAIT = timedelta(minutes=5)
LONGEST_WAIT = timedelta(hours=12)
SUMMARIES_AT_ONCE, SESSIONS_AT_ONCE = 5, 3
MAX_TRIES = 8  # of one summary: what a model cannot do by then, it will not
RESTING = timedelta(minutes=30)  # a session that was silent for so long is over, or may be summed up as if


@dataclass(frozen=True, slots=True)
class Outage:
    """How long an endpoint is left alone after it failed."""

    path: Path

    def _noted(self, name: str) -> float:
        try:
            return float(json.loads(self.path.read_bytes())[name])
        except (OSError, ValueError, KeyError, TypeError):
            return 0.0

    def over(self, now: datetime) -> bool:
        return now.timestamp() >= self._noted("until")

    def failed(self, now: datetime) -> None:
        wait = min(timedelta(seconds=2 * self._noted("seconds")) or FIRST_WAIT, LONGEST_WAIT)
        state = {"until": (now + wait).timestamp(), "seconds": wait.total_seconds()}
        write_atomically(self.path, json.dumps(state).encode())


@dataclass(frozen=True, slots=True)
class Question:
    """Something to be summed up by a model, and what that is about."""

    subject: Any
    named: str
    exchanges: Sequence[Exchange]
    rules: Mapping[str, Any]


def answers(
    asker: Asker, questions: Callable[[], Iterable[Question]]
) -> Iterator[tuple[Any, dict[str, Any] | ProviderDown]]:
    """Ask, one process at a time, while the model is up: each subject with its answer, or why there is none.

    What does not fit into the day is passed over: a shorter one may.
    """
    cache = private_folder(asker.ledger.home / "cache")
    outage = Outage(cache / "summariser-outage.json")
    if not outage.over(asker.now):
        return
    with try_lock(cache / "summariser.lock") as free:
        for question in questions() if free else ():
            try:
                body = asker.summary(question.exchanges, question.rules, question.named)
            except OverBudget:
                continue
            except Unusable as fault:
                yield question.subject, fault
            except ProviderDown as fault:
                outage.failed(asker.now)
                yield question.subject, fault
                return
            else:
                outage.path.unlink(missing_ok=True)
                yield question.subject, body


def upgrade(keeper: Keeper, asker: Asker, materials: Callable[[str], list[Material]]) -> list[KeptSummary]:
    """Put a model's summary in the place of the one by rules, the latest first: those it answered for.

    `materials` gives what each compaction of a session took, while that can still be read.
    """
    by = {"provider": asker.provider.name, "model": asker.provider.model}
    better: list[KeptSummary] = []
    for (kept, took), answer in answers(asker, lambda: _poor(keeper.shelf, materials)):
        if isinstance(answer, ProviderDown):
            logs.logger("compaction").warning("the rules' summary of %s stands: %s", kept.id, answer)
            tries = int(kept.part("summariser").get("tries", 0)) + 1
            _put(keeper.shelf, kept, {"summariser": {**kept.part("summariser"), "tries": tries}})
        elif written := _put(keeper.shelf, kept, took.document(answer, by)):
            keeper.remember(written, took.project)
            better.append(written)
    return better


def _poor(shelf: Shelf, materials: Callable[[str], list[Material]]) -> list[Question]:
    """Summaries by rules whose messages can still be read, the newest session first."""
    waiting: list[Question] = []
    for session in shelf.sessions():
        own = shelf.of(session)
        kept = {one.boundary: one for one in own if _may_be_bettered(one)}
        # What was erased still stands in the transcript: a model must neither read nor write it again.
        for took in materials(session) if kept and not any(one.erased for one in own) else ():
            one = kept.get(took.stretch.boundary)
            if one is not None and took.exchanges:
                waiting.append(Question((one, took), one.id, took.exchanges, took.summary()))
        if len(waiting) >= SUMMARIES_AT_ONCE:
            break
    return waiting[:SUMMARIES_AT_ONCE]


def _put(shelf: Shelf, kept: KeptSummary, changes: Mapping[str, Any]) -> KeptSummary | None:
    """Write changes of the summary that was read; one that was changed or erased since stays as it is."""

    def change(now: Mapping[str, Any]) -> Mapping[str, Any] | None:
        same = all(now.get(name) == kept.document.get(name) for name in ("summary", "summariser"))
        return {**now, **changes} if same else None

    return shelf.replace(kept, change)


def _may_be_bettered(kept: KeptSummary) -> bool:
    tries = kept.part("summariser").get("tries", 0)
    # Of an open one the agent's own summary is still to come.
    return kept.provider == RULES and tries < MAX_TRIES and kept.kind != OPEN


def ask_about_sessions(store: Store, asker: Asker) -> int:
    """Ask about sessions that are over, each once until it grows; returns how many memories were proposed."""
    proposed = 0
    for conversation, answer in answers(asker, lambda: _over(store.archive, asker.now)):
        if isinstance(answer, ProviderDown):
            logs.logger("summaries").warning("a session is not asked about: %s", answer)
            if not isinstance(answer, Unusable):  # else asking again would cost and give the same
                continue
        body = {} if isinstance(answer, ProviderDown) else answer
        proposed += store.memories.add(list(_proposed(conversation, body))).memories
        store.archive.asked(conversation.number, conversation.messages)
    return proposed


def _over(archive: Archive, now: datetime) -> Iterator[Question]:
    for conversation in archive.unasked(before=now - RESTING, limit=SESSIONS_AT_ONCE):
        records = [record for *_, record in archive.exchanges(conversation.number)]
        exchanges = [one for record in records if (one := sessions.from_json(record)).asked]
        yield Question(conversation, conversation.session, exchanges, summarise(exchanges))


def _proposed(conversation: Conversation, told: Mapping[str, Any]) -> Iterator[StoredMemory]:
    for kind, title, body, entry in written_entries(told):
        key = " ".join(query_terms(body)[:40])
        messages = [int(place) for place in entry.get("messages", ())]
        place = {"conversation": conversation.session, "messages": messages}
        yield StoredMemory(
            id=memory_id(f"statement:{conversation.project}:model:{kind}:{key}"),
            project=conversation.project,
            kind=kind,
            title=title_of(title),
            body=body,
            created_at=conversation.last,
            updated_at=conversation.last,
            trust=Trust.AGENT,
            status=Status.PROPOSED,
            session=conversation.session,
            files=tuple(str(path) for path in entry.get("files", ()))[:8],
            provenance={"source": "understood", "by": "model", "places": [place]},
        )
