"""A small Messages endpoint on loopback, so that the real client runs without a network or a model.

It answers by script: a rule is a pair of (marker in the newest user text, what the model does). It
records every request body, which is where a test sees what context really reached the model.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def use(tool: str, **inputs: Any) -> Block:
    return {"type": "tool_use", "name": tool, "input": inputs}


@dataclass
class FakeModel:
    """Serves until stopped. `rules` are tried in order; the first whose marker is new in the talk wins.

    `after` are rules for what tools answered; without one the model is done then.
    """

    rules: list[tuple[str, list[Block]]]
    after: list[tuple[str, list[Block]]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    _ids: Iterator[int] = field(default_factory=itertools.count)

    def __enter__(self) -> FakeModel:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def seen_text(self) -> str:
        """Everything that reached the model, as one text."""
        return "\n".join(json.dumps(request, ensure_ascii=False) for request in self.requests)

    def answer(self, body: dict[str, Any]) -> list[Block]:
        # The client adds messages of role `system` after what the person or a tool said.
        spoken = [message for message in body.get("messages") or [] if message.get("role") == "user"]
        content = spoken[-1].get("content") if spoken else ""
        rules, otherwise, text = self.rules, "Understood.", _plain(content)
        if isinstance(content, list) and any(block.get("type") == "tool_result" for block in content):
            rules, otherwise, text = self.after, "Done.", json.dumps(content, ensure_ascii=False)
        for marker, blocks in rules:
            if marker in text:
                return [self._numbered(block) for block in blocks]
        return [say(otherwise)]

    def _numbered(self, block: Block) -> Block:
        return {**block, "id": f"toolu_{next(self._ids):020d}"} if block["type"] == "tool_use" else block


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


def _events(model: str, number: int, blocks: list[Block]) -> Iterator[tuple[str, dict[str, Any]]]:
    usage = {
        "input_tokens": 120,
        "output_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    message = {
        "id": f"msg_{number:020d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"type": "message_start", "message": message}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": start}
        yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    yield (
        "message_delta",
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 7},
        },
    )
    yield "message_stop", {"type": "message_stop"}


def _handler(fake: FakeModel) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            return

        def do_HEAD(self) -> None:
            self._json({})

        def do_GET(self) -> None:
            self._json({})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.loads(raw or b"{}")
            if "count_tokens" in self.path:
                self._json({"input_tokens": 120})
                return
            if not self.path.startswith("/v1/messages"):
                self._json({})
                return
            fake.requests.append(body)
            blocks = fake.answer(body)
            number, model = next(fake._ids), body.get("model", "fake")
            if not body.get("stream"):
                message = next(iter(_events(model, number, blocks)))[1]["message"]
                stop = "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"
                self._json({**message, "content": blocks, "stop_reason": stop})
                return
            stream = "".join(
                f"event: {name}\ndata: {json.dumps(data)}\n\n"
                for name, data in _events(model, number, blocks)
            )
            self._send("text/event-stream", stream.encode())

        def _json(self, document: dict[str, Any]) -> None:
            self._send("application/json", json.dumps(document).encode())

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler
