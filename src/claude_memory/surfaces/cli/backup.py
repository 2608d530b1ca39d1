"""Commands that carry the whole home to one file and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.request import Json, Yes, opened, place

app = typer.Typer(help="Carry the whole memory to one file and back.", no_args_is_help=True)

Archive = Annotated[Path, typer.Argument(metavar="FILE", help="A backup made by `backup create`.")]


@app.command()
def create(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to; default the home's folder backups.")
    ] = None,
    json: Json = False,
) -> None:
    """Write everything to one file, while others go on working."""
    from claude_memory.transfer import backup

    with opened(context) as memory:
        made = backup.create(memory.home, memory.store, file)
    size = made.stat().st_size
    if json:
        output.document({"path": str(made), "size_bytes": size})
    else:
        output.lines([[("wrote ", ""), (str(made), "bold"), (f"  {views.size(size)}", "dim")]])


@app.command()
def verify(file: Archive, json: Json = False) -> None:
    """Check a backup by its manifest and every checksum in it."""
    from claude_memory.transfer import backup

    _report("sound", backup.verify(file), json=json)


@app.command()
def restore(
    context: typer.Context,
    file: Archive,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of a memory that is there already.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Bring a backup back, after checking it."""
    from claude_memory.transfer import backup

    home = place(context).home_folder
    question = f"Replace the memory in {home} by this backup?"
    if replace and not output.confirmed(question, yes=yes):
        raise InvalidInput("nothing restored")
    _report("restored", backup.restore(file, home, replace=replace), json=json)


@app.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List the backups in the home."""
    folder = place(context).home_folder / "backups"
    found = sorted(path for path in folder.glob("*.zip") if path.is_file())
    if json:
        output.document([{"path": str(path), "size_bytes": path.stat().st_size} for path in found])
        return
    if not found:
        output.note(f"no backups in {folder}")
    output.lines([[(str(path), ""), (f"  {views.size(path.stat().st_size)}", "dim")] for path in found])


def _report(done: str, report: object, *, json: bool) -> None:
    values = documents.plain(report)
    if json:
        output.document(values)
    else:
        output.lines([[(done, "green")], *views.table(values)])
