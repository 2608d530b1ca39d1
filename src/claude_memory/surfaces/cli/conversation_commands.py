"""Commands about whole conversations: recall (a screen on a terminal), import, conversation."""

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

from claude_memory.errors import NotFound
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    Json,
    Result,
    WorkPlace,
    agent_option,
    argument,
    flag,
    one_of,
    option,
    path_named,
    path_option,
    reading,
    said,
    time_option,
)
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.rendering import day, head, one_line
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.imports.importer import Imported, Unread
    from claude_memory.memory import Memory
    from claude_memory.search.conversations import Recalled, Resume
    from claude_memory.store.model import Conversation, Message

NOTHING_YET = "no conversations yet: claude-memory import reads what agents keep of theirs"
UNREAD_SHOWN = 10
WAIT_SECONDS = 30  # a drain's slack takes ten
_STYLES = {"user": "bold cyan", "assistant": "bold green", "call": "bold", "result": "dim", "summary": "bold"}


def recall(
    place: WorkPlace,
    query: Annotated[
        list[str] | None,
        argument(
            "[QUERY]...",
            "Words, a phrase, an error, a command, a file; without it the newest.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[str | None, agent_option("Only this agent's, such as claude-code or codex.")] = None,
    since: Annotated[datetime | None, time_option("Not before a date, `yesterday`, `2 weeks ago`.")] = None,
    until: Annotated[datetime | None, time_option("Not after it; same forms.", end=True)] = None,
    cwd: Annotated[Path | None, path_option("DIR", "Only what was said in this folder or below it.")] = None,
    limit: Annotated[int, option("N", "How many conversations at most.", min=1, max=500)] = 20,
    all_: Annotated[
        bool, flag("--all", "All projects alike; otherwise this one's stand a bit ahead.")
    ] = False,
    print_: Annotated[
        bool, flag("--print", "Print the command that resumes, instead of running it.")
    ] = False,
    json: Json = False,
) -> Result | None:
    """Find conversations with any agent, best first; on a terminal, a screen to look into them."""
    from claude_memory.memory import ConversationFilter

    within = ConversationFilter(
        agent=agent, since=since, until=until, folder=_folder(cwd) if cwd is not None else ""
    )
    question = " ".join(query or [])
    on_screen = not json and sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    with place.opened(quiet=on_screen) as memory:
        if not on_screen:
            return _listed(memory, memory.recall(question, within=within, limit=limit, own_first=not all_))
        from claude_memory.surfaces.tui.screen import RecallScreen

        chosen = RecallScreen(memory, question, within, limit=limit, own_first=not all_).run()
        resume = memory.conversations.resume(chosen) if chosen is not None else None
    if chosen is not None:
        raise typer.Exit(go_on(chosen, resume, only_print=print_))
    return None


def _folder(cwd: Path) -> str:
    """As agents write it: whole, with links followed where the folder is still there."""
    named = cwd.expanduser()
    return str(said(str(named.resolve() if named.is_dir() else named.absolute()))).rstrip("/\\")


def _listed(memory: Memory, recalled: Sequence[Recalled]) -> Result:
    now, book = datetime.now().astimezone(), memory.conversations
    if not recalled:
        output.note("nothing found; try other words or fewer filters" if book.count() else NOTHING_YET)
    total = output.counted(memory.archive.totals()["conversations"], "conversation")
    return Result(
        [_document(item, book.resume(item.conversation), now) for item in recalled],
        list(_recalled_lines(recalled, now, output.width())),
        [f"{len(recalled):,} of {total}"] if recalled else [],
    )


def _document(item: Recalled, resume: Resume | None, now: datetime) -> dict[str, Any]:
    names = "session agent title project cwd branch first last messages parent".split()
    return {
        **{name: getattr(item.conversation, name) for name in names},
        "when": times.ago(item.conversation.last, now=now),
        "score": item.score,
        "passages": item.quotes,
        "resume": resume.line if resume else None,
    }


def _recalled_lines(recalled: Sequence[Recalled], now: datetime, columns: int | None) -> Iterator[Line]:
    """Each conversation with its head line and its best passages."""
    for item in recalled:
        talk = item.conversation
        yield head(talk.session, f"{day(talk.last)}, {times.ago(talk.last, now=now)}", talk.name)
        branch = f" on {talk.branch}" if talk.branch else ""
        yield [(f"    {talk.agent}, {output.counted(talk.messages, 'message')}, {talk.cwd}{branch}", "dim")]
        for quote in item.quotes:
            place, text = f"    {quote.ordinal or '·':>5} {quote.role:<9} ", one_line(quote.text)
            room = len(text) if columns is None else max(columns - len(place), 20)
            yield [(place, "dim"), (text if len(text) <= room else text[: room - 1] + "…", "")]


def go_on(chosen: Conversation, resume: Resume | None, *, only_print: bool) -> int:
    """Resume a conversation in its folder; where that cannot be done, say how it could."""
    if resume is None:
        output.note(f"{chosen.agent} cannot resume a conversation by its id; this prints it:")
        output.lines([[(f"claude-memory conversation {chosen.session}", "")]])
        return 0
    if resume.handed:
        output.note(f"{chosen.agent} has deleted its own file: it begins anew with what the archive holds")
    program = shutil.which(resume.arguments[0])
    if only_print or program is None or not resume.has_folder:
        if not only_print:
            missing = resume.arguments[0] if program is None else resume.folder
            output.note(f"cannot resume here, {missing} is not there; this would:")
        output.lines([[(resume.line, "")]])
        return 0
    sys.stdout.flush()
    if os.name != "nt":  # where exec would return to the shell before the agent ends
        os.chdir(resume.folder)
        os.execv(program, resume.arguments)  # noqa: S606  the agent's own program, without a shell
    return subprocess.run([program, *resume.arguments[1:]], cwd=resume.folder, check=False).returncode


def _other(name: str | None) -> str | None:
    return None if name is None else one_of(name, ("claude-mem",))


def import_(
    memory: Memory,
    paths: Annotated[
        list[Path] | None,
        argument(
            "[PATH]...",
            "Files or folders; default: all known places.",
            parser=path_named,
            show_default=False,
        ),
    ] = None,
    agent: Annotated[str | None, agent_option("Only this agent's, such as claude-code or codex.")] = None,
    since: Annotated[
        datetime | None, time_option("Only what changed since: 2026-11-01, 2 weeks ago.", metavar="TIME")
    ] = None,
    from_: Annotated[
        str | None, option("KIND", "Read another memory's database: claude-mem.", "--from", callback=_other)
    ] = None,
    wait: Annotated[
        bool, flag("--wait", "Wait until all is found by meaning, too; else that goes on alone.")
    ] = False,
) -> Result:
    """Read what agents keep of their conversations; only what is new."""
    if from_ is not None:
        done = memory.upkeep.import_memories(from_, paths or ())
    else:
        with output.progress_bar(output.bytes_text) as show:
            done = memory.import_history(
                paths or (), agent=agent, since=since, wait_seconds=WAIT_SECONDS, progress=show
            )
    vectors = memory.upkeep.vectors
    if wait:
        with output.progress_bar(output.vectors_text) as show:
            vectors.all(show)
    progress = vectors.progress
    _leave_to_the_background(memory.home, done.waiting, 0 if wait else progress.missing)
    notes = list(_unread(done.unread))
    if not done.read_bytes and from_ is None and not memory.upkeep.has_histories(paths or (), agent):
        notes.append(
            "no agent has left a history here that could be read; `import PATH` reads one from elsewhere"
        )
    return Result({**output.plain(done), "vectors": progress}, _added(done), notes)


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


def _added(done: Imported) -> str:
    added = (
        output.counted(done.sessions, "session"),
        output.counted(done.messages, "message"),
        output.counted(done.memories, "memory", "memories"),
    )
    passed = f"{output.counted(done.duplicates, 'duplicate')}, {output.counted(done.skipped, 'line')} skipped"
    return f"added {', '.join(added)}; passed over {passed}"


def _unread(unread: Sequence[Unread]) -> Iterator[str]:
    """Which files could not be read wholly, and why."""
    for item in unread[:UNREAD_SHOWN]:
        repeated = f" ({item.count:,} times)" if item.count > 1 else ""
        yield f"not read in {item.path}: {item.reason}{repeated}"
    if len(unread) > UNREAD_SHOWN:
        yield f"and {len(unread) - UNREAD_SHOWN:,} more: `import --json` lists all"


def conversation(
    memory: Memory,
    named: Annotated[
        str, argument("ID[:RANGE]", "A conversation's id, or its beginning; ID:5-9 for a part.")
    ],
    errors: Annotated[bool, flag("--errors", "Only tools that failed, with their calls.")] = False,
) -> Result:
    """Print one archived conversation."""
    book = memory.conversations
    with reading("ID[:RANGE]"):
        id_, first, last = book.range_of(named)
    talk = book.named(id_)
    messages = book.messages(talk, first=first, last=last)
    if not messages:
        known = output.counted(talk.messages, "message")
        raise NotFound(f"nothing in {named}: conversation {talk.session} has {known}")
    if errors:
        failed = {message.call for message in messages if message.failed and message.role == "result"}
        messages = [message for message in messages if message.call in failed and message.call]
    return Result({**output.plain(talk), "messages": messages}, _shown(talk, messages))


def _shown(talk: Conversation, messages: Sequence[Message]) -> Iterator[Line]:
    branch = f" on {talk.branch}" if talk.branch else ""
    yield [(talk.title or talk.session, "bold")]
    yield [(f"{talk.agent} {talk.session}  {talk.cwd}{branch}", "dim")]
    yield [(f"{times.minute(talk.first)} to {times.minute(talk.last)}, {talk.messages} messages", "dim")]
    if talk.continues:
        yield [(f"goes on from {talk.continues}", "dim")]
    for message in messages:
        name = f"{message.role} {message.tool}".rstrip() + (" failed" if message.failed else "")
        style = "bold red" if message.failed else _STYLES.get(message.role, "")
        yield []
        yield [(f"{message.ordinal:>4}  ", "dim"), (name, style), (f"  {times.minute(message.at)}", "dim")]
        for line in message.text.splitlines():
            yield [(f"      {line}", "")]
