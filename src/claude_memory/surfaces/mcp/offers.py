"""What a client may read, pick or complete by name: resources, prompts, completions. Only reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from claude_memory.errors import NotFound
from claude_memory.model import Trust
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.search_tools import opened_memories
from claude_memory.surfaces.mcp.tool_answers import fenced, line, moment
from claude_memory.text.quotation import plain

if TYPE_CHECKING:
    from claude_memory.memory import Memory

SESSION_ENTRIES = 100
MOST_COMPLETIONS = 100  # as many as the protocol lets one answer hold

RECALL = """\
Find out what is known here about: {subject}

1. search_memory with the question in your own words; try other words once if the hits are weak.
2. timeline around the best hit if the order of events matters; get_memories for the two or three that count.
3. Answer from what you found, name the ids, and say what is superseded, contradicted or missing."""

HANDOVER = """\
Hand this session's work over to whoever continues it{about}.

1. remember each decision, correction, fix and convention of this session that is not stored yet, one at a
   time, with topics and files; supersede what no longer holds.
2. intention set for what is left to do, tied to its files or a time; intention complete for what is done.
3. If a task is under way, task append where it stands.
4. End with a short note: what was done, what is open, where to begin."""


def register(server: MCPServer, access: Access) -> None:
    """Offer all of it to the client."""

    def read(of: Callable[..., str], *name: str) -> str:
        try:
            with access.reading() as memory:
                try:
                    return of(memory, *name)
                except NotFound as fault:
                    raise ResourceNotFoundError(str(fault)) from None
        except ToolError as fault:
            raise ResourceError(str(fault)) from None

    def by_id(of: Callable[..., str]) -> Callable[[str], str]:
        return lambda id: read(of, id)  # noqa: A006  the template's published name

    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        _: CompletionContext | None,
    ) -> Completion | None:
        wanted = ref.uri if isinstance(ref, ResourceTemplateReference) else ref.name
        names = await anyio.to_thread.run_sync(_completed, access, wanted, argument.value)
        has_more = len(names) > MOST_COMPLETIONS
        return Completion(values=names[:MOST_COMPLETIONS], total=len(names), has_more=has_more)

    for uri, name, reads, title, kind in (
        (
            "memory://context",
            "context",
            lambda: read(_context),
            "What a session here starts with",
            "text/plain",
        ),
        ("memory://session/{id}", "session", by_id(_session), "What happened in a session", "text/plain"),
        ("memory://memory/{id}", "memory", by_id(_memory), "One memory in full", "application/json"),
        (
            "memory://task/{name}",
            "task",
            lambda name: read(_task, name),
            "A task's documents",
            "text/markdown",
        ),
    ):
        server.resource(uri, name=name, title=title, description=title, mime_type=kind)(reads)
    server.prompt(title="Recall", description="Find what is known about a subject.")(recall)
    server.prompt(title="Hand over", description="Leave this session's work to the next.")(handover)
    server.completion()(complete)  # type: ignore[no-untyped-call]


def recall(subject: str) -> str:
    return RECALL.format(subject=subject)


def handover(focus: str = "") -> str:
    return HANDOVER.format(about=f", above all {focus}" if focus else "")


def _context(memory: Memory) -> str:
    """The start context of a new session."""
    from claude_memory.surfaces.hooks.start import at_start

    return at_start(memory, now=datetime.now(UTC)).text


def _session(memory: Memory, id_: str) -> str:
    """A session's compaction summaries in short, and its timeline."""
    whole = memory.session_id(id_)
    lines = [
        f"compaction {item.number:03d}: {line(item.executive, Trust.AGENT, 600)}"
        for item in memory.summaries.shelf.of(whole)
    ]
    lines += [
        f"{moment(entry.timestamp)} {entry.kind}: {line(entry.title, Trust.TOOL, 160)} [{entry.id}]"
        for entry in memory.timeline(before=SESSION_ENTRIES, after=0, session=whole)
    ]
    return "\n".join(lines)


def _memory(memory: Memory, id_: str) -> str:
    """One memory, its provenance and relations."""
    return opened_memories(memory, memory.find([id_])).memories[0].model_dump_json()


def _task(memory: Memory, name: str) -> str:
    """Scratchpad, plan and progress of a task as one document."""
    return fenced(str(memory.tasks.export_task(name, "md")), Trust.AGENT, source="the task's files")


def _completed(access: Access, wanted: str, begun: str) -> list[str]:
    try:
        with access.reading(fresh=False) as memory:
            if wanted == "memory://memory/{id}":
                return memory.ids_beginning(begun)
            names = _names(memory, wanted)
    except ToolError:  # a completion that cannot be had is none
        return []
    return [name for name in map(plain, names) if name.casefold().startswith(begun.casefold())]


def _names(memory: Memory, wanted: str) -> list[str]:
    if wanted == "memory://task/{name}":
        return [task.name for task in memory.tasks.list_tasks(all_sessions=True)]
    if wanted == "memory://session/{id}":
        entries = memory.timeline(before=MOST_COMPLETIONS, after=0)
        return list(dict.fromkeys(entry.session for entry in reversed(entries) if entry.session))
    return memory.graph.subjects(5 * MOST_COMPLETIONS) if wanted == "recall" else []
