"""Keeps one summary of each compaction: made early, replaced in place by a better one, never twice.

Order is what makes a kill harmless: the file, then the memories, then the caller's mark; each step passes
over what is there already. Nothing here reads a transcript or depends on the present moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from claude_memory.model import MemoryFilter, ProjectId, SearchScope, Status, StoredMemory
from claude_memory.redact.erasure import without
from claude_memory.store.archive_protocol import Message
from claude_memory.store.protocol import Store
from claude_memory.summaries.memories import memories
from claude_memory.summaries.model import OPEN, RULES, KeptSummary, Stretch, Summary, about_tokens, as_json
from claude_memory.summaries.shelf import Shelf
from claude_memory.summaries.stretches import tokens_in
from claude_memory.summaries.summarise import OPEN_STATES, budget, summarise
from claude_memory.transcripts.model import moment_of
from claude_memory.understand import tools
from claude_memory.understand.exchanges import exchanges
from claude_memory.understand.model import Exchange, TaskItem

CREATED = "File created successfully"  # the result of writing a file that was not there
LATE = timedelta(minutes=1)  # clocks of a hook and of a transcript may differ by so much


@dataclass(frozen=True, slots=True)
class Material:
    """What one compaction took, ready to be summed up."""

    stretch: Stretch
    exchanges: Sequence[Exchange]
    tokens: int  # of the messages, estimated
    kind: str  # where they were read: transcript, archive, open
    project: ProjectId
    cwd: str = ""
    earlier: Sequence[Exchange] = ()  # what compactions before took
    open_tasks: Sequence[TaskItem] = ()
    memories: Sequence[StoredMemory] = ()  # typed memories of the same messages
    created: frozenset[str] = frozenset()  # files that were not there before


def material(
    messages: Sequence[Message], stretch: Stretch, project: ProjectId, *, kind: str = "archive", cwd: str = ""
) -> Material:
    """What a stretch of a conversation took, with what stood before it and nothing that came after."""
    until = [one for one in messages if one.ordinal <= stretch.last]
    # By its messages alone: an exchange that goes on behind a compaction is two in the summaries.
    own = exchanges(stretch.session, [one for one in until if one.ordinal >= stretch.first], cwd)
    whole = exchanges(stretch.session, until, cwd)
    standing = [task for task in (whole[-1].tasks if whole else ()) if task.status in OPEN_STATES]
    earlier = [one for one in whole if one.first < stretch.first]
    return Material(
        stretch,
        own,
        tokens_in(until, stretch),
        kind,
        project,
        cwd,
        earlier,
        standing,
        created=frozenset(_created([one for one in until if one.ordinal >= stretch.first])),
    )


def _created(messages: Sequence[Message]) -> Iterator[str]:
    """The files that were written and had not been there."""
    calls = {one.call: one for one in messages if one.role == "call" and one.call}
    for one in messages:
        if one.role == "result" and one.text.startswith(CREATED) and one.call in calls:
            yield from tools.files_of(calls[one.call].text)


def document(
    took: Material, summary: Summary | Mapping[str, Any], by: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A whole compact_NNN.json."""
    stretch = took.stretch
    reported = stretch.tokens_before is not None
    body = as_json(summary) if isinstance(summary, Summary) else dict(summary)
    after = stretch.tokens_after
    return {
        "timestamp": stretch.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "compaction_trigger": stretch.trigger,
        "token_count_before": stretch.tokens_before if reported else took.tokens,
        "token_count_after": about_tokens(json.dumps(body, ensure_ascii=False)) if after is None else after,
        "token_counts": "reported" if reported else "estimated",
        "summary": body,
        "embeddings": {"model": None, "summary_vector": [], "topic_vectors": {}},
        "original_message_range": [stretch.first, stretch.last],
        "source": {
            "kind": took.kind,
            "boundary": stretch.boundary,
            "agent_summary": bool(stretch.agent_summary),
        },
        "summariser": dict(by or {"provider": RULES}),
    }


def by_rules(took: Material) -> Summary:
    """The summary of a compaction without a language model."""
    return summarise(
        took.exchanges,
        agent_summary=took.stretch.agent_summary,
        earlier=took.earlier,
        open_tasks=took.open_tasks,
        memories=took.memories,
        created=took.created,
        max_tokens=budget(took.tokens),
    )


@dataclass(frozen=True, slots=True)
class Keeper:
    """The summaries of one home, and their memories."""

    home: Path
    store: Store

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.home)

    def conversation(
        self,
        messages: Sequence[Message],
        found: Sequence[Stretch],
        project: ProjectId,
        *,
        kind: str = "archive",
        cwd: str = "",
    ) -> list[KeptSummary]:
        """Sum up compactions of a conversation; gives back what is new or better than before."""
        erased = self.store.erased_sentences(project)  # an agent's own file may still say it
        messages = [replace(one, text=str(without(one.text, erased))) for one in messages]
        found = [replace(one, agent_summary=str(without(one.agent_summary, erased))) for one in found]
        kept = [self.keep(material(messages, one, project, kind=kind, cwd=cwd)) for one in found]
        return [summary for summary, new in kept if new]

    def keep(self, took: Material) -> tuple[KeptSummary, bool]:
        """One compaction as file and memory: what is kept of it, and whether that is new."""
        stretch = took.stretch
        kept, new = self.shelf.keep(
            stretch.session,
            lambda: document(took, by_rules(took)),
            {"project": took.project, "cwd": took.cwd},
            instead_of=lambda known: same_compaction(known, stretch, took.kind),
        )
        self.remember(kept, took.project)
        return kept, new

    def remember(self, kept: KeptSummary, project: ProjectId) -> None:
        """The memories of a summary, those that are stored already with the text of a better one."""
        found = {one.id: one for one in memories(kept, project)}
        self.store.add([], list(found.values()))
        scope, standing = SearchScope((project,)), MemoryFilter(statuses=(Status.ACTIVE,))
        for old in self.store.memories(scope, standing, ids=list(found)):
            now = found[old.id]
            if old.body != now.body and old.provenance.get("source") == "compaction":
                self.store.update(replace(old, title=now.title, body=now.body, topics=now.topics))


def same_compaction(known: Sequence[KeptSummary], stretch: Stretch, kind: str) -> KeptSummary | None:
    """The summary that is there already of the compaction that took a stretch.

    A hook tells of a compaction before and after it, a transcript when it is over: they meet because one that
    was summed up early stands for the first boundary behind it.
    """
    exact = next((one for one in known if one.boundary == stretch.boundary), None)
    if exact is not None:
        return exact
    timed = [
        (at, one) for one in known if one.kind != "agent" and (at := moment_of(one.document.get("timestamp")))
    ]
    if kind == OPEN:  # it is told late: its boundary was found meanwhile
        behind = [one for at, one in timed if at + LATE >= stretch.at and _begins_alike(one, stretch)]
        return behind[0] if behind else _early(timed, stretch)
    return _early(timed, stretch)


def _early(timed: Sequence[tuple[Any, KeptSummary]], stretch: Stretch) -> KeptSummary | None:
    """The summary that was made of the open end before this compaction was over."""
    early = [
        one
        for at, one in timed
        if one.kind == OPEN and at <= stretch.at + LATE and _begins_alike(one, stretch)
    ]
    return early[-1] if early else None


def _begins_alike(one: KeptSummary, stretch: Stretch) -> bool:
    first = one.document["original_message_range"][0]
    return bool(stretch.first <= first <= stretch.last)
