"""`claude-memory doctor`: looks at a home from every side and says what is wrong and what to do.

Belongs here: one check after another, each with its level, its words and its hint. It reads, never raises.
Does not: repairing anything, making or migrating a store (store), loading a model unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
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


def ok(name: str, message: str, hint: str = "") -> Check:
    """All is well."""
    return Check(name, "ok", message, hint)


def warn(name: str, message: str, hint: str = "") -> Check:
    """It works, but somebody should look."""
    return Check(name, "warn", message, hint)


def fail(name: str, message: str, hint: str = "") -> Check:
    """Something does not work."""
    return Check(name, "fail", message, hint)


def check(home: Path, project_root: Path | None = None) -> list[Check]:
    """Everything that can be said about a home within a few seconds."""
    from claude_memory.doctor import contents, installation, surroundings

    findings, settings = _settings(home, project_root)
    probes: dict[str, Callable[[], Iterable[Check]]] = {
        "versions": surroundings.versions,
        "home": partial(surroundings.home, home),
        "disk": partial(surroundings.disk, home),
        "settings": lambda: findings,
    }
    if home.is_dir():
        stored, view = contents.look(home, settings)
        probes |= {
            "locks": partial(surroundings.locking, home),
            "store": lambda: stored,
            "spool": partial(contents.spool, home, settings),
            "mirror": partial(contents.mirror_files, home, view),
            "search": partial(contents.search, home, settings, view),
            "backups": partial(surroundings.backups, home),
            "backup_to": partial(surroundings.place, home, settings),
            "logs": partial(surroundings.logs, home, settings),
            "conversations": partial(installation.histories, home, settings),
        }
    if project_root is not None:
        probes["tasks"] = partial(surroundings.tasks, home, project_root)
        probes["agents"] = partial(installation.agents, project_root, home)
    probes["retention"] = partial(_retention, home, settings)
    return [finding for name, probe in probes.items() for finding in _probed(name, probe)]


def _probed(name: str, probe: Callable[[], Iterable[Check]]) -> list[Check]:
    """A probe's findings; where it cannot even look, that is the finding."""
    try:
        return list(probe())
    except MemoryFault as fault:
        return [fail(name, str(fault))]
    except (OSError, ValueError) as fault:
        return [fail(name, f"cannot be checked: {fault}")]


def _settings(home: Path, project_root: Path | None) -> tuple[list[Check], Settings]:
    try:
        settings = settings_module.load(home, project_root=project_root)
        unknown = ", ".join(settings_module.unknown_keys(home))[:200]
    except ConfigFault as fault:
        hint = "correct the file; until then defaults are assumed here"
        return [fail("settings", str(fault), hint)], Settings()
    if unknown:
        message = f"config.toml has keys nobody reads: {unknown}"
        return [warn("settings", message, "see `claude-memory config list`")], settings
    return [ok("settings", "config.toml is fine" if settings != Settings() else "defaults")], settings


def _retention(home: Path, settings: Settings) -> Iterator[Check]:
    days = settings.keep_events_days
    kept = f"events are kept for {days} days" if days else "events are kept for ever"
    text = (
        f"{kept}; `forget` can be undone for {settings.forget_undo_days} days; "
        f"at most {settings.store_cap_mb} MB of store"
    )
    if made := retention.room_made(home):
        text += f"; over that, {retention.told(made[1])}, last on {made[0]:%Y-%m-%d}"
    state = retention.load(home)
    if state is not None and state.jumped_from is not None:
        jump = f"the clock jumped from {_day(state.jumped_from)} to {_day(state.wall)}"
        yield warn("retention", f"{text}; {jump}: nothing goes until it has run on for a day")
        return
    waiting = []
    if state is not None and state.events_before is not None and days:
        waiting.append(f"events from before {_day(state.events_before)}")
    if state is not None and (due := state.past_undoing(settings.forget_undo_days - 1)):
        waiting.append(f"{len(due)} forgotten memories")
    if state is not None and waiting:
        text += f"; after {times.minute(state.goes_at())} go {' and '.join(waiting)}"
    yield ok("retention", text)


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
