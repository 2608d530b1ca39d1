"""The commands put together, and the one place where their failures become words and exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path

import typer
from typer.main import get_command

from claude_memory import __version__, settings
from claude_memory.errors import ConfigFault, MemoryFault
from claude_memory.platform.files import HOOK_GONE
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import COMPLETE_VARIABLE, WorkPlace, bound, flag, option

# The module of each command: only that of the command asked for is loaded, for a person is waiting.
PARTS = {
    part: names.split(", ")
    for part, names in {
        "memory_commands": "remember, list, show, revise, edit, forget, "
        "search, timeline, why, blame, fix, how, graph, knowledge",
        "note_commands": "inbox, inbox accept, inbox edit, inbox reject, strength, "
        "reflect, lesson, decide, distill, log, log add, "
        "buffer, buffer show, buffer add, buffer clear, notes add, notes sync, notes status, "
        "intend set, intend check, intend list, intend complete, intend snooze, intend cancel, "
        "remind set, remind check, remind list, remind complete, remind snooze, remind cancel",
        "conversation_commands": "recall, import, conversation, "
        "summaries, summaries push, summary, summarize",
        "task_commands": "scratchpad, plan, append, status, export, cleanup, project-info, project-context, "
        "session start, session info, session list, session switch, session restore",
        "setup_commands": "init, projects list, projects merge, projects split, projects move, "
        "install, uninstall, mcp, hook, context, ledger, completion, doctor, stats, consolidate, reindex, "
        "config get, config list, config set, config unset, version",
        "place_commands": "backup create, backup verify, backup restore, backup push, backup pull, "
        "backup merge, backup list, sync, "
        "team create, team invite, team join, team members, team leave, demo",
    }.items()
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
        own = "_".join([ALIASES.get(first, first), *inner.split()]).replace("-", "_")
        command = bound(getattr(module, f"{own}_", None) or getattr(module, own))
        if first not in GROUPS:
            other = f"Another name for `{ALIASES[name]}`." if name in ALIASES else None
            app.command(name, help=other)(command)
            continue
        if first not in groups:
            has_own = not inner
            groups[first] = typer.Typer(
                help=GROUPS[first], invoke_without_command=has_own, no_args_is_help=not has_own
            )
            app.add_typer(groups[first], name=first)
        (groups[first].command(inner) if inner else groups[first].callback())(command)


def globals_(
    context: typer.Context,
    home: Path | None = option(
        "DIR", "The folder everything is kept in; default $CLAUDE_MEMORY_HOME or ~/.claude/memory."
    ),
    project: Path | None = option("DIR", "The project to work on; default the current folder."),
    debug: bool = flag("Show tracebacks and log in detail.", "--debug"),
    version: bool = flag("Print the version.", "--version"),
) -> None:
    if version:
        output.lines([f"claude-memory {__version__}"])
        raise typer.Exit
    if debug:
        os.environ["CLAUDE_MEMORY_DEBUG"] = "1"
    context.obj = WorkPlace(home.expanduser() if home else None, project.expanduser() if project else None)
    if context.invoked_subcommand not in ("install", "uninstall", "hook", "mcp"):
        # Hooks that found their interpreter or this package gone have ended quietly, but for this file.
        with contextlib.suppress(OSError, ConfigFault):
            gone = (context.obj.home_folder / HOOK_GONE).read_text("utf-8", "replace").strip()[:200]
            mended = "or what it needs, is gone; `claude-memory install` mends it"
            output.note(f"hooks do not work: {gone}, {mended}")
    if context.invoked_subcommand is None:
        output.lines([context.get_help()])


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code, also of wrong usage."""
    for stream in (sys.stdout, sys.stderr):  # no character makes printing fail, whatever the locale
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    code = 0
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
        code = end.exit_code
    except typer.TyperException as fault:
        if settings.debugging():
            raise
        # A group without its command shows which there are.
        tell = output.note if type(fault).__name__ == "NoArgsIsHelpError" else output.failure
        tell(fault.format_message())
        code = fault.exit_code
    sys.stdout.flush()
    return code


def ended(fault: Exception) -> int:
    """The exit code for what ended a command, after saying why in one line."""
    import logging
    import traceback

    from claude_memory.platform import logs

    try:
        sys.stdout.flush()
    except OSError:  # it can no longer be written; Python would complain when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(fault, BrokenPipeError):  # the reader (head, less) has had enough
        return 0
    if settings.debugging():
        raise fault
    if isinstance(fault, MemoryFault):
        output.failure(str(fault))
    elif isinstance(fault, OSError):
        output.failure(f"{fault.strerror or fault}{f': {fault.filename}' if fault.filename else ''}")
    else:
        # Where it happened goes to the log; not the message, which may quote a memory.
        frames = "".join(traceback.format_tb(fault.__traceback__))
        logs.logger("cli").error("unexpected %s\n%s", type(fault).__name__, frames)
        files = [
            item for item in logging.getLogger(logs.ROOT).handlers if isinstance(item, logging.FileHandler)
        ]
        more = f"see {files[0].baseFilename}, or use --debug" if files else "--debug shows where"
        output.failure(f"unexpected {type(fault).__name__}: {fault} ({more})")
    return 1


def hoisted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Global options, which may stand anywhere before `--`, and the rest."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    shared: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments[:end])
    for argument in waiting:
        name, mark, value = argument.partition("=")
        if name in ("--home", "--project"):
            folder = value if mark else next(waiting, "")
            if not folder:  # a variable that is not set must not make the current folder the home
                raise typer.BadParameter("it wants a folder", param_hint=f"'{name}'")
            shared += [name, folder]
        else:
            (shared if argument == "--debug" else rest).append(argument)
    return shared, [*rest, *arguments[end:]]
