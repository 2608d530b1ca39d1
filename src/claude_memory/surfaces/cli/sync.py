"""The command that makes one of two homes, and what `backup merge` shares with it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.platform.caller import inside_agent, require_person
from claude_memory.surfaces.cli import documents, output
from claude_memory.surfaces.cli.request import DryRun, Json, Yes, opened, said_all

if TYPE_CHECKING:
    from claude_memory.backup.sync import Homes, Met, Synced
    from claude_memory.memory import Memory
    from claude_memory.store.feed_model import Taken

PROGRESS_SECONDS = 2.0

Pair = Annotated[
    bool,
    typer.Option(
        "--pair",
        help="The other home is yours, too: from now on what it says counts as said here. Without it, what a "
        "home brings that was never paired is kept as imported, and changes nothing that is here.",
    ),
]


def sync(
    context: typer.Context,
    where: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PLACE|PATH|ssh HOST]",
            help="A place as for `backup push`, the folder of another home, or a host that has "
            "claude-memory; default backup_to.",
        ),
    ] = None,
    pair: Pair = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve this home to the other end of a pipe.")
    ] = False,
    json: Json = False,
) -> None:
    """Exchange what changed with another home of yours, both ways; repeated or cut off, it ends the same."""
    with opened(context, quiet=stdio) as memory:
        memory.drain()
        if stdio:
            memory.homes.serve(sys.stdin.buffer, output.binary(), dry_run=dry_run)
            return
        done = homes(memory, pair=pair, yes=yes).sync(said_all(where), dry_run=dry_run)
    report(done, json=json)


def homes(memory: Memory, *, pair: bool, yes: bool) -> Homes:
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
        if sys.stdin.isatty() and not inside_agent():
            question = f"{name} was never paired with this home. Is it yours, and does it speak for you?"
            if output.confirmed(question, yes=False):
                return True
        output.note(
            f"{name} was never paired: what it brings is kept as imported; --pair says that it is yours"
        )
        return False

    return replace(memory.homes, agree=agree, progress=progress)


def report(done: Synced, *, json: bool) -> None:
    """Say what was exchanged."""
    document = documents.plain(done)
    output.answer(document, list(_lines(done)), json=json)


def _lines(done: Synced) -> Iterator[output.Line]:
    would = "would be " if done.dry_run else ""
    for met in done.met:
        yield [(met.name, "bold"), (f"  {_state(met)}  received: {_told(met.received)}", "")]
        if met.sent is not None:
            yield [(f"  sent: {_told(met.sent)}", "")]
    if done.written or not done.met:
        yield [(f"{output.counted(done.written, 'change')} {would}left at {done.place}", "")]


def _state(met: Met) -> str:
    return "paired" if met.paired else "not paired: as imported"


def _told(taken: Taken) -> str:
    counts = {
        "message": taken.messages,
        "new memor": taken.added,
        "changed memor": taken.changed,
        "erasure": taken.erased,
        "other change": taken.other,
    }
    named = [
        output.counted(number, f"{word}y", f"{word}ies")
        if word.endswith("memor")
        else output.counted(number, word)
        for word, number in counts.items()
        if number
    ]
    return ", ".join(named) or "nothing new"
