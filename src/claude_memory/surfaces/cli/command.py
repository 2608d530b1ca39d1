"""How a command is declared: a plain function whose options are its parameters and which returns an answer.

`bound` makes a command of it. A parameter `memory` gets the opened memory, `place` the home and the folder;
`--json` comes with every function that returns a `Result`. Texts arrive clean, so no command looks at them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import typer
from typer.models import OptionInfo

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
COMPLETE_VARIABLE = "_CLAUDE_MEMORY_COMPLETE"


@dataclass(frozen=True, slots=True)
class Result:
    """What a command gives: a document for programs, lines for a person, notes beside them, the exit code."""

    document: Any
    shown: Iterable[str] | str = ()
    notes: Iterable[str] = ()  # told to a person only
    code: int = 0
    nothing: str = ""  # told when there is nothing to show

    def tell(self, *, json: bool) -> None:
        if json:
            output.document(output.plain(self.document))
            is_empty = not self.document
        else:
            lines = [self.shown] if isinstance(self.shown, str) else list(self.shown)
            output.lines(lines)
            is_empty = not lines
        for note in filter(None, [*(() if json else self.notes), self.nothing if is_empty else ""]):
            output.note(note)
        if self.code:
            raise typer.Exit(self.code)


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """The home and the project folder a command works on, as the caller named them."""

    home: Path | None = None
    project: Path | None = None

    @property
    def home_folder(self) -> Path:
        return self.home if self.home is not None else settings.home()

    @property
    def project_folder(self) -> Path:
        if self.project is None:
            return current_folder()
        if not self.project.is_dir():
            raise InvalidInput(f"no such folder: {self.project}")
        return self.project

    def opened(self, *, quiet: bool = False) -> Memory:
        from claude_memory.memory import Memory
        from claude_memory.platform import logs

        told = None if quiet else output.note
        memory = Memory.open(self.home_folder, self.project_folder, progress=told)
        logs.configure(memory.home, memory.settings)
        return memory

    def unconfigured(self) -> Memory:
        """The memory for what must work though its config.toml is broken: settings have their defaults."""
        from claude_memory.memory import Memory

        return Memory(self.home_folder, self.project_folder, settings.Settings())


def bound(function: Callable[..., Result | None]) -> Callable[..., None]:
    """The function as a command of the program."""
    hints = get_type_hints(function, localns={"Memory": object})  # imported only where types are checked
    defaults = {name: item.default for name, item in inspect.signature(function).parameters.items()}
    if hints.pop("return") is Result and "json" not in hints:
        hints["json"], defaults["json"] = bool, Shared.JSON
    listed = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name in [name for name in hints if name not in ("memory", "place")]:
        if isinstance(defaults[name], OptionInfo) and not defaults[name].param_decls:
            defaults[name].param_decls = (f"--{name.strip('_').replace('_', '-')}",)
        if "Path" in function.__annotations__.get(name, ""):
            defaults[name].parser = _path
        kind = inspect.Parameter.KEYWORD_ONLY
        listed.append(inspect.Parameter(name, kind, default=defaults[name], annotation=hints[name]))

    def run(context: typer.Context, **values: Any) -> None:
        json = values["json"] if "json" in function.__annotations__ else values.pop("json", False)
        if context.invoked_subcommand is not None:
            if json:  # it would be lost in silence, and a program would not get its document
                raise typer.BadParameter("it stands after the inner command", param_hint="'--json'")
            return
        place = context.find_root().obj
        call = partial(function, **{name: said(value) for name, value in values.items()})
        if "place" in hints:
            call = partial(call, place=place)
        if "memory" in hints:
            with place.opened() as memory:
                answer = call(memory=memory)
        else:
            answer = call()
        if answer is not None:
            answer.tell(json=json)

    run.__doc__ = function.__doc__
    run.__annotations__ = {item.name: item.annotation for item in listed}
    run.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    return run


# --- what is given


def said(value: Any) -> Any:
    """A value with its texts readable: bytes that are no UTF-8 become marks instead of failing later."""
    if type(value) is str:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return [said(item) for item in value] if isinstance(value, list) else value


@contextmanager
def reading(parameter: str = "") -> Iterator[None]:
    """A value that cannot be read is wrong usage; an option's own parser knows its name, others tell it."""
    try:
        yield
    except InvalidInput as fault:
        raise typer.BadParameter(str(fault), param_hint=f"'{parameter}'" if parameter else None) from None


def one_of(value: str, allowed: Collection[str]) -> str:
    if value not in allowed:
        raise typer.BadParameter(f"{said(value)!r} is not one of {', '.join(map(repr, allowed))}.")
    return value


def one_at_most(*options: tuple[str, object]) -> None:
    """Options of which no two can be meant together; None and False stand for one that was not given."""
    given = [name for name, value in options if value is not None and value is not False]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} exclude each other")


def given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def whole_text(words: list[str]) -> str:
    """The text given as arguments, or all of standard input for a single `-`."""
    text = " ".join(words)
    if words == ["-"]:  # one byte more than any accepted text can have: too much is noticed, never read whole
        text = sys.stdin.buffer.read(4 * TEXT_CHARACTERS + 1).decode("utf-8", "replace")
    if not text.strip():
        raise InvalidInput("a memory needs a text")
    if len(text) > TEXT_CHARACTERS:
        raise InvalidInput(
            f"that is too long for one memory (over {TEXT_CHARACTERS:,} characters): "
            "keep the file, and remember what matters in it and where it is"
        )
    return text


# --- options and arguments, as the defaults of a command's parameters


def option(metavar: str | None, about: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option with a value; its name is that of the parameter unless it is given."""
    return typer.Option(default, *names, metavar=metavar, help=about, **more)


def flag(about: str, *names: str, default: bool | None = False) -> Any:
    return typer.Option(default, *names, help=about)


def argument(metavar: str, about: str, *, default: Any = ...) -> Any:
    """A value that stands by itself; required unless it has a default."""
    return typer.Argument(default, metavar=metavar, help=about, show_default=False)


@reading()
def _path(text: str) -> Path:
    if not text:  # a variable that is not set must not name the current folder
        raise InvalidInput("it wants a path, not an empty text")
    return Path(text)


def time_option(about: str, *, end: bool = False, metavar: str = "WHEN") -> Any:
    """An option that names a moment; a day begins at midnight, or is included."""

    @reading()
    def moment(text: str) -> datetime:
        return times.moment(text, now=datetime.now().astimezone(), end=end)

    return option(metavar, about, parser=moment)


def agent_option(about: str) -> Any:

    def known(value: str | None) -> str | None:
        from claude_memory.platform.agents import BY_NAME, canonical

        return None if value is None else one_of(canonical(value), BY_NAME)

    return option("NAME", about, callback=known)


class Shared:
    KINDS = ", ".join(Kind)
    JSON = flag("Print one JSON document and nothing else.")
    AS_USER = flag("These are a person's own words, though no terminal says so; not in an agent.")
    YES = flag("Do it without asking.", "--yes", "-y")
    ALL_PROJECTS = flag("Of every project, not only this one.")
    DRY_RUN = flag("Only say what would be done.")
    SINCE = time_option("Not before a date (2026-11-15), `today`, `yesterday`, `3d`, `2 weeks ago`.")
    UNTIL = time_option("Not after it; same forms.", end=True)
    ONLY_KINDS = option("KIND", f"Only this kind; repeatable: {KINDS}.")
    ONLY_TOPICS = option("TOPIC", "Only this topic; repeatable.")
    ONLY_FILES = option("FILE", "Only about this file; repeatable.")
    ONLY_TASK = option("TASK", "Only this task.")
    ONLY_SESSION = option("SESSION", "Only this conversation: its id, or its unique beginning.")
    ID = argument("ID", "The memory, or its unique beginning.")
    IDS = argument("ID...", "Ids, or their unique beginnings.")
    TEXT = argument("TEXT", "The text; `-` reads standard input.")
