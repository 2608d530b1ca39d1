"""`claude-memory doctor`: looks at a home from every side and says what is wrong and what to do.

Belongs here: one check after another, each with its level, its words and its hint. It reads, never raises.
Does not: repairing anything, making or migrating a store (store), loading a model unless it is asked for.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from claude_memory import settings as settings_module
from claude_memory.doctor import capture, contents, installation, surroundings
from claude_memory.doctor.report import Check, Level, fail, ok, probed, warn
from claude_memory.errors import ConfigFault
from claude_memory.lifecycle import retention
from claude_memory.settings import Settings
from claude_memory.text import times

__all__ = ["Check", "Level", "check"]


def check(home: Path, project_root: Path | None = None, *, deep: bool = False) -> list[Check]:
    """Everything that can be said about a home; `deep` also reads every page and loads the model."""
    found, settings = _settings(home, project_root)
    findings = [
        *probed("versions", surroundings.versions),
        *probed("home", partial(surroundings.home, home)),
        *probed("disk", partial(surroundings.disk, home)),
        *found,
    ]
    if home.is_dir():
        stored, view = contents.look(home, settings, deep=deep)
        findings += [
            *probed("locks", partial(surroundings.locking, home)),
            *stored,
            *probed("spool", partial(capture.spool, home, settings)),
            *probed("mirror", partial(capture.mirror_files, home, view, deep=deep)),
            *probed("search", partial(contents.search, home, settings, view, deep=deep)),
            *probed("backups", partial(surroundings.backups, home, deep=deep)),
            *probed("backup_to", partial(surroundings.place, home, settings)),
            *probed("logs", partial(surroundings.logs, home, settings)),
            *probed("conversations", partial(installation.histories, home, settings)),
            *probed("tasks", partial(surroundings.tasks, home, project_root)),
        ]
    if project_root is not None:
        findings += probed("agents", partial(installation.agents, project_root, home))
    return [*findings, *probed("retention", lambda: [_retention(home, settings)])]


def _settings(home: Path, project_root: Path | None) -> tuple[list[Check], Settings]:
    hint = "see `claude-memory config list`"
    try:
        settings = settings_module.load(home, project_root=project_root)
        unknown = settings_module.unknown_keys(home)
    except ConfigFault as fault:
        return [
            fail("settings", str(fault), "correct the file; until then defaults are assumed here")
        ], Settings()
    if unknown:
        return [
            warn("settings", f"config.toml has keys nobody reads: {', '.join(unknown)[:200]}", hint)
        ], settings
    return [ok("settings", "config.toml is fine" if settings != Settings() else "defaults")], settings


def _retention(home: Path, settings: Settings) -> Check:
    days = settings.keep_events_days
    kept = f"events are kept for {days} days" if days else "events are kept for ever"
    text = (
        f"{kept}; `forget` can be undone for {settings.forget_undo_days} days; "
        f"at most {settings.store_cap_mb} MB of store"
    )
    if made := retention.room_made(home):
        text += f"; over that, {retention.told(made[1])}, last on {made[0]:%Y-%m-%d}"
    state = retention.load(home)
    if state is None:
        return ok("retention", text)
    if state.jumped_from is not None:
        jump = f"the clock jumped from {_day(state.jumped_from)} to {_day(state.wall)}"
        return warn("retention", f"{text}; {jump}: nothing goes until it has run on for a day")
    waiting = []
    if state.events_before is not None and days:
        waiting.append(f"events from before {_day(state.events_before)}")
    if due := state.past_undoing(settings.forget_undo_days - 1):
        waiting.append(f"{len(due)} forgotten memories")
    if waiting:
        text += f"; after {times.minute(state.goes_at())} go {' and '.join(waiting)}"
    return ok("retention", text)


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
