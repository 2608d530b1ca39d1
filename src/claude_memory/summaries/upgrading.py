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

from claude_memory.platform import logs
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.summaries.asking import Asker, OverBudget, Unusable
from claude_memory.summaries.keeper import Keeper, Material, by_rules, document
from claude_memory.summaries.ledger import TokenLedger
from claude_memory.summaries.model import OPEN, RULES, KeptSummary
from claude_memory.summaries.providers.protocol import Provider, ProviderDown

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


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Asks one model about the latest summaries that rules made.

    `materials` gives what each compaction of a session took, while that can still be read.
    """

    keeper: Keeper
    provider: Provider
    materials: Callable[[str], list[Material]]
    daily_tokens: int
    pause: Callable[[float], None] = time.sleep

    def run(self, now: datetime, *, limit: int = AT_ONCE) -> list[KeptSummary]:
        """The summaries that the model answered for, with their new text."""
        home = self.keeper.home
        if not Outage(home).over(now):
            return []
        with try_lock(private_folder(home / "cache") / "summariser.lock") as free:
            # Two drains at once would pay for the same summaries.
            return self._asked(now, limit) if free else []

    def _asked(self, now: datetime, limit: int) -> list[KeptSummary]:
        outage = Outage(self.keeper.home)
        asker = Asker(
            self.provider, TokenLedger(self.keeper.home, self.daily_tokens), now=now, pause=self.pause
        )
        better: list[KeptSummary] = []
        for kept, took in self._waiting(limit):
            try:
                body = asker.summary(took.exchanges, by_rules(took), kept.id)
            except OverBudget:
                continue  # a shorter one may still fit into the day
            except Unusable as fault:
                self._warn(kept, fault)
                continue
            except ProviderDown as fault:
                self._warn(kept, fault)
                outage.failed(now)
                break
            outage.ended()
            by = {"provider": self.provider.name, "model": self.provider.model}
            written = self._put(kept, document(took, body, by))
            if written is not None:
                self.keeper.remember(written, took.project)
                better.append(written)
        return better

    def _waiting(self, limit: int) -> list[tuple[KeptSummary, Material]]:
        """Summaries by rules whose messages can still be read, the newest session first."""
        found: list[tuple[KeptSummary, Material]] = []
        for session in self.keeper.shelf.sessions():
            own = self.keeper.shelf.of(session)
            kept = {one.boundary: one for one in own if _by_rules(one)}
            # What was erased still stands in the transcript: a model must neither read nor write it again.
            if kept and not any(one.erased for one in own):
                for took in self.materials(session):
                    if took.stretch.boundary in kept and took.exchanges:
                        found.append((kept[took.stretch.boundary], took))
            if len(found) >= limit:
                break
        return found[:limit]

    def _warn(self, kept: KeptSummary, fault: ProviderDown) -> None:
        logs.logger("compaction").warning("the rules' summary of %s stands: %s", kept.id, fault)
        by = dict(kept.document.get("summariser") or {})
        self._put(kept, {"summariser": {**by, "tries": int(by.get("tries", 0)) + 1}})

    def _put(self, kept: KeptSummary, changes: Mapping[str, Any]) -> KeptSummary | None:
        """Write changes of the summary that was read; one that was changed or erased since stays as it is."""

        def change(now: Mapping[str, Any]) -> Mapping[str, Any] | None:
            same = all(now.get(name) == kept.document.get(name) for name in ("summary", "summariser"))
            return {**now, **changes} if same else None

        return self.keeper.shelf.replace(kept, change)


def _by_rules(kept: KeptSummary) -> bool:
    by = kept.document.get("summariser")
    rules = isinstance(by, dict) and by.get("provider") == RULES and by.get("tries", 0) < MAX_TRIES
    return rules and kept.kind != OPEN  # the agent's own summary is still to come
