"""One batch of messages on its way into the tables: copies told by their keys, rows in few statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claude_memory import redact
from claude_memory.model import Event, EventId, ProjectId
from claude_memory.redact.erasure import ERASED
from claude_memory.store.model import Archived, ImportFile, NewMessage
from claude_memory.store.sql import rows, write
from claude_memory.store.sql.archive import FILE_COLUMNS, indexed
from claude_memory.store.sql.rows import kept, to_json, unpacked
from claude_memory.text.quotation import clean
from claude_memory.text.words import shorten
from claude_memory.understand.speaker import Speaker

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

TITLE_CHARACTERS = 80

# Messages of an earlier release have no moment: theirs will be before all others.
_CONVERSATION = """SELECT number, messages, title, first_at, last_at, coalesce((SELECT moment FROM messages
        WHERE conversation = c.number ORDER BY ordinal DESC LIMIT 1), last_at + messages) FROM conversations c
    WHERE session = ? AND agent = ?"""
_NEW_CONVERSATION = """INSERT INTO conversations
      (agent, session, project, cwd, branch, parent, path, first_at, last_at, imported)
    VALUES (:agent, :session, :project, :cwd, :branch, :parent, :path, :at, :at, :imported)
    RETURNING number"""
_GROWN = """UPDATE conversations SET messages = ?, title = ?, first_at = ?, last_at = ?,
    continues = coalesce(continues, ?) WHERE number = ?"""
_COLUMNS = (
    "number conversation ordinal role at failed tool call event body speaker manner branch moment keys"
).split()
_KEYS = """INSERT INTO message_keys (key, conversation, message) VALUES (?, ?, ?)
    ON CONFLICT DO NOTHING"""
_ORDER = """UPDATE messages SET ordinal = -o.place FROM (SELECT number,
        row_number() OVER (ORDER BY coalesce(moment, at), keys) AS place FROM messages
        WHERE conversation = ?) o WHERE messages.number = o.number"""


@dataclass(slots=True)
class _Growing:
    """A conversation while a batch adds to it."""

    number: int
    messages: int
    title: str
    first_at: int
    last_at: int
    moment: int = 0  # of its last message
    continues: int | None = None
    mixed: bool = False  # whether a message came that belongs between others


class Addition:
    """One batch."""

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
        self._last = 0

    def run(
        self, messages: Sequence[NewMessage], files: Sequence[ImportFile], events: Sequence[Event]
    ) -> Archived:
        """Write what is new of the batch."""
        self._look_up(messages)
        self._numbers = iter(self._db.message_numbers(len(messages)))
        new = [message for message in messages if self._message(message)]
        self._settle()
        given = {event.id for event in events}
        told = [message.event for message in new if message.event is not None]
        fresh = [*events, *(event for event in told if event.id not in given)]
        stored = write.add_events(self._db, fresh)
        for file in files:
            self._file(file)
        return Archived(len(new), len(messages) - len(new), self._sessions, stored)

    def _look_up(self, messages: Sequence[NewMessage]) -> None:
        wanted = rows.id_list(sorted(key for message in messages for key in message.keys))
        found: Any = self._db.execute(
            """SELECT key, conversation, message FROM message_keys
               WHERE key IN (SELECT +value FROM json_each(?))""",
            (wanted,),
        )
        self._keys = {row[0]: (row[1], row[2]) for row in found}

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
        self._last = next(self._numbers)
        self._rows.append(self._row(message, growing))
        self._texts.append((self._last, indexed(message.tool, message.text)))
        for key in message.keys:
            self._keys[key] = self._new_keys[key] = (growing.number, self._last)
        return True

    def _meet(self, number: int, message: NewMessage, growing: _Growing) -> None:
        """Let the same message of two homes be one: the earlier of the two, with the keys of both."""
        row = next(self._db.execute("SELECT moment, keys FROM messages WHERE number = ?", (number,)), None)
        if row is None:  # in this batch
            return
        keys = packed_keys({*message.keys, *unpacked_keys(row[1])})
        if keys != row[1]:
            self._db.execute("UPDATE messages SET keys = ? WHERE number = ?", (keys, number))
            new = [(key, growing.number, number) for key in message.keys]
            self._db.executemany(_KEYS, new)
        if row[0] is not None and message.moment < row[0]:
            self._replace(number, self._admitted(message))
            growing.mixed = True

    def _replace(self, number: int, message: NewMessage) -> None:
        tool, body = next(self._db.execute("SELECT tool, body FROM messages WHERE number = ?", (number,)))
        before = indexed(tool or "", unpacked(body))
        self._db.replace_words(number, before, indexed(message.tool, message.text))
        self._db.execute(
            """UPDATE messages SET role = ?, at = ?, failed = ?, tool = ?, call = ?, event = ?, body = ?,
               speaker = ?, manner = ?, branch = ?, moment = ? WHERE number = ?""",
            (*self._content(message), message.moment, number),
        )

    def _admitted(self, message: NewMessage) -> NewMessage:
        """The message without what was erased; it stays in its place, and its keys keep copies away."""
        known = self._tombstones
        event = message.event.id if message.event else EventId(message.event_id)
        if (event and known.hold_event(event)) or known.hold_message(message.keys):
            text = ERASED
        else:
            text = known.admitted_text(self._project(message), message.text)
        return message if text == message.text else message._replace(text=text, packed=None)

    def _row(self, message: NewMessage, growing: _Growing) -> tuple[Any, ...]:
        place = (self._last, growing.number, growing.messages)
        order = (message.moment or growing.moment, packed_keys(message.keys))
        return (*place, *self._content(message), *order)

    def _content(self, message: NewMessage) -> tuple[Any, ...]:
        body = message.packed if message.packed is not None else self._db.body(kept(message.text))
        event = message.event.id if message.event else message.event_id or None
        tool = kept(message.tool) or None
        call = kept(message.call) or None
        ways = (message.speaker or None, message.manner or None, kept(message.branch) or None)
        return (message.role, rows.stamp(message.at), message.failed, tool, call, event, body, *ways)

    def _project(self, message: NewMessage) -> ProjectId:
        return message.project or self._projects[message.cwd]

    def _conversation(self, message: NewMessage) -> _Growing:
        name = (kept(message.session), message.agent)
        if name not in self._growing:
            found = next(self._db.execute(_CONVERSATION, name), None)
            if found is None:
                at = rows.stamp(message.at)
                found = (
                    int(self._db.execute(_NEW_CONVERSATION, self._values(message, at)).get),
                    0,
                    "",
                    at,
                    at,
                    0,
                )
                self._sessions += 1
            self._growing[name] = _Growing(*found)
        return self._growing[name]

    def _values(self, message: NewMessage, at: int) -> dict[str, Any]:
        return {
            "agent": message.agent,
            "session": kept(message.session),
            "project": self._places.project(self._project(message)),
            "cwd": kept(message.cwd),
            "branch": kept(message.branch),
            "parent": kept(message.parent),
            "path": kept(message.path),
            "at": at,
            "imported": message.imported,
        }

    def _settle(self) -> None:
        self._db.put_messages(_COLUMNS, self._rows, self._texts)
        # In order, because the tree of keys is large and neighbours share pages.
        keys = sorted((key, *place) for key, place in self._new_keys.items())
        self._db.executemany(_KEYS, keys)
        self._db.executemany(
            _GROWN,
            [
                (item.messages, item.title, item.first_at, item.last_at, item.continues, item.number)
                for item in self._growing.values()
            ],
        )
        for item in self._growing.values():
            if item.mixed:
                put_in_order(self._db, item.number)

    def _file(self, file: ImportFile) -> None:
        row = (
            kept(file.path), file.agent, str(file.inode), file.size, file.modified_ns, file.offset,
            file.head, file.tail, file.skipped, to_json(redact.redact_document(file.state)),
        )  # fmt: skip
        self._db.execute("DELETE FROM import_files WHERE path = ?", row[:1])
        self._db.execute(f"INSERT INTO import_files ({FILE_COLUMNS}) VALUES ({'?, ' * 9}?)", row)


def put_in_order(db: Database, conversation: int) -> None:
    """Count the messages of a conversation anew, as every home does; what was understood is made anew."""
    db.execute(_ORDER, (conversation,))
    db.execute("UPDATE messages SET ordinal = -ordinal WHERE conversation = ?", (conversation,))
    db.execute("UPDATE conversations SET distilled = 0 WHERE number = ?", (conversation,))


def packed_keys(keys: Iterable[int]) -> bytes:
    """Keys as their message keeps them."""
    return b"".join(key.to_bytes(8, "big", signed=True) for key in sorted(set(keys)))


def unpacked_keys(packed: bytes | None) -> list[int]:
    """The keys that a message keeps."""
    whole = packed or b""
    return [int.from_bytes(whole[place : place + 8], "big", signed=True) for place in range(0, len(whole), 8)]


def _title(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "" if line.startswith(("<", "/")) else clean(shorten(line, TITLE_CHARACTERS))
