"""The command `inbox`: what rules propose, and a person's yes or no to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from claude_memory.model import StoredMemory
from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.memories import Ids
from claude_memory.surfaces.cli.request import Json, opened, said, said_all

LISTED = 20


def register(app: typer.Typer) -> None:
    """Add these commands."""
    inbox = typer.Typer(
        help="What was proposed and nobody has confirmed: list it, accept, edit or reject.",
        invoke_without_command=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    inbox.callback()(listed)
    inbox.command()(accept)
    inbox.command()(edit)
    inbox.command()(reject)
    app.add_typer(inbox, name="inbox")


def listed(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")] = LISTED,
    json: Json = False,
) -> None:
    """List proposals, newest first."""
    if context.invoked_subcommand is not None:
        return
    with opened(context) as memory:
        found = memory.inbox()
    if json:
        output.document([documents.plain(item) for item in found[:limit]])
        return
    if not found:
        output.note("nothing is proposed here")
        return
    output.lines(
        [
            (item.id, "cyan"),
            (f"  {views.day(item.created_at)}  {item.kind:<10} ", "dim"),
            (views.one_line(item.title), ""),
        ]
        for item in found[:limit]
    )
    if len(found) > limit:
        output.note(f"{len(found) - limit} more: --limit {len(found)}")
    output.note("accept ID… · edit ID TEXT · reject ID…")


def accept(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Confirm proposals: from now on they are your own word."""
    with opened(context) as memory:
        kept = memory.accept(said_all(ids))
    _say(kept, json, "accepted")


def edit(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="A proposal.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should say.")],
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="What kind of memory it is.")] = None,
    json: Json = False,
) -> None:
    """Confirm a proposal in your own words."""
    with opened(context) as memory:
        kept = memory.accept([said(id_)], body=said(text), kind=kind)
    _say(kept, json, "accepted")


def reject(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Refuse proposals: they are gone and never come back."""
    with opened(context) as memory:
        gone = memory.reject(said_all(ids))
    if json:
        output.document({"rejected": gone})
    else:
        output.lines([[(f"{output.counted(gone, 'proposal')} rejected", "")]])


def _say(kept: Sequence[StoredMemory], json: bool, done: str) -> None:
    if json:
        output.document([documents.plain(item) for item in kept])
    else:
        output.lines([[(f"{output.counted(len(kept), 'proposal')} {done}", "")]])
