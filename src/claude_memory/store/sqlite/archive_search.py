"""Finding messages by words. The index holds words only, no places.

Tool output is large, so this index has no stems and no frequencies: it gives candidates, and who asks
ranks them by their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import apsw

from claude_memory.model import SearchScope
from claude_memory.store.archive_protocol import ANY_CONVERSATION, ConversationFilter
from claude_memory.store.sqlite import rows

MAX_WORDS = 24
_TRIES = 6
_WORD = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff]+")
_RANGE_READ = 2_000  # words looked at that begin alike
# The folder itself, or one below it, as either kind of system writes it.
IN_FOLDER = """(:folder = '' OR c.cwd = :folder
    OR substr(c.cwd, 1, length(:folder) + 1) IN (:folder || '/', :folder || char(92)))"""


def indexed(tool: str, text: str) -> str:
    """What is searched of a message."""
    return rows.clean(f"{tool}\n{text}" if tool else text)


def words_of(text: str) -> list[str]:
    """Words as the index splits them, each once."""
    return list(dict.fromkeys(_lowered(word) for word in _WORD.findall(rows.clean(text))))


def _lowered(word: str) -> str:
    """Only ASCII letters lose their case, as in the index."""
    return word.lower() if word.isascii() else "".join(c.lower() if c.isascii() else c for c in word)


def candidates(
    db: apsw.Connection,
    scope: SearchScope,
    words: Iterable[str],
    limit: int,
    within: ConversationFilter = ANY_CONVERSATION,
) -> list[int]:
    """Numbers of messages: those with all words first, then with the rarest of them."""
    wanted = words_of(" ".join(words))
    frequency = {word: _frequency(db, word) for word in wanted[: 4 * MAX_WORDS]}
    known = sorted((word for word, count in frequency.items() if count), key=lambda word: frequency[word])
    found: dict[int, None] = {}
    size = min(len(known), MAX_WORDS)
    for _ in range(_TRIES):
        if not size or len(found) >= limit:
            break
        found.update(dict.fromkeys(_holding(db, scope, known[:size], limit, within)))
        size = size * 2 // 3
    return list(found)[:limit]


def with_all(
    db: apsw.Connection, scope: SearchScope, words: Iterable[str], limit: int, within: ConversationFilter
) -> list[int]:
    """Numbers of messages that hold every word that any message holds, newest first."""
    counts = frequencies(db, words)
    known = sorted((word for word, count in counts.items() if count), key=lambda word: counts[word])
    return _holding(db, scope, known[:MAX_WORDS], limit, within) if known else []


def _frequency(db: apsw.Connection, word: str) -> int:
    return int(db.execute("SELECT doc FROM message_terms WHERE term = ?", (word,)).get or 0)


def frequencies(db: apsw.Connection, words: Iterable[str]) -> dict[str, int]:
    """In how many messages each word stands."""
    return {word: _frequency(db, word) for word in words_of(" ".join(words))}


def beginning(db: apsw.Connection, start: str, limit: int) -> list[str]:
    """Words that begin so, the most common first."""
    [first] = words_of(start)[:1] or [""]
    if not first:
        return []
    found = db.execute(
        """SELECT term FROM (SELECT term, doc FROM message_terms
             WHERE term >= :first AND term < :first || char(1114111) LIMIT :read)
           ORDER BY doc DESC LIMIT :limit""",
        {"first": first, "read": _RANGE_READ, "limit": limit},
    )
    return [term for (term,) in found]


def _holding(
    db: apsw.Connection, scope: SearchScope, words: Sequence[str], limit: int, within: ConversationFilter
) -> list[int]:
    question = " AND ".join(f'"{word}"' for word in words)
    projects = None if scope.projects is None else rows.to_json(list(scope.projects))
    found = db.execute(
        f"""SELECT m.number FROM message_index i JOIN messages m ON m.number = i.rowid
           JOIN conversations c ON c.number = m.conversation JOIN projects p ON p.number = c.project
           WHERE i.message_index MATCH :question
             AND (:projects IS NULL OR p.id IN (SELECT value FROM json_each(:projects)))
             AND (:agent IS NULL OR c.agent = :agent) AND {IN_FOLDER}
             AND (:roles = '[]' OR m.role IN (SELECT value FROM json_each(:roles)))
             AND (NOT :failed OR m.failed)
             AND (:since IS NULL OR m.at >= :since) AND (:until IS NULL OR m.at <= :until)
           ORDER BY i.rowid DESC LIMIT :limit""",
        {
            "question": question,
            "projects": projects,
            "agent": within.agent,
            "folder": rows.clean(within.folder),
            "roles": rows.to_json(within.roles),
            "failed": within.failed,
            "since": rows.stamp(within.since) if within.since else None,
            "until": rows.stamp(within.until) if within.until else None,
            "limit": limit,
        },
    )
    return [number for (number,) in found]
