"""Commands about the life of memories: strength."""

from __future__ import annotations

from typing import Annotated

import typer

from claude_memory.surfaces.cli import documents, output
from claude_memory.surfaces.cli.memories import Ids
from claude_memory.surfaces.cli.request import Json, opened, said_all


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(strength)


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
    chosen = [name for name, wanted in _moves(confirm, promote, demote) if wanted]
    if len(chosen) > 1:
        raise typer.BadParameter("give one of --confirm, --promote, --demote")
    with opened(context) as memory:
        found = memory.find(said_all(ids))
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


def _moves(confirm: bool, promote: bool, demote: bool) -> tuple[tuple[str, bool], ...]:
    return (("confirmed", confirm), ("promoted", promote), ("demoted", demote))
