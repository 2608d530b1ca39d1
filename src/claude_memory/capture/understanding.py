"""Brings what is understood up to what the archive holds: exchanges, the session's record, what it settled.

Which conversations wait is state in the archive. Reads and writes the store; the rules are in `understand`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from claude_memory.capture.messages import messages_of
from claude_memory.model import (
    EventKind,
    Kind,
    MemoryFilter,
    MemoryId,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
    memory_id,
)
from claude_memory.store.base import Store
from claude_memory.store.model import Conversation, EventFilter, Message, Understood
from claude_memory.store.sql.archive import Archive
from claude_memory.transcripts.model import SPEAKERS, Role
from claude_memory.understand import statements, titles
from claude_memory.understand.agent_summary import feedback_and_fixes, read
from claude_memory.understand.exchanges import exchanges, session_text
from claude_memory.understand.exchanges import record as record_of
from claude_memory.understand.model import Exchange, SessionRecord, from_json, places_of, to_json
from claude_memory.understand.speaker import Manner, of_prompt, of_result
from claude_memory.understand.statements import Statement

BATCH = 50
MAX_FILES = 40
MAX_PLACES = 50
_ALL = MemoryFilter(statuses=tuple(Status))
PAGE = 400
_COUNTED = 1_000
_TOLD = (
    EventKind.PROMPT,
    EventKind.REPLY,
    EventKind.TOOL_USE,
    EventKind.TOOL_FAILURE,
    EventKind.SUBAGENT_RESULT,
    EventKind.COMPACTION,
)


def understand_waiting(store: Store, out_of_time: Callable[[], bool]) -> tuple[int, int]:
    """Understand what waits until time is up: how many memories are new, how many conversations are left."""
    archive = store.archive
    stage = archive.upgrade_stage()
    if stage == 1 and move_events(archive, out_of_time):
        archive.reach_upgrade_stage(2)
    new = 0
    while not out_of_time() and (waiting := archive.waiting(BATCH)):
        for conversation in waiting:
            new += 0 if out_of_time() else understand(store, conversation)
    left = len(archive.waiting(_COUNTED))
    if stage and not left and archive.upgrade_stage() == 2:
        archive.reach_upgrade_stage(0)
    return new, left


def move_events(archive: Archive, out_of_time: Callable[[], bool]) -> bool:
    """Make messages of what an earlier release kept as events alone; true when all is done.

    A session whose transcript was imported is whole already. Done again, it finds everything there.
    """
    wanted, seen = EventFilter(kinds=_TOLD), set[str]()
    while not out_of_time():
        page = archive.events(SearchScope(None), wanted, limit=PAGE, newest_first=False)
        fresh = [event for event in page if event.id not in seen]
        sessions = {event.session for event in fresh if event.session}
        known = {item.session for item in archive.by_sessions(SearchScope(None), list(sessions)) if item.path}
        moved = [event for event in fresh if event.session not in known]
        messages = [message for event in moved for message in messages_of(event)]
        archive.add(messages, {event.cwd: event.project for event in moved})
        if len(page) < PAGE or not fresh:
            return True
        wanted, seen = wanted._replace(since=page[-1].timestamp), {event.id for event in page}
    return False


def understand(store: Store, conversation: Conversation) -> int:
    """Bring one conversation up to date; returns how many memories are new."""
    earlier, messages, since = _to_read(store.archive, conversation)
    found = exchanges(conversation.session, messages, conversation.cwd)
    every = [*earlier, *found]
    named = next((message.text for message in reversed(messages) if message.manner == Manner.TITLE), "")
    record = record_of(conversation.session, every, named) if every else None
    made: list[StoredMemory] = []
    if record is not None and not conversation.parent:
        texts, files = (record.title, session_text(record)), (path for path, _ in record.files)
        whole = _memory(conversation, "session", conversation.session, texts, record, files)
        made = [whole, *_settled(store, conversation, every, found, messages)]
    return store.archive.understood(
        conversation.number,
        conversation.messages,
        [_understood(conversation, exchange) for exchange in found],
        since=since,
        record=to_json(record) if record is not None else None,
        memories=made,
    )


def _to_read(archive: Archive, conversation: Conversation) -> tuple[list[Exchange], Sequence[Message], int]:
    """The exchanges that stand, and the messages from the last one on, which may have grown.

    A transcript may bring what belongs between messages that hooks brought: then all is read again.
    """
    known = [(first, from_json(record)) for _, first, _, record in archive.exchanges(conversation.number)]
    if known and conversation.understood:
        since, last = known[-1]
        messages = list(map(_heard, archive.messages(conversation.number, first=since)))
        if all(m.at >= last.began for m in messages if m.ordinal > conversation.understood):
            return [exchange for first, exchange in known if first < since], messages, since
    return [], list(map(_heard, archive.messages(conversation.number))), 1


def _heard(message: Message) -> Message:
    """Messages that an earlier release kept do not say who spoke: the text has to tell."""
    if message.speaker:
        return message
    if message.role == Role.USER:
        speaker, manner, _ = of_prompt(message.text)
    elif message.role == Role.RESULT:
        speaker, manner, _ = of_result(message.tool, message.text, {"is_error": message.failed})
    else:
        speaker, manner = SPEAKERS[Role(message.role) if message.role in set(Role) else Role.NOTE]
    return message._replace(speaker=speaker.value, manner=manner.value)


def _understood(conversation: Conversation, exchange: Exchange) -> Understood:
    refused = (spoken.file for spoken in exchange.asked if spoken.file)
    named = (*(path for path, _ in exchange.files_edited), *refused, *exchange.files_read)
    texts, files = (titles.title(exchange), titles.search_text(exchange)), dict.fromkeys(named)
    memory = _memory(conversation, "exchange", exchange.key, texts, exchange, files)
    places = {"messages": [exchange.first, exchange.last]}
    memory = replace(memory, kind=Kind.OBSERVATION, provenance={**memory.provenance, **places})
    return Understood(memory, exchange.first, exchange.last, to_json(exchange))


def _memory(
    conversation: Conversation,
    source: str,
    key: str,
    texts: tuple[str, str],
    lasted: Exchange | SessionRecord,
    files: Iterable[str],
) -> StoredMemory:
    """An exchange or a record holds an agent's words as well as a person's, so it is the agent's."""
    return StoredMemory(
        memory_id(f"{source}:{key}"),  # the same in every home, whatever project a person moves it to
        conversation.project,
        Kind.SUMMARY,
        *texts,
        lasted.began,
        lasted.ended,
        Trust.IMPORTED if conversation.imported else Trust.AGENT,
        session=SessionId(conversation.parent or conversation.session),
        files=tuple(files)[:MAX_FILES],
        provenance={"source": source, "agent": conversation.agent, "conversation": conversation.session},
    )


def _settled(
    store: Store,
    conversation: Conversation,
    every: Sequence[Exchange],
    found: Sequence[Exchange],
    messages: Sequence[Message],
) -> list[StoredMemory]:
    """What the exchanges and the agent's own summaries settled or suggest, each with all its places."""
    told = statements.of_session(every, {exchange.key for exchange in found})
    for message in messages:
        if message.role == "summary":
            feedback, _ = feedback_and_fixes(read(message.text))
            told += statements.of_summary(feedback, message.at, message.ordinal)
    made = [statement_memory(conversation, statement) for statement in statements.merged(told)]
    scope, ids = SearchScope((conversation.project,)), [memory.id for memory in made]
    known = {memory.id: memory for memory in store.memories.find(scope, _ALL, ids=ids)} if ids else {}
    return [_with_places(memory, known[memory.id]) if memory.id in known else memory for memory in made]


def statement_memory(conversation: Conversation, statement: Statement) -> StoredMemory:
    """A person's own words are the person's, unless the history came from elsewhere."""
    spoken_by = Trust.USER if statement.by_person else Trust.AGENT
    place = {"conversation": conversation.session, "messages": list(statement.ordinals)}
    return StoredMemory(
        memory_id(f"statement:{conversation.project}:{statement.key}"),
        conversation.project,
        statement.kind,
        statement.title,
        statement.body,
        statement.at,
        statement.at,
        Trust.IMPORTED if conversation.imported else spoken_by,
        status=Status.ACTIVE if statement.settled else Status.PROPOSED,
        session=conversation.session,
        files=statement.files,
        provenance={"source": "understood", "by": statement.source, "places": [place]},
    )


def _with_places(memory: StoredMemory, known: StoredMemory) -> StoredMemory:
    """One statement is one memory: what is said again, in another session, is settled by that."""
    [here] = memory.provenance["places"]
    before = [place for place in known.provenance.get("places", ()) if isinstance(place, dict)]
    others = [place for place in before if place.get("conversation") != here["conversation"]]
    again = memory.trust is Trust.USER and bool(others)
    first = known if others else memory
    return replace(
        first,
        status=Status.ACTIVE if again or memory.status is Status.ACTIVE else known.status,
        updated_at=max(known.updated_at, memory.updated_at),
        provenance={**first.provenance, "places": [*others, here][-MAX_PLACES:]},
    )


def kin(store: Store, asked: Sequence[StoredMemory]) -> list[StoredMemory]:
    """What was understood from the same messages as these: it may say the same in other words."""
    known = {memory.id for memory in asked}
    found: dict[str, StoredMemory] = {}
    for memory in asked:
        places = places_of(memory) if memory.session else []
        of_session, scope = replace(_ALL, session=memory.session), SearchScope((memory.project,))
        for other in store.memories.find(scope, of_session) if places else ():
            meet = any(
                one[0] == two[0] and one[1] <= two[2] and two[1] <= one[2]
                for one in places
                for two in places_of(other)
            )
            if meet and other.kind is not Kind.SUMMARY and other.id not in known:
                found[other.id] = other
    return list(found.values())


def records_with(store: Store, ids: Sequence[MemoryId]) -> list[MemoryId]:
    """The records of the sessions that these were understood from: they tell of them, and are made anew."""
    found = store.memories.find(SearchScope(None), _ALL, ids=ids)
    return [memory_id(f"session:{session}") for memory in found for session, _, _ in places_of(memory)]
