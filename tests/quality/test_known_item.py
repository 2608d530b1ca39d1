"""Known-item search: whoever pastes an error or a command finds the conversation it stands in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from bench.history import SUBJECTS, Writer

from claude_memory.memory import Memory

SESSIONS = 220
LINES = 40  # of each session, so that the test stays short
SAMPLED = 200
WANTED = 0.98

# Written as people see them: quotes, paths, flags and numbers, many words shared by all of them.
COMMANDS = (
    'git commit -m "Fix {a} {b} after the {c} change"',
    "npm run test -- --filter {a}/{b} --reporter dot",
    "cargo test -p {a}-{b} {c}::tests -- --nocapture",
    "docker compose -f deploy/{a}.yml up -d {b} --scale {b}={n}",
    "psql -c \"select count(*) from {a}_{b} where {c} is null and id > '{n}'\"",
    "curl -sS -X POST localhost:80{n}/api/{a}/{b} -d '{{\"{c}\": {n}}}'",
    "rg -n --hidden '{a}.*{b}' src/{c} | head -n {n}",
    "python -m pytest tests/test_{a}.py -k {b} -x --maxfail={n}",
    "kubectl -n {a} logs deploy/{b} --since={n}m | grep {c}",
    "for f in src/{a}/*.{b}; do sed -i 's/{c}/{a}{n}/g' \"$f\"; done",
)
ERRORS = (
    "TypeError: Cannot read properties of undefined (reading '{a}{n}')",
    "sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) no such column: {a}.{b}_{c}",
    "error[E0382]: borrow of moved value: `{a}_{b}` in crates/{c}/src/lib.rs:{n}",
    "panic: runtime error: index out of range [{n}] with length 3 in {a}/{b}.go",
    "FAILED tests/test_{a}.py::test_{b}_{c} - AssertionError: assert {n} == 0",
    "src/{a}/{b}.ts({n},12): error TS2345: Argument of type '{c}' is not assignable",
    "ECONNREFUSED 127.0.0.1:{n} while fetching /{a}/{b}",
    "ld: undefined symbol: {a}::{b}::{c}(int, std::string const&)",
    "Error response from daemon: driver failed programming {a}-{b}: port {n} is already allocated",
    'django.db.utils.IntegrityError: duplicate key value violates unique constraint "{a}_{b}_{n}_uniq"',
)


class History(Writer):
    """Remembers in which sessions every command and error stands."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed, plain=True)
        self.commands: dict[str, set[str]] = {}
        self.failures: dict[str, set[str]] = {}
        self._session = ""

    def lines(self, session: str, cwd: str) -> Iterator[dict[str, Any]]:
        self._session = session
        return islice(super().lines(session, cwd), LINES)

    def call(self) -> tuple[str, dict[str, Any]]:
        if self.random.random() < 0.6:
            return super().call()
        command = self._filled(COMMANDS)
        self.commands.setdefault(command, set()).add(self._session)
        return "Bash", {"command": command, "description": f"Try the {self.words(2)}"}

    def failure(self) -> str:
        line = self._filled(ERRORS)
        self.failures.setdefault(line, set()).add(self._session)
        return f"Exit code 1\n{self.code(self.random.randint(2, 8))}\n{line}\n{self.code(2)}"

    def output(self) -> str:
        return self.code(self.random.randint(2, 9))

    def _filled(self, templates: tuple[str, ...]) -> str:
        a, b, c = self.random.sample(SUBJECTS, 3)
        return self.random.choice(templates).format(a=a, b=b, c=c, n=self.random.randrange(1, 99))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    written = History(tmp_path_factory.mktemp("agent"), seed=20)
    for number in range(SESSIONS):
        written.session(number)
    return written


@pytest.fixture(scope="module")
def memory(history: History, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    home = tmp_path_factory.mktemp("memory-home")
    with Memory.open(home / "memory", home, flags={"embedder": "none"}) as opened:
        done = opened.import_history((history.root,), workers=0)
        assert done.sessions == SESSIONS
        yield opened


def sampled(known: dict[str, set[str]], count: int) -> list[tuple[str, str]]:
    """Items that stand in one conversation alone: only those lead to it."""
    alone = sorted((item, *sessions) for item, sessions in known.items() if len(sessions) == 1)
    return random.Random(4).sample(alone, count)


def test_a_pasted_error_or_command_leads_to_its_conversation(memory: Memory, history: History) -> None:
    items = sampled(history.commands, SAMPLED // 2) + sampled(history.failures, SAMPLED // 2)
    missed = [
        item
        for item, session in items
        if session not in [found.conversation.session for found in memory.recall(item, limit=3)]
    ]
    assert len(items) == SAMPLED
    assert 1 - len(missed) / len(items) >= WANTED, missed


def test_what_stands_in_many_conversations_leads_to_those(memory: Memory, history: History) -> None:
    often = sorted((item, sessions) for item, sessions in history.failures.items() if len(sessions) > 1)
    for item, sessions in often[:10]:
        best = {found.conversation.session for found in memory.recall(item, limit=len(sessions))}
        assert best == sessions, item


def test_the_passage_shown_is_the_line_that_was_asked_for(memory: Memory, history: History) -> None:
    for item, _ in sampled(history.failures, 20):
        [found] = memory.recall(item, limit=1)
        assert found.quotes[0].text == item
