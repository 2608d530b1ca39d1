"""Commands about the life of memories: strength, consolidate."""

from __future__ import annotations

from typing import Annotated

import typer

from claude_memory.model import Trust
from claude_memory.platform.caller import require_person
from claude_memory.surfaces.cli import documents, output
from claude_memory.surfaces.cli.memories import Ids
from claude_memory.surfaces.cli.request import Json, one_at_most, opened, said_all

GATE_SECONDS = 20.0  # for memories that came while no model was at hand; the rest waits for the next time


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(strength)
    app.command()(consolidate)


def strength(
    context: typer.Context,
    ids: Ids,
    confirm: Annotated[bool, typer.Option("--confirm", help="It is still true.")] = False,
    promote: Annotated[bool, typer.Option("--promote", help="Hold it more firmly.")] = False,
    demote: Annotated[
        bool, typer.Option("--demote", help="Let it fade; only --confirm or --promote bring it back.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how firmly memories are held, or say that they matter more or less."""
    one_at_most(("--confirm", confirm), ("--promote", promote), ("--demote", demote))
    chosen = [name for name, wanted in _moves(confirm, promote, demote) if wanted]
    with opened(context) as memory:
        found = memory.find(said_all(ids))
        if demote and any(item.trust is Trust.USER for item in found):
            require_person("demoting what the user said")
        standing = memory.lifecycle.review(found, chosen[0]) if chosen else memory.lifecycle.standing(found)
    if json:
        output.document([documents.plain(item) for item in standing])
        return
    output.lines(
        [
            (item.memory, "cyan"),
            (f"  {item.strength:.2f} {item.state:<11}", "bold"),
            (
                f" stable for {item.stability_days:.1f} days, {item.reviews} uses"
                f"{', demoted' if item.demoted else ''}",
                "dim",
            ),
        ]
        for item in standing
    )


def consolidate(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last consolidation.")] = False,
    json: Json = False,
) -> None:
    """Let waiting memories meet their neighbours, link what is alike, archive what faded; nothing is lost."""
    one_at_most(("--dry-run", dry_run), ("--undo", undo))
    with opened(context) as memory:
        if undo:
            undone = memory.undo_consolidation()
            if json:
                output.document({"undone": undone})
            else:
                output.lines([[(f"{undone} steps taken back", "")]])
            return
        settled = 0 if dry_run else memory.judge_pending(budget_seconds=GATE_SECONDS)
        done = memory.consolidate(dry_run=dry_run)
    if json:
        output.document({**documents.plain(done), "settled": settled})
        return
    verb = "would be" if dry_run else "were"
    words = [
        *([f"{output.counted(settled, 'new link')} by the write gate"] if settled else []),
        f"{done.repeated} repetitions and {done.similar} near twins {verb} linked",
        f"{done.archived} faded memories {verb} archived",
        f"{len(done.patterns)} patterns recur in three sessions or more",
    ]
    output.lines([(line, "")] for line in words)
    if not dry_run and done.repeated + done.similar + done.archived:
        output.note("undo: claude-memory consolidate --undo")


def _moves(confirm: bool, promote: bool, demote: bool) -> tuple[tuple[str, bool], ...]:
    return (("confirmed", confirm), ("promoted", promote), ("demoted", demote))
