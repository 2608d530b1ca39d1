"""Commands about the plain files: log, reflect, lesson, decide, buffer, distill, notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.model import Trust
from claude_memory.platform.caller import own_trust
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.request import AsUser, Json, Text, Yes, opened, said, said_all, whole_text

if TYPE_CHECKING:
    from claude_memory.notes.reading import Problem
    from claude_memory.notes.session_log import SessionLine


class Reflecting(StrEnum):
    """What a reflection is."""

    PATTERN = "pattern"
    REFLECTION = "reflection"
    IDEA = "idea"


log_ = typer.Typer(help="Show what the last sessions were, or add one.", invoke_without_command=True)
buffer_ = typer.Typer(help="Show, add to or clear the working buffer.", invoke_without_command=True)
notes = typer.Typer(help="The knowledge base: folders of notes.", no_args_is_help=True)


@log_.callback()
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
    with opened(context) as memory:
        memory.drain(budget_seconds=1.0)
        lines, problems = memory.notes.sessions(days, all_projects=all_projects)
    _report(problems)
    document = [{**line.record(), "file": line.path, "line": line.line} for line in lines]
    output.answer(document, [shown for line in lines for shown in _session(line)], json=json)
    if not lines and not json:
        output.note(f"no session was written down in the last {days} days")


def _session(line: SessionLine) -> Iterator[output.Line]:
    yield [(f"{line.date} {line.time}  ", "dim"), (line.summary or line.session, "bold")]
    for name in ("decisions", "artifacts", "open_threads"):
        for text in getattr(line, name):
            yield [(f"    {name.replace('_', ' ').rstrip('s')}: ", "dim"), (text, "")]


@log_.command("add")
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
    with opened(context) as memory:
        path, line = memory.notes.add_session(
            whole_text(text),
            title=said(title or ""),
            decisions=said_all(decision),
            artifacts=said_all(artifact),
            open_threads=said_all(open_thread),
        )
    _done(path, line.record(), json=json)


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
    by_agent = _by_agent(as_user)
    with opened(context) as memory:
        path, made = memory.notes.reflect(type_.value, whole_text(text), by_agent=by_agent)
    _done(path, {"type": made.type, "content": made.content}, json=json)


def lesson(context: typer.Context, text: Text, as_user: AsUser = False, json: Json = False) -> None:
    """Add a lesson to tasks/lessons.md."""
    by_agent = _by_agent(as_user)
    with opened(context) as memory:
        path, content = memory.notes.add_lesson(whole_text(text), by_agent=by_agent)
    _done(path, {"lesson": content}, json=json)


def decide(
    context: typer.Context,
    text: Text,
    why: Annotated[str, typer.Option(metavar="REASON", help="Why it was decided so.")] = "",
    as_user: AsUser = False,
    json: Json = False,
) -> None:
    """Add a decision and its reason to the table in the project's MEMORY.md."""
    by_agent = _by_agent(as_user)
    with opened(context) as memory:
        path, what, reason = memory.notes.decide(whole_text(text), said(why), by_agent=by_agent)
    _done(path, {"decision": what, "why": reason}, json=json)


@buffer_.callback()
def buffer(context: typer.Context, json: Json = False) -> None:
    """Show, add to or clear the working buffer."""
    if context.invoked_subcommand is not None:
        _refuse_early(json)
        return
    buffer_show(context, json=json)


@buffer_.command("show")
def buffer_show(context: typer.Context, json: Json = False) -> None:
    """Print the working buffer."""
    with opened(context) as memory:
        content, path = memory.notes.buffer(), memory.notes.files.buffer
    _report(content.problems)
    shown = [[(line, "")] for _, line in content.lines if not line.startswith("<!-- claude-memory:")]
    output.answer({"file": path, "text": content.text}, shown if content.text.strip() else [], json=json)
    if not content.text.strip() and not json:
        output.note("the working buffer is empty")


@buffer_.command("add")
def buffer_add(context: typer.Context, text: Text, as_user: AsUser = False, json: Json = False) -> None:
    """Add an entry to the working buffer."""
    by_agent = _by_agent(as_user)
    with opened(context) as memory:
        path, entry = memory.notes.add_to_buffer(whole_text(text), by_agent=by_agent)
    _done(path, {"entry": entry}, json=json)


@buffer_.command("clear")
def buffer_clear(context: typer.Context, yes: Yes = False, json: Json = False) -> None:
    """Empty the marked blocks of the working buffer; what a person wrote around them stays."""
    with opened(context) as memory:
        path = memory.notes.files.buffer
        if not output.confirmed(f"clear {path}?", yes=yes):
            raise typer.Abort
        changed = memory.notes.clear_buffer()
    done = "cleared" if changed else "nothing to clear"
    output.answer({"file": path, "cleared": changed}, done, json=json)


def distill(
    context: typer.Context,
    days: Annotated[int, typer.Option(metavar="N", min=1, max=3660, help="How far back to look.")] = 14,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Propose what of the daily logs belongs into MEMORY.md: shows a diff, applies it on yes."""
    with opened(context) as memory:
        proposal, path = memory.notes.propose(days), memory.notes.files.memory
        if not json:
            lines = proposal.diff.splitlines() if proposal.lines else ["nothing new in the daily logs"]
            output.lines([[(line, _diff_style(line))] for line in lines])
        wanted = bool(proposal.lines) and (yes or not json)
        if wanted:
            if not output.confirmed(f"apply this to {path}?", yes=yes):
                raise typer.Abort
            memory.notes.apply(proposal)
    if json:
        shown = {"proposed": list(proposal.lines), "diff": proposal.diff, "applied": wanted}
        output.document({"file": str(path), **shown})


@notes.command("add")
def notes_add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The note, by its title; made if missing.")],
    text: Text,
    as_user: AsUser = False,
    json: Json = False,
) -> None:
    """Add to a note of the knowledge base, or begin one."""
    by_agent = _by_agent(as_user)
    with opened(context) as memory:
        path = memory.notes.add_note(said(name), whole_text(text), by_agent=by_agent)
    _done(path, {"note": path.stem}, json=json)


@notes.command("sync")
def notes_sync(context: typer.Context, json: Json = False) -> None:
    """Bring the plain files up to the last sessions, and read what people changed, whatever time it takes.

    Files that are committed with a repository (`--layout repo`) are brought up only by this.
    """
    with opened(context) as memory:
        done = memory.notes.sync()
        memory.embed_pending()
    _report(done.problems)
    names = ("files", "read", "added", "changed", "hidden", "renamed", "busy")
    problems = [{"file": item.path, "line": item.line, "reason": item.reason} for item in done.problems]
    shown = (
        f"{done.files} files, {done.read} read anew: {done.added} pieces added, {done.changed} changed, "
        f"{done.hidden} gone, {done.renamed} files renamed"
    )
    output.answer({**{name: getattr(done, name) for name in names}, "problems": problems}, shown, json=json)


@notes.command("status")
def notes_status(context: typer.Context, json: Json = False) -> None:
    """Show the folders of the knowledge base and what of them is indexed."""
    with opened(context) as memory:
        folders = memory.notes.knowledge()
    lines: list[output.Line] = []
    for item in folders:
        counts = f"{item.notes} notes, {item.indexed} indexed in {item.pieces} pieces"
        lines.append([(f"{item.folder}  ", "bold"), (counts if item.exists else "no such folder", "")])
    output.answer(folders, lines, json=json)


def _refuse_early(json: bool) -> None:
    """Before the inner command it would be lost in silence, and a program would not get its document."""
    if json:
        raise typer.BadParameter("it stands after the inner command", param_hint="'--json'")


def _by_agent(as_user: bool) -> bool:
    """Whether what is written down is an agent's word; an agent that claims otherwise is refused."""
    return own_trust(as_user=as_user) is not Trust.USER


def _done(path: Path, document: dict[str, Any], *, json: bool) -> None:
    line = [("written to ", ""), (str(path), "bold")]
    output.answer({**document, "file": path}, [line], json=json)


def _report(problems: Iterable[Problem]) -> None:
    for problem in problems:
        output.note(f"{problem.path}:{problem.line}: {problem.reason}")


def _diff_style(line: str) -> str:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
