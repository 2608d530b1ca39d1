"""An OpenAI-compatible endpoint, against a real server on this machine that misbehaves on request."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from claude_memory.embed import endpoint, open_embedder
from claude_memory.embed.endpoint import EndpointEmbedder
from claude_memory.errors import EmbedderUnavailable
from claude_memory.settings import Settings

DIRECTIONS = {"east": [1.0, 0.0], "north": [0.0, 2.0]}


class Server:
    """Answers with what the test queued, else rightly; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.queued: list[Any] = []
        self.dimensions = 2
        self.stop = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                outer.paths.append(self.path)
                answer = outer.queued.pop(0) if outer.queued else outer.right(body)
                if answer == "hang":
                    outer.stop.wait(30)
                    return
                if answer == "close":
                    self.connection.close()
                    return
                status, content, more = answer if isinstance(answer, tuple) else (200, answer, {})
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def right(self, body: dict[str, Any]) -> bytes:
        rows = [{"index": place, "embedding": self.vector(text)} for place, text in enumerate(body["input"])]
        return json.dumps({"object": "list", "data": rows[::-1]}).encode()  # any order is allowed

    def vector(self, text: str) -> list[float]:
        known = DIRECTIONS.get(text.split(maxsplit=1)[0], [1.0, 1.0])
        return (known * self.dimensions)[: self.dimensions]


@contextlib.contextmanager
def running() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.stop.set()
        server.http.shutdown()
        thread.join(10)
        server.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as one:
        yield one


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_PAUSES_SECONDS", (0.0, 0.0))


def embedder(server: Server, **more: Any) -> EndpointEmbedder:
    return EndpointEmbedder(server.url, "small", **more)


def numbers(stored: bytes) -> list[int]:
    return np.frombuffer(stored, np.int8).tolist()


def test_texts_become_unit_vectors_in_their_own_order(server: Server) -> None:
    vectors = embedder(server).embed(["north", "east"])

    assert list(map(numbers, vectors)) == [[0, 127], [127, 0]]
    assert server.paths == ["/v1/embeddings"]
    assert server.asked[0]["model"] == "small"
    assert "authorization" not in server.headers[0]


def test_the_id_names_model_and_dimension_and_asks_once(server: Server) -> None:
    one = embedder(server)

    assert one.model == "endpoint-small-2"
    assert one.model == "endpoint-small-2"
    assert len(server.asked) == 1


def test_the_settings_lead_here_and_the_key_comes_from_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "k-123\n")
    settings = Settings(
        embedder=f"endpoint:{server.url}/v1", embedder_model="small", embedder_key_variable="MY_KEY"
    )
    opened = open_embedder(settings, tmp_path)
    assert opened is not None

    opened.embed(["east"])

    assert server.headers[0]["authorization"] == "Bearer k-123"


def test_a_missing_key_is_told_before_anything_is_sent(server: Server) -> None:
    with pytest.raises(EmbedderUnavailable, match="NO_SUCH_KEY"):
        embedder(server, key_variable="NO_SUCH_KEY").embed(["east"])
    assert server.asked == []


def test_ollamas_own_form_is_understood(server: Server) -> None:
    server.queued = [b'{"embeddings": [[0, 3]]}']
    one = EndpointEmbedder(f"{server.url}/api/embed", "small")

    assert numbers(one.embed(["x"])[0]) == [0, 127]
    assert server.paths == ["/api/embed"]


def test_many_texts_go_in_batches(server: Server) -> None:
    vectors = embedder(server).embed(["east", "north"] * 40)

    assert [len(body["input"]) for body in server.asked] == [32, 32, 16]
    assert list(map(numbers, vectors)) == [[127, 0], [0, 127]] * 40


def test_a_long_text_is_sent_whole_in_pieces_and_averaged(server: Server) -> None:
    text = "east " * 600 + "north " * 250  # 3000 bytes and 1500

    [vector] = embedder(server).embed([text])

    assert "".join(server.asked[0]["input"]) == text
    assert len(server.asked[0]["input"]) == 3
    assert numbers(vector) == [114, 57]  # two parts east, one part north


@pytest.mark.parametrize("text", ["", "  ", "\x00", "\ud800"])
def test_odd_texts_are_sent_as_something_a_server_takes(text: str, server: Server) -> None:
    assert len(embedder(server).embed([text])[0]) == 2
    assert server.asked[0]["input"][0].strip("\x00 ")


def test_a_repeated_question_is_not_asked_again(server: Server) -> None:
    one = embedder(server)
    first = one.embed(["east", "north", "east"], query=True)

    assert one.embed(["east", "north", "east"], query=True) == first
    assert [body["input"] for body in server.asked] == [["east"], ["north"]]


@pytest.mark.parametrize(
    "trouble", [(500, b"", {}), (429, b"", {"Retry-After": "0"}), (503, b"x", {}), "close"]
)
def test_passing_trouble_is_tried_again(trouble: Any, server: Server) -> None:
    server.queued = [trouble, trouble]

    assert numbers(embedder(server).embed(["east"])[0]) == [127, 0]
    assert len(server.asked) == 3


def test_lasting_trouble_is_told_after_three_attempts(server: Server) -> None:
    server.queued = [(500, b"", {})] * 5

    with pytest.raises(EmbedderUnavailable, match="HTTP 500"):
        embedder(server).embed(["east"])
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_final(status: int, server: Server) -> None:
    server.queued = [(status, b"no", {})]

    with pytest.raises(EmbedderUnavailable, match=f"HTTP {status}"):
        embedder(server).embed(["east"])
    assert len(server.asked) == 1


def test_a_server_that_hangs_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_TIMEOUT_SECONDS", 0.1)
    server.queued = ["hang"] * 3

    with pytest.raises(EmbedderUnavailable, match="timed out"):
        embedder(server).embed(["east"])


def test_nobody_listening_is_told(server: Server) -> None:
    with pytest.raises(EmbedderUnavailable, match="does not answer"):
        EndpointEmbedder("http://127.0.0.1:9", "small").embed(["east"])


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage",
        b"[]",
        b"null",
        b'{"data": []}',
        b'{"data": [{"embedding": []}]}',
        b'{"data": [{"embedding": [0, 0]}]}',
        b'{"data": [{"embedding": [NaN, 1]}]}',
        b'{"data": [{"embedding": [1e999, 1]}]}',
        b'{"data": [{"embedding": ["x"]}]}',
        b'{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}',
        b'{"embeddings": 3}',
        b'{"error": "no such model"}',
        b"[" * 100_000,
    ],
)
def test_an_answer_without_usable_vectors_is_refused(answer: bytes, server: Server) -> None:
    server.queued = [answer]

    with pytest.raises(EmbedderUnavailable, match="answer"):
        embedder(server).embed(["east"])


def test_a_changed_dimension_stops_everything(server: Server) -> None:
    one = embedder(server)
    one.embed(["east"])
    server.dimensions = 4

    with pytest.raises(EmbedderUnavailable, match="changed from 2 dimensions"):
        one.embed(["north"])


def test_a_redirect_is_refused_and_gets_no_key(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "k-123")
    with running() as other:
        server.queued = [(307, b"", {"Location": f"{other.url}/v1/embeddings"})]

        with pytest.raises(EmbedderUnavailable, match="redirects to"):
            embedder(server, key_variable="MY_KEY").embed(["east"])

        assert other.asked == []
