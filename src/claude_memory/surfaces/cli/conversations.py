"""Commands about whole conversations: import, conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.errors import NotFound
from claude_memory.surfaces.cli import bars, documents, output
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import (
    Json,
    agent_name,
    one_of,
    opened,
    path_named,
    reading,
    said,
    since_when,
)
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.imports.importer import Imported
    from claude_memory.imports.reading import Unread
    from claude_memory.memory import Memory
    from claude_memory.store.archive_model import Conversation, Message
    from claude_memory.vector_work import VectorProgress

_STYLES = {"user": "bold cyan", "assistant": "bold green", "call": "bold", "result": "dim", "summary": "bold"}
UNREAD_SHOWN = 10
WAIT_SECONDS = 30  # a drain's slack takes ten


def _other(name: str | None) -> str | None:
    return None if name is None else one_of(name, ("claude-mem",))


def import_(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            parser=path_named,
            help="Files or folders; default: all known places.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", callback=agent_name, help="Only this agent's, such as claude-code or codex."
        ),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME", parser=since_when, help="Only what changed since: 2026-11-01, 2 weeks ago."
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="KIND", callback=_other, help="Read another memory's database: claude-mem."
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until all is found by meaning, too; else that goes on alone.")
    ] = False,
    json: Json = False,
) -> None:
    """Read what agents keep of their conversations; only what is new."""
    with opened(context) as memory:
        if from_ is not None:
            done: Any = memory.import_memories(from_, paths or ())
        else:
            with bars.shown(bars.bytes_text) as show:
                done = memory.import_history(
                    paths or (), agent=agent, since=since, wait_seconds=WAIT_SECONDS, progress=show
                )
        histories = from_ is not None or memory.upkeep.has_histories(paths or (), agent)
        progress = _made_now(memory) if wait else memory.upkeep.vectors.progress
    if json:
        output.document({**documents.plain(done), "vectors": documents.plain(progress)})
    else:
        output.lines([[(_told(done), "")]])
    _leave_to_the_background(memory.home, getattr(done, "waiting", 0), 0 if wait else progress.missing)
    if json:
        return
    for line in _unread(getattr(done, "unread", ())):
        output.note(line)
    if not histories and not done.read_bytes:
        output.note(
            "no agent has left a history here that could be read; `import PATH` reads one from elsewhere"
        )


def _made_now(memory: Memory) -> VectorProgress:
    with bars.shown(bars.vectors_text) as show:
        memory.upkeep.vectors.all(show)
    return memory.upkeep.vectors.progress


def _leave_to_the_background(home: Path, waiting: int, missing: int) -> None:
    """The rest is done by a process of low priority that ends when it is done."""
    if waiting or missing:
        from claude_memory.surfaces.hooks import background

        background.start(home)
    if waiting:
        output.note(f"{waiting:,} conversations are distilled in the background, or by the next import")
    if missing:
        output.note(
            f"{missing:,} passages are found by words now, and by meaning as the background work reaches "
            "them, newest first: `claude-memory doctor` tells how far it is, `reindex --stop` stops it"
        )


def _told(done: Imported) -> str:
    added = (
        output.counted(done.sessions, "session"),
        output.counted(done.messages, "message"),
        output.counted(done.memories, "memory", "memories"),
    )
    passed = f"{output.counted(done.duplicates, 'duplicate')}, {output.counted(done.skipped, 'line')} skipped"
    return f"added {', '.join(added)}; passed over {passed}"


def _unread(unread: Sequence[Unread]) -> Iterator[str]:
    """Which files could not be read wholly, and why."""
    for one in unread[:UNREAD_SHOWN]:
        times = f" ({one.count:,} times)" if one.count > 1 else ""
        yield f"not read in {one.path}: {one.reason}{times}"
    if len(unread) > UNREAD_SHOWN:
        yield f"and {len(unread) - UNREAD_SHOWN:,} more: `import --json` lists all"


def conversation(
    context: typer.Context,
    named: Annotated[
        str,
        typer.Argument(
            metavar="ID[:RANGE]", help="A conversation's id, or its beginning; ID:5-9 for a part."
        ),
    ],
    errors: Annotated[
        bool, typer.Option("--errors", help="Only tools that failed, with their calls.")
    ] = False,
    json: Json = False,
) -> None:
    """Print one archived conversation."""
    with opened(context) as memory:
        book = memory.conversations
        with reading("ID[:RANGE]"):
            id_, first, last = book.range_of(said(named))
        found = book.named(id_)
        messages = book.messages(found, first=first, last=last)
    if not messages:
        known = output.counted(found.messages, "message")
        raise NotFound(f"nothing in {named}: conversation {found.session} has {known}")
    if errors:
        failed = {message.call for message in messages if message.failed and message.role == "result"}
        messages = [message for message in messages if message.call in failed and message.call]
    if json:
        output.document({**documents.plain(found), "messages": [documents.plain(item) for item in messages]})
        return
    output.lines(_shown(found, messages))


def _shown(found: Conversation, messages: Sequence[Message]) -> Iterator[Line]:
    branch = f" on {found.branch}" if found.branch else ""
    yield [(found.title or found.session, "bold")]
    yield [(f"{found.agent} {found.session}  {found.cwd}{branch}", "dim")]
    yield [(f"{times.minute(found.first)} to {times.minute(found.last)}, {found.messages} messages", "dim")]
    if found.continues:
        yield [(f"goes on from {found.continues}", "dim")]
    for message in messages:
        name = f"{message.role} {message.tool}".rstrip() + (" failed" if message.failed else "")
        yield []
        style = "bold red" if message.failed else _STYLES.get(message.role, "")
        yield [(f"{message.ordinal:>4}  ", "dim"), (name, style), (f"  {times.minute(message.at)}", "dim")]
        for line in message.text.splitlines():
            yield [(f"      {line}", "")]
