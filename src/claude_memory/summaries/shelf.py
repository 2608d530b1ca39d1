"""Summaries as files: `sessions/session_<id>/summaries/compact_NNN.json`, and `metadata.json` above them.

One writer a session at a time, numbers without gaps, whole files only; a compaction is kept once. What is
written is checked by the published schema; `is_readable` is the quick look that every reader takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import held
from claude_memory.redact.erasure import Holder, without
from claude_memory.text.quotation import about_tokens

RULES = "rules"  # who summed up where no language model did
OPEN = "open"  # the kind of a summary that was made before the compaction was over
ENTRIES = ("key_decisions", "files_modified", "code_snippets", "error_solutions")
SOURCED = ("tasks_completed", "tasks_pending", "important_context", "conventions")
TEXTS = ("topics", *SOURCED)
NO_VECTORS: Mapping[str, Any] = {"model": None, "summary_vector": [], "topic_vectors": {}}


@dataclass(frozen=True, slots=True)
class KeptSummary:
    session: str
    number: int
    document: Mapping[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> Mapping[str, Any]:
        """A part of the document that is an object; empty where it is none."""
        value = self.document.get(name)
        return value if isinstance(value, Mapping) else {}

    @property
    def id(self) -> str:
        """How a person names it: SESSION/NNN."""
        return f"{self.session}/{self.number:03d}"

    @property
    def file(self) -> str:
        """Where it lies in its session's folder."""
        return f"summaries/compact_{self.number:03d}.json"

    @property
    def summary(self) -> Mapping[str, Any]:
        return self.part("summary")

    @property
    def executive(self) -> str:
        return str(self.summary.get("executive") or "")

    @property
    def kind(self) -> str:
        """Where the messages were read: transcript, archive, open (before it was over) or agent."""
        return str(self.part("source").get("kind") or "")

    @property
    def boundary(self) -> str:
        return str(self.part("source").get("boundary") or "")

    @property
    def provider(self) -> str:
        """Who summed up: rules, an agent, a model; empty where the file does not say."""
        return str(self.part("summariser").get("provider") or "")

    @property
    def worth(self) -> int:
        """A boundary says exactly what was taken, the agent's own summary more of it; a model was paid."""
        paid, told = self.provider not in ("", RULES), bool(self.part("source").get("agent_summary"))
        return 4 * paid + 2 * told + (self.kind not in ("", OPEN))


def document_of(body: Any, at: datetime, trigger: str, by: Mapping[str, Any]) -> dict[str, Any]:
    """A document around a summary, of whose messages nothing is known."""
    return {
        "timestamp": written(at),
        "compaction_trigger": trigger,
        "token_count_before": 0,
        "token_count_after": about_tokens(json.dumps(body, ensure_ascii=False)),
        "token_counts": "estimated",
        "summary": body,
        "embeddings": dict(NO_VECTORS),
        "original_message_range": [0, 0],
        "source": {},
        "summariser": dict(by),
    }


def written(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def within(summary: Mapping[str, Any], messages: range) -> dict[str, Any]:
    """A valid summary without the numbers of messages that it cannot rest on."""

    def left(places: Sequence[int]) -> list[int]:
        return [place for place in places if place in messages]

    bounded = dict(summary)
    for name in ENTRIES:
        entries = [dict(entry) for entry in summary.get(name, ())]
        for entry in entries:
            if "messages" in entry:
                entry["messages"] = left(entry["messages"])
        bounded[name] = entries
    sources = summary.get("sources", {})
    bounded["sources"] = {name: [left(own) for own in sources[name]] for name in SOURCED if name in sources}
    return bounded


# --- the published schema

_WANTED = {
    "type": "must be of type {}",
    "enum": "must be one of {}",
    "minLength": "must not be empty",
    "pattern": "must not be empty",
    "minimum": "must not be below {}",
}


@cache
def schema() -> dict[str, Any]:
    """The schema of a whole compact_NNN.json."""
    # Read beside this file: `importlib.resources` takes longer to load than a hook has.
    document: dict[str, Any] = json.loads(Path(__file__).with_name("summary.schema.json").read_bytes())
    return document


def faults(document: Any, part: str = "") -> list[str]:
    """What is wrong with a whole document or a part of it, each in a line that one can act on."""
    from jsonschema import Draft202012Validator

    found: list[str] = []
    rule = schema()["properties"][part] if part else schema()
    for error in sorted(
        Draft202012Validator(rule).iter_errors(document), key=lambda one: list(map(str, one.path))
    ):
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        place = f"{part}{steps}".lstrip(".")
        kind, wanted = str(error.validator), error.validator_value
        # Its own message quotes the value, and what was said belongs into no log.
        if kind == "required":
            missing = [name for name in wanted if name not in error.instance]
            found += [f"{place}.{name} is missing".lstrip(".") for name in missing]
            continue
        shown = (", " if kind == "enum" else " or ").join(wanted) if isinstance(wanted, list) else wanted
        found.append(f"{place or 'the document'} {_WANTED.get(kind, 'must have {} items').format(shown)}")
    return found


def valid(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document, or InvalidInput that says what is wrong with it."""
    if wrong := faults(document):
        raise InvalidInput(f"the summary does not fit the schema: {'; '.join(wrong[:5])}")
    return dict(document)


def is_readable(document: Any) -> bool:
    """Whether a document has the shape that its readers rely on."""
    summary = document.get("summary") if isinstance(document, dict) else None
    if not isinstance(summary, dict) or not isinstance(summary.get("executive"), str):
        return False
    listed = {**dict.fromkeys(ENTRIES, dict), **dict.fromkeys(TEXTS, str)}
    values = ((summary.get(name, []), kind) for name, kind in listed.items())
    return (
        bool(summary["executive"].strip())
        and isinstance(document.get("timestamp"), str)
        and isinstance(document.get("token_count_before"), int)
        and [type(place) for place in document.get("original_message_range") or ()] == [int, int]
        and isinstance(summary.get("sources", {}), dict)
        and all(
            isinstance(value, list) and all(isinstance(item, kind) for item in value)
            for value, kind in values
        )
    )


# --- the files

MAX_BYTES = 4 << 20
LOCK_SECONDS = 10.0
BUSY = "another process writes this session's summaries; try again in a moment"
_NAME = re.compile(r"compact_(\d{3,})\.json")
_SESSION = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LISTED = ("timestamp", "compaction_trigger", "original_message_range", "token_count_before")


class Shelf:
    def __init__(self, home: Path) -> None:
        self.home = home

    def folder(self, session: str) -> Path:
        """Where a session's summaries lie; a name that could lead elsewhere is refused."""
        if not _SESSION.fullmatch(session):
            raise InvalidInput(f"{session[:60]!r} is no session's id")
        return self.home / "sessions" / f"session_{session}"

    def sessions(self) -> list[str]:
        """Sessions that have summaries, the one that changed last first; a copy made by hand is none."""
        changed: dict[str, float] = {}
        for folder in (self.home / "sessions").glob("session_*/summaries"):
            with suppress(OSError):  # removed meanwhile
                changed[folder.parent.name.removeprefix("session_")] = folder.stat().st_mtime
        return sorted(filter(_SESSION.fullmatch, changed), key=lambda name: -changed[name])

    def about(self, session: str) -> dict[str, Any]:
        """What is noted of a session beside its summaries."""
        try:
            noted = json.loads((self.folder(session) / "metadata.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}

    def of(self, session: str) -> list[KeptSummary]:
        """A session's summaries that can be read, oldest first."""
        found = []
        for number, path in sorted(self._numbers(session).items()):
            try:
                small = not path.is_symlink() and path.stat().st_size <= MAX_BYTES
                document: Any = json.loads(path.read_bytes()) if small else None
            except (OSError, ValueError, RecursionError):
                continue
            # What a person or a newer program made of it may be anything; readers rely on its form.
            found += [KeptSummary(session, number, document)] if is_readable(document) else []
        return found

    def one(self, named: str) -> KeptSummary:
        """The summary that SESSION/NNN names; the beginning of a session's id is enough."""
        start, number = self.place_of(named)
        known = self.sessions()
        matching = [start] if start in known else [name for name in known if name.startswith(start)]
        if len(matching) > 1:
            raise InvalidInput(f"{start!r} could be {', '.join(matching[:4])}: give more of the id")
        for kept in (kept for session in matching for kept in self.of(session)):
            if kept.number == number:
                return kept
        raise NotFound(f"no summary {named!r}; `claude-memory summaries` lists them")

    @staticmethod
    def place_of(named: str) -> tuple[str, int]:
        """The session and the number that SESSION/NNN names."""
        place = re.fullmatch(r"\s*(.*)/(?:compact_)?([0-9]+)(?:\.json)?\s*", named, re.DOTALL)
        if place is None:
            shown = "say SESSION/NNN, as `claude-memory summaries` shows it"
            raise InvalidInput(f"cannot read {named!r}: {shown}")
        return place[1], int(place[2][:20])

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
            # What something was taken out of must not come back.
            if old and (old.part("summariser").get("erased") or kept.worth <= old.worth):
                kept = old
            else:
                self._write(kept)
            self._describe(session, about)
        return kept, kept is not old

    def replace(
        self, kept: KeptSummary, change: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    ) -> KeptSummary | None:
        """Change a summary as its file holds it now; None if it is gone, or `change` wants nothing."""
        if not self.folder(kept.session).is_dir():
            return None  # the lock would bring back what somebody deleted
        with self._lock(kept.session):
            now = next((one for one in self.of(kept.session) if one.number == kept.number), None)
            if now is None or (document := change(now.document)) is None:
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
        write_atomically(self.folder(kept.session) / kept.file, content)

    def _describe(self, session: str, about: Mapping[str, Any]) -> None:
        summaries = [
            {
                "file": kept.file,
                **{name: kept.document.get(name) for name in _LISTED},
                "by": kept.provider or None,
            }
            for kept in self.of(session)
        ]
        noted = self.about(session)
        content = {"session": session, **noted, **about} | {"session": session, "summaries": summaries}
        if content != noted:
            write_atomically(self.folder(session) / "metadata.json", _as_bytes(content))

    def _lock(self, session: str) -> AbstractContextManager[None]:
        folder = private_folder(self.folder(session) / "summaries")
        return held(folder / ".lock", wait_seconds=LOCK_SECONDS, conflict=BUSY)


def _as_bytes(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _without(document: Mapping[str, Any], *, quoted: Holder, said_here: bool) -> dict[str, Any] | None:
    """The document without every entry that says what is quoted; None if nothing changes."""
    before, by = document["summary"], document.get("summariser")
    summary = without({**before, "sources": {}}, quoted, pieces=True)
    if "sources" not in before:
        del summary["sources"]
    for name, places in before.get("sources", {}).items():
        texts = before.get(name)
        summary["sources"][name] = places
        if isinstance(texts, list) and isinstance(places, list):  # what is left keeps its own messages
            pairs = zip(texts, places, strict=False)
            summary["sources"][name] = [own for text, own in pairs if without([text], quoted, pieces=True)]
    marked = {**(by if isinstance(by, dict) else {}), "erased": True}
    if summary == before and (not said_here or marked == by):
        return None
    changes = {} if summary == before else {"embeddings": dict(NO_VECTORS)}
    return {**document, "summary": summary, "summariser": marked, **changes}
