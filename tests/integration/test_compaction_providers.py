"""A language model may sum up, on request: whatever it answers, there is a valid summary and no secret left."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_compaction import SESSION, Session, drained, first_part

from claude_memory import Memory
from claude_memory.errors import ConfigFault
from claude_memory.model import Kind, MemoryFilter, SearchScope, StoredMemory
from claude_memory.summaries.asking import (
    Asker,
    Provider,
    Reply,
    TokenLedger,
    open_provider,
    upgrade,
)
from claude_memory.summaries.shelf import Shelf, faults

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)
ANSWER = {
    "executive": "A model told the story of the export.",
    "key_decisions": [
        {
            "topic": "queue",
            "decision": "Procrastinate",
            "rationale": "Redis is small",
            "files": [],
            "messages": [9],
        }
    ],
    "tasks_pending": ["mail with the link"],
    "conventions": ["Amounts in exports are written in cents."],
}
SECRET = "ghp_" + "k7Qw2ZrT9bXc4VnM1LsD8fGh3JpY6aUe0RtB"


class Endpoint:
    """A local endpoint of both kinds that behaves as its script says, one entry a request."""

    def __init__(self) -> None:
        self.script: list[str] = []
        self.bodies: list[bytes] = []
        self.usual = "good"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                outer.answer(self, outer.script.pop(0) if outer.script else outer.usual)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, handler: BaseHTTPRequestHandler, how: str) -> None:
        if how in ("500", "429", "401"):
            handler.send_error(int(how))
            return
        if how == "slow":
            time.sleep(0.6)
        text = {"garbage": "I cannot do that", "wrong": '{"executive": ""}'}.get(how, json.dumps(ANSWER))
        answer = self.anthropic(text) if "/v1/messages" in handler.path else self.chat(text)
        content = json.dumps(answer).encode()
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(
                {"cut": content[: len(content) // 2], "noise": b"{not json"}.get(how, content)
            )

    @staticmethod
    def anthropic(text: str) -> dict[str, Any]:
        half = len(text) // 2
        return {
            "content": [{"type": "text", "text": text[:half]}, {"type": "text", "text": text[half:]}],
            "usage": {"input_tokens": 1200, "output_tokens": 300},
        }

    @staticmethod
    def chat(text: str) -> dict[str, Any]:
        return {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1200, "completion_tokens": 300},
        }


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "project").mkdir()
    with Memory.open(tmp_path / "home", tmp_path / "project", flags={"embedder": "none"}) as opened:
        session = Session(tmp_path, opened.home, opened.project_root)
        session.person(f"the key is {SECRET}, <private>my salary is 90210</private> keep both out")
        first_part(session)
        session.compact()
        drained(opened).sum_up()
        yield opened


def both(endpoint: Endpoint, timeout_seconds: float = 5) -> list[Provider]:
    return [
        Provider("anthropic", endpoint.url, "m", "key", timeout_seconds),
        Provider("endpoint", f"{endpoint.url}/v1", "m", "key", timeout_seconds),
    ]


def kept(memory: Memory) -> dict[str, Any]:
    [one] = Shelf(memory.home).of(SESSION)
    return dict(one.document)


def upgraded(memory: Memory, provider: Provider, now: datetime = NOW, daily_tokens: int = 200_000) -> int:
    made = drained(memory)
    asker = Asker(provider, TokenLedger(made.home, daily_tokens), now=now, pause=lambda _: None)
    return len(upgrade(made, asker))


def stored(memory: Memory) -> list[StoredMemory]:
    return memory.store.memories.find(SearchScope((memory.project.id,)), MemoryFilter())


@pytest.mark.parametrize("which", [0, 1])
def test_a_models_answer_takes_the_place_of_the_rules_summary(
    memory: Memory, endpoint: Endpoint, which: int
) -> None:
    before = kept(memory)
    assert upgraded(memory, both(endpoint)[which]) == 1
    after = kept(memory)
    assert after["summary"]["executive"] == ANSWER["executive"]
    assert after["summary"]["files_modified"] == before["summary"]["files_modified"]
    assert after["original_message_range"] == before["original_message_range"]
    assert faults(after) == []
    assert after["summariser"]["provider"] in ("anthropic", "endpoint")
    assert upgraded(memory, both(endpoint)[which]) == 0
    ledger = TokenLedger(memory.home, 10**6)
    assert ledger.spent(NOW) == 1500 * len(endpoint.bodies)


def test_what_a_model_found_beyond_the_rules_is_searched_for_too(memory: Memory, endpoint: Endpoint) -> None:
    upgraded(memory, both(endpoint)[0])
    after = stored(memory)
    assert [one.body for one in after if one.kind is Kind.CONVENTION] == ANSWER["conventions"]
    assert any(one.kind is Kind.SUMMARY and one.body.startswith(str(ANSWER["executive"])) for one in after)
    assert upgraded(memory, both(endpoint)[0]) == 0
    assert stored(memory) == after  # none twice


@pytest.mark.parametrize("which", [0, 1])
def test_no_secret_and_nothing_private_is_in_a_request(
    memory: Memory, endpoint: Endpoint, which: int
) -> None:
    upgraded(memory, both(endpoint)[which])
    sent = b"".join(endpoint.bodies)
    assert b"celery" in sent.lower()
    assert SECRET.encode() not in sent
    assert b"90210" not in sent


@pytest.mark.parametrize("how", ["500", "429", "cut", "noise", "garbage", "wrong", "401"])
@pytest.mark.parametrize("which", [0, 1])
def test_whatever_goes_wrong_the_rules_summary_stands_and_is_upgraded_later(
    memory: Memory, endpoint: Endpoint, which: int, how: str
) -> None:
    provider, before = both(endpoint)[which], kept(memory)["summary"]
    endpoint.usual = how
    assert upgraded(memory, provider) == 0
    assert kept(memory)["summary"] == before
    assert faults(kept(memory)) == []
    endpoint.usual = "good"
    assert upgraded(memory, provider, NOW + timedelta(hours=1)) == 1


def test_a_busy_endpoint_is_asked_again_and_a_bad_answer_repaired_once(
    memory: Memory, endpoint: Endpoint
) -> None:
    endpoint.script = ["500", "429", "garbage", "good"]
    assert upgraded(memory, both(endpoint)[0]) == 1
    assert len(endpoint.bodies) == 4
    assert b"did not fit" in endpoint.bodies[-1]


def test_an_endpoint_that_takes_too_long_is_given_up(memory: Memory, endpoint: Endpoint) -> None:
    endpoint.usual = "slow"
    assert upgraded(memory, both(endpoint, timeout_seconds=0.1)[0]) == 0


def test_an_endpoint_that_is_down_for_long_is_left_alone_longer_and_longer(
    memory: Memory, endpoint: Endpoint
) -> None:
    endpoint.usual = "500"
    asked = []
    for minute in range(0, 120, 1):
        upgraded(memory, both(endpoint)[0], NOW + timedelta(minutes=minute))
        asked.append(len(endpoint.bodies))
    assert 3 < asked[-1] <= 3 * 5  # at 0, 5, 15, 35 and 75 minutes, three tries each
    endpoint.usual = "good"
    assert upgraded(memory, both(endpoint)[0], NOW + timedelta(days=1)) == 1


def test_the_daily_cap_holds_and_a_new_day_begins_anew(memory: Memory, endpoint: Endpoint) -> None:
    assert upgraded(memory, both(endpoint)[0], daily_tokens=100) == 0
    assert endpoint.bodies == []
    TokenLedger(memory.home, 0).note(both(endpoint)[0], "x", Reply("", 199_000, 900), now=NOW)
    assert upgraded(memory, both(endpoint)[0]) == 0
    assert upgraded(memory, both(endpoint)[0], NOW + timedelta(days=1)) == 1


def test_the_users_own_claude_is_asked_without_starting_our_hooks_again(
    memory: Memory, tmp_path: Path
) -> None:
    seen = tmp_path / "seen.json"
    program = tmp_path / "claude"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"json.dump([os.environ.get('CLAUDE_MEMORY_DISABLE'), sys.argv[1:], sys.stdin.read()], open({str(seen)!r}, 'w'))\n"
        f"print(json.dumps({{'result': {json.dumps(ANSWER)!r}, 'usage': {{'input_tokens': 7, 'output_tokens': 3}}}}))\n"
    )
    program.chmod(0o700)
    assert upgraded(memory, Provider("claude", str(program))) == 1
    marked, arguments, prompt = json.loads(seen.read_text())
    assert marked == "1"
    assert arguments[0] == "-p"
    assert SECRET not in prompt
    assert "90210" not in prompt
    assert upgraded(memory, Provider("claude", str(tmp_path / "gone"))) == 0


def test_a_long_session_is_sent_in_bounded_pieces(memory: Memory, endpoint: Endpoint, tmp_path: Path) -> None:
    session = Session(tmp_path, memory.home, memory.project_root)
    session.count = 500
    for number in range(120):
        session.person(f"question {number} " + "about the gateway and its port " * 60)
        session.agent(f"answer {number} " + "the port of the gateway is 8443 " * 60)
    session.compact()
    drained(memory).sum_up()
    upgraded(memory, both(endpoint)[0])
    assert len(endpoint.bodies) > 4
    assert max(map(len, endpoint.bodies)) < 70_000
    assert all(faults(dict(one.document)) == [] for one in Shelf(memory.home).of(SESSION))


def test_rules_are_the_default_and_an_unknown_summariser_is_refused(memory: Memory) -> None:
    assert open_provider(memory.settings) is None
    with pytest.raises(ConfigFault):
        open_provider(replace(memory.settings, summariser="oracle"))
