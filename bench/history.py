"""Writes a format-true Claude Code history of any size, seeded: sessions, tools, bookkeeping, forks.

Shares of bytes: about half is bookkeeping, as in real files unless `--plain` leaves it out.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SUBJECTS = """invoice parser session cookie cache queue worker retry backoff migration schema index webhook
    payment ledger import export report upload thumbnail search ranking token refresh login signup mailer
    scheduler cron lock deadlock timeout socket proxy router middleware template locale currency rounding
    timezone calendar feed sync replica shard backup restore deploy rollout canary flag metric trace log
    alert dashboard chart table form modal tooltip keyboard shortcut theme layout grid font icon""".split()
VERBS = "fix rewrite test explain split rename remove add cache measure document simplify move guard".split()
ERRORS = (
    "TypeError: cannot read properties of undefined (reading '{a}')",
    "sqlalchemy.exc.OperationalError: no such table: {a}_{b}",
    "AssertionError: expected {a} to equal {b}",
    "error[E0382]: use of moved value: `{a}_{b}`",
    "FAILED tests/test_{a}.py::test_{b} - KeyError: '{a}'",
    "panic: runtime error: index out of range [{n}] with length 3 in {a}.go",
)


class Writer:
    """One history; the same seed writes the same bytes."""

    def __init__(self, root: Path, seed: int = 7, *, plain: bool = False) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.plain = plain
        self.moment = datetime(2026, 3, 1, 8, tzinfo=UTC)
        self.errors: list[tuple[str, str]] = []

    def write(self, size: int) -> int:
        """Sessions until about `size` bytes are written; returns how many were."""
        written = number = 0
        while written < size:
            number += 1
            written += self.session(number)
        return written

    def session(self, number: int) -> int:
        id_ = self.id()
        cwd = f"/home/dev/project-{number % 12}"
        folder = self.root / "projects" / cwd.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{id_}.jsonl"
        with path.open("w", encoding="utf-8") as handle:
            for line in self.lines(id_, cwd):
                handle.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            return handle.tell()

    def id(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(SUBJECTS, k=count))

    def stamp(self) -> str:
        self.moment += timedelta(seconds=self.random.uniform(1, 40))
        return self.moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def lines(self, session: str, cwd: str) -> Iterator[dict[str, Any]]:
        parent: str | None = None
        for _ in range(self.random.randint(4, 14)):
            prompt = self.id()
            for line in self.exchange(prompt):
                line |= {"userType": "external", "cwd": cwd, "sessionId": session, "version": "2.1.325"}
                line |= {"gitBranch": "main", "uuid": self.id(), "timestamp": self.stamp()}
                yield {"parentUuid": parent, "isSidechain": False, **line}
                parent = line["uuid"]
                if not self.plain:
                    yield from self.bookkeeping(session)

    def exchange(self, prompt: str) -> Iterator[dict[str, Any]]:
        more = self.words(self.random.randint(4, 40))
        ask = f"Please {self.random.choice(VERBS)} the {self.words(2)}: {more}."
        yield {"promptId": prompt, "type": "user", "message": {"role": "user", "content": ask}}
        for _ in range(self.random.randint(2, 10)):
            yield from self.tool(prompt)
        reply = f"Done. The {self.words(2)} now works: {self.words(self.random.randint(20, 120))}."
        yield self.assistant({"type": "text", "text": reply}, "end_turn")

    def tool(self, prompt: str) -> Iterator[dict[str, Any]]:
        call = f"toolu_{self.random.getrandbits(80):020x}"
        if self.random.random() < 0.3:
            yield self.assistant({"type": "text", "text": f"Looking at the {self.words(3)}."}, "tool_use")
        name, given = self.call()
        yield self.assistant({"type": "tool_use", "id": call, "name": name, "input": given}, "tool_use")
        failed = self.random.random() < 0.08
        text = self.failure() if failed else self.output()
        block = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": failed}
        yield {
            "promptId": prompt,
            "type": "user",
            "message": {"role": "user", "content": [block]},
            "toolUseResult": {"stdout": text, "stderr": "", "interrupted": False, "isImage": False},
        }

    def call(self) -> tuple[str, dict[str, Any]]:
        kind = self.random.random()
        path = f"src/{self.random.choice(SUBJECTS)}/{self.random.choice(SUBJECTS)}.py"
        if kind < 0.5:
            command = f"pytest tests/test_{self.random.choice(SUBJECTS)}.py -k {self.random.choice(SUBJECTS)}"
            return "Bash", {"command": command, "description": f"Run {self.words(2)} tests"}
        if kind < 0.8:
            return "Read", {"file_path": path}
        return "Edit", {"file_path": path, "old_string": self.code(4), "new_string": self.code(6)}

    def failure(self) -> str:
        a, b = self.random.sample(SUBJECTS, 2)
        line = self.random.choice(ERRORS).format(a=a, b=b, n=self.random.randrange(10_000))
        return f"Exit code 1\n{self.code(self.random.randint(2, 20))}\n{line}"

    def output(self) -> str:
        return self.code(int(self.random.paretovariate(1.1) * 6) % 400 + 3)

    def code(self, lines: int) -> str:
        make = self.random.choices
        return "\n".join(
            f'{n:5}\t    {a}_{b} = {c}({a}, timeout={n}, name="{d}")  # {b} {e}'
            for n, (a, b, c, d, e) in enumerate((make(SUBJECTS, k=5) for _ in range(lines)), 1)
        )

    def assistant(self, block: dict[str, Any], stop: str) -> dict[str, Any]:
        usage = {"input_tokens": 120, "cache_read_input_tokens": 48_211, "output_tokens": 7}
        message = {"id": f"msg_{self.random.getrandbits(96):024x}", "type": "message", "role": "assistant"}
        message |= {"model": "claude-opus-5-5", "content": [block], "stop_reason": stop, "usage": usage}
        return {"message": message, "type": "assistant"}

    def bookkeeping(self, session: str) -> Iterator[dict[str, Any]]:
        if self.random.random() < 0.25:
            text = self.code(self.random.randint(20, 120))
            message = {"role": "user", "content": [{"type": "text", "text": text}]}
            digest = f"{self.random.getrandbits(256):064x}"
            yield {"type": "api-request-blob", "sessionId": session, "hash": digest, "message": message}
        elif self.random.random() < 0.1:
            yield {"type": "mode", "mode": "normal", "sessionId": session}
