"""Commands that tie the memory to agents: install, uninstall, mcp, context, ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from claude_memory.platform.project import root_of
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    Result,
    WorkPlace,
    flag,
    one_at_most,
    one_of,
    option,
    time_option,
)

if TYPE_CHECKING:
    from claude_memory.install.installer import InstallStep
    from claude_memory.memory import Memory


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


def _step_lines(step: InstallStep, *, dry_run: bool) -> Iterator[output.Line]:
    done = ("would change" if dry_run else "changed") if step.changed else "up to date"
    yield [(f"{done}: ", ""), (step.what, "bold"), (f"  {step.path}", "dim")]
    if dry_run and step.changed:
        yield from ([(f"  {line}", "dim")] for line in step.difference.splitlines())


def uninstall(
    place: WorkPlace,
    agent: Annotated[str | None, option(None, "Only this agent; default all.", callback=_installable)] = None,
) -> Result:
    """Take the memory out of agents; their files come back as they were, your memories stay."""
    from claude_memory.install.installer import uninstall

    steps = uninstall(place.home_folder, agent, root_of(place.project_folder))
    lines = [[("removed: ", ""), (step.what, "bold"), (f"  {step.path}", "dim")] for step in steps]
    return Result(steps, lines, [] if steps else ["nothing of ours was installed"])


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
    lines: list[output.Line] = []
    for line in given:
        lines.append(
            [
                (f"{line.day}  ", "dim"),
                (f"{line.tokens:>6} tokens  ", "bold"),
                (f"{line.times:>4}×  {line.memories:>4} memories  ", ""),
                (f"{line.given_at:<18} {line.session or '-'}", ""),
            ]
        )
        lines += ([(f"{'':12}used: {use}", "dim")] for use in line.used)
    return Result(given, lines, [] if given else ["no hook has given anything in this project yet"])


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
    lines = [
        [(line, ""), (f"  ← {why[line]}" if why.get(line) else "", "dim")] for line in offer.text.splitlines()
    ]
    state = ", but the setting context_off switches it off" if is_off else ""
    return Result(
        document, lines, [f"{offer.tokens} tokens{state}" if offer.text else "nothing would be given"]
    )


def _tasks_told(memory: Memory, max_tokens: int) -> Result:
    tasks = memory.tasks
    text = tasks.get_context(max_tokens=max_tokens)
    session = tasks.session_manager.current_id()
    nothing = "no tasks yet, so a sub-agent would be told nothing"
    return Result(
        {"session": session, "storage": tasks.storage.folder, "text": text},
        [[(line, "")] for line in text.split("\n")] if text else [],
        [] if text else [nothing],
    )
