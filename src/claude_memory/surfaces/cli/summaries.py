"""Commands about compaction summaries: summaries, summary, summarize."""

from __future__ import annotations

import json as json_module
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from claude_memory.errors import InvalidInput, StoreBusy
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.output import Line
from claude_memory.surfaces.cli.request import (
    AllProjects,
    Json,
    agent_name,
    one_of,
    opened,
    path_named,
    reading,
    said,
)
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.summaries.model import KeptSummary

MAX_BYTES = 4 << 20
PROVIDERS = ("rules", "anthropic", "claude", "endpoint:URL")


def summaries(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Only this session's; the beginning of its id is enough.")
    ] = None,
    all_projects: AllProjects = False,
    json: Json = False,
) -> None:
    """List what compactions left in this project, the newest session first."""
    with opened(context) as memory:
        _catch_up(memory)
        kept = memory.summaries.list(said(session or ""), all_projects=all_projects)
    lines = [line for item in kept for line in _listed(item)]
    output.answer([_row(item) for item in kept], lines, json=json)
    if not kept and not json:
        output.note("no compaction was summed up yet")


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
    with opened(context) as memory:
        if named == "save":
            kept, new = memory.summaries.save(*_written(session))
            done = f"saved {kept.id}" if new else f"{kept.id} says the same already: nothing was saved"
            output.answer({"saved": kept.id, "new": new}, done, json=json)
            return
        with reading("SESSION/NNN"):
            memory.summaries.check_name(said(named))
        _catch_up(memory)
        kept = memory.summaries.one(named)
    output.answer(kept.document, _shown(kept), json=json)


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
    with opened(context) as memory:
        made = memory.summaries.summarize(path, agent=agent, provider=provider, note=output.note)
    output.answer(made.document, _shown(made), json=json)


def _catch_up(memory: Memory) -> None:
    """Bring in what hooks captured, and sum up what was compacted."""
    try:
        memory.drain(budget_seconds=5.0)
    except (StoreBusy, OSError):
        return
    memory.summaries.sum_up()


def _written(session: str | None) -> tuple[str, bytes]:
    """Whose summary stands on standard input, and what it says."""
    owner = session or os.environ.get("CLAUDE_MEMORY_SESSION")
    if not owner:
        raise typer.BadParameter("whose summary is it? Give --session, or run it in an agent's shell")
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"a summary takes at most {MAX_BYTES:,} bytes")
    return owner, raw


def _row(kept: KeptSummary) -> dict[str, Any]:
    names = ("timestamp", "compaction_trigger", "token_count_before", "token_count_after")
    return {
        "id": kept.id,
        "session": kept.session,
        "number": kept.number,
        **{name: kept.document.get(name) for name in (*names, "original_message_range")},
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
    facts = f"  {times.minute_of(kept.document['timestamp'])}  messages {first} to {last}, {size}"
    yield [(kept.id, "bold"), (facts, "dim")]
    yield from ([(line, "")] for line in kept.executive.splitlines())
    for name, entries in kept.summary.items():
        if name in ("executive", "sources") or not entries:
            continue
        yield []
        yield [(name.replace("_", " ").capitalize(), "bold")]
        if name == "topics":
            yield [(", ".join(entries), "")]
            continue
        yield from map(_entry, entries)


def _entry(entry: Any) -> Line:
    if not isinstance(entry, dict):
        return [(f"- {entry}", "")]
    where = ", ".join(map(str, entry.get("messages", ())))
    parts = [
        f"{name}: {value if isinstance(value, str) else json_module.dumps(value, ensure_ascii=False)}"
        for name, value in entry.items()
        if name != "messages" and value
    ]
    return [(f"- {'; '.join(parts)}", ""), (f"  [{where}]" if where else "", "dim")]
