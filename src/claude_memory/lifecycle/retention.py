"""When what is old may go: by a clock that a wrong one cannot hurry.

A computer's clock may be years off for an hour, and what is deleted by it is gone. So retention counts
the time that it saw pass: between two looks at most a month, a jump counts for nothing. What is to go is
named a day before, and only a clock that ran on steadily since then carries it out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.model import MemoryFilter, MemoryId, SearchScope, Status
from claude_memory.platform import logs
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.store.model import EventFilter, MadeRoom, Pruned

if TYPE_CHECKING:
    from claude_memory.settings import Settings
    from claude_memory.store.base import Store

DAY = 86_400.0
JUMP_SECONDS = 35 * DAY  # who was away for longer loses nothing but a day
SET_BACK_SECONDS = 3_600.0  # clocks are corrected by seconds all the time
GRACE_SECONDS = DAY
_BYTES_IN_MB = 1 << 20
_ROOM, _STATE = "room.json", "retention.json"


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

    def past_undoing(self, days: int) -> list[str]:
        """Memories that were forgotten for so long, and a day more."""
        limit = self.steady - days * DAY - GRACE_SECONDS
        return [id_ for id_, since in self.forgotten.items() if since <= limit]

    def goes_at(self) -> datetime:
        return datetime.fromtimestamp(self.wall + GRACE_SECONDS, UTC)


def prune(
    home: Path, store: Store, settings: Settings, now: datetime, erase: Callable[[Sequence[MemoryId]], int]
) -> Pruned:
    """Let old events go, and what was forgotten long enough ago; at most once a day.

    What goes was named a day before, and the clock ran on since then without a jump. `erase` removes
    memories for good and says how many.
    """
    before = load(home)
    state = before.looked(now) if before is not None else Retention(now.timestamp())
    if state is None:
        return Pruned()
    if before is None or state.jumped_from is not None:
        save(home, state)
        return Pruned()
    hidden = store.memories.find(SearchScope(None), MemoryFilter(statuses=(Status.FORGOTTEN,)))
    # One that was brought back in between starts anew.
    seen = {str(item.id): state.forgotten.get(item.id, state.steady) for item in hidden}
    days = settings.keep_events_days
    due = state.events_before if days else None
    # Too old by the newest that is stored, not by the clock.
    newest = store.archive.events(SearchScope(None), EventFilter(), limit=1) if days else []
    to_go = [(min(now, event.timestamp) - timedelta(days=days)).timestamp() for event in newest]
    state = replace(state, forgotten=seen, events_before=to_go[0] if to_go else None)
    save(home, state)
    events = store.archive.prune(datetime.fromtimestamp(due, UTC)) if due is not None else 0
    undo_until = now - timedelta(days=settings.forget_undo_days)
    gone = [item.id for item in hidden if item.forgotten_at and item.forgotten_at < undo_until]
    past = set(state.past_undoing(settings.forget_undo_days))
    ids = [id_ for id_ in gone if id_ in past]
    return Pruned(events, erase(ids) if ids else 0)


def keep_within_cap(home: Path, store: Store, settings: Settings, now: datetime) -> MadeRoom:
    """Let the oldest go while the store is over its cap; what went is logged and kept for `doctor`."""
    cap = settings.store_cap_mb * _BYTES_IN_MB
    gone = store.archive.make_room(cap)
    if gone == MadeRoom():
        return gone
    gone += store.archive.make_room(cap - cap // 10)  # so that it is not done again after every session
    logs.logger("upkeep").warning("over store_cap_mb: %s", told(gone))
    known = room_made(home)
    document = asdict(gone + known[1] if known else gone) | {"at": now.timestamp()}
    write_atomically(private_folder(home / "cache") / _ROOM, json.dumps(document).encode())
    return gone


def room_made(home: Path) -> tuple[datetime, MadeRoom] | None:
    """When the cap was last kept, and all that went for it."""
    try:
        document = json.loads((home / "cache" / _ROOM).read_bytes())
        at = datetime.fromtimestamp(float(document.pop("at")), UTC)
        return at, MadeRoom(**{name: int(count) for name, count in document.items()})
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None


def told(gone: MadeRoom) -> str:
    return (
        f"{gone.tool_outputs} tool outputs, {gone.messages} messages and {gone.exchanges} exchanges went, "
        "the oldest first"
    )


def load(home: Path) -> Retention | None:
    """The state of the last look; None if there was none, or it cannot be read: then time starts anew."""
    try:
        state = Retention(**json.loads((home / "cache" / _STATE).read_bytes()))
        moments = (state.wall, state.steady, state.events_before, state.jumped_from)
        known = all(at is None or isinstance(at, int | float) for at in (*moments, *state.forgotten.values()))
        return state if known and state.wall is not None else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def save(home: Path, state: Retention) -> None:
    write_atomically(private_folder(home / "cache") / _STATE, json.dumps(asdict(state)).encode())
