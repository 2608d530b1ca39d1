"""Summaries as files: `sessions/session_<id>/summaries/compact_NNN.json`, and `metadata.json` above them.

One writer a session at a time, numbers without gaps, whole files only. A compaction is kept once: what is
known of it is told by its boundary. What was erased is taken out here, and a file stays valid without it.
Never reads a transcript, never sums up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import held
from claude_memory.redact.erasure import Holder, without
from claude_memory.summaries.model import NO_VECTORS, OPEN, RULES, KeptSummary, is_readable, valid

MAX_BYTES = 4 << 20
LOCK_SECONDS = 10.0
BUSY = "another process writes this session's summaries; try again in a moment"
_NAME = re.compile(r"compact_(\d{3,})\.json")
_SESSION = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LISTED = ("timestamp", "compaction_trigger", "original_message_range", "token_count_before")


class Shelf:
    """The summaries of one home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def folder(self, session: str) -> Path:
        """Where a session's summaries lie; a name that could lead elsewhere is refused."""
        if not _SESSION.fullmatch(session):
            raise InvalidInput(f"{session[:60]!r} is no session's id")
        return self.home / "sessions" / f"session_{session}"

    def sessions(self) -> list[str]:
        """Sessions that have summaries, the one that changed last first; a copy made by hand is none."""
        folders = list((self.home / "sessions").glob("session_*/summaries"))
        folders.sort(key=_changed, reverse=True)
        names = [folder.parent.name.removeprefix("session_") for folder in folders]
        return [name for name in names if _SESSION.fullmatch(name)]

    def about(self, session: str) -> dict[str, Any]:
        """What is noted of a session beside its summaries."""
        try:
            noted = json.loads((self.folder(session) / "metadata.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}

    def of(self, session: str) -> list[KeptSummary]:
        """A session's summaries that can be read, oldest first."""
        numbers = self._numbers(session)
        return [kept for number in sorted(numbers) if (kept := _read(session, number, numbers[number]))]

    def one(self, named: str) -> KeptSummary:
        """The summary that SESSION/NNN names; the beginning of a session's id is enough."""
        start, number = place_of(named)
        matching = [session for session in self.sessions() if session.startswith(start)]
        exact = [session for session in matching if session == start]
        if len(matching) > 1 and not exact:
            raise InvalidInput(f"{start!r} could be {', '.join(matching[:4])}: give more of the id")
        for kept in (kept for session in exact or matching for kept in self.of(session)):
            if kept.number == number:
                return kept
        raise NotFound(f"no summary {named!r}; `claude-memory summaries` lists them")

    def keep(
        self,
        session: str,
        document: Mapping[str, Any],
        about: Mapping[str, Any],
        *,
        instead_of: Callable[[Sequence[KeptSummary]], KeptSummary | None],
    ) -> tuple[KeptSummary, bool]:
        """Keep the summary of a compaction: the summary, and whether it is new.

        `instead_of` finds an earlier summary of the same compaction, whose number the new one takes; one that
        is as good already, or that something was erased from, stays.
        """
        document = valid(document)  # before the lock: it may take longer than others wait
        with self._lock(session):
            old = instead_of(self.of(session))
            # The numbers of files that cannot be read count too: nothing is ever written over.
            number = old.number if old else 1 + max(self._numbers(session), default=0)
            kept = KeptSummary(session, number, document)
            new = old is None or not (old.erased or _worth(kept) <= _worth(old))
            if new:
                self._write(kept)
            self._describe(session, about)
        return (kept, True) if new or old is None else (old, False)

    def replace(
        self, kept: KeptSummary, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    ) -> KeptSummary | None:
        """Change a summary as its file holds it now; None if it is gone, or `change` wants nothing."""
        if not self.folder(kept.session).is_dir():
            return None  # the lock would bring back what somebody deleted
        with self._lock(kept.session):
            now = next((one for one in self.of(kept.session) if one.number == kept.number), None)
            document = change(now.document) if now else None
            if document is None:
                return None
            better = KeptSummary(kept.session, kept.number, valid(document))
            self._write(better)
            self._describe(kept.session, {})
            return better

    def erase(self, quoted: Holder, sessions: Collection[str] = ()) -> int:
        """Remove every entry that holds one of the sentences, or is a piece of one; returns files changed.

        No model will sum up those files again, nor any of `sessions`, where the words were said.
        """
        changed = 0
        for kept in (kept for session in self.sessions() for kept in self.of(session)):
            change = partial(_without, quoted=quoted, said_here=kept.session in sessions)
            if change(kept.document) is not None:
                changed += self.replace(kept, change) is not None
        return changed

    def _numbers(self, session: str) -> dict[int, Path]:
        try:
            paths = list((self.folder(session) / "summaries").iterdir())
        except OSError:
            return {}
        return {int(match[1]): path for path in paths if (match := _NAME.fullmatch(path.name))}

    def _write(self, kept: KeptSummary) -> None:
        content = _as_bytes(kept.document)
        if len(content) > MAX_BYTES:  # it could never be read again
            raise InvalidInput(f"a summary takes at most {MAX_BYTES:,} bytes")
        name = f"compact_{kept.number:03d}.json"
        write_atomically(self.folder(kept.session) / "summaries" / name, content)

    def _describe(self, session: str, about: Mapping[str, Any]) -> None:
        noted = {**self.about(session), **about}
        noted = {name: value for name, value in noted.items() if name not in ("session", "summaries")}
        summaries = [_listed(kept) for kept in self.of(session)]
        path = self.folder(session) / "metadata.json"
        content = _as_bytes({"session": session, **noted, "summaries": summaries})
        if not path.exists() or path.read_bytes() != content:
            write_atomically(path, content)

    @contextmanager
    def _lock(self, session: str) -> Iterator[None]:
        folder = private_folder(self.folder(session) / "summaries")
        with held(folder / ".lock", wait_seconds=LOCK_SECONDS, conflict=BUSY):
            yield


def place_of(named: str) -> tuple[str, int]:
    """The session and the number that SESSION/NNN names."""
    start, slash, number = named.strip().rpartition("/")
    digits = number.removeprefix("compact_").removesuffix(".json")
    if not slash or not digits.isdecimal() or not digits.isascii():
        raise InvalidInput(f"cannot read {named!r}: say SESSION/NNN, as `claude-memory summaries` shows it")
    return start, int(digits[:20])


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # removed meanwhile
        return 0.0


def _worth(kept: KeptSummary) -> int:
    """A boundary says exactly what was taken, the agent's own summary says more of it; a model was paid."""
    source = kept.part("source")
    paid = kept.provider not in ("", RULES)
    return 4 * paid + 2 * bool(source.get("agent_summary")) + (kept.kind not in ("", OPEN))


def _listed(kept: KeptSummary) -> dict[str, Any]:
    facts = {name: kept.document.get(name) for name in _LISTED}
    return {"file": f"summaries/compact_{kept.number:03d}.json", **facts, "by": kept.provider or None}


def _as_bytes(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _read(session: str, number: int, path: Path) -> KeptSummary | None:
    try:
        if path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    # What a person or a newer program made of it may be anything; whoever reads on relies on its form.
    return KeptSummary(session, number, document) if is_readable(document) else None


# --- erasing


def _without(document: Mapping[str, Any], *, quoted: Holder, said_here: bool) -> dict[str, Any] | None:
    """The document without every entry that says what is quoted; None if nothing changes."""
    before, by = document["summary"], document.get("summariser")
    summary = _left(before, quoted)
    marked = {**(by if isinstance(by, dict) else {}), "erased": True}
    if summary == before and (not said_here or marked == by):
        return None
    changes = {} if summary == before else {"embeddings": dict(NO_VECTORS)}
    return {**document, "summary": summary, "summariser": marked, **changes}


def _left(summary: Mapping[str, Any], quoted: Holder) -> dict[str, Any]:
    """The summary without what is quoted; what is left of a plain list keeps its own messages."""
    left = without({name: value for name, value in summary.items() if name != "sources"}, quoted, pieces=True)
    sources = summary.get("sources")
    if isinstance(sources, dict):
        left["sources"] = {name: _places(summary.get(name), own, quoted) for name, own in sources.items()}
    return dict(left)


def _places(texts: Any, places: Any, quoted: Holder) -> Any:
    """The messages of those texts of a list that stay."""
    if not isinstance(texts, list) or not isinstance(places, list):
        return places
    return [own for text, own in zip(texts, places, strict=False) if without([text], quoted, pieces=True)]
