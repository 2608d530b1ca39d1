"""When what is old may go: by a clock that a wrong one cannot hurry.

A computer's clock may be years off for an hour, and what is deleted by it is gone. So retention counts
the time that it saw pass: between two looks at most a month, a jump counts for nothing. What is to go is
named a day before, and only a clock that ran on steadily since then carries it out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_memory.platform.files import private_folder, write_atomically

DAY = 86_400.0
JUMP_SECONDS = 35 * DAY  # who was away for longer loses nothing but a day
SET_BACK_SECONDS = 3_600.0  # clocks are corrected by seconds all the time
GRACE_SECONDS = DAY


@dataclass(frozen=True, slots=True)
class Retention:
    """What the last look saw. Moments are seconds since 1970; `steady` is the time seen to pass."""

    wall: float
    steady: float = 0.0
    # Events from before this moment go at the next look, if the clock runs on until then.
    events_before: float | None = None
    # For each forgotten memory the steady time at which it was first seen forgotten.
    forgotten: Mapping[str, float] = field(default_factory=dict)
    jumped_from: float | None = None

    def looked(self, now: datetime) -> Retention | None:
        """The state at a new look; None if the last one was less than a day ago."""
        passed = now.timestamp() - self.wall
        if passed < -SET_BACK_SECONDS or passed > JUMP_SECONDS:
            return replace(self, wall=now.timestamp(), events_before=None, jumped_from=self.wall)
        if passed < GRACE_SECONDS:
            return None
        return replace(self, wall=now.timestamp(), steady=self.steady + passed, jumped_from=None)

    def seen_forgotten(self, ids: Collection[str]) -> Retention:
        """Note which memories are forgotten now; one that was brought back starts anew."""
        return replace(self, forgotten={id_: self.forgotten.get(id_, self.steady) for id_ in ids})

    def past_undoing(self, days: int) -> list[str]:
        """Memories that were forgotten for so long, and a day more."""
        limit = self.steady - days * DAY - GRACE_SECONDS
        return [id_ for id_, since in self.forgotten.items() if since <= limit]

    def goes_at(self) -> datetime:
        """When the next look may carry out what is named now."""
        return datetime.fromtimestamp(self.wall + GRACE_SECONDS, UTC)


def load(home: Path) -> Retention | None:
    """The state of the last look; None if there was none, or it cannot be read: then time starts anew."""
    try:
        found: Any = json.loads(_path(home).read_bytes())
        jumped = found.get("jumped_from")
        before = found.get("events_before")
        return Retention(
            wall=float(found["wall"]),
            steady=float(found["steady"]),
            events_before=float(before) if before is not None else None,
            forgotten={str(id_): float(since) for id_, since in found["forgotten"].items()},
            jumped_from=float(jumped) if jumped is not None else None,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def save(home: Path, state: Retention) -> None:
    """Keep the state for the next look."""
    private_folder(home / "cache")
    write_atomically(_path(home), json.dumps(asdict(state)).encode())


def _path(home: Path) -> Path:
    return home / "cache" / "retention.json"
