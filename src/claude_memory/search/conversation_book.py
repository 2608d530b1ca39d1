"""The archived conversations of every project, for `memory.conversations`: look up, read, resume."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.model import SearchScope, SessionId
from claude_memory.platform.agents import BY_NAME, canonical
from claude_memory.search.conversations import asked_of
from claude_memory.search.excerpts import Wording, one_line
from claude_memory.store.model import Conversation, Message
from claude_memory.store.sql.archive import Archive
from claude_memory.text.quotation import meant
from claude_memory.text.words import shorten
from claude_memory.understand.sessions import from_json

_RANGE = re.compile(r"(?P<first>\d+)?(?P<dash>-)?(?P<last>\d+)?")
EVERYWHERE = SearchScope(None)


def session_named(archive: Archive, scope: SearchScope, named: str) -> SessionId:
    """The one session in scope whose id begins so, whether its conversation is archived or not."""
    return SessionId(meant(named, archive.session_ids(scope, named.strip()), f"session {named!r} here"))


# --- going on: the agent's own command, in the conversation's folder

HANDED_EXCHANGES = 5
HANDED_CHARACTERS = 700
_BEGIN_WITH_TEXT = frozenset(("claude-code", "codex"))  # agents that take a first prompt as their argument
# An id comes from a file that anybody may have written: it must not read as an option or a path.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


@dataclass(frozen=True, slots=True)
class Resume:
    """A command and the folder to run it in; `handed` where it begins anew with what the archive holds."""

    arguments: tuple[str, ...]
    folder: str
    handed: bool = False

    @property
    def line(self) -> str:
        """What a person would type."""
        command = shlex.join(self.arguments)
        return f"cd {shlex.quote(self.folder)} && {command}" if self.folder else command

    @property
    def has_folder(self) -> bool:
        """Whether the folder is still there."""
        return bool(self.folder) and Path(self.folder).is_dir()


def resume(conversation: Conversation, archive: Archive | None = None) -> Resume | None:
    """How to go on; None where the agent has no command for it. A sub-agent's work goes on in its session.

    Where the agent has deleted its own file, it begins anew with what the `archive` holds.
    """
    known = BY_NAME.get(canonical(conversation.agent))
    template = known.resume if known else ""
    session = conversation.parent or conversation.session
    if not template or not _ID.fullmatch(session):
        return None
    arguments = tuple(part.format(session=session) for part in template.split())
    gone = bool(conversation.path) and not Path(conversation.path).exists()
    if gone and archive is not None and conversation.agent in _BEGIN_WITH_TEXT:
        return Resume((arguments[0], handoff(archive, conversation)), conversation.cwd, handed=True)
    return Resume(arguments, conversation.cwd)


def handoff(archive: Archive, conversation: Conversation) -> str:
    """A conversation in brief, for an agent that is to go on with it: its record and its last exchanges."""
    lines = [f"Go on with this earlier conversation of {conversation.last:%Y-%m-%d}: {conversation.name}"]
    if conversation.branch:
        lines.append(f"Branch: {conversation.branch}")
    for _, _, _, record in archive.exchanges(conversation.number)[-HANDED_EXCHANGES:]:
        exchange = from_json(record)
        files = ", ".join(name for name, _ in exchange.files_edited[:8])
        lines += [
            f"\nAsked: {shorten(one_line(exchange.request or exchange.handed), HANDED_CHARACTERS)}",
            *([f"Edited: {files}"] if files else []),
            *[f"Commit {one.hash} {one.subject}" for one in exchange.commits],
            *[f"Open: {one.title}" for one in exchange.tasks if one.status in ("pending", "in_progress")],
            f"Answered: {shorten(one_line(exchange.closing), HANDED_CHARACTERS)}",
        ]
    lines.append(f"\nThe whole of it: claude-memory conversation {conversation.session}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ConversationBook:
    """What agents and people said, message by message."""

    archive: Archive

    def named(self, id_: str) -> Conversation:
        """The one conversation whose id begins so."""
        prefix = id_.strip()
        found = self.archive.conversations(EVERYWHERE, prefix=prefix, limit=20) if prefix else []
        names: list[str] = [item.session for item in found]
        session = meant(id_, names, f"conversation {id_!r}; `claude-memory import` reads what agents keep")
        if names.count(session) > 1:  # two agents may use the same id
            raise InvalidInput(f"{id_!r} could be {', '.join(names[:4])}: give more of the id")
        return found[names.index(session)]

    def messages(
        self, conversation: Conversation, *, first: int = 1, last: int | None = None
    ) -> Sequence[Message]:
        """Its messages by their ordinals."""
        return self.archive.messages(conversation.number, first=first, last=last)

    def count(self) -> int:
        """How many there are."""
        return self.archive.totals()["conversations"]

    def agents(self) -> Sequence[str]:
        """Whose there are."""
        return self.archive.agents()

    def asked(self, query: str) -> Wording:
        """A question taken apart, to mark in messages what answers it."""
        return asked_of(self.archive, query) if query.strip() else Wording("", {}, {}, {})

    def resume(self, conversation: Conversation) -> Resume | None:
        """How a person goes on with it; None where its agent has no command for that."""
        return resume(conversation, self.archive)

    @staticmethod
    def range_of(named: str) -> tuple[str, int, int | None]:
        """`ID`, `ID:7`, `ID:5-9`, `ID:5-`, `ID:-9`: the id, the first and the last message wanted."""
        id_, colon, text = named.rpartition(":")
        if not colon:
            return named, 1, None
        match = _RANGE.fullmatch(text)
        if not id_ or match is None or text in ("", "-"):
            raise InvalidInput(f"cannot read the range {text!r}: try ID:7, ID:5-9, ID:5- or ID:-9")
        first, last = match["first"], match["last"] if match["dash"] else match["first"]
        return id_, int(first or 1), int(last) if last else None
