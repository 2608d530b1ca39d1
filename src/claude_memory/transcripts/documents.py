"""Sources that are not read line by line: one JSON document, a tree of files, a database.

Opened read-only. A part that cannot be read is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.errors import StoreFault
from claude_memory.transcripts import lines
from claude_memory.transcripts.model import SourceFile, text_of

if TYPE_CHECKING:
    from claude_memory.store.sqlite.reader import ForeignDatabase

DOCUMENT_BYTES = 64 << 20
_SESSIONS = "SELECT * FROM session ORDER BY time_created, id"
_PARTS = """SELECT m.id AS message_id, m.data AS message, p.id AS part_id, p.data AS part
    FROM message m JOIN part p ON p.message_id = m.id
    WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id"""


def is_whole(source: SourceFile) -> bool:
    """Whether the source is read as a whole each time it changes."""
    return source.path.suffix in (".json", ".db")


def whole(source: SourceFile) -> Iterator[Mapping[str, Any]]:
    """Every document of a source, in order."""
    if source.path.suffix == ".db":
        yield from _database(source.path)
    elif source.agent == "opencode":
        yield from _tree(source.path)
    elif found := _document(source.path):
        yield found


def _document(path: Path) -> dict[str, Any] | None:
    try:
        with path.open("rb") as handle:
            raw = handle.read(DOCUMENT_BYTES + 1)
    except OSError:
        return None
    if len(raw) > DOCUMENT_BYTES:
        raise ValueError("too large to be one conversation")
    found = lines.document(raw)
    if found is None and raw.strip():
        raise ValueError("not a JSON object")
    return found


def _tree(path: Path) -> Iterator[Mapping[str, Any]]:
    """`session/<project>/ses_x.json` with `message/ses_x/*.json` and `part/msg_x/*.json` beside it."""
    session = _document(path)
    if session is not None and "messages" in session:  # exported as one document
        yield session
        return
    storage = next((folder.parent for folder in path.parents if folder.name == "session"), None)
    if session is None or storage is None:
        return
    name = path.stem
    for message in _each(storage / "message" / name, storage / "session" / "message" / name):
        id_ = text_of(message, "id")
        if "/" in id_ or "\\" in id_ or not id_:
            continue
        for part in _each(storage / "part" / id_, storage / "session" / "part" / name / id_):
            yield {"session": session, "message": message, "part": part}


def _each(*folders: Path) -> Iterator[dict[str, Any]]:
    """The readable documents of the first of the folders that is there; its ids sort by time."""
    folder = next((folder for folder in folders if folder.is_dir()), None)
    for path in sorted(folder.glob("*.json")) if folder else ():
        try:
            found = _document(path)
        except ValueError:
            continue
        if found is not None:
            yield found


def _database(path: Path) -> Iterator[Mapping[str, Any]]:
    from claude_memory.store.sqlite.reader import foreign_database

    try:
        with foreign_database(path) as database:
            yield from _sessions(database)
    except StoreFault as fault:
        raise ValueError(f"not a readable database: {fault}") from None


def _sessions(database: ForeignDatabase) -> Iterator[Mapping[str, Any]]:
    for facts in list(database.rows(_SESSIONS)):
        session = {
            "id": facts.get("id"),
            "directory": facts.get("directory"),
            "parentID": facts.get("parent_id"),
        }
        for row in database.rows(_PARTS, (facts.get("id"),)):
            yield {
                "session": session,
                "message": {"id": row["message_id"], **_data(row["message"])},
                "part": {"id": row["part_id"], **_data(row["part"])},
            }


def _data(value: Any) -> Mapping[str, Any]:
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    found = lines.document(raw) if isinstance(raw, bytes) and len(raw) <= DOCUMENT_BYTES else None
    return found or {}
