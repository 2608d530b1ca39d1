"""The group `intend`: reminders that come up at a time, a file, a topic, or in a codebase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.request import (
    Json,
    one_at_most,
    one_of,
    opened,
    reading,
    said,
    said_all,
    said_if,
    whole_text,
)
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.store.lifecycle_model import Intention

intend = typer.Typer(help="Be reminded at a time, a file or a topic.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="ID", help="The intention, or its unique beginning.")]


def _priority(name: str) -> str:
    return one_of(name, ("high", "normal", "low"))


@intend.command("set")
def set_(
    context: typer.Context,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="What to be reminded of; `-` reads standard input.")
    ],
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When: `tomorrow 9:00`, `friday`, `2026-11-20 10:00`.")
    ] = None,
    in_: Annotated[
        str | None, typer.Option("--in", metavar="SPAN", help="In how long: `2h`, `3 days`.")
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="When such a file is touched: `src/auth/**`; repeatable."),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC", help="When the topic comes up; repeatable.")
    ] = None,
    codebase: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="In this project: its id, its folder, or a name that only one has."
        ),
    ] = None,
    priority: Annotated[
        str, typer.Option(metavar="PRIORITY", callback=_priority, help="`high`, `normal` or `low`.")
    ] = "normal",
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help="Until when; it comes up from the day before.")
    ] = None,
    json: Json = False,
) -> None:
    """Keep an intention; without a condition it comes up at the next chance."""
    one_at_most(("--at", at), ("--in", in_))
    with opened(context) as memory:
        book = memory.intentions
        for option, read, given in (
            ("--at", book.when, at),
            ("--in", book.after, in_),
            ("--deadline", book.when, deadline),
        ):
            if given is not None:
                with reading(option):
                    read(said(given))
        made = book.set(
            whole_text(text),
            at=said_if(at),
            in_=said_if(in_),
            deadline=said_if(deadline),
            files=said_all(file),
            topics=said_all(topic),
            codebase=said_if(codebase),
            priority=priority,
        )
    _answer("set", made, json=json)


@intend.command()
def check(
    context: typer.Context,
    file: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A file that is being worked on; repeatable.")
    ] = None,
    about: Annotated[str, typer.Option(metavar="TEXT", help="What is being worked on, in words.")] = "",
    json: Json = False,
) -> None:
    """Show what is due now."""
    with opened(context) as memory:
        due = memory.intentions.check(files=said_all(file), words=said(about))
    output.answer(
        [{**documents.plain(item.intention), "reason": item.reason} for item in due],
        [[*_line(item.intention), (f"  ({views.one_line(item.reason)})", "yellow")] for item in due],
        json=json,
    )
    if not due and not json:
        output.note("nothing is due")


@intend.command("list")
def list_(
    context: typer.Context,
    all_: Annotated[bool, typer.Option("--all", help="Completed and cancelled ones, too.")] = False,
    json: Json = False,
) -> None:
    """List the open intentions of this project."""
    with opened(context) as memory:
        intentions = memory.intentions.list(all_=all_)
    output.answer(intentions, map(_line, intentions), json=json)
    if not intentions and not json:
        output.note("no intentions here")


@intend.command()
def complete(context: typer.Context, id_: Id, json: Json = False) -> None:
    """Mark an intention as done."""
    with opened(context) as memory:
        done = memory.intentions.complete(said(id_))
    _answer("completed", done, json=json)


@intend.command()
def snooze(
    context: typer.Context,
    id_: Id,
    until: Annotated[
        list[str], typer.Argument(metavar="TIME", help="A span or a time: `2h`, `tomorrow 9:00`.")
    ],
    json: Json = False,
) -> None:
    """Put an intention off."""
    moment = said(" ".join(until))
    with opened(context) as memory:
        with reading("TIME"):
            memory.intentions.when(moment)
        later = memory.intentions.snooze(said(id_), moment)
    _answer("snoozed", later, json=json)


@intend.command()
def cancel(context: typer.Context, id_: Id, json: Json = False) -> None:
    """Drop an intention without doing it."""
    with opened(context) as memory:
        gone = memory.intentions.cancel(said(id_))
    _answer("cancelled", gone, json=json)


def _answer(done: str, intention: Intention, *, json: bool) -> None:
    output.answer(intention, [[(f"{done} ", ""), *_line(intention)]], json=json)


def _line(intention: Intention) -> output.Line:
    conditions = [
        f"at {times.minute(intention.at)}" if intention.at else "",
        f"until {times.minute(intention.deadline)}" if intention.deadline else "",
        f"files {', '.join(intention.files)}" if intention.files else "",
        f"topics {', '.join(intention.topics)}" if intention.topics else "",
        f"in {intention.codebase}" if intention.codebase else "",
        f"snoozed until {times.minute(intention.snoozed_until)}" if intention.snoozed_until else "",
        "" if intention.status == "open" else intention.status.value,
    ]
    shown = "; ".join(part for part in conditions if part)
    return [
        (intention.id, "cyan"),
        ("  high  " if intention.priority == "high" else "  ", "bold red"),
        (views.one_line(intention.text), "bold"),
        (f"  {views.one_line(shown)}" if shown else "", "dim"),
    ]
