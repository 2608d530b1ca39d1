"""Vectors from an OpenAI-compatible endpoint (Ollama too), with nothing but the standard library's HTTP.

Text and key go to the configured address only; a redirect is refused. A long text is sent in pieces,
because many servers cut it off without a word.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from claude_memory.embed import averaged, remembered, to_int8
from claude_memory.errors import ConfigFault, EmbedderUnavailable

_BATCH_TEXTS = 32
_PIECE_BYTES = 1500  # under 512 tokens of the small models that are served most: 3 bytes a token or more
_ANSWER_BYTES = 64 << 20
_TIMEOUT_SECONDS = 30.0
_PAUSES_SECONDS = (0.25, 1.0)  # between the attempts
_WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504})


class EndpointEmbedder:
    """One model behind one URL. Its dimension is learnt from the first answer and must not change."""

    def __init__(self, url: str, model: str, key_variable: str = "") -> None:
        self._url = _embeddings_url(url)
        if not model:
            raise ConfigFault("an endpoint needs the setting `embedder_model`: the model's name there")
        self._name, self._key_variable = model, key_variable
        self._opener = urllib.request.build_opener(_NoRedirect())
        self._dimensions: int | None = None
        self._query = remembered(lambda text: self._vectors([text])[0])

    @property
    def model(self) -> str:
        """The model's name and dimension; asks the endpoint once."""
        dimensions = self._dimensions or len(self.embed(["dimension"])[0])
        return f"endpoint-{re.sub(r'[^A-Za-z0-9._:/-]+', '-', self._name)}-{dimensions}"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return [self._query(text) for text in texts] if query else self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> list[bytes]:
        import numpy as np

        pieces = [list(_pieces(text)) for text in texts]
        flat = [piece for text in pieces for piece in text]
        answers: list[list[float]] = []
        for start in range(0, len(flat), _BATCH_TEXTS):
            batch = flat[start : start + _BATCH_TEXTS]
            body = json.dumps({"model": self._name, "input": batch, "encoding_format": "float"})
            answers += _parsed(self._post(body.encode()), len(batch))
        for answer in answers:
            self._dimensions = self._dimensions or len(answer)
            if len(answer) != self._dimensions:
                told = f"the endpoint's vectors changed from {self._dimensions} dimensions"
                raise EmbedderUnavailable(f"{told}; is it another model?")
        made = (np.array(answer, np.float32) for answer in answers)
        return [to_int8(averaged(list(islice(made, len(text))), [*map(len, text)])) for text in pieces]

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_variable:
            key = os.environ.get(self._key_variable, "").strip()
            if not key:
                raise EmbedderUnavailable(f"the environment variable {self._key_variable} holds no key")
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self._url, body, headers, method="POST")  # noqa: S310  http(s) only
        for pause in (*_PAUSES_SECONDS, None):
            try:
                with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                    answer: bytes = response.read(_ANSWER_BYTES)  # what is longer is cut, and no JSON
                    return answer
            except urllib.error.HTTPError as fault:
                reason, retry = f"HTTP {fault.code}", fault.code in _WORTH_RETRYING
                fault.close()
            except (OSError, http.client.HTTPException) as fault:
                reason, retry = " ".join(str(getattr(fault, "reason", fault)).split())[:200], True
            if pause is None or not retry:
                break
            time.sleep(pause)
        raise EmbedderUnavailable(f"the endpoint {self._url} does not answer: {reason}")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: text and key go where the setting says, and nowhere else."""

    def redirect_request(self, *request: Any) -> None:
        request[1].close()
        where = urlsplit(request[-1]).netloc
        raise EmbedderUnavailable(f"the endpoint redirects to {where}, which is refused")


def _embeddings_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f]", url):
        raise ConfigFault(f"setting embedder wants endpoint:http(s)://HOST…, not endpoint:{url}")
    if parts.username or parts.password:
        raise ConfigFault("the endpoint's key belongs into a variable named by `embedder_key_variable`")
    path = parts.path.rstrip("/")
    if not path.endswith(("/embeddings", "/api/embed")):
        path = f"{path}/embeddings" if path else "/v1/embeddings"
    return parts._replace(path=path, fragment="").geturl()


def _pieces(text: str) -> Iterator[str]:
    """Cut at white space where there is some, else anywhere between characters."""
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", " ")
    clean = clean if clean.strip() else "empty"  # servers refuse an empty input
    start = 0
    while start < len(clean):
        ahead = clean[start : start + _PIECE_BYTES].encode()
        head = ahead[:_PIECE_BYTES].decode("utf-8", "ignore")
        space = max(head.rfind(" "), head.rfind("\n"))
        if start + len(head) < len(clean) and space > len(head) // 2:
            head = head[: space + 1]
        yield head
        start += len(head)


def _parsed(answer: bytes, count: int) -> list[list[float]]:
    try:
        document = json.loads(answer)
        if "data" in document:
            rows = sorted(document["data"], key=lambda row: int(row.get("index", 0)))
            vectors = [row["embedding"] for row in rows]
        else:  # Ollama's own form
            vectors = document["embeddings"]
        checked = [[float(number) for number in vector] for vector in vectors]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise EmbedderUnavailable("the endpoint's answer holds no embeddings") from None
    if len(checked) != count or not all(
        any(vector) and all(map(math.isfinite, vector)) for vector in checked
    ):
        raise EmbedderUnavailable("the endpoint's answer does not hold one usable vector for each text")
    return checked
