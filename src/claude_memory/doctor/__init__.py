"""`claude-memory doctor`: looks at a home from every side and says what is wrong and what to do.

Belongs here: one check after another, each with its level, its words and its hint. It reads, never raises.
Does not: repairing anything, making or migrating a store (store), loading a model unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from claude_memory import settings as settings_module
from claude_memory.errors import ConfigFault, MemoryFault
from claude_memory.lifecycle import retention
from claude_memory.settings import Settings
from claude_memory.text import times


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it stands, and what to do about it."""

    name: str
    level: str  # ok, warn, fail
    message: str
    hint: str = ""


def check(home: Path, project_root: Path | None = None) -> list[Check]:
    """Everything that can be said about a home within a few seconds."""
    from claude_memory.doctor import contents, surroundings

    finding, settings = _settings(home, project_root)
    probes: dict[str, Callable[[], Iterable[Check]]] = {
        "versions": surroundings.versions,
        "home": partial(surroundings.home, home),
        "disk": partial(surroundings.disk, home),
        "settings": lambda: [finding],
    }
    if home.is_dir():
        stored, view = contents.look(home, settings)
        probes |= {
            "locks": partial(surroundings.locking, home),
            "store": lambda: stored,
            "spool": partial(contents.spool, home, settings),
            "mirror": partial(contents.mirror_files, home, view),
            "search": partial(contents.search, home, settings, view),
            "backups": partial(surroundings.backups, home, settings),
            "logs": partial(surroundings.logs, home, settings),
            "conversations": partial(surroundings.histories, home, settings),
        }
    if project_root is not None:
        probes["tasks"] = partial(surroundings.tasks, home, project_root)
        probes["agents"] = partial(surroundings.agents, project_root, home)
    probes["retention"] = partial(_retention, home, settings)
    found = [item for name, probe in probes.items() for item in _probed(name, probe)]
    return [item if item.level != "ok" else replace(item, hint="") for item in found]


def _probed(name: str, probe: Callable[[], Iterable[Check]]) -> list[Check]:
    """A probe's findings; where it cannot even look, that is the finding."""
    try:
        return list(probe())
    except (MemoryFault, OSError, ValueError) as fault:
        return [Check(name, "fail", f"cannot be checked: {fault}")]


def _settings(home: Path, project_root: Path | None) -> tuple[Check, Settings]:
    try:
        settings = settings_module.load(home, project_root=project_root)
        unknown = ", ".join(settings_module.unknown_keys(home))[:200]
    except ConfigFault as fault:
        hint = "correct the file; until then defaults are assumed here"
        return Check("settings", "fail", str(fault), hint), Settings()
    if unknown:
        message = f"config.toml has keys nobody reads: {unknown}"
        return Check("settings", "warn", message, "see `claude-memory config list`"), settings
    return Check("settings", "ok", "config.toml is fine" if settings != Settings() else "defaults"), settings


def _retention(home: Path, settings: Settings) -> Iterator[Check]:
    days, state = settings.keep_events_days, retention.load(home)
    kept = f"events are kept for {days} days" if days else "events are kept for ever"
    undo = f"`forget` can be undone for {settings.forget_undo_days} days"
    text = f"{kept}; {undo}; at most {settings.store_cap_mb} MB of store"
    if made := retention.room_made(home):
        text += f"; over that, {retention.told(made[1])}, last on {made[0]:%Y-%m-%d}"
    if state is not None and state.jumped_from is not None:
        jump = f"the clock jumped from {_day(state.jumped_from)} to {_day(state.wall)}"
        yield Check("retention", "warn", f"{text}; {jump}: nothing goes until it has run on for a day")
        return
    waiting = []
    if state is not None and state.events_before is not None and days:
        waiting.append(f"events from before {_day(state.events_before)}")
    if state is not None and (due := state.past_undoing(settings.forget_undo_days - 1)):
        waiting.append(f"{len(due)} forgotten memories")
    if state is not None and waiting:
        text += f"; after {times.minute(state.goes_at())} go {' and '.join(waiting)}"
    yield Check("retention", "ok", text)


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
