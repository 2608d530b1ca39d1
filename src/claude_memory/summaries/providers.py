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
import time
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from claude_memory.errors import ConfigFault, MemoryFault
from claude_memory.settings import Settings
from claude_memory.text.tokens import about_tokens
from claude_memory.transcripts.model import list_of, mapping_of
from claude_memory.transcripts.sources import json_object

ENDPOINT_SECONDS, COMMAND_SECONDS = 60.0, 180.0
MAX_SECONDS = 300.0  # a model that never ends is as good as down
MAX_BYTES = 8 << 20
ANTHROPIC, ANTHROPIC_VERSION = "https://api.anthropic.com", "2023-06-01"
ANTHROPIC_MODEL = "claude-haiku-4-5"
# What went into a model's cache, or came out of it, was read too.
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_PASSING = (408, 409, 425, 429)  # a busy server, a slow network: the next try may do


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it really cost."""

    text: str
    input_tokens: int
    output_tokens: int


class ProviderDown(MemoryFault):
    """It did not answer. `lasting`: another try in a moment will not help either.

    `cost` is what came before it broke off, and what that took: a request that fails may be billed.
    """

    def __init__(self, reason: str, *, lasting: bool = False, cost: Reply | None = None) -> None:
        super().__init__(reason)
        self.lasting, self.cost = lasting, cost


class Provider(Protocol):
    """One model behind one door."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer."""
        ...


def open_provider(settings: Settings) -> Provider | None:
    """The model that the setting `summariser` names; None where rules alone sum up."""
    kind, _, place = settings.summariser.partition(":")
    model = settings.summariser_model
    if kind in ("", "rules"):
        return None
    # A key is read where it is kept, and never stored.
    key = os.environ.get(settings.summariser_key_variable or "ANTHROPIC_API_KEY", "")
    if kind == "anthropic":
        return AnthropicApi(place or ANTHROPIC, model or ANTHROPIC_MODEL, key)
    if kind == "endpoint" and place:
        return OpenAiCompatible(place, model or "default", key if settings.summariser_key_variable else "")
    if kind == "claude":
        return ClaudeCommand(place or "claude", model or "default")
    raise ConfigFault(
        "setting summariser wants `rules`, `anthropic`, `claude` or `endpoint:URL`, "
        f"not {settings.summariser!r}"
    )


# --- over HTTP, streamed


@dataclass(slots=True)
class _Answer:
    """What came of an answer so far; what the endpoint does not count is estimated."""

    parts: list[str] = field(default_factory=list)
    read: int = 0
    written: int = 0
    ended: bool = False

    def reply(self, asked: str) -> Reply:
        text = "".join(self.parts)
        return Reply(text, self.read or about_tokens(asked), self.written or about_tokens(text))


@dataclass(frozen=True)
class _Endpoint(ABC):
    """One model of an endpoint that streams its answer as server-sent events."""

    base: str
    model: str
    key: str = ""
    timeout_seconds: float = ENDPOINT_SECONDS
    path = ""

    @abstractmethod
    def _request(self, system: str, prompt: str) -> tuple[dict[str, str], dict[str, Any]]:
        """The headers and the body of a request."""

    @abstractmethod
    def _take(self, event: Mapping[str, Any], answer: _Answer) -> None:
        """Add one event of the stream to the answer."""

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer, put together from its stream; one that breaks off says what it cost."""
        headers, own = self._request(system, prompt)
        body = {"model": self.model, "max_tokens": max_tokens, "stream": True, **own}
        answer, asked = _Answer(), json.dumps(body, ensure_ascii=False)
        with contextlib.closing(self._sent(asked, headers)) as connection:
            try:
                for event in _documents(connection.getresponse()):
                    self._take(event, answer)
                if answer.ended:
                    return answer.reply(asked)
                reason = "the answer broke off"
            except (OSError, http.client.HTTPException) as fault:
                reason = f"the endpoint cannot be reached: {type(fault).__name__}"
            except _BrokenOff as fault:
                reason = str(fault)
            except ValueError:
                reason = "the answer cannot be read"
        raise ProviderDown(reason, cost=answer.reply(asked))

    def _sent(self, asked: str, headers: Mapping[str, str]) -> http.client.HTTPConnection:
        """A connection that was asked; a query of the endpoint's address stays behind its path."""
        reason = "the endpoint's address is none: it begins with http:// or https:// and names a host"
        try:
            parts = urllib.parse.urlsplit(self.base)
            if not parts.hostname or parts.scheme not in ("http", "https"):
                raise ProviderDown(reason, lasting=True)
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            connection = kind(parts.hostname, parts.port, timeout=self.timeout_seconds)
        except (ValueError, http.client.InvalidURL):
            raise ProviderDown(reason, lasting=True) from None
        target = parts.path.rstrip("/") + self.path + (f"?{parts.query}" if parts.query else "")
        headers = {"content-type": "application/json", **headers}
        try:
            connection.request("POST", target, asked.encode("utf-8", "replace"), headers)
        except (OSError, http.client.HTTPException) as fault:
            connection.close()
            raise ProviderDown(f"the endpoint cannot be reached: {type(fault).__name__}") from None
        except ValueError:  # its text may quote the key
            connection.close()
            reason = "the key or the address has characters that cannot be sent"
            raise ProviderDown(reason, lasting=True) from None
        return connection


class _BrokenOff(ValueError):
    """It failed after the request had been sent: what was read and written by then may be billed."""


def _documents(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """The JSON documents of a stream of server-sent events, or the one document of a plain answer."""
    if response.status != 200:
        lasting = 400 <= response.status < 500 and response.status not in _PASSING
        raise ProviderDown(f"the endpoint answered {response.status}", lasting=lasting)
    if "event-stream" not in (response.getheader("content-type") or ""):
        yield _document(response.read(MAX_BYTES))
        return
    end, read = time.monotonic() + MAX_SECONDS, 0
    for raw in response:
        read += len(raw)
        if read > MAX_BYTES or time.monotonic() > end:
            raise _BrokenOff("the endpoint did not come to an end")
        line = raw.strip()
        if line.startswith(b"data:") and (data := line[5:].strip()) != b"[DONE]":
            yield _document(data)


def _document(raw: bytes) -> dict[str, Any]:
    found = json_object(raw)
    if found is None:
        raise _BrokenOff("the endpoint answered no JSON object")
    if "error" in found:
        raise _BrokenOff("the endpoint reported an error")
    return found


def _number(value: Any, key: str) -> int:
    """A count in an answer; what is none counts as nothing."""
    number = value.get(key) if isinstance(value, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else 0


class AnthropicApi(_Endpoint):
    """Anthropic's models."""

    name, path = "anthropic", "/v1/messages"

    def _request(self, system: str, prompt: str) -> tuple[dict[str, str], dict[str, Any]]:
        if not self.key.strip():
            raise ProviderDown("no key: set ANTHROPIC_API_KEY, or summariser_key_variable", lasting=True)
        headers = {"x-api-key": self.key.strip(), "anthropic-version": ANTHROPIC_VERSION}
        return headers, {"system": system, "messages": [{"role": "user", "content": prompt}]}

    def _take(self, event: Mapping[str, Any], answer: _Answer) -> None:
        kind, delta, message = event.get("type"), event.get("delta"), event.get("message")
        if kind == "message_start" and isinstance(message, dict):
            answer.read = sum(_number(message.get("usage"), key) for key in _READ)
        elif kind == "content_block_delta" and isinstance(delta, dict):
            answer.parts.append(str(delta.get("text") or ""))
        elif kind == "message_delta":
            answer.written = _number(event.get("usage"), "output_tokens")
        answer.ended = answer.ended or kind == "message_stop"


class OpenAiCompatible(_Endpoint):
    """Any endpoint that speaks OpenAI's chat completions."""

    name, path = "endpoint", "/chat/completions"

    def _request(self, system: str, prompt: str) -> tuple[dict[str, str], dict[str, Any]]:
        key = self.key.strip()
        return {"authorization": f"Bearer {key}"} if key else {}, {
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt}],
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_object"},
        }

    def _take(self, event: Mapping[str, Any], answer: _Answer) -> None:
        for choice in list_of(event, "choices"):
            if isinstance(choice, dict):
                piece = mapping_of(choice, "delta") or mapping_of(choice, "message")
                answer.parts.append(str(piece.get("content") or ""))
                answer.ended = answer.ended or bool(choice.get("finish_reason"))
        usage = event.get("usage")
        answer.read = _number(usage, "prompt_tokens") or answer.read
        answer.written = _number(usage, "completion_tokens") or answer.written


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
        return self._reply(done, system + prompt)

    def _reply(self, done: subprocess.CompletedProcess[bytes], asked: str) -> Reply:
        answer = json_object(done.stdout) or {}
        usage, result = answer.get("usage"), answer.get("result")
        read = sum(_number(usage, key) for key in _READ)
        text = result if isinstance(result, str) else ""
        written = _number(usage, "output_tokens") or about_tokens(text)
        reply = Reply(text, read or about_tokens(asked), written)
        counted = reply if read else None  # before it asked a model, as without a login, it counts nothing
        if done.returncode:
            raise ProviderDown(f"{self.command!r} ended with {done.returncode}", cost=counted)
        if not answer:
            raise ProviderDown(f"{self.command!r} answered no JSON", cost=reply)
        if not isinstance(result, str) or answer.get("is_error"):
            raise ProviderDown(f"{self.command!r} reported an error", cost=counted)
        return reply
