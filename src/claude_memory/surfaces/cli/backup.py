"""Commands that carry the whole home to a file or a place and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import DryRun, Json, Yes, opened, path_named, unconfigured
from claude_memory.surfaces.cli.sync import Pair, homes, report

if TYPE_CHECKING:
    from claude_memory.backup.archive import BackupReport, Change
    from claude_memory.backup.foreign import Agreement

backup = typer.Typer(help="Carry the whole memory to a file or a place and back.", no_args_is_help=True)

PlaceName = Annotated[
    str | None,
    typer.Argument(
        metavar="[PLACE]",
        help="A folder, s3://BUCKET/PATH, gs://…, az://… or git:REPOSITORY#NAME; default backup_to.",
    ),
]
BackupId = Annotated[
    str | None, typer.Option("--backup", metavar="ID", help="Not the newest but this one of `backup list`.")
]
AgreedSettings = Annotated[
    bool | None,
    typer.Option(
        "--settings/--no-settings",
        help="Take over settings that send text away, change trust or name places and commands; "
        "`backup verify` shows them. Without a terminal they are left out by default.",
    ),
]


@backup.command()
def create(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATH|DIR|-]",
            help="A file whose name ends in .zip, .tar.gz or .tar.zst, a folder, or `-` for a .tar.gz on "
            "standard output; default the home's folder backups.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there, in one step.")
    ] = False,
    keep: Annotated[
        int, typer.Option("--keep", min=0, help="Keep so many backups in the folder; 0 for all.")
    ] = 0,
    json: Json = False,
) -> None:
    """Write everything to one file, while others go on working; what waits in the spool is stored first."""
    with opened(context) as memory:
        memory.drain()
        if target == "-":
            memory.backups.stream(memory.store, output.binary())
            return
        path = path_named(target) if target is not None else None
        made, skipped = memory.backups.create(memory.store, path, force=force, keep=keep)
    size = made.stat().st_size
    waiting = [item for item in skipped if item.path == "spool/new"]
    document = {"path": str(made), "size_bytes": size, "skipped": waiting}
    output.answer(document, [[("wrote ", ""), *_line(str(made), size)]], json=json)
    if not json:
        for item in waiting:
            output.note(f"left out: {item.path} ({item.reason})")


@backup.command()
def verify(
    context: typer.Context,
    named: Annotated[
        str | None,
        typer.Argument(metavar="[FILE|PLACE]", help="A backup file, `-`, or a place; default backup_to."),
    ] = None,
    backup_id: BackupId = None,
    json: Json = False,
) -> None:
    """Check a backup by its manifest and every checksum in it, and name what restoring it would change."""
    with opened(context) as memory:
        report = memory.backups.verify(named, sys.stdin.buffer, backup_id)
    _report("sound", report, json=json)


@backup.command()
def restore(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A backup made by `backup create`; `-` is standard input.")
    ],
    yes: Yes = False,
    settings: AgreedSettings = None,
    json: Json = False,
) -> None:
    """Bring a backup back; a memory that is there already is kept beside it, and programs are left out."""
    backups = unconfigured(context).backups
    yes = _agreed_to_replace(backups.home, yes=yes)
    done = backups.restore(
        str(path_named(file)), sys.stdin.buffer, replace=yes, with_settings=_agreement(settings)
    )
    _report("restored", done, json=json)


@backup.command()
def push(
    context: typer.Context,
    named: PlaceName = None,
    keep: Annotated[
        int | None, typer.Option("--keep", min=0, help="Keep so many backups there; default keep_backups.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also to a place that holds the backup of another memory.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring the backup at a place up to date: only what changed since the last one is sent."""
    with opened(context) as memory:
        memory.drain()
        pushed = memory.backups.push(memory.store, named, keep=keep, force=force)
    sent = f"{views.size(pushed.sent_bytes)} sent of {views.size(pushed.size_bytes)}"
    told = sent if pushed.changed else "nothing changed since"
    output.answer(pushed, [[(pushed.id, "cyan"), (f"  {told}", "")]], json=json)


@backup.command()
def pull(
    context: typer.Context,
    named: PlaceName = None,
    if_empty: Annotated[
        bool, typer.Option("--if-empty", help="Do nothing where there is a memory already, or no backup yet.")
    ] = False,
    backup_id: BackupId = None,
    yes: Yes = False,
    settings: AgreedSettings = None,
    json: Json = False,
) -> None:
    """Bring the backup at a place back, the newest by default; what was here before is kept beside it."""
    with opened(context) as memory:
        backups = memory.backups
    if if_empty and (reason := backups.nothing_to_pull(named)):
        output.note(reason)
        if json:
            output.document({"ok": True, "pulled": False, "reason": reason})
        return
    yes = if_empty or _agreed_to_replace(backups.home, yes=yes)
    done = backups.pull(named, backup_id, replace=yes, with_settings=_agreement(settings))
    _report("pulled", done, json=json)


@backup.command()
def merge(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup made by `backup create`.")],
    pair: Pair = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Take in what a backup holds beside what is here: memories and conversations, not settings or files."""
    with opened(context) as memory:
        memory.drain()
        done = homes(memory, pair=pair, yes=yes).merge(path_named(str(file)), dry_run=dry_run)
    report(done, json=json)


def _agreed_to_replace(home: Path, *, yes: bool) -> bool:
    occupied = home.is_dir() and any(home.iterdir())
    if occupied and not yes and sys.stdin.isatty():
        return output.confirmed(f"Put this backup in the place of the memory in {home}?", yes=False)
    return yes


def _agreement(settings: bool | None) -> Agreement:
    if settings is None:
        return _asked_about_settings if sys.stdin.isatty() else False
    return settings


def _asked_about_settings(changes: Sequence[Change]) -> bool:
    """Whether the person wants the settings of a backup, having seen them."""
    output.note("this backup brings other settings:")
    for change in changes:
        output.note(f"  {change.name}: {change.before} becomes {change.after}")
    return output.confirmed("Take them over?", yes=False)


@backup.command("list")
def list_(context: typer.Context, named: PlaceName = None, json: Json = False) -> None:
    """List the backups in the home, or at a place."""
    if named is None:
        backups = unconfigured(context).backups
    else:
        with opened(context) as memory:
            backups = memory.backups
    kept = backups.list(named)
    output.answer(kept, [_line(item.name, item.size_bytes) for item in kept], json=json)
    for item in kept:
        if item.problem:
            output.note(item.problem)
    if not kept and not json:
        output.note(f"no backups in {named or backups.home / 'backups'}")


def _line(name: str, size_bytes: int) -> Line:
    return [(name, ""), (f"  {views.size(size_bytes)}", "dim")]


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
