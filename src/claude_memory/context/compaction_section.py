"""What was compacted away in this session: the last summaries, open tasks, files in flight, how to get more.

A compaction's start comes before its summary is ready; then what was asked since stands in.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from claude_memory.context.builder import Line, Situation
from claude_memory.context.repeats import Told, nothing_told
from claude_memory.model import EventKind, SearchScope
from claude_memory.store.protocol import EventFilter
from claude_memory.text.quotation import named, quoted
from claude_memory.understand.speaker import Speaker, of_event

SUMMARIES = 3
PENDING = 8
FILES = 10
ASKED = 4
DECISIONS = 6
_EXECUTIVE_CHARACTERS = 700
_LINE_CHARACTERS = 240


def compactions(situation: Situation) -> list[Line]:
    """The last three summaries of this session, the newest first and with what is open in it."""
    if situation.session is None:
        return []
    from claude_memory.errors import InvalidInput
    from claude_memory.summaries.shelf import Shelf

    try:
        kept = Shelf(situation.home).of(situation.session)[-SUMMARIES:][::-1]
    except InvalidInput:
        return []
    since = str(kept[0].document.get("timestamp")) if kept else ""
    lines = [Line(text) for text in _asked_since(situation, since)]
    for place, one in enumerate(kept):
        lines.append(Line(f"- {quoted(one.executive, _EXECUTIVE_CHARACTERS)} [{one.id}]"))
        if not place:
            lines += map(Line, _open(dict(one.summary)))
            decided = partial(_decisions, dict(one.summary))
            lines.append(Line(decided(), anew=decided))
    if kept:
        lines.append(Line(f"In full: get_summary, or `claude-memory summary {kept[0].id}`."))
    return [line for line in lines if line.text]


def _open(summary: dict[str, Any]) -> Iterator[str]:
    pending = [quoted(text, _LINE_CHARACTERS) for text in _texts(summary.get("tasks_pending"))[:PENDING]]
    if pending:
        yield f"  Open tasks: {'; '.join(pending)}"
    files = [
        named(str(one.get("path"))) for one in summary.get("files_modified", ()) if isinstance(one, dict)
    ]
    if files:
        yield f"  Files in flight: {', '.join(files[-FILES:])}"


def _decisions(summary: dict[str, Any], told: Told = nothing_told) -> str:
    """What was decided and is not told elsewhere."""
    entries = [one for one in summary.get("key_decisions", ()) if isinstance(one, dict)][-DECISIONS:]
    fresh = [text for one in entries if not told(text := str(one.get("decision")))]
    return f"  Decided: {'; '.join(quoted(text, _LINE_CHARACTERS) for text in fresh)}" if fresh else ""


def _asked_since(situation: Situation, since: str) -> Iterator[str]:
    """Only after a compaction: what was asked that no summary holds yet."""
    if situation.source != "compact":
        return
    wanted = EventFilter(session=situation.session, kinds=(EventKind.PROMPT,))
    found = situation.store.events(SearchScope((situation.project.id,)), wanted, limit=ASKED)
    for event in reversed(found):
        said = of_event(event)
        if event.timestamp.isoformat() > since and said.speaker is Speaker.PERSON and said.words:
            yield f"- asked before the compaction: {quoted(said.words, _LINE_CHARACTERS)}"


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
