"""What is given at a moment inside a session: a prompt, a file, a command, a failure, a sub-agent.

One function for each, for hooks and for `claude-memory context` alike. Each is small, and silence is the
usual answer. Writes nothing; what the reader was given before is an argument.
"""

from __future__ import annotations

import os

from claude_memory.context import hints
from claude_memory.context.hints import Hint
from claude_memory.text.quotation import marked, tokens

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from claude_memory.opening import Opened
    from claude_memory.store.sqlite.glance import Glance

SUBAGENT_TOKENS = 300
TASK_TOKENS = 150
MAX_FILE_CHARACTERS = 200_000
COMMANDS = (
    'Memory commands that work in this shell: `claude-memory search "…"` finds what is known, '
    '`claude-memory show ID` opens it, `claude-memory remember "…" --kind decision` keeps a finding.'
)


class Place:
    """Where a moment is: the project, the quick look into its store, and who will read the answer."""

    __slots__ = ("folder", "given", "glance", "home", "memory", "now", "root", "session")

    def __init__(
        self,
        home: str,
        root: str,
        glance: Glance,
        memory: Callable[[], Opened],
        *,
        session: str,
        given: Collection[str],
        now: datetime,
        folder: str = "",
    ) -> None:
        self.home, self.root, self.glance, self.memory = home, root, glance, memory
        self.session, self.given, self.now, self.folder = session, given, now, folder or root


class Offer:
    """What is given: its text, the hints in it, and the names of parts that are no hints."""

    __slots__ = ("hints", "sections", "text")

    def __init__(self, text: str = "", lines: Sequence[Hint] = (), sections: Sequence[str] = ()) -> None:
        self.text, self.hints, self.sections = text, tuple(lines), tuple(sections)

    @property
    def tokens(self) -> int:
        """Of the whole, marks included."""
        return tokens(marked(self.text)) if self.text else 0


def at_prompt(place: Place, prompt: str) -> Offer:
    """The few lines that earlier sessions have on a prompt, and reminders it calls for."""
    from claude_memory.context import for_prompt as rule

    due = _reminders(place, words=prompt)
    if prompt.lstrip().startswith("/"):
        return due
    found = rule.for_prompt(place.glance, prompt, session=place.session, given=place.given)
    return _joined(due, _listed(place, rule.HEADING, found, rule.MAX_TOKENS))


def at_file(place: Place, path: str, edit: str = "") -> Offer:
    """What was refused, noted or explained about a file, before it is edited.

    `edit` is what the edit replaces and puts there; where that is not known, the file as it stands.
    """
    from pathlib import Path

    from claude_memory.context import for_action as rule
    from claude_memory.platform.repository import current_branch

    due = _reminders(place, files=(path,))
    hints = rule.for_file(
        place.glance,
        _spellings(place.root, path),
        edit or _content(path),
        branch=current_branch(Path(place.root)),
        session=place.session,
        given=place.given,
    )
    return _joined(due, _listed(place, rule.file_heading(path), hints, rule.MAX_TOKENS))


def at_command(place: Place, command: str) -> Offer:
    """How a command failed before and what worked, before it runs."""
    from claude_memory.context import for_action as rule

    hints = rule.for_command(
        place.glance,
        command,
        is_at_root=os.path.realpath(place.folder) == os.path.realpath(place.root),
        session=place.session,
        given=place.given,
    )
    return _listed(place, rule.COMMAND_HEADING, hints, rule.MAX_TOKENS)


def at_failure(place: Place, command: str, error: str) -> Offer:
    """How the same error went away before, when a command failed."""
    from claude_memory.context import for_action as rule

    hints = rule.after_failure(place.glance, command, error, session=place.session, given=place.given)
    return _listed(place, rule.COMMAND_HEADING, hints, rule.MAX_TOKENS)


def at_subagent(place: Place, prompt: str) -> Offer:
    """What a sub-agent is told when it starts: what matches its prompt, the task under way, its commands."""
    from claude_memory.context import for_prompt as rule

    tasks = _tasks(place)
    left = SUBAGENT_TOKENS - sum(tokens(line) + 1 for line in tasks)
    found = rule.for_prompt(place.glance, prompt, session="", given=()) if prompt else []
    known = _listed(place, rule.HEADING, found, left)
    text = "\n".join(part for part in (known.text, *tasks, COMMANDS) if part)
    return Offer(text, known.hints, ("task", "commands") if tasks else ("commands",))


def _listed(place: Place, heading: str, found: Sequence[Hint], max_tokens: int) -> Offer:
    kept = hints.fitted(heading, [hints.doubted(hint, place.root) for hint in found], max_tokens)
    return Offer(hints.rendered(heading, kept), kept)


def _joined(one: Offer, other: Offer) -> Offer:
    text = "\n".join(part for part in (one.text, other.text) if part)
    return Offer(text, (*one.hints, *other.hints), (*one.sections, *other.sections))


def _reminders(place: Place, *, words: str = "", files: tuple[str, ...] = ()) -> Offer:
    """Intentions whose time has come and that this reader was not told yet; loaded only where any is open."""
    if not place.glance.has_open_intentions():
        return Offer()
    from claude_memory.context.reminders import due_now

    return due_now(place.memory(), words=words, files=files, given=place.given, now=place.now)


def _tasks(place: Place) -> list[str]:
    """The task under way; most projects keep none, and need not load what reads them."""
    kept = f"{place.home}/projects"
    names = os.listdir(kept) if os.path.isdir(kept) else []  # noqa: PTH112, PTH208
    folders = [f"{place.root}/.claude-memories", *(f"{kept}/{name}/sessions" for name in names)]
    if not any(map(os.path.isdir, folders)):
        return []
    from pathlib import Path

    from claude_memory.context.task_section import task_lines

    return task_lines(
        Path(place.root), Path(place.home), session=place.session, max_tokens=TASK_TOKENS, commands=True
    )


def _content(path: str) -> str:
    """The first part of a file; empty if it cannot be read as text."""
    try:
        with open(path, encoding="utf-8") as handle:  # noqa: PTH123
            return handle.read(MAX_FILE_CHARACTERS)
    except (OSError, ValueError):  # not text, or a NUL in its name
        return ""


def _spellings(root: str, path: str) -> list[str]:
    """A file as memories may name it: as given, and relative to the project."""
    names = [path]
    try:
        names.append(os.path.relpath(path, root).replace(os.sep, "/"))
    except ValueError:  # another drive
        return names
    return list(dict.fromkeys(name for name in names if not name.startswith("..")))
