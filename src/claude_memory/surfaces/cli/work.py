"""Commands about what was done: blame, fix, how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import Json, opened, said
from claude_memory.surfaces.cli.search import AllProjects
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.search.work import Fixed, Shaped, Worked

_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d*)")
_OUTCOMES = {"passed": "passed afterwards", "failing": "still failed then", "unknown": "not run again there"}
Limit = Annotated[int, typer.Option(metavar="N", min=1, max=100, help="How many at most.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(blame)
    app.command()(fix)
    app.command()(how)


def blame(
    context: typer.Context,
    named: Annotated[str, typer.Argument(metavar="FILE[:LINE]", help="A file, or one line of it.")],
    limit: Limit = 10,
    all_projects: AllProjects = False,
    json: Json = False,
) -> None:
    """Tell which exchanges shaped a file, or a line of it, and why."""
    file, line = _place(said(named))
    with opened(context, fresh=True) as memory:
        root = Path(memory.project.path or ".")
        found = memory.work(all_projects=all_projects).blame(_relative(file, root), line=line, limit=limit)
    if not found:
        output.note(f"no exchange is known to have edited {file}")
    elif line is not None and not any(one.line for one in found):
        output.note("no edit of this very line is known; these edited the file")
    if json:
        output.document([documents.plain(one) for one in found])
    else:
        output.lines(_shaped(found))


def _place(named: str) -> tuple[str, str | None]:
    """The file, and the text of the line that was asked about."""
    match = _LINE.fullmatch(named)
    if match is None or Path(named).exists():
        return named, None
    try:
        lines = Path(match["file"]).read_text("utf-8", "replace").splitlines()
        return match["file"], lines[int(match["line"]) - 1]
    except (OSError, IndexError):
        raise typer.BadParameter(f"{match['file']} has no line {match['line']} here.") from None


def _relative(file: str, root: Path) -> str:
    """As exchanges name it: below the project, with forward slashes."""
    path = Path(file)
    whole = path if path.is_absolute() else Path.cwd() / path
    if whole.is_relative_to(root):
        return whole.relative_to(root).as_posix()
    return path.as_posix()


def _shaped(found: Sequence[Shaped]) -> Iterator[Line]:
    for one in found:
        edits = output.counted(one.edits, "edit") + (", this line" if one.line else "")
        yield _head(one.id, one.timestamp.astimezone().strftime("%Y-%m-%d"), one.title, f"  {edits}")
        yield from _detail("asked", one.why)
        yield from _detail("ended", one.ended)
        for commit in one.commits:
            yield from _detail("commit", commit)


def fix(
    context: typer.Context,
    error: Annotated[list[str], typer.Argument(metavar="ERROR", help="The error's text, or its main line.")],
    limit: Limit = 5,
    all_projects: AllProjects = False,
    json: Json = False,
) -> None:
    """Tell what was done after this error before, and whether it held."""
    with opened(context, fresh=True) as memory:
        found = memory.work(all_projects=all_projects).fix(said(" ".join(error)), limit=limit)
    if not found:
        output.note("this error was not met here before, as far as is known")
    if json:
        output.document([documents.plain(one) for one in found])
    else:
        output.lines(_fixed(found))


def _fixed(found: Sequence[Fixed]) -> Iterator[Line]:
    for one in found:
        back = f", came back {times.minute(one.came_back)}" if one.came_back else ""
        yield _head(one.id, times.minute(one.timestamp), one.title, f"  {_OUTCOMES[one.outcome]}{back}")
        yield from _detail("error", one.error)
        yield from _detail("command", one.command)
        for step in one.after:
            yield from _detail("then", step)
        yield from _detail("ended", one.ended)


def how(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="What it does, or a part of it.")],
    limit: Limit = 10,
    all_projects: AllProjects = False,
    json: Json = False,
) -> None:
    """Show the commands that worked here for something."""
    with opened(context, fresh=True) as memory:
        found = memory.work(all_projects=all_projects).how(said(" ".join(words)), limit=limit)
    if not found:
        output.note("no command with these words was run here, as far as is known")
    if json:
        output.document([documents.plain(one) for one in found])
    else:
        output.lines(_worked(found))


def _worked(found: Sequence[Worked]) -> Iterator[Line]:
    for one in found:
        failed = f", failed {one.failed}×" if one.failed else ""
        yield [
            (views.one_line(one.command), "bold"),
            (f"  worked {one.worked}×{failed}, last {times.minute(one.last)}  ", "dim"),
            (one.id, "cyan"),
        ]
        if one.error:
            yield from _detail("failed with", one.error)


def _head(id_: str, when: str, title: str, end: str) -> Line:
    return [(id_, "cyan"), (f"  {when}  ", "dim"), (views.one_line(title), "bold"), (end, "dim")]


def _detail(name: str, text: str) -> Iterator[Line]:
    if text:
        yield [(f"    {name:<8}", "dim"), (views.one_line(text), "")]
