"""Commands that look after the memory: doctor, stats, consolidate, reindex, hook, version."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory import __version__
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import bars, documents, output, views
from claude_memory.surfaces.cli.request import AllProjects, DryRun, Json, one_at_most, opened, place
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.doctor import Check

GATE_SECONDS = 20.0  # for memories that came while no model was at hand; the rest waits for the next time
_LEVEL_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(context: typer.Context, json: Json = False) -> None:
    """Check that all is well; exit 1 when something is wrong."""
    from claude_memory.doctor import check

    where = place(context)
    checks = check(where.home_folder, root_of(where.project_folder))
    failed = any(item.level == "fail" for item in checks)
    output.answer({"ok": not failed, "checks": checks}, _checks(checks), json=json)
    if failed:
        raise typer.Exit(1)


def _checks(checks: Sequence[Check]) -> Iterator[output.Line]:
    """One line per check; what to do about a bad one below it."""
    longest = max((len(check.name) for check in checks), default=0)
    for check in checks:
        yield [
            (f"{check.level:<4} ", _LEVEL_STYLES.get(check.level, "")),
            (f"{check.name:<{longest}}  ", "bold"),
            (views.one_line(check.message), ""),
        ]
        if check.hint and check.level != "ok":
            yield [(f"     {'':<{longest}}  → {views.one_line(check.hint)}", "dim")]


def stats(
    context: typer.Context,
    all_projects: AllProjects = False,
    json: Json = False,
) -> None:
    """Count memories, events, sessions and vectors."""
    with opened(context) as memory:
        counts = memory.stats(all_projects=all_projects)
        progress = memory.upkeep.vectors.progress
        project = "all" if all_projects else memory.project.name
        home = memory.home
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.memories.items()) if count)
    shown = {
        "home": home,
        "project": project,
        "memories": f"{sum(counts.memories.values())}{f' ({kinds})' if kinds else ''}",
        "events": counts.events,
        "sessions": counts.sessions,
        "passages": counts.passages,
        "vectors": ", ".join(f"{count} by {model}" for model, count in counts.vectors.items()) or 0,
        **({"by meaning": progress.words} if progress.missing else {}),
        "projects": counts.projects,
        "store": f"{views.size(counts.size_bytes)}, schema {counts.schema_version}",
        "from": times.minute(counts.oldest) if counts.oldest else "-",
        "to": times.minute(counts.newest) if counts.newest else "-",
    }
    document = {
        "home": home,
        "project": project,
        **documents.plain(counts),
        "vectors_missing": progress.missing,
        "vectors_in_work": progress.working,
    }
    output.answer(document, views.table(shown), json=json)


def consolidate(
    context: typer.Context,
    dry_run: DryRun = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last consolidation.")] = False,
    json: Json = False,
) -> None:
    """Let waiting memories meet their neighbours, link what is alike, archive what faded; nothing is lost."""
    one_at_most(("--dry-run", dry_run), ("--undo", undo))
    with opened(context) as memory:
        if undo:
            undone = memory.upkeep.undo_consolidation()
            output.answer({"undone": undone}, f"{undone} steps taken back", json=json)
            return
        settled = 0 if dry_run else memory.upkeep.judge_pending(budget_seconds=GATE_SECONDS)
        done = memory.upkeep.consolidate(dry_run=dry_run)
    verb = "would be" if dry_run else "were"
    words = [
        *([f"{output.counted(settled, 'new link')} by the write gate"] if settled else []),
        f"{done.repeated} repetitions and {done.similar} near twins {verb} linked",
        f"{done.archived} faded memories {verb} archived",
        f"{len(done.patterns)} patterns recur in three sessions or more",
    ]
    output.answer({**documents.plain(done), "settled": settled}, "\n".join(words), json=json)
    if not json and not dry_run and done.repeated + done.similar + done.archived:
        output.note("undo: claude-memory consolidate --undo")


def reindex(
    context: typer.Context,
    from_files: Annotated[
        bool, typer.Option("--from-files", help="Rebuild the database itself from memories.jsonl.")
    ] = False,
    stop: Annotated[
        bool,
        typer.Option(
            "--stop", help="Stop making vectors in the background, until the next `import` or `reindex`."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Make the search index and the vectors anew."""
    one_at_most(("--from-files", from_files), ("--stop", stop))
    with opened(context) as memory:
        if stop:
            memory.upkeep.stop_vectors()
            progress = memory.upkeep.vectors.progress
            output.answer(progress, progress.words, json=json)
            return
        with bars.shown(bars.vectors_text) as show:
            done = memory.reindex(from_files=from_files, progress=show)
        mode = memory.search_mode
    read = f"{done.memories} memories read from files, " if from_files else ""
    made = f"{read}{done.passages} passages, {done.vectors} vectors made anew; search: {mode}"
    output.answer(done, made, json=json)


def hook(
    context: typer.Context,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The agent's name for it, such as Stop.")],
    agent: Annotated[str, typer.Option(metavar="NAME", help="Which agent reports it.")] = "claude-code",
) -> None:
    """Do with the event on standard input what the installed hook does: capture it, give context."""
    from claude_memory.surfaces.cli import hook as run_hook

    raise typer.Exit(run_hook([event, "--agent", agent, "--home", str(place(context).home_folder)]))


def version(json: Json = False) -> None:
    """Print the version."""
    if not json:
        output.lines([[(f"claude-memory {__version__}", "")]])
        return
    from claude_memory.doctor.surroundings import sqlite_version

    python = sys.version.split()[0]
    output.document({"version": __version__, "python": python, "sqlite": sqlite_version()})
