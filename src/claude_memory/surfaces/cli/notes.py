"""Commands about the plain files: log, reflect, lesson, decide, buffer, distill, notes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.model import Trust
from claude_memory.platform.caller import own_trust
from claude_memory.surfaces.cli import documents, output
from claude_memory.surfaces.cli.request import AsUser, Json, Yes, opened, said, said_all, whole_text

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.notes.project_documents import ProjectDocuments

SYNC_SECONDS = 2.0
Text = Annotated[list[str], typer.Argument(metavar="TEXT", help="The text; `-` reads standard input.")]


class Reflecting(StrEnum):
    """What a reflection is."""

    PATTERN = "pattern"
    REFLECTION = "reflection"
    IDEA = "idea"


log_app = typer.Typer(help="Show what the last sessions were, or add one.", rich_markup_mode=None)
buffer_app = typer.Typer(help="Show, add to or clear the working buffer.", rich_markup_mode=None)
notes_app = typer.Typer(
    help="The knowledge base: folders of notes.", rich_markup_mode=None, no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(log_app, name="log", invoke_without_command=True)
    app.command()(reflect)
    app.command()(lesson)
    app.command()(decide)
    app.add_typer(buffer_app, name="buffer", invoke_without_command=True)
    app.command()(distill)
    app.add_typer(notes_app, name="notes")


@log_app.callback()
def log(
    context: typer.Context,
    days: Annotated[int, typer.Option(metavar="N", min=1, max=366, help="How many days to show.")] = 3,
    all_projects: Annotated[bool, typer.Option("--all-projects", help="Show every project.")] = False,
    json: Json = False,
) -> None:
    """Show what the last sessions were, or add one."""
    if context.invoked_subcommand is not None:
        _refuse_early(json)
        return
    from claude_memory.notes import session_log

    with opened(context) as memory:
        memory.drain(budget_seconds=1.0)
        wanted = None if all_projects else memory.project.id
        found, problems = session_log.recent(memory.home, today=_today(), days=days, project=wanted)
    _report(problems)
    if json:
        output.document([{**line.record(), "file": str(line.path), "line": line.line} for line in found])
        return
    if not found:
        output.note(f"no session was written down in the last {days} days")
    for line in found:
        output.lines([[(f"{line.date} {line.time}  ", "dim"), (line.summary or line.session, "bold")]])
        for name in ("decisions", "artifacts", "open_threads"):
            for text in getattr(line, name):
                output.lines([[(f"    {name.replace('_', ' ').rstrip('s')}: ", "dim"), (text, "")]])


@log_app.command("add")
def log_add(
    context: typer.Context,
    text: Text,
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="A name for the session.")] = None,
    decision: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Something that was decided, with its why.")
    ] = None,
    artifact: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Something that was made.")
    ] = None,
    open_thread: Annotated[
        list[str] | None, typer.Option("--open", metavar="TEXT", help="Something that is left to do.")
    ] = None,
    json: Json = False,
) -> None:
    """Add a line to today's session log."""
    from claude_memory.notes import session_log

    with _writing(context) as memory:
        clean = memory.keeper.clean
        summary = " ".join(clean(whole_text(text)).split())
        now = datetime.now().astimezone()
        line = session_log.SessionLine(
            date=f"{now:%Y-%m-%d}",
            session=clean(said(title)) if title else summary[:80],
            time=f"{now:%H:%M}",
            summary=summary,
            decisions=tuple(map(clean, said_all(decision))),
            artifacts=tuple(map(clean, said_all(artifact))),
            open_threads=tuple(map(clean, said_all(open_thread))),
            project=memory.project.id,
            session_id=os.environ.get("CLAUDE_MEMORY_SESSION", ""),
        )
        path = session_log.append(memory.home, line)
    _done(json, path, line.record())


def reflect(
    context: typer.Context,
    type_: Annotated[
        Reflecting,
        typer.Argument(metavar="TYPE", help="`pattern`, `reflection` or `idea`."),
    ],
    text: Text,
    as_user: AsUser = False,
    json: Json = False,
) -> None:
    """Write down a pattern, a reflection or an idea; it is read at the start of every session."""
    from claude_memory.notes import reflections

    by_agent = _by_agent(as_user)
    with _writing(context) as memory:
        content, now = memory.keeper.clean(whole_text(text)), datetime.now().astimezone()
        made = reflections.add(
            memory.home, type_.value, content, project=memory.project.id, by_agent=by_agent, now=now
        )
    _done(json, memory.home / "reflections.jsonl", {"type": made.type, "content": made.content})


def lesson(context: typer.Context, text: Text, as_user: AsUser = False, json: Json = False) -> None:
    """Add a lesson to tasks/lessons.md."""
    by_agent = _by_agent(as_user)
    with _writing(context) as memory:
        shelf, content = _shelf(memory), memory.keeper.clean(whole_text(text))
        shelf.add_lesson(content, day=_today(), by_agent=by_agent)
    _done(json, shelf.files.lessons, {"lesson": content})


def decide(
    context: typer.Context,
    text: Text,
    why: Annotated[str, typer.Option(metavar="REASON", help="Why it was decided so.")] = "",
    as_user: AsUser = False,
    json: Json = False,
) -> None:
    """Add a decision and its reason to the table in the project's MEMORY.md."""
    by_agent = _by_agent(as_user)
    with _writing(context) as memory:
        shelf, clean = _shelf(memory), memory.keeper.clean
        what, reason = clean(whole_text(text)), clean(said(why))
        shelf.add_decision(what, reason, day=_today(), by_agent=by_agent)
    _done(json, shelf.files.memory, {"decision": what, "why": reason})


@buffer_app.callback()
def buffer(context: typer.Context, json: Json = False) -> None:
    """Show, add to or clear the working buffer."""
    if context.invoked_subcommand is not None:
        _refuse_early(json)
        return
    _show_buffer(context, json=json)


@buffer_app.command("show")
def buffer_show(context: typer.Context, json: Json = False) -> None:
    """Print the working buffer."""
    _show_buffer(context, json=json)


@buffer_app.command("add")
def buffer_add(context: typer.Context, text: Text, as_user: AsUser = False, json: Json = False) -> None:
    """Add an entry to the working buffer."""
    from claude_memory.notes import buffer as buffers

    by_agent = _by_agent(as_user)
    with _writing(context) as memory:
        files = _shelf(memory).files
        content = " ".join(memory.keeper.clean(whole_text(text)).split())
        session = buffers.session_name(os.environ.get("CLAUDE_MEMORY_SESSION", ""))
        entry = buffers.BufferEntry(datetime.now(UTC), buffers.NOTE, content, session)
        buffers.add(files, memory.home, entry, by_agent=by_agent)
    _done(json, files.buffer, {"entry": content})


@buffer_app.command("clear")
def buffer_clear(context: typer.Context, yes: Yes = False, json: Json = False) -> None:
    """Empty the marked blocks of the working buffer; what a person wrote around them stays."""
    from claude_memory.notes import buffer as buffers

    with opened(context) as memory:
        files = _shelf(memory).files
        if not output.confirmed(f"clear {files.buffer}?", yes=yes):
            raise typer.Abort
        _indexed(memory)  # what was said stays remembered
        changed = buffers.clear(files, memory.home)
    if json:
        output.document({"file": str(files.buffer), "cleared": changed})
        return
    output.lines([[("cleared" if changed else "nothing to clear", "")]])


def distill(
    context: typer.Context,
    days: Annotated[int, typer.Option(metavar="N", min=1, max=3660, help="How far back to look.")] = 14,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Propose what of the daily logs belongs into MEMORY.md: shows a diff, applies it on yes."""
    with opened(context) as memory:
        shelf = _shelf(memory)
        proposal = shelf.propose(since=_today() - timedelta(days=days - 1))
        if not json:
            told = proposal.diff.splitlines() if proposal.lines else ["nothing new in the daily logs"]
            output.lines([[(line, _diff_style(line))] for line in told])
        wanted = bool(proposal.lines) and (yes or not json)
        if wanted:
            if not output.confirmed(f"apply this to {shelf.files.memory}?", yes=yes):
                raise typer.Abort
            shelf.apply(proposal)
            _indexed(memory)
    if json:
        shown = {"proposed": list(proposal.lines), "diff": proposal.diff, "applied": wanted}
        output.document({"file": str(shelf.files.memory), **shown})


@notes_app.command("add")
def notes_add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The note, by its title; made if missing.")],
    text: Text,
    as_user: AsUser = False,
    json: Json = False,
) -> None:
    """Add to a note of the knowledge base, or begin one."""
    by_agent = _by_agent(as_user)
    with _writing(context) as memory:
        path = memory.keeper.add_note(said(name), whole_text(text), by_agent=by_agent)
    _done(json, path, {"note": path.stem})


@notes_app.command("sync")
def notes_sync(context: typer.Context, json: Json = False) -> None:
    """Bring the plain files up to the last sessions, and read what people changed, whatever time it takes.

    Files that are committed with a repository (`--layout repo`) are brought up only by this.
    """
    with opened(context) as memory:
        memory.keeper.keep_up(now=datetime.now(UTC), on_command=True)
        done = memory.sync_files()
        memory.embed_pending()
    _report(done.problems)
    counts = {
        name: getattr(done, name)
        for name in ("files", "read", "added", "changed", "hidden", "renamed", "busy")
    }
    if json:
        output.document(
            {**counts, "problems": [documents.plain(item) for item in map(_problem, done.problems)]}
        )
        return
    told = (
        f"{done.files} files, {done.read} read anew: {done.added} pieces added, {done.changed} changed, "
        f"{done.hidden} gone, {done.renamed} files renamed"
    )
    output.lines([[(told, "")]])


@notes_app.command("status")
def notes_status(context: typer.Context, json: Json = False) -> None:
    """Show the folders of the knowledge base and what of them is indexed."""
    from claude_memory.notes.index import known_files
    from claude_memory.notes.keeping import notes_in

    with opened(context) as memory:
        known = known_files(memory.home, memory.keeper.store_key)
        rows = []
        for folder in memory.keeper.knowledge_folders():
            there = [str(path) for path in notes_in(folder)] if folder.is_dir() else []
            indexed = [path for path in there if path in known]
            rows.append(
                {
                    "folder": str(folder),
                    "exists": folder.is_dir(),
                    "notes": len(there),
                    "indexed": len(indexed),
                    "pieces": sum(len(known[path]) for path in indexed),
                }
            )
    if json:
        output.document(rows)
        return
    for row in rows:
        told = f"{row['notes']} notes, {row['indexed']} indexed in {row['pieces']} pieces"
        output.lines([[(f"{row['folder']}  ", "bold"), (told if row["exists"] else "no such folder", "")]])


def _refuse_early(json: bool) -> None:
    """Before the inner command it would be lost in silence, and a program would not get its document."""
    if json:
        raise typer.BadParameter("it stands after the inner command", param_hint="'--json'")


def _show_buffer(context: typer.Context, *, json: bool) -> None:
    from claude_memory.notes.reading import read_lines

    with opened(context) as memory:
        files = _shelf(memory).files
        found = read_lines(files.buffer)
    _report(list(found.problems))
    if json:
        output.document({"file": str(files.buffer), "text": found.text})
    elif found.text.strip():
        output.lines([[(line, "")] for _, line in found.lines if not line.startswith("<!-- claude-memory:")])
    else:
        output.note("the working buffer is empty")


def _by_agent(as_user: bool) -> bool:
    """Whether what is written down is an agent's word; an agent that claims otherwise is refused."""
    return own_trust(as_user=as_user) is not Trust.USER


def _shelf(memory: Memory) -> ProjectDocuments:
    return memory.keeper.shelf_of(memory.project.id, memory.project_root)


def _today() -> date:
    return datetime.now().astimezone().date()


@contextmanager
def _writing(context: typer.Context) -> Iterator[Memory]:
    """The memory, to write a plain file of; what was written can be searched at once."""
    with opened(context) as memory:
        yield memory
        _indexed(memory)


def _indexed(memory: Memory) -> None:
    """Read what was just written; if the store is busy, the next drain does."""
    from claude_memory.errors import StoreFault

    try:
        memory.sync_files(budget_seconds=SYNC_SECONDS)
    except StoreFault:
        return


def _done(json: bool, path: Path, document: dict[str, Any]) -> None:
    if json:
        output.document({**document, "file": str(path)})
    else:
        output.lines([[("written to ", ""), (str(path), "bold")]])


def _report(problems: list[Any]) -> None:
    for problem in problems:
        output.note(f"{problem.path}:{problem.line}: {problem.reason}")


def _problem(problem: Any) -> dict[str, Any]:
    return {"file": str(problem.path), "line": problem.line, "reason": problem.reason}


def _diff_style(line: str) -> str:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
