"""Conversations in SQLite: messages once each, a light text index over all of them, how far files were read.

Every method is one transaction. What a message leaves as event and memory commits with it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from claude_memory.model import Event, ProjectId, SearchScope, SessionId, StoredMemory
from claude_memory.store.archive_protocol import Archived, Conversation, ImportFile, Message, NewMessage
from claude_memory.store.sqlite import archive_search, rows, write
from claude_memory.store.sqlite.connection import Connections

PACK_FROM = 160  # characters; below that compressing gains nothing
TITLE_CHARACTERS = 80
_CACHE_KB = 65_536  # random keys: the tree of a large history must stay in memory while it grows

_CONVERSATION = """INSERT INTO conversations
      (agent, session, project, cwd, branch, parent, path, first_at, last_at)
    VALUES (:agent, :session, :project, :cwd, :branch, :parent, :path, :at, :at)
    ON CONFLICT (session, agent) DO UPDATE SET first_at = min(first_at, :at), last_at = max(last_at, :at)
    RETURNING number, messages, title"""
_MESSAGE = """INSERT INTO messages (conversation, ordinal, role, at, failed, tool, call, event, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number"""
_FILE_COLUMNS = "path, agent, inode, size, modified_ns, offset, head, tail, skipped, state"
_CONVERSATION_COLUMNS = """c.number, c.session, c.agent, p.id, c.cwd, c.branch, c.first_at, c.last_at,
    c.messages, c.title, c.parent, coalesce((SELECT o.session FROM conversations o
    WHERE o.number = c.continues), ''), c.path"""
_CONVERSATION_TABLES = "conversations c JOIN projects p ON p.number = c.project"
MESSAGE_COLUMNS = (
    "m.number, m.conversation, m.ordinal, m.role, m.at, m.body, m.tool, m.call, m.failed, m.event"
)


def packed(text: str) -> str | bytes:
    """A body as it is kept."""
    clean = rows.clean(text)
    return clean if len(clean) < PACK_FROM else zlib.compress(clean.encode(), 1)


def unpacked(body: str | bytes) -> str:
    """The text of a kept body."""
    return body if isinstance(body, str) else zlib.decompress(body).decode()


class SqliteArchive:
    """The conversations of one store file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, messages: Sequence[NewMessage], file: ImportFile | None) -> Archived:
        """Keep what is new, and how far the file was read."""
        with self._connections.writing() as db:
            db.pragma("cache_size", -_CACHE_KB)
            return _Addition(db, file.path if file else "").run(messages, file)

    def file(self, path: str) -> ImportFile | None:
        """How far a source was read."""
        with self._connections.reading() as db:
            statement = f"SELECT {_FILE_COLUMNS} FROM import_files WHERE path = ?"
            row = next(db.execute(statement, (rows.clean(path),)), None)
            return _file(row) if row else None

    def files(self) -> list[ImportFile]:
        """Every source that was read."""
        with self._connections.reading() as db:
            return [_file(row) for row in db.execute(f"SELECT {_FILE_COLUMNS} FROM import_files")]

    def conversations(
        self,
        scope: SearchScope,
        *,
        prefix: str = "",
        agent: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> list[Conversation]:
        """The conversations that fit, newest first."""
        values = {
            "projects": None if scope.projects is None else rows.to_json(list(scope.projects)),
            "prefix": rows.clean(prefix),
            "agent": agent,
            "since": rows.stamp(since) if since else None,
            "until": rows.stamp(until) if until else None,
            "limit": -1 if limit is None else limit,
        }
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS} FROM {_CONVERSATION_TABLES}
                    WHERE (:projects IS NULL OR p.id IN (SELECT value FROM json_each(:projects)))
                      AND (:prefix = '' OR (c.session >= :prefix AND c.session < :prefix || char(1114111)))
                      AND (:agent IS NULL OR c.agent = :agent)
                      AND (:since IS NULL OR c.last_at >= :since) AND (:until IS NULL OR c.first_at <= :until)
                    ORDER BY c.last_at DESC, c.number DESC LIMIT :limit""",
                values,
            )
            return [_conversation(row) for row in found]

    def by_numbers(self, numbers: Sequence[int]) -> list[Conversation]:
        """Conversations by their numbers, in that order."""
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS} FROM {_CONVERSATION_TABLES}
                    WHERE c.number IN (SELECT value FROM json_each(?))""",
                (rows.id_list(numbers),),
            )
            known = {row[0]: _conversation(row) for row in found}
        return [known[number] for number in dict.fromkeys(numbers) if number in known]

    def messages(
        self, conversation: int, *, first: int = 1, last: int | None = None, failed_only: bool = False
    ) -> list[Message]:
        """A conversation's messages in order, or a range of them."""
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {MESSAGE_COLUMNS} FROM messages m
                    WHERE m.conversation = :of AND m.ordinal >= :first
                      AND (:last IS NULL OR m.ordinal <= :last) AND (NOT :failed OR m.failed)
                    ORDER BY m.ordinal""",
                {"of": conversation, "first": first, "last": last, "failed": failed_only},
            )
            return [message_from_row(row) for row in found]

    def candidates(self, scope: SearchScope, words: Sequence[str], limit: int) -> list[Message]:
        """Messages that hold the rarest of the words together, newest first."""
        with self._connections.reading() as db:
            numbers = archive_search.candidates(db, scope, words, limit)
            statement = f"SELECT {MESSAGE_COLUMNS} FROM messages m WHERE m.number = ?"
            return [message_from_row(row) for number in numbers for row in db.execute(statement, (number,))]

    def undistilled(self, limit: int) -> list[Conversation]:
        """Conversations that got messages since they were last distilled."""
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS} FROM {_CONVERSATION_TABLES}
                    WHERE c.distilled < c.messages ORDER BY c.last_at LIMIT ?""",
                (limit,),
            )
            return [_conversation(row) for row in found]

    def distilled(self, conversation: int, through: int, memories: Sequence[StoredMemory]) -> int:
        """Keep what was distilled, and note up to where."""
        with self._connections.writing() as db:
            db.execute(
                "UPDATE conversations SET distilled = max(distilled, ?) WHERE number = ?",
                (through, conversation),
            )
            return write.add(db, (), memories).memories if memories else 0

    def totals(self) -> Mapping[str, int]:
        """Conversations, messages, files read."""
        with self._connections.reading() as db:
            counted = {name: f"SELECT count(*) FROM {name}" for name in ("conversations", "messages")}
            counted["files"] = "SELECT count(*) FROM import_files"
            return {name: int(db.execute(statement).get) for name, statement in counted.items()}


class _Addition:
    """One batch on its way into the tables."""

    def __init__(self, db: apsw.Connection, path: str) -> None:
        self._db = db
        self._path = rows.clean(path)
        self._places = write.Places(db)
        self._known: dict[tuple[str, str], list[Any]] = {}
        self._index: list[tuple[int, str]] = []
        self._keys: list[tuple[int, int]] = []
        self._new_keys: dict[int, int] = {}
        self._sessions = 0

    def run(self, messages: Sequence[NewMessage], file: ImportFile | None) -> Archived:
        events: list[Event] = []
        memories: list[StoredMemory] = []
        added = 0
        for message in messages:
            if self._message(message):
                added += 1
                if message.event is not None:
                    events.append(message.event)
                memories.extend(message.memories)
        self._settle()
        stored = write.add(self._db, events, memories)
        if file is not None:
            self._file(file)
        return Archived(added, len(messages) - added, self._sessions, stored.events, stored.memories)

    def _message(self, message: NewMessage) -> bool:
        original = self._original(message.keys)
        if original is not None:
            self._note_copy(message, original)
            return False
        conversation = self._conversation(message)
        conversation[1] += 1
        number, ordinal = conversation[0], conversation[1]
        body = message.packed if message.packed is not None else packed(message.text)
        row = (
            number, ordinal, message.role, rows.stamp(message.at), message.failed, message.tool or None,
            message.call or None, message.event.id if message.event else None, body,
        )  # fmt: skip
        rowid = int(self._db.execute(_MESSAGE, row).get)
        self._index.append((rowid, archive_search.indexed(message.tool, message.text)))
        for key in message.keys:
            self._new_keys[key] = number
        if not conversation[2] and message.role == "user":
            conversation[2] = _title(message.text)
        return True

    def _original(self, keys: tuple[int, ...]) -> int | None:
        """The conversation that holds this message already."""
        for key in keys:
            found = self._new_keys.get(key)
            if found is None:
                statement = "SELECT conversation FROM message_keys WHERE key = ?"
                found = self._db.execute(statement, (key,)).get
            if found is not None:
                return int(found)
        return None

    def _note_copy(self, message: NewMessage, original: int) -> None:
        """A conversation that begins with another's messages goes on from there."""
        statement = "SELECT number FROM conversations WHERE session = ? AND agent = ?"
        own = self._db.execute(statement, (message.session, message.agent)).get
        if own != original:
            self._copied(message, original)

    def _copied(self, message: NewMessage, original: int) -> None:
        conversation = self._conversation(message)
        if conversation[0] != original:
            self._db.execute(
                "UPDATE conversations SET continues = coalesce(continues, ?) WHERE number = ?",
                (original, conversation[0]),
            )

    def _conversation(self, message: NewMessage) -> list[Any]:
        """Its number, how many messages it has, and its title; made when it is new."""
        name = (message.session, message.agent)
        if name not in self._known:
            before = self._db.execute("SELECT 1 FROM conversations WHERE session = ? AND agent = ?", name).get
            self._sessions += before is None
            self._known[name] = list(next(self._db.execute(_CONVERSATION, self._values(message))))
        else:
            self._db.execute(
                "UPDATE conversations SET first_at = min(first_at, ?2), last_at = max(last_at, ?2) "
                "WHERE number = ?1",
                (self._known[name][0], rows.stamp(message.at)),
            )
        return self._known[name]

    def _values(self, message: NewMessage) -> dict[str, Any]:
        return {
            "agent": message.agent,
            "session": message.session,
            "project": self._places.project(message.project),
            "cwd": rows.clean(message.cwd),
            "branch": rows.clean(message.branch),
            "parent": message.parent,
            "path": self._path,
            "at": rows.stamp(message.at),
        }

    def _settle(self) -> None:
        self._db.executemany("INSERT INTO message_index (rowid, body) VALUES (?, ?)", self._index)
        # In order, because the tree of keys is large and its neighbours share pages.
        self._db.executemany(
            "INSERT OR IGNORE INTO message_keys VALUES (?, ?)", sorted(self._new_keys.items())
        )
        self._db.executemany(
            "UPDATE conversations SET messages = ?, title = ? WHERE number = ?",
            [(count, title, number) for number, count, title in self._known.values()],
        )

    def _file(self, file: ImportFile) -> None:
        row = (
            rows.clean(file.path), file.agent, str(file.inode), file.size, file.modified_ns, file.offset,
            file.head, file.tail, file.skipped, rows.to_json(file.state),
        )  # fmt: skip
        self._db.execute(f"INSERT OR REPLACE INTO import_files ({_FILE_COLUMNS}) VALUES ({'?, ' * 9}?)", row)


def message_from_row(row: Sequence[Any]) -> Message:
    """A row of MESSAGE_COLUMNS."""
    number, conversation, ordinal, role, at, body, tool, call, failed, event = row
    return Message(
        number, conversation, ordinal, role, rows.moment(at), unpacked(body), tool or "", call or "",
        bool(failed), event or "",
    )  # fmt: skip


def _conversation(row: Sequence[Any]) -> Conversation:
    number, session, agent, project, cwd, branch, first, last, messages, title, parent, continues, path = row
    return Conversation(
        number, SessionId(session), agent, ProjectId(project), cwd, branch, rows.moment(first),
        rows.moment(last), messages, title, parent, continues, path,
    )  # fmt: skip


def _file(row: Sequence[Any]) -> ImportFile:
    path, agent, inode, size, modified_ns, offset, head, tail, skipped, state = row
    return ImportFile(
        path, agent, int(inode), size, modified_ns, offset, head, tail, skipped, json.loads(state)
    )


def _title(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "" if line.startswith(("<", "/")) else rows.clean(line[:TITLE_CHARACTERS])
