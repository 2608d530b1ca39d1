"""Commands about memories (remember, list, show, revise, forget, inbox, strength) and reminders (intend)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.model import Kind, MemoryFilter, NewMemory, Scope, StoredMemory, Trust
from claude_memory.platform.agents import own_trust, require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    KINDS,
    AllProjects,
    AsUser,
    Id,
    Ids,
    OnlyFiles,
    OnlyKinds,
    OnlySession,
    OnlyTask,
    OnlyTopics,
    Result,
    Since,
    Text,
    Until,
    Yes,
    argument,
    flag,
    one_at_most,
    one_of,
    option,
    reading,
    whole_text,
)
from claude_memory.surfaces.cli.output import bold, cyan, day, dim, head, one_line, styled, yellow
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.store.model import Intention

Topics = Annotated[list[str] | None, option("TOPIC", "A topic; repeatable.", "--topic")]
Files = Annotated[list[str] | None, option("FILE", "A file it is about; repeatable.", "--file")]
Listed = Annotated[int, option("N", "At most so many.", min=1)]
IntentionId = Annotated[str, argument("ID", "The intention, or its unique beginning.")]
_VERDICTS = {"reinforced": "repeats", "linked": "says something newer of the same than"}
LISTED = 20


def remember(
    memory: Memory,
    text: Text,
    kind: Annotated[Kind, option("KIND", f"What it is: {KINDS}.")] = Kind.NOTE,
    title: Annotated[str | None, option("TITLE", "A title; default its first line.")] = None,
    topic: Topics = None,
    file: Files = None,
    supersedes: Annotated[str | None, option("ID", "The memory this one takes the place of.")] = None,
    scope: Annotated[
        Scope, option("SCOPE", "`project`, or `user`: it travels with you to every project.")
    ] = Scope.PROJECT,
    session: Annotated[str | None, option("SESSION", "The conversation it comes from.")] = None,
    as_user: AsUser = False,
) -> Result:
    """Keep a memory."""
    new = NewMemory(
        body=whole_text(text),
        kind=kind,
        title=title or None,
        topics=topic or [],
        files=file or [],
        session=session or None,
        scope=scope,
        supersedes=supersedes,
        trust=own_trust(as_user=as_user),
    )
    stored = memory.remember(new, embed=False)  # the next search makes the vector
    _note_proposal(stored)
    verdict = memory.verdicts.get(stored.id)
    if verdict is not None and verdict.other is not None:
        output.note(f"{_VERDICTS[verdict.action.value]} {verdict.other}: {verdict.words}")
    return Result(stored, _line("remembered", stored))


def list_(
    memory: Memory,
    kind: OnlyKinds = None,
    topic: OnlyTopics = None,
    file: OnlyFiles = None,
    task: OnlyTask = None,
    session: OnlySession = None,
    since: Since = None,
    until: Until = None,
    limit: Listed = LISTED,
    all_projects: AllProjects = False,
) -> Result:
    """List memories, newest first."""
    memory.catch_up()
    wanted = MemoryFilter(
        kinds=tuple(kind or ()),
        topics=tuple(topic or ()),
        files=tuple(file or ()),
        task=task or None,
        session=memory.session_id(session, all_projects=all_projects) if session else None,
        since=since,
        until=until,
    )
    newest = memory.newest(wanted, limit=limit, all_projects=all_projects)
    return Result(newest, map(_listed, newest), nothing="no memories that fit")


def show(memory: Memory, ids: Ids) -> Result:
    """Show whole memories."""
    memories = [(item, memory.stale(item)) for item in memory.show(ids)]
    lines = [line for item, stale in memories for line in ("", *_memory_lines(item, stale))]
    document = [{**output.plain(item), **({"stale": stale} if stale else {})} for item, stale in memories]
    return Result(document, lines[1:])


def _memory_lines(stored: StoredMemory, stale: str) -> Iterator[str]:
    """One memory in full; `stale` is what the working tree no longer bears out."""
    yield head(stored.id, stored.kind, stored.title, output.standing(stored.status, stored.superseded_by))
    details = {
        "created": times.minute(stored.created_at),
        "changed": times.minute(stored.updated_at) if stored.updated_at != stored.created_at else "",
        "session": stored.session,
        "task": stored.task,
        "topics": ", ".join(stored.topics),
        "files": ", ".join(stored.files),
        "trust": stored.trust,
        "scope": stored.scope if stored.scope != "project" else "",
        "pinned": "yes" if stored.pinned else "",
        "supersedes": stored.supersedes,
        "stale": stale,
    }
    yield from output.table(details, indent="  ")
    yield ""
    for line in stored.body.splitlines():
        yield from output.paragraph(line, output.width(), "  ")


def revise(
    memory: Memory,
    id_: Id,
    text: Annotated[str | None, option("TEXT", "The new text; `-` reads standard input.")] = None,
    title: Annotated[str | None, option("TITLE", "The new title.")] = None,
    kind: Annotated[Kind | None, option("KIND", f"The new kind: {KINDS}.")] = None,
    topic: Topics = None,
    file: Files = None,
    pin: Annotated[bool | None, flag("--pin/--unpin", "Keep it from fading.")] = None,
    supersede_with: Annotated[
        str | None, option("TEXT", "Keep the old memory and put this text in its place.")
    ] = None,
    reason: Annotated[str | None, option("TEXT", "Why it changed; kept with the change.")] = None,
    accept: Annotated[
        bool, flag("--accept", "Make what an agent, a tool or a file said your own word.")
    ] = False,
    as_user: AsUser = False,
) -> Result:
    """Correct a memory, pin it, or put a new one in its place."""
    changes: dict[str, Any] = {"title": title, "kind": kind, "topics": topic, "files": file, "pinned": pin}
    changes = {name: value for name, value in changes.items() if value is not None}
    if supersede_with is None and text is None and not changes and not accept:
        raise typer.BadParameter("say what to change: --text, --title, --kind, --topic, --file, --pin …")
    one_at_most(("--accept", accept), ("--supersede-with", supersede_with))
    if supersede_with is not None and text is not None:
        raise typer.BadParameter("--text changes the memory, --supersede-with replaces it: give one of them")
    trust = own_trust(as_user=as_user)
    new_text = supersede_with if supersede_with is not None else text
    body = whole_text([new_text]) if new_text is not None else None
    if supersede_with is not None:
        [old] = memory.find([id_])
        changes.pop("pinned", None)
        kept: dict[str, Any] = {
            "kind": old.kind,
            "topics": old.topics,
            "files": old.files,
            "scope": old.scope,
        }
        why = {"reason": reason} if reason else {}
        changed = memory.supersede(
            old.id, NewMemory(body=body or "", trust=trust, provenance=why, **{**kept, **changes})
        )
    else:
        [changed] = memory.accept([id_]) if accept else memory.find([id_])
        if changes or body is not None:
            changed = memory.revise(id_, body=body, reason=reason or None, trust=trust, **changes)
    _note_proposal(changed)
    proposed = changed.provenance.get("proposed_for")
    done = "proposed" if proposed else "superseded by" if supersede_with is not None else "revised"
    return Result(changed, _line(done, changed))


def forget(
    memory: Memory,
    ids: Ids,
    erase: Annotated[
        bool, flag("--erase", "Remove it everywhere, for good; a hash keeps it from coming back.")
    ] = False,
    undo: Annotated[bool, flag("--undo", "Bring forgotten memories back.")] = False,
    yes: Yes = False,
) -> Result:
    """Hide memories (undo with --undo), or erase them for good."""
    one_at_most(("--erase", erase), ("--undo", undo))
    if erase:
        return _erase(memory, ids, yes=yes)
    changed = memory.restore(ids) if undo else memory.forget(ids)
    if not undo:
        days = memory.settings.forget_undo_days
        output.note(f"undo within {days} days: forget --undo {' '.join(ids)}")
    return Result(changed, [_line("restored" if undo else "forgot", item) for item in changed])


def _erase(memory: Memory, ids: list[str], *, yes: bool) -> Result:
    require_person("erasing for good")
    titles = ", ".join(f"“{item.title}”" for item in memory.find(ids))
    output.confirm(f"Erase {titles} for good?", yes=yes, refused="nothing erased")
    erased = memory.erase(ids)
    counts = (
        output.counted(erased.memories, "memory", "memories"),
        output.counted(erased.events, "event"),
        output.counted(erased.passages, "passage"),
        output.counted(erased.cut, "other text"),
    )
    notes = [f"  {place}" for place in erased.left]
    if notes:
        notes.insert(0, "it still stands where only you can take it out:")
    if erased.beyond:
        notes.append(erased.beyond)
    return Result(erased, f"erased {', '.join(counts)}", notes)


def inbox(memory: Memory, limit: Listed = LISTED, all_projects: AllProjects = False) -> Result:
    """List proposals, newest first."""
    proposed = memory.inbox(all_projects=all_projects)
    rest = len(proposed) - limit
    more = f"{rest} more: --limit {len(proposed)}" if rest > 0 else ""
    how = "accept ID… · edit ID TEXT · reject ID…" if proposed else "nothing is proposed here"
    return Result(proposed[:limit], map(_listed, proposed[:limit]), (more, how))


def inbox_accept(memory: Memory, ids: Ids) -> Result:
    """Confirm proposals: from now on they are your own word."""
    accepted = memory.accept(ids)
    return Result(accepted, f"{output.counted(len(accepted), 'proposal')} accepted")


def inbox_edit(
    memory: Memory,
    id_: Annotated[str, argument("ID", "A proposal.")],
    text: Annotated[str, argument("TEXT", "What it should say.")],
    kind: Annotated[str | None, option("KIND", "What kind of memory it is.")] = None,
) -> Result:
    """Confirm a proposal in your own words."""
    return Result(memory.accept([id_], body=text, kind=kind), "1 proposal accepted")


def inbox_reject(memory: Memory, ids: Ids) -> Result:
    """Refuse proposals: they are gone and never come back."""
    gone = memory.reject(ids)
    return Result({"rejected": gone}, f"{output.counted(gone, 'proposal')} rejected")


def strength(
    memory: Memory,
    ids: Ids,
    confirm: Annotated[bool, flag("--confirm", "It is still true.")] = False,
    promote: Annotated[bool, flag("--promote", "Hold it more firmly.")] = False,
    demote: Annotated[
        bool, flag("--demote", "Let it fade; only --confirm or --promote bring it back.")
    ] = False,
) -> Result:
    """Show how firmly memories are held, or say that they matter more or less."""
    one_at_most(("--confirm", confirm), ("--promote", promote), ("--demote", demote))
    use = "confirmed" if confirm else "promoted" if promote else "demoted" if demote else None
    memories = memory.find(ids)
    if demote and any(item.trust is Trust.USER for item in memories):
        require_person("demoting what the user said")
    life = memory.lifecycle
    standing = life.review(memories, use) if use else life.standing(memories)
    lines = []
    for item in standing:
        uses = f"{item.reviews} uses{', demoted' if item.demoted else ''}"
        days = dim(f"stable for {item.stability_days:.1f} days, {uses}")
        lines.append(f"{cyan(item.memory)}  {bold(f'{item.strength:.2f} {item.state:<11}')} {days}")
    return Result(standing, lines)


def _note_proposal(stored: StoredMemory) -> None:
    if other := stored.provenance.get("proposed_for"):
        output.note(f"{other} is a person's own word and stands; this is kept beside it, as a proposal")


def _line(done: str, item: StoredMemory) -> str:
    return f"{done} {head(item.id, item.kind, item.title)}"


def _listed(item: StoredMemory) -> str:
    ending = output.standing(item.status, item.superseded_by)
    return head(item.id, f"{day(item.created_at)}  {item.kind:<10}", item.title, ending)


# --- reminders


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
        [f"{_intention_line(item.intention)}{yellow(f'  ({one_line(item.reason)})')}" for item in due],
        nothing="nothing is due",
    )


def intend_list(
    memory: Memory, all_: Annotated[bool, flag("--all", "Completed and cancelled ones, too.")] = False
) -> Result:
    """List the open intentions of this project."""
    intentions = memory.intentions.list(all_=all_)
    return Result(intentions, map(_intention_line, intentions), nothing="no intentions here")


def intend_complete(memory: Memory, id_: IntentionId) -> Result:
    """Mark an intention as done."""
    return _answer("completed", memory.intentions.complete(id_))


def intend_snooze(
    memory: Memory,
    id_: IntentionId,
    until: Annotated[list[str], argument("TIME", "A span or a time: `2h`, `tomorrow 9:00`.")],
) -> Result:
    """Put an intention off."""
    moment = " ".join(until)
    with reading("TIME"):
        memory.intentions.when(moment)
    return _answer("snoozed", memory.intentions.snooze(id_, moment))


def intend_cancel(memory: Memory, id_: IntentionId) -> Result:
    """Drop an intention without doing it."""
    return _answer("cancelled", memory.intentions.cancel(id_))


def _answer(done: str, intention: Intention) -> Result:
    return Result(intention, f"{done} {_intention_line(intention)}")


def _intention_line(intention: Intention) -> str:
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
    priority = styled("bold red", "high  " if intention.priority == "high" else "")
    conditions_shown = dim(f"  {one_line(shown)}" if shown else "")
    return f"{cyan(intention.id)}  {priority}{bold(one_line(intention.text))}{conditions_shown}"
