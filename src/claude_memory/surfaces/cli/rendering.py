"""What a person sees: lines for hits, memories, timelines, names and values. Nothing is printed here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from claude_memory.model import Hit, Status, StoredMemory
from claude_memory.surfaces.cli.output import Line, Piece, clean
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.lifecycle.strength import Given
    from claude_memory.search.explain import Explanation
    from claude_memory.search.past_work import TimelineEntry

_DETAIL_WIDTH = 12


def day(moment: datetime) -> str:
    """The day in the reader's own zone."""
    return f"{moment.astimezone():%Y-%m-%d}"


def head(id_: str, facts: str, title: str, *more: Piece) -> Line:
    """The line that a thing is listed by: its id, facts, its title."""
    return [(id_, "cyan"), (f"  {facts}  ", "dim"), (one_line(title), "bold"), *more]


def hit_lines(found: Sequence[Hit], columns: int | None) -> Iterator[Line]:
    """Each hit with its head line and, where it says more than the title, its snippet."""
    for hit in found:
        yield [
            (hit.id, "cyan"),
            (f"  {hit.relevance:.2f}  ", "bold"),
            (f"{hit.kind:<11} {day(hit.timestamp)}  ", "dim"),
            (one_line(hit.title), "bold"),
            *_standing(hit.status, hit.superseded_by),
        ]
        snippet = one_line(hit.snippet)
        if snippet and snippet.rstrip("…") not in one_line(hit.title):
            yield from _paragraph(snippet, columns, "    ")
        if hit.place:
            yield [(f"    {hit.place}", "dim")]
        if hit.stale:
            yield [(f"    out of date? {one_line(hit.stale)}", "yellow")]


def memory_lines(stored: StoredMemory, columns: int | None, stale: str = "") -> Iterator[Line]:
    """One memory in full; `stale` is what the working tree no longer bears out."""
    yield head(stored.id, stored.kind, stored.title, *_standing(stored.status, stored.superseded_by))
    for name, value in {**_details(stored), "stale": stale}.items():
        if value:
            yield [(f"  {name:<{_DETAIL_WIDTH}}", "dim"), (one_line(value), "")]
    yield []
    for line in stored.body.splitlines():
        yield from _paragraph(line, columns, "  ")


def _details(stored: StoredMemory) -> dict[str, str]:
    revised = stored.updated_at if stored.updated_at != stored.created_at else None
    return {
        "created": times.minute(stored.created_at),
        "changed": times.minute(revised) if revised else "",
        "session": stored.session or "",
        "task": stored.task or "",
        "topics": ", ".join(stored.topics),
        "files": ", ".join(stored.files),
        "trust": stored.trust,
        "scope": stored.scope if stored.scope != "project" else "",
        "pinned": "yes" if stored.pinned else "",
        "supersedes": stored.supersedes or "",
    }


def timeline_lines(entries: Sequence[TimelineEntry]) -> Iterator[Line]:
    """One line per entry, the anchor marked."""
    for entry in entries:
        mark = "▸" if entry.anchor else "·" if entry.is_event else " "
        yield [
            (f"{mark} {times.minute(entry.timestamp)}  ", "dim"),
            (f"{entry.kind:<12} ", "dim"),
            (one_line(entry.title)[:160], "bold" if entry.anchor else ""),
            ("" if entry.is_event else f"  {entry.id}", "cyan"),
        ]


def explanation_lines(found: Explanation, columns: int | None) -> Iterator[Line]:
    """The question and the words first, then every number that went into the score."""
    if found.query:
        yield [("for the question ", "dim"), (f"“{one_line(found.query)}”", "bold")]
    for sentence in found.words:
        yield from _paragraph(sentence, columns, "")
    yield []
    longest = max((len(name) for name in found.numbers), default=0)
    for name, value in found.numbers.items():
        yield [(f"  {name:<{longest}}  ", "dim"), (f"{value:.4g}", "")]


def given_lines(found: Sequence[Given]) -> Iterator[Line]:
    """When hooks handed a memory to an agent."""
    for item in found:
        yield [
            ("given to an agent ", ""),
            (times.minute(item.timestamp), "bold"),
            (f"  at {one_line(item.given_at)}, session {one_line(item.session or '-')}", "dim"),
        ]


def table(values: Mapping[str, object]) -> Iterator[Line]:
    """Names and values, aligned."""
    longest = max((len(name) for name in values), default=0)
    for name, value in values.items():
        yield [(f"{name:<{longest}}  ", "dim"), (str(value), "")]


def named_values(values: Mapping[str, str], width: int) -> list[Line]:
    """What has a value, each after its name in bold."""
    return [[(f"{name:<{width}}", "bold"), (value, "")] for name, value in values.items() if value]


def size(count: int) -> str:
    """Bytes as a person says them."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GB"


def one_line(text: str) -> str:
    """A text on one line, without anything that could move the cursor."""
    return " ".join(clean(text).split())


def _standing(status: Status, superseded_by: str | None) -> Line:
    if status is Status.SUPERSEDED:
        return [(f"  superseded by {superseded_by}" if superseded_by else "  superseded", "yellow")]
    if status is Status.ARCHIVED:
        return [("  archived", "dim")]
    return [("  forgotten", "red")] if status is Status.FORGOTTEN else []


def _paragraph(text: str, columns: int | None, indent: str) -> Iterator[Line]:
    if columns is None:
        yield [(indent + clean(text).rstrip(), "")]
        return
    wrapped = textwrap.wrap(clean(text), max(columns - len(indent), 20), drop_whitespace=True)
    for line in wrapped or [""]:
        yield [(indent + line, "")]
