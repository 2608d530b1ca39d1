"""Completions for what a client fills in: a resource's name or id, a prompt's subject. Only reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from claude_memory.model import SearchScope
from claude_memory.surfaces.mcp.access import Access
from claude_memory.text.quotation import plain

if TYPE_CHECKING:
    from claude_memory.memory import Memory

MOST = 100  # as many as the protocol lets one answer hold


def register(server: MCPServer, access: Access) -> None:
    """Offer them to the client."""

    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        del context
        wanted = ref.uri if isinstance(ref, ResourceTemplateReference) else ref.name
        found = await anyio.to_thread.run_sync(_found, access, wanted, argument.value)
        return Completion(values=found[:MOST], total=len(found), has_more=len(found) > MOST)

    server.completion()(complete)  # type: ignore[no-untyped-call]


def _found(access: Access, wanted: str, begun: str) -> list[str]:
    try:
        with access.reading(fresh=False) as memory:
            if wanted == "memory://memory/{id}":
                return (
                    list(memory.store.complete_id(SearchScope((memory.project.id,)), begun)) if begun else []
                )
            names = _names(access, memory, wanted)
    except ToolError:  # a completion that cannot be had is none
        return []
    return [name for name in map(plain, names) if name.casefold().startswith(begun.casefold())]


def _names(access: Access, memory: Memory, wanted: str) -> list[str]:
    if wanted == "memory://task/{name}":
        from claude_memory.surfaces.mcp.planning import task_api

        return [task.name for task in task_api(memory, access).list_tasks(all_sessions=True)]
    if wanted == "memory://session/{id}":
        found = memory.timeline(before=MOST, after=0)
        return list(dict.fromkeys(entry.session for entry in reversed(found) if entry.session))
    if wanted == "recall":
        from claude_memory.store.graph_protocol import graph_of

        common = graph_of(memory.store).common(memory.project.id, ("topic", "file"), limit=5 * MOST)
        return [entity.name for entity, _ in common]
    return []
