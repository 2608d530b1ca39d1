"""Any endpoint that speaks OpenAI's chat completions, Ollama among them; streamed."""

from __future__ import annotations

from claude_memory.compaction.model import about_tokens
from claude_memory.compaction.providers import http
from claude_memory.compaction.providers.protocol import ProviderDown, Reply


class OpenAiCompatible:
    """One model of one endpoint."""

    name = "endpoint"

    def __init__(self, base: str, model: str, key: str = "", timeout_seconds: float = 60.0) -> None:
        self.model = model or "default"
        self._key, self._base, self._timeout = key, base.rstrip("/"), timeout_seconds

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
        parts: list[str] = []
        read = written = 0
        ended = False
        for event in http.stream(f"{self._base}/chat/completions", body, headers, self._timeout):
            for choice in event.get("choices") or ():
                if isinstance(choice, dict):
                    piece = choice.get("delta") or choice.get("message") or {}
                    parts.append(str(piece.get("content") or "") if isinstance(piece, dict) else "")
                    ended = ended or bool(choice.get("finish_reason"))
            usage = event.get("usage")
            read = http.number(usage, "prompt_tokens") or read
            written = http.number(usage, "completion_tokens") or written
        if not ended:
            raise ProviderDown("the answer broke off")
        text = "".join(parts)
        return Reply(text, read or about_tokens(system + prompt), written or about_tokens(text))
