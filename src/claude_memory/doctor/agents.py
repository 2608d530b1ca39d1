"""Whether agents are tied to this memory, once each, with a program that exists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from claude_memory.doctor.report import Check, fail, ok, warn
from claude_memory.install import status

_RENEW = "`claude-memory install` renews it"


def agents(project_root: Path) -> Iterator[Check]:
    """What is installed where, what runs twice, what is gone or old."""
    places = status.registrations(project_root)
    titles = ", ".join(place.title for place in places)
    yield ok(
        "agents", f"installed in {titles}" if places else "installed in no agent", "`claude-memory install`"
    )
    for agent in status.doubled(places):
        where = " and ".join(str(place.path) for place in places if place.agent == agent)
        yield warn(
            "double registration",
            f"every event of {agent} is captured twice and stored once: {where}",
            "`claude-memory uninstall`, then `claude-memory install` for one scope",
        )
    for place in status.missing_interpreters(places):
        yield fail("interpreter", f"{place.title} runs {place.interpreter}, which is gone", _RENEW)
    for place in status.missing_programs(places):
        yield fail("hook program", f"{place.title} runs {place.program}, which is gone", _RENEW)
    for place in status.outdated(places):
        yield warn("hook program", f"{place.title} runs the hook program of another release", _RENEW)
