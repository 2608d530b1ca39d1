"""Commands that tie the memory to projects, agents and shells: init, projects, install, uninstall, mcp, hook,
context, ledger, completion.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from claude_memory.platform.agents import require_person
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    COMPLETE_VARIABLE,
    Result,
    WorkPlace,
    Yes,
    argument,
    flag,
    one_at_most,
    one_of,
    option,
    path_named,
    time_option,
)
from claude_memory.surfaces.cli.output import bold, cyan, dim, one_line

if TYPE_CHECKING:
    from claude_memory.install.installer import InstallStep
    from claude_memory.memory import Memory
    from claude_memory.model import Project
    from claude_memory.store.project_book import Regrouped

Named = Annotated[str, argument("PROJECT", "Its id, its folder, or a name that only one has.")]
_UNASKED = "this changes what belongs to a project: repeat it with --yes"


class Layout(StrEnum):
    """Where a project keeps the files people write."""

    PRIVATE = "private"
    REPO = "repo"


def init(
    memory: Memory,
    layout: Annotated[
        Layout | None,
        option("LAYOUT", "`private`: all inside .claude-memories; `repo`: at the top, to be committed."),
    ] = None,
    templates: Annotated[
        bool, flag("--templates", "Also begin MEMORY.md, tasks/todo.md and tasks/lessons.md.")
    ] = False,
) -> Result:
    """Give this project its own folder, ignored by git."""
    foreign = memory.notes.unapproved(repo=layout is Layout.REPO)
    if foreign:  # they came with a clone: whoever takes them over makes them a person's word
        require_person(f"taking over {foreign[0]}")
        output.note(f"from now on your own words: {', '.join(map(str, foreign))}")
    done, brought_back = memory.notes.prepare(layout)
    for path in brought_back:
        output.note(f"brought back {path}")
    for path in memory.notes.documents.put_templates() if templates else []:
        output.note(f"begun {path}")
    if not templates and not memory.notes.files.memory.exists():
        output.note("`claude-memory init --templates` begins MEMORY.md, todo.md and lessons.md")
    verb = "made" if done.created else "already there:"
    return Result(done, f"{verb} {bold(done.folder)}{dim(f'  layout {done.layout}')}")


def projects_list(memory: Memory) -> Result:
    """List every project: its id, how much is kept of it, where it stands."""
    listed = memory.projects.list()
    documents, lines = [], []
    for item in listed:
        counts = {"memories": item.memories, "events": item.events}
        documents.append({**_document(item.project), **counts, "here": item.here})
        place = f"{item.memories} memories, {item.events} events  {one_line(item.project.path)}"
        here = dim("  (here)") if item.here else ""
        lines.append(f"{cyan(item.project.id)}  {bold(one_line(item.project.name))}  {place}{here}")
    return Result(documents, lines)


def projects_merge(
    memory: Memory,
    project: Named,
    into: Annotated[str | None, option("PROJECT", "Default: the project here.", "--into")] = None,
    yes: Yes = False,
) -> Result:
    """Let all of a project belong to another; it cannot be undone."""
    require_person("`projects merge`")
    source = memory.projects.named(project)
    target = memory.projects.named(into) if into else memory.project
    question = f"let all of {source.id} ({source.path}) belong to {target.id} ({target.path})?"
    output.confirm(question, yes=yes, unasked=_UNASKED)
    return _answer("merged into", memory.projects.merge(source.id, target.id))


def projects_split(
    memory: Memory,
    place: WorkPlace,
    folder: Annotated[Path | None, argument("[DIR]", "Default: the folder here.", parser=path_named)] = None,
    yes: Yes = False,
) -> Result:
    """Make a folder a project of its own, with the sessions held in it."""
    require_person("`projects split`")
    wanted = folder or place.project_folder
    before = memory.projects.at(wanted)
    output.confirm(f"take {wanted} out of {before.id} ({before.path})?", yes=yes, unasked=_UNASKED)
    return _answer("split off", memory.projects.split(wanted))


def projects_move(
    memory: Memory,
    place: WorkPlace,
    project: Named,
    folder: Annotated[
        Path | None, argument("[DIR]", "Where it is now; default here.", parser=path_named)
    ] = None,
    yes: Yes = False,
) -> Result:
    """Let a folder belong to a known project: a clone whose history cannot tell, or one that moved."""
    require_person("`projects move`")
    wanted = folder or place.project_folder
    target = memory.projects.named(project)
    question = f"let {wanted} belong to {target.id} ({target.path}), and see all that is kept of it?"
    output.confirm(question, yes=yes, unasked=_UNASKED)
    return _answer("moved to", memory.projects.move(target.id, wanted))


def _document(project: Project) -> dict[str, object]:
    return {name: getattr(project, name) for name in ("id", "name", "path", "identities")}


def _answer(verb: str, done: Regrouped) -> Result:
    line = f"{verb} {cyan(done.project.id)}  {dim(one_line(done.project.path))}"
    notes = [f"both had it; the moved one is kept as {beside}" for beside in done.set_aside]
    return Result({**_document(done.project), "set_aside": done.set_aside}, line, notes)


# --- agents


class InstallScope(StrEnum):
    """For whom an agent gets the memory."""

    USER = "user"
    PROJECT = "project"


def _installable(agent: str | None) -> str | None:
    from claude_memory.install.edits import INSTALLABLE
    from claude_memory.platform.agents import canonical

    return None if agent is None else one_of(canonical(agent), INSTALLABLE)


def install(
    place: WorkPlace,
    agent: Annotated[
        str,
        option(
            None,
            "Which agent: claude-code, codex, gemini-cli, cursor, opencode, copilot-cli.",
            callback=_installable,
        ),
    ] = "claude-code",
    scope: Annotated[
        InstallScope, option("SCOPE", "For you everywhere (user), or for this project.")
    ] = InstallScope.USER,
    dry_run: Annotated[
        bool, flag("--dry-run", "Show what would be written into each file, change nothing.")
    ] = False,
) -> Result:
    """Give an agent this memory: its hooks and the MCP server. Twice is once."""
    from claude_memory.install.installer import install

    steps = install(place.home_folder, agent, scope.value, root_of(place.project_folder), dry_run=dry_run)
    lines = [line for step in steps for line in _step_lines(step, dry_run=dry_run)]
    done = "the next session of the agent will remember; `claude-memory doctor` checks it"
    return Result(steps, lines, [] if dry_run else [done])


def _step_lines(step: InstallStep, *, dry_run: bool) -> Iterator[str]:
    done = ("would change" if dry_run else "changed") if step.changed else "up to date"
    yield f"{done}: {bold(step.what)}{dim(f'  {step.path}')}"
    if dry_run and step.changed:
        yield from (dim(f"  {line}") for line in step.difference.splitlines())


def uninstall(
    place: WorkPlace,
    agent: Annotated[str | None, option(None, "Only this agent; default all.", callback=_installable)] = None,
) -> Result:
    """Take the memory out of agents; their files come back as they were, your memories stay."""
    from claude_memory.install.installer import uninstall

    steps = uninstall(place.home_folder, agent, root_of(place.project_folder))
    lines = [f"removed: {bold(step.what)}{dim(f'  {step.path}')}" for step in steps]
    return Result(steps, lines, nothing="nothing of ours was installed")


def mcp(
    place: WorkPlace,
    http: Annotated[bool, flag("--http", "Serve on loopback over HTTP instead, with a token.")] = False,
    port: Annotated[int, option("N", "The port for --http; 0 takes a free one.", min=0, max=65_535)] = 8420,
) -> None:
    """Serve this project's memory over MCP on standard input and output; agents start it."""
    if http:
        from claude_memory.surfaces.mcp.http import serve_http

        serve_http(place.home_folder, place.project_folder, port)
        return
    from claude_memory.settings import pin
    from claude_memory.surfaces.mcp.server import serve

    if place.home is not None:
        pin(str(place.home))
    serve(place.home_folder, place.project_folder)


def ledger(
    memory: Memory,
    since: Annotated[datetime | None, time_option("From this time on, such as `yesterday` or `7d`.")] = None,
) -> Result:
    """Show what hooks gave to agents, by day and session, and what the session then did with it."""
    memory.catch_up()
    given = memory.ledger(since=since)
    lines = []
    for line in given:
        counts = f"{bold(f'{line.tokens:>6} tokens')}  {line.times:>4}×  {line.memories:>4} memories"
        lines.append(f"{dim(line.day)}  {counts}  {line.given_at:<18} {line.session or '-'}")
        lines += (dim(f"{'':12}used: {use}") for use in line.used)
    return Result(given, lines, nothing="no hook has given anything in this project yet")


def context_(
    memory: Memory,
    start: Annotated[bool, flag("--start", "At the start of a session.")] = False,
    prompt: Annotated[str | None, option("TEXT", "With this prompt.")] = None,
    file: Annotated[str | None, option("FILE", "Before this file is edited.")] = None,
    command: Annotated[str | None, option("COMMAND", "Before this command runs.")] = None,
    subagent: Annotated[str | None, option("TEXT", "To a sub-agent that starts with this prompt.")] = None,
    max_tokens: Annotated[
        int, option("N", "Without a moment: the budget, about 4 characters a token.", min=1)
    ] = 500,
) -> Result:
    """Show what an agent would be given at a moment, line by line, with the reason and id of each.

    Without a moment: the tasks that a sub-agent would be told of.
    """
    wanted = {"prompt": prompt, "file": file, "command": command, "subagent": subagent}
    one_at_most(("--start", start), *((f"--{name}", text) for name, text in wanted.items()))
    moment = "start" if start else next((name for name, text in wanted.items() if text is not None), "")
    return _preview(memory, moment, wanted.get(moment) or "") if moment else _tasks_told(memory, max_tokens)


def _preview(memory: Memory, moment: str, text: str) -> Result:
    from claude_memory.surfaces.hooks.start import preview

    memory.catch_up()
    offer = preview(memory, moment, text, now=datetime.now(UTC))
    is_off = moment in memory.settings.context_off
    given = [
        {"text": line.text, "id": line.memory or line.source, "reason": line.reason} for line in offer.lines
    ]
    document = {"moment": moment, "off": is_off, "tokens": offer.tokens, "text": offer.text, "lines": given}
    why = {line.text: line.reason for line in offer.lines}
    lines = [line + dim(why.get(line) and f"  ← {why[line]}") for line in offer.text.splitlines()]
    state = ", but the setting context_off switches it off" if is_off else ""
    notes = [f"{offer.tokens} tokens{state}"] if offer.text else []
    return Result(document, lines, notes, nothing="nothing would be given")


def _tasks_told(memory: Memory, max_tokens: int) -> Result:
    tasks = memory.tasks
    text = tasks.get_context(max_tokens=max_tokens)
    document = {"session": tasks.session_manager.current_id(), "storage": tasks.storage.folder, "text": text}
    nothing = "no tasks yet, so a sub-agent would be told nothing"
    return Result(document, text.split("\n") if text else [], nothing=nothing)


def hook(
    place: WorkPlace,
    event: Annotated[str, argument("EVENT", "The agent's name for it, such as Stop.")],
    agent: Annotated[str, option("NAME", "Which agent reports it.")] = "claude-code",
) -> None:
    """Do with the event on standard input what the installed hook does: capture it, give context."""
    from claude_memory.surfaces.cli import hook as run_hook

    raise typer.Exit(run_hook([event, "--agent", agent, "--home", str(place.home_folder)]))


def _shell(name: str) -> str:
    return one_of(name, ("bash", "zsh", "fish", "powershell", "pwsh"))


def completion(
    shell: Annotated[str, argument("SHELL", "bash, zsh, fish or powershell.", callback=_shell)],
) -> None:
    """Print what makes a shell complete commands and options; its start-up file shall evaluate it."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="claude-memory", complete_var=COMPLETE_VARIABLE, shell=shell)
    output.lines(script.split("\n"))
