"""Commands that tie the memory to projects, agents and shells (init, projects, install, uninstall, mcp, hook,
context, ledger, completion) and that look after it (doctor, stats, consolidate, reindex, config, version).
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from claude_memory import __version__
from claude_memory.platform import config_file
from claude_memory.platform.agents import canonical, require_person
from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    COMPLETE_VARIABLE,
    Result,
    Shared,
    WorkPlace,
    argument,
    flag,
    one_at_most,
    one_of,
    option,
    time_option,
)
from claude_memory.surfaces.cli.output import bold, counted, cyan, dim, one_line, styled

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.store.sql.projects import Regrouped

GATE_SECONDS = 20.0  # for memories that came while no model was at hand; the rest waits for the next time
Shell = Literal["bash", "zsh", "fish", "powershell", "pwsh"]
_AGENTS = "Which agent: claude-code, codex, gemini-cli, cursor, opencode, copilot-cli."
_LAYOUTS = "`private`: all inside .claude-memories; `repo`: at the top, to be committed."
_UNASKED = "this changes what belongs to a project: repeat it with --yes"
_LEVEL_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_PROJECT = argument("PROJECT", "Its id, its folder, or a name that only one has.")
_FOLDER = argument("[DIR]", "Default: the folder here.", default=None)
_KEY = argument("KEY", "A setting; `config list` shows all.")


def init(
    memory: Memory,
    layout: Literal["private", "repo"] | None = option("LAYOUT", _LAYOUTS),
    templates: bool = flag("Also begin MEMORY.md, tasks/todo.md and tasks/lessons.md."),
) -> Result:
    """Give this project its own folder, ignored by git."""
    foreign = memory.notes.unapproved(repo=layout == "repo")
    if foreign:  # they came with a clone: whoever takes them over makes them a person's word
        require_person(f"taking over {foreign[0]}")
        output.note(f"from now on your own words: {', '.join(map(str, foreign))}")
    done, brought_back = memory.notes.prepare(layout)
    for path in brought_back:
        output.note(f"brought back {path}")
    for path in memory.notes.put_templates() if templates else []:
        output.note(f"begun {path}")
    if not templates and not memory.notes.files.memory.exists():
        output.note("`claude-memory init --templates` begins MEMORY.md, todo.md and lessons.md")
    verb = "made" if done.created else "already there:"
    return Result(done, f"{verb} {bold(done.folder)}{dim(f'  layout {done.layout}')}")


def projects_list(memory: Memory) -> Result:
    """List every project: its id, how much is kept of it, where it stands."""
    documents, lines = [], []
    for item in memory.projects.list():
        counts = {"memories": item.memories, "events": item.events, "here": item.here}
        documents.append({**output.plain(item.project), **counts})
        place = f"{item.memories} memories, {item.events} events  {one_line(item.project.path)}"
        here = dim("  (here)") if item.here else ""
        lines.append(f"{cyan(item.project.id)}  {bold(one_line(item.project.name))}  {place}{here}")
    return Result(documents, lines)


def projects_merge(
    memory: Memory,
    project: str = _PROJECT,
    into: str | None = option("PROJECT", "Default: the project here."),
    yes: bool = Shared.YES,
) -> Result:
    """Let all of a project belong to another; it cannot be undone."""
    require_person("`projects merge`")
    source = memory.projects.named(project)
    target = memory.projects.named(into) if into else memory.project
    question = f"let all of {source.id} ({source.path}) belong to {target.id} ({target.path})?"
    output.confirm(question, yes=yes, unasked=_UNASKED)
    return _regrouped("merged into", memory.projects.merge(source.id, target.id))


def projects_split(
    memory: Memory, place: WorkPlace, folder: Path | None = _FOLDER, yes: bool = Shared.YES
) -> Result:
    """Make a folder a project of its own, with the sessions held in it."""
    require_person("`projects split`")
    wanted = folder or place.project_folder
    before = memory.projects.at(wanted)
    output.confirm(f"take {wanted} out of {before.id} ({before.path})?", yes=yes, unasked=_UNASKED)
    return _regrouped("split off", memory.projects.split(wanted))


def projects_move(
    memory: Memory,
    place: WorkPlace,
    project: str = _PROJECT,
    folder: Path | None = _FOLDER,
    yes: bool = Shared.YES,
) -> Result:
    """Let a folder belong to a known project: a clone whose history cannot tell, or one that moved."""
    require_person("`projects move`")
    wanted, target = folder or place.project_folder, memory.projects.named(project)
    question = f"let {wanted} belong to {target.id} ({target.path}), and see all that is kept of it?"
    output.confirm(question, yes=yes, unasked=_UNASKED)
    return _regrouped("moved to", memory.projects.move(target.id, wanted))


def _regrouped(verb: str, done: Regrouped) -> Result:
    line = f"{verb} {cyan(done.project.id)}  {dim(one_line(done.project.path))}"
    notes = [f"both had it; the moved one is kept as {beside}" for beside in done.set_aside]
    return Result({**output.plain(done.project), "set_aside": done.set_aside}, line, notes)


# --- agents


def _installable(agent: str | None) -> str | None:
    from claude_memory.install.edits import INSTALLABLE

    return None if agent is None else one_of(canonical(agent), INSTALLABLE)


def install(
    place: WorkPlace,
    agent: str = option(None, _AGENTS, default="claude-code", callback=_installable),
    scope: Literal["user", "project"] = option("SCOPE", "Everywhere, or for this project.", default="user"),
    dry_run: bool = flag("Show what would be written into each file, change nothing."),
) -> Result:
    """Give an agent this memory: its hooks and the MCP server. Twice is once."""
    from claude_memory.install.installer import install

    steps = install(place.home_folder, agent, scope, root_of(place.project_folder), dry_run=dry_run)
    lines = []
    for step in steps:
        done = ("would change" if dry_run else "changed") if step.changed else "up to date"
        lines.append(f"{done}: {bold(step.what)}{dim(f'  {step.path}')}")
        if dry_run and step.changed:
            lines += (dim(f"  {line}") for line in step.difference.splitlines())
    told = "the next session of the agent will remember; `claude-memory doctor` checks it"
    return Result(steps, lines, [] if dry_run else [told])


def uninstall(
    place: WorkPlace,
    agent: str | None = option(None, "Only this agent; default all.", callback=_installable),
) -> Result:
    """Take the memory out of agents; their files come back as they were, your memories stay."""
    from claude_memory.install.installer import uninstall

    steps = uninstall(place.home_folder, agent, root_of(place.project_folder))
    lines = [f"removed: {bold(step.what)}{dim(f'  {step.path}')}" for step in steps]
    return Result(steps, lines, nothing="nothing of ours was installed")


def mcp(
    place: WorkPlace,
    http: bool = flag("Serve on loopback over HTTP instead, with a token."),
    port: int = option("N", "The port for --http; 0 takes a free one.", default=8420, min=0, max=65_535),
) -> None:
    """Serve this project's memory over MCP on standard input and output; agents start it."""
    if http:
        from claude_memory.surfaces.mcp.server import serve_http

        serve_http(place.home_folder, place.project_folder, port)
        return
    from claude_memory.surfaces.cli import serve_agent

    serve_agent(str(place.home or ""), place.project_folder)


def ledger(
    memory: Memory,
    since: datetime | None = time_option("From this time on, such as `yesterday` or `7d`."),
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
    start: bool = flag("At the start of a session."),
    prompt: str | None = option("TEXT", "With this prompt."),
    file: str | None = option("FILE", "Before this file is edited."),
    command: str | None = option("COMMAND", "Before this command runs."),
    subagent: str | None = option("TEXT", "To a sub-agent that starts with this prompt."),
    max_tokens: int = option("N", "The budget, about 4 characters a token.", default=500, min=1),
) -> Result:
    """Show what an agent would be given at a moment, line by line, with the reason and id of each.

    Without a moment: the tasks that a sub-agent would be told of.
    """
    wanted = {"prompt": prompt, "file": file, "command": command, "subagent": subagent}
    one_at_most(("--start", start), *((f"--{name}", text) for name, text in wanted.items()))
    moment = "start" if start else next((name for name, text in wanted.items() if text is not None), "")
    if not moment:
        tasks = memory.tasks
        text = tasks.get_context(max_tokens=max_tokens)
        session, storage = tasks.session_manager.current_id(), tasks.storage.folder
        nothing = "no tasks yet, so a sub-agent would be told nothing"
        about = {"session": session, "storage": storage, "text": text}
        return Result(about, text.split("\n") if text else [], nothing=nothing)
    from claude_memory.surfaces.hooks.start import preview

    memory.catch_up()
    offer = preview(memory, moment, wanted.get(moment) or "", now=datetime.now(UTC))
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


def hook(
    place: WorkPlace,
    event: str = argument("EVENT", "The agent's name for it, such as Stop."),
    agent: str = option("NAME", "Which agent reports it.", default="claude-code"),
) -> None:
    """Do with the event on standard input what the installed hook does: capture it, give context."""
    from claude_memory.surfaces.cli import hook as run_hook

    raise typer.Exit(run_hook([event, "--agent", agent, "--home", str(place.home_folder)]))


def completion(shell: Shell = argument("SHELL", "bash, zsh, fish or powershell.")) -> None:
    """Print what makes a shell complete commands and options; its start-up file shall evaluate it."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="claude-memory", complete_var=COMPLETE_VARIABLE, shell=shell)
    output.lines(script.split("\n"))


# --- how the memory stands


def doctor(place: WorkPlace) -> Result:
    """Check that all is well; exit 1 when something is wrong."""
    from claude_memory.doctor import check

    checks = check(place.home_folder, root_of(place.project_folder))
    failed = any(item.level == "fail" for item in checks)
    longest = max(len(item.name) for item in checks)
    lines = []
    for item in checks:
        level = styled(_LEVEL_STYLES[item.level], f"{item.level:<4}")
        lines.append(f"{level} {bold(f'{item.name:<{longest}}')}  {one_line(item.message)}")
        if item.hint and item.level != "ok":
            lines.append(dim(f"     {'':<{longest}}  → {one_line(item.hint)}"))
    return Result({"ok": not failed, "checks": checks}, lines, code=1 if failed else 0)


def stats(memory: Memory, all_projects: bool = Shared.ALL_PROJECTS) -> Result:
    """Count memories, events, sessions and vectors."""
    counts = memory.stats(all_projects=all_projects)
    progress = memory.upkeep.vectors.progress
    place = {"home": memory.home, "project": "all" if all_projects else memory.project.name}
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.memories.items()) if count)
    shown = {
        **place,
        "memories": f"{sum(counts.memories.values())}{f' ({kinds})' if kinds else ''}",
        "events": counts.events,
        "sessions": counts.sessions,
        "passages": counts.passages,
        "vectors": [f"{count} by {model}" for model, count in counts.vectors.items()] or 0,
        "by meaning": progress.words if progress.missing else "",
        "projects": counts.projects,
        "store": f"{output.size(counts.size_bytes)}, schema {counts.schema_version}",
        "from": counts.oldest,
        "to": counts.newest,
    }
    vectors = {"vectors_missing": progress.missing, "vectors_in_work": progress.working}
    return Result({**place, **output.plain(counts), **vectors}, output.table(shown))


def consolidate(
    memory: Memory,
    dry_run: bool = Shared.DRY_RUN,
    undo: bool = flag("Take back the last consolidation."),
) -> Result:
    """Let waiting memories meet their neighbours, link what is alike, archive what faded; nothing is lost."""
    one_at_most(("--dry-run", dry_run), ("--undo", undo))
    if undo:
        undone = memory.upkeep.undo_consolidation()
        return Result({"undone": undone}, f"{undone} steps taken back")
    settled = 0 if dry_run else memory.upkeep.judge_pending(budget_seconds=GATE_SECONDS)
    done = memory.upkeep.consolidate(dry_run=dry_run)
    verb = "would be" if dry_run else "were"
    lines = [
        *([f"{counted(settled, 'new link')} by the write gate"] if settled else []),
        f"{done.repeated} repetitions and {done.similar} near twins {verb} linked",
        f"{done.archived} faded memories {verb} archived",
        f"{len(done.patterns)} patterns recur in three sessions or more",
    ]
    has_changed = not dry_run and done.repeated + done.similar + done.archived
    notes = ["undo: claude-memory consolidate --undo"] if has_changed else []
    return Result({**output.plain(done), "settled": settled}, lines, notes)


def reindex(
    memory: Memory,
    from_files: bool = flag("Rebuild the database itself from memories.jsonl."),
    stop: bool = flag("Stop making vectors in the background, until the next `import` or `reindex`."),
) -> Result:
    """Make the search index and the vectors anew."""
    one_at_most(("--from-files", from_files), ("--stop", stop))
    if stop:
        memory.upkeep.stop_vectors()
        progress = memory.upkeep.vectors.progress
        return Result(progress, progress.words)
    with output.progress_bar("vectors") as show:
        done = memory.reindex(from_files=from_files, progress=show)
    read = f"{done.memories} memories read from files, " if from_files else ""
    made = f"{read}{done.passages} passages, {done.vectors} vectors made anew; search: {memory.search_mode}"
    return Result(done, made)


def config_get(place: WorkPlace, key: str = _KEY) -> Result:
    """Print one setting as it is in effect."""
    value = _resolved(place)[config_file.known(key)].value
    return Result(value, _shown(value))


def config_list(place: WorkPlace) -> Result:
    """Print every setting, its value, and where the value comes from."""
    settings = _resolved(place)
    longest = max(len(key) for key in settings)
    lines = [
        f"{bold(f'{key:<{longest}}')}  {_shown(item.value) or '(empty)'}{dim(f'  [{item.origin}]')}"
        for key, item in settings.items()
    ]
    return Result(settings, lines)


def config_set(
    place: WorkPlace,
    key: str = _KEY,
    value: str = argument("VALUE", "The new value; lists with commas."),
) -> Result:
    """Change one setting in the home's config.toml; comments in it stay."""
    require_person("changing a setting")  # it names what is sent where, and whose notes are believed
    path = config_file.assign(place.home_folder, key, value)
    now = _resolved(place)[key]
    notes = [] if now.origin == "config.toml" else [f"the {now.origin} still overrides it"]
    line = f"{key} = {_shown(now.value)}{dim(f'  in {path}')}"
    return Result({"key": key, **output.plain(now), "path": path}, line, notes)


def config_unset(place: WorkPlace, key: str = _KEY) -> Result:
    """Take one setting out of config.toml, so that its default holds again."""
    require_person("changing a setting")
    removed = config_file.remove(place.home_folder, key)
    now = _resolved(place)[key]
    line = f"{key} = {_shown(now.value)}{dim(f'  [{now.origin}]')}"
    return Result({"key": key, "removed": removed, **output.plain(now)}, line)


def _resolved(place: WorkPlace) -> dict[str, config_file.Resolved]:
    return config_file.resolved(place.home_folder, root_of(place.project_folder))


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def version() -> Result:
    """Print the version."""
    from claude_memory.doctor.surroundings import sqlite_version

    python = sys.version.split()[0]
    document = {"version": __version__, "python": python, "sqlite": sqlite_version()}
    return Result(document, f"claude-memory {__version__}")
