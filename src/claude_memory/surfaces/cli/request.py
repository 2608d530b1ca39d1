"""What every command shares: where it works, and how it opens the memory."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory import settings
from claude_memory.errors import InvalidInput
from claude_memory.model import Kind
from claude_memory.platform.project import current_folder
from claude_memory.surfaces.cli import output
from claude_memory.text import times

if TYPE_CHECKING:
    from claude_memory.memory import Memory

# A memory is a thought, not a file: what is longer would bury every other answer, and takes long to embed.
TEXT_CHARACTERS = 200_000

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
KINDS = ", ".join(Kind)
AsUser = Annotated[
    bool,
    typer.Option(
        "--as-user", help="These are a person's own words, though no terminal says so; not in an agent."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
AllProjects = Annotated[bool, typer.Option("--all-projects", help="Of every project, not only this one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The memory, or its unique beginning.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or their unique beginnings.")]
Text = Annotated[list[str], typer.Argument(metavar="TEXT", help="The text; `-` reads standard input.")]


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """The home and the project folder a command works on, as the caller named them."""

    home: Path | None = None
    project: Path | None = None

    @property
    def home_folder(self) -> Path:
        """The home, named or by default."""
        return self.home if self.home is not None else settings.home()

    @property
    def project_folder(self) -> Path:
        """The folder the command is about, by default the current one."""
        if self.project is None:
            return current_folder()
        if not self.project.is_dir():
            raise InvalidInput(f"no such folder: {self.project}")
        return self.project


def place(context: typer.Context) -> WorkPlace:
    """Where the running command works."""
    found = context.find_root().obj
    return found if isinstance(found, WorkPlace) else WorkPlace()


def opened(
    context: typer.Context,
    *,
    quiet: bool = False,
    fresh: bool = False,
    graph: bool = False,
    warm: bool = False,
) -> Memory:
    """The memory the running command is about; use it in a `with`. Quiet where a screen is shown.

    For a question, `fresh` brings in what waits, `graph` also what it mentions; `warm` loads the model
    meanwhile.
    """
    from claude_memory.memory import Memory
    from claude_memory.platform import logs

    where = place(context)
    memory = Memory.open(where.home_folder, where.project_folder, progress=None if quiet else output.note)
    logs.configure(memory.home, memory.settings)
    if warm:
        memory.warm_up()
    if fresh:
        memory.catch_up(graph=graph)
    return memory


def unconfigured(context: typer.Context) -> Memory:
    """The memory for what must work though its config.toml is broken: settings have their defaults."""
    from claude_memory.memory import Memory

    where = place(context)
    return Memory(where.home_folder, where.project_folder, settings.Settings())


def said(text: str) -> str:
    """An argument as text: bytes that are no UTF-8 become replacement marks instead of failing later."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def said_if(text: str | None) -> str | None:
    """The value of an option that may be left out; an empty one counts as left out."""
    return said(text) if text else None


def said_all(texts: list[str] | None) -> list[str]:
    """Every value of an option that may be repeated."""
    return [said(text) for text in texts or []]


@contextmanager
def reading(parameter: str) -> Iterator[None]:
    """A value that cannot be read is wrong usage, told with the name of its option or argument."""
    try:
        yield
    except InvalidInput as fault:
        raise typer.BadParameter(str(fault), param_hint=f"'{parameter}'") from None


def one_of(value: str, allowed: Collection[str]) -> str:
    """The value, which must be one of these."""
    if value not in allowed:
        raise typer.BadParameter(f"{said(value)!r} is not one of {', '.join(map(repr, allowed))}.")
    return value


def one_at_most(*options: tuple[str, object]) -> None:
    """Options of which no two can be meant together; None and False stand for one that was not given."""
    given = [name for name, value in options if value is not None and value is not False]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} exclude each other")


def path_named(text: str) -> Path:
    """A path; a variable that is not set must not name the current folder."""
    if not text:
        raise typer.BadParameter("it wants a path, not an empty text")
    return Path(text)


def since_when(text: str) -> datetime:
    """The moment meant; a day begins at midnight."""
    return _moment(text, end=False)


def until_when(text: str) -> datetime:
    """The moment meant; a day is included."""
    return _moment(text, end=True)


def _moment(text: str, *, end: bool) -> datetime:
    try:
        return times.moment(said(text), now=datetime.now().astimezone(), end=end)
    except InvalidInput as fault:
        raise typer.BadParameter(str(fault)) from None


def agent_name(value: str | None) -> str | None:
    """The name of an agent whose conversations can be read."""
    from claude_memory.platform.agents import BY_NAME, canonical

    return None if value is None else one_of(canonical(value), BY_NAME)


def whole_text(words: list[str]) -> str:
    """The text given as arguments, or all of standard input for a single `-`."""
    if words != ["-"]:
        text = said(" ".join(words))
    else:
        # One byte more than any accepted text can have, so that too much is noticed and never read whole.
        text = sys.stdin.buffer.read(4 * TEXT_CHARACTERS + 1).decode("utf-8", "replace")
    if not text.strip():
        raise InvalidInput("a memory needs a text")
    if len(text) > TEXT_CHARACTERS:
        raise InvalidInput(
            f"that is too long for one memory (over {TEXT_CHARACTERS:,} characters): "
            "keep the file, and remember what matters in it and where it is"
        )
    return text
