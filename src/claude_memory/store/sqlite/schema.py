"""The tables, as numbered migrations that are never edited once released, and terms as the index keeps them.

A new need is a new entry at the end of MIGRATIONS. A term stands in the text index in characters that FTS5
leaves whole, headed by its space.
"""

from __future__ import annotations

import contextlib
import os
import re

import apsw

from claude_memory.errors import SchemaTooNew, StoreCorrupt
from claude_memory.text.quotation import clean

TYPE_CHECKING = False  # the real one is an import, and hooks load this
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeVar

    Connection = TypeVar("Connection", bound=apsw.Connection)

APPLICATION_ID = 0x636D656D  # "cmem": tells our file from any other SQLite database

_COUNTED = "number INTEGER PRIMARY KEY AUTOINCREMENT"
_OF_PROJECT = "project INTEGER NOT NULL REFERENCES projects (number)"
_OF_MEMORY = "memory INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE"
_ONCE_A_MEMORY = "memory INTEGER PRIMARY KEY REFERENCES memories (number) ON DELETE CASCADE"

_FIRST = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE projects ({_COUNTED}, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, path TEXT NOT NULL);
CREATE TABLE project_aliases (identity TEXT PRIMARY KEY, {_OF_PROJECT},
    place INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX project_aliases_by_project ON project_aliases (project, place);
CREATE TABLE project_paths (path TEXT PRIMARY KEY, {_OF_PROJECT}) WITHOUT ROWID;
-- A space is what one query sees as a whole: a project, or 0 for what travels with the person.
CREATE TABLE spaces (number INTEGER PRIMARY KEY, passages INTEGER NOT NULL DEFAULT 0,
    length REAL NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0);
CREATE TABLE sessions (number INTEGER PRIMARY KEY, {_OF_PROJECT}, id TEXT NOT NULL,
    first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, UNIQUE (project, id));
CREATE TABLE events (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    agent TEXT NOT NULL, session INTEGER REFERENCES sessions (number), {_OF_PROJECT}, cwd TEXT NOT NULL,
    timestamp INTEGER NOT NULL, payload TEXT NOT NULL);
CREATE INDEX events_by_time ON events (project, timestamp, number);
CREATE INDEX events_by_session ON events (session, timestamp, number);
CREATE INDEX events_by_age ON events (timestamp);
CREATE TABLE memories ({_COUNTED}, id TEXT NOT NULL UNIQUE, {_OF_PROJECT}, space INTEGER NOT NULL,
    kind TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, trust TEXT NOT NULL, status TEXT NOT NULL,
    session INTEGER REFERENCES sessions (number), task TEXT, topics TEXT NOT NULL, files TEXT NOT NULL,
    provenance TEXT NOT NULL, supersedes TEXT, superseded_by TEXT, forgotten_at INTEGER,
    pinned INTEGER NOT NULL);
CREATE INDEX memories_by_time ON memories (space, created_at, number);
CREATE INDEX memories_by_kind ON memories (space, kind, created_at, number);
CREATE INDEX memories_by_session ON memories (session, created_at, number) WHERE session IS NOT NULL;
CREATE INDEX memories_by_task ON memories (task) WHERE task IS NOT NULL;
CREATE INDEX memories_forgotten ON memories (forgotten_at) WHERE forgotten_at IS NOT NULL;
CREATE TABLE memory_topics (topic TEXT NOT NULL, {_OF_MEMORY}, PRIMARY KEY (topic, memory)) WITHOUT ROWID;
CREATE INDEX memory_topics_by_memory ON memory_topics (memory);
CREATE TABLE memory_files (name TEXT NOT NULL, path TEXT NOT NULL, {_OF_MEMORY},
    PRIMARY KEY (name, path, memory)) WITHOUT ROWID;
CREATE INDEX memory_files_by_memory ON memory_files (memory);
-- own, near, far, dates hold the very terms that stand in text_index for this row: a contentless
-- index can only be told to drop an entry by being shown what is in it.
CREATE TABLE passages (id INTEGER PRIMARY KEY AUTOINCREMENT,
    memory INTEGER NOT NULL REFERENCES memories (number), space INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL, stop INTEGER NOT NULL, own TEXT NOT NULL, near TEXT NOT NULL, far TEXT NOT NULL,
    dates TEXT NOT NULL, UNIQUE (memory, ordinal));
CREATE VIRTUAL TABLE text_index USING fts5 (
    own, near, far, dates, content = '', tokenize = "ascii tokenchars '_'"
);
CREATE TABLE lexicon (term TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE models ({_COUNTED}, id TEXT NOT NULL UNIQUE, complete_through INTEGER NOT NULL DEFAULT 0);
CREATE TABLE vectors (seq INTEGER PRIMARY KEY AUTOINCREMENT,
    passage INTEGER NOT NULL REFERENCES passages (id), model INTEGER NOT NULL REFERENCES models (number),
    space INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE UNIQUE INDEX vectors_by_passage ON vectors (passage, model);
CREATE INDEX vectors_by_space ON vectors (model, space, seq, passage);
CREATE TABLE dead_vectors (seq INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL,
    space INTEGER NOT NULL, passage INTEGER NOT NULL);
CREATE INDEX dead_vectors_by_space ON dead_vectors (model, space, seq, passage);
CREATE TABLE changes (sequence INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL);
CREATE TABLE tombstones (salt TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (salt, hash)) WITHOUT ROWID;
"""

_CONVERSATIONS = f"""
CREATE TABLE conversations (number INTEGER PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL,
    {_OF_PROJECT}, cwd TEXT NOT NULL, branch TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
    parent TEXT NOT NULL DEFAULT '', continues INTEGER, path TEXT NOT NULL DEFAULT '',
    first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, messages INTEGER NOT NULL DEFAULT 0,
    distilled INTEGER NOT NULL DEFAULT 0, UNIQUE (session, agent));
CREATE INDEX conversations_by_time ON conversations (project, last_at);
CREATE INDEX conversations_undistilled ON conversations (last_at) WHERE distilled < messages;
-- A body is text, or zlib's bytes of it.
CREATE TABLE messages ({_COUNTED}, conversation INTEGER NOT NULL REFERENCES conversations (number),
    ordinal INTEGER NOT NULL, role TEXT NOT NULL, at INTEGER NOT NULL, failed INTEGER NOT NULL, tool TEXT,
    call TEXT, event TEXT, body NOT NULL);
CREATE UNIQUE INDEX messages_by_conversation ON messages (conversation, ordinal);
CREATE INDEX messages_by_event ON messages (event) WHERE event IS NOT NULL;
-- Hashes that tell a copy of a message. They stay when a message is erased, and so keep it away.
CREATE TABLE message_keys (key INTEGER PRIMARY KEY, conversation INTEGER NOT NULL);
CREATE VIRTUAL TABLE message_index USING fts5 (
    body, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '_'"
);
INSERT INTO message_index (message_index, rank) VALUES ('secure-delete', 1);
INSERT INTO message_index (message_index, rank) VALUES ('hashsize', 8388608);
CREATE VIRTUAL TABLE message_terms USING fts5vocab (message_index, row);
CREATE TABLE import_files (path TEXT PRIMARY KEY, agent TEXT NOT NULL, inode TEXT NOT NULL,
    size INTEGER NOT NULL, modified_ns INTEGER NOT NULL, offset INTEGER NOT NULL, head TEXT NOT NULL,
    tail TEXT NOT NULL, skipped INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID;
"""

# What memories are worth and how they hang together. All of it but intentions and reviews is derived.
_LIFECYCLE = f"""
CREATE TABLE intentions ({_COUNTED}, id TEXT NOT NULL UNIQUE, {_OF_PROJECT}, codebase TEXT,
    status TEXT NOT NULL, record TEXT NOT NULL);
CREATE INDEX intentions_open ON intentions (project) WHERE status = 'open';
CREATE TABLE strengths ({_ONCE_A_MEMORY}, stability REAL NOT NULL, difficulty REAL NOT NULL,
    reviewed_at INTEGER NOT NULL, reviews INTEGER NOT NULL, lapses INTEGER NOT NULL,
    demoted INTEGER NOT NULL);
CREATE TABLE reviews ({_COUNTED}, {_OF_MEMORY}, at INTEGER NOT NULL, reason TEXT NOT NULL,
    UNIQUE (memory, at, reason));
-- From one memory to another: supersedes, contradicts, duplicates, similar.
CREATE TABLE relations (source INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES memories (number) ON DELETE CASCADE, kind TEXT NOT NULL,
    evidence TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (source, kind, target)) WITHOUT ROWID;
CREATE INDEX relations_by_target ON relations (target, kind);
-- What a text lays down a rule about, found when it is written.
CREATE TABLE subjects (space INTEGER NOT NULL, subject TEXT NOT NULL, {_OF_MEMORY}, weight REAL NOT NULL,
    PRIMARY KEY (space, subject, memory)) WITHOUT ROWID;
CREATE INDEX subjects_by_memory ON subjects (memory);
CREATE TABLE entities ({_COUNTED}, {_OF_PROJECT}, kind TEXT NOT NULL, name TEXT NOT NULL,
    UNIQUE (project, kind, name));
CREATE INDEX entities_by_name ON entities (project, name);
CREATE TABLE mentions ({_OF_MEMORY}, relation TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities (number),
    PRIMARY KEY (memory, relation, entity)) WITHOUT ROWID;
CREATE INDEX mentions_by_entity ON mentions (entity, memory);
-- An erased memory must not live on in the name of something that only it mentioned.
CREATE TRIGGER entities_forgotten AFTER DELETE ON mentions BEGIN
    DELETE FROM entities WHERE number = OLD.entity
        AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = OLD.entity);
END;
CREATE TABLE graphed ({_ONCE_A_MEMORY}, text INTEGER);
CREATE TABLE file_states ({_OF_MEMORY}, path TEXT NOT NULL, sketch TEXT NOT NULL, revision TEXT NOT NULL,
    stale TEXT NOT NULL DEFAULT '', PRIMARY KEY (memory, path)) WITHOUT ROWID;
CREATE TABLE consolidations ({_COUNTED}, {_OF_PROJECT}, at INTEGER NOT NULL, through INTEGER NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE consolidation_steps (run INTEGER NOT NULL REFERENCES consolidations (number),
    action TEXT NOT NULL, {_OF_MEMORY}, other INTEGER REFERENCES memories (number) ON DELETE CASCADE);
CREATE INDEX consolidation_steps_by_run ON consolidation_steps (run);
CREATE INDEX consolidation_steps_by_memory ON consolidation_steps (memory);
CREATE INDEX consolidation_steps_by_other ON consolidation_steps (other);
"""

# When a memory came here, if it was made long before: an import brings years at once, and none of it has had
# a chance to be used yet.
_ARRIVALS = f"""
CREATE TABLE arrivals ({_ONCE_A_MEMORY}, at INTEGER NOT NULL);
"""

# What has not met its neighbours yet: statements only, captured turns and summaries say many things at once.
_UNJUDGED = f"""
CREATE TABLE unjudged ({_ONCE_A_MEMORY});
"""

# Who spoke; exchanges and session records; and what two homes need to become one: every change has a clock
# and the home it was made in, every mirror its own cursor, what travels with a person names the person.
_UNDERSTANDING = f"""
ALTER TABLE messages ADD COLUMN speaker TEXT;
ALTER TABLE messages ADD COLUMN manner TEXT;
ALTER TABLE messages ADD COLUMN branch TEXT;
ALTER TABLE conversations ADD COLUMN record TEXT;
ALTER TABLE conversations ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;
-- How many messages there were when a language model was last asked about it.
ALTER TABLE conversations ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversations_by_session ON conversations (session);
-- An exchange is searched as a memory of kind `observation`; its parts stand here, as a document.
CREATE TABLE exchanges ({_ONCE_A_MEMORY}, conversation INTEGER NOT NULL REFERENCES conversations (number),
    first INTEGER NOT NULL, last INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX exchanges_by_conversation ON exchanges (conversation, first);
-- Hashes of proposals that a person rejected: they never come back.
CREATE TABLE rejected (hash TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE people (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
ALTER TABLE memories ADD COLUMN person INTEGER REFERENCES people (number);
ALTER TABLE memories ADD COLUMN home TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN home TEXT NOT NULL DEFAULT '';
ALTER TABLE changes ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;
CREATE TABLE cursors (mirror TEXT PRIMARY KEY, through INTEGER NOT NULL) WITHOUT ROWID;
-- What 0.1.0 guessed from wording is a proposal from now on, and takes nobody's word back.
UPDATE memories SET status = 'active', superseded_by = NULL
    WHERE status = 'superseded' AND provenance ->> '$.source' NOT IN ('distilled', 'compaction')
      AND superseded_by IN (SELECT id FROM memories
          WHERE provenance ->> '$.source' IN ('distilled', 'compaction'));
UPDATE memories SET status = 'proposed'
    WHERE status = 'active' AND NOT pinned AND kind NOT IN ('observation', 'summary')
      AND provenance ->> '$.source' IN ('distilled', 'compaction');
DROP TABLE subjects;
-- Conversations are understood anew; until then their single turns can be found.
UPDATE conversations SET distilled = 0;
INSERT OR REPLACE INTO meta SELECT 'move', '1' WHERE EXISTS (SELECT 1 FROM memories);
"""

# Which reports of compactions are summed up: up to which one, by session.
_COMPACTIONS = """
CREATE TABLE summed_up (session TEXT PRIMARY KEY, report TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX events_of_compactions ON events (session, number)
    WHERE kind IN ('compaction_start', 'compaction');
"""

# In which exchanges a command of a kind failed; made with the exchange, and gone with it.
_FAILURES = f"""
CREATE TABLE exchange_failures (family TEXT NOT NULL, {_OF_MEMORY},
    PRIMARY KEY (family, memory)) WITHOUT ROWID;
CREATE INDEX exchange_failures_by_memory ON exchange_failures (memory);
"""

# The person of this store, who owns what travels with a person.
_OWNERS = """
INSERT INTO people (id, name) SELECT lower(hex(randomblob(16))), '' WHERE NOT EXISTS (SELECT 1 FROM people);
INSERT OR REPLACE INTO meta SELECT 'person', id FROM people ORDER BY number LIMIT 1;
UPDATE memories SET person = (SELECT min(number) FROM people) WHERE space = 0;
"""

# What two homes need to become one. `feed`: whatever can change has one line, which moves to the end when it
# does; messages need none, their numbers only grow. `peers`: how far the feeds of others were read. When a
# memory was hidden or shown again is kept apart from its last change, so that no later wording undoes it. A
# message's `moment` orders it within its conversation alike in every home; `moved` and an alias' `clock` say
# when a person said where something belongs.
_SYNC = """
CREATE TABLE feed (sequence INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL,
    UNIQUE (kind, name));
CREATE TABLE peers (replica TEXT NOT NULL, stream TEXT NOT NULL, through INTEGER NOT NULL,
    PRIMARY KEY (replica, stream)) WITHOUT ROWID;
ALTER TABLE memories ADD COLUMN hidden_clock INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN hidden_home TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN moment INTEGER;
ALTER TABLE messages ADD COLUMN keys BLOB;
ALTER TABLE message_keys ADD COLUMN message INTEGER;
ALTER TABLE project_aliases ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE intentions ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;
ALTER TABLE intentions ADD COLUMN home TEXT NOT NULL DEFAULT '';
INSERT INTO meta SELECT 'unkeyed', '1' WHERE EXISTS (SELECT 1 FROM messages);
UPDATE memories SET hidden_clock = max(clock, 1), hidden_home = home WHERE status = 'forgotten';
INSERT INTO feed (kind, name) SELECT 'project', id FROM projects;
INSERT INTO feed (kind, name) SELECT 'tombstone', salt || ' ' || hash FROM tombstones;
INSERT INTO feed (kind, name) SELECT 'rejected', hash FROM rejected;
INSERT INTO feed (kind, name) SELECT 'conversation', json_array(agent, session) FROM conversations;
INSERT INTO feed (kind, name) SELECT 'memory', id FROM memories ORDER BY number;
INSERT INTO feed (kind, name) SELECT 'intention', id FROM intentions;
"""

_PROJECT = "(SELECT id FROM projects WHERE number = NEW.project)"
_CONVERSATION = "json_array(NEW.agent, NEW.session)"
# Whose line goes to the end of the feed, and when; what a changed row belongs to may be gone.
_FED = (
    ("memory_new", "INSERT ON memories", "memory", "NEW.id"),
    ("memory", "UPDATE OF clock, home, hidden_clock, trust ON memories", "memory", "NEW.id"),
    ("strength", "INSERT ON strengths", "memory", "(SELECT id FROM memories WHERE number = NEW.memory)"),
    ("relation", "INSERT ON relations", "memory", "(SELECT id FROM memories WHERE number = NEW.source)"),
    ("tombstone", "INSERT ON tombstones", "tombstone", "NEW.salt || ' ' || NEW.hash"),
    ("rejected", "INSERT ON rejected", "rejected", "NEW.hash"),
    ("project_new", "INSERT ON projects", "project", "NEW.id"),
    ("project", "UPDATE OF name, path ON projects", "project", "NEW.id"),
    ("alias_new", "INSERT ON project_aliases", "project", _PROJECT),
    ("alias", "UPDATE ON project_aliases", "project", _PROJECT),
    ("conversation_new", "INSERT ON conversations", "conversation", _CONVERSATION),
    (
        "conversation",
        "UPDATE OF project, moved, imported, continues ON conversations",
        "conversation",
        _CONVERSATION,
    ),
    ("intention_new", "INSERT ON intentions", "intention", "NEW.id"),
    ("intention", "UPDATE OF clock, home ON intentions", "intention", "NEW.id"),
)


def _feeding() -> str:
    triggers = []
    for name, change, kind, id_ in _FED:
        line = f"VALUES ('{kind}', {id_})"
        if "SELECT" in id_:
            line = f"SELECT '{kind}', {id_} WHERE {id_} IS NOT NULL"
        triggers.append(f"""CREATE TRIGGER feed_{name} AFTER {change} BEGIN
    DELETE FROM feed WHERE kind = '{kind}' AND name = {id_};
    INSERT INTO feed (kind, name) {line};
END;
""")
    for kind, table in (("memory", "memories"), ("project", "projects"), ("intention", "intentions")):
        triggers.append(f"""CREATE TRIGGER feed_{kind}_gone AFTER DELETE ON {table} BEGIN
    DELETE FROM feed WHERE kind = '{kind}' AND name = OLD.id;
END;
""")
    return "".join(triggers)


# Histories of Gemini CLI were kept under another name than what its hooks said.
_AGENT_NAMES = """
UPDATE OR IGNORE conversations SET agent = 'gemini-cli' WHERE agent = 'gemini';
UPDATE events SET agent = 'gemini-cli' WHERE agent = 'gemini';
UPDATE import_files SET agent = 'gemini-cli' WHERE agent = 'gemini';
UPDATE OR IGNORE feed SET name = json_array('gemini-cli', name ->> '$[1]')
    WHERE kind = 'conversation' AND name ->> '$[0]' = 'gemini' AND NOT EXISTS
        (SELECT 1 FROM conversations c WHERE c.agent = 'gemini' AND c.session = feed.name ->> '$[1]');
"""

_RELEASED = (_FIRST, _CONVERSATIONS, _LIFECYCLE, _ARRIVALS, _UNJUDGED)  # with 0.1.0
_SINCE = (_UNDERSTANDING, _COMPACTIONS, _FAILURES, _OWNERS, _SYNC + _feeding(), _AGENT_NAMES)
MIGRATIONS: tuple[str, ...] = (*_RELEASED, *_SINCE)
CURRENT = len(MIGRATIONS)
_ACTIVE = """SELECT type, name, sql FROM sqlite_master
    WHERE type IN ('trigger', 'view') OR sql LIKE 'create virtual%'"""


def version(db: apsw.Connection) -> int:
    """The schema number of the open file; 0 for a new one. Refuses files that are not ours or newer."""
    number = int(db.pragma("user_version") or 0)
    if number > CURRENT:
        raise SchemaTooNew(f"the store has schema {number}, not {CURRENT}: upgrade claude-memory-system")
    if number and db.pragma("application_id") != APPLICATION_ID:
        raise StoreCorrupt("the file is a SQLite database, but not a claude-memory store")
    return number


def foreign_objects(db: apsw.Connection) -> list[str]:
    """Triggers, views and virtual tables that no migration made: they would run with our statements."""
    foreign = set(db.execute(_ACTIVE))
    with contextlib.closing(apsw.Connection(":memory:")) as made:
        for step in MIGRATIONS:
            made.execute(step)
            foreign.difference_update(made.execute(_ACTIVE))
    return sorted(f"{kind} {name}"[:80] for kind, name, _ in foreign)


@contextlib.contextmanager
def transaction(db: Connection, begin: str) -> Iterator[Connection]:
    """Commit at the end; roll back whatever goes wrong, an interrupt included."""
    db.execute(begin)
    try:
        yield db
        db.execute("COMMIT")
    finally:
        if db.in_transaction:  # not committed, and SQLite has not rolled back by itself, as on a full disk
            db.execute("ROLLBACK")


def migrate(db: apsw.Connection) -> None:
    """Apply what is missing; each step is one transaction, and a process that lost a race skips it."""
    number = 0
    while number < CURRENT:
        with transaction(db, "BEGIN IMMEDIATE"):
            number = version(db)
            if number == CURRENT:
                return
            db.execute(MIGRATIONS[number])
            if number == 0:
                db.execute("INSERT INTO meta VALUES ('store', ?)", (os.urandom(16).hex(),))
                db.pragma("application_id", APPLICATION_ID)
            number += 1
            db.pragma("user_version", number)


# --- terms

# All of ASCII but a-z, 0-9 and the space; said so, because a set of all of Unicode takes 10 ms to compile.
_UNSAFE = re.compile(r"[\x00-\x1f!-/:-`{-\x7f]")
_CODES = {chr(code): f"_{code:02x}" for code in range(128)}


def key(space: int, term: str) -> str:
    """One term as it stands in index and lexicon."""
    return head(space) + escaped(term).replace(" ", "_20")


def head(space: int) -> str:
    """What a term of a space begins with: `12_`, or `p2_` for what is another person's."""
    return f"{space}_" if space >= 0 else f"p{-space}_"


def escaped(terms: str) -> str:
    """Terms in letters, digits, `_` and what is not ASCII."""
    if terms.isascii() and terms.isalnum() and terms == terms.lower():  # most, and a search asks for hundreds
        return terms
    return _UNSAFE.sub(lambda found: _CODES[found[0]], clean(terms))
