"""Commands that ask: search, timeline, why, and about what was done: blame, fix, how."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    KINDS,
    Id,
    Result,
    agent_option,
    argument,
    flag,
    one_at_most,
    option,
    time_option,
)
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.rendering import (
    day,
    explanation_lines,
    given_lines,
    head,
    hit_lines,
    one_line,
    timeline_lines,
)
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.search.past_work import CommandRuns, Fixed, Shaped

_WHEN = "a date (2026-11-15), `today`, `yesterday`, `3d`, `2 weeks ago`"
_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d*)")
_OUTCOMES = {"passed": "passed afterwards", "failing": "still failed then", "unknown": "not run again there"}
AllProjects = Annotated[bool, flag("--all-projects", "Search every project.")]
Session = Annotated[str | None, option("SESSION", "Only this conversation: its id, or its unique beginning.")]
Limit = Annotated[int, option("N", "How many at most.", min=1, max=100)]


def _a_number(value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # no range leaves it out
        raise typer.BadParameter(f"{value} is not a number.")
    return value


def search(
    memory: Memory,
    query: Annotated[list[str], argument("QUERY", "A question, or a few words.")],
    limit: Annotated[int | None, option("N", "How many hits at most.", min=1, max=1000)] = None,
    kind: Annotated[list[Kind] | None, option("KIND", f"Only this kind; repeatable: {KINDS}.")] = None,
    topic: Annotated[list[str] | None, option("TOPIC", "Only this topic; repeatable.")] = None,
    file: Annotated[list[str] | None, option("FILE", "Only about this file; repeatable.")] = None,
    task: Annotated[str | None, option("TASK", "Only this task.")] = None,
    session: Session = None,
    since: Annotated[datetime | None, time_option(f"Not before {_WHEN}.")] = None,
    until: Annotated[datetime | None, time_option("Not after it; same forms.", end=True)] = None,
    min_relevance: Annotated[
        float | None,
        option(
            "R", "Leave out hits below this relevance; 0 shows every hit.", min=0, max=1, callback=_a_number
        ),
    ] = None,
    agent: Annotated[str | None, agent_option("Only with this agent: claude-code, codex …")] = None,
    branch: Annotated[str | None, option("NAME", "Only work on this branch.")] = None,
    command: Annotated[str | None, option("WORDS", "Only where a command with these words was run.")] = None,
    commit: Annotated[str | None, option("HASH", "Only where this commit was made: hash or words.")] = None,
    failed: Annotated[
        bool, flag("--failed", "Only where a tool failed; with --command, that command.")
    ] = False,
    all_projects: AllProjects = False,
) -> Result:
    """Find memories and past work by words and meaning, best first."""
    memory.warm_up()
    memory.catch_up()
    hits = memory.search(
        " ".join(query),
        limit=limit,
        kinds=kind or (),
        topics=topic or (),
        files=file or (),
        task=task or None,
        session=session or None,
        since=since,
        until=until,
        agent=agent,
        branch=branch or None,
        command=command or None,
        commit=commit or None,
        failed=failed,
        min_relevance=min_relevance,
        all_projects=all_projects,
    )
    memory.note_question()
    if "words only" in memory.search_mode:
        output.note(f"searched {memory.search_mode}")
        from claude_memory.surfaces.hooks import background

        background.go_on(memory)
    if not hits:
        output.note(_nothing(memory, all_projects=all_projects))
    return Result([output.hit(hit) for hit in hits], hit_lines(hits, output.width()))


def _nothing(memory: Memory, *, all_projects: bool) -> str:
    if not sum(memory.stats(all_projects=all_projects).memories.values()):
        where = "" if all_projects else " of this project"
        return f'no memories{where} yet: claude-memory remember "…" keeps the first'
    advice = "other words or fewer filters" + ("" if all_projects else ", or --all-projects")
    return f"nothing found; try {advice}"


def timeline(
    memory: Memory,
    around: Annotated[str | None, option("ID", "Around this memory.")] = None,
    query: Annotated[str | None, option("QUERY", "Around the best answer to this.")] = None,
    before: Annotated[int, option("N", "Entries before it.", min=0, max=1000)] = 5,
    after: Annotated[int, option("N", "Entries after it.", min=0, max=1000)] = 5,
    session: Session = None,
) -> Result:
    """Show what happened when: lately, or around a memory."""
    one_at_most(("--around", around), ("--query", query))
    memory.catch_up()
    entries = memory.timeline(
        around=around or None, query=query or None, before=before, after=after, session=session or None
    )
    if not entries:
        output.note("nothing has happened here yet")
    return Result(entries, timeline_lines(entries))


def why(
    memory: Memory,
    id_: Id,
    query: Annotated[str | None, option("QUERY", "The question; default the last one asked here.")] = None,
) -> Result:
    """Explain why a memory answers a question, in words and numbers, and when agents were given it."""
    memory.catch_up()
    given = memory.given(id_)
    try:
        explained = memory.why(id_, query)
    except InvalidInput:
        if not given:
            raise
        return Result({"given": given}, given_lines(given))  # never searched for, but hooks have given it
    lines = [*explanation_lines(explained, output.width()), *given_lines(given)]
    return Result({**output.plain(explained), "given": given}, lines)


def blame(
    memory: Memory,
    named: Annotated[str, argument("FILE[:LINE]", "A file, or one line of it.")],
    limit: Limit = 10,
    all_projects: AllProjects = False,
) -> Result:
    """Tell which exchanges shaped a file, or a line of it, and why."""
    file, line = _file_and_line(named)
    memory.catch_up()
    below = _relative(file, Path(memory.project.path or "."))
    exchanges = memory.work(all_projects=all_projects).blame(below, line=line, limit=limit)
    if not exchanges:
        output.note(f"no exchange is known to have edited {file}")
    elif line is not None and not any(exchange.line for exchange in exchanges):
        output.note("no edit of this very line is known; these edited the file")
    return Result(exchanges, _shaped(exchanges))


def _file_and_line(named: str) -> tuple[str, str | None]:
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
    whole = Path.cwd() / file
    return (whole.relative_to(root) if whole.is_relative_to(root) else Path(file)).as_posix()


def _shaped(exchanges: Sequence[Shaped]) -> Iterator[Line]:
    for exchange in exchanges:
        edits = output.counted(exchange.edits, "edit") + (", this line" if exchange.line else "")
        yield head(exchange.id, day(exchange.timestamp), exchange.title, (f"  {edits}", "dim"))
        yield from _detail("asked", exchange.why)
        yield from _detail("ended", exchange.ended)
        for commit in exchange.commits:
            yield from _detail("commit", commit)


def fix(
    memory: Memory,
    error: Annotated[list[str], argument("ERROR", "The error's text, or its main line.")],
    limit: Limit = 5,
    all_projects: AllProjects = False,
) -> Result:
    """Tell what was done after this error before, and whether it held."""
    memory.catch_up()
    fixes = memory.work(all_projects=all_projects).fix(" ".join(error), limit=limit)
    if not fixes:
        output.note("this error was not met here before, as far as is known")
    return Result(fixes, _fixed(fixes))


def _fixed(fixes: Sequence[Fixed]) -> Iterator[Line]:
    for item in fixes:
        back = f", came back {times.minute(item.came_back)}" if item.came_back else ""
        outcome = f"  {_OUTCOMES[item.outcome]}{back}"
        yield head(item.id, times.minute(item.timestamp), item.title, (outcome, "dim"))
        yield from _detail("error", item.error)
        yield from _detail("command", item.command)
        for step in item.after:
            yield from _detail("then", step)
        yield from _detail("ended", item.ended)


def how(
    memory: Memory,
    words: Annotated[list[str], argument("WORDS", "What it does, or a part of it.")],
    limit: Limit = 10,
    all_projects: AllProjects = False,
) -> Result:
    """Show the commands that worked here for something."""
    memory.catch_up()
    commands = memory.work(all_projects=all_projects).how(" ".join(words), limit=limit)
    if not commands:
        output.note("no command with these words was run here, as far as is known")
    return Result(commands, _worked(commands))


def _worked(commands: Sequence[CommandRuns]) -> Iterator[Line]:
    for item in commands:
        failed = f", failed {item.failed}×" if item.failed else ""
        facts = f"  worked {item.worked}×{failed}, last {times.minute(item.last)}  "
        yield [(one_line(item.command), "bold"), (facts, "dim"), (item.id, "cyan")]
        yield from _detail("failed with", item.error)


def _detail(name: str, text: str) -> Iterator[Line]:
    if text:
        yield [(f"    {name:<8}", "dim"), (one_line(text), "")]
