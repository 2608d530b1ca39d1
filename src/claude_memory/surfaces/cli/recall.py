"""The command that finds whole conversations: a list when piped, a screen on a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import (
    Json,
    agent_name,
    opened,
    path_named,
    said,
    since_when,
    until_when,
)
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.search.conversation_book import Resume
    from claude_memory.search.conversations import Recalled
    from claude_memory.store.archive_model import Conversation, ConversationFilter

NOTHING_YET = "no conversations yet: claude-memory import reads what agents keep of theirs"


def recall(
    context: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]...",
            help="Words, a phrase, an error, a command, a file; without it the newest.",
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
            metavar="WHEN", parser=since_when, help="Not before a date, `yesterday`, `2 weeks ago`."
        ),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(metavar="WHEN", parser=until_when, help="Not after it; same forms.")
    ] = None,
    cwd: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=path_named, help="Only what was said in this folder or below it."),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=500, help="How many conversations at most.")
    ] = 20,
    all_: Annotated[
        bool, typer.Option("--all", help="All projects alike; otherwise this one's stand a bit ahead.")
    ] = False,
    print_: Annotated[
        bool, typer.Option("--print", help="Print the command that resumes, instead of running it.")
    ] = False,
    json: Json = False,
) -> None:
    """Find conversations with any agent, best first; on a terminal, a screen to look into them."""
    within = _within(agent, since, until, cwd)
    asked = said(" ".join(query or []))
    on_screen = not json and _can_show()
    with opened(context, quiet=on_screen) as memory:
        if on_screen:
            chosen = _screen(memory, asked, within, limit=limit, own_first=not all_)
            how = memory.conversations.resume(chosen) if chosen is not None else None
        else:
            found = memory.recall(asked, within=within, limit=limit, own_first=not all_)
            _show(memory, found, json=json)
            return
    if chosen is not None:
        raise typer.Exit(go_on(chosen, how, only_print=print_))


def _within(
    agent: str | None, since: datetime | None, until: datetime | None, cwd: Path | None
) -> ConversationFilter:
    from claude_memory.memory import ConversationFilter

    return ConversationFilter(
        agent=agent, since=since, until=until, folder=_folder(cwd) if cwd is not None else ""
    )


def _folder(cwd: Path) -> str:
    """As agents write it: whole, with links followed where the folder is still there."""
    named = cwd.expanduser()
    return said(str(named.resolve() if named.is_dir() else named.absolute())).rstrip("/\\")


def _can_show() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _screen(
    memory: Memory, asked: str, within: ConversationFilter, *, limit: int, own_first: bool
) -> Conversation | None:
    from claude_memory.surfaces.tui.screen import RecallScreen

    return RecallScreen(memory, asked, within, limit=limit, own_first=own_first).run()


def _show(memory: Memory, found: Sequence[Recalled], *, json: bool) -> None:
    if not found:
        kept = memory.conversations.count()
        output.note("nothing found; try other words or fewer filters" if kept else NOTHING_YET)
    now = datetime.now().astimezone()
    if json:
        resume = memory.conversations.resume
        output.document([document(item, resume(item.conversation), now) for item in found])
    else:
        output.lines(listed(found, now, output.width()))
        if found:
            kept = memory.archive.totals()["conversations"]
            output.note(f"{len(found):,} of {output.counted(kept, 'conversation')}")


def document(item: Recalled, how: Resume | None, now: datetime) -> dict[str, Any]:
    """One conversation for programs."""
    found = item.conversation
    names = ("session", "agent", "title", "project", "cwd", "branch", "first", "last", "messages", "parent")
    return {
        **{name: documents.plain(getattr(found, name)) for name in names},
        "when": times.ago(found.last, now=now),
        "score": item.score,
        "passages": [documents.plain(quote) for quote in item.quotes],
        "resume": how.line if how else None,
    }


def listed(found: Sequence[Recalled], now: datetime, columns: int | None) -> Iterator[Line]:
    """Each conversation with its head line and its best passages."""
    for item in found:
        talk = item.conversation
        yield [
            (talk.session, "cyan"),
            (f"  {views.day(talk.last)}, {times.ago(talk.last, now=now)}  ", "dim"),
            (views.one_line(talk.name), "bold"),
        ]
        branch = f" on {talk.branch}" if talk.branch else ""
        yield [(f"    {talk.agent}, {output.counted(talk.messages, 'message')}, {talk.cwd}{branch}", "dim")]
        for quote in item.quotes:
            yield _quoted(quote.ordinal, quote.role, views.one_line(quote.text), columns)


def _quoted(ordinal: int, role: str, text: str, columns: int | None) -> Line:
    head = f"    {ordinal or '·':>5} {role:<9} "
    room = None if columns is None else max(columns - len(head), 20)
    shown = text if room is None or len(text) <= room else text[: room - 1] + "…"
    return [(head, "dim"), (shown, "")]


def go_on(chosen: Conversation, how: Resume | None, *, only_print: bool) -> int:
    """Resume a conversation in its folder; where that cannot be done, say how it could."""
    if how is None:
        output.note(f"{chosen.agent} cannot resume a conversation by its id; this prints it:")
        output.lines([[(f"claude-memory conversation {chosen.session}", "")]])
        return 0
    if how.handed:
        output.note(f"{chosen.agent} has deleted its own file: it begins anew with what the archive holds")
    program = shutil.which(how.arguments[0])
    if only_print or program is None or not how.has_folder:
        if not only_print:
            missing = how.arguments[0] if program is None else how.folder
            output.note(f"cannot resume here, {missing} is not there; this would:")
        output.lines([[(how.line, "")]])
        return 0
    return _run(program, how)


def _run(program: str, how: Resume) -> int:
    sys.stdout.flush()
    if os.name != "nt":  # where exec would return to the shell before the agent ends
        os.chdir(how.folder)
        os.execv(program, how.arguments)  # noqa: S606  the agent's own program, without a shell
    return subprocess.run([program, *how.arguments[1:]], cwd=how.folder, check=False).returncode
