"""One streamed request over HTTP with the standard library: events in, a reason out when it fails."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from claude_memory.summaries.model import about_tokens
from claude_memory.summaries.providers.protocol import ProviderDown, Reply

TIMEOUT_SECONDS = 60.0
MAX_SECONDS = 300.0  # a model that never ends is as good as down
MAX_BYTES = 8 << 20
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


@dataclass(slots=True)
class Answer:
    """What came of an answer so far; what the endpoint does not count is estimated."""

    parts: list[str] = field(default_factory=list)
    read: int = 0
    written: int = 0
    ended: bool = False

    def reply(self, asked: str) -> Reply:
        """The answer to what was asked, with its cost."""
        text = "".join(self.parts)
        return Reply(text, self.read or about_tokens(asked), self.written or about_tokens(text))


class _BrokenOff(ProviderDown):
    """It failed after the request had been sent: what was read and written by then may be billed."""


def answer(
    place: tuple[str, str],
    body: Mapping[str, Any],
    headers: Mapping[str, str],
    take: Callable[[Mapping[str, Any], Answer], None],
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Reply:
    """A streamed answer put together by `take`; one that breaks off says what it cost."""
    got, asked = Answer(), json.dumps(body, ensure_ascii=False)
    try:
        for event in _stream(place, asked, headers, timeout_seconds):
            take(event, got)
        if not got.ended:
            raise _BrokenOff("the answer broke off")
    except _BrokenOff as fault:
        fault.cost = got.reply(asked)
        raise
    return got.reply(asked)


def _stream(
    place: tuple[str, str], asked: str, headers: Mapping[str, str], timeout_seconds: float
) -> Iterator[dict[str, Any]]:
    """The JSON documents of a stream of server-sent events, or the one document of a plain answer."""
    connection, target = _opened(*place, timeout_seconds)
    sent = False
    try:
        content = asked.encode("utf-8", "replace")
        connection.request("POST", target, content, {"content-type": "application/json", **headers})
        sent = True
        answer = connection.getresponse()
        if answer.status != 200:
            # 4xx will be the same next time, but for a busy server and a slow network.
            lasting = 400 <= answer.status < 500 and answer.status not in (408, 409, 425, 429)
            raise ProviderDown(f"the endpoint answered {answer.status}", lasting=lasting)
        yield from _documents(answer)
    except (OSError, http.client.HTTPException) as fault:
        kind = _BrokenOff if sent else ProviderDown
        raise kind(f"the endpoint cannot be reached: {type(fault).__name__}") from None
    except ValueError:  # its text may quote the key
        if sent:
            raise _BrokenOff("the answer cannot be read") from None
        raise ProviderDown(
            "the key or the address has characters that cannot be sent", lasting=True
        ) from None
    finally:
        connection.close()


def _opened(base: str, path: str, timeout_seconds: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection to the endpoint, and what to ask it for; a query of its address stays behind the path."""
    try:
        parts = urllib.parse.urlsplit(base)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https"):
        raise ProviderDown("the endpoint's address is none: it begins with http:// or https://", lasting=True)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    target = parts.path.rstrip("/") + path + (f"?{parts.query}" if parts.query else "")
    try:
        return kind(host, port, timeout=timeout_seconds), target
    except http.client.InvalidURL:
        raise ProviderDown("the endpoint's address names no host", lasting=True) from None


def _documents(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    streamed = "event-stream" in (answer.getheader("content-type") or "")
    end, read = time.monotonic() + MAX_SECONDS, 0
    if not streamed:
        yield _document(answer.read(MAX_BYTES))
        return
    for raw in answer:
        read += len(raw)
        if read > MAX_BYTES or time.monotonic() > end:
            raise _BrokenOff("the endpoint did not come to an end")
        line = raw.strip()
        if line.startswith(b"data:") and (data := line[5:].strip()) != b"[DONE]":
            yield _document(data)


def _document(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise _BrokenOff("the endpoint answered no JSON") from None
    if not isinstance(found, dict):
        raise _BrokenOff("the endpoint answered no JSON object")
    if "error" in found:
        raise _BrokenOff("the endpoint reported an error")
    return found


def number(value: Any, key: str) -> int:
    """A count in an answer; what is none counts as nothing."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0


def tokens_read(usage: Any) -> int:
    """What a model of Anthropic's read: what went into its cache, or came out of it, was read too."""
    return sum(number(usage, key) for key in _READ)
