"""Commands that look after the memory: doctor, stats, consolidate, reindex, config, hook, version."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory import __version__
from claude_memory.platform import config_file
from claude_memory.platform.agents import require_person
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    AllProjects,
    DryRun,
    Result,
    WorkPlace,
    argument,
    flag,
    one_at_most,
    option,
)
from claude_memory.surfaces.cli.rendering import one_line, size, table
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.doctor import Check
    from claude_memory.memory import Memory

GATE_SECONDS = 20.0  # for memories that came while no model was at hand; the rest waits for the next time
_LEVEL_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
Key = Annotated[str, argument("KEY", "A setting; `config list` shows all.")]


def doctor(place: WorkPlace) -> Result:
    """Check that all is well; exit 1 when something is wrong."""
    from claude_memory.doctor import check

    checks = check(place.home_folder, root_of(place.project_folder))
    failed = any(item.level == "fail" for item in checks)
    return Result({"ok": not failed, "checks": checks}, _check_lines(checks), code=1 if failed else 0)


def _check_lines(checks: Sequence[Check]) -> Iterator[output.Line]:
    """One line per check; what to do about a bad one below it."""
    longest = max((len(check.name) for check in checks), default=0)
    for check in checks:
        yield [
            (f"{check.level:<4} ", _LEVEL_STYLES.get(check.level, "")),
            (f"{check.name:<{longest}}  ", "bold"),
            (one_line(check.message), ""),
        ]
        if check.hint and check.level != "ok":
            yield [(f"     {'':<{longest}}  → {one_line(check.hint)}", "dim")]


def stats(memory: Memory, all_projects: AllProjects = False) -> Result:
    """Count memories, events, sessions and vectors."""
    counts = memory.stats(all_projects=all_projects)
    progress = memory.upkeep.vectors.progress
    place = {"home": memory.home, "project": "all" if all_projects else memory.project.name}
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.memories.items()) if count)
    shown = {
        **place,
        "memories": f"{sum(counts.memories.values())}{f' ({kinds})' if kinds else ''}",
        "events": counts.events,
        "sessions": counts.sessions,
        "passages": counts.passages,
        "vectors": ", ".join(f"{count} by {model}" for model, count in counts.vectors.items()) or 0,
        **({"by meaning": progress.words} if progress.missing else {}),
        "projects": counts.projects,
        "store": f"{size(counts.size_bytes)}, schema {counts.schema_version}",
        "from": times.minute(counts.oldest) if counts.oldest else "-",
        "to": times.minute(counts.newest) if counts.newest else "-",
    }
    vectors = {"vectors_missing": progress.missing, "vectors_in_work": progress.working}
    return Result({**place, **output.plain(counts), **vectors}, table(shown))


def consolidate(
    memory: Memory,
    dry_run: DryRun = False,
    undo: Annotated[bool, flag("--undo", "Take back the last consolidation.")] = False,
) -> Result:
    """Let waiting memories meet their neighbours, link what is alike, archive what faded; nothing is lost."""
    one_at_most(("--dry-run", dry_run), ("--undo", undo))
    if undo:
        undone = memory.upkeep.undo_consolidation()
        return Result({"undone": undone}, f"{undone} steps taken back")
    settled = 0 if dry_run else memory.upkeep.judge_pending(budget_seconds=GATE_SECONDS)
    done = memory.upkeep.consolidate(dry_run=dry_run)
    verb = "would be" if dry_run else "were"
    words = [
        *([f"{output.counted(settled, 'new link')} by the write gate"] if settled else []),
        f"{done.repeated} repetitions and {done.similar} near twins {verb} linked",
        f"{done.archived} faded memories {verb} archived",
        f"{len(done.patterns)} patterns recur in three sessions or more",
    ]
    has_changed = not dry_run and done.repeated + done.similar + done.archived
    notes = ["undo: claude-memory consolidate --undo"] if has_changed else []
    return Result({**output.plain(done), "settled": settled}, "\n".join(words), notes)


def reindex(
    memory: Memory,
    from_files: Annotated[
        bool, flag("--from-files", "Rebuild the database itself from memories.jsonl.")
    ] = False,
    stop: Annotated[
        bool,
        flag("--stop", "Stop making vectors in the background, until the next `import` or `reindex`."),
    ] = False,
) -> Result:
    """Make the search index and the vectors anew."""
    one_at_most(("--from-files", from_files), ("--stop", stop))
    if stop:
        memory.upkeep.stop_vectors()
        progress = memory.upkeep.vectors.progress
        return Result(progress, progress.words)
    with output.progress_bar(output.vectors_text) as show:
        done = memory.reindex(from_files=from_files, progress=show)
    read = f"{done.memories} memories read from files, " if from_files else ""
    made = f"{read}{done.passages} passages, {done.vectors} vectors made anew; search: {memory.search_mode}"
    return Result(done, made)


def config_get(place: WorkPlace, key: Key) -> Result:
    """Print one setting as it is in effect."""
    value = _resolved(place)[config_file.known(key)].value
    return Result(value, _shown(value))


def config_list(place: WorkPlace) -> Result:
    """Print every setting, its value, and where the value comes from."""
    settings = _resolved(place)
    longest = max(len(key) for key in settings)
    lines = [
        [
            (f"{key:<{longest}}  ", "bold"),
            (_shown(item.value) or "(empty)", ""),
            (f"  [{item.origin}]", "dim"),
        ]
        for key, item in settings.items()
    ]
    return Result(settings, lines)


def config_set(
    place: WorkPlace,
    key: Key,
    value: Annotated[str, argument("VALUE", "The new value; lists with commas.")],
) -> Result:
    """Change one setting in the home's config.toml; comments in it stay."""
    require_person("changing a setting")  # it names what is sent where, and whose notes are believed
    path = config_file.assign(place.home_folder, key, value)
    now = output.plain(_resolved(place)[key])
    line = [(f"{key} = {_shown(now['value'])}", ""), (f"  in {path}", "dim")]
    notes = [] if now["origin"] == "config.toml" else [f"the {now['origin']} still overrides it"]
    return Result({"key": key, **now, "path": path}, [line], notes)


def config_unset(place: WorkPlace, key: Key) -> Result:
    """Take one setting out of config.toml, so that its default holds again."""
    require_person("changing a setting")
    removed = config_file.remove(place.home_folder, key)
    now = output.plain(_resolved(place)[key])
    line = [(f"{key} = {_shown(now['value'])}", ""), (f"  [{now['origin']}]", "dim")]
    return Result({"key": key, "removed": removed, **now}, [line])


def _resolved(place: WorkPlace) -> dict[str, config_file.Resolved]:
    return config_file.resolved(place.home_folder, root_of(place.project_folder))


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def hook(
    place: WorkPlace,
    event: Annotated[str, argument("EVENT", "The agent's name for it, such as Stop.")],
    agent: Annotated[str, option("NAME", "Which agent reports it.")] = "claude-code",
) -> None:
    """Do with the event on standard input what the installed hook does: capture it, give context."""
    from claude_memory.surfaces.cli import hook as run_hook

    raise typer.Exit(run_hook([event, "--agent", agent, "--home", str(place.home_folder)]))


def version() -> Result:
    """Print the version."""
    from claude_memory.doctor.surroundings import sqlite_version

    python = sys.version.split()[0]
    document = {"version": __version__, "python": python, "sqlite": sqlite_version()}
    return Result(document, f"claude-memory {__version__}")
