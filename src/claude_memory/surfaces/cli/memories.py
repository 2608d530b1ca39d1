"""Commands about single memories: remember, show, revise, forget."""

from __future__ import annotations

from typing import Annotated

import typer

from claude_memory.errors import InvalidInput
from claude_memory.model import Kind, NewMemory, Scope, StoredMemory, Trust
from claude_memory.platform.caller import own_trust, require_person
from claude_memory.surfaces.cli import documents, output, views
from claude_memory.surfaces.cli.request import (
    KINDS,
    AsUser,
    Json,
    Yes,
    one_at_most,
    opened,
    said,
    said_all,
    whole_text,
)

Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or their unique beginnings.")]
Topics = Annotated[list[str] | None, typer.Option("--topic", metavar="TOPIC", help="A topic; repeatable.")]
Files = Annotated[
    list[str] | None, typer.Option("--file", metavar="FILE", help="A file it is about; repeatable.")
]


_VERDICTS = {"reinforced": "repeats", "superseded": "takes the place of", "conflict": "contradicts"}


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(remember)
    app.command()(show)
    app.command()(revise)
    app.command()(forget)


def remember(
    context: typer.Context,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="What to keep; `-` reads standard input.")
    ],
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
        title=said(title) if title is not None else None,
        topics=said_all(topic),
        files=said_all(file),
        session=said(session) if session else None,
        scope=scope,
        supersedes=supersedes,
        trust=own_trust(as_user=as_user),
    )
    with opened(context) as memory:
        kept = memory.remember(new, embed=False)  # the next search makes the vector
        verdict = memory.verdicts.get(kept.id)
    _answer("remembered", [kept], json=json, single=True)
    _note_proposal(kept)
    if verdict is not None and verdict.other is not None:
        output.note(f"{_VERDICTS[verdict.action.value]} {verdict.other}: {verdict.words}")


def show(context: typer.Context, ids: Ids, json: Json = False) -> None:
    """Show whole memories."""
    with opened(context) as memory:
        found = memory.show(said_all(ids))
    if json:
        output.document([documents.memory(item) for item in found])
        return
    for number, item in enumerate(found):
        output.lines([[]] if number else [])
        output.lines(views.memory(item, output.width()))


def revise(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The memory, or its unique beginning.")],
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
    changed_fields = [change for change in (text, title, kind, topic, file, pin) if change is not None]
    if supersede_with is None and not changed_fields and not accept:
        raise typer.BadParameter("say what to change: --text, --title, --kind, --topic, --file, --pin …")
    if accept and supersede_with is not None:
        raise typer.BadParameter("--accept and --supersede-with exclude each other")
    trust = own_trust(as_user=as_user)
    if supersede_with is not None and text is not None:
        raise typer.BadParameter("--text changes the memory, --supersede-with replaces it: give one of them")
    with opened(context) as memory:
        if supersede_with is not None:
            [old] = memory.show([said(id_)])
            changed = memory.supersede(
                old.id,
                _successor(
                    old,
                    supersede_with,
                    title=title,
                    kind=kind,
                    topic=topic,
                    file=file,
                    reason=reason,
                    trust=trust,
                ),
            )
        elif accept and not changed_fields:
            [changed] = memory.accept([said(id_)])
        else:
            if accept:
                memory.accept([said(id_)])
            changed = memory.revise(
                said(id_),
                body=whole_text([text]) if text is not None else None,
                title=said(title) if title is not None else None,
                kind=kind,
                topics=said_all(topic) if topic is not None else None,
                files=said_all(file) if file is not None else None,
                pinned=pin,
                reason=said(reason) if reason else None,
                trust=trust,
            )
    proposed = changed.provenance.get("proposed_for")
    done = "proposed" if proposed else "superseded by" if supersede_with is not None else "revised"
    _answer(done, [changed], json=json, single=True)
    _note_proposal(changed)


def _successor(
    old: StoredMemory,
    text: str,
    *,
    title: str | None,
    kind: Kind | None,
    topic: list[str] | None,
    file: list[str] | None,
    reason: str | None,
    trust: Trust,
) -> NewMemory:
    return NewMemory(
        body=whole_text([text]),
        kind=kind or old.kind,
        title=said(title) if title is not None else None,
        topics=said_all(topic) if topic is not None else old.topics,
        files=said_all(file) if file is not None else old.files,
        scope=old.scope,
        trust=trust,
        provenance={"reason": said(reason)} if reason else {},
    )


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
    with opened(context) as memory:
        wanted = said_all(ids)
        if not erase:
            changed = memory.restore(wanted) if undo else memory.forget(wanted)
            _answer("restored" if undo else "forgot", changed, json=json)
            if not undo:
                output.note(
                    f"undo within {memory.settings.forget_undo_days} days: forget --undo {' '.join(wanted)}"
                )
            return
        require_person("erasing for good")
        titles = ", ".join(f"“{item.title}”" for item in memory.show(wanted))
        if not output.confirmed(f"Erase {titles} for good?", yes=yes):
            raise InvalidInput("nothing erased")
        erased = memory.erase(wanted)
    if json:
        output.document(documents.plain(erased))
        return
    counts = (
        output.counted(erased.memories, "memory", "memories"),
        output.counted(erased.events, "event"),
        output.counted(erased.passages, "passage"),
        output.counted(erased.cut, "other text"),
    )
    output.lines([[(f"erased {', '.join(counts)}", "")]])
    if erased.left:
        output.note("it still stands where only you can take it out:")
        for place in erased.left:
            output.note(f"  {place}")


def _note_proposal(kept: StoredMemory) -> None:
    if other := kept.provenance.get("proposed_for"):
        output.note(f"{other} is a person's own word and stands; this is kept beside it, as a proposal")


def _answer(done: str, changed: list[StoredMemory], *, json: bool, single: bool = False) -> None:
    if json:
        found = [documents.memory(item) for item in changed]
        output.document(found[0] if single else found)
        return
    output.lines(
        [
            [
                (f"{done} ", ""),
                (item.id, "cyan"),
                (f"  {item.kind}  ", "dim"),
                (views.one_line(item.title), "bold"),
            ]
            for item in changed
        ]
    )
