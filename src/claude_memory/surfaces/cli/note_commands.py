"""Commands for what a person has a say in: proposals (inbox), how firmly memories are held (strength),
reminders (intend), and the plain files (log, reflect, lesson, decide, buffer, distill, notes).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, Trust
from claude_memory.platform.agents import own_trust, require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    Result,
    Shared,
    argument,
    flag,
    given,
    one_at_most,
    option,
    reading,
    whole_text,
)
from claude_memory.surfaces.cli.output import bold, counted, cyan, dim, one_line, styled, yellow
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.notes.plain_files import FileProblem
    from claude_memory.store.model import Intention

_INTENTION = argument("ID", "The intention, or its unique beginning.")


def inbox(
    memory: Memory,
    limit: int = option("N", "At most so many.", default=20, min=1),
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """List proposals, newest first."""
    proposed = memory.inbox(all_projects=all_projects)
    more = f"{len(proposed) - limit} more: --limit {len(proposed)}" if len(proposed) > limit else ""
    how = "accept ID… · edit ID TEXT · reject ID…" if proposed else "nothing is proposed here"
    return Result(proposed[:limit], map(output.listed, proposed[:limit]), (more, how))


def inbox_accept(memory: Memory, ids: list[str] = Shared.IDS) -> Result:
    """Confirm proposals: from now on they are your own word."""
    accepted = memory.accept(ids)
    return Result(accepted, f"{counted(len(accepted), 'proposal')} accepted")


def inbox_edit(
    memory: Memory,
    id_: str = argument("ID", "A proposal."),
    text: str = argument("TEXT", "What it should say."),
    kind: Kind | None = option("KIND", f"What it is: {Shared.KINDS}."),
) -> Result:
    """Confirm a proposal in your own words."""
    return Result(memory.accept([id_], body=text, kind=kind), "1 proposal accepted")


def inbox_reject(memory: Memory, ids: list[str] = Shared.IDS) -> Result:
    """Refuse proposals: they are gone and never come back."""
    gone = memory.reject(ids)
    return Result({"rejected": gone}, f"{counted(gone, 'proposal')} rejected")


def strength(
    memory: Memory,
    ids: list[str] = Shared.IDS,
    confirm: bool = flag("It is still true."),
    promote: bool = flag("Hold it more firmly."),
    demote: bool = flag("Let it fade; only --confirm or --promote bring it back."),
) -> Result:
    """Show how firmly memories are held, or say that they matter more or less."""
    one_at_most(("--confirm", confirm), ("--promote", promote), ("--demote", demote))
    use = "confirmed" if confirm else "promoted" if promote else "demoted" if demote else None
    memories = memory.find(ids)
    if demote and any(item.trust is Trust.USER for item in memories):
        require_person("demoting what the user said")
    standing = memory.lifecycle.review(memories, use) if use else memory.lifecycle.standing(memories)
    lines = []
    for item in standing:
        uses = f"stable for {item.stability_days:.1f} days, {item.reviews} uses"
        held = bold(f"{item.strength:.2f} {item.state:<11}")
        lines.append(f"{cyan(item.memory)}  {held} {dim(uses + (', demoted' if item.demoted else ''))}")
    return Result(standing, lines)


# --- reminders


@reading()
def _time_ahead(text: str) -> str:
    times.upcoming(text, now=datetime.now(UTC))
    return text


@reading()
def _span(text: str) -> str:
    if times.span(text) is None:
        raise InvalidInput(f"cannot read the span {text!r}: try 2h, 90 minutes, 3 days")
    return text


def intend_set(
    memory: Memory,
    text: list[str] = argument("TEXT", "What to be reminded of; `-` reads standard input."),
    at: str | None = option("TIME", "When: `tomorrow 9:00`, `2026-11-20 10:00`.", parser=_time_ahead),
    in_: str | None = option("SPAN", "In how long: `2h`, `3 days`.", parser=_span),
    file: list[str] | None = option("GLOB", "When such a file is touched: `src/auth/**`; repeatable."),
    topic: list[str] | None = option("TOPIC", "When the topic comes up; repeatable."),
    codebase: str | None = option("NAME", "In this project: id, folder, or a name that only one has."),
    priority: Literal["high", "normal", "low"] = option("PRIORITY", "high, normal or low.", default="normal"),
    deadline: str | None = option("TIME", "Until when; due from the day before.", parser=_time_ahead),
) -> Result:
    """Keep an intention; without a condition it comes up at the next chance."""
    one_at_most(("--at", at), ("--in", in_))
    when = given(at=at, in_=in_, deadline=deadline, files=file, topics=topic, codebase=codebase)
    return _answer("set", memory.intentions.set(whole_text(text), priority=priority, **when))


def intend_check(
    memory: Memory,
    file: list[str] | None = option("FILE", "A file that is being worked on; repeatable."),
    about: str = option("TEXT", "What is being worked on, in words.", default=""),
) -> Result:
    """Show what is due now."""
    due = memory.intentions.check(files=file or [], words=about)
    document = [{**output.plain(item.intention), "reason": item.reason} for item in due]
    lines = [f"{_intention_line(item.intention)}{yellow(f'  ({one_line(item.reason)})')}" for item in due]
    return Result(document, lines, nothing="nothing is due")


def intend_list(memory: Memory, all_: bool = flag("Completed and cancelled ones, too.")) -> Result:
    """List the open intentions of this project."""
    intentions = memory.intentions.list(all_=all_)
    return Result(intentions, map(_intention_line, intentions), nothing="no intentions here")


def intend_complete(memory: Memory, id_: str = _INTENTION) -> Result:
    """Mark an intention as done."""
    return _answer("completed", memory.intentions.complete(id_))


def intend_snooze(
    memory: Memory,
    id_: str = _INTENTION,
    until: list[str] = argument("TIME", "A span or a time: `2h`, `tomorrow 9:00`."),
) -> Result:
    """Put an intention off."""
    moment = " ".join(until)
    with reading("TIME"):
        times.upcoming(moment, now=datetime.now(UTC))
    return _answer("snoozed", memory.intentions.snooze(id_, moment))


def intend_cancel(memory: Memory, id_: str = _INTENTION) -> Result:
    """Drop an intention without doing it."""
    return _answer("cancelled", memory.intentions.cancel(id_))


def _answer(done: str, intention: Intention) -> Result:
    return Result(intention, f"{done} {_intention_line(intention)}")


def _intention_line(intention: Intention) -> str:
    conditions = {
        "at": intention.at,
        "until": intention.deadline,
        "files": intention.files,
        "topics": intention.topics,
        "in": intention.codebase,
        "snoozed until": intention.snoozed_until,
        "status": "" if intention.status == "open" else intention.status.value,
    }
    shown = [f"{name} {output.words(value)}" for name, value in conditions.items() if value]
    priority = styled("bold red", "high  " if intention.priority == "high" else "")
    conditions_shown = dim(f"  {one_line('; '.join(shown))}" if shown else "")
    return f"{cyan(intention.id)}  {priority}{bold(one_line(intention.text))}{conditions_shown}"


# --- the plain files


def log(
    memory: Memory,
    days: int = option("N", "How many days to show.", default=3, min=1, max=366),
    all_projects: bool = Shared.ALL_PROJECTS,
) -> Result:
    """Show what the last sessions were, or add one."""
    memory.drain(budget_seconds=1.0)
    sessions, problems = memory.notes.sessions(days, all_projects=all_projects)
    _report(problems)
    lines = []
    for item in sessions:
        lines.append(f"{dim(f'{item.date} {item.time}')}  {bold(item.summary or item.session)}")
        for name in ("decisions", "artifacts", "open_threads"):
            label = dim(f"    {name.replace('_', ' ').rstrip('s')}:")
            lines += [f"{label} {text}" for text in getattr(item, name)]
    document = [{**item.record(), "file": item.path, "line": item.line} for item in sessions]
    return Result(document, lines, nothing=f"no session was written down in the last {days} days")


def log_add(
    memory: Memory,
    text: list[str] = Shared.TEXT,
    title: str = option("TITLE", "A name for the session.", default=""),
    decision: list[str] | None = option("TEXT", "Something that was decided, with its why."),
    artifact: list[str] | None = option("FILE", "Something that was made."),
    open_: list[str] | None = option("TEXT", "Something that is left to do."),
) -> Result:
    """Add a line to today's session log."""
    parts = given(decisions=decision, artifacts=artifact, open_threads=open_)
    path, line = memory.notes.add_session(whole_text(text), title=title, **parts)
    return _written(path, line.record())


def reflect(
    memory: Memory,
    type_: Literal["pattern", "reflection", "idea"] = argument("TYPE", "`pattern`, `reflection` or `idea`."),
    text: list[str] = Shared.TEXT,
    as_user: bool = Shared.AS_USER,
) -> Result:
    """Write down a pattern, a reflection or an idea; it is read at the start of every session."""
    path, made = memory.notes.reflect(type_, whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"type": made.kind.value, "content": made.body})


def lesson(memory: Memory, text: list[str] = Shared.TEXT, as_user: bool = Shared.AS_USER) -> Result:
    """Add a lesson to tasks/lessons.md."""
    path, content = memory.notes.add_lesson(whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"lesson": content})


def decide(
    memory: Memory,
    text: list[str] = Shared.TEXT,
    why: str = option("REASON", "Why it was decided so.", default=""),
    as_user: bool = Shared.AS_USER,
) -> Result:
    """Add a decision and its reason to the table in the project's MEMORY.md."""
    path, what, reason = memory.notes.decide(whole_text(text), why, by_agent=_by_agent(as_user))
    return _written(path, {"decision": what, "why": reason})


def buffer_show(memory: Memory) -> Result:
    """Print the working buffer."""
    content = memory.notes.buffer()
    _report(content.problems)
    lines = [line for _, line in content.lines if not line.startswith("<!-- claude-memory:")]
    document = {"file": memory.notes.files.buffer, "text": content.text}
    return Result(document, lines if content.text.strip() else [], nothing="the working buffer is empty")


buffer = buffer_show  # what the group does by itself


def buffer_add(memory: Memory, text: list[str] = Shared.TEXT, as_user: bool = Shared.AS_USER) -> Result:
    """Add an entry to the working buffer."""
    path, entry = memory.notes.add_to_buffer(whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"entry": entry})


def buffer_clear(memory: Memory, yes: bool = Shared.YES) -> Result:
    """Empty the marked blocks of the working buffer; what a person wrote around them stays."""
    path = memory.notes.files.buffer
    output.confirm(f"clear {path}?", yes=yes)
    changed = memory.notes.clear_buffer()
    return Result({"file": path, "cleared": changed}, "cleared" if changed else "nothing to clear")


def distill(
    memory: Memory,
    days: int = option("N", "How far back to look.", default=14, min=1, max=3660),
    yes: bool = Shared.YES,
    json: bool = Shared.JSON,
) -> Result:
    """Propose what of the daily logs belongs into MEMORY.md: shows a diff, applies it on yes."""
    proposal, path = memory.notes.propose(days), memory.notes.files.memory
    if not json:  # before the question
        colours = {"+": "green", "-": "red", "@": "cyan"}
        lines = proposal.diff.splitlines() if proposal.lines else ["nothing new in the daily logs"]
        output.lines(styled(colours.get(line[:1], ""), line) for line in lines)
    wanted = bool(proposal.lines) and (yes or not json)
    if wanted:
        output.confirm(f"apply this to {path}?", yes=yes)
        memory.notes.apply(proposal)
    shown = {"proposed": list(proposal.lines), "diff": proposal.diff, "applied": wanted}
    return Result({"file": path, **shown}, [])


def notes_add(
    memory: Memory,
    name: str = argument("NAME", "The note, by its title; made if missing."),
    text: list[str] = Shared.TEXT,
    as_user: bool = Shared.AS_USER,
) -> Result:
    """Add to a note of the knowledge base, or begin one."""
    path = memory.notes.add_note(name, whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"note": path.stem})


def notes_sync(memory: Memory) -> Result:
    """Bring the plain files up to the last sessions, and read what people changed, whatever time it takes.

    Files that are committed with a repository (`--layout repo`) are brought up only by this.
    """
    done = memory.notes.sync()
    memory.embed_pending()
    _report(done.problems)
    problems = [{"file": item.path, "line": item.line, "reason": item.reason} for item in done.problems]
    changes = f"{done.added} pieces added, {done.changed} changed, {done.hidden} gone"
    shown = f"{done.files} files, {done.read} read anew: {changes}, {done.renamed} files renamed"
    return Result({**output.plain(done), "problems": problems}, shown)


def notes_status(memory: Memory) -> Result:
    """Show the folders of the knowledge base and what of them is indexed."""
    folders = memory.notes.knowledge()
    lines = []
    for item in folders:
        counts = f"{item.notes} notes, {item.indexed} indexed in {item.pieces} pieces"
        lines.append(f"{bold(item.folder)}  {counts if item.exists else 'no such folder'}")
    return Result(folders, lines)


def _by_agent(as_user: bool) -> bool:
    """Whether what is written down is an agent's word; an agent that claims otherwise is refused."""
    return own_trust(as_user=as_user) is not Trust.USER


def _written(path: Path, document: dict[str, Any]) -> Result:
    return Result({**document, "file": path}, f"written to {bold(path)}")


def _report(problems: Iterable[FileProblem]) -> None:
    for problem in problems:
        output.note(f"{problem.path}:{problem.line}: {problem.reason}")
