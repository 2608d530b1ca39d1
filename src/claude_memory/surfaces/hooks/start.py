"""The start of a session: bring in what waits, within 50 ms, then say what is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.moments import Offer, Scene, at_subagent
from claude_memory.context.sections import START_SECTIONS, Situation, build
from claude_memory.errors import StoreBusy
from claude_memory.model import SessionId
from claude_memory.platform.git import changed_files, current_branch
from claude_memory.surfaces.hooks import background

if TYPE_CHECKING:
    from claude_memory.opening import Opened
    from claude_memory.surfaces.hooks.answers import Moment

DRAIN_SECONDS = 0.05
PATIENCE_MS = 50  # with a writer
# Events that tell nothing of the work, and a stop, which has started its own drain.
LATER = frozenset(("SessionStart", "SessionEnd", "Injection", "Stop"))


def start_context(moment: Moment) -> Offer | None:
    """The start context for a session that starts, goes on, or was compacted."""
    source, memory = moment.text("source"), moment.memory
    if source not in ("resume", "fork"):
        moment.state.start_over()
    _tie_shell(moment.session, memory.home)
    left: list[bool] = []
    try:
        offer = at_start(memory, moment, lambda: left.append(_drain(memory.home, memory.project_root)))
        return None if moment.is_off("start") else offer  # it drains, whether its lines are wanted or not
    finally:
        if any(left):  # last: it would take the processor from who is waited for
            background.start(memory.home)


def at_start(
    memory: Opened, moment: Moment | None = None, meanwhile: Callable[[], None] = lambda: None
) -> Offer:
    """What a session that starts now is given, line by line with reasons: for the hook, and to be shown."""
    source = moment.text("source") if moment else ""
    with changed_files(memory.project_root) as changed:  # git looks while we drain
        meanwhile()
        situation = Situation(
            home=memory.home,
            project=memory.project,
            project_root=memory.project_root,
            store=memory.store,
            source=source if source in ("resume", "clear", "compact", "fork") else "startup",
            session=SessionId(moment.session) if moment and moment.session else None,
            now=moment.now if moment else datetime.now(UTC),
            branch=current_branch(memory.project_root),
            changed_files=changed(),
            transcript=moment.text("transcript_path") if moment else "",
            settings=memory.settings,
        )
    return build(START_SECTIONS, situation, max_tokens=memory.settings.context_tokens)


def _drain(home: Path, root: Path) -> bool:
    """Bring in what earlier sessions left; whether something is left to a process of its own."""
    waiting = background.spooled_events(home)
    left = len(waiting) > 1  # this session's own start can wait for the next drain
    if set(waiting) <= LATER:
        return left
    from claude_memory.memory import Memory
    from claude_memory.store import is_server

    with suppress(StoreBusy), Memory.open(home, root, patience_ms=PATIENCE_MS) as memory:
        if is_server(memory.settings.store):
            return True  # only a process of its own may wait for a network
        done = memory.drain(budget_seconds=DRAIN_SECONDS)
        left = bool(done.remaining or done.waiting)
    return left


def _tie_shell(session: str, home: Path) -> None:
    """Let commands that the agent's shell runs know their session, and keep to the home of this hook.

    A cloned repository's agent settings may set variables for that shell; what stands here comes after.
    """
    target = os.environ.get("CLAUDE_ENV_FILE")
    if not target or not session or not all(c.isalnum() or c in "-_" for c in session):
        return
    lines = [f"export CLAUDE_MEMORY_SESSION={session}"]
    if (place := str(home.absolute())).isprintable():
        quoted = place.replace("'", "'\\''")  # shlex would have to be loaded
        lines.append(f"export CLAUDE_MEMORY_HOME='{quoted}'")
    if "CLAUDE_MEMORY_STORE" not in os.environ:
        lines.append("unset CLAUDE_MEMORY_STORE")
    with suppress(OSError), Path(target).open("a", encoding="utf-8") as handle:
        handle.writelines(f"{line}\n" for line in lines)


# --- what would be given


def preview(memory: Opened, moment: str, text: str, *, now: datetime) -> Offer:
    """What a new session would be given at a moment, by the functions that hooks use; nothing is given.

    `text` is the prompt, file or command.
    """
    if moment == "start":
        return at_start(memory)
    from claude_memory.context import for_command, for_file, for_prompt
    from claude_memory.store import database_path
    from claude_memory.store.sqlite.glance import Glance
    from claude_memory.surfaces.hooks.answers import MAX_QUESTION_CHARACTERS

    project = memory.project.id  # opens the store, which is made or migrated if need be
    store = database_path(memory.home, memory.settings.store)
    with closing(Glance(str(store), project)) as glance:
        scene = Scene(str(memory.home), str(memory.project_root), glance, lambda: memory, now=now)
        if moment == "file":
            return for_file.at_file(scene, str(memory.project_root / text))
        if moment == "command":
            return for_command.at_command(scene, text)
        given = for_prompt.at_prompt if moment == "prompt" else at_subagent
        return given(scene, text[:MAX_QUESTION_CHARACTERS])
