"""Messages on their way into the archive, and what was understood of them.

Copies are told by their keys, rows are written in few statements. What was understood is derived and may be
made anew: an exchange that grew is brought up to date, one that is gone is taken out. What a person
did to it (pinned, forgot, used) stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from claude_memory import redact
from claude_memory.model import BY_HAND, Event, EventId, ProjectId, Status, StoredMemory
from claude_memory.redact.erasure import ERASED, without
from claude_memory.store.model import Archived, ImportFile, NewMessage, Understood
from claude_memory.store.sql import rows, write
from claude_memory.store.sql.archive import FILE_COLUMNS, indexed
from claude_memory.store.sql.rows import kept, packed, to_json, unpacked
from claude_memory.text.quotation import clean
from claude_memory.text.words import shorten
from claude_memory.understand import commands
from claude_memory.understand.speaker import Speaker

if TYPE_CHECKING:
    from claude_memory.store.base import Database

TITLE_CHARACTERS = 80

# Messages of an earlier release have no moment: theirs will be before all others.
_CONVERSATION = """SELECT number, messages, title, first_at, last_at, coalesce((SELECT moment FROM messages
        WHERE conversation = c.number ORDER BY ordinal DESC LIMIT 1), last_at + messages) FROM conversations c
    WHERE session = ? AND agent = ?"""
_NEW_CONVERSATION = """INSERT INTO conversations
      (agent, session, project, cwd, branch, parent, path, first_at, last_at, imported)
    VALUES (:agent, :session, :project, :cwd, :branch, :parent, :path, :at, :at, :imported)
    RETURNING number"""
_GROWS = ("messages", "title", "first_at", "last_at", "continues", "number")
_GROWN = """UPDATE conversations SET messages = ?, title = ?, first_at = ?, last_at = ?,
    continues = coalesce(continues, ?) WHERE number = ?"""
_COLUMNS = (
    "number conversation ordinal role at failed tool call event body speaker manner branch moment keys"
).split()
_REPLACE = f"UPDATE messages SET {', '.join(f'{name} = ?' for name in _COLUMNS[3:-1])} WHERE number = ?"
_KNOWN_KEYS = """SELECT key, conversation, message FROM message_keys
    WHERE key IN (SELECT +value FROM json_each(?))"""
_KEYS = """INSERT INTO message_keys (key, conversation, message) VALUES (?, ?, ?)
    ON CONFLICT DO NOTHING"""
# As every home does where a message belongs between others; what was understood is made anew.
_COUNTED_ANEW = (
    """UPDATE messages SET ordinal = -o.place FROM (SELECT number,
        row_number() OVER (ORDER BY coalesce(moment, at), keys) AS place FROM messages
        WHERE conversation = ?) o WHERE messages.number = o.number""",
    "UPDATE messages SET ordinal = -ordinal WHERE conversation = ?",
    "UPDATE conversations SET distilled = 0 WHERE number = ?",
)


@dataclass(slots=True)
class _Growing:
    number: int
    messages: int
    title: str
    first_at: int
    last_at: int
    moment: int = 0  # of its last message
    continues: int | None = None
    mixed: bool = False  # whether a message came that belongs between others


class Addition:
    def __init__(self, db: Database, projects: Mapping[str, ProjectId]) -> None:
        self._db = db
        self._projects = projects
        self._places = write.Places(db)
        self._growing: dict[tuple[str, str], _Growing] = {}
        self._keys: dict[int, tuple[int, int | None]] = {}
        self._new_keys: dict[int, tuple[int, int | None]] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._texts: list[tuple[int, str]] = []
        self._sessions = 0
        self._tombstones = rows.tombstones(db)
        self._numbers: Iterator[int] = iter(())

    def run(
        self, messages: Sequence[NewMessage], files: Sequence[ImportFile], events: Sequence[Event]
    ) -> Archived:
        db = self._db
        wanted = rows.id_list(sorted(key for message in messages for key in message.keys))
        self._keys = {key: (row[0], row[1]) for key, *row in db.execute(_KNOWN_KEYS, (wanted,))}
        self._numbers = iter(db.message_numbers(len(messages)))
        new = [message for message in messages if self._message(message)]
        db.put_messages(_COLUMNS, self._rows, self._texts)
        # In order, because the tree of keys is large and neighbours share pages.
        db.executemany(_KEYS, sorted((key, *place) for key, place in self._new_keys.items()))
        grown = self._growing.values()
        db.executemany(_GROWN, [tuple(getattr(one, name) for name in _GROWS) for one in grown])
        for mixed in (one for one in grown if one.mixed):
            for statement in _COUNTED_ANEW:
                db.execute(statement, (mixed.number,))
        given = {event.id for event in events}
        told = [message.event for message in new if message.event is not None]
        stored = write.add_events(db, [*events, *(event for event in told if event.id not in given)])
        for file in files:
            redacted = file._replace(path=kept(file.path), state=redact.redact_document(file.state))
            row = [*map(rows.bound, redacted)]
            row[2] = str(file.inode)  # may be more than a column of numbers holds
            db.execute("DELETE FROM import_files WHERE path = ?", row[:1])
            db.execute(f"INSERT INTO import_files ({FILE_COLUMNS}) VALUES ({'?, ' * 9}?)", row)
        return Archived(len(new), len(messages) - len(new), self._sessions, stored)

    def _message(self, message: NewMessage) -> bool:
        original = next((self._keys[key] for key in message.keys if key in self._keys), None)
        growing = self._conversation(message)
        if original is not None:
            # A conversation that begins with another's messages goes on from there.
            if original[0] != growing.number and growing.continues is None:
                growing.continues = original[0]
            elif message.moment and original[1] is not None:
                self._meet(original[1], message, growing)
            return False
        message = self._admitted(message)
        at = rows.stamp(message.at)
        growing.messages += 1
        growing.first_at, growing.last_at = min(growing.first_at, at), max(growing.last_at, at)
        speaks = message.role == "user" and message.speaker in ("", Speaker.PERSON)
        if not growing.title and speaks and message.text != ERASED:
            growing.title = _title(message.text)
        growing.mixed |= bool(message.moment) and message.moment <= growing.moment
        growing.moment = max(message.moment or max(at, growing.moment + 1), growing.moment)
        number = next(self._numbers)
        content = self._content(message, message.moment or growing.moment)
        self._rows.append((number, growing.number, growing.messages, *content, packed_keys(message.keys)))
        self._texts.append((number, indexed(message.tool, message.text)))
        for key in message.keys:
            self._keys[key] = self._new_keys[key] = (growing.number, number)
        return True

    def _meet(self, number: int, message: NewMessage, growing: _Growing) -> None:
        """Let the same message of two homes be one: the earlier of the two, with the keys of both."""
        statement = "SELECT moment, keys, tool, body FROM messages WHERE number = ?"
        row = next(self._db.execute(statement, (number,)), None)
        if row is None:  # in this batch
            return
        moment, before, tool, body = row
        keys = packed_keys({*message.keys, *unpacked_keys(before)})
        if keys != before:
            self._db.execute("UPDATE messages SET keys = ? WHERE number = ?", (keys, number))
            self._db.executemany(_KEYS, [(key, growing.number, number) for key in message.keys])
        if moment is not None and message.moment < moment:
            message = self._admitted(message)
            words = indexed(tool or "", unpacked(body)), indexed(message.tool, message.text)
            self._db.replace_words(number, *words)
            self._db.execute(_REPLACE, (*self._content(message, message.moment), number))
            growing.mixed = True

    def _admitted(self, message: NewMessage) -> NewMessage:
        """The message without what was erased; it stays in its place, and its keys keep copies away."""
        known = self._tombstones
        event = message.event.id if message.event else EventId(message.event_id)
        if (event and known.hold_event(event)) or known.hold_message(message.keys):
            text = ERASED
        else:
            erased = known.sentences(message.project or self._projects[message.cwd])
            text = without(message.text, erased)
        return message if text == message.text else message._replace(text=text, packed=None)

    def _content(self, message: NewMessage, moment: int) -> tuple[Any, ...]:
        body: str | bytes | None = message.packed
        if body is None:
            body = packed(kept(message.text), always=self._db.is_shared)
        event = message.event.id if message.event else message.event_id or None
        called = (kept(message.tool) or None, kept(message.call) or None, event, body)
        ways = (message.speaker or None, message.manner or None, kept(message.branch) or None)
        return (message.role, rows.stamp(message.at), message.failed, *called, *ways, moment)

    def _conversation(self, message: NewMessage) -> _Growing:
        name = (kept(message.session), message.agent)
        if name not in self._growing:
            found = next(self._db.execute(_CONVERSATION, name), None)
            if found is None:
                at, names = rows.stamp(message.at), ("agent", "session", "cwd", "branch", "parent", "path")
                values = {name: kept(getattr(message, name)) for name in names}
                project = self._places.project(message.project or self._projects[message.cwd])
                more = {"project": project, "at": at, "imported": message.imported}
                number = int(self._db.execute(_NEW_CONVERSATION, {**values, **more}).get)
                found = (number, 0, "", at, at, 0)
                self._sessions += 1
            self._growing[name] = _Growing(*found)
        return self._growing[name]


def packed_keys(keys: Iterable[int]) -> bytes:
    return b"".join(key.to_bytes(8, "big", signed=True) for key in sorted(set(keys)))


def unpacked_keys(packed: bytes | None) -> list[int]:
    whole = packed or b""
    return [int.from_bytes(whole[place : place + 8], "big", signed=True) for place in range(0, len(whole), 8)]


def _title(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "" if line.startswith(("<", "/")) else clean(shorten(line, TITLE_CHARACTERS))


# --- what was understood

_PUT_EXCHANGE = """INSERT INTO exchanges (memory, conversation, first, last, record)
    SELECT number, ?, ?, ?, ? FROM memories WHERE id = ?
    ON CONFLICT (memory) DO UPDATE SET conversation = excluded.conversation,
        first = excluded.first, last = excluded.last, record = excluded.record"""
_OUTDATED = """SELECT m.number, m.id FROM exchanges e JOIN memories m ON m.number = e.memory
    WHERE e.conversation = ? AND e.first >= ? AND NOT m.pinned AND m.status <> 'forgotten'"""
_DROP_FAILURES = "DELETE FROM exchange_failures WHERE memory = (SELECT number FROM memories WHERE id = ?)"
_PUT_FAILURE = "INSERT INTO exchange_failures (family, memory) SELECT ?, number FROM memories WHERE id = ?"
# What a person did to a memory, or the store noted, stays when it is understood anew.
_A_PERSONS = "forgotten_at pinned supersedes superseded_by created_at trust scope person".split()
# What an earlier release made of single turns of this conversation.
_FORMER = """SELECT m.number, m.id, m.status, m.forgotten_at, m.provenance ->> 'event'
    FROM memories m JOIN sessions s ON s.number = m.session
    JOIN conversations c ON c.session = s.id AND c.project = s.project
    WHERE c.number = ? AND NOT m.pinned AND m.number NOT IN (SELECT memory FROM exchanges) AND (
        (m.kind IN ('observation', 'summary') AND m.provenance ->> 'source' IN ('hook', 'transcript'))
        OR (m.provenance ->> 'source' IN ('distilled', 'compaction')
            AND (m.status = 'proposed' OR m.kind = 'summary')))"""
_OF_EVENTS = """SELECT event FROM messages WHERE conversation = ? AND ordinal BETWEEN ? AND ?
    AND event IN (SELECT value FROM json_each(?))"""
_CARRY_STRENGTH = """INSERT INTO strengths
      (memory, stability, difficulty, reviewed_at, reviews, lapses, demoted)
    SELECT e.memory, s.stability, s.difficulty, s.reviewed_at, s.reviews, s.lapses, s.demoted
    FROM strengths s JOIN messages m ON m.event = ? AND m.conversation = ?
    JOIN exchanges e ON e.conversation = m.conversation AND m.ordinal BETWEEN e.first AND e.last
    WHERE s.memory = ?
    ON CONFLICT (memory) DO UPDATE SET stability = max(strengths.stability, excluded.stability),
        reviews = max(strengths.reviews, excluded.reviews)"""


def keep(
    db: Database,
    conversation: int,
    exchanges: Sequence[Understood],
    since: int,
    memories: Sequence[StoredMemory],
) -> int:
    from claude_memory.store.sql import erase

    new, stay = 0, {item.memory.id for item in exchanges}
    outdated = rows.fetch(db, _OUTDATED, (conversation, since))
    erase.drop(db, {number: id_ for number, id_ in outdated if id_ not in stay})
    # None in a home that began with this release.
    former = rows.fetch(db, _FORMER, (conversation,)) if rows.noted(db, "move") is not None else []
    hidden = {event: at for _, _, status, at, event in former if status == "forgotten" and event}
    for item in exchanges:
        memory = item.memory
        turns = (conversation, item.first, item.last, to_json(list(hidden)))
        if hidden and (turn := db.execute(_OF_EVENTS, turns).get) is not None:  # forgotten with its turn
            at = hidden[turn] and rows.moment(hidden[turn])
            memory = replace(memory, status=Status.FORGOTTEN, forgotten_at=at)
        new += _put(db, memory)
        place = (conversation, item.first, item.last, to_json(item.record), memory.id)
        db.execute(_PUT_EXCHANGE, place)
        # By which kinds of commands it is found when one of them is about to be run again.
        failed = (run for run in item.record.get("commands", ()) if run.get("failed"))
        kinds = {clean(kind) for run in failed for kind in commands.families(run["command"])}
        db.execute(_DROP_FAILURES, (memory.id,))
        db.executemany(_PUT_FAILURE, [(kind, memory.id) for kind in sorted(kinds)])
    new += sum(_put(db, memory) for memory in memories if not is_rejected(db, memory))
    for number, *_, event in former:  # what was used often stays strong
        db.execute(_CARRY_STRENGTH, (event, conversation, number))
    erase.drop(db, {number: id_ for number, id_, *_ in former})
    return new


def _put(db: Database, memory: StoredMemory) -> int:
    """Add a memory, or bring the known one up to what it says now; a person's hand on it stays."""
    known = rows.memory(db, memory.id)
    if known is None:
        return write.add(db, [memory]).memories
    if known.provenance.get(BY_HAND):
        places = {name: place for name, place in memory.provenance.items() if name in ("places", "messages")}
        memory = replace(known, provenance={**known.provenance, **places}, updated_at=memory.updated_at)
    told = replace(
        memory,
        **{name: getattr(known, name) for name in _A_PERSONS},
        status=known.status if known.status is not Status.PROPOSED else memory.status,
        updated_at=max(known.updated_at, memory.updated_at),
        topics=tuple(dict.fromkeys((*memory.topics, *known.topics))),
    )
    if told != known:
        write.update(db, told, counts=False)
    return 0


def is_rejected(db: Database, memory: StoredMemory) -> bool:
    """Whether a person said no to what is proposed here."""
    if memory.status is not Status.PROPOSED:
        return False
    return db.execute("SELECT 1 FROM rejected WHERE hash = ?", (memory.id,)).get is not None
