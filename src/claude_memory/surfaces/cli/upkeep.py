"""Commands that look after the memory: doctor, stats, reindex, version, hook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from claude_memory import __version__
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.request import Json, opened, place
from claude_memory.text import times


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(doctor)
    app.command()(stats)
    app.command()(reindex)
    app.command()(hook)
    app.command()(version)


def doctor(context: typer.Context, json: Json = False) -> None:
    """Check that all is well; exit 1 when something is wrong."""
    from claude_memory.doctor import check

    where = place(context)
    found = check(where.home_folder, root_of(where.project_folder))
    failed = any(item.level == "fail" for item in found)
    if json:
        output.document({"ok": not failed, "checks": [documents.plain(item) for item in found]})
    else:
        output.lines(views.checks(found))
    if failed:
        raise typer.Exit(1)


def stats(
    context: typer.Context,
    all_projects: Annotated[bool, typer.Option("--all-projects", help="Count every project.")] = False,
    json: Json = False,
) -> None:
    """Count memories, events, sessions and vectors."""
    with opened(context) as memory:
        found = memory.stats(all_projects=all_projects)
        project = "all" if all_projects else memory.project.name
        home = memory.home
    if json:
        output.document({"home": str(home), "project": project, **documents.plain(found)})
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.memories.items()) if count)
    shown = {
        "home": home,
        "project": project,
        "memories": f"{sum(found.memories.values())}{f' ({kinds})' if kinds else ''}",
        "events": found.events,
        "sessions": found.sessions,
        "passages": found.passages,
        "vectors": ", ".join(f"{count} by {model}" for model, count in found.vectors.items()) or 0,
        "projects": found.projects,
        "store": f"{views.size(found.size_bytes)}, schema {found.schema_version}",
        "from": times.minute(found.oldest) if found.oldest else "-",
        "to": times.minute(found.newest) if found.newest else "-",
    }
    output.lines(views.table(shown))


def reindex(
    context: typer.Context,
    from_files: Annotated[
        bool, typer.Option("--from-files", help="Rebuild the database itself from memories.jsonl.")
    ] = False,
    json: Json = False,
) -> None:
    """Make the search index and the vectors anew."""
    with opened(context) as memory:
        done = memory.reindex(from_files=from_files, progress=_progress())
        mode = memory.search_mode
    if sys.stderr.isatty():
        output.note("")
    if json:
        output.document(documents.plain(done))
        return
    read = f"{done.memories} memories read from files, " if from_files else ""
    output.lines(
        [[(f"{read}{done.passages} passages, {done.vectors} vectors made anew; search: {mode}", "")]]
    )


def _progress() -> Callable[[int], None] | None:
    if not sys.stderr.isatty():
        return None

    def show(made: int) -> None:
        sys.stderr.write(f"\rvectors: {made}")
        sys.stderr.flush()

    return show


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
    import apsw

    found: dict[str, Any] = {"version": __version__, "python": sys.version.split()[0]}
    output.document({**found, "sqlite": apsw.sqlite_lib_version()})
