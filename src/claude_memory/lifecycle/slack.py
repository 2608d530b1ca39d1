"""What is done for the life of memories when nobody waits: bounded in time, project by project."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path

from claude_memory.lifecycle.consolidate import consolidate, is_wanted
from claude_memory.lifecycle.staleness import refreshed
from claude_memory.lifecycle.use import note_uses
from claude_memory.model import Project
from claude_memory.store.lifecycle_protocol import lifecycle_of
from claude_memory.store.protocol import Store

SECONDS = 2.0


def tend(store: Store, *, now: datetime, budget_seconds: float = SECONDS) -> list[Project]:
    """Tend the projects that want it, as long as the time lasts; returns those that were tended."""
    end = time.monotonic() + budget_seconds
    tended = []
    for project in store.projects():
        left = end - time.monotonic()
        if left <= 0:
            break
        if is_wanted(store, project, now):
            last = lifecycle_of(store).last_run(project.id)
            note_uses(store, project, last[1] if last else now - timedelta(days=7))
            if Path(project.path).is_dir():
                refreshed(store, project, Path(project.path))
            consolidate(store, project, now=now, budget_seconds=left)
            tended.append(project)
    return tended
