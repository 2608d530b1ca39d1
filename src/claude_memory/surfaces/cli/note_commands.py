"""Commands about the plain files: log, reflect, lesson, decide, buffer, distill, notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from claude_memory.model import Trust
from claude_memory.platform.agents import own_trust
from claude_memory.surfaces.cli import output
from claude_memory.surfaces.cli.command import (
    AllProjects,
    AsUser,
    Json,
    Result,
    Text,
    Yes,
    argument,
    option,
    whole_text,
)
from claude_memory.surfaces.cli.output import bold, dim, styled

if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.notes.person_files import SessionLine
    from claude_memory.notes.text_files import FileProblem


class Reflecting(StrEnum):
    """What a reflection is."""

    PATTERN = "pattern"
    REFLECTION = "reflection"
    IDEA = "idea"


def log(
    memory: Memory,
    days: Annotated[int, option("N", "How many days to show.", min=1, max=366)] = 3,
    all_projects: AllProjects = False,
) -> Result:
    """Show what the last sessions were, or add one."""
    memory.drain(budget_seconds=1.0)
    lines, problems = memory.notes.sessions(days, all_projects=all_projects)
    _report(problems)
    document = [{**line.record(), "file": line.path, "line": line.line} for line in lines]
    nothing = f"no session was written down in the last {days} days"
    return Result(document, [shown for line in lines for shown in _session(line)], nothing=nothing)


def _session(line: SessionLine) -> Iterator[str]:
    yield f"{dim(f'{line.date} {line.time}')}  {bold(line.summary or line.session)}"
    for name in ("decisions", "artifacts", "open_threads"):
        label = dim(f"    {name.replace('_', ' ').rstrip('s')}:")
        yield from (f"{label} {text}" for text in getattr(line, name))


def log_add(
    memory: Memory,
    text: Text,
    title: Annotated[str | None, option("TITLE", "A name for the session.")] = None,
    decision: Annotated[list[str] | None, option("TEXT", "Something that was decided, with its why.")] = None,
    artifact: Annotated[list[str] | None, option("FILE", "Something that was made.")] = None,
    open_thread: Annotated[
        list[str] | None, option("TEXT", "Something that is left to do.", "--open")
    ] = None,
) -> Result:
    """Add a line to today's session log."""
    path, line = memory.notes.add_session(
        whole_text(text),
        title=title or "",
        decisions=decision or [],
        artifacts=artifact or [],
        open_threads=open_thread or [],
    )
    return _written(path, line.record())


def reflect(
    memory: Memory,
    type_: Annotated[Reflecting, argument("TYPE", "`pattern`, `reflection` or `idea`.")],
    text: Text,
    as_user: AsUser = False,
) -> Result:
    """Write down a pattern, a reflection or an idea; it is read at the start of every session."""
    path, made = memory.notes.reflect(type_.value, whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"type": made.kind.value, "content": made.body})


def lesson(memory: Memory, text: Text, as_user: AsUser = False) -> Result:
    """Add a lesson to tasks/lessons.md."""
    path, content = memory.notes.add_lesson(whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"lesson": content})


def decide(
    memory: Memory,
    text: Text,
    why: Annotated[str, option("REASON", "Why it was decided so.")] = "",
    as_user: AsUser = False,
) -> Result:
    """Add a decision and its reason to the table in the project's MEMORY.md."""
    path, what, reason = memory.notes.decide(whole_text(text), why, by_agent=_by_agent(as_user))
    return _written(path, {"decision": what, "why": reason})


def buffer(memory: Memory) -> Result:
    """Show, add to or clear the working buffer."""
    return buffer_show(memory)


def buffer_show(memory: Memory) -> Result:
    """Print the working buffer."""
    content, path = memory.notes.buffer(), memory.notes.files.buffer
    _report(content.problems)
    lines = [line for _, line in content.lines if not line.startswith("<!-- claude-memory:")]
    shown = lines if content.text.strip() else []
    return Result({"file": path, "text": content.text}, shown, nothing="the working buffer is empty")


def buffer_add(memory: Memory, text: Text, as_user: AsUser = False) -> Result:
    """Add an entry to the working buffer."""
    path, entry = memory.notes.add_to_buffer(whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"entry": entry})


def buffer_clear(memory: Memory, yes: Yes = False) -> Result:
    """Empty the marked blocks of the working buffer; what a person wrote around them stays."""
    path = memory.notes.files.buffer
    output.confirm(f"clear {path}?", yes=yes)
    changed = memory.notes.clear_buffer()
    return Result({"file": path, "cleared": changed}, "cleared" if changed else "nothing to clear")


def distill(
    memory: Memory,
    days: Annotated[int, option("N", "How far back to look.", min=1, max=3660)] = 14,
    yes: Yes = False,
    json: Json = False,
) -> Result:
    """Propose what of the daily logs belongs into MEMORY.md: shows a diff, applies it on yes."""
    proposal, path = memory.notes.propose(days), memory.notes.files.memory
    lines = proposal.diff.splitlines() if proposal.lines else ["nothing new in the daily logs"]
    if not json:  # before the question
        output.lines(map(_coloured, lines))
    wanted = bool(proposal.lines) and (yes or not json)
    if wanted:
        output.confirm(f"apply this to {path}?", yes=yes)
        memory.notes.apply(proposal)
    shown = {"proposed": list(proposal.lines), "diff": proposal.diff, "applied": wanted}
    return Result({"file": path, **shown}, [])


def notes_add(
    memory: Memory,
    name: Annotated[str, argument("NAME", "The note, by its title; made if missing.")],
    text: Text,
    as_user: AsUser = False,
) -> Result:
    """Add to a note of the knowledge base, or begin one."""
    path = memory.notes.add_note(name, whole_text(text), by_agent=_by_agent(as_user))
    return _written(path, {"note": path.stem})


def notes_sync(memory: Memory) -> Result:
    """Bring the plain files up to the last sessions, and read what people changed, whatever time it takes.

    Files that are committed with a repository (`--layout repo`) are brought up only by this.
    """
    done = memory.notes.sync()
    memory.embed_pending()
    _report(done.problems)
    problems = [{"file": item.path, "line": item.line, "reason": item.reason} for item in done.problems]
    shown = (
        f"{done.files} files, {done.read} read anew: {done.added} pieces added, {done.changed} changed, "
        f"{done.hidden} gone, {done.renamed} files renamed"
    )
    return Result({**output.plain(done), "problems": problems}, shown)


def notes_status(memory: Memory) -> Result:
    """Show the folders of the knowledge base and what of them is indexed."""
    folders = memory.notes.knowledge()
    lines = []
    for item in folders:
        counts = f"{item.notes} notes, {item.indexed} indexed in {item.pieces} pieces"
        lines.append(f"{bold(item.folder)}  {counts if item.exists else 'no such folder'}")
    return Result(folders, lines)


def _by_agent(as_user: bool) -> bool:
    """Whether what is written down is an agent's word; an agent that claims otherwise is refused."""
    return own_trust(as_user=as_user) is not Trust.USER


def _written(path: Path, document: dict[str, Any]) -> Result:
    return Result({**document, "file": path}, f"written to {bold(path)}")


def _report(problems: Iterable[FileProblem]) -> None:
    for problem in problems:
        output.note(f"{problem.path}:{problem.line}: {problem.reason}")


def _coloured(line: str) -> str:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return styled(style, line) if style else line
