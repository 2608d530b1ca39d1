"""Commands about compaction summaries: summaries, summary, summarize."""

from __future__ import annotations

import json as json_module
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import Json, agent_name, one_of, opened, path_named, reading, said
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.summaries.model import KeptSummary

MAX_BYTES = 4 << 20
PROVIDERS = ("rules", "anthropic", "claude", "endpoint:URL")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(summaries)
    app.command()(summary)
    app.command()(summarize)


def summaries(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this session's; the beginning of its id is enough.")
    ] = None,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", help="Of every project, not only this one.")
    ] = False,
    json: Json = False,
) -> None:
    """List what compactions left in this project, the newest session first."""
    from claude_memory.summaries.shelf import Shelf

    with opened(context) as memory:
        _catch_up(memory)
        shelf = Shelf(memory.home)
        named = [one for one in shelf.sessions() if one.startswith(session or "")]
        ids = {memory.project.id, *(name.removeprefix("id:") for name in memory.project.identities)}
        wanted = [one for one in named if all_projects or shelf.project_of(one) in ids]
        found = [kept for one in wanted for kept in shelf.of(one)]
    if session and not wanted:
        raise _unknown(session, elsewhere=bool(named))
    if json:
        output.document([_row(kept) for kept in found])
        return
    output.lines(line for kept in found for line in _listed(kept))
    if not found:
        output.note("no compaction was summed up yet")


def _unknown(session: str, *, elsewhere: bool) -> Exception:
    from claude_memory.errors import NotFound

    if elsewhere:
        return NotFound(f"session {said(session)} is of another project: give --all-projects")
    return NotFound(f"no session {said(session)} has summaries; `claude-memory summaries` lists them")


def summary(
    context: typer.Context,
    named: Annotated[
        str,
        typer.Argument(
            metavar="SESSION/NNN",
            help="Which one, as `summaries` shows it; or `save` to keep one from stdin.",
        ),
    ],
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="For `save`: the session; default this shell's.")
    ] = None,
    json: Json = False,
) -> None:
    """Print one summary in full, or `save` one that an agent wrote: JSON on stdin, checked by the schema."""
    from claude_memory.summaries.shelf import Shelf, place_of

    if named != "save":
        with reading("SESSION/NNN"):
            place_of(said(named))
    with opened(context) as memory:
        if named == "save":
            kept, new = _saved(memory, session)
            done = f"saved {kept.id}" if new else f"{kept.id} says the same already: nothing was saved"
            output.document({"saved": kept.id, "new": new}) if json else output.lines([[(done, "")]])
            return
        _catch_up(memory)
        kept = Shelf(memory.home).one(named)
    if json:
        output.document(kept.document)
        return
    output.lines(_shown(kept))


def _provider(name: str | None) -> str | None:
    if name is not None:
        kind, _, place = name.partition(":")
        one_of(f"{kind}:URL" if kind == "endpoint" and place else kind, PROVIDERS)
    return name


def summarize(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", parser=path_named, help="A transcript of any known agent.")
    ],
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", callback=agent_name, help="Whose it is, where that cannot be told."),
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=_provider,
            help="rules, anthropic, claude or endpoint:URL; default the setting `summariser`.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Sum up a transcript from its last compaction to its end; nothing is stored."""
    from claude_memory.summaries.asking import Asker, TokenLedger
    from claude_memory.summaries.finding import open_material
    from claude_memory.summaries.model import KeptSummary
    from claude_memory.summaries.providers import ProviderDown, open_provider

    with opened(context) as memory:
        took = open_material(path, memory.settings, agent=agent, note=output.note)
        rules = took.summary()
        found = took.document(rules)
        wanted = replace(memory.settings, summariser=provider or memory.settings.summariser)
        asked = open_provider(wanted)
        if asked is not None:
            ledger = TokenLedger(memory.home, wanted.summariser_daily_tokens)
            try:
                asker = Asker(asked, ledger, now=datetime.now(UTC))
                body = asker.summary(took.exchanges, rules, str(path.name))
                found = took.document(body, {"provider": asked.name, "model": asked.model})
            except ProviderDown as fault:
                output.note(f"the rules' summary stands: {fault}")
    if json:
        output.document(found)
        return
    output.lines(_shown(KeptSummary(took.stretch.session, 0, found)))


def _catch_up(memory: Memory) -> None:
    """Bring in what hooks captured, and sum up what was compacted."""
    from claude_memory.errors import StoreBusy
    from claude_memory.summaries.finding import compactions

    try:
        memory.drain(budget_seconds=5.0)
        compactions(memory.home, memory.store, memory.archive, memory.settings).sum_up()
    except (StoreBusy, OSError):
        return


def _saved(memory: Memory, session: str | None) -> tuple[KeptSummary, bool]:
    from claude_memory.errors import InvalidInput
    from claude_memory.summaries.keeping import Keeper

    owner = session or os.environ.get("CLAUDE_MEMORY_SESSION")
    if not owner:
        raise typer.BadParameter("whose summary is it? Give --session, or run it in an agent's shell")
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"a summary takes at most {MAX_BYTES:,} bytes")
    keeper = Keeper(memory.home, memory.store)
    return keeper.save(memory.project, owner, raw, now=datetime.now(UTC))


def _row(kept: KeptSummary) -> dict[str, Any]:
    names = ("timestamp", "compaction_trigger", "token_count_before", "token_count_after")
    return {
        "id": kept.id,
        "session": kept.session,
        "number": kept.number,
        **{name: kept.document.get(name) for name in names},
        "original_message_range": kept.document.get("original_message_range"),
        "executive": kept.executive,
    }


def _listed(kept: KeptSummary) -> Iterator[Line]:
    first, last = kept.document.get("original_message_range") or (0, 0)
    facts = f"{times.minute_of(kept.document.get('timestamp'))}  {kept.document.get('compaction_trigger')}"
    yield [(kept.id, "bold"), (f"  {facts}  messages {first} to {last}", "dim")]
    yield [(f"  {' '.join(kept.executive.split())}", "")]


def _shown(kept: KeptSummary) -> Iterator[Line]:
    first, last = kept.document["original_message_range"]
    size = f"{kept.document['token_count_before']:,} tokens"
    yield [
        (kept.id, "bold"),
        (f"  {times.minute_of(kept.document['timestamp'])}  messages {first} to {last}, {size}", "dim"),
    ]
    for line in kept.executive.splitlines():
        yield [(line, "")]
    inner = kept.summary
    for name, entries in inner.items():
        if name in ("executive", "sources") or not entries:
            continue
        yield []
        yield [(name.replace("_", " ").capitalize(), "bold")]
        if name == "topics":
            yield [(", ".join(entries), "")]
            continue
        for entry in entries:
            yield from _entry(entry)


def _entry(entry: Any) -> Iterator[Line]:
    if not isinstance(entry, dict):
        yield [(f"- {entry}", "")]
        return
    where = ", ".join(map(str, entry.get("messages", ())))
    parts = [
        f"{name}: {value if isinstance(value, str) else json_module.dumps(value, ensure_ascii=False)}"
        for name, value in entry.items()
        if name != "messages" and value
    ]
    yield [(f"- {'; '.join(parts)}", ""), (f"  [{where}]" if where else "", "dim")]
