"""The part `archive`: events, messages once each, and a light text index over all of them.

Tool output is large, so the index of messages has words only, no stems, places or frequencies: it gives
candidates, and who asks ranks them by their text.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from claude_memory.model import Event, EventId, MemoryId, Message, SessionId
from claude_memory.store.base import StorePart
from claude_memory.store.model import ANY_CONVERSATION, Conversation, ImportFile, MadeRoom, WaitingCompactions
from claude_memory.store.sql import rows
from claude_memory.store.sql.rows import to_json
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.model import ProjectId, SearchScope, StoredMemory
    from claude_memory.store.base import Database, Pool
    from claude_memory.store.model import Archived, ConversationFilter, EventFilter, NewMessage, Understood

MAX_WORDS = 24
_TRIES = 6
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_WORD = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff]+")
FILE_COLUMNS = 'path, agent, inode, size, modified_ns, "offset", head, tail, skipped, state'
_EVENT_CONDITIONS = {
    "projects": """e.project IN (SELECT number FROM projects
        WHERE id IN (SELECT value FROM json_each(:projects)))""",
    "session": "e.session IN (SELECT number FROM sessions WHERE id = :session)",
    "kinds": "e.kind IN (SELECT value FROM json_each(:kinds))",
    "since": "e.timestamp >= :since",
    "until": "e.timestamp <= :until",
    "ids": "e.id IN (SELECT value FROM json_each(:ids))",
}
_MESSAGES = """SELECT m.number, m.conversation, m.ordinal, m.role, m.at, m.body, m.tool, m.call, m.failed,
    m.event, m.speaker, m.manner, m.branch FROM messages m WHERE """
_COLUMNS = """SELECT c.number, c.session, c.agent, p.id, c.cwd, c.branch, c.first_at, c.last_at,
    c.messages, c.title, c.parent, coalesce((SELECT o.session FROM conversations o
    WHERE o.number = c.continues), ''), c.path, c.distilled, c.imported"""
_TABLES = "FROM conversations c JOIN projects p ON p.number = c.project WHERE "
_CONVERSATIONS = f"{_COLUMNS} {_TABLES}"
_NEWEST_FIRST = "ORDER BY c.last_at DESC, c.number DESC"
_IN_SCOPE = "(:projects IS NULL OR p.id IN (SELECT value FROM json_each(:projects)))"
# By agent, and in the folder itself or one below it, as either kind of system writes it.
_WITHIN = """(:agent IS NULL OR c.agent = :agent) AND (:folder = '' OR c.cwd = :folder
    OR substr(c.cwd, 1, length(:folder) + 1) IN (:folder || '/', :folder || :backslash))"""
_FITTING = f"""{_CONVERSATIONS} {_IN_SCOPE} AND {_WITHIN}
      AND (:prefix = '' OR (c.session >= :prefix AND c.session < :beyond))
      AND (:since IS NULL OR c.last_at >= :since) AND (:until IS NULL OR c.first_at <= :until)
    {_NEWEST_FIRST} LIMIT :limit"""
_UNASKED = f"""{_CONVERSATIONS} c.asked < c.messages AND c.distilled >= c.messages AND c.parent = ''
    AND c.last_at < ? AND NOT c.imported ORDER BY c.last_at DESC LIMIT ?"""
_UNDERSTOOD = """UPDATE conversations SET distilled = max(distilled, :through),
    record = coalesce(:record, record), title = coalesce(nullif(:title, ''), title) WHERE number = :of"""
_SESSION_IDS = """SELECT id FROM (
        SELECT id, project FROM sessions UNION SELECT session, project FROM conversations) s
    WHERE s.id >= :prefix AND s.id < :beyond
      AND (:projects IS NULL OR s.project IN (
          SELECT number FROM projects WHERE id IN (SELECT value FROM json_each(:projects))))
    GROUP BY id ORDER BY id LIMIT 20"""
_HOLDING = f"""SELECT m.number FROM {{tables}}
    JOIN conversations c ON c.number = m.conversation JOIN projects p ON p.number = c.project
    WHERE {{condition}} AND {_IN_SCOPE} AND {_WITHIN}
      AND (:roles = '[]' OR m.role IN (SELECT value FROM json_each(:roles))) AND (NOT :failed OR m.failed)
      AND (:since IS NULL OR m.at >= :since) AND (:until IS NULL OR m.at <= :until)
    ORDER BY {{number}} DESC LIMIT :limit"""
# Without those that an erasure emptied.
_EXCHANGES = """SELECT m.id, e.conversation, e.first, e.last, e.record FROM exchanges e
    JOIN memories m ON m.number = e.memory WHERE e.record <> '{}' AND """
_AT = "e.conversation = ? AND e.first <= ? AND m.status <> 'forgotten' ORDER BY e.first DESC LIMIT 1"
_REPORTED = "kind IN ('compaction_start', 'compaction')"
_WAITING_COMPACTIONS = f"""SELECT w.session, e.id FROM (SELECT s.id AS session, max(e.number) AS latest
        FROM events e JOIN sessions s ON s.number = e.session WHERE e.{_REPORTED} GROUP BY s.id) w
    JOIN events e ON e.number = w.latest LEFT JOIN summed_up u ON u.session = w.session
    WHERE u.report IS DISTINCT FROM e.id ORDER BY w.latest DESC LIMIT ?"""
_REPORTS = f"""{rows.EVENTS} WHERE e.session IN (SELECT number FROM sessions WHERE id = ?) AND e.{_REPORTED}
    ORDER BY e.timestamp, e.number"""


class Archive(StorePart):
    """What happened: events, and whole conversations, which outlive the agents' own files."""

    def __init__(self, connections: Pool, scrub: Callable[[], None]) -> None:
        super().__init__(connections)
        self._scrub = scrub

    def add(
        self,
        messages: Sequence[NewMessage] = (),
        projects: Mapping[str, ProjectId] | None = None,
        files: Sequence[ImportFile] = (),
        events: Sequence[Event] = (),
    ) -> Archived:
        """Keep what is new, the events, and how far files were read: all or nothing.

        `projects` names the project of every folder that a message is from. What was erased stays away.
        """
        from claude_memory.store.sql.archive_write import Addition

        with self._connections.writing() as db:
            return Addition(db, projects or {}).run(messages, files, events)

    def events(
        self, scope: SearchScope, filter_: EventFilter, *, limit: int, newest_first: bool = True
    ) -> list[Event]:
        conditions = _EVENT_CONDITIONS
        if scope.projects is not None and len(scope.projects) == 1:
            # Equality where it can be: then the index gives the order, and only `limit` rows are read.
            conditions = {**conditions, "projects": conditions["projects"].replace(" IN ", " = ", 1)}
        condition, values = rows.restricted(conditions, {**filter_._asdict(), "projects": _projects(scope)})
        order = "DESC" if newest_first else "ASC"
        statement = (
            f"{rows.EVENTS} WHERE {condition} ORDER BY e.timestamp {order}, e.number {order} LIMIT :limit"
        )
        return self._values(Event, statement, {**values, "limit": limit})

    def prune(self, events_before: datetime | None) -> int:
        """Retention: drop old events; and bring erasures to their end that a reader held up."""
        from claude_memory.store.sql import erase

        with self._connections.writing() as db:
            pruned = erase.prune(db, events_before) if events_before is not None else 0
            unfinished = rows.noted(db, "unscrubbed") is not None
        if unfinished:
            self._scrub()
        return pruned

    def make_room(self, most_bytes: int) -> MadeRoom:
        """Take out the oldest tool output, then messages, then exchanges, until the rest takes no more."""
        from claude_memory.store.sql import erase

        gone, freed = Counter[str](), 1
        while freed:
            with self._connections.reading() as db:
                need = db.used_bytes() - most_bytes
            if need <= 0:
                break
            while need > 0 and freed:
                with self._connections.writing() as db:  # others get their turn between two batches
                    part, freed = erase.make_room(db, need)
                gone, need = gone + part, need - freed
            with self._connections.writing() as db:
                db.compact()
        if gone:
            self._scrub()
        return MadeRoom(**gone)

    def files(self) -> list[ImportFile]:
        return self._values(ImportFile, f"SELECT {FILE_COLUMNS} FROM import_files")

    def conversations(
        self,
        scope: SearchScope,
        within: ConversationFilter = ANY_CONVERSATION,
        *,
        prefix: str = "",
        limit: int | None = None,
    ) -> list[Conversation]:
        """The conversations that fit and whose id begins so, newest first."""
        more = {**_beginning(prefix), "limit": rows.EVERYTHING if limit is None else limit}
        return self._values(Conversation, _FITTING, {**_values(scope, within), **more})

    def session_ids(self, scope: SearchScope, prefix: str) -> list[str]:
        """Ids of sessions that begin so, of events and memories as well as of conversations; at most 20."""
        found = self._read(_SESSION_IDS, {"projects": _projects(scope), **_beginning(prefix)})
        return [id_ for (id_,) in found]

    def by_numbers(self, numbers: Sequence[int]) -> list[Conversation]:
        """Conversations by their numbers, in that order."""
        statement = f"{_CONVERSATIONS} c.number IN (SELECT +value FROM json_each(?))"
        found = self._values(Conversation, statement, (rows.id_list(numbers),))
        return sorted(found, key=lambda item: numbers.index(item.number))

    def by_sessions(self, scope: SearchScope, sessions: Sequence[str]) -> list[Conversation]:
        """Conversations by their agents' own ids, newest first."""
        values = {"projects": _projects(scope), "sessions": to_json(list(sessions))}
        named = "c.session IN (SELECT value FROM json_each(:sessions))"
        return self._values(Conversation, f"{_CONVERSATIONS} {named} AND {_IN_SCOPE} {_NEWEST_FIRST}", values)

    def messages(self, conversation: int, *, first: int = 1, last: int | None = None) -> list[Message]:
        """A conversation's messages in order, or a range of them."""
        values = {"of": conversation, "first": first, "last": last}
        which = """m.conversation = :of AND m.ordinal >= :first AND (:last IS NULL OR m.ordinal <= :last)
            ORDER BY m.ordinal"""
        return self._values(Message, _MESSAGES + which, values)

    def candidates(
        self,
        scope: SearchScope,
        words: Sequence[str],
        limit: int,
        within: ConversationFilter = ANY_CONVERSATION,
    ) -> list[Message]:
        """Messages of all roles that hold the rarest of the words together, newest first."""
        numbers: dict[int, None] = {}
        with self._connections.reading() as db:
            known = _rarest_first(db, words_of(" ".join(words))[: 4 * MAX_WORDS])
            size = min(len(known), MAX_WORDS)
            for _ in range(_TRIES):  # all words together, then the rarest of them
                if not size or len(numbers) >= limit:
                    break
                numbers.update(dict.fromkeys(_holding(db, scope, known[:size], limit, within)))
                size = size * 2 // 3
            return list(_by_numbers(db, list(numbers)[:limit]))

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
        """Messages with all the words whose text is accepted, newest first; `depth` are looked at at most."""
        accepted: list[Message] = []
        with self._connections.reading() as db:
            known = _rarest_first(db, words_of(" ".join(words)))[:MAX_WORDS]
            for message in _by_numbers(db, _holding(db, scope, known, depth, within) if known else ()):
                if accept(message.text):
                    accepted.append(message)
                if len(accepted) >= limit:
                    break
        return accepted

    def of_events(self, events: Sequence[str]) -> list[Message]:
        which = "m.event IN (SELECT value FROM json_each(?))"
        return self._values(Message, _MESSAGES + which, (to_json(list(events)),))

    def word_counts(self, words: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """About how many messages there are, and in how many of them each word stands."""
        with self._connections.reading() as db:
            return int(db.execute(db.messages).get or 0), db.word_counts(words_of(" ".join(words)))

    def words_beginning(self, start: str, limit: int) -> list[str]:
        """Words of messages that begin so, the most common first."""
        with self._connections.reading() as db:
            return [word for first in words_of(start)[:1] for word in db.words_beginning(first, limit)]

    def upgrade_stage(self) -> int:
        """1 while events of an earlier release wait to be messages, 2 until all is understood, else 0."""
        return int(self._value("SELECT value FROM meta WHERE key = 'move'") or 0)

    def reach_upgrade_stage(self, stage: int) -> None:
        """Note how far the upgrade is; 0 when it is done."""
        with self._connections.writing() as db:
            db.execute("DELETE FROM meta WHERE key = 'move'")
            if stage:
                rows.note(db, "move", str(stage))

    def waiting(self, limit: int) -> list[Conversation]:
        """Conversations with messages that were not understood yet, oldest first."""
        statement = f"{_CONVERSATIONS} c.distilled < c.messages ORDER BY c.last_at LIMIT ?"
        return self._values(Conversation, statement, (limit,))

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
        """Keep what was understood of messages from `since` to `through`; returns how many memories are new.

        Exchanges that were known from `since` on and are not among these are gone. What a person did to a
        memory (worded, pinned, forgot, rejected, used it) stays.
        """
        from claude_memory.store.sql import archive_write

        text, title = (to_json(record), record.get("title")) if record is not None else (None, None)
        values = {"through": through, "record": text, "title": clean(str(title or "")), "of": conversation}
        with self._connections.writing() as db:
            new = archive_write.keep(db, conversation, exchanges, since, memories)
            db.execute(_UNDERSTOOD, values)
            return new

    def exchanges(self, conversation: int) -> list[tuple[MemoryId, int, int, Mapping[str, Any]]]:
        """In order: memory, first and last message, parts."""
        found = self._read(f"{_EXCHANGES} e.conversation = ? ORDER BY e.first", (conversation,))
        return [(MemoryId(id_), first, last, json.loads(record)) for id_, _, first, last, record in found]

    def exchanges_at(
        self, places: Sequence[tuple[int, int]]
    ) -> list[tuple[MemoryId, int, int, int, Mapping[str, Any]] | None]:
        """For each conversation and message the visible exchange that holds it: memory, conversation, first,
        last, parts."""
        found: list[Any] = []
        with self._connections.reading() as db:
            for of, ordinal in places:
                row = next(db.execute(_EXCHANGES + _AT, (of, ordinal)), None)
                found.append((*row[:4], json.loads(row[4])) if row and row[3] >= ordinal else None)
        return found

    def exchange_parts(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Mapping[str, Any]]:
        statement = f"{_EXCHANGES} m.id IN (SELECT value FROM json_each(?))"
        found = self._read(statement, (to_json(list(ids)),))
        return {id_: json.loads(record) for id_, *_, record in found}

    def session_records(self, scope: SearchScope, limit: int) -> list[tuple[Conversation, Mapping[str, Any]]]:
        """The records of sessions, newest first."""
        statement = f"""{_COLUMNS}, c.record {_TABLES} c.record IS NOT NULL AND {_IN_SCOPE}
            ORDER BY c.last_at DESC LIMIT :limit"""
        sessions = self._read(statement, {"projects": _projects(scope), "limit": limit})
        return [(rows.read(Conversation, row), json.loads(record)) for *row, record in sessions]

    def unasked(self, *, before: datetime, limit: int) -> list[Conversation]:
        """Sessions, silent since `before`, that no model was asked about since they grew; newest first."""
        return self._values(Conversation, _UNASKED, (rows.stamp(before), limit))

    def asked(self, conversation: int, through: int) -> None:
        self._write("UPDATE conversations SET asked = ? WHERE number = ?", (through, conversation))

    def waiting_compactions(self, limit: int) -> list[WaitingCompactions]:
        """Sessions with reports that came in since the last `summed_up`; the latest first."""
        waiting = []
        with self._connections.reading() as db:
            for session, latest in rows.fetch(db, _WAITING_COMPACTIONS, (limit,)):
                reports = tuple(rows.read(Event, row) for row in db.execute(_REPORTS, (session,)))
                waiting.append(WaitingCompactions(SessionId(session), reports, EventId(latest)))
        return waiting

    def summed_up(self, waiting: WaitingCompactions) -> None:
        """These need no more look, until another report of the session comes in."""
        note = """INSERT INTO summed_up (session, report) VALUES (?, ?)
            ON CONFLICT (session) DO UPDATE SET report = excluded.report"""
        self._write(note, (clean(waiting.session), waiting.latest))

    def agents(self) -> list[str]:
        return [name for (name,) in self._read("SELECT DISTINCT agent FROM conversations ORDER BY agent")]

    def totals(self) -> Mapping[str, int]:
        tables = {"conversations": "conversations", "messages": "messages", "files": "import_files"}
        return {name: int(self._value(f"SELECT count(*) FROM {table}")) for name, table in tables.items()}


def indexed(tool: str, text: str) -> str:
    return clean(f"{tool}\n{text}" if tool else text)


def words_of(text: str) -> list[str]:
    """Words as the index splits them, each once; only ASCII letters lose their case."""
    return list(dict.fromkeys(_WORD.findall(clean(text).translate(_LOWER))))


def _rarest_first(db: Database, words: Iterable[str]) -> list[str]:
    counts = db.word_counts(words)
    return sorted(filter(counts.get, counts), key=lambda word: counts[word])


def _holding(
    db: Database, scope: SearchScope, words: Sequence[str], limit: int, within: ConversationFilter
) -> list[int]:
    """Numbers of messages that hold all of some words, newest first."""
    tables, condition, number = db.holding
    statement = _HOLDING.format(tables=tables, condition=condition, number=number)
    which = {"roles": to_json(within.roles), "failed": within.failed}
    values = {**_values(scope, within), **which, "question": db.question(words), "limit": limit}
    return [number for (number,) in rows.fetch(db, statement, values)]


def _by_numbers(db: Database, numbers: Iterable[int]) -> Iterator[Message]:
    for number in numbers:
        yield from (rows.read(Message, row) for row in db.execute(f"{_MESSAGES} m.number = ?", (number,)))


def _beginning(prefix: str) -> dict[str, str]:
    return {"prefix": clean(prefix), "beyond": f"{clean(prefix)}\U0010ffff"}


def _projects(scope: SearchScope) -> str | None:
    return None if scope.projects is None else to_json(scope.projects)


def _values(scope: SearchScope, within: ConversationFilter) -> dict[str, Any]:
    values = {name: rows.bound(getattr(within, name)) for name in ("folder", "since", "until")}
    values["agent"] = rows.bound(within.agent or None)
    return {**values, "projects": _projects(scope), "backslash": "\\"}
