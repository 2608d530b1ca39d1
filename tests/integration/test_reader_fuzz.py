"""No file makes a reader fail: mutated lines and files over all agents, seeded; the full number in the soak."""

from __future__ import annotations

import json
import random
import resource
from pathlib import Path
from typing import Any

import pytest
from tests.integration import histories

from claude_memory.imports.importer import Task, batches
from claude_memory.settings import Settings
from claude_memory.store.model import NewMessage
from claude_memory.transcripts import sources

GARBAGE: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**400, float("inf"), "", "\ud800", "\0", "x" * 5000, [], [[]], {}, {"type": "text"},
    {"text": None}, [{"type": "tool_result", "content": {"a": 1}}], "<private>", "9999999999999999999",
)  # fmt: skip
CLAUDE_QUEUE = [
    {"type": "queue-operation", "operation": "enqueue", "content": "and a test", "sessionId": "s"},
    {"type": "queue-operation", "operation": "remove", "sessionId": "s"},
    {"type": "custom-title", "customTitle": "Coupons", "sessionId": "s"},
    {"type": "pr-link", "prUrl": "https://git.example/pull/1", "sessionId": "s"},
]
SAMPLES = {
    "claude-code": [*histories.ordinary().lines, *CLAUDE_QUEUE],
    "codex": histories.codex_lines(),
    "gemini-cli": histories.gemini_lines(),
    "factory": histories.factory_lines(),
    "cursor": histories.cursor_lines(),
    "copilot-cli": histories.copilot_lines(),
}


LAST = "The sentence that must be read whatever stood before"


def last_line(agent: str) -> bytes:
    """A good line of each agent's own format."""
    said = {"role": "user", "content": [{"type": "text", "text": LAST}]}
    return json.dumps(
        {
            "claude-code": {"type": "user", "message": said, "uuid": "u", "sessionId": "s"},
            "codex": {"type": "response_item", "payload": {"type": "message", **said}},
            "gemini-cli": {"type": "user", "id": "z", "content": LAST},
            "factory": {"type": "message", "id": "z", "message": said},
            "cursor": {"role": "user", "message": said},
            "copilot-cli": {"type": "user.message", "data": {"content": LAST}, "id": "z"},
        }[agent]
    ).encode()


def mutated_value(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """The value with something in it replaced, dropped, doubled or nested deep."""
    if chance.random() < 0.08 or depth > 6:
        return chance.choice(GARBAGE)
    if isinstance(value, dict) and value:
        changed = dict(value)
        key = chance.choice(list(changed))
        if chance.random() < 0.2:
            del changed[key]
        else:
            changed[key] = mutated_value(changed[key], chance, depth + 1)
        return changed
    if isinstance(value, list) and value:
        place = chance.randrange(len(value))
        return [*value[:place], mutated_value(value[place], chance, depth + 1), *value[place:]]
    return chance.choice(GARBAGE)


def mutated_bytes(raw: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(raw) + 1)
    kind = chance.randrange(5)
    if kind == 0:
        return raw[:place]
    if kind == 1:
        return raw[:place] + bytes(chance.randrange(256) for _ in range(3)) + raw[place:]
    if kind == 2:
        return raw[:place] + raw[place + chance.randrange(20) :]
    if kind == 3:
        return raw.replace(b'"', b'"\\ud800', chance.randrange(3))
    return raw[:place] + b'{"a":' * chance.randrange(2000) + raw[place:]


def mutated_line(line: Any, chance: random.Random) -> bytes:
    raw = json.dumps(mutated_value(line, chance) if chance.random() < 0.7 else line).encode()
    return mutated_bytes(raw, chance) if chance.random() < 0.3 else raw


def read(agent: str, path: Path) -> list[NewMessage]:
    source = sources.described(agent, path)
    assert source is not None
    found = list(batches(Task(source), Settings()))
    assert found[-1].last
    json.dumps(found[-1].file.state)
    return [message for batch in found for message in batch.messages]


def check(messages: list[NewMessage]) -> None:
    for message in messages:
        assert message.keys
        assert all(0 <= key < 2**63 for key in message.keys)
        assert len(message.text) < 600_000


def fuzz(lines: int, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    per_file = 200
    for number in range(lines // per_file):
        agent = chance.choice(list(SAMPLES))
        content = b"\n".join(mutated_line(chance.choice(SAMPLES[agent]), chance) for _ in range(per_file))
        ending = ".json" if agent == "gemini-cli" and chance.random() < 0.1 else ".jsonl"
        path = tmp_path / f"session-{number % 10}{ending}"
        content = mutated_bytes(content, chance) if chance.random() < 0.2 else content
        path.write_bytes(content + b"\n" + last_line(agent) + b"\n")
        messages = read(agent, path)
        check(messages)
        assert ending == ".json" or messages[-1].text == LAST


def test_no_mutated_line_makes_a_reader_fail(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fuzz(6_000, tmp_path, seed=11)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


@pytest.mark.soak
def test_two_hundred_thousand_mutated_lines(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fuzz(200_000, tmp_path, seed=12)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_no_mutated_file_of_opencode_makes_its_reader_fail(tmp_path: Path) -> None:
    chance = random.Random(13)
    for round_ in range(40):
        database = histories.write_opencode_database(tmp_path / f"{round_}" / "opencode.db")
        raw = bytearray(database.read_bytes())
        for _ in range(chance.randrange(1, 60)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        database.write_bytes(raw[: chance.randrange(len(raw))] if chance.random() < 0.3 else raw)
        check(read("opencode", database))
        session = histories.write_opencode_tree(tmp_path / f"{round_}" / "storage")
        for path in session.parents[2].rglob("*.json"):
            if chance.random() < 0.5:
                path.write_bytes(mutated_line(json.loads(path.read_bytes()), chance))
        check(read("opencode", session))


def test_a_huge_line_and_a_huge_file_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    good = json.dumps(histories.ordinary().lines[3]).encode()
    with path.open("wb") as handle:
        handle.write(good + b"\n" + b'{"type":"user","message":"')
        for _ in range(80):
            handle.write(b"x" * (1 << 20))
        handle.write(b'"}\n' + good + b"\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(read("claude-code", path)) == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
