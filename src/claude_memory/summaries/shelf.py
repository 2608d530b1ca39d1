"""Summaries as files: `sessions/session_<id>/summaries/compact_NNN.json`, and `metadata.json` above them.

One writer a session at a time, numbers without gaps, whole files only. A compaction is kept once: what is
known of it is told by its boundary. Never reads a transcript, never sums up.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock
from claude_memory.summaries.model import OPEN, RULES, KeptSummary
from claude_memory.summaries.schema import faults, is_readable

MAX_BYTES = 4 << 20
LOCK_SECONDS = 10.0
_NAME = re.compile(r"compact_(\d{3,})\.json")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class Shelf:
    """The summaries of one home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def folder(self, session: str) -> Path:
        """Where a session's summaries lie; a name that could lead elsewhere is refused."""
        if not _is_session(session):
            raise InvalidInput(f"{session[:60]!r} is no session's id")
        return self.home / "sessions" / f"session_{session}"

    def sessions(self) -> list[str]:
        """Sessions that have summaries, the one that changed last first; a copy made by hand is none."""
        found = [path.parent for path in (self.home / "sessions").glob("session_*/summaries")]
        found.sort(key=_changed, reverse=True)
        names = [path.name.removeprefix("session_") for path in found]
        return [name for name in names if _is_session(name)]

    def project_of(self, session: str) -> str:
        """The project that a session's summaries belong to."""
        return str(self.about(session).get("project") or "")

    def about(self, session: str) -> dict[str, Any]:
        """What is noted of a session beside its summaries."""
        return _metadata(self.folder(session))

    def note(self, session: str, **facts: Any) -> None:
        """Note something of a session that has summaries."""
        if (self.folder(session) / "summaries").is_dir():
            with self._lock(session):
                self._describe(session, self.of(session), {**self.about(session), **facts})

    def of(self, session: str) -> list[KeptSummary]:
        """A session's summaries that can be read, oldest first."""
        folder = self.folder(session) / "summaries"
        try:
            names = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
        except OSError:
            return []
        found = [_read(session, path) for path in names]
        return sorted((one for one in found if one is not None), key=lambda one: one.number)

    def one(self, named: str) -> KeptSummary:
        """The summary that SESSION/NNN names; the beginning of a session's id is enough."""
        start, number = place_of(named)
        matching = [session for session in self.sessions() if session.startswith(start)]
        exact = [session for session in matching if session == start]
        if len(matching) > 1 and not exact:
            raise InvalidInput(f"{start!r} could be {', '.join(matching[:4])}: give more of the id")
        for session in exact or matching:
            for kept in self.of(session):
                if kept.number == number:
                    return kept
        raise NotFound(f"no summary {named!r}; `claude-memory summaries` lists them")

    def keep(
        self,
        session: str,
        make: Callable[[], Mapping[str, Any]],
        about: Mapping[str, Any],
        *,
        instead_of: Callable[[Sequence[KeptSummary]], KeptSummary | None],
    ) -> tuple[KeptSummary, bool]:
        """Keep the summary of a compaction: the summary, and whether it is new.

        `instead_of` finds an earlier summary of the same compaction, whose number the new one takes; one that
        is as good already, or that something was erased from, stays.
        """
        made = _valid(make())  # before the lock: it may take longer than others wait
        with self._lock(session):
            known = self.of(session)
            old = instead_of(known)
            if old is not None and (old.erased or not _is_better(made, old.document)):
                self._describe(session, known, about)
                return old, False
            # The numbers of files that cannot be read count too: nothing is ever written over.
            number = old.number if old else 1 + max(self._numbers(session), default=0)
            kept = KeptSummary(session, number, made)
            self._write(kept)
            self._describe(session, self.of(session), about)
            return kept, True

    def replace(
        self, kept: KeptSummary, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    ) -> KeptSummary | None:
        """Change a summary as its file holds it now; None if it is gone, or `change` wants nothing."""
        if not self.folder(kept.session).is_dir():
            return None  # the lock would bring back what somebody deleted
        with self._lock(kept.session):
            known = self.of(kept.session)
            now = next((one for one in known if one.number == kept.number), None)
            document = change(now.document) if now else None
            if document is None:
                return None
            wrong = faults(document)
            if wrong:
                raise InvalidInput(f"no valid summary: {'; '.join(wrong[:3])}")
            better = KeptSummary(kept.session, kept.number, document)
            self._write(better)
            described = [better if one.number == kept.number else one for one in known]
            self._describe(kept.session, described, {})
            return better

    def _numbers(self, session: str) -> list[int]:
        folder = self.folder(session) / "summaries"
        return [int(found[1]) for path in folder.iterdir() if (found := _NAME.fullmatch(path.name))]

    def _write(self, kept: KeptSummary) -> None:
        path = self.folder(kept.session) / "summaries" / f"compact_{kept.number:03d}.json"
        content = _as_bytes(kept.document)
        if len(content) > MAX_BYTES:  # it could never be read again
            raise InvalidInput(f"a summary takes at most {MAX_BYTES:,} bytes")
        write_atomically(path, content)

    def _describe(self, session: str, known: list[KeptSummary], about: Mapping[str, Any]) -> None:
        document = {
            "session": session,
            **{
                name: value
                for name, value in {**self.about(session), **about}.items()
                if name not in ("session", "summaries")
            },
            "summaries": [_line(kept) for kept in known],
        }
        path = self.folder(session) / "metadata.json"
        content = _as_bytes(document)
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content)

    @contextmanager
    def _lock(self, session: str) -> Iterator[None]:
        folder = private_folder(self.folder(session) / "summaries")
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            with try_lock(folder / ".lock") as free:
                if free:
                    yield
                    return
            if time.monotonic() > deadline:
                raise Conflict("another process writes this session's summaries; try again in a moment")
            time.sleep(0.02)


def place_of(named: str) -> tuple[str, int]:
    """The session and the number that SESSION/NNN names."""
    start, slash, number = named.strip().rpartition("/")
    digits = number.removeprefix("compact_").removesuffix(".json")
    if not slash or not digits.isdecimal() or not digits.isascii():
        raise InvalidInput(f"cannot read {named!r}: say SESSION/NNN, as `claude-memory summaries` shows it")
    return start, int(digits[:20])


def _is_session(name: str) -> bool:
    return _SESSION.fullmatch(name) is not None and ".." not in name


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # removed meanwhile
        return 0.0


def _valid(document: Mapping[str, Any]) -> dict[str, Any]:
    wrong = faults(document)
    if wrong:
        raise InvalidInput(f"no valid summary: {'; '.join(wrong[:3])}")
    return dict(document)


def _is_better(document: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    return _worth(document) > _worth(known)


def _worth(document: Mapping[str, Any]) -> int:
    """A boundary says exactly what was taken, the agent's own summary says more of it; a model was paid."""
    source, by = document.get("source"), document.get("summariser")
    if not isinstance(source, Mapping):
        return 0
    paid = isinstance(by, Mapping) and by.get("provider") != RULES
    return 4 * paid + 2 * bool(source.get("agent_summary")) + (source.get("kind") != OPEN)


def _line(kept: KeptSummary) -> dict[str, Any]:
    names = ("timestamp", "compaction_trigger", "original_message_range", "token_count_before")
    summariser = kept.document.get("summariser")
    by = summariser.get("provider") if isinstance(summariser, dict) else None
    return {
        "file": f"summaries/compact_{kept.number:03d}.json",
        **{name: kept.document.get(name) for name in names},
        "by": by,
    }


def _metadata(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "metadata.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _as_bytes(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _read(session: str, path: Path) -> KeptSummary | None:
    match = _NAME.fullmatch(path.name)
    try:
        if match is None or path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    # What a person or a newer program made of it may be anything; whoever reads on relies on its form.
    return KeptSummary(session, int(match[1]), document) if is_readable(document) else None
