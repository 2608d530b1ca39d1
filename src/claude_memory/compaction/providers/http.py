"""One streamed request over HTTP with the standard library: events in, a reason out when it fails."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from claude_memory.compaction.providers.protocol import ProviderDown

TIMEOUT_SECONDS = 60.0
MAX_SECONDS = 300.0  # a model that never ends is as good as down
MAX_BYTES = 8 << 20


def stream(
    url: str, body: Mapping[str, Any], headers: Mapping[str, str], timeout_seconds: float = TIMEOUT_SECONDS
) -> Iterator[dict[str, Any]]:
    """The JSON documents of a stream of server-sent events, or the one document of a plain answer."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProviderDown(f"not a web address: {url!r}", lasting=True)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=timeout_seconds)
    try:
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        connection.request(
            "POST", parts.path or "/", content, {"content-type": "application/json", **headers}
        )
        answer = connection.getresponse()
        if answer.status != 200:
            # 4xx will be the same next time, but for a busy server and a slow network.
            lasting = 400 <= answer.status < 500 and answer.status not in (408, 409, 425, 429)
            raise ProviderDown(f"the endpoint answered {answer.status}", lasting=lasting)
        yield from _documents(answer)
    except (OSError, http.client.HTTPException) as fault:
        raise ProviderDown(f"the endpoint cannot be reached: {type(fault).__name__}") from None
    finally:
        connection.close()


def _documents(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    streamed = "event-stream" in (answer.getheader("content-type") or "")
    end, read = time.monotonic() + MAX_SECONDS, 0
    if not streamed:
        yield _document(answer.read(MAX_BYTES))
        return
    for raw in answer:
        read += len(raw)
        if read > MAX_BYTES or time.monotonic() > end:
            raise ProviderDown("the endpoint did not come to an end")
        line = raw.strip()
        if line.startswith(b"data:") and line != b"data: [DONE]":
            yield _document(line[5:])


def _document(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise ProviderDown("the endpoint answered no JSON") from None
    if not isinstance(found, dict):
        raise ProviderDown("the endpoint answered no JSON object")
    if "error" in found:
        raise ProviderDown("the endpoint reported an error")
    return found


def number(value: Any, key: str) -> int:
    """A count in an answer; what is none counts as nothing."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0
