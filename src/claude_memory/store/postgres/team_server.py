"""Connections to a PostgreSQL server: how they are made, given out, and how they fail.

A statement is the one that SQLite takes (`store/sql`); here it becomes PostgreSQL's, once. Errors of the
server leave here as the package's own, with one line that says what to do and never a password.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from queue import Empty, LifoQueue
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import FloatLoader
from psycopg.types.string import TextLoader

from claude_memory.errors import ConfigFault, StoreBusy, StoreFault
from claude_memory.platform.files import reads_only
from claude_memory.store.base import Pool
from claude_memory.store.postgres import migrations
from claude_memory.store.postgres.migrations import PERSONAL, SCHEMA
from claude_memory.store.sql.archive import words_of
from claude_memory.store.sql.write import Terms

CONNECT_SECONDS = 10
LOCK_MS = 10_000
STATEMENT_MS = 120_000
CONNECTIONS = 4  # of one process: a server has about a hundred for all
LONGEST_TERM = 200  # characters; an index entry must fit into a third of a page
_LOOKED_AT = 50  # one passage of so many lets its writer look whether the lexicon is behind
_RECENT = 2_000  # messages whose words are offered
_LOCAL = ("", "localhost", "127.0.0.1", "::1")
_SAFE = ("require", "verify-ca", "verify-full")


# --- statements

_UNTELL = """DELETE FROM lexicon x USING keys_gone(ARRAY(SELECT t.space || '_' || t.term FROM lexicon t
        JOIN unnest(CAST(? AS bigint[]), CAST(? AS text[])) d (space, term)
            ON t.space = d.space AND t.term = d.term)) g (key)
    WHERE x.space = CAST(split_part(g.key, '_', 1) AS bigint)
      AND x.term = substr(g.key, strpos(g.key, '_') + 1)"""

_LIST = re.compile(r"SELECT (\+?)value FROM json_each\((\?\d*|:\w+)\)")
_TABLE = re.compile(r"json_each\((\?\d*|:\w+)\) (\w+)")
_CONFLICT = re.compile(r"ON CONFLICT \(")
_INTO = re.compile(r"INSERT INTO (\w+)")
_PLACE = re.compile(r"(?<![:\w'])(?::([a-z_]\w*)|\?(\d*))")
# Another member's word is theirs by name: it is quoted, never taken for what the person at hand said.
_OTHER = "m.author <> (SELECT memory_person())"
TRUST = f"CASE WHEN m.trust = 'user' AND {_OTHER} THEN 'imported' ELSE m.trust END"
PROVENANCE = f"CASE WHEN {_OTHER} THEN with_member(m.provenance, m.member) ELSE m.provenance END"
_NUL = "\ufdd0"  # no character, as which NUL is kept: PostgreSQL's text has none


@functools.lru_cache(maxsize=2048)
def _translated(statement: str) -> str:
    text = statement.replace("%", "%%")
    text = text.replace("m.trust, m.space", f"{TRUST}, m.space")
    text = text.replace("m.provenance, m.supersedes", f"{PROVENANCE}, m.supersedes")
    text = _LIST.sub(_listed, text)
    text = _TABLE.sub(lambda found: f"jsonb_array_elements({_json(found[1])}) AS {found[2]} (value)", text)
    if into := _INTO.search(text):
        keys = "team, person, " if into[1] in PERSONAL else "team, "
        text = _CONFLICT.sub(f"ON CONFLICT ({keys}", text)
    return _PLACE.sub(lambda found: f"%({found[1] or found[2]})s" if found[1] or found[2] else "%s", text)


def _listed(found: re.Match[str]) -> str:
    if found[1]:
        return f"SELECT CAST(jsonb_array_elements({_json(found[2])}) AS bigint)"
    return f"SELECT jsonb_array_elements_text({_json(found[2])})"


def _json(place: str) -> str:
    return rf"CAST(replace({place}, '\u0000', '\ufdd0') AS jsonb)"


def _bound(text: str, values: Sequence[Any] | Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
    if isinstance(values, Mapping) or "%(1)s" not in text:
        return values
    return {str(place): value for place, value in enumerate(values, 1)}


class _TextDumper(Dumper):
    def dump(self, obj: Any) -> Buffer:
        return str(obj).replace("\0", _NUL).encode("utf-8", "replace")


class _TextLoader(TextLoader):
    def load(self, data: Buffer) -> str | bytes:
        return str(super().load(data)).replace(_NUL, "\0")


class Rows(psycopg.ClientCursor[Any]):
    """The rows of one statement, as the shared parts read them."""

    @property
    def get(self) -> Any:
        row = self.fetchone()
        return None if row is None else row[0] if len(row) == 1 else row

    def __next__(self) -> Any:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row


class PostgresDatabase:
    # A transaction that is still open may have numbers below those that are committed: they come first. What
    # lies ahead of all transactions was made at the server that this one was copied from.
    settled = """(xid < pg_snapshot_xmin(pg_current_snapshot())
        OR xid >= pg_snapshot_xmax(pg_current_snapshot()))"""
    holding = (
        "messages_holding(CAST(:question AS text[])) h JOIN messages m ON m.number = h.number",
        "1 = 1",
        "m.number",
    )

    is_shared = True
    messages = "SELECT count(*) FROM messages"

    def __init__(self, connection: psycopg.Connection[Any], person: int) -> None:
        self._connection = connection
        self._person = person
        self._changed = 0
        self.user_space = -person
        self.grown: set[int] = set()  # spaces whose lexicon may be behind

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        text, cursor = _translated(statement), Rows(self._connection)
        cursor.execute(text, _bound(text, values))
        self._changed = max(cursor.rowcount, 0)
        return cursor

    def executemany(self, statement: str, values: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """All of them on one way to the server and back."""
        text = _translated(statement)
        with Rows(self._connection) as cursor:
            lines = [cursor.mogrify(text, _bound(text, one)) for one in values]
            for start in range(0, len(lines), 500):
                cursor.execute(";".join(lines[start : start + 500]))

    def changes(self) -> int:
        return self._changed

    def entries(self) -> TermWriter:
        return TermWriter(self)

    def tick(self, at_least: int) -> int:
        return int(self.execute("SELECT memory_tick(?)", (at_least,)).get)

    def count_on(self, latest: int) -> None:
        self.execute("SELECT memory_count_on(?)", (latest,))

    def message_numbers(self, count: int) -> Iterable[int]:
        statement = "SELECT nextval('messages_number_seq') FROM generate_series(1, ?) ORDER BY 1"
        return [number for (number,) in self.execute(statement, (count,))]

    def put_messages(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], texts: Sequence[tuple[int, str]]
    ) -> None:
        places = ", ".join("?" * (len(columns) + 1))
        statement = f"INSERT INTO messages ({', '.join(columns)}, words) VALUES ({places})"
        pairs = zip(rows, texts, strict=True)
        self.executemany(statement, [(*row, self._words(text)) for row, (_, text) in pairs])

    def replace_words(self, message: int, before: str, after: str) -> None:  # noqa: ARG002
        self.execute("UPDATE messages SET words = ? WHERE number = ?", (self._words(after), message))

    def _words(self, text: str) -> list[str]:
        return self.question(words_of(text))

    def question(self, words: Sequence[str]) -> list[str]:
        return [f"{self._person}_{word[:LONGEST_TERM]}" for word in words]

    def word_counts(self, words: Iterable[str]) -> dict[str, int]:
        asked = list(words)
        statement = "SELECT messages FROM word_counts(CAST(? AS text[])) ORDER BY place"
        counts = self.execute(statement, (self.question(asked),)).fetchall() if asked else []
        return {word: count for word, (count,) in zip(asked, counts, strict=True)}

    def words_beginning(self, start: str, limit: int) -> list[str]:
        statement = """SELECT word FROM (SELECT unnest(words) AS word FROM
                (SELECT words FROM messages ORDER BY number DESC LIMIT :recent) m) w
            WHERE starts_with(word, :start) GROUP BY word ORDER BY count(*) DESC, word LIMIT :limit"""
        head = f"{self._person}_"
        values = {"recent": _RECENT, "start": f"{head}{start}", "limit": limit}
        return [word.removeprefix(head) for (word,) in self.execute(statement, values)]

    def used_bytes(self) -> int:
        """What the person's own archive takes: the rest is the team's, and not one member's to cut."""
        statement = """SELECT coalesce((SELECT sum(length(body) + 200) FROM messages), 0)
            + coalesce((SELECT sum(length(payload) + 200) FROM events), 0)"""
        return int(self.execute(statement).get)

    def compact(self) -> None:
        """The server's own vacuum does it."""


class TermWriter:
    """The terms of passages, each headed by its space, in an array with a GIN index."""

    def __init__(self, db: PostgresDatabase) -> None:
        self._db = db
        self._puts: dict[int, tuple[list[str], float]] = {}
        self._dropped: set[tuple[int, str]] = set()

    def put(self, passage: int, space: int, terms: Terms) -> None:
        words = dict.fromkeys(" ".join(terms).split())
        self._puts[passage] = ([key(space, word) for word in words], terms.length)
        if passage % _LOOKED_AT == 0:
            self._db.grown.add(space)

    def drop(self, passage: int, space: int, terms: Terms) -> None:
        """The entry goes with its row; a lexicon that told its words must not tell that they were there."""
        self._puts.pop(passage, None)
        self._dropped.update((space, word[:LONGEST_TERM]) for word in " ".join(terms).split())

    def drop_vectors(self, memory: int) -> int:
        mine = "passage IN (SELECT id FROM passages WHERE memory = ?)"
        self._db.execute(f"DELETE FROM vectors WHERE {mine}", (memory,))
        return self._db.changes()

    def erased(self, space: int) -> None:
        """Nothing is kept beside the rows."""

    def clear(self) -> None:
        """Writers of a session hold its row: with all of them held, nobody writes meanwhile."""
        for table in ("lexicon", "lexicons"):
            self._db.execute(f"DELETE FROM {table}")
        self._db.execute("SELECT number FROM sessions ORDER BY number FOR UPDATE")
        self._db.execute("DELETE FROM vectors WHERE passage NOT IN (SELECT id FROM passages)")

    def flush(self) -> None:
        statement = "UPDATE passages SET terms = ?, length = ? WHERE id = ?"
        self._db.executemany(statement, [(*put, passage) for passage, put in sorted(self._puts.items())])
        put = {one for keys, _ in self._puts.values() for one in keys}
        gone = [(space, term) for space, term in self._dropped if f"{space}_{term}" not in put]
        if gone:
            self._db.execute(_UNTELL, [list(places) for places in zip(*gone, strict=True)])
        self._puts.clear()
        self._dropped.clear()


def key(space: int, term: str) -> str:
    return f"{space}_{term[:LONGEST_TERM]}"


# --- connections


def _given(url: str) -> dict[str, Any]:
    """The parts of what a person named, but the team; ConfigFault if it is no URL."""
    try:
        bare = re.sub(r"([?&])team=[^&]*(&|$)", lambda found: found[1] if found[2] == "&" else "", url)
        return conninfo_to_dict(bare)
    except psycopg.ProgrammingError:
        usual = "postgresql://NAME:PASSWORD@HOST/DATABASE"
        raise ConfigFault(f"setting store is no PostgreSQL URL: {usual}") from None


def conninfo(url: str) -> str:
    """How to connect to what a person named. Off this machine only by TLS."""
    given = _given(url)
    host, mode = str(given.get("host") or given.get("hostaddr") or ""), given.get("sslmode")
    if host not in _LOCAL and not host.startswith("/"):
        given["sslmode"] = mode = mode or "require"
        if mode not in _SAFE:
            raise ConfigFault(f"sslmode={mode} sends memories unencrypted to {host}: use `require` or better")
    given.setdefault("connect_timeout", CONNECT_SECONDS)
    given["application_name"] = "claude-memory"
    return make_conninfo(**{name: str(value) for name, value in given.items() if value is not None})


def address(url: str) -> str:  # as it may be shown
    given = _given(url)
    return (
        f"PostgreSQL at {given.get('host') or 'this machine'}, database {given.get('dbname') or ''}".rstrip()
    )


_BUSY = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
)
# What a server says, and what is told of it.
_SAID = {
    r"password authentication failed|no password supplied": "{where} refuses this name or password",
    r"database .* does not exist": "{where}: there is no such database",
    r"SSL|certificate": "{where} cannot be reached by TLS: {said}",
    r"too many|remaining connection slots": "{where} has no connection left; try again in a moment",
}


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    try:
        yield
    except _BUSY:
        raise StoreBusy(f"another member writes the same rows in {where}; try again in a moment") from None
    except psycopg.errors.QueryCanceled:
        raise StoreBusy(f"{where} took longer than {STATEMENT_MS // 1000} s; try again in a moment") from None
    except psycopg.errors.InsufficientPrivilege:
        raise StoreFault(f"{where} refuses this to your login: are you a member of the team?") from None
    except psycopg.errors.DiskFull:
        raise StoreFault(f"the disk of {where} is full; nothing was changed") from None
    except psycopg.Error as fault:
        lines = str(fault).split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "no answer")[:200]
        if not isinstance(fault, psycopg.OperationalError):
            raise StoreFault(f"{where}: {type(fault).__name__}: {said}") from None
        first = lines[0].rpartition("failed: ")[2][:200] or said
        otherwise = "{where} cannot be reached ({first}); what is captured waits and is not lost"
        known = next((text for words, text in _SAID.items() if re.search(words, said)), otherwise)
        raise StoreFault(known.format(where=where, said=said, first=first)) from None


class TeamServer(Pool):
    def __init__(self, url: str, *, patience_ms: int = LOCK_MS) -> None:
        super().__init__()
        self.where = address(url)
        self._patience_ms = patience_ms
        self._team = (parse_qs(urlsplit(url).query).get("team") or [""])[0]  # or the person's first one
        self._conninfo = conninfo(url)
        # What is idle lies on top; below it, places for connections that are not made yet.
        self._places: LifoQueue[psycopg.Connection[Any] | None] = LifoQueue()
        for _ in range(CONNECTIONS):
            self._places.put(None)
        self._closed = False
        with translated(self.where), self._connected() as first:
            self.person = self._welcome(first)

    def _connected(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = psycopg.connect(
            self._conninfo, autocommit=True, cursor_factory=psycopg.ClientCursor
        )
        connection.adapters.register_dumper(str, _TextDumper)
        connection.adapters.register_loader("numeric", FloatLoader)
        connection.adapters.register_loader("text", _TextLoader)
        with contextlib.ExitStack() as undo:
            undo.callback(connection.close)
            connection.execute(
                f"""SELECT set_config('search_path', '{SCHEMA}, public, extensions', false),
                    set_config('statement_timeout', '{STATEMENT_MS}', false),
                    set_config('lock_timeout', '{self._patience_ms}', false),
                    set_config('claude_memory.team', %s, false), set_config('jit', 'off', false)""",
                (self._team,),
            )
            undo.pop_all()
        return connection

    def _welcome(self, connection: psycopg.Connection[Any]) -> int:
        """Who this login is here. The schema is the owner's to make and to migrate."""
        number = migrations.version(connection)
        if number == 0:
            raise StoreFault(f"{self.where} has no store yet: make one by `claude-memory team create`")
        if number < migrations.CURRENT:
            whom = "whoever made the team runs `claude-memory team create` once more"
            raise StoreFault(f"{self.where} has schema {number}, not {migrations.CURRENT}: {whom}")
        rights = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        if connection.execute(rights).fetchone() != (False,):
            where = f"this login of {self.where}"
            raise StoreFault(f"{where} passes row security by: use one that `team invite` made")
        row = connection.execute("SELECT p.number, memory_team() FROM people p").fetchone()
        if row is None or row[1] is None:
            named = f" {self._team!r}" if self._team else ""
            raise StoreFault(f"this login is no member of a team{named} at {self.where}")
        connection.execute(
            """INSERT INTO meta (key, value) SELECT 'person', id FROM people
               UNION ALL SELECT 'store', replace(gen_random_uuid()::text, '-', '') ON CONFLICT DO NOTHING"""
        )
        return int(row[0])

    def reading(self) -> AbstractContextManager[PostgresDatabase]:
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    @contextlib.contextmanager
    def writing(self) -> Iterator[PostgresDatabase]:
        if reads_only():
            raise StoreFault(f"{self.where} cannot be written: CLAUDE_MEMORY_READONLY is set")
        hurried = self._hurried_ms()
        wait = f"; SET LOCAL lock_timeout = {max(1, int(hurried)):d}" if hurried is not None else ""
        with self._transaction(f"BEGIN{wait}") as db:
            yield db
        # Each in a transaction of its own: nobody's rows are held while terms are counted.
        for space in db.grown:
            from claude_memory.store.postgres.finding import renew_lexicon

            with contextlib.suppress(StoreFault), self._transaction("BEGIN") as counting:
                renew_lexicon(counting, space)
        if self.after_write is not None:
            self.after_write()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresDatabase]:
        if self._closed:
            raise StoreFault("the store is closed")
        try:
            connection = self._places.get(timeout=CONNECT_SECONDS)
        except Empty:
            busy = f"no connection to {self.where} became free in time; try again in a moment"
            raise StoreBusy(busy) from None
        try:
            with translated(self.where):
                connection = self._begun(connection, begin)
                try:
                    yield PostgresDatabase(connection, self.person)
                    connection.execute("COMMIT")
                finally:
                    if connection.info.transaction_status != TransactionStatus.IDLE:
                        with contextlib.suppress(psycopg.Error):
                            connection.execute("ROLLBACK")
        finally:
            is_idle = connection is not None and connection.info.transaction_status == TransactionStatus.IDLE
            if connection is not None and (self._closed or not is_idle):
                connection.close()
                connection = None
            self._places.put(connection)

    def _begun(self, idle: psycopg.Connection[Any] | None, begin: str) -> psycopg.Connection[Any]:
        """A connection in a new transaction; one that broke meanwhile shows now, and another is made."""
        if idle is not None:
            try:
                idle.execute(begin)
                return idle
            except psycopg.OperationalError:
                idle.close()
        made = self._connected()
        made.execute(begin)
        return made

    def close(self) -> None:
        """Close the connections of all threads; one that is in use is closed when it is given back."""
        self._closed = True
        with contextlib.suppress(Empty):
            while True:
                if idle := self._places.get_nowait():
                    idle.close()
