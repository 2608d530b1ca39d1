"""The user's own `claude -p`: their plan, their login. Marked, so that our hooks in it do nothing."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any

from claude_memory.summaries.model import about_tokens
from claude_memory.summaries.providers import http
from claude_memory.summaries.providers.protocol import ProviderDown, Reply

TIMEOUT_SECONDS = 180.0


class ClaudeCommand:
    """Claude Code as a model that is asked one question."""

    name = "claude"

    def __init__(
        self, command: str = "claude", model: str = "", timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self.model = model or "default"
        self._command, self._asked_model, self._timeout = command, model, timeout_seconds

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:  # noqa: ARG002
        """One answer. It runs without tools, in an empty folder, and cannot start itself again."""
        command = [
            self._command,
            "-p",
            "--output-format",
            "json",
            "--append-system-prompt",
            system,
            "--tools",
            "",
        ]
        command += ["--model", self._asked_model] if self._asked_model else []
        environment = {**os.environ, "CLAUDE_MEMORY_DISABLE": "1"}
        try:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    command,
                    input=prompt.encode("utf-8", "replace"),
                    capture_output=True,
                    cwd=folder,
                    env=environment,
                    timeout=self._timeout,
                    check=False,
                )
        except FileNotFoundError:
            raise ProviderDown(f"{self._command!r} is not installed", lasting=True) from None
        except subprocess.TimeoutExpired:
            cost = Reply("", about_tokens(system + prompt), 0)
            raise ProviderDown(f"{self._command!r} took too long", cost=cost) from None
        except (OSError, ValueError, subprocess.SubprocessError) as fault:
            raise ProviderDown(f"{self._command!r} failed: {type(fault).__name__}") from None
        return self._reply(done, system + prompt)

    def _reply(self, done: subprocess.CompletedProcess[bytes], asked: str) -> Reply:
        found = _document(done.stdout)
        text, usage = found.get("result"), found.get("usage")
        told = text if isinstance(text, str) else ""
        read, written = http.tokens_read(usage), http.number(usage, "output_tokens")
        cost = Reply(told, read or about_tokens(asked), written or about_tokens(told))
        if done.returncode:  # before it asked a model, as without a login, it counts nothing
            reason = f"{self._command!r} ended with {done.returncode}"
            raise ProviderDown(reason, cost=cost if read else None)
        if not found:
            raise ProviderDown(f"{self._command!r} answered no JSON", cost=cost)
        if not isinstance(text, str) or found.get("is_error"):
            raise ProviderDown(f"{self._command!r} reported an error", cost=cost if read else None)
        return cost


def _document(raw: bytes) -> dict[str, Any]:
    """The JSON object that a program printed; empty if it printed none."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
