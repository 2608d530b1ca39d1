"""Any endpoint that speaks OpenAI's chat completions, Ollama among them; streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claude_memory.summaries.providers import http
from claude_memory.summaries.providers.protocol import Reply


class OpenAiCompatible:
    """One model of one endpoint."""

    name = "endpoint"

    def __init__(self, base: str, model: str, key: str = "", timeout_seconds: float = 60.0) -> None:
        self.model = model or "default"
        self._key, self._base, self._timeout = key.strip(), base, timeout_seconds

    def complete(self, system: str, prompt: str, max_tokens: int) -> Reply:
        """One answer, put together from its stream; an endpoint that counts nothing is estimated."""
        said = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        body = {
            "model": self.model,
            "max_tokens": max_tokens,
            "messages": said,
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_object"},
        }
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        place = (self._base, "/chat/completions")
        return http.answer(place, body, headers, _take, timeout_seconds=self._timeout)


def _take(event: Mapping[str, Any], got: http.Answer) -> None:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            piece = choice.get("delta") or choice.get("message") or {}
            got.parts.append(str(piece.get("content") or "") if isinstance(piece, dict) else "")
            got.ended = got.ended or bool(choice.get("finish_reason"))
    usage = event.get("usage")
    got.read = http.number(usage, "prompt_tokens") or got.read
    got.written = http.number(usage, "completion_tokens") or got.written
