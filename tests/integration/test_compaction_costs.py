"""What a language model costs is counted, capped and never paid twice; its faults stay its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_compaction import SESSION, Session, drained, first_part

from claude_memory import Memory
from claude_memory.summaries import asking
from claude_memory.summaries.asking import (
    Asker,
    Provider,
    ProviderDown,
    Reply,
    TokenLedger,
    open_provider,
    upgrade,
)
from claude_memory.summaries.shelf import KeptSummary, Shelf
from claude_memory.summaries.summary_book import SummaryBook

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)
OTHER = "0d7d4a52-1f0b-4f7e-8a55-6b0f3c2d9e10"
ANSWER = {"executive": "A model told the story of the export."}
BILLED = {"input_tokens": 3, "cache_creation_input_tokens": 18_000, "cache_read_input_tokens": 14_000}


class Model:
    """A model that answers as it is told to, one entry a request, and counts what it was asked."""

    name, model = "fake", "m"

    def __init__(self, *answers: str | ProviderDown, tokens: int = 1_000) -> None:
        self.answers, self.tokens = list(answers), tokens
        self.prompts: list[str] = []

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if self.answers else json.dumps(ANSWER)
        if isinstance(answer, ProviderDown):
            raise answer
        return Reply(answer, self.tokens, 100)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "project").mkdir()
    with Memory.open(tmp_path / "home", tmp_path / "project", flags={"embedder": "none"}) as opened:
        yield opened


def compacted(tmp_path: Path, memory: Memory, session: str = SESSION, **more: Any) -> SummaryBook:
    talk = Session(tmp_path, memory.home, memory.project_root)
    talk.path = talk.path.with_name(f"{session}.jsonl")
    talk.count = 0 if session == SESSION else 300
    first_part(talk)
    for number in range(more.get("long", 0)):
        talk.person(f"question {number} " + "about the gateway and its port " * 60)
        talk.agent(f"answer {number} " + "the port of the gateway is 8443 " * 60)
    talk.compact()
    if session != SESSION:
        talk.path.write_text(talk.path.read_text().replace(SESSION, session))
        for spooled in (memory.home / "spool" / "new").iterdir():
            spooled.write_bytes(spooled.read_bytes().replace(SESSION.encode(), session.encode()))
    made = drained(memory)
    made.sum_up()
    return made


def upgraded(made: SummaryBook, model: Provider, now: datetime = NOW) -> list[KeptSummary]:
    ledger = TokenLedger(made.home, made.settings.summariser_daily_tokens)
    asker = Asker(model, ledger, now=now, pause=lambda _: None)
    return upgrade(made, asker)


def by(memory: Memory, session: str = SESSION) -> dict[str, Any]:
    [one] = Shelf(memory.home).of(session)
    return dict(one.document["summariser"])


def spent(memory: Memory) -> int:
    return TokenLedger(memory.home, 0).spent(NOW)


# --- a provider's faults are ProviderDown and quote nothing


class Raw:
    """An endpoint that sends exactly the bytes it is given."""

    def __init__(self, content: bytes) -> None:
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                outer.paths.append(self.path)
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def test_a_key_with_a_line_end_around_it_is_taken_without(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Raw(b'{"content": [{"type": "text", "text": "yes"}]}') as endpoint:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-key\n")
        provider = open_provider(replace(memory.settings, summariser=f"anthropic:{endpoint.url}"))
        assert provider is not None
        assert provider.complete("s", "p", 10).text == "yes"


@pytest.mark.parametrize("key", ["sk-ant-one\nsk-ant-two", "sk-ant-schlüssel-ключ"])
def test_a_key_that_cannot_be_sent_is_never_quoted(key: str) -> None:
    with pytest.raises(ProviderDown) as fault:
        Provider("anthropic", "http://127.0.0.1:9", "m", key).complete("s", "p", 10)
    assert fault.value.lasting
    assert "sk-ant" not in str(fault.value)


@pytest.mark.parametrize(
    "place", ["http://localhost:port", "http://[::1/v1", "http://", "ftp://x", "", "http://h:99999"]
)
def test_an_address_that_is_none_is_a_lasting_fault(place: str) -> None:
    with pytest.raises(ProviderDown) as fault:
        Provider("endpoint", place, "m").complete("s", "p", 10)
    assert fault.value.lasting


@pytest.mark.parametrize("content", [b'{"choices": 5}', b'{"choices": [5]}', b"[" * 100_000, b"5", b""])
def test_an_answer_of_another_shape_is_a_fault(content: bytes) -> None:
    with Raw(content) as endpoint, pytest.raises(ProviderDown):
        Provider("endpoint", endpoint.url, "m").complete("s", "p", 10)


def test_the_query_of_an_address_is_sent() -> None:
    with Raw(b'{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}]}') as endpoint:
        reply = Provider("endpoint", f"{endpoint.url}/v1/?api-version=3", "m").complete("s", "p", 10)
    assert reply.text == "yes"
    assert endpoint.paths == ["/v1/chat/completions?api-version=3"]


def program(tmp_path: Path, printed: str, code: int = 0) -> Provider:
    (tmp_path / "printed").write_text(printed)
    path = tmp_path / "claude"
    path.write_text(f"#!/bin/sh\ncat >/dev/null\ncat '{tmp_path}/printed'\nexit {code}\n")
    path.chmod(0o700)
    return Provider("claude", str(path))


def test_whatever_the_users_own_claude_prints_is_an_answer_or_a_fault(tmp_path: Path) -> None:
    for printed in ("[" * 100_000, "", "5", '{"result": 5}'):
        with pytest.raises(ProviderDown):
            program(tmp_path, printed).complete("s", "p", 10)


# --- every token counts


def test_what_a_cache_read_or_took_in_was_read(tmp_path: Path) -> None:
    usage = {**BILLED, "output_tokens": 5}
    reply = program(tmp_path, json.dumps({"result": "x", "usage": usage})).complete("s", "p", 10)
    assert (reply.input_tokens, reply.output_tokens) == (32_003, 5)
    answer = {"content": [{"type": "text", "text": "x"}], "usage": BILLED}
    with Raw(json.dumps(answer).encode()) as endpoint:
        assert Provider("anthropic", endpoint.url, "m", "k").complete("s", "p", 10).input_tokens == 32_003


def test_an_answer_that_breaks_off_says_what_it_cost(tmp_path: Path) -> None:
    with (
        Raw(b'{"content": [], "usage": {"input_tokens": 1200}}') as endpoint,
        pytest.raises(ProviderDown) as fault,
    ):
        Provider("anthropic", endpoint.url, "m", "k").complete("s", "p", 10)
    assert fault.value.cost is not None
    assert fault.value.cost.input_tokens == 1_200
    failed = program(tmp_path, json.dumps({"is_error": True, "usage": BILLED}), code=1)
    with pytest.raises(ProviderDown) as fault:
        failed.complete("s", "p", 10)
    assert fault.value.cost is not None
    assert fault.value.cost.input_tokens == 32_003


def test_every_attempt_that_was_billed_is_in_the_ledger(tmp_path: Path, memory: Memory) -> None:
    made = compacted(tmp_path, memory)
    cut = [ProviderDown("the answer broke off", cost=Reply("", 900, 20)) for _ in range(3)]
    assert upgraded(made, Model(*cut)) == []
    assert spent(memory) == 3 * 920


# --- the day's budget


def test_a_session_too_long_for_what_is_left_of_the_day_is_not_begun(tmp_path: Path, memory: Memory) -> None:
    made = compacted(tmp_path, memory, long=120)
    TokenLedger(memory.home, 0).note(Model(), "x", Reply("", 150_000, 0), now=NOW)
    model = Model()
    assert upgraded(made, model) == []
    assert model.prompts == []
    assert "tries" not in by(memory)
    assert len(upgraded(made, model, NOW + timedelta(days=1))) == 1


def test_a_session_too_long_for_any_day_is_given_up_without_a_request(tmp_path: Path, memory: Memory) -> None:
    made = compacted(tmp_path, memory, long=120)
    small = replace(made, settings=replace(made.settings, summariser_daily_tokens=30_000))
    model = Model()
    assert upgraded(small, model) == []
    assert model.prompts == []
    assert by(memory)["tries"] == 1


def test_a_model_that_takes_more_than_expected_is_stopped_before_the_day_is_spent(
    tmp_path: Path, memory: Memory
) -> None:
    made = compacted(tmp_path, memory, long=120)
    model = Model(tokens=60_000)
    assert upgraded(made, model) == []
    assert spent(memory) <= made.settings.summariser_daily_tokens
    assert by(memory)["tries"] == 1


def test_a_long_session_does_not_keep_the_day_from_a_short_one(tmp_path: Path, memory: Memory) -> None:
    compacted(tmp_path, memory, OTHER)
    made = compacted(tmp_path, memory, long=120)
    TokenLedger(memory.home, 0).note(Model(), "x", Reply("", 150_000, 0), now=NOW)
    assert [one.session for one in upgraded(made, Model())] == [OTHER]


# --- the fault of one summary is no outage


def test_a_summary_that_a_model_cannot_do_holds_up_no_other(tmp_path: Path, memory: Memory) -> None:
    compacted(tmp_path, memory, OTHER)
    made = compacted(tmp_path, memory)
    assert [one.session for one in upgraded(made, Model("no", "no"))] == [OTHER]
    assert by(memory) == {"provider": "rules", "tries": 1}
    assert len(upgraded(made, Model())) == 1  # at once: the endpoint did answer


def test_messages_without_anything_said_are_never_asked_about(tmp_path: Path, memory: Memory) -> None:
    talk = Session(tmp_path, memory.home, memory.project_root)
    talk.person("<command-name>/compact</command-name>")
    talk.compact()
    made = drained(memory)
    assert len(made.sum_up()) == 1
    model = Model()
    assert upgraded(made, model) == []
    assert model.prompts == []
    assert by(memory) == {"provider": "rules"}
    with pytest.raises(asking.Unusable):
        asking.Asker(model, TokenLedger(memory.home, 10**6), now=NOW).summary([], None, "x")  # type: ignore[arg-type]


# --- several at once


def test_drains_at_the_same_time_pay_for_a_summary_once(tmp_path: Path, memory: Memory) -> None:
    made = compacted(tmp_path, memory)
    inner: list[list[KeptSummary]] = []

    class Slow(Model):
        def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
            reply = super().complete(system, prompt, max_tokens)
            if len(self.prompts) == 1:  # another drain comes by while the model thinks
                inner.append(upgraded(made, self))
            return reply

    model = Slow()
    assert len(upgraded(made, model)) == 1
    assert inner == [[]]
    assert len(model.prompts) == 1


# --- what we asked is no session


def test_the_transcript_that_claude_keeps_of_our_request_is_not_taken_in(
    tmp_path: Path, memory: Memory
) -> None:
    talk = Session(tmp_path, memory.home, memory.project_root)
    talk.person(asking.TASK + "[3] user: always write money as Decimal in tests, never floats")
    talk.agent(json.dumps(ANSWER))
    assert memory.import_history([talk.path], agent="claude-code").messages == 0
    talk.agent("We decided to use Procrastinate for the queue.")  # written after the first look
    assert memory.import_history([talk.path], agent="claude-code").messages == 0
    assert not memory.stats().memories


def test_a_session_that_only_quotes_our_request_is_taken_in(tmp_path: Path, memory: Memory) -> None:
    talk = Session(tmp_path, memory.home, memory.project_root)
    talk.person("why does the summariser say this?")
    talk.person(asking.TASK)
    assert memory.import_history((talk.path,), agent="claude-code").messages == 2
