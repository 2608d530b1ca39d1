"""Language models that may sum up, each on request only: Anthropic's API, any endpoint that speaks OpenAI's
chat completions (Ollama too), and the user's own `claude -p`.

A provider that does not answer raises ProviderDown with a reason that quotes nothing of the request.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import tempfile
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from claude_memory.errors import ConfigFault, MemoryFault
from claude_memory.settings import Settings
from claude_memory.text.quotation import about_tokens
from claude_memory.transcripts.model import list_of, mapping_of
from claude_memory.transcripts.sources import json_object

ENDPOINT_SECONDS, COMMAND_SECONDS = 300.0, 180.0
MAX_BYTES = 8 << 20
ANTHROPIC, ANTHROPIC_VERSION = "https://api.anthropic.com", "2023-06-01"
ANTHROPIC_MODEL = "claude-haiku-4-5"
# What went into a model's cache, or came out of it, was read too.
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "prompt_tokens")
_WRITTEN = ("output_tokens", "completion_tokens")
_PASSING = (408, 409, 425, 429)  # a busy server, a slow network: the next try may do


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it really cost."""

    text: str
    input_tokens: int
    output_tokens: int


class ProviderDown(MemoryFault):
    """It did not answer. `lasting`: another try in a moment will not help either.

    `cost` is what was read and written all the same: a request that fails may be billed.
    """

    def __init__(self, reason: str, *, lasting: bool = False, cost: Reply | None = None) -> None:
        super().__init__(reason)
        self.lasting, self.cost = lasting, cost


def open_provider(settings: Settings) -> Provider | None:
    """The model that the setting `summariser` names; None where rules alone sum up."""
    kind, _, place = settings.summariser.partition(":")
    model = settings.summariser_model
    if kind in ("", "rules"):
        return None
    # A key is read where it is kept, and never stored.
    key = os.environ.get(settings.summariser_key_variable or "ANTHROPIC_API_KEY", "")
    if kind == "anthropic":
        return ModelEndpoint("anthropic", place or ANTHROPIC, model or ANTHROPIC_MODEL, key)
    if kind == "endpoint" and place:
        own_key = key if settings.summariser_key_variable else ""
        return ModelEndpoint("endpoint", place, model or "default", own_key)
    if kind == "claude":
        return ClaudeCommand(place or "claude", model or "default")
    raise ConfigFault(
        "setting summariser wants `rules`, `anthropic`, `claude` or `endpoint:URL`, "
        f"not {settings.summariser!r}"
    )


def _reply(text: str, usage: Any, asked: str) -> Reply:
    """An answer with what it cost; what is not counted is estimated."""

    def sum_of(names: tuple[str, ...]) -> int:
        counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
        return sum(count for count in counts if type(count) is int and count >= 0)

    return Reply(text, sum_of(_READ) or about_tokens(asked), sum_of(_WRITTEN) or about_tokens(text))


# --- over HTTP


@dataclass(frozen=True)
class ModelEndpoint:
    """One model of an endpoint that takes and gives JSON: Anthropic's, or any that speaks OpenAI's way."""

    name: str  # anthropic or endpoint
    base: str
    model: str
    key: str = ""
    timeout_seconds: float = ENDPOINT_SECONDS

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer; one that breaks off says what it may have cost."""
        is_anthropic, key = self.name == "anthropic", self.key.strip()
        if is_anthropic and not key:
            raise ProviderDown("no key: set ANTHROPIC_API_KEY, or summariser_key_variable", lasting=True)
        question = {"role": "user", "content": prompt}
        if is_anthropic:
            headers = {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
            own: dict[str, Any] = {"system": system, "messages": [question]}
        else:
            headers = {"authorization": f"Bearer {key}"} if key else {}
            own = {"messages": [{"role": "system", "content": system}, question]}
            own["response_format"] = {"type": "json_object"}
        asked = json.dumps({"model": self.model, "max_tokens": max_tokens, **own}, ensure_ascii=False)
        answer = json_object(self._posted(asked, {"content-type": "application/json", **headers})) or {}
        parts = list_of(answer, "content") if is_anthropic else list_of(answer, "choices")[:1]
        parts = [
            part if is_anthropic else mapping_of(part, "message") for part in parts if isinstance(part, dict)
        ]
        texts = [part.get("text" if is_anthropic else "content") for part in parts]
        texts = [text for text in texts if isinstance(text, str)]
        reply = _reply("".join(texts), answer.get("usage"), asked)
        if not texts:
            raise ProviderDown("the endpoint reported an error, or no JSON that has an answer", cost=reply)
        return reply

    def _posted(self, asked: str, headers: Mapping[str, str]) -> bytes:
        """What the endpoint answers; a query of its address stays behind the path."""
        connection, target = self._connection()
        cost = None
        with contextlib.closing(connection):
            try:
                connection.request("POST", target, asked.encode("utf-8", "replace"), dict(headers))
                cost = Reply("", about_tokens(asked), 0)  # from here on it may be billed
                response = connection.getresponse()
                raw = response.read(MAX_BYTES)
            except (OSError, http.client.HTTPException) as fault:
                reason = f"the endpoint cannot be reached: {type(fault).__name__}"
                raise ProviderDown(reason, cost=cost) from None
            except ValueError:  # its text may quote the key
                reason = "the key or the address has characters that cannot be sent"
                raise ProviderDown(reason, lasting=True) from None
        if response.status != 200:
            lasting = 400 <= response.status < 500 and response.status not in _PASSING
            raise ProviderDown(f"the endpoint answered {response.status}", lasting=lasting)
        return raw

    def _connection(self) -> tuple[http.client.HTTPConnection, str]:
        """The way to the endpoint, and what to ask it for."""
        kinds = {"https": http.client.HTTPSConnection, "http": http.client.HTTPConnection}
        try:
            parts = urllib.parse.urlsplit(self.base)
            connection = kinds[parts.scheme](parts.hostname or "", parts.port, timeout=self.timeout_seconds)
        except (ValueError, KeyError, http.client.InvalidURL):
            parts = None
        if parts is None or not parts.hostname:
            reason = "the endpoint's address is none: it begins with http:// or https:// and names a host"
            raise ProviderDown(reason, lasting=True)
        path = "/v1/messages" if self.name == "anthropic" else "/chat/completions"
        return connection, parts.path.rstrip("/") + path + (f"?{parts.query}" if parts.query else "")


# --- the user's own program: their plan, their login


@dataclass(frozen=True)
class ClaudeCommand:
    """Claude Code as a model that is asked one question. Marked, so that our hooks in it do nothing."""

    command: str = "claude"
    model: str = "default"
    timeout_seconds: float = COMMAND_SECONDS
    name = "claude"

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:  # noqa: ARG002
        """One answer. It runs without tools, in an empty folder, and cannot start itself again."""
        command = [self.command, "-p", "--output-format", "json"]
        command += ["--append-system-prompt", system, "--tools", ""]
        command += ["--model", self.model] if self.model != "default" else []
        try:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    command,
                    input=prompt.encode("utf-8", "replace"),
                    capture_output=True,
                    cwd=folder,
                    env={**os.environ, "CLAUDE_MEMORY_DISABLE": "1"},
                    timeout=self.timeout_seconds,
                    check=False,
                )
        except FileNotFoundError:
            raise ProviderDown(f"{self.command!r} is not installed", lasting=True) from None
        except subprocess.TimeoutExpired:
            cost = Reply("", about_tokens(system + prompt), 0)
            raise ProviderDown(f"{self.command!r} took too long", cost=cost) from None
        except (OSError, ValueError, subprocess.SubprocessError) as fault:
            raise ProviderDown(f"{self.command!r} failed: {type(fault).__name__}") from None
        answer = json_object(done.stdout) or {}
        text = answer.get("result")
        reply = _reply(text if isinstance(text, str) else "", answer.get("usage"), system + prompt)
        # Before it asked a model, as without a login, it counts nothing.
        counted = reply if answer.get("usage") or not (answer or done.returncode) else None
        if done.returncode or not isinstance(text, str) or answer.get("is_error"):
            reason = f"{self.command!r} ended with {done.returncode}, without an answer"
            raise ProviderDown(reason, cost=counted)
        return reply


Provider = ModelEndpoint | ClaudeCommand  # `name`, `model` and `complete` are all that is asked of one
