"""Commands that carry the whole home to one file and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import Json, Yes, opened, path_named, unconfigured

if TYPE_CHECKING:
    from claude_memory.backup.archive import Change
    from claude_memory.backup.backup import BackupReport

backup = typer.Typer(help="Carry the whole memory to one file and back.", no_args_is_help=True)

Archive = Annotated[
    Path, typer.Argument(metavar="FILE", parser=path_named, help="A backup made by `backup create`.")
]


@backup.command()
def create(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", parser=path_named, help="Where to; default the home's folder backups."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Write everything to one file, while others go on working; what waits in the spool is stored first."""
    with opened(context) as memory:
        memory.drain()
        made, skipped = memory.backups.create(memory.store, file)
    size = made.stat().st_size
    waiting = [item for item in skipped if item.path == "spool/new"]
    document = {"path": str(made), "size_bytes": size, "skipped": waiting}
    output.answer(document, [[("wrote ", ""), *_line(made, size)]], json=json)
    if not json:
        for item in waiting:
            output.note(f"left out: {item.path} ({item.reason})")


@backup.command()
def verify(context: typer.Context, file: Archive, json: Json = False) -> None:
    """Check a backup by its manifest and every checksum in it, and name what restoring it would change."""
    _report("sound", unconfigured(context).backups.verify(file), json=json)


@backup.command()
def restore(
    context: typer.Context,
    file: Archive,
    yes: Yes = False,
    settings: Annotated[
        bool | None,
        typer.Option(
            "--settings/--no-settings",
            help="Take over settings that send text away, change trust or name places and commands; "
            "`backup verify` shows them. Without a terminal they are left out by default.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Bring a backup back; a memory that is there already is kept beside it, and programs are left out."""
    backups = unconfigured(context).backups
    occupied = backups.home.is_dir() and any(backups.home.iterdir())
    if occupied and not yes and sys.stdin.isatty():
        question = f"Put this backup in the place of the memory in {backups.home}?"
        yes = output.confirmed(question, yes=False)
    if settings is None:
        settings = sys.stdin.isatty() and _agreed_to_settings(backups.changes(file))
    _report("restored", backups.restore(file, replace=yes, with_settings=settings), json=json)


def _agreed_to_settings(changes: Sequence[Change]) -> bool:
    """Whether the person wants the settings of a backup, having seen them."""
    others = [change for change in changes if change.what == "setting" and change.before != change.after]
    if not others:
        return False
    output.note("this backup brings other settings:")
    for change in others:
        output.note(f"  {change.name}: {change.before} becomes {change.after}")
    return output.confirmed("Take them over?", yes=False)


@backup.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List the backups in the home."""
    backups = unconfigured(context).backups
    kept = backups.list()
    output.answer(kept, [_line(item.path, item.size_bytes) for item in kept], json=json)
    if not kept and not json:
        output.note(f"no backups in {backups.home / 'backups'}")


def _line(path: Path, size_bytes: int) -> Line:
    return [(str(path), ""), (f"  {views.size(size_bytes)}", "dim")]


def _report(done: str, report: BackupReport, *, json: bool) -> None:
    size = views.size(report.size_bytes)
    head: Line = [(done if report.ok else "damaged", "bold"), (f"  {report.files} files, {size}", "")]
    remarks: list[Line] = [[(f"  {name}", "dim")] for name in _remarks(report)]
    output.answer({"ok": report.ok, **documents.plain(report)}, [head, *remarks], json=json)
    if not report.ok:
        output.failure(f"{report.path} is damaged: {report.problems[0]}")
        raise typer.Exit(1)


def _remarks(report: BackupReport) -> Iterator[str]:
    yield from (f"problem: {problem}" for problem in report.problems)
    yield from (f"left out: {item.path} ({item.reason})" for item in report.skipped)
    for change in report.changes:
        was = f"{change.before} becomes " if change.before else ""
        kept = "" if change.taken or change.what == "program" else " (not without your yes)"
        yield f"{change.what} {change.name}: {was}{change.after}{kept}"
    if any(change.what == "setting" and not change.taken for change in report.changes):
        yield "settings that were not agreed to stay as they are here; `--settings` takes them over"
    yield from report.notes
    if report.previous is not None:
        yield f"what was there before is kept in {report.previous}"
