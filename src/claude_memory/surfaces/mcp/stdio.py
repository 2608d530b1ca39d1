"""Requests over standard input, each made fit to be answered before the protocol's library reads it.

JSON may spell half a surrogate pair, which no text can hold. The library drops such a request without a
word, and its client waits for ever; so the half becomes the sign for "unreadable", and the call is made.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

_ESCAPED = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(line: str) -> str:
    """A request without half characters; one that is no JSON stays what it is."""
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
async def streams() -> AsyncIterator[tuple[Any, Any]]:
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
