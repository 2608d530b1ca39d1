"""Conversations in SQLite: messages once each, a light text index over all of them, how far files were read.

Every method is one transaction. What a message leaves as event and memory commits with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from claude_memory.model import Event, EventId, MemoryId, ProjectId, SearchScope, SessionId, StoredMemory
from claude_memory.store.archive_protocol import (
    ANY_CONVERSATION,
    Archived,
    Conversation,
    ConversationFilter,
    ImportFile,
    Message,
    NewMessage,
    Understood,
    WaitingCompactions,
)
from claude_memory.store.packing import unpacked
from claude_memory.store.sqlite import archive_search, rows
from claude_memory.store.sqlite.archive_write import FILE_COLUMNS, Addition
from claude_memory.store.sqlite.connection import Connections

_CACHE_KB = 65_536  # random keys: the tree of a large history must stay in memory while it grows
_CONVERSATION_COLUMNS = """c.number, c.session, c.agent, p.id, c.cwd, c.branch, c.first_at, c.last_at,
    c.messages, c.title, c.parent, coalesce((SELECT o.session FROM conversations o
    WHERE o.number = c.continues), ''), c.path, c.distilled, c.imported"""
_CONVERSATION_TABLES = "conversations c JOIN projects p ON p.number = c.project"
MESSAGE_COLUMNS = (
    "m.number, m.conversation, m.ordinal, m.role, m.at, m.body, m.tool, m.call, m.failed, m.event,"
    " m.speaker, m.manner, m.branch"
)

_SESSION_IDS = """SELECT id FROM (
        SELECT id, project FROM sessions UNION SELECT session, project FROM conversations) s
    WHERE s.id >= :prefix AND s.id < :prefix || char(1114111)
      AND (:projects IS NULL OR s.project IN (
          SELECT number FROM projects WHERE id IN (SELECT value FROM json_each(:projects))))
    GROUP BY id ORDER BY id LIMIT 20"""

_REPORTED = "kind IN ('compaction_start', 'compaction')"
_WAITING_COMPACTIONS = f"""SELECT w.session, e.id FROM (SELECT s.id AS session, max(e.number) AS latest
        FROM events e JOIN sessions s ON s.number = e.session WHERE e.{_REPORTED} GROUP BY s.id) w
    JOIN events e ON e.number = w.latest LEFT JOIN summed_up u ON u.session = w.session
    WHERE u.report IS NOT e.id ORDER BY w.latest DESC LIMIT ?"""
_REPORTS = f"""SELECT {rows.EVENT_COLUMNS} FROM {rows.EVENT_TABLES}
    WHERE e.session IN (SELECT number FROM sessions WHERE id = ?) AND e.{_REPORTED}
    ORDER BY e.timestamp, e.number"""


_EXCHANGE_AT = """SELECT m.id, e.first, e.last, e.record FROM exchanges e
    JOIN memories m ON m.number = e.memory
    WHERE e.conversation = ? AND e.first <= ? AND m.status <> 'forgotten' ORDER BY e.first DESC LIMIT 1"""


class SqliteArchive:
    """The conversations of one store file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(
        self,
        messages: Sequence[NewMessage],
        projects: Mapping[str, ProjectId],
        files: Sequence[ImportFile] = (),
        events: Sequence[Event] = (),
    ) -> Archived:
        """Keep what is new, the events, and how far files were read."""
        with self._connections.writing() as db:
            db.pragma("cache_size", -_CACHE_KB)
            return Addition(db, projects).run(messages, files, events)

    def file(self, path: str) -> ImportFile | None:
        """How far a source was read."""
        with self._connections.reading() as db:
            statement = f"SELECT {FILE_COLUMNS} FROM import_files WHERE path = ?"
            row = next(db.execute(statement, (rows.kept(path),)), None)
            return _file(row) if row else None

    def files(self) -> list[ImportFile]:
        """Every source that was read."""
        with self._connections.reading() as db:
            return [_file(row) for row in db.execute(f"SELECT {FILE_COLUMNS} FROM import_files")]

    def conversations(
        self,
        scope: SearchScope,
        *,
        prefix: str = "",
        agent: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        folder: str = "",
        limit: int | None = None,
    ) -> list[Conversation]:
        """The conversations that fit, newest first."""
        values = {
            "projects": None if scope.projects is None else rows.to_json(list(scope.projects)),
            "prefix": rows.clean(prefix),
            "agent": agent,
            "since": rows.stamp(since) if since else None,
            "until": rows.stamp(until) if until else None,
            "folder": rows.clean(folder),
            "limit": -1 if limit is None else limit,
        }
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS} FROM {_CONVERSATION_TABLES}
                    WHERE (:projects IS NULL OR p.id IN (SELECT value FROM json_each(:projects)))
                      AND (:prefix = '' OR (c.session >= :prefix AND c.session < :prefix || char(1114111)))
                      AND (:agent IS NULL OR c.agent = :agent)
                      AND (:since IS NULL OR c.last_at >= :since) AND (:until IS NULL OR c.first_at <= :until)
                      AND {archive_search.IN_FOLDER}
                    ORDER BY c.last_at DESC, c.number DESC LIMIT :limit""",
                values,
            )
            return [_conversation(row) for row in found]

    def session_ids(self, scope: SearchScope, prefix: str) -> list[str]:
        """Ids of sessions that begin so, with or without an archived conversation; at most 20."""
        values = {
            "projects": None if scope.projects is None else rows.to_json(list(scope.projects)),
            "prefix": rows.clean(prefix),
        }
        with self._connections.reading() as db:
            return [id_ for (id_,) in db.execute(_SESSION_IDS, values)]

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

    def by_sessions(self, scope: SearchScope, sessions: Sequence[str]) -> list[Conversation]:
        """Conversations by their agents' own ids, newest first."""
        projects = None if scope.projects is None else rows.to_json(list(scope.projects))
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS} FROM {_CONVERSATION_TABLES}
                    WHERE c.session IN (SELECT value FROM json_each(?1))
                      AND (?2 IS NULL OR p.id IN (SELECT value FROM json_each(?2)))
                    ORDER BY c.last_at DESC, c.number DESC""",
                (rows.to_json([rows.clean(session) for session in sessions]), projects),
            )
            return [_conversation(row) for row in found]

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

    def candidates(
        self,
        scope: SearchScope,
        words: Sequence[str],
        limit: int,
        within: ConversationFilter = ANY_CONVERSATION,
    ) -> list[Message]:
        """Messages that hold the rarest of the words together, newest first."""
        with self._connections.reading() as db:
            numbers = archive_search.candidates(db, scope, words, limit, within)
            statement = f"SELECT {MESSAGE_COLUMNS} FROM messages m WHERE m.number = ?"
            return [message_from_row(row) for number in numbers for row in db.execute(statement, (number,))]

    def matching(
        self,
        scope: SearchScope,
        words: Sequence[str],
        within: ConversationFilter,
        accept: Callable[[str], bool],
        *,
        limit: int,
        depth: int,
    ) -> list[Message]:
        """Messages with all the words whose text is accepted, newest first."""
        found: list[Message] = []
        with self._connections.reading() as db:
            statement = f"SELECT {MESSAGE_COLUMNS} FROM messages m WHERE m.number = ?"
            for number in archive_search.with_all(db, scope, words, depth, within):
                message = next((message_from_row(row) for row in db.execute(statement, (number,))), None)
                if message is not None and accept(message.text):
                    found.append(message)
                    if len(found) >= limit:
                        break
        return found

    def of_events(self, events: Sequence[str]) -> list[Message]:
        """The messages that left these events."""
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {MESSAGE_COLUMNS} FROM messages m
                    WHERE m.event IN (SELECT value FROM json_each(?))""",
                (rows.to_json(list(events)),),
            )
            return [message_from_row(row) for row in found]

    def word_counts(self, words: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """About how many messages there are, and in how many of them each word stands."""
        with self._connections.reading() as db:
            total = int(db.execute("SELECT max(number) FROM messages").get or 0)
            return total, archive_search.frequencies(db, words)

    def words_beginning(self, start: str, limit: int) -> list[str]:
        """Words of messages that begin so, the most common first."""
        with self._connections.reading() as db:
            return archive_search.beginning(db, start, limit)

    def upgrade_stage(self) -> int:
        """How far the upgrade from an earlier release is; 0 if there is nothing to do."""
        with self._connections.reading() as db:
            return int(db.execute("SELECT value FROM meta WHERE key = 'move'").get or 0)

    def reach_upgrade_stage(self, stage: int) -> None:
        """Note how far the upgrade is."""
        with self._connections.writing() as db:
            if stage:
                db.execute("INSERT OR REPLACE INTO meta VALUES ('move', ?)", (str(stage),))
            else:
                db.execute("DELETE FROM meta WHERE key = 'move'")

    def waiting(self, limit: int) -> list[Conversation]:
        """Conversations with messages that were not understood yet."""
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS} FROM {_CONVERSATION_TABLES}
                    WHERE c.distilled < c.messages ORDER BY c.last_at LIMIT ?""",
                (limit,),
            )
            return [_conversation(row) for row in found]

    def understood(
        self,
        conversation: int,
        through: int,
        exchanges: Sequence[Understood],
        *,
        since: int = 1,
        record: Mapping[str, Any] | None = None,
        memories: Sequence[StoredMemory] = (),
    ) -> int:
        """Keep what was understood, and note up to where."""
        from claude_memory.store.sqlite import exchanges as kept

        with self._connections.writing() as db:
            return kept.keep(db, conversation, through, exchanges, since, record, memories)

    def exchanges(self, conversation: int) -> list[tuple[MemoryId, int, int, Mapping[str, Any]]]:
        """A conversation's exchanges in order, without those that an erasure emptied."""
        with self._connections.reading() as db:
            found = db.execute(
                """SELECT m.id, e.first, e.last, e.record FROM exchanges e
                   JOIN memories m ON m.number = e.memory
                   WHERE e.conversation = ? AND e.record <> '{}' ORDER BY e.first""",
                (conversation,),
            )
            return [(MemoryId(id_), first, last, json.loads(record)) for id_, first, last, record in found]

    def exchanges_at(
        self, places: Sequence[tuple[int, int]]
    ) -> list[tuple[MemoryId, int, int, int, Mapping[str, Any]] | None]:
        """For each conversation and message the exchange that holds it."""
        found: list[tuple[MemoryId, int, int, int, Mapping[str, Any]] | None] = []
        with self._connections.reading() as db:
            for conversation, ordinal in places:
                row = next(db.execute(_EXCHANGE_AT, (conversation, ordinal)), None)
                if row is None or row[2] < ordinal or row[3] == "{}":
                    found.append(None)
                else:
                    found.append((MemoryId(row[0]), conversation, row[1], row[2], json.loads(row[3])))
        return found

    def exchange_parts(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Mapping[str, Any]]:
        """The parts of those memories that are exchanges."""
        with self._connections.reading() as db:
            found = db.execute(
                """SELECT m.id, e.record FROM exchanges e JOIN memories m ON m.number = e.memory
                   WHERE m.id IN (SELECT value FROM json_each(?)) AND e.record <> '{}'""",
                (rows.to_json(list(ids)),),
            )
            return {MemoryId(id_): json.loads(record) for id_, record in found}

    def session_records(self, scope: SearchScope, limit: int) -> list[tuple[Conversation, Mapping[str, Any]]]:
        """The records of sessions, newest first."""
        projects = None if scope.projects is None else rows.to_json(list(scope.projects))
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS}, c.record FROM {_CONVERSATION_TABLES}
                    WHERE c.record IS NOT NULL
                      AND (:projects IS NULL OR p.id IN (SELECT value FROM json_each(:projects)))
                    ORDER BY c.last_at DESC LIMIT :limit""",
                {"projects": projects, "limit": limit},
            )
            return [(_conversation(row[:-1]), json.loads(row[-1])) for row in found]

    def unasked(self, *, before: datetime, limit: int) -> list[Conversation]:
        """Sessions that no language model was asked about since they grew, newest first."""
        with self._connections.reading() as db:
            found = db.execute(
                f"""SELECT {_CONVERSATION_COLUMNS} FROM {_CONVERSATION_TABLES}
                    WHERE c.asked < c.messages AND c.distilled >= c.messages AND c.parent = ''
                      AND c.last_at < ? AND NOT c.imported ORDER BY c.last_at DESC LIMIT ?""",
                (rows.stamp(before), limit),
            )
            return [_conversation(row) for row in found]

    def asked(self, conversation: int, through: int) -> None:
        """A language model was asked about so many messages."""
        with self._connections.writing() as db:
            db.execute("UPDATE conversations SET asked = ? WHERE number = ?", (through, conversation))

    def waiting_compactions(self, limit: int) -> list[WaitingCompactions]:
        """Sessions with reports that came in since they were summed up; the latest first."""
        with self._connections.reading() as db:
            return [
                WaitingCompactions(
                    SessionId(session),
                    tuple(rows.event_from_row(row) for row in db.execute(_REPORTS, (session,))),
                    EventId(latest),
                )
                for session, latest in rows.fetch(db, _WAITING_COMPACTIONS, (limit,))
            ]

    def summed_up(self, waiting: WaitingCompactions) -> None:
        """Note up to which report a session's compactions are summed up."""
        with self._connections.writing() as db:
            note = "INSERT OR REPLACE INTO summed_up VALUES (?, ?)"
            db.execute(note, (rows.clean(waiting.session), waiting.latest))

    def agents(self) -> list[str]:
        """Whose conversations are kept."""
        with self._connections.reading() as db:
            return [name for (name,) in db.execute("SELECT DISTINCT agent FROM conversations ORDER BY agent")]

    def totals(self) -> Mapping[str, int]:
        """Conversations, messages, files read."""
        with self._connections.reading() as db:
            counted = {name: f"SELECT count(*) FROM {name}" for name in ("conversations", "messages")}
            counted["files"] = "SELECT count(*) FROM import_files"
            return {name: int(db.execute(statement).get) for name, statement in counted.items()}


def message_from_row(row: Sequence[Any]) -> Message:
    """A row of MESSAGE_COLUMNS."""
    number, conversation, ordinal, role, at, body, tool, call, failed, event, speaker, manner, branch = row
    return Message(
        number, conversation, ordinal, role, rows.moment(at), unpacked(body), tool or "", call or "",
        bool(failed), event or "", speaker or "", manner or "", branch or "",
    )  # fmt: skip


def _conversation(row: Sequence[Any]) -> Conversation:
    (number, session, agent, project, cwd, branch, first, last, messages, title, parent, continues, path,
     understood, imported) = row  # fmt: skip
    return Conversation(
        number, SessionId(session), agent, ProjectId(project), cwd, branch, rows.moment(first),
        rows.moment(last), messages, title, parent, continues, path, understood, bool(imported),
    )  # fmt: skip


def _file(row: Sequence[Any]) -> ImportFile:
    path, agent, inode, size, modified_ns, offset, head, tail, skipped, state = row
    return ImportFile(
        path, agent, int(inode), size, modified_ns, offset, head, tail, skipped, json.loads(state)
    )
