"""Agents' conversation files: where they lie, whose a file is, and the documents in it.

A file may be huge, growing or damaged: lines are streamed, with offsets. One JSON document, OpenCode's tree
of files and its database are read as a whole. Knows bytes and JSON, nothing of what a document says.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from claude_memory.errors import StoreFault
from claude_memory.platform import agents
from claude_memory.transcripts.model import SourceFile, text_of

AGENTS = tuple(agents.BY_NAME)
LINE_BYTES = 16 << 20  # a longer line is no turn of a conversation
DOCUMENT_BYTES = 64 << 20
_BUFFER = 1 << 20
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_SNIFFED_LINES = 20
_MARKS: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("codex", lambda line: "payload" in line or line.get("record_type") == "state"),
    ("factory", lambda line: line.get("type") in ("session_start", "message") and "sessionId" not in line),
    ("copilot-cli", lambda line: "data" in line and "." in str(line.get("type"))),
    ("opencode", lambda line: "info" in line and "messages" in line),
    ("gemini-cli", lambda line: "projectHash" in line or "$set" in line or line.get("type") == "gemini"),
    ("claude-code", lambda line: "sessionId" in line or "leafUuid" in line or "parentUuid" in line),
    ("cursor", lambda line: "role" in line and "message" in line),
)


# --- where they lie


def discover(
    home: Path, environment: Mapping[str, str] = os.environ, wanted: Iterable[str] = AGENTS
) -> Iterator[SourceFile]:
    for agent in (agents.BY_NAME[name] for name in AGENTS if name in set(wanted)):
        named = environment.get(agent.variable, "")
        root = Path(named).expanduser() if named else home / agent.folder
        found = {path for pattern in agent.patterns for path in (root / agent.below).glob(pattern)}
        yield from (source for path in sorted(found) if (source := described(agent.name, path)))


def described(agent: str, path: Path) -> SourceFile | None:
    """The file as it is now; None if it is no plain file, or cannot be looked at."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return SourceFile(agent, path, facts.st_size, facts.st_mtime_ns, facts.st_ino) if path.is_file() else None


def within(path: Path, agent: str | None = None) -> Iterator[SourceFile]:
    """The conversation files that a person names: one file, or all in a folder.

    A file of lines that no agent is known to write comes without an agent, so that it can be told.
    """
    paths = [path]
    if path.is_dir():
        endings = (".jsonl", ".zst", ".json", ".db")
        below = sorted(path.rglob("*"))
        paths = [each for each in below if each.suffix in endings and "tool-results" not in each.parts]
    for each in paths:
        owner = agent or owner_of(each) or ""
        source = described(owner, each) if owner or each.suffix in (".jsonl", ".zst") else None
        if source is not None and (owner or source.size):
            yield source


_NAMES = (  # which names and folders tell whose a file is
    ("opencode", re.compile(r"(?:^|[\\/])(?:opencode\.db|ses_[^\\/]*\.json)$")),
    ("codex", re.compile(r"(?:^|[\\/])rollout-[^\\/]*\.jsonl[^\\/]*$")),
    ("gemini-cli", re.compile(r"[\\/]chats[\\/]session-[^\\/]*$")),
    ("cursor", re.compile(r"[\\/]agent-transcripts[\\/]")),
    ("factory", re.compile(r"[\\/]\.factory[\\/]")),
)


def owner_of(path: Path) -> str | None:
    """Whose conversation a file holds, by its name, else by its first lines; None if nobody's."""
    if named := next((agent for agent, name in _NAMES if name.search(str(path))), None):
        return named
    if not (path.name.endswith((".jsonl", ".zst")) or path.name.startswith("session-")):
        return None
    try:
        if is_one_document(path):
            return _marked(_document(path))
        with open_stream(path) as handle:
            records = (json_object(line.raw) for line in islice(lines(handle), _SNIFFED_LINES) if line.raw)
            return next(filter(None, map(_marked, records)), None)
    except (OSError, EOFError, ValueError):
        return None


def _marked(record: Mapping[str, Any] | None) -> str | None:
    return next((agent for agent, has_mark in _MARKS if has_mark(record)), None) if record else None


# --- lines


class SourceLine(NamedTuple):
    """One line: where it ends, and its bytes; None for one that is too long to be read."""

    end: int
    raw: bytes | None
    complete: bool = True


@contextmanager
def open_stream(path: Path) -> Iterator[IO[bytes]]:
    """The file's content; what is compressed with Zstandard is unpacked on the way.

    Damage is a ValueError, like any other content that cannot be read.
    """
    if not is_compressed(path):
        with path.open("rb", buffering=_BUFFER) as handle:
            yield handle
        return
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        with zstd.open(path, "rb") as unpacked:
            yield cast("IO[bytes]", unpacked)
    except zstd.ZstdError as fault:
        raise ValueError(str(fault)) from None


def is_compressed(path: Path) -> bool:
    """Whether offsets in the stream are not offsets in the file."""
    with path.open("rb") as handle:
        return handle.read(4) == _ZSTANDARD


def lines(handle: IO[bytes], start: int = 0, *, cap: int = LINE_BYTES) -> Iterator[SourceLine]:
    """Every line from `start` on; the last one may be incomplete, because its writer is still at it."""
    handle.seek(start)
    end = start
    while raw := handle.readline(cap + 1):
        end += len(raw)
        last = raw
        while len(last) > cap and not last.endswith(b"\n"):
            last = handle.readline(cap + 1)
            end += len(last)
        yield SourceLine(end, raw.removesuffix(b"\n") if last is raw else None, last.endswith(b"\n"))


def json_object(raw: bytes) -> dict[str, Any] | None:
    import orjson

    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:  # lone surrogates, NaN, stray bytes: the standard parser may read them
        try:
            found = json.loads(raw.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


# --- sources that are not read line by line; a part that cannot be read is passed over

_SESSIONS = "SELECT * FROM session ORDER BY time_created, id"
_PARTS = """SELECT m.id AS message_id, m.data AS message, p.id AS part_id, p.data AS part
    FROM message m JOIN part p ON p.message_id = m.id
    WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id"""


def is_whole(source: SourceFile) -> bool:
    """Whether the source is read as a whole each time it changes."""
    return source.path.suffix in (".json", ".db") or is_one_document(source.path)


def is_one_document(path: Path) -> bool:
    """Whether a file is one JSON document over many lines, whatever its name says."""
    try:
        with path.open("rb") as handle:
            return re.match(rb'\s*\{\s*\n\s*"', handle.read(64)) is not None
    except OSError:  # whoever reads it says so
        return False


def whole(source: SourceFile) -> Iterator[Mapping[str, Any]]:
    if source.path.suffix == ".db":
        yield from _database(source.path)
    elif source.agent == "opencode":
        yield from _tree(source.path)
    elif found := _document(source.path):
        yield found


def _document(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > DOCUMENT_BYTES:
            raise ValueError("too large to be one conversation")
        raw = path.read_bytes()
    except OSError:
        return None
    found = json_object(raw)
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
        if id_ and "/" not in id_ and "\\" not in id_:
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
    from claude_memory.store.sqlite.inspection import foreign_database

    try:
        with foreign_database(path) as database:
            for facts in list(database.execute(_SESSIONS)):
                session = {**facts, "parentID": facts.get("parent_id")}
                for row in database.execute(_PARTS, (facts.get("id"),)):
                    message = {"id": row["message_id"], **_data(row["message"])}
                    part = {"id": row["part_id"], **_data(row["part"])}
                    yield {"session": session, "message": message, "part": part}
    except StoreFault as fault:
        raise ValueError(f"not a readable database: {fault}") from None


def _data(value: Any) -> Mapping[str, Any]:
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    found = json_object(raw) if isinstance(raw, bytes) and len(raw) <= DOCUMENT_BYTES else None
    return found or {}
