"""What is given at a moment inside a session: a prompt, a file, a command, a failure, a sub-agent.

One function for each, for hooks and for `claude-memory context` alike. Each is small, and silence is the
usual answer. Writes nothing; what the reader was given before is an argument. Hooks load this at every
answer, so it imports next to nothing. Only a person's own words are handed on plainly; everything else is
quoted as data.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

from claude_memory.text.quotation import MARK_TOKENS, clipped, marked, plain, quoted, tokens

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any

    from claude_memory.opening import Opened
    from claude_memory.store.sqlite.glance import Glance, Seen

QUOTED_CHARACTERS = 260
ASKED_CHARACTERS = 110
_CLAIMING = re.compile(r"\w::\w|`[\w.-]+\s*[=:]")
SUBAGENT_TOKENS = 300
TASK_TOKENS = 150
MAX_FILE_CHARACTERS = 200_000
COMMANDS = (
    'Memory commands that work in this shell: `claude-memory search "…"` finds what is known, '
    '`claude-memory show ID` opens it, `claude-memory remember "…" --kind decision` keeps a finding.'
)


class Hint:
    """One line: what it says, the memory it is from, why it is given, what would show that it was used."""

    __slots__ = ("command", "file", "memory", "reason", "text")

    def __init__(self, text: str, memory: str, reason: str, *, file: str = "", command: str = "") -> None:
        self.text, self.memory, self.reason = text, memory, reason
        self.file, self.command = file, command

    def record(self) -> dict[str, str]:
        """As the ledger keeps it."""
        parts = {"id": self.memory, "reason": self.reason, "file": self.file, "command": self.command}
        return {name: value for name, value in parts.items() if value}


def fitted(heading: str, hints: Iterable[Hint], max_tokens: int) -> list[Hint]:
    """As many of the hints, in their order, as the budget holds."""
    left = max_tokens - MARK_TOKENS - tokens(heading) - 1
    kept = []
    for hint in hints:
        cost = tokens(hint.text) + 1
        if cost <= left:
            kept.append(hint)
            left -= cost
    return kept


def doubted(hint: Hint, root: str) -> Hint:
    """The hint with a mark before its id if the working tree says otherwise by now."""
    said, bracket, id_ = hint.text.rpartition(" [")
    hint.text = f"{said}{doubt(said, root)}{bracket}{id_}"
    return hint


def rendered(heading: str, hints: Sequence[Hint]) -> str:
    """The hints under their heading; empty without any."""
    return "\n".join([heading, *(hint.text for hint in hints)]) if hints else ""


def doubt(text: str, root: str) -> str:
    """A mark for what a text says of a file and no longer holds; few texts have the form of such a claim."""
    if not _CLAIMING.search(text):
        return ""
    from pathlib import Path

    from claude_memory.lifecycle.staleness import checked

    found = checked(text, Path(root))
    return f" (possibly out of date: {quoted(found, 120)})" if found else ""


def day(microseconds: int) -> str:
    """The day of a moment of the store: `12 Jan`, with the year where that is not the present one."""
    moment = datetime.fromtimestamp(microseconds / 1e6, UTC)
    year = "" if moment.year == datetime.now(UTC).year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year}"


def of_memory(seen: Seen, characters: int = QUOTED_CHARACTERS) -> str:
    """What a statement says: a person's words as they are, others quoted."""
    body = (
        seen.body
        if plain(seen.body).startswith(plain(seen.title.rstrip("…")))
        else f"{seen.title}. {seen.body}"
    )
    if seen.trust == "user":
        said = clipped(plain(body[:4_000]), characters)
        return said + "”" if said.count("“") > said.count("”") else said
    return quoted(body[:4_000], characters)


def refusals(record: dict[str, Any]) -> list[str]:
    """What the person said when they refused a step of an exchange."""
    return [str(spoken["words"]) for spoken in record.get("asked", ()) if spoken.get("manner") == "rejection"]


class Scene:
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


def at_prompt(scene: Scene, prompt: str) -> Offer:
    """The few lines that earlier sessions have on a prompt, and reminders it calls for."""
    from claude_memory.context import for_prompt as rule

    due = _reminders(scene, words=prompt)
    if prompt.lstrip().startswith("/"):
        return due
    found = rule.for_prompt(scene.glance, prompt, session=scene.session, given=scene.given)
    return _joined(due, _listed(scene, rule.HEADING, found, rule.MAX_TOKENS))


def at_file(scene: Scene, path: str, edit: str = "") -> Offer:
    """What was refused, noted or explained about a file, before it is edited.

    `edit` is what the edit replaces and puts there; where that is not known, the file as it stands.
    """
    from pathlib import Path

    from claude_memory.context import for_file as rule
    from claude_memory.platform.repository import current_branch

    due = _reminders(scene, files=(path,))
    hints = rule.for_file(
        scene.glance,
        _spellings(scene.root, path),
        edit or _content(path),
        branch=current_branch(Path(scene.root)),
        session=scene.session,
        given=scene.given,
    )
    return _joined(due, _listed(scene, rule.heading(path), hints, rule.MAX_TOKENS))


def at_command(scene: Scene, command: str) -> Offer:
    """How a command failed before and what worked, before it runs."""
    from claude_memory.context import for_command as rule

    hints = rule.for_command(
        scene.glance,
        command,
        is_at_root=os.path.realpath(scene.folder) == os.path.realpath(scene.root),
        session=scene.session,
        given=scene.given,
    )
    return _listed(scene, rule.HEADING, hints, rule.MAX_TOKENS)


def at_failure(scene: Scene, command: str, error: str) -> Offer:
    """How the same error went away before, when a command failed."""
    from claude_memory.context import for_command as rule

    hints = rule.after_failure(scene.glance, command, error, session=scene.session, given=scene.given)
    return _listed(scene, rule.HEADING, hints, rule.MAX_TOKENS)


def at_subagent(scene: Scene, prompt: str) -> Offer:
    """What a sub-agent is told when it starts: what matches its prompt, the task under way, its commands."""
    from claude_memory.context import for_prompt as rule

    tasks = _tasks(scene)
    left = SUBAGENT_TOKENS - sum(tokens(line) + 1 for line in tasks)
    found = rule.for_prompt(scene.glance, prompt, session="", given=()) if prompt else []
    known = _listed(scene, rule.HEADING, found, left)
    text = "\n".join(part for part in (known.text, *tasks, COMMANDS) if part)
    return Offer(text, known.hints, ("task", "commands") if tasks else ("commands",))


def _listed(scene: Scene, heading: str, found: Sequence[Hint], max_tokens: int) -> Offer:
    kept = fitted(heading, [doubted(hint, scene.root) for hint in found], max_tokens)
    return Offer(rendered(heading, kept), kept)


def _joined(one: Offer, other: Offer) -> Offer:
    text = "\n".join(part for part in (one.text, other.text) if part)
    return Offer(text, (*one.hints, *other.hints), (*one.sections, *other.sections))


def _reminders(scene: Scene, *, words: str = "", files: tuple[str, ...] = ()) -> Offer:
    """Intentions whose time has come and that this reader was not told yet; loaded only where any is open."""
    if not scene.glance.has_open_intentions():
        return Offer()
    from claude_memory.context.memory_lines import due_now

    return due_now(scene.memory(), words=words, files=files, given=scene.given, now=scene.now)


def _tasks(scene: Scene) -> list[str]:
    if not uses_tasks(scene.root, scene.home):
        return []
    from pathlib import Path

    from claude_memory.context.memory_lines import task_lines

    return task_lines(
        Path(scene.root), Path(scene.home), session=scene.session, max_tokens=TASK_TOKENS, commands=True
    )


def uses_tasks(root: str, home: str) -> bool:
    """Whether anybody keeps tasks here or elsewhere; most do not, and need not load what reads them."""
    projects = f"{home}/projects"
    names = os.listdir(projects) if os.path.isdir(projects) else []  # noqa: PTH112, PTH208
    folders = [f"{root}/.claude-memories", *(f"{projects}/{name}/sessions" for name in names)]
    return any(map(os.path.isdir, folders))


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
