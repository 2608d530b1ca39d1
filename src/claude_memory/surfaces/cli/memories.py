"""Commands about single memories: remember, show, revise, forget, inbox, strength."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, NewMemory, Scope, StoredMemory, Trust
from claude_memory.platform.caller import own_trust, require_person
from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.request import (
    KINDS,
    AsUser,
    Id,
    Ids,
    Json,
    Text,
    Yes,
    one_at_most,
    opened,
    said,
    said_all,
    said_if,
    whole_text,
)

Topics = Annotated[list[str] | None, typer.Option("--topic", metavar="TOPIC", help="A topic; repeatable.")]
Files = Annotated[
    list[str] | None, typer.Option("--file", metavar="FILE", help="A file it is about; repeatable.")
]
_VERDICTS = {"reinforced": "repeats", "linked": "says something newer of the same than"}
LISTED = 20

inbox = typer.Typer(
    help="What was proposed and nobody has confirmed: list it, accept, edit or reject.",
    invoke_without_command=True,
)


def remember(
    context: typer.Context,
    text: Text,
    kind: Annotated[Kind, typer.Option(metavar="KIND", help=f"What it is: {KINDS}.")] = Kind.NOTE,
    title: Annotated[
        str | None, typer.Option(metavar="TITLE", help="A title; default its first line.")
    ] = None,
    topic: Topics = None,
    file: Files = None,
    supersedes: Annotated[
        str | None, typer.Option(metavar="ID", help="The memory this one takes the place of.")
    ] = None,
    scope: Annotated[
        Scope,
        typer.Option(metavar="SCOPE", help="`project`, or `user`: it travels with you to every project."),
    ] = Scope.PROJECT,
    session: Annotated[
        str | None, typer.Option(metavar="SESSION", help="The conversation it comes from.")
    ] = None,
    as_user: AsUser = False,
    json: Json = False,
) -> None:
    """Keep a memory."""
    new = NewMemory(
        body=whole_text(text),
        kind=kind,
        title=said_if(title),
        topics=said_all(topic),
        files=said_all(file),
        session=said_if(session),
        scope=scope,
        supersedes=supersedes,
        trust=own_trust(as_user=as_user),
    )
    with opened(context) as memory:
        kept = memory.remember(new, embed=False)  # the next search makes the vector
        verdict = memory.verdicts.get(kept.id)
    output.answer(kept, [_line("remembered", kept)], json=json)
    _note_proposal(kept)
    if verdict is not None and verdict.other is not None:
        output.note(f"{_VERDICTS[verdict.action.value]} {verdict.other}: {verdict.words}")


def show(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Show whole memories."""
    with opened(context) as memory:
        memories = [(item, memory.stale(item)) for item in memory.show(said_all(ids))]
    lines = [line for item, stale in memories for line in ([], *views.memory(item, output.width(), stale))]
    shown = [{**documents.plain(item), **({"stale": stale} if stale else {})} for item, stale in memories]
    output.answer(shown, lines[1:], json=json)


def revise(
    context: typer.Context,
    id_: Id,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The new text; `-` reads standard input.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="The new title.")] = None,
    kind: Annotated[Kind | None, typer.Option(metavar="KIND", help=f"The new kind: {KINDS}.")] = None,
    topic: Topics = None,
    file: Files = None,
    pin: Annotated[bool | None, typer.Option("--pin/--unpin", help="Keep it from fading.")] = None,
    supersede_with: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Keep the old memory and put this text in its place."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why it changed; kept with the change.")
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Make what an agent, a tool or a file said your own word.")
    ] = False,
    as_user: AsUser = False,
    json: Json = False,
) -> None:
    """Correct a memory, pin it, or put a new one in its place."""
    changes = any(change is not None for change in (text, title, kind, topic, file, pin))
    if supersede_with is None and not changes and not accept:
        raise typer.BadParameter("say what to change: --text, --title, --kind, --topic, --file, --pin …")
    one_at_most(("--accept", accept), ("--supersede-with", supersede_with))
    if supersede_with is not None and text is not None:
        raise typer.BadParameter("--text changes the memory, --supersede-with replaces it: give one of them")
    named, trust = said(id_), own_trust(as_user=as_user)
    body = supersede_with if supersede_with is not None else text
    body = whole_text([body]) if body is not None else None
    heading = said(title) if title is not None else None
    topics, files = (said_all(given) if given is not None else None for given in (topic, file))
    with opened(context) as memory:
        if supersede_with is not None:
            [old] = memory.find([named])
            new = NewMemory(
                body=body or "",
                title=heading,
                kind=kind or old.kind,
                topics=topics if topics is not None else old.topics,
                files=files if files is not None else old.files,
                scope=old.scope,
                trust=trust,
                provenance={"reason": said(reason)} if reason else {},
            )
            changed = memory.supersede(old.id, new)
        else:
            [changed] = memory.accept([named]) if accept else memory.find([named])
            if changes:
                changed = memory.revise(
                    named,
                    body=body,
                    title=heading,
                    kind=kind,
                    topics=topics,
                    files=files,
                    pinned=pin,
                    reason=said_if(reason),
                    trust=trust,
                )
    proposed = changed.provenance.get("proposed_for")
    done = "proposed" if proposed else "superseded by" if supersede_with is not None else "revised"
    output.answer(changed, [_line(done, changed)], json=json)
    _note_proposal(changed)


def forget(
    context: typer.Context,
    ids: Ids,
    erase: Annotated[
        bool,
        typer.Option("--erase", help="Remove it everywhere, for good; a hash keeps it from coming back."),
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Bring forgotten memories back.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Hide memories (undo with --undo), or erase them for good."""
    one_at_most(("--erase", erase), ("--undo", undo))
    wanted = said_all(ids)
    if erase:
        _erase(context, wanted, yes=yes, json=json)
        return
    with opened(context) as memory:
        changed = memory.restore(wanted) if undo else memory.forget(wanted)
        days = memory.settings.forget_undo_days
    output.answer(changed, [_line("restored" if undo else "forgot", item) for item in changed], json=json)
    if not undo:
        output.note(f"undo within {days} days: forget --undo {' '.join(wanted)}")


def _erase(context: typer.Context, ids: list[str], *, yes: bool, json: bool) -> None:
    require_person("erasing for good")
    with opened(context) as memory:
        titles = ", ".join(f"“{item.title}”" for item in memory.find(ids))
        if not output.confirmed(f"Erase {titles} for good?", yes=yes):
            raise InvalidInput("nothing erased")
        erased = memory.erase(ids)
    counts = (
        output.counted(erased.memories, "memory", "memories"),
        output.counted(erased.events, "event"),
        output.counted(erased.passages, "passage"),
        output.counted(erased.cut, "other text"),
    )
    output.answer(erased, f"erased {', '.join(counts)}", json=json)
    if erased.left and not json:
        output.note("it still stands where only you can take it out:")
        for place in erased.left:
            output.note(f"  {place}")


@inbox.callback()
def proposals(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")] = LISTED,
    json: Json = False,
) -> None:
    """List proposals, newest first."""
    if context.invoked_subcommand is not None:
        return
    with opened(context) as memory:
        proposed = memory.inbox()
    lines: list[output.Line] = [
        [
            (item.id, "cyan"),
            (f"  {views.day(item.created_at)}  {item.kind:<10} ", "dim"),
            (views.one_line(item.title), ""),
        ]
        for item in proposed[:limit]
    ]
    output.answer(proposed[:limit], lines, json=json)
    if json:
        return
    if len(proposed) > limit:
        output.note(f"{len(proposed) - limit} more: --limit {len(proposed)}")
    output.note("accept ID… · edit ID TEXT · reject ID…" if proposed else "nothing is proposed here")


@inbox.command()
def accept(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Confirm proposals: from now on they are your own word."""
    with opened(context) as memory:
        kept = memory.accept(said_all(ids))
    _say_accepted(kept, json=json)


@inbox.command()
def edit(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="A proposal.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should say.")],
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="What kind of memory it is.")] = None,
    json: Json = False,
) -> None:
    """Confirm a proposal in your own words."""
    with opened(context) as memory:
        kept = memory.accept([said(id_)], body=said(text), kind=kind)
    _say_accepted(kept, json=json)


@inbox.command()
def reject(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Refuse proposals: they are gone and never come back."""
    with opened(context) as memory:
        gone = memory.reject(said_all(ids))
    output.answer({"rejected": gone}, f"{output.counted(gone, 'proposal')} rejected", json=json)


def strength(
    context: typer.Context,
    ids: Ids,
    confirm: Annotated[bool, typer.Option("--confirm", help="It is still true.")] = False,
    promote: Annotated[bool, typer.Option("--promote", help="Hold it more firmly.")] = False,
    demote: Annotated[
        bool, typer.Option("--demote", help="Let it fade; only --confirm or --promote bring it back.")
    ] = False,
    json: Json = False,
) -> None:
    """Show how firmly memories are held, or say that they matter more or less."""
    one_at_most(("--confirm", confirm), ("--promote", promote), ("--demote", demote))
    use = "confirmed" if confirm else "promoted" if promote else "demoted" if demote else None
    with opened(context) as memory:
        memories = memory.find(said_all(ids))
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
    output.answer(standing, lines, json=json)


def _note_proposal(kept: StoredMemory) -> None:
    if other := kept.provenance.get("proposed_for"):
        output.note(f"{other} is a person's own word and stands; this is kept beside it, as a proposal")


def _say_accepted(kept: Sequence[StoredMemory], *, json: bool) -> None:
    output.answer(kept, f"{output.counted(len(kept), 'proposal')} accepted", json=json)


def _line(done: str, item: StoredMemory) -> output.Line:
    title = views.one_line(item.title)
    return [(f"{done} ", ""), (item.id, "cyan"), (f"  {item.kind}  ", "dim"), (title, "bold")]
