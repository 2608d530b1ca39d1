"""What a client may read or offer by name: resources and prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError

from claude_memory.errors import NotFound
from claude_memory.model import Trust
from claude_memory.surfaces.mcp.access import Access
from claude_memory.surfaces.mcp.answers import fenced, line, moment
from claude_memory.surfaces.mcp.finding import open_memory, relations_of
from claude_memory.surfaces.mcp.planning import task_api

if TYPE_CHECKING:
    from claude_memory.memory import Memory

SESSION_ENTRIES = 100


class Resources:
    """memory://context, memory://session/{id}, memory://memory/{id}, memory://task/{name}."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def register(self, server: MCPServer) -> None:
        """Offer them to the client."""
        text, document = "text/plain", "application/json"
        for uri, read, title, kind in (
            ("memory://context", self.context, "What a session here starts with", text),
            ("memory://session/{id}", self.session, "What happened in a session", text),
            ("memory://memory/{id}", self.memory, "One memory in full", document),
            ("memory://task/{name}", self.task, "A task's documents", "text/markdown"),
        ):
            server.resource(uri, name=read.__name__, title=title, description=title, mime_type=kind)(read)

    def context(self) -> str:
        """The start context of a new session."""
        from claude_memory.surfaces.hooks.start import at_start

        return self._read(lambda memory: at_start(memory, now=datetime.now(UTC)).text)

    def session(self, id: str) -> str:  # noqa: A002  the template's published name
        """A session's compaction summaries in short, and its timeline."""
        from claude_memory.summaries.shelf import Shelf

        def read(memory: Memory) -> str:
            whole = memory.session_id(id)
            kept = Shelf(memory.home).of(whole)
            lines = [
                f"compaction {item.number:03d}: {line(item.executive, Trust.AGENT, 600)}" for item in kept
            ]
            entries = memory.timeline(before=SESSION_ENTRIES, after=0, session=whole)
            lines += [
                f"{moment(entry.timestamp)} {entry.kind}: {line(entry.title, Trust.TOOL, 160)} [{entry.id}]"
                for entry in entries
            ]
            return "\n".join(lines)

        return self._read(read)

    def memory(self, id: str) -> str:  # noqa: A002
        """One memory, its provenance and relations."""

        def read(memory: Memory) -> str:
            [item] = memory.find([id])
            bearings = relations_of(memory, [item]).get(item.id, [])
            shown = open_memory(memory, item, item.body, bearings, {"text", "provenance", "relations"})
            return shown.model_dump_json(exclude_defaults=True)

        return self._read(read)

    def task(self, name: str) -> str:
        """Scratchpad, plan and progress of a task as one document."""

        def read(memory: Memory) -> str:
            found = task_api(memory, self._access).export_task(name, "md")
            text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
            return fenced(text, Trust.AGENT, source="the task's files")

        return self._read(read)

    def _read(self, read: Callable[[Memory], str]) -> str:
        try:
            with self._access.reading() as memory:
                try:
                    return read(memory)
                except NotFound as fault:
                    raise ResourceNotFoundError(str(fault)) from None
        except ToolError as fault:
            raise ResourceError(str(fault)) from None
