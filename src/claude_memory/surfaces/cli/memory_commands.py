"""Commands about single memories: remember, show, revise, forget, inbox, strength."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.model import Kind, NewMemory, Scope, StoredMemory, Trust
from claude_memory.platform.agents import own_trust, require_person
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    KINDS,
    AllProjects,
    AsUser,
    Id,
    Ids,
    Result,
    Text,
    Yes,
    argument,
    flag,
    one_at_most,
    option,
    whole_text,
)
from claude_memory.surfaces.cli.rendering import day, head, memory_lines

if TYPE_CHECKING:
    from claude_memory.memory import Memory

Topics = Annotated[list[str] | None, option("TOPIC", "A topic; repeatable.", "--topic")]
Files = Annotated[list[str] | None, option("FILE", "A file it is about; repeatable.", "--file")]
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
    return Result(stored, [_line("remembered", stored)])


def show(memory: Memory, ids: Ids) -> Result:
    """Show whole memories."""
    memories = [(item, memory.stale(item)) for item in memory.show(ids)]
    lines = [line for item, stale in memories for line in ([], *memory_lines(item, output.width(), stale))]
    document = [{**output.plain(item), **({"stale": stale} if stale else {})} for item, stale in memories]
    return Result(document, lines[1:])


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
    changes = any(change is not None for change in (text, title, kind, topic, file, pin))
    if supersede_with is None and not changes and not accept:
        raise typer.BadParameter("say what to change: --text, --title, --kind, --topic, --file, --pin …")
    one_at_most(("--accept", accept), ("--supersede-with", supersede_with))
    if supersede_with is not None and text is not None:
        raise typer.BadParameter("--text changes the memory, --supersede-with replaces it: give one of them")
    trust = own_trust(as_user=as_user)
    body = supersede_with if supersede_with is not None else text
    body = whole_text([body]) if body is not None else None
    if supersede_with is not None:
        [old] = memory.find([id_])
        new = NewMemory(
            body=body or "",
            title=title,
            kind=kind or old.kind,
            topics=topic if topic is not None else old.topics,
            files=file if file is not None else old.files,
            scope=old.scope,
            trust=trust,
            provenance={"reason": reason} if reason else {},
        )
        changed = memory.supersede(old.id, new)
    else:
        [changed] = memory.accept([id_]) if accept else memory.find([id_])
        if changes:
            changed = memory.revise(
                id_,
                body=body,
                title=title,
                kind=kind,
                topics=topic,
                files=file,
                pinned=pin,
                reason=reason or None,
                trust=trust,
            )
    _note_proposal(changed)
    proposed = changed.provenance.get("proposed_for")
    done = "proposed" if proposed else "superseded by" if supersede_with is not None else "revised"
    return Result(changed, [_line(done, changed)])


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


def inbox(
    memory: Memory,
    limit: Annotated[int, option("N", "At most so many.", min=1)] = LISTED,
    all_projects: AllProjects = False,
) -> Result:
    """List proposals, newest first."""
    proposed = memory.inbox(all_projects=all_projects)
    shown = proposed[:limit]
    lines = [head(item.id, f"{day(item.created_at)}  {item.kind:<10}", item.title) for item in shown]
    rest = len(proposed) - len(shown)
    more = f"{rest} more: --limit {len(proposed)}" if rest else ""
    how = "accept ID… · edit ID TEXT · reject ID…" if proposed else "nothing is proposed here"
    return Result(shown, lines, (more, how))


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
    lines: list[output.Line] = []
    for item in standing:
        uses = f"{item.reviews} uses{', demoted' if item.demoted else ''}"
        state = (f"  {item.strength:.2f} {item.state:<11}", "bold")
        days = (f" stable for {item.stability_days:.1f} days, {uses}", "dim")
        lines.append([(item.memory, "cyan"), state, days])
    return Result(standing, lines)


def _note_proposal(stored: StoredMemory) -> None:
    if other := stored.provenance.get("proposed_for"):
        output.note(f"{other} is a person's own word and stands; this is kept beside it, as a proposal")


def _line(done: str, item: StoredMemory) -> output.Line:
    return [(f"{done} ", ""), *head(item.id, item.kind, item.title)]
