"""What a session worked on: topics, the files that changed and for what, tasks done and left open.

Pure. One summary a session, only when something was changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from claude_memory.distil import phrases
from claude_memory.distil.exchange import STOPWORDS
from claude_memory.distil.observe import says_something, title_of
from claude_memory.understand.sentences import sentences
from claude_memory.distil.turns import PERSON, TELLS_OF, Origin, Turn, relative
from claude_memory.model import Kind, StoredMemory, memory_id

MAX_TOPICS = 6
MAX_TASKS = 12
MAX_FILES = 20
_NAME = re.compile(r"[a-z][a-z0-9]+(?:[._+-][a-z0-9]+)*")
_DULL = frozenset(
    """src lib app main index test tests spec init mod core common package packages cmd internal home file
    files error errors fail failed fails look code work change changed add fix fixed run line lines time
    today good bad still first last really always never instead something anything everything please works
    working check right wrong don think know call called sure maybe better back next keep stay even well
    done say says said want give show write read set""".split()
)
_OPEN = re.compile(
    r"\b(?:not (?:now|today|yet|for today)|later|tomorrow|next (?:week|sprint|month)|some ?day|sometime|todo"
    r"|remind me|still (?:open|to do|missing))\b"
)


def topics(turns: Sequence[Turn], cwd: str) -> tuple[str, ...]:
    """What the session is about: words that the person repeats, and the places that changed."""
    counts: Counter[str] = Counter()
    for turn in turns:
        if turn.role == PERSON:
            counts.update(set(_names(" ".join(sentences(turn.text)).lower())))
        elif turn.changed_file:
            stem = relative(turn.changed_file, cwd).rpartition("/")[2].partition(".")[0].lower()
            counts.update(set(_names(stem)))
    repeated = [name for name, count in counts.most_common(40) if count > 1]
    return tuple(repeated[:MAX_TOPICS])


def topics_of(memory: StoredMemory, known: Sequence[str]) -> tuple[str, ...]:
    """The session's topics that a memory speaks of."""
    text = f"{memory.body} {' '.join(memory.files)}".lower()
    return tuple(topic for topic in known if topic in text)


def summary(turns: Sequence[Turn], origin: Origin, about: Sequence[str]) -> StoredMemory | None:
    """What was asked and changed, in the order it happened; None if nothing was."""
    tasks = list(_tasks(turns, origin.cwd))
    if not tasks:
        return None
    first = next(turn for turn in turns if turn.role == PERSON)
    lines = [f"- {asked}: {', '.join(files)}" for asked, files in tasks[:MAX_TASKS]]
    opened = list(_left_open(turns))
    body = "\n".join(["Done, and the files that changed for it:", *lines])
    if opened:
        body += "\n" + "\n".join(["Left open:", *(f"- {one}" for one in opened)])
    files = dict.fromkeys(name for _, changed in tasks for name in changed)
    return StoredMemory(
        id=memory_id(f"distil:work:{first.key}"),
        project=origin.project,
        kind=Kind.SUMMARY,
        title=title_of(first.text),
        body=body,
        created_at=first.at,
        updated_at=turns[-1].at,
        trust=origin.agent,
        session=origin.session,
        topics=tuple(about),
        files=tuple(files)[:MAX_FILES],
        provenance={
            "source": "distilled",
            "from": origin.source,
            "evidence": [_told(turn) for turn in turns if turn.role == PERSON],
        },
    )


def _told(turn: Turn) -> dict[str, Any]:
    """Where a turn is found; an event's id says that it is told of here, not that this came from it alone."""
    return {key: f"{TELLS_OF}{value}" if key == "event" else value for key, value in turn.ref.items()}


def _tasks(turns: Sequence[Turn], cwd: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each thing that was asked, with the files that changed before the next."""
    asked, files = "", dict[str, None]()
    for turn in turns:
        if turn.role == PERSON and says_something(turn.text):
            if files:
                yield asked, tuple(files)
                files = {}
            asked = title_of(turn.text)
        elif turn.changed_file:
            files.setdefault(relative(turn.changed_file, cwd))
    if files and asked:
        yield asked, tuple(files)


def _left_open(turns: Sequence[Turn]) -> Iterator[str]:
    """What the person put off, with what it was about."""
    for turn in turns:
        if turn.role != PERSON:
            continue
        put_off = [one for one in sentences(turn.text) if _OPEN.search(one.lower()) and not one.endswith("?")]
        if put_off:
            yield title_of(" ".join(put_off))


def _names(text: str) -> Iterator[str]:
    for name in _NAME.findall(text):
        if len(name) > 2 and name not in STOPWORDS and name not in _DULL and name not in phrases.FILLERS:
            yield name
