"""Throws mutated bytes at parse, redact and the readers; whatever raises, or lets a secret through, is a find.

Run as a program: `explore.py TARGET RUNS SEED`. With atheris installed the mutations are guided by what code
they reach; without it they are chance alone, and the last line of the output says so. Inputs start from true
samples of every format, and change as bytes and as JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

try:
    import atheris
except ImportError:
    atheris = None

MAX_BYTES = 3_000
SLOWEST_SECONDS = 20
AT = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
# Told by themselves, whatever stands around them; made up here, so that no scanner trips over this file.
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
TOKENS = tuple(
    start + "".join(random.Random(seed).choices(letters, k=length))
    for seed, (start, letters, length) in enumerate(
        [
            ("gh" + "p_", LETTERS, 36),
            ("AK" + "IA", LETTERS[26:52] + "234567", 16),
            ("sk-" + "ant-api03-", LETTERS, 93),
        ]
    )
)
GARBAGE: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, "", "\ud800", "\0", "x" * 300, [], [[]], {}, {"type": "text"}, {"text": None},
    [{"type": "tool_result", "content": {"a": 1}}], "<private>", "</private>", "9" * 30, "../../etc/passwd",
    "password: hunter2", "2026-13-45T99:99:99Z", "\u202e", "<system-reminder>", "/clear",
)  # fmt: skip


def instrumented() -> AbstractContextManager[Any]:
    return atheris.instrument_imports(include=["claude_memory"]) if atheris else nullcontext()


with instrumented():
    from claude_memory.capture.messages import Preparer
    from claude_memory.capture.parse import Unreadable, parse
    from claude_memory.model import ProjectId
    from claude_memory.settings import Settings
    from claude_memory.transcripts import sources
    from claude_memory.transcripts.model import SourceFile
    from claude_memory.transcripts.readers import READERS

    try:
        from claude_memory.redact import redact, redact_document
    except ImportError:
        from claude_memory.redact import redact, redact_document

from tests.integration import histories  # noqa: E402 - after the path is set, and not to be traced

SETTINGS = Settings()
EVENTS = ("UserPromptSubmit", "PostToolUse", "Stop", "SessionStart", "PreCompact", "SubagentStop", "Odd")
AGENTS = tuple(READERS)


class Find(AssertionError):
    """Something that must not happen."""


# --- what is explored


def explore_parse(data: bytes) -> None:
    """One spooled file: an event, or unreadable with a reason that quotes nothing of it."""
    name = EVENTS[data[0] % len(EVENTS)] if data else "Stop"
    try:
        event = parse(data[1:], name, "claude-code", AT, SETTINGS, lambda _: ProjectId("p"))
    except Unreadable as fault:
        if len(str(fault)) > 200:
            raise Find(f"the reason is too long: {fault}") from None
        return
    if event is not None:
        json.dumps(event.payload, ensure_ascii=False).encode("utf-8", "surrogatepass")


def explore_redact(data: bytes) -> None:
    """A text with a token on a line of its own somewhere: the token is cut, whatever stands around it."""
    if not data:
        return
    token = TOKENS[data[0] % len(TOKENS)]
    text = data[1:].decode("utf-8", "surrogatepass" if data[0] & 1 else "replace") if valid(data) else ""
    place = (data[0] >> 2) * len(text) // 64
    said = f"{text[:place]}\n{token}\n{text[place:]}"
    if token in redact(said):
        raise Find("a token was let through in a text")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = text
    cut = redact_document({"a": document, "said": [said, {"deep": token}]})
    if token in json.dumps(cut, ensure_ascii=False, default=str):
        raise Find("a token was let through in a document")


def valid(data: bytes) -> bool:
    try:
        data[1:].decode("utf-8", "surrogatepass" if data[0] & 1 else "replace")
    except UnicodeDecodeError:
        return False
    return True


def explore_readers(data: bytes) -> None:
    """A few lines of an agent's own file: turns and messages, or nothing; never a fault."""
    agent = AGENTS[data[0] % len(AGENTS)] if data else AGENTS[0]
    reader = READERS[agent](SourceFile(agent, Path("/nowhere/rollout-2026-11-02T09-00-00-abc.jsonl")), {})
    preparer = Preparer(agent, SETTINGS, lambda _: ())
    turns = []
    for raw in data[1:].split(b"\n")[:8]:
        document = sources.json_object(raw)
        if document is not None:
            turns += reader.feed(document)
    turns += reader.finish()
    json.dumps(reader.state())
    for turn in turns:
        message = preparer.message(turn)
        if message is not None and not (message.keys and all(0 <= key < 2**63 for key in message.keys)):
            raise Find("a message without keys")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "parse": explore_parse,
    "redact": explore_redact,
    "readers": explore_readers,
}


# --- where it starts, and how it goes on


def samples(target: str) -> list[bytes]:
    if target == "readers":
        by_agent = {
            "claude-code": histories.ordinary().lines,
            "codex": histories.codex_lines(),
            "gemini-cli": histories.gemini_lines(),
            "factory": histories.factory_lines(),
            "cursor": histories.cursor_lines(),
        }
        return [
            bytes([AGENTS.index(agent)]) + b"\n".join(json.dumps(line).encode() for line in said[at : at + 3])
            for agent, said in by_agent.items()
            for at in range(0, len(said), 2)
        ]
    if target == "redact":
        texts = ("password = hunter2", "<private>x</private> y", "curl -u me:pw https://x.test", "naïve 日本語 🙂",
                 '{"Authorization": "Bearer abc", "list": [1, null, "s"]}', "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
                 "DATABASE_URL=postgres://u:p@h/db", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln")  # fmt: skip
        return [bytes([number * 37 % 256]) + text.encode() for number, text in enumerate(texts)]
    common = {"session_id": "s1", "cwd": "/srv/shop", "transcript_path": "/t.jsonl"}
    own: list[dict[str, Any]] = [
        {"hook_event_name": "UserPromptSubmit", "prompt": "use tabs", "prompt_id": "p1"},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t1",
         "tool_input": {"command": "cat .env"}, "tool_response": {"stdout": "a\nb", "exit": 1}},
        {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "/k/id_rsa"},
         "tool_response": [{"type": "text", "text": "x"}]},
        {"hook_event_name": "Stop", "last_assistant_message": "Done.", "stop_hook_active": False},
        {"hook_event_name": "SubagentStop", "agent_id": "a", "agent_type": "", "last_assistant_message": "x"},
        {"conversation_id": "c", "hook_event_name": "beforeShellExecution", "command": "ls"},
    ]  # fmt: skip
    return [bytes([number]) + json.dumps({**common, **one}).encode() for number, one in enumerate(own)]


def changed(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """The value with something in it replaced, dropped, doubled or put one deeper."""
    if chance.random() < 0.1 or depth > 8:
        return chance.choice(GARBAGE)
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: changed(value[key], chance, depth + 1)}
    if isinstance(value, list) and value:
        place = chance.randrange(len(value))
        return [*value[:place], changed(value[place], chance, depth + 1), *value[place:]]
    return [value] if chance.random() < 0.2 else chance.choice(GARBAGE)


def as_json(data: bytes, chance: random.Random) -> bytes:
    """One of the lines behind the first byte changed as the JSON that it is; as bytes if it is none."""
    said = data[1:].split(b"\n")
    place = chance.randrange(len(said))
    try:
        said[place] = json.dumps(changed(json.loads(said[place]), chance)).encode()
    except (ValueError, RecursionError):
        return as_bytes(data, chance)
    return data[:1] + b"\n".join(said)


def as_bytes(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    kind = chance.randrange(5)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes(chance.randrange(256) for _ in range(3)) + data[place:]
    if kind == 2:
        return data[:place] + data[place + chance.randrange(20) :]
    if kind == 3:
        return data[:place] + b'{"a":' * chance.randrange(300) + data[place:]
    return (
        data[:place] + chance.choice((b"\\ud800", b"\0", b"<private>", b'"', b"\xff", b"\r")) + data[place:]
    )


def mutated(data: bytes, chance: random.Random) -> bytes:
    return (as_json if chance.random() < 0.6 else as_bytes)(data or b"\0", chance)[:MAX_BYTES]


# --- the run


def guided(target: str, runs: int, seed: int) -> None:
    """Never returns: the library ends the process."""

    def mutate(data: bytes, max_size: int, its_seed: int) -> bytes:
        chance = random.Random(its_seed)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, max_size))
        return mutated(data, chance)[:max_size]

    corpus = tempfile.mkdtemp(prefix="explore-")
    for number, sample in enumerate(samples(target)):
        Path(corpus, str(number)).write_bytes(sample[:MAX_BYTES])
    options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={MAX_BYTES}", f"-timeout={SLOWEST_SECONDS}",
               "-rss_limit_mb=2500", "-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={corpus}/find-"]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, corpus], TARGETS[target], custom_mutator=mutate)
    atheris.Fuzz()


def by_chance(target: str, runs: int, seed: int) -> None:
    chance, began = random.Random(seed), time.monotonic()
    pool = samples(target)
    for _ in range(runs):
        data = mutated(chance.choice(pool), chance)
        try:
            TARGETS[target](data)
        except BaseException:
            sys.stderr.write(f"input: {data!r}\n")
            raise
        if chance.random() < 0.001:
            pool.append(data)
    sys.stderr.write(f"stat::number_of_executed_units: {runs}\nby chance, {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    name, count, start = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    use_guide = atheris is not None and "EXPLORE_BY_CHANCE" not in os.environ
    (guided if use_guide else by_chance)(name, count, start)
