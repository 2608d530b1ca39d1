"""Language models that may sum up, each on request only: Anthropic's API, any endpoint that speaks OpenAI's
chat completions (Ollama too), and the user's own `claude -p`.
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
from typing import Any, NamedTuple

from claude_memory.errors import ConfigFault, MemoryFault
from claude_memory.settings import Settings
from claude_memory.summaries.shelf import RULES
from claude_memory.text.quotation import about_tokens
from claude_memory.transcripts.model import list_of, mapping_of
from claude_memory.transcripts.sources import json_object

ENDPOINT_SECONDS, COMMAND_SECONDS = 300.0, 180.0
MAX_BYTES = 8 << 20
# What the setting leaves open: the place, the model, the variable that holds the key.
_USUAL = {
    "anthropic": ("https://api.anthropic.com", "claude-haiku-4-5", "ANTHROPIC_API_KEY"),
    "endpoint": ("", "default", ""),
    "claude": ("claude", "default", ""),
}
# What went into a model's cache, or came out of it, was read too.
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "prompt_tokens")
_WRITTEN = ("output_tokens", "completion_tokens")
_PASSING = (408, 409, 425, 429)  # a busy server, a slow network: the next try may do
_CONNECTIONS = {"https": http.client.HTTPSConnection, "http": http.client.HTTPConnection}


class Reply(NamedTuple):
    """What a model said, and what it really cost."""

    text: str
    input_tokens: int
    output_tokens: int


class ProviderDown(MemoryFault):
    """It did not answer; the reason quotes nothing. `lasting`: another try in a moment will not help either.

    `cost` is what was read and written all the same: a request that fails may be billed.
    """

    def __init__(self, reason: str, *, lasting: bool = False, cost: Reply | None = None) -> None:
        super().__init__(reason)
        self.lasting, self.cost = lasting, cost


@dataclass(frozen=True)
class Provider:
    """One model, and how it is asked."""

    name: str  # anthropic, endpoint or claude
    place: str  # the address, or the program
    model: str = "default"
    key: str = ""
    timeout_seconds: float = ENDPOINT_SECONDS

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer; one that breaks off says what it may have cost."""
        if self.name == "claude":
            return self._run(system, prompt)
        question, key = {"role": "user", "content": prompt}, self.key.strip()
        own: dict[str, Any]
        if self.name == "anthropic":
            if not key:
                raise ProviderDown("no key: set ANTHROPIC_API_KEY, or summariser_key_variable", lasting=True)
            path, headers = "/v1/messages", {"x-api-key": key, "anthropic-version": "2023-06-01"}
            own = {"system": system, "messages": [question]}
        else:
            path, headers = "/chat/completions", {"authorization": f"Bearer {key}"} if key else {}
            own = {"messages": [{"role": "system", "content": system}, question]}
            own["response_format"] = {"type": "json_object"}
        asked = json.dumps({"model": self.model, "max_tokens": max_tokens, **own}, ensure_ascii=False)
        answer = json_object(self._posted(path, asked, headers)) or {}
        chosen = [
            mapping_of(one, "message") for one in list_of(answer, "choices")[:1] if isinstance(one, dict)
        ]
        parts = [one for one in (*list_of(answer, "content"), *chosen) if isinstance(one, dict)]
        texts = [one.get("text", one.get("content")) for one in parts]
        reply = _reply("".join(text for text in texts if isinstance(text, str)), answer.get("usage"), asked)
        if not reply.text:
            raise ProviderDown("the endpoint reported an error, or no JSON that has an answer", cost=reply)
        return reply

    def _posted(self, path: str, asked: str, headers: Mapping[str, str]) -> bytes:
        """What the endpoint answers; a query of its address stays behind the path."""
        try:
            parts = urllib.parse.urlsplit(self.place)
            if not parts.hostname:
                raise ValueError
            connection = _CONNECTIONS[parts.scheme](parts.hostname, parts.port, timeout=self.timeout_seconds)
        except (ValueError, KeyError, http.client.InvalidURL):
            reason = "the endpoint's address is none: it begins with http:// or https:// and names a host"
            raise ProviderDown(reason, lasting=True) from None
        target = parts.path.rstrip("/") + path + (f"?{parts.query}" if parts.query else "")
        cost = None
        with contextlib.closing(connection):
            try:
                body = asked.encode("utf-8", "replace")
                connection.request("POST", target, body, {"content-type": "application/json", **headers})
                cost = Reply("", about_tokens(asked), 0)  # from here on it may be billed
                response = connection.getresponse()
                raw: bytes = response.read(MAX_BYTES)
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

    def _run(self, system: str, prompt: str) -> Reply:
        """Asked without tools, in an empty folder, and marked, so that our hooks in it do nothing."""
        command = [self.place, "-p", "--output-format", "json", "--append-system-prompt", system]
        command += ["--tools", "", *(["--model", self.model] if self.model != "default" else [])]
        try:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    command,
                    input=prompt.encode("utf-8", "replace"),
                    capture_output=True,
                    cwd=folder,
                    env={**os.environ, "CLAUDE_MEMORY_DISABLE": "1"},
                    timeout=COMMAND_SECONDS,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            cost = Reply("", about_tokens(system + prompt), 0)
            raise ProviderDown(f"{self.place!r} took too long", cost=cost) from None
        except (OSError, ValueError) as fault:
            missing = isinstance(fault, FileNotFoundError)
            reason = "is not installed" if missing else f"failed: {type(fault).__name__}"
            raise ProviderDown(f"{self.place!r} {reason}", lasting=missing) from None
        answer = json_object(done.stdout) or {}
        text, usage = answer.get("result"), answer.get("usage")
        reply = _reply(text if isinstance(text, str) else "", usage, system + prompt)
        if done.returncode or not isinstance(text, str) or answer.get("is_error"):
            # Before it asked a model, as without a login, it counts nothing.
            counted = reply if usage or not (answer or done.returncode) else None
            reason = f"{self.place!r} ended with {done.returncode}, without an answer"
            raise ProviderDown(reason, cost=counted)
        return reply


def _reply(text: str, usage: Any, asked: str) -> Reply:
    """An answer with what it cost; what is not counted is estimated."""

    def sum_of(names: tuple[str, ...]) -> int:
        counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
        return sum(count for count in counts if type(count) is int and count >= 0)

    return Reply(text, sum_of(_READ) or about_tokens(asked), sum_of(_WRITTEN) or about_tokens(text))


def open_provider(settings: Settings) -> Provider | None:
    """The model that the setting `summariser` names; None where rules alone sum up."""
    kind, _, place = settings.summariser.partition(":")
    if kind in ("", RULES):
        return None
    usual_place, usual_model, usual_variable = _USUAL.get(kind, ("", "", ""))
    place, model = place or usual_place, settings.summariser_model or usual_model
    if not place or not model:
        wanted = "`rules`, `anthropic`, `claude` or `endpoint:URL`"
        raise ConfigFault(f"setting summariser wants {wanted}, not {settings.summariser!r}")
    # A key is read where it is kept, and never stored.
    return Provider(
        kind, place, model, os.environ.get(settings.summariser_key_variable or usual_variable, "")
    )
