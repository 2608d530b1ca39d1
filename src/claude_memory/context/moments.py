"""What is given at a moment inside a session: one kind of line, and what all moments share.

The rules stand in `for_prompt`, `for_file` and `for_command`, for hooks and `claude-memory context` alike.
Each is small, and silence is the usual answer. Writes nothing; what the reader was given before is part of
the scene. Hooks load this at every answer, so it imports next to nothing. Only a person's own words are
handed on plainly; everything else is quoted as data.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

from claude_memory.text.quotation import MARK_TOKENS, clipped, marked, plain, quoted, tokens

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from claude_memory.model import Project
    from claude_memory.opening import Opened
    from claude_memory.store.model import Intention
    from claude_memory.store.sqlite.glance import Glance, Seen

QUOTED_CHARACTERS = 260
READ_CHARACTERS = 4_000  # a memory may be huge; its line never is
REASON_CHARACTERS = 120
SUBAGENT_TOKENS = 300
TASK_TOKENS = 150
DUE_AT_ONCE = 5
DUE_HEADING = "Noted earlier for this moment (when done: `claude-memory intend complete ID`):"
_CLAIMING = re.compile(r"\w::\w|`[\w.-]+\s*[=:]")
COMMANDS = (
    'Memory commands that work in this shell: `claude-memory search "…"` finds what is known, '
    '`claude-memory show ID` opens it, `claude-memory remember "…" --kind decision` keeps a finding.'
)


class Line:
    """One line of context: the memory it is from if any, why it is given; `file` and `command` show its use.

    `source` is the session, summary or file that it was made from where that is no memory, `level` that of a
    heading, which stands only above a line of its own: 1 is the highest.
    """

    __slots__ = ("command", "file", "level", "memory", "reason", "source", "text")

    def __init__(
        self,
        text: str,
        memory: str = "",
        reason: str = "",
        source: str = "",
        level: int = 0,
        command: str = "",
    ) -> None:
        self.text, self.memory, self.reason = text, memory, reason
        self.source, self.level, self.file, self.command = source, level, "", command

    def record(self) -> dict[str, str]:
        parts = {"id": self.memory, "reason": self.reason, "file": self.file, "command": self.command}
        return {name: value for name, value in parts.items() if value}


class Offer:
    """What is given: its text, its lines with their reasons, and the names of its parts."""

    __slots__ = ("lines", "sections", "text")

    def __init__(self, text: str = "", lines: Sequence[Line] = (), sections: Sequence[str] = ()) -> None:
        self.text, self.lines, self.sections = text, tuple(lines), tuple(sections)

    @property
    def memories(self) -> list[str]:
        return list(dict.fromkeys(line.memory for line in self.lines if line.memory))

    @property
    def tokens(self) -> int:
        return tokens(marked(self.text)) if self.text else 0

    def __add__(self, other: Offer) -> Offer:
        text = "\n".join(part for part in (self.text, other.text) if part)
        return Offer(text, (*self.lines, *other.lines), (*self.sections, *other.sections))


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
        session: str = "",
        given: Collection[str] = (),
        now: datetime,
    ) -> None:
        self.home, self.root, self.glance, self.memory = home, root, glance, memory
        self.session, self.given, self.now, self.folder = session, given, now, root

    def offer(self, heading: str, found: Iterable[Line], max_tokens: int) -> Offer:
        """As many lines as the budget holds, under their heading; what the files deny by now is marked."""
        left = max_tokens - MARK_TOKENS - tokens(heading) - 1
        lines = []
        for line in found:
            said, bracket, id_ = line.text.rpartition(" [")
            line.text = f"{said}{doubt(said, self.root)}{bracket}{id_}"
            if (cost := tokens(line.text) + 1) <= left:
                lines.append(line)
                left -= cost
        return Offer("\n".join([heading, *(line.text for line in lines)]), lines) if lines else Offer()

    def reminders(self, *, words: str = "", files: tuple[str, ...] = ()) -> Offer:
        """Intentions whose time has come and that this reader was not told yet."""
        if not self.glance.has_open_intentions():
            return Offer()
        memory = self.memory()
        named = (*files, *(word for word in words.split() if "/" in word or "." in word[1:-1]))
        intentions = memory.store.lifecycle.intentions(memory.project)
        lines = due_lines(intentions, memory.project, self.now, files=named, words=words, given=self.given)
        text = "\n".join([DUE_HEADING, *(line.text for line in lines[:DUE_AT_ONCE])])
        return Offer(text, lines[:DUE_AT_ONCE], ("intentions",)) if lines else Offer()


def at_subagent(scene: Scene, prompt: str) -> Offer:
    """What a sub-agent is told when it starts: what matches its prompt, the task under way, its commands."""
    from claude_memory.context import for_prompt as rule

    tasks = task_lines(scene.root, scene.home, session=scene.session, max_tokens=TASK_TOKENS, commands=True)
    left = SUBAGENT_TOKENS - sum(tokens(line) + 1 for line in tasks)
    found = rule.for_prompt(scene.glance, prompt, session="", given=()) if prompt else []
    names = ("task", "commands") if tasks else ("commands",)
    return scene.offer(rule.HEADING, found, left) + Offer("\n".join((*tasks, COMMANDS)), (), names)


# --- what lines say


def doubt(text: str, root: str) -> str:
    """A mark for what a text says of a file and no longer holds; few texts have the form of such a claim."""
    if not _CLAIMING.search(text):
        return ""
    from pathlib import Path

    from claude_memory.lifecycle.staleness import checked

    found = checked(text, Path(root))
    return f" (possibly out of date: {quoted(found, REASON_CHARACTERS)})" if found else ""


def day(microseconds: int) -> str:
    """The day of a moment of the store: `12 Jan`, with the year where that is not the present one."""
    moment = datetime.fromtimestamp(microseconds / 1e6, UTC)
    year = "" if moment.year == datetime.now(UTC).year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year}"


def of_memory(seen: Seen, characters: int = QUOTED_CHARACTERS) -> str:
    """What a statement says: a person's words as they are, others quoted."""
    said = statement(seen.title, seen.body)
    return own_words(said, characters) if seen.trust == "user" else quoted(said, characters)


def statement(title: str, body: str) -> str:
    """A memory's title and text; the title is left out where the text begins with it."""
    body = body[:READ_CHARACTERS]
    begins = plain(body).startswith(plain(title.rstrip("…").strip()))
    return body if begins else f"{title}. {body}"


def own_words(text: str, characters: int) -> str:
    """A person's own words, with the end of a quotation that was cut: what follows is ours again."""
    said = clipped(plain(text), characters)
    return said + "”" if said.count("“") > said.count("”") else said


# --- intentions and tasks, loaded only where there are any


def due_lines(
    intentions: Iterable[Intention],
    project: Project,
    now: datetime,
    *,
    files: tuple[str, ...],
    words: str,
    given: Collection[str],
) -> list[Line]:
    """The intentions whose time has come and that were not given yet."""
    from claude_memory.lifecycle.intentions import Occasion, due

    lines = []
    for item, why in due(intentions, Occasion(project, now, files, words), given=given):
        urgent = "important, " if item.priority == "high" else ""
        reason = own_words(why, REASON_CHARACTERS)
        lines.append(Line(f"- {quoted(item.text, 320)} ({urgent}{reason}) [{item.id}]", item.id, why))
    return lines


def task_lines(
    root: str, home: str, *, session: str | None, max_tokens: int, commands: bool = False
) -> list[str]:
    """The tasks that were worked on last; none where nobody keeps any, or their files cannot be read."""
    projects = f"{home}/projects"
    names = os.listdir(projects) if os.path.isdir(projects) else []  # noqa: PTH112, PTH208
    folders = [f"{root}/.claude-memories", *(f"{projects}/{name}/sessions" for name in names)]
    if not any(map(os.path.isdir, folders)):
        return []
    from pathlib import Path

    from claude_memory.errors import MemoryFault
    from claude_memory.tasks.api import MemoryAPI
    from claude_memory.tasks.documents import storage_for
    from claude_memory.tasks.views import section

    try:
        tasks = MemoryAPI(storage=storage_for(Path(root), home=Path(home)), session=session)
        text = section(tasks, max_tokens=max_tokens, commands=commands)
    except (MemoryFault, OSError):
        return []
    return [line for line in map(plain, text.splitlines()) if line]
