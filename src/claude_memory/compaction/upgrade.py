"""Puts a language model's summary in the place of the one by rules, once the model answers.

The rules' summary stands from the start and stays whenever a model fails; an endpoint that is down is left
alone for a while that doubles, so that a long outage costs nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory import logs
from claude_memory.compaction.budget import TokenLedger
from claude_memory.compaction.enrich import Enricher, OverBudget, Unusable
from claude_memory.compaction.keeping import RULES, Keeper, Material, document_of, rules_summary
from claude_memory.compaction.model import KeptSummary
from claude_memory.compaction.providers.protocol import Provider, ProviderDown
from claude_memory.files import private_folder, write_atomically
from claude_memory.locks import try_lock

FIRST_WAIT = timedelta(minutes=5)
LONGEST_WAIT = timedelta(hours=12)
AT_ONCE = 5
MAX_TRIES = 8  # of one summary: what a model cannot do by then, it will not


@dataclass(frozen=True, slots=True)
class Outage:
    """How long an endpoint is left alone after it failed."""

    home: Path

    @property
    def path(self) -> Path:
        return self.home / "cache" / "summariser-outage.json"

    def over(self, now: datetime) -> bool:
        try:
            return now.timestamp() >= float(json.loads(self.path.read_bytes())["until"])
        except (OSError, ValueError, KeyError, TypeError):
            return True

    def failed(self, now: datetime) -> None:
        try:
            waited = timedelta(seconds=float(json.loads(self.path.read_bytes())["seconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            waited = timedelta()
        wait = min(2 * waited or FIRST_WAIT, LONGEST_WAIT)
        private_folder(self.path.parent)
        state = {"until": (now + wait).timestamp(), "seconds": wait.total_seconds()}
        write_atomically(self.path, json.dumps(state).encode())

    def ended(self) -> None:
        self.path.unlink(missing_ok=True)


def upgrade(
    keeper: Keeper,
    provider: Provider,
    *,
    now: datetime,
    limit: int = AT_ONCE,
    pause: Callable[[float], None] = time.sleep,
) -> list[KeptSummary]:
    """Ask the model about the latest summaries that rules made; those it answered, with their new text."""
    if not Outage(keeper.home).over(now):
        return []
    with try_lock(private_folder(keeper.home / "cache") / "summariser.lock") as free:
        # Two drains at once would pay for the same summaries.
        return _upgraded(keeper, provider, now, limit, pause) if free else []


def _upgraded(
    keeper: Keeper, provider: Provider, now: datetime, limit: int, pause: Callable[[float], None]
) -> list[KeptSummary]:
    outage = Outage(keeper.home)
    enricher = Enricher(
        provider,
        TokenLedger(keeper.home, keeper.settings.summariser_daily_tokens),
        now=now,
        pause=pause,
    )
    better: list[KeptSummary] = []
    for kept, material in _waiting(keeper, limit):
        try:
            body = enricher.summary(material.turns, rules_summary(material), kept.id)
        except OverBudget:
            continue  # a shorter one may still fit into the day
        except Unusable as fault:
            logs.logger("compaction").warning("the rules' summary of %s stands: %s", kept.id, fault)
            _tried(keeper, kept)
            continue
        except ProviderDown as fault:
            logs.logger("compaction").warning("the rules' summary stands: %s", fault)
            _tried(keeper, kept)
            outage.failed(now)
            break
        outage.ended()
        by = {"provider": provider.name, "model": provider.model}
        written = _put(keeper, kept, document_of(material, body, by))
        if written is not None:
            keeper.remember_more(kept, written, material)
            better.append(written)
    return better


def _waiting(keeper: Keeper, limit: int) -> list[tuple[KeptSummary, Material]]:
    """Summaries by rules whose messages can still be read, the newest session first."""
    found: list[tuple[KeptSummary, Material]] = []
    for session in keeper.shelf.sessions():
        own = keeper.shelf.of(session)
        kept = {_boundary(one): one for one in own if _by_rules(one)}
        # What was erased still stands in the transcript: a model must neither read nor write it again.
        if kept and not any(_erased_from(one) for one in own):
            for material in keeper.material(session):
                if material.stretch.boundary in kept and material.turns:
                    found.append((kept[material.stretch.boundary], material))
        if len(found) >= limit:
            break
    return found[:limit]


def _by_rules(kept: KeptSummary) -> bool:
    by = kept.document.get("summariser")
    return isinstance(by, dict) and by.get("provider") == RULES and by.get("tries", 0) < MAX_TRIES


def _erased_from(kept: KeptSummary) -> bool:
    by = kept.document.get("summariser")
    return isinstance(by, dict) and bool(by.get("erased"))


def _tried(keeper: Keeper, kept: KeptSummary) -> None:
    by = dict(kept.document.get("summariser") or {})
    _put(keeper, kept, {"summariser": {**by, "tries": int(by.get("tries", 0)) + 1}})


def _put(keeper: Keeper, kept: KeptSummary, changes: Mapping[str, Any]) -> KeptSummary | None:
    """Write changes of the summary that was read; one that was changed or erased since stays as it is."""

    def change(now: Mapping[str, Any]) -> Mapping[str, Any] | None:
        same = all(now.get(name) == kept.document.get(name) for name in ("summary", "summariser"))
        return {**now, **changes} if same else None

    return keeper.shelf.replace(kept, change)


def _boundary(kept: KeptSummary) -> str:
    source = kept.document.get("source")
    return str(source.get("boundary")) if isinstance(source, dict) else ""
