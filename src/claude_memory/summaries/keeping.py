"""Keeps one summary of each compaction, as file and as memories: made early, bettered in place, never twice.

Order is what makes a kill harmless: the file, then the memories, then the caller's mark; each step passes
over what is there already. Nothing here reads a transcript or depends on the present moment.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.model import (
    Kind,
    MemoryFilter,
    Project,
    ProjectId,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
    memory_id,
)
from claude_memory.redact import redact_document
from claude_memory.redact.erasure import without
from claude_memory.store.archive_model import Message
from claude_memory.store.protocol import Store
from claude_memory.summaries.making import budget, summarise
from claude_memory.summaries.model import (
    ENTRIES,
    NO_VECTORS,
    OPEN,
    RULES,
    SOURCED,
    KeptSummary,
    Stretch,
    valid,
)
from claude_memory.summaries.shelf import Shelf
from claude_memory.text.tokens import about_tokens
from claude_memory.text.words import query_terms
from claude_memory.transcripts.model import moment_of
from claude_memory.understand import sessions, tools
from claude_memory.understand.exchanges import exchanges
from claude_memory.understand.model import Exchange, TaskItem, places_of
from claude_memory.understand.titles import title_of

CREATED = "File created successfully"  # the result of writing a file that was not there
LATE = timedelta(minutes=1)  # clocks of a hook and of a transcript may differ by so much
TYPED = (Kind.DECISION, Kind.FIX, Kind.CONVENTION, Kind.PREFERENCE, Kind.CORRECTION)
MOST_CHARACTERS = 20_000  # of any memory: an agent may save megabytes, and all of a memory is embedded


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
    created: frozenset[str] = frozenset()  # files that were not there before
    defined: Mapping[str, Sequence[str]] = field(default_factory=dict)  # names that edits of a file define
    memories: Sequence[StoredMemory] = ()  # typed memories of the same messages

    def summary(self) -> dict[str, Any]:
        """The summary without a language model."""
        return summarise(
            self.exchanges,
            agent_summary=self.stretch.agent_summary,
            earlier=self.earlier,
            open_tasks=self.open_tasks,
            memories=self.memories,
            created=self.created,
            defined=self.defined,
            max_tokens=budget(self.tokens),
        )

    def document(self, summary: Mapping[str, Any], by: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A whole compact_NNN.json."""
        stretch = self.stretch
        whole = _whole(dict(summary), stretch.at, stretch.trigger, by or {"provider": RULES})
        whole["token_count_before"] = self.tokens
        if stretch.tokens_before is not None:
            whole |= {"token_count_before": stretch.tokens_before, "token_counts": "reported"}
        if stretch.tokens_after is not None:
            whole["token_count_after"] = stretch.tokens_after
        whole["original_message_range"] = [stretch.first, stretch.last]
        written = bool(stretch.agent_summary)
        whole["source"] = {"kind": self.kind, "boundary": stretch.boundary, "agent_summary": written}
        return whole


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of a session, counted from 1, and what each of its compactions took."""

    session: SessionId
    cwd: str
    messages: Sequence[Message]
    stretches: Sequence[Stretch]
    kind: str = "transcript"
    unread: int = 0  # lines that are no JSON, or too long

    def material(self, stretch: Stretch, project: ProjectId) -> Material:
        """What a stretch took, with what stood before it and nothing that came after."""
        until = [message for message in self.messages if message.ordinal <= stretch.last]
        taken = [message for message in until if message.ordinal >= stretch.first]
        whole = exchanges(self.session, until, self.cwd)
        return Material(
            stretch,
            # By its messages alone: an exchange that goes on behind a compaction is two in the summaries.
            exchanges(self.session, taken, self.cwd),
            sum(about_tokens(message.text) for message in taken),
            self.kind,
            project,
            self.cwd,
            [each for each in whole if each.first < stretch.first],
            sessions.open_tasks(whole),
            created=frozenset(_created(taken)),
            defined=_defined(taken, self.cwd),
        )


def _created(messages: Sequence[Message]) -> Iterator[str]:
    """The files that were written and had not been there."""
    calls = {message.call: message for message in messages if message.role == "call" and message.call}
    for message in messages:
        if message.role == "result" and message.text.startswith(CREATED) and message.call in calls:
            yield from tools.files_of(calls[message.call].text)


def _defined(messages: Sequence[Message], cwd: str) -> dict[str, list[str]]:
    """The names that edits of each file define, the newest last."""
    names: dict[str, list[str]] = {}
    for message in messages:
        if message.role == "call" and message.tool.lower() in tools.CHANGING:
            new = tools.definitions_of(message.text)
            for path in tools.files_of(message.text):
                own = names.setdefault(tools.relative(path, cwd), [])
                own[:] = [*(name for name in own if name not in new), *new]
    return names


def _whole(body: Any, at: datetime, trigger: str, by: Mapping[str, Any]) -> dict[str, Any]:
    """A document around a summary, of whose messages nothing is known."""
    return {
        "timestamp": _written(at),
        "compaction_trigger": trigger,
        "token_count_before": 0,
        "token_count_after": about_tokens(json.dumps(body, ensure_ascii=False)),
        "token_counts": "estimated",
        "summary": body,
        "embeddings": dict(NO_VECTORS),
        "original_message_range": [0, 0],
        "source": {},
        "summariser": dict(by),
    }


def _written(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Keeper:
    """The summaries of one home, and their memories."""

    home: Path
    store: Store

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.home)

    def conversation(self, told: Transcript, project: ProjectId) -> list[KeptSummary]:
        """Sum up compactions of a conversation; gives back what is new or better than before."""
        erased = self.store.memories.erased_sentences(project)  # an agent's own file may still say it
        told = replace(
            told, messages=[one._replace(text=str(without(one.text, erased))) for one in told.messages]
        )
        made = []
        for stretch in told.stretches:
            clean = replace(stretch, agent_summary=str(without(stretch.agent_summary, erased)))
            took = told.material(clean, project)
            kept, new = self._keep(replace(took, memories=self._typed(took)))
            made += [kept] if new else []
        return made

    def _keep(self, took: Material) -> tuple[KeptSummary, bool]:
        kept, new = self.shelf.keep(
            took.stretch.session,
            took.document(took.summary()),
            {"project": took.project, "cwd": took.cwd},
            instead_of=lambda earlier: same_compaction(earlier, took.stretch, took.kind),
        )
        self.remember(kept, took.project)
        return kept, new

    def _typed(self, took: Material) -> list[StoredMemory]:
        """What was understood from the messages of a stretch and stands."""
        session, first, last = took.stretch.session, took.stretch.first, took.stretch.last
        wanted = MemoryFilter(TYPED, session=session, statuses=(Status.ACTIVE,))
        typed = []
        for memory in self.store.memories.find(SearchScope((took.project,)), wanted):
            ends = [(begin, end) for named, begin, end in places_of(memory) if named == session]
            here = [end for end in ends if first <= end[0] <= end[1] <= last]
            if here:
                places = [{"conversation": session, "messages": end} for end in here]
                typed.append(replace(memory, provenance={"places": places}))
        return typed

    def remember(self, kept: KeptSummary, project: ProjectId) -> None:
        """The memories of a summary, those that are stored already with the text of a better one."""
        made = {memory.id: memory for memory in memories(kept, project)}
        self.store.memories.add(list(made.values()))
        scope, standing = SearchScope((project,)), MemoryFilter(statuses=(Status.ACTIVE,))
        for old in self.store.memories.find(scope, standing, ids=list(made)):
            now = made[old.id]
            if old.body != now.body and old.provenance.get("source") == "compaction":
                self.store.memories.update(replace(old, title=now.title, body=now.body, topics=now.topics))

    def save(self, project: Project, session: str, raw: bytes, *, now: datetime) -> tuple[KeptSummary, bool]:
        """Keep what an agent wrote under the session's next number; the same text is kept once.

        Checked and cleaned of secrets; gives back the summary, and whether it is new.
        """
        document = _read(raw)
        body = document["summary"]
        digest = hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=12).hexdigest()
        by, source = {"provider": "agent"}, {"kind": "agent", "boundary": f"agent:{digest}"}
        whole = valid({**_whole(body, now, "manual", by), **document, "source": source, "summariser": by})
        given = whole["timestamp"]
        if (at := moment_of(given)) is None:
            example = "such as 2026-11-02T09:30:00Z"
            raise InvalidInput(f"timestamp {given[:60]!r} is no time in ISO 8601, {example}")
        whole["timestamp"] = _written(at)
        first, last = places = whole["original_message_range"]
        if places != [0, 0] and not 1 <= first <= last:
            raise InvalidInput(
                f"original_message_range {places} must name the first and the last message, counted from 1"
            )
        if last:  # it says which messages it is about
            whole["summary"] = within(body, range(first, last + 1))
        memories(KeptSummary(session, 0, whole), project.id)  # what leaves no memories leaves no file either
        kept, new = self.shelf.keep(
            session,
            whole,
            {"project": project.id, "cwd": project.path},
            instead_of=lambda earlier: _exactly(earlier, source["boundary"]),
        )
        self.store.memories.add(memories(kept, project.id))
        return kept, new


def _read(raw: bytes) -> dict[str, Any]:
    """The document that an agent wrote, without secrets; a bare `summary` object is one, too."""
    try:
        given = json.loads(raw.decode("utf-8", "replace"), parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError) as fault:
        raise InvalidInput(f"no JSON on standard input: {fault}") from None
    if isinstance(given, dict) and "summary" not in given:
        given = {"summary": given}
    clean, _ = redact_document(given)
    if not isinstance(clean, dict):
        raise InvalidInput("a summary is a JSON object; docs/compaction.md shows its form")
    return clean


def _number(text: str) -> float:
    """A number that JSON can hold: Python also reads and writes NaN and infinities, which nobody else can."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number")
    return number


def within(summary: Mapping[str, Any], messages: range) -> dict[str, Any]:
    """A valid summary without the numbers of messages that it cannot rest on."""

    def left(places: Sequence[int]) -> list[int]:
        return [place for place in places if place in messages]

    entries = {
        name: [
            {**entry, "messages": left(entry["messages"])} if "messages" in entry else entry
            for entry in summary.get(name, ())
        ]
        for name in ENTRIES
    }
    sources = summary.get("sources", {})
    places = {name: [left(own) for own in sources[name]] for name in SOURCED if name in sources}
    return {**summary, **entries, "sources": places}


# --- which summary is of the same compaction


def same_compaction(kept: Sequence[KeptSummary], stretch: Stretch, kind: str) -> KeptSummary | None:
    """The summary that is there already of the compaction that took a stretch.

    A hook tells of a compaction before and after it, a transcript when it is over: they meet because one that
    was summed up early stands for the first boundary behind it.
    """
    if exact := _exactly(kept, stretch.boundary):
        return exact
    alike = [
        (at, one)
        for one in kept
        if one.kind != "agent"
        and (at := moment_of(one.document.get("timestamp")))
        and stretch.first <= one.document["original_message_range"][0] <= stretch.last
    ]
    # A report may come late: the boundary was found meanwhile.
    behind = [one for at, one in alike if at + LATE >= stretch.at] if kind == OPEN else []
    early = [one for at, one in alike if one.kind == OPEN and at <= stretch.at + LATE]
    return next(iter([*behind[:1], *early[-1:]]), None)


def _exactly(kept: Sequence[KeptSummary], boundary: str) -> KeptSummary | None:
    return next((one for one in kept if one.boundary == boundary), None)


# --- the memories that a summary leaves


def memories(kept: KeptSummary, project: ProjectId) -> list[StoredMemory]:
    """The summary itself, and its entries where an agent or a model wrote them.

    What rules put into a summary is found in its exchanges already.
    """
    pending = kept.summary.get("tasks_pending", ())
    body = "\n".join([kept.executive, *(["Open:", *(f"- {text}" for text in pending)] if pending else [])])
    entry = {
        "messages": kept.document["original_message_range"],
        "files": [str(change.get("path")) for change in kept.summary.get("files_modified", ())][:20],
    }
    named = f"Compaction {kept.number}: {kept.executive}"
    made = [_memory(kept, project, Kind.SUMMARY, "", (named, body), entry)]
    for kind, title, text, own in written_entries(kept.summary) if kept.provider not in ("", RULES) else ():
        made.append(_memory(kept, project, kind, f":{kind}:{title_of(text)}", (title, text), own))
    return list({memory.id: memory for memory in made}.values())


def written_entries(summary: Mapping[str, Any]) -> Iterator[tuple[Kind, str, str, Mapping[str, Any]]]:
    """Decisions, fixes and conventions that somebody wrote into a summary: kind, title, text and entry."""
    for entry in summary.get("key_decisions", ()):
        topic, decision = str(entry.get("topic") or "").strip(), str(entry["decision"])
        # “Use Procrastinate” is found by who asks about the queue only if it says that it is about the queue.
        shared = not topic or set(query_terms(decision)) & set(query_terms(topic))
        decision = decision if shared else f"{topic}: {decision}"
        because = f"\nBecause: {entry['rationale']}" if entry.get("rationale") else ""
        yield Kind.DECISION, decision, decision + because, entry
    for entry in summary.get("error_solutions", ()):
        yield Kind.FIX, str(entry["solution"]), f"Failed: {entry['error']}\n{entry['solution']}", entry
    for text in summary.get("conventions", ()):
        yield Kind.CONVENTION, str(text), str(text), {}


def _memory(
    kept: KeptSummary,
    project: ProjectId,
    kind: Kind,
    name: str,
    texts: tuple[str, str],
    entry: Mapping[str, Any],
) -> StoredMemory:
    title, body = texts
    at = moment_of(kept.document.get("timestamp"))
    assert at is not None, "checked when it was written"
    topics = [one for one in kept.summary.get("topics", ()) if kind is Kind.SUMMARY or one in body.lower()]
    evidence = [{"conversation": kept.session, "message": place} for place in entry.get("messages", ())]
    return StoredMemory(
        id=memory_id(f"compaction:{kept.session}:{kept.number}{name}"),
        project=project,
        kind=kind,
        title=title_of(title),
        body=body[:MOST_CHARACTERS],
        created_at=at,
        updated_at=at,
        trust=Trust.AGENT,
        session=SessionId(kept.session),
        topics=tuple(topics),
        files=tuple(entry.get("files", ())),
        provenance={"source": "compaction", "summary": kept.id, "evidence": evidence},
    )
