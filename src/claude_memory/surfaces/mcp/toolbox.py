"""The ten tools as a client sees them: names, hints, lean schemas, arguments checked with words.

Schemas lose what costs tokens and tells a model nothing; the descriptions are the functions' own.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from io import TextIOWrapper
from typing import Annotated, Any, get_type_hints

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from claude_memory.surfaces.mcp import knowledge_tools, search_tools, writing_tools
from claude_memory.surfaces.mcp.tool_answers import Access, ToolAnswer, given

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
# Names that a tool publishes and Python keeps for itself.
_RENAMED = {"from": "from_"}
_PUBLISHED = {own: published for published, own in _RENAMED.items()}
_ESCAPED = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")


class ToolServer(MCPServer):
    """A server whose complaints about arguments are one line that says what to do."""

    async def run_stdio_async(self) -> None:
        """Serve over standard input and output."""
        async with _streams() as (requests, answers):
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(requests, answers, options)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; null stands for the default, an unknown argument is an error."""
        tool = self._tool_manager.get_tool(name)
        if tool is not None:
            _refuse_unknown(tool, arguments)
        given = {_RENAMED.get(key, key): value for key, value in arguments.items() if value is not None}
        try:
            return await super().call_tool(name, given, context)
        except ToolError as fault:
            if isinstance(fault.__cause__, ValidationError):
                raise ToolError(_complaint(name, fault.__cause__)) from None
            told = str(fault).removeprefix(f"Error executing tool {name}: ")
            if told == str(fault):
                raise
            raise ToolError(told) from None


TOOLS: tuple[tuple[Callable[..., ToolAnswer], ToolAnnotations], ...] = (
    (search_tools.search_memory, READS),
    (search_tools.timeline, READS),
    (search_tools.get_memories, READS),
    (knowledge_tools.get_summary, READS),
    (knowledge_tools.get_project_knowledge, READS),
    (knowledge_tools.explore_connections, READS),
    (writing_tools.remember, ADDS),
    (writing_tools.revise, CHANGES),
    (writing_tools.intention, CHANGES),
    (writing_tools.task, ADDS),
)


def add_tools(server: MCPServer, access: Access) -> None:
    """Give the server its tools."""
    for function, hints in TOOLS:
        description = " ".join((inspect.getdoc(function) or "").split())
        called = _bound(function, access)
        server.add_tool(called, description=description, annotations=hints, structured_output=True)
        tool = server._tool_manager.get_tool(function.__name__)
        assert tool is not None
        tool.parameters = lean(tool.parameters)
        tool.fn_metadata.output_schema = lean(tool.fn_metadata.output_schema or {}, output=True)


def _bound(function: Callable[..., ToolAnswer], access: Access) -> Callable[..., CallToolResult]:
    """A tool as the library calls it: without `access`, and with a result of a known schema."""
    types = get_type_hints(function, include_extras=True)
    parameters = [
        item.replace(annotation=types[name])
        for name, item in inspect.signature(function).parameters.items()
        if name != "access"
    ]

    def called(**arguments: Any) -> CallToolResult:
        return given(function(access, **arguments))

    called.__name__ = function.__name__
    result = Annotated[CallToolResult, types["return"]]
    called.__signature__ = inspect.Signature(parameters, return_annotation=result)  # type: ignore[attr-defined]
    called.__annotations__ = {**types, "return": result}
    return called


def lean(schema: Mapping[str, Any], *, output: bool = False) -> dict[str, Any]:
    """A schema without what costs tokens and tells nothing: titles, empty defaults, prose about answers."""
    dropped = {"title", "additionalProperties"} | ({"description", "default"} if output else set())
    kept = {key: value for key, value in schema.items() if key not in dropped}
    if kept.get("default") in ("", []):
        del kept["default"]
    if "anyOf" in kept:
        kept["type"] = [option["type"] for option in kept.pop("anyOf")]
    for group in ("properties", "$defs"):
        if group in kept:
            kept[group] = {
                _PUBLISHED.get(name, name): lean(inner, output=output) for name, inner in kept[group].items()
            }
    if "required" in kept:
        kept["required"] = [_PUBLISHED.get(name, name) for name in kept["required"]]
    if isinstance(kept.get("items"), dict):
        kept["items"] = lean(kept["items"], output=output)
    return kept


def _refuse_unknown(tool: Tool, arguments: Mapping[str, Any]) -> None:
    known = tool.parameters.get("properties", {})
    unknown = [name for name in arguments if name not in known]
    if unknown:
        raise ToolError(
            f"{tool.name} takes no {', '.join(repr(name[:40]) for name in unknown[:3])}; "
            f"it takes {', '.join(known)}"
        )


def _complaint(tool: str, fault: ValidationError) -> str:
    """What is wrong with the arguments, in one line each, without echoing them."""
    told = []
    for error in fault.errors(include_url=False, include_context=False, include_input=False)[:5]:
        place = ".".join(_PUBLISHED.get(str(part), str(part)) for part in error["loc"])
        told.append(f"{place}: {error['msg'][0].lower()}{error['msg'][1:]}")
    return f"{tool}: {'; '.join(told)}"


def whole(line: str) -> str:
    """A request without half characters; one that is no JSON stays what it is.

    JSON may spell half a surrogate pair, which no text can hold. The library drops such a request without a
    word, and its client waits for ever; so the half becomes the sign for "unreadable", and the call is made.
    """
    if not _ESCAPED.search(line):
        return line
    try:
        document = json.loads(line)
        # Dumped as it is, a pair is one character again, and only what is left alone is replaced.
        text = json.dumps(document, ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return _SURROGATE.sub("\ufffd", text) + "\n"


class _Requests(TextIOWrapper):
    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        return whole(super().readline(size))


@asynccontextmanager
async def _streams() -> AsyncIterator[tuple[Any, Any]]:
    """The client's requests and the way back; handlers and children find standard input empty."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    # Never closed: a thread may still wait for a line when the server ends.
    source = os.fdopen(private, "rb", closefd=False)
    requests = _Requests(source, encoding="utf-8", errors="replace")
    async with stdio_server(stdin=anyio.wrap_file(requests)) as found:
        yield found
