"""Commands that carry the home to a file, a place, another home or a team, and back: backup, sync, team."""

from __future__ import annotations

import getpass
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from claude_memory.platform.agents import inside_agent, require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    DryRun,
    Json,
    Result,
    WorkPlace,
    Yes,
    argument,
    flag,
    option,
    path_named,
)
from claude_memory.surfaces.cli.output import bold, counted, cyan, dim, size

if TYPE_CHECKING:
    from claude_memory.backup.archives import BackupReport, RestoreChange
    from claude_memory.backup.restore import Agreement
    from claude_memory.backup.sync import Exchanged, Homes
    from claude_memory.backup.team import Invitation, Member
    from claude_memory.memory import Memory
    from claude_memory.store.sql.feed import Taken

PROGRESS_SECONDS = 2.0
PlaceName = Annotated[
    str | None,
    argument(
        "[PLACE]", "A folder, s3://BUCKET/PATH, gs://…, az://… or git:REPOSITORY#NAME; default backup_to."
    ),
]
BackupId = Annotated[str | None, option("ID", "Not the newest but this one of `backup list`.", "--backup")]
AgreedSettings = Annotated[
    bool | None,
    flag(
        "--settings/--no-settings",
        "Take over settings that send text away, change trust or name places and commands; "
        "`backup verify` shows them. Without a terminal they are left out by default.",
    ),
]
Pair = Annotated[
    bool,
    flag(
        "--pair",
        "The other home is yours, too: from now on what it says counts as said here. Without it, what a "
        "home brings that was never paired is kept as imported, and changes nothing that is here.",
    ),
]


def backup_create(
    memory: Memory,
    target: Annotated[
        Path | None,
        argument(
            "[PATH|DIR|-]",
            "A file whose name ends in .zip, .tar.gz or .tar.zst, a folder, or `-` for a .tar.gz on "
            "standard output; default the home's folder backups.",
            parser=path_named,
        ),
    ] = None,
    force: Annotated[bool, flag("--force", "Replace a file that is there, in one step.")] = False,
    keep: Annotated[int, option(None, "Keep so many backups in the folder; 0 for all.", min=0)] = 0,
    json: Json = False,
) -> Result | None:
    """Write everything to one file, while others go on working; what waits in the spool is stored first."""
    del json
    memory.drain()
    if target == Path("-"):
        memory.backups.stream(memory.store, output.binary())
        return None
    made, skipped = memory.backups.create(memory.store, target, force=force, keep=keep)
    size_bytes = made.stat().st_size
    waiting = [item for item in skipped if item.path == "spool/new"]
    return Result(
        {"path": made, "size_bytes": size_bytes, "skipped": waiting},
        f"wrote {_line(str(made), size_bytes)}",
        [f"left out: {item.path} ({item.reason})" for item in waiting],
    )


def backup_verify(
    memory: Memory,
    named: Annotated[
        str | None, argument("[FILE|PLACE]", "A backup file, `-`, or a place; default backup_to.")
    ] = None,
    backup_id: BackupId = None,
) -> Result:
    """Check a backup by its manifest and every checksum in it, and name what restoring it would change."""
    return _report("sound", memory.backups.verify(named, sys.stdin.buffer, backup_id))


def backup_restore(
    place: WorkPlace,
    file: Annotated[
        Path,
        argument("FILE", "A backup made by `backup create`; `-` is standard input.", parser=path_named),
    ],
    yes: Yes = False,
    settings: AgreedSettings = None,
) -> Result:
    """Bring a backup back; a memory that is there already is kept beside it, and programs are left out."""
    backups = place.unconfigured().backups
    yes = _agreed_to_replace(backups.home, yes=yes)
    done = backups.restore(str(file), sys.stdin.buffer, replace=yes, with_settings=_agreement(settings))
    return _report("restored", done)


def backup_push(
    memory: Memory,
    named: PlaceName = None,
    keep: Annotated[
        int | None, option(None, "Keep so many backups there; default keep_backups.", min=0)
    ] = None,
    force: Annotated[
        bool, flag("--force", "Also to a place that holds the backup of another memory.")
    ] = False,
) -> Result:
    """Bring the backup at a place up to date: only what changed since the last one is sent."""
    memory.drain()
    pushed = memory.backups.push(memory.store, named, keep=keep, force=force)
    sent = f"{size(pushed.sent_bytes)} sent of {size(pushed.size_bytes)}"
    done = sent if pushed.changed else "nothing changed since"
    return Result(pushed, f"{cyan(pushed.id)}  {done}")


def backup_pull(
    place: WorkPlace,
    named: PlaceName = None,
    if_empty: Annotated[
        bool, flag("--if-empty", "Do nothing where there is a memory already, or no backup yet.")
    ] = False,
    backup_id: BackupId = None,
    yes: Yes = False,
    settings: AgreedSettings = None,
) -> Result:
    """Bring the backup at a place back, the newest by default; what was here before is kept beside it."""
    with place.opened() as memory:
        backups = memory.backups  # works on after the memory is closed, which it replaces
    if if_empty and (reason := backups.nothing_to_pull(named)):
        return Result({"ok": True, "pulled": False, "reason": reason}, nothing=reason)
    yes = if_empty or _agreed_to_replace(backups.home, yes=yes)
    done = backups.pull(named, backup_id, replace=yes, with_settings=_agreement(settings))
    return _report("pulled", done)


def backup_merge(
    memory: Memory,
    file: Annotated[Path, argument("FILE", "A backup made by `backup create`.", parser=path_named)],
    pair: Pair = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> Result:
    """Take in what a backup holds beside what is here: memories and conversations, not settings or files."""
    memory.drain()
    done = _homes(memory, pair=pair, yes=yes).merge(file, dry_run=dry_run)
    return Result(done, _exchanged(done))


def backup_list(place: WorkPlace, named: PlaceName = None) -> Result:
    """List the backups in the home, or at a place."""
    memory = place.unconfigured() if named is None else place.opened()
    with memory:
        backups = memory.backups
        listed = backups.list(named)
    for item in listed:
        if item.problem:
            output.note(item.problem)
    lines = [_line(item.name, item.size_bytes) for item in listed]
    return Result(listed, lines, nothing=f"no backups in {named or backups.home / 'backups'}")


def _agreed_to_replace(home: Path, *, yes: bool) -> bool:
    occupied = home.is_dir() and any(home.iterdir())
    if occupied and not yes and sys.stdin.isatty():
        return output.answered(f"Put this backup in the place of the memory in {home}?")
    return yes


def _agreement(settings: bool | None) -> Agreement:
    if settings is None:
        return _asked_about_settings if sys.stdin.isatty() else False
    return settings


def _asked_about_settings(changes: Sequence[RestoreChange]) -> bool:
    """Whether the person wants the settings of a backup, having seen them."""
    output.note("this backup brings other settings:")
    for change in changes:
        output.note(f"  {change.name}: {change.before} becomes {change.after}")
    return output.answered("Take them over?")


def _line(name: str, size_bytes: int) -> str:
    return f"{name}  {dim(size(size_bytes))}"


def _report(done: str, report: BackupReport) -> Result:
    if not report.ok:
        output.failure(f"{report.path} is damaged: {report.problems[0]}")
    summary = f"{bold(done if report.ok else 'damaged')}  {report.files} files, {size(report.size_bytes)}"
    lines = [summary, *(dim(f"  {remark}") for remark in _remarks(report))]
    return Result({"ok": report.ok, **output.plain(report)}, lines, code=0 if report.ok else 1)


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


def sync(
    place: WorkPlace,
    where: Annotated[
        list[str] | None,
        argument(
            "[PLACE|PATH|ssh HOST]",
            "A place as for `backup push`, the folder of another home, or a host that has "
            "claude-memory; default backup_to.",
        ),
    ] = None,
    pair: Pair = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    stdio: Annotated[bool, flag("--stdio", "Serve this home to the other end of a pipe.")] = False,
    json: Json = False,
) -> Result | None:
    """Exchange what changed with another home of yours, both ways; repeated or cut off, it ends the same."""
    del json
    with place.opened(quiet=stdio) as memory:
        memory.drain()
        if stdio:
            memory.homes.serve(sys.stdin.buffer, output.binary(), dry_run=dry_run)
            return None
        done = _homes(memory, pair=pair, yes=yes).sync(where or [], dry_run=dry_run)
    return Result(done, _exchanged(done))


def _homes(memory: Memory, *, pair: bool, yes: bool) -> Homes:
    """The homes of a memory, with how this command asks about strangers and tells how far it is."""
    if pair or yes:
        require_person("pairing another home")
    told_at = time.monotonic()

    def progress(words: str) -> None:
        nonlocal told_at
        if time.monotonic() - told_at > PROGRESS_SECONDS:
            told_at = time.monotonic()
            output.note(words)

    def agree(name: str) -> bool:
        if pair or yes:
            return True
        question = f"{name} was never paired with this home. Is it yours, and does it speak for you?"
        if sys.stdin.isatty() and not inside_agent() and output.answered(question):
            return True
        output.note(
            f"{name} was never paired: what it brings is kept as imported; --pair says that it is yours"
        )
        return False

    return replace(memory.homes, agree=agree, progress=progress)


def _exchanged(done: Exchanged) -> Iterator[str]:
    would = "would be " if done.dry_run else ""
    for met in done.met:
        state = "paired" if met.paired else "not paired: as imported"
        yield f"{bold(met.name)}  {state}  received: {_counts(met.received)}"
        if met.sent is not None:
            yield f"  sent: {_counts(met.sent)}"
    if done.written or not done.met:
        yield f"{counted(done.written, 'change')} {would}left at {done.place}"


def _counts(taken: Taken) -> str:
    counts = (
        (taken.messages, "message", ""),
        (taken.added, "new memory", "new memories"),
        (taken.changed, "changed memory", "changed memories"),
        (taken.erased, "erasure", ""),
        (taken.other, "other change", ""),
    )
    return ", ".join(counted(*count) for count in counts if count[0]) or "nothing new"


# --- a team's server

TeamName = Annotated[str, argument("TEAM", "The team's name.")]
OwnerUrl = Annotated[
    str, option("URL", "postgresql://… of whoever owns the store: may make roles, tables and the extension.")
]
Hub = Annotated[
    bool, flag("--hub", "Keep an own store, and exchange the projects' memories with the team's by `sync`.")
]
Bring = Annotated[bool, flag("--bring", "Move the own store there, whole; the team must hold nothing yet.")]
PersonName = Annotated[
    str, option("NAME", "How others see you; default the name you are logged in by.", "--as")
]


def team_create(place: WorkPlace, team: TeamName, url: OwnerUrl, name: PersonName = "") -> Result:
    """Make or renew the store at a PostgreSQL server, a team in it, and your own login, shown once."""
    require_person("making a team")
    made = place.unconfigured().team.create(url, team, name or getpass.getuser())
    if made is None:
        return Result({"team": team, "renewed": True}, f"{team} is there already; its schema is up to date")
    return _login(made)


def team_invite(
    place: WorkPlace,
    team: TeamName,
    name: Annotated[str, argument("NAME", "The new member, as others will see them.")],
    url: OwnerUrl,
) -> Result:
    """Make a login for one more member, shown once: give it to them alone."""
    require_person("inviting somebody")
    return _login(place.unconfigured().team.invite(url, team, name))


def team_join(
    place: WorkPlace,
    url: Annotated[str, argument("URL", "The login that you were given.")],
    hub: Hub = False,
    bring: Bring = False,
) -> Result:
    """Use a team's store from now on; commands, server and drain talk to it, hooks look at a local copy."""
    require_person("joining a team")
    members = place.unconfigured().team.join(url, hub=hub, bring=bring)
    return Result(
        members, map(_member, members), ["joined: `claude-memory doctor` shows how the server stands"]
    )


def team_members(place: WorkPlace) -> Result:
    """Show who is in the team."""
    with place.opened() as memory:
        members = memory.team.members()
    return Result(members, map(_member, members))


def team_leave(place: WorkPlace, yes: Yes = False) -> Result:
    """Take along what is yours and be no member any more; what you said about projects stays there."""
    require_person("leaving a team")
    with place.opened() as memory:
        team = memory.team
        if not yes and not output.answered("Leave the team, and delete there what is yours alone?"):
            return Result({"left": False}, "still a member")
        left = team.leave()
    return Result(left, f"left {left.team}; what is yours lies in {left.file}")


def _login(made: Invitation) -> Result:
    notes = (
        f"{made.name} joins by: claude-memory team join URL",
        "shown only now: keep it as you keep a password",
    )
    return Result(made, made.url, notes)


def _member(member: Member) -> str:
    return f"{bold(member.name)}  since {member.joined:%Y-%m-%d}{', made it' if member.leads else ''}"
