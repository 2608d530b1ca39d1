"""The group `intend`: reminders that come up at a time, a file, a topic, or in a codebase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    Result,
    argument,
    flag,
    one_at_most,
    one_of,
    option,
    reading,
    whole_text,
)
from claude_memory.surfaces.cli.rendering import one_line
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.store.model import Intention

Id = Annotated[str, argument("ID", "The intention, or its unique beginning.")]


def _priority(name: str) -> str:
    return one_of(name, ("high", "normal", "low"))


def intend_set(
    memory: Memory,
    text: Annotated[list[str], argument("TEXT", "What to be reminded of; `-` reads standard input.")],
    at: Annotated[str | None, option("TIME", "When: `tomorrow 9:00`, `friday`, `2026-11-20 10:00`.")] = None,
    in_: Annotated[str | None, option("SPAN", "In how long: `2h`, `3 days`.", "--in")] = None,
    file: Annotated[
        list[str] | None, option("GLOB", "When such a file is touched: `src/auth/**`; repeatable.")
    ] = None,
    topic: Annotated[list[str] | None, option("TOPIC", "When the topic comes up; repeatable.")] = None,
    codebase: Annotated[
        str | None, option("NAME", "In this project: its id, its folder, or a name that only one has.")
    ] = None,
    priority: Annotated[str, option("PRIORITY", "`high`, `normal` or `low`.", callback=_priority)] = "normal",
    deadline: Annotated[str | None, option("TIME", "Until when; it comes up from the day before.")] = None,
) -> Result:
    """Keep an intention; without a condition it comes up at the next chance."""
    one_at_most(("--at", at), ("--in", in_))
    book = memory.intentions
    for name, read, given in (
        ("--at", book.when, at),
        ("--in", book.after, in_),
        ("--deadline", book.when, deadline),
    ):
        if given is not None:
            with reading(name):
                read(given)
    made = book.set(
        whole_text(text),
        at=at or None,
        in_=in_ or None,
        deadline=deadline or None,
        files=file or [],
        topics=topic or [],
        codebase=codebase or None,
        priority=priority,
    )
    return _answer("set", made)


def intend_check(
    memory: Memory,
    file: Annotated[list[str] | None, option("FILE", "A file that is being worked on; repeatable.")] = None,
    about: Annotated[str, option("TEXT", "What is being worked on, in words.")] = "",
) -> Result:
    """Show what is due now."""
    due = memory.intentions.check(files=file or [], words=about)
    return Result(
        [{**output.plain(item.intention), "reason": item.reason} for item in due],
        [[*_line(item.intention), (f"  ({one_line(item.reason)})", "yellow")] for item in due],
        [] if due else ["nothing is due"],
    )


def intend_list(
    memory: Memory, all_: Annotated[bool, flag("--all", "Completed and cancelled ones, too.")] = False
) -> Result:
    """List the open intentions of this project."""
    intentions = memory.intentions.list(all_=all_)
    return Result(intentions, map(_line, intentions), [] if intentions else ["no intentions here"])


def intend_complete(memory: Memory, id_: Id) -> Result:
    """Mark an intention as done."""
    return _answer("completed", memory.intentions.complete(id_))


def intend_snooze(
    memory: Memory,
    id_: Id,
    until: Annotated[list[str], argument("TIME", "A span or a time: `2h`, `tomorrow 9:00`.")],
) -> Result:
    """Put an intention off."""
    moment = " ".join(until)
    with reading("TIME"):
        memory.intentions.when(moment)
    return _answer("snoozed", memory.intentions.snooze(id_, moment))


def intend_cancel(memory: Memory, id_: Id) -> Result:
    """Drop an intention without doing it."""
    return _answer("cancelled", memory.intentions.cancel(id_))


def _answer(done: str, intention: Intention) -> Result:
    return Result(intention, [[(f"{done} ", ""), *_line(intention)]])


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
        (one_line(intention.text), "bold"),
        (f"  {one_line(shown)}" if shown else "", "dim"),
    ]
