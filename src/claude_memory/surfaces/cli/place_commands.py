"""Commands that carry the home to a file, a place, another home or a team, and back: backup, sync, team; and
demo, which fills a home and throws it away.
"""

from __future__ import annotations

import getpass
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.platform.agents import inside_agent, require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import Result, Shared, WorkPlace, argument, flag, option
from claude_memory.surfaces.cli.output import bold, counted, cyan, dim, size, styled

if TYPE_CHECKING:
    from claude_memory.backup.archives import BackupReport, RestoreChange
    from claude_memory.backup.sync import Exchanged, Homes
    from claude_memory.backup.team import Invitation, Member
    from claude_memory.memory import Memory
    from claude_memory.store.sql.feed import Taken

PROGRESS_SECONDS = 2.0
_PLACES = "A folder, s3://BUCKET/PATH, gs://…, az://… or git:REPOSITORY#NAME; default backup_to."
_TARGETS = """A file whose name ends in .zip, .tar.gz or .tar.zst, a folder, or `-` for a .tar.gz on \
standard output; default the home's folder backups."""
_OTHER_HOME = """A place as for `backup push`, the folder of another home, or a host that has \
claude-memory; default backup_to."""
_PLACE = argument("[PLACE]", _PLACES, default=None)
_BACKUP = option("ID", "Not the newest but this one of `backup list`.")
_SETTINGS = flag(
    "Take over settings that send text away, change trust or name places and commands; "
    "`backup verify` shows them. Without a terminal they are left out by default.",
    "--settings/--no-settings",
    default=None,
)
_PAIR = flag(
    "The other home is yours, too: from now on what it says counts as said here. Without it, what a "
    "home brings that was never paired is kept as imported, and changes nothing that is here."
)


def backup_create(
    memory: Memory,
    target: Path | None = argument("[PATH|DIR|-]", _TARGETS, default=None),
    force: bool = flag("Replace a file that is there, in one step."),
    keep: int = option(None, "Keep so many backups in the folder; 0 for all.", default=0, min=0),
    json: bool = Shared.JSON,
) -> Result | None:
    """Write everything to one file, while others go on working; what waits in the spool is stored first."""
    del json
    memory.drain()
    if target == Path("-"):
        memory.backups.stream(memory.store, output.binary())
        return None
    made, skipped = memory.backups.create(memory.store, target, force=force, keep=keep)
    written, waiting = made.stat().st_size, [item for item in skipped if item.path == "spool/new"]
    document = {"path": made, "size_bytes": written, "skipped": waiting}
    notes = [f"left out: {item.path} ({item.reason})" for item in waiting]
    return Result(document, f"wrote {made}  {dim(size(written))}", notes)


def backup_verify(
    memory: Memory,
    named: str | None = argument("[FILE|PLACE]", "A file, `-`, or a place; default backup_to.", default=None),
    backup: str | None = _BACKUP,
) -> Result:
    """Check a backup by its manifest and every checksum in it, and name what restoring it would change."""
    return _report("sound", memory.backups.verify(named, sys.stdin.buffer, backup))


def backup_restore(
    place: WorkPlace,
    file: Path = argument("FILE", "One that `backup create` made; `-` is standard input."),
    yes: bool = Shared.YES,
    settings: bool | None = _SETTINGS,
) -> Result:
    """Bring a backup back; a memory that is there already is kept beside it, and programs are left out."""
    backups = place.unconfigured().backups
    restore = partial(backups.restore, str(file), sys.stdin.buffer)
    return _restored("restored", restore, None if yes else backups.home, settings)


def backup_push(
    memory: Memory,
    named: str | None = _PLACE,
    keep: int | None = option(None, "Keep so many backups there; default keep_backups.", min=0),
    force: bool = flag("Also to a place that holds the backup of another memory."),
) -> Result:
    """Bring the backup at a place up to date: only what changed since the last one is sent."""
    memory.drain()
    pushed = memory.backups.push(memory.store, named, keep=keep, force=force)
    done = f"{size(pushed.sent_bytes)} sent of {size(pushed.size_bytes)}"
    return Result(pushed, f"{cyan(pushed.id)}  {done if pushed.changed else 'nothing changed since'}")


def backup_pull(
    place: WorkPlace,
    named: str | None = _PLACE,
    if_empty: bool = flag("Do nothing where there is a memory already, or no backup yet."),
    backup: str | None = _BACKUP,
    yes: bool = Shared.YES,
    settings: bool | None = _SETTINGS,
) -> Result:
    """Bring the backup at a place back, the newest by default; what was here before is kept beside it."""
    with place.opened() as memory:
        backups = memory.backups  # works on after the memory is closed, which it replaces
    if if_empty and (reason := backups.nothing_to_pull(named)):
        return Result({"ok": True, "pulled": False, "reason": reason}, nothing=reason)
    restore = partial(backups.restore, named, None, backup)
    return _restored("pulled", restore, None if yes or if_empty else backups.home, settings)


def backup_merge(
    memory: Memory,
    file: Path = argument("FILE", "A backup made by `backup create`."),
    pair: bool = _PAIR,
    yes: bool = Shared.YES,
    dry_run: bool = Shared.DRY_RUN,
) -> Result:
    """Take in what a backup holds beside what is here: memories and conversations, not settings or files."""
    memory.drain()
    return _exchanged(_homes(memory, pair=pair or yes).merge(file, dry_run=dry_run))


def backup_list(place: WorkPlace, named: str | None = _PLACE) -> Result:
    """List the backups in the home, or at a place."""
    with place.unconfigured() if named is None else place.opened() as memory:
        backups = memory.backups
        listed = backups.list(named)
    for problem in filter(None, [item.problem for item in listed]):
        output.note(problem)
    lines = [f"{item.id}  {dim(size(item.size_bytes))}" for item in listed]
    return Result(listed, lines, nothing=f"no backups in {named or backups.home / 'backups'}")


def _restored(
    done: str, restore: Callable[..., BackupReport], home: Path | None, settings: bool | None
) -> Result:
    """Restore; a person is asked whether what is in `home` may be replaced, and then about settings."""

    def is_wanted(changes: Sequence[RestoreChange]) -> bool:
        output.note("this backup brings other settings:")
        for change in changes:
            output.note(f"  {change.name}: {change.before} becomes {change.after}")
        return output.answered("Take them over?")

    replace, can_ask = home is None, sys.stdin.isatty()
    if home is not None and can_ask and home.is_dir() and any(home.iterdir()):
        replace = output.answered(f"Put this backup in the place of the memory in {home}?")
    agreed = is_wanted if settings is None and can_ask else bool(settings)
    return _report(done, restore(replace=replace, with_settings=agreed))


def _report(done: str, report: BackupReport) -> Result:
    if not report.ok:
        output.failure(f"{report.path} is damaged: {report.problems[0]}")
    remarks = [f"problem: {problem}" for problem in report.problems]
    remarks += [f"left out: {item.path} ({item.reason})" for item in report.skipped]
    for change in report.changes:
        was = f"{change.before} becomes " if change.before else ""
        kept = "" if change.taken or change.what == "program" else " (only with --settings)"
        remarks.append(f"{change.what} {change.name}: {was}{change.after}{kept}")
    remarks += report.notes
    if report.previous is not None:
        remarks.append(f"what was there before is kept in {report.previous}")
    summary = f"{bold(done if report.ok else 'damaged')}  {report.files} files, {size(report.size_bytes)}"
    lines = [summary, *(dim(f"  {remark}") for remark in remarks)]
    return Result({"ok": report.ok, **output.plain(report)}, lines, code=0 if report.ok else 1)


def sync(
    place: WorkPlace,
    where: list[str] | None = argument("[PLACE|PATH|ssh HOST]", _OTHER_HOME, default=None),
    pair: bool = _PAIR,
    yes: bool = Shared.YES,
    dry_run: bool = Shared.DRY_RUN,
    stdio: bool = flag("Serve this home to the other end of a pipe."),
    json: bool = Shared.JSON,
) -> Result | None:
    """Exchange what changed with another home of yours, both ways; repeated or cut off, it ends the same."""
    del json
    with place.opened(quiet=stdio) as memory:
        memory.drain()
        if stdio:
            memory.homes.serve(sys.stdin.buffer, output.binary(), dry_run=dry_run)
            return None
        return _exchanged(_homes(memory, pair=pair or yes).sync(where or [], dry_run=dry_run))


def _homes(memory: Memory, *, pair: bool) -> Homes:
    """The homes of a memory, with how this command asks about strangers and tells how far it is."""
    if pair:
        require_person("pairing another home")
    told_at = time.monotonic()

    def progress(words: str) -> None:
        nonlocal told_at
        if time.monotonic() - told_at > PROGRESS_SECONDS:
            told_at = time.monotonic()
            output.note(words)

    def agree(name: str) -> bool:
        question = f"{name} was never paired with this home. Is it yours, and does it speak for you?"
        if pair or (sys.stdin.isatty() and not inside_agent() and output.answered(question)):
            return True
        kept = "what it brings is kept as imported; --pair says that it is yours"
        output.note(f"{name} was never paired: {kept}")
        return False

    return replace(memory.homes, agree=agree, progress=progress)


def _exchanged(done: Exchanged) -> Result:
    lines = []
    for met in done.met:
        state = "paired" if met.paired else "not paired: as imported"
        lines.append(f"{bold(met.name)}  {state}  received: {_counts(met.received)}")
        if met.sent is not None:
            lines.append(f"  sent: {_counts(met.sent)}")
    if done.written or not done.met:
        would = "would be " if done.dry_run else ""
        lines.append(f"{counted(done.written, 'change')} {would}left at {done.place}")
    return Result(done, lines)


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

_TEAM = argument("TEAM", "The team's name.")
_OWNER = option("URL", "postgresql://… of the owner, who may make roles, tables, the extension.", default=...)


def team_create(
    place: WorkPlace,
    team: str = _TEAM,
    url: str = _OWNER,
    as_: str = option("NAME", "How others see you; default the name you are logged in by.", default=""),
) -> Result:
    """Make or renew the store at a PostgreSQL server, a team in it, and your own login, shown once."""
    require_person("making a team")
    made = place.unconfigured().team.create(url, team, as_ or getpass.getuser())
    if made is None:
        return Result({"team": team, "renewed": True}, f"{team} is there already; its schema is up to date")
    return _login(made)


def team_invite(
    place: WorkPlace,
    team: str = _TEAM,
    name: str = argument("NAME", "The new member, as others will see them."),
    url: str = _OWNER,
) -> Result:
    """Make a login for one more member, shown once: give it to them alone."""
    require_person("inviting somebody")
    return _login(place.unconfigured().team.invite(url, team, name))


def team_join(
    place: WorkPlace,
    url: str = argument("URL", "The login that you were given."),
    hub: bool = flag("Keep an own store, and exchange the projects' memories with the team's by `sync`."),
    bring: bool = flag("Move the own store there, whole; the team must hold nothing yet."),
) -> Result:
    """Use a team's store from now on; commands, server and drain talk to it, hooks look at a local copy."""
    require_person("joining a team")
    members = place.unconfigured().team.join(url, hub=hub, bring=bring)
    told = "joined: `claude-memory doctor` shows how the server stands"
    return Result(members, map(_member, members), [told])


def team_members(memory: Memory) -> Result:
    """Show who is in the team."""
    members = memory.team.members()
    return Result(members, map(_member, members))


def team_leave(memory: Memory, yes: bool = Shared.YES) -> Result:
    """Take along what is yours and be no member any more; what you said about projects stays there."""
    require_person("leaving a team")
    if not yes and not output.answered("Leave the team, and delete there what is yours alone?"):
        return Result({"left": False}, "still a member")
    left = memory.team.leave()
    return Result(left, f"left {left.team}; what is yours lies in {left.file}")


def _login(made: Invitation) -> Result:
    notes = (
        f"{made.name} joins by: claude-memory team join URL",
        "shown only now: keep it as you keep a password",
    )
    return Result(made, made.url, notes)


def _member(member: Member) -> str:
    return f"{bold(member.name)}  since {member.joined:%Y-%m-%d}{', made it' if member.leads else ''}"


# --- the whole path, from an event to an answer, in a home that is thrown away; every part is the real one


def demo(json: bool = Shared.JSON) -> Result:
    """Show the whole path, from sample events to an answer."""
    from claude_memory import hook, sample
    from claude_memory.memory import Memory

    seconds: dict[str, float] = {}
    begun = time.perf_counter()

    def tell(name: str, words: str) -> None:
        nonlocal begun
        seconds[name] = round(time.perf_counter() - begun, 3)
        if not json:
            output.lines([_step_line(name, seconds[name], words)])
        begun = time.perf_counter()

    # Flags win over the environment: the demo must never touch real memories.
    flags = {"store": "", "embedder": "bundled"}
    own = {key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_MEMORY_")}
    with tempfile.TemporaryDirectory(prefix="claude-memory-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(os.path.realpath(name))
        home, project = folder / "home", folder / "billing"
        project.mkdir()
        with Memory.open(home, project, flags=flags) as memory:
            sessions = sample.write_history(project, folder)
            done = memory.import_history([folder / ".claude"], user_home=folder)
            brought = f"{counted(done.messages, 'message')}, {counted(done.memories, 'memory', 'memories')}"
            tell("import", f"{sessions} older sessions of the agent: {brought}")
            events, taken = sample.events(project), []
            program = Path(hook.__file__).with_name("claude_memory_hook.py")
            for event, raw in events:  # each in a process of its own
                command = [sys.executable, "-I", "-S", str(program), event]
                started = time.perf_counter()
                subprocess.run(command, input=raw, env={**own, "CLAUDE_MEMORY_HOME": str(home)}, check=True)
                taken.append(time.perf_counter() - started)
            milliseconds = round(statistics.median(taken) * 1000, 1)
            through = f"through the hook program, {milliseconds} ms each"
            tell("capture", f"{len(events)} events of two coding sessions {through}")
            new = memory.drain()
            tell("store", f"{new.events} events, {new.memories} memories, {new.rejected} rejected")
            tell("embed", f"{memory.embed_pending()} vectors; the model is unpacked on first use")
            answers = [_ask(memory, *question) for question in sample.QUESTIONS]
            mode = memory.search_mode
    right = all(answer["right"] and not answer["shared_words"] for answer in answers)
    if not right:
        output.failure("the memory that answers did not come first")
    lines: list[str] = []
    for answer in answers:
        shared = ", ".join(answer["shared_words"]) or "none"
        best = output.hit_lines(answer["hits"][:1], output.width() or 100)
        lines += ["", _step_line("ask", answer["seconds"], bold(f"“{answer['question']}”")), *best]
        lines += [dim(f"    words it shares with the question: {shared}")]
    lines += ["", dim(f"searched by {mode}; the home of this demo is gone again")]
    shown = [{**answer, "hits": [output.hit(hit) for hit in answer["hits"]]} for answer in answers]
    document = {"ok": right, "hook_ms": milliseconds, "steps": seconds, "answers": shown}
    return Result(document, lines, code=0 if right else 1)


def _ask(memory: Memory, question: str, answer: str) -> dict[str, Any]:
    """A question of the sample, what came first, and whether that is the right memory."""
    from claude_memory.text.words import index_terms, query_terms

    begun = time.perf_counter()
    hits = memory.search(question, limit=3)
    seconds = round(time.perf_counter() - begun, 3)
    first = memory.show([hits[0].id])[0].body if hits else ""
    shared = sorted(set(query_terms(question)).intersection(index_terms(first)))
    outcome = {"shared_words": shared, "right": answer in first, "hits": hits}
    return {"question": question, "seconds": seconds, **outcome}


def _step_line(name: str, seconds: float, words: str) -> str:
    return f"{styled('bold green', f'{name:<8}')}{dim(f'{seconds:6.2f} s')}  {words}"
