"""The commands put together, and the one place where their failures become words and exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from typer.main import get_command

from claude_memory import __version__, settings
from claude_memory.errors import ConfigFault, MemoryFault
from claude_memory.platform.files import HOOK_GONE
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import COMPLETE_VARIABLE, WorkPlace, bound

_WITH_VALUE = ("--home", "--project")
_INTENDED = ("set", "check", "list", "complete", "snooze", "cancel")
# The module of each command: only that of the command asked for is loaded, for a person is waiting.
PARTS: dict[str, tuple[str, ...]] = {
    "memory_commands": (
        *("remember", "list", "show", "revise", "edit", "forget"),
        *("inbox", "inbox accept", "inbox edit", "inbox reject", "strength"),
        *(f"{name} {inner}" for name in ("intend", "remind") for inner in _INTENDED),
    ),
    "search_commands": ("search", "timeline", "why", "blame", "fix", "how", "graph", "knowledge"),
    "conversation_commands": (
        *("recall", "import", "conversation", "summaries", "summaries push", "summary", "summarize"),
    ),
    "note_commands": (
        *("reflect", "lesson", "decide", "distill", "log", "log add"),
        *("buffer", "buffer show", "buffer add", "buffer clear", "notes add", "notes sync", "notes status"),
    ),
    "task_commands": (
        *("scratchpad", "plan", "append", "status", "export", "cleanup", "project-info", "project-context"),
        *("session start", "session info", "session list", "session switch", "session restore"),
    ),
    "setup_commands": (
        *("init", "projects list", "projects merge", "projects split", "projects move"),
        *("install", "uninstall", "mcp", "hook", "context", "ledger", "completion"),
    ),
    "place_commands": (
        *("backup create", "backup verify", "backup restore", "backup push", "backup pull", "backup merge"),
        *("backup list", "sync"),
        *("team create", "team invite", "team join", "team members", "team leave"),
    ),
    "care_commands": (
        *("doctor", "stats", "consolidate", "reindex", "version", "demo"),
        *("config get", "config list", "config set", "config unset"),
    ),
}
ALIASES = {"edit": "revise", "remind": "intend"}
GROUPS = {
    "summaries": "List what compactions left in this project, or push it to a database.",
    "team": "A team's store at a PostgreSQL server: make it, join it, leave it.",
    "projects": "List projects; say which belong together.",
    "inbox": "What was proposed and nobody has confirmed: list it, accept, edit or reject.",
    "log": "Show what the last sessions were, or add one.",
    "buffer": "Show, add to or clear the working buffer.",
    "notes": "The knowledge base: folders of notes.",
    "session": "Start, show, list, switch and restore sessions.",
    "config": "Read and change settings.",
    "backup": "Carry the whole memory to a file or a place and back.",
    "intend": "Be reminded at a time, a file or a topic.",
    "remind": "Another name for `intend`.",
}


def with_commands(asked: str | None = None) -> typer.Typer:
    """The program with the commands of one module, or with all where none is asked for by its name."""
    app = typer.Typer(
        name="claude-memory",
        help="A lasting memory for coding agents: captured by hooks, searched in words and meaning.",
        epilog="--home, --project and --debug may stand anywhere. The commands' exit codes: "
        "0 done, 1 the request failed, 2 wrong usage, 130 interrupted.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(globals_)
    parts = [part for part, names in PARTS.items() if asked in {name.partition(" ")[0] for name in names}]
    for part in parts or PARTS:
        add_commands(app, part)
    return app


def add_commands(app: typer.Typer, part: str) -> None:
    """Add a module's functions under their commands' names (with `_` after Python's own).

    A group's own function, where it has one, is what the group does without an inner command.
    """
    module = import_module(f"claude_memory.surfaces.cli.{part}")
    groups: dict[str, typer.Typer] = {}
    for name in PARTS[part]:
        first, _, inner = name.partition(" ")
        own = " ".join([ALIASES.get(first, first), *inner.split()]).replace("-", "_").replace(" ", "_")
        command = bound(getattr(module, f"{own}_", None) or getattr(module, own))
        if first in GROUPS and first not in groups:
            groups[first] = typer.Typer(
                help=GROUPS[first], invoke_without_command=not inner, no_args_is_help=bool(inner)
            )
            app.add_typer(groups[first], name=first)
        if inner:
            groups[first].command(inner)(command)
        elif first in GROUPS:
            groups[first].callback()(command)
        else:
            app.command(name, help=f"Another name for `{ALIASES[name]}`." if name in ALIASES else None)(
                command
            )


def _show_version(wanted: bool) -> None:
    if wanted:
        output.lines([f"claude-memory {__version__}"])
        raise typer.Exit


def globals_(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder everything is kept in; default $CLAUDE_MEMORY_HOME or ~/.claude/memory.",
        ),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The project to work on; default the current folder.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and log in detail.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Set up what every command shares."""
    del version
    if debug:
        os.environ["CLAUDE_MEMORY_DEBUG"] = "1"
    context.obj = WorkPlace(home.expanduser() if home else None, project.expanduser() if project else None)
    _say_if_hooks_are_gone(context.obj, context.invoked_subcommand)
    if context.invoked_subcommand is None:
        output.lines([context.get_help()])


def _say_if_hooks_are_gone(place: WorkPlace, command: str | None) -> None:
    """Tell of hooks that found their interpreter or this package gone, and ended quietly."""
    if command in ("install", "uninstall", "hook", "mcp"):
        return
    with contextlib.suppress(OSError, ConfigFault):
        gone = (place.home_folder / HOOK_GONE).read_text("utf-8", "replace").strip()[:200]
        output.note(f"hooks do not work: {gone}, or what it needs, is gone; `claude-memory install` mends it")


def run(arguments: list[str]) -> int:
    """Run one command and translate whatever ends it, once."""
    output.prepare_streams()
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
        return code
    except Exception as fault:  # noqa: BLE001  a surface's top handler
        return ended(fault)


def ended(fault: Exception) -> int:
    """The exit code for what ended a command, after saying why in one line."""
    try:
        sys.stdout.flush()
    except OSError:  # it can no longer be written; Python would complain when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(fault, BrokenPipeError):  # the reader (head, less) has had enough
        return 0
    if settings.debugging():
        raise fault
    output.failure(_words(fault))
    return 1


def _words(fault: Exception) -> str:
    if isinstance(fault, MemoryFault):
        return str(fault)
    if isinstance(fault, OSError):
        return f"{fault.strerror or fault}{f': {fault.filename}' if fault.filename else ''}"
    return f"unexpected {type(fault).__name__}: {fault}{_logged(fault)}"


def _invoke(arguments: list[str]) -> int:
    try:
        shared, rest = hoisted(arguments)
        asked = next((argument for argument in rest if not argument.startswith("-")), None)
        command = get_command(with_commands(asked))
        if asking := os.environ.get(COMPLETE_VARIABLE):  # a shell asks, by what `completion` prints
            from typer._completion_classes import completion_init
            from typer.completion import shell_complete

            completion_init()
            return shell_complete(command, {}, "claude-memory", COMPLETE_VARIABLE, asking)
        with command.make_context("claude-memory", [*shared, *rest]) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.TyperException as fault:
        if settings.debugging():
            raise
        if type(fault).__name__ == "NoArgsIsHelpError":  # a group without its command: show which there are
            output.note(fault.format_message())
        else:
            output.failure(fault.format_message())
        return fault.exit_code
    return 0


def hoisted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Global options, which may stand anywhere before `--`, and the rest."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    shared: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments[:end])
    for argument in waiting:
        name, mark, value = argument.partition("=")
        if name in _WITH_VALUE:
            folder = value if mark else next(waiting, "")
            if not folder:  # a variable that is not set must not make the current folder the home
                raise typer.BadParameter("it wants a folder", param_hint=f"'{name}'")
            shared += [name, folder]
        else:
            (shared if argument == "--debug" else rest).append(argument)
    return shared, [*rest, *arguments[end:]]


def _logged(fault: BaseException) -> str:
    """Where it happened goes to the log; not the message, which may quote a memory."""
    import logging
    import traceback

    from claude_memory.platform import logs

    frames = "".join(traceback.format_tb(fault.__traceback__))
    logs.logger("cli").error("unexpected %s\n%s", type(fault).__name__, frames)
    kept = [item for item in logging.getLogger(logs.ROOT).handlers if isinstance(item, logging.FileHandler)]
    return f" (see {kept[0].baseFilename}, or use --debug)" if kept else " (--debug shows where)"
