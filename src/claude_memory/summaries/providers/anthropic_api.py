"""Anthropic's API: messages, streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claude_memory.summaries.providers import http
from claude_memory.summaries.providers.protocol import ProviderDown, Reply

VERSION = "2023-06-01"
USUAL_MODEL = "claude-haiku-4-5"
USUAL_PLACE = "https://api.anthropic.com"


class AnthropicApi:
    """Anthropic's models."""

    name = "anthropic"

    def __init__(
        self,
        key: str,
        model: str = "",
        base: str = USUAL_PLACE,
        timeout_seconds: float = 60.0,
    ) -> None:
        self.model = model or USUAL_MODEL
        self._key, self._base, self._timeout = key.strip(), base, timeout_seconds

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer, put together from its stream."""
        if not self._key:
            raise ProviderDown("no key: set ANTHROPIC_API_KEY, or summariser_key_variable", lasting=True)
        body = {
            "model": self.model,
            "max_tokens": max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
        }
        headers = {"x-api-key": self._key, "anthropic-version": VERSION}
        place = (self._base, "/v1/messages")
        return http.answer(place, body, headers, _take, timeout_seconds=self._timeout)


def _take(event: Mapping[str, Any], got: http.Answer) -> None:
    kind, delta, message = event.get("type"), event.get("delta"), event.get("message")
    if kind == "message_start" and isinstance(message, dict):
        got.read = http.tokens_read(message.get("usage"))
    elif kind == "content_block_delta" and isinstance(delta, dict):
        got.parts.append(str(delta.get("text") or ""))
    elif kind == "message_delta":
        got.written = http.number(event.get("usage"), "output_tokens")
    got.ended = got.ended or kind == "message_stop"
