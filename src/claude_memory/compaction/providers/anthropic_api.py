"""Anthropic's API: messages, streamed."""

from __future__ import annotations

from claude_memory.compaction.providers import http
from claude_memory.compaction.providers.protocol import ProviderDown, Reply

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
        self._key, self._base, self._timeout = key, base.rstrip("/"), timeout_seconds

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
        text, read, written, ended = [], 0, 0, False
        for event in http.stream(f"{self._base}/v1/messages", body, headers, self._timeout):
            kind = event.get("type")
            if kind == "message_start":
                message = event.get("message")
                read = http.number(
                    message.get("usage") if isinstance(message, dict) else None, "input_tokens"
                )
            elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
                text.append(str(event["delta"].get("text") or ""))
            elif kind == "message_delta":
                written = http.number(event.get("usage"), "output_tokens")
            ended = ended or kind == "message_stop"
        if not ended:
            raise ProviderDown("the answer broke off")
        return Reply("".join(text), read, written)
