"""What a search works with: words alone, or words and meaning, and whether the vectors are complete."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from claude_memory.doctor.report import Check, fail, ok, warn
from claude_memory.embed import open_embedder
from claude_memory.embed.protocol import Embedder
from claude_memory.errors import ConfigFault, EmbedderUnavailable
from claude_memory.settings import Settings
from claude_memory.store.model import Inspection
from claude_memory.vector_work import noted

_NEEDED = ("numpy", "onnxruntime", "tokenizers")  # asked for by name only: loading them takes a second
_FEW = 100
_SHARE = 0.05
_EMBED = "`claude-memory reindex` makes them now"


def search(home: Path, settings: Settings, view: Inspection, *, deep: bool) -> Iterator[Check]:
    """The model in use, and passages that it has not seen."""
    try:
        embedder = open_embedder(settings, home / "cache" / "models")
        model = embedder.model if embedder else None
    except ConfigFault as fault:
        yield fail("search", str(fault), "`claude-memory config set embedder bundled`")
        return
    except EmbedderUnavailable as fault:
        yield warn("search", f"words only: {fault}", "see the setting `embedder`")
        return
    if embedder is None or model is None:
        yield warn(
            "search",
            "words only: the setting `embedder` is `none`",
            "`claude-memory config set embedder bundled`",
        )
        return
    missing = (
        [] if settings.embedder.startswith("endpoint:") else [name for name in _NEEDED if not find_spec(name)]
    )
    if missing:
        yield warn(
            "search", f"words only: {', '.join(missing)} not installed", f"pip install {' '.join(missing)}"
        )
        return
    yield from _tried(embedder, model) if deep else [ok("search", f"words and meaning ({model})")]
    yield from _coverage(home, model, view)


def _tried(embedder: Embedder, model: str) -> Iterator[Check]:
    try:
        [vector] = embedder.embed(["is the model well?"], query=True)
    except EmbedderUnavailable as fault:
        yield warn("search", f"words only: {fault}", "see the setting `embedder`")
    else:
        yield ok("search", f"words and meaning ({model}, tried now, {len(vector)} dimensions)")


def _coverage(home: Path, model: str, view: Inspection) -> Iterator[Check]:
    if view.passages is None:
        return
    others = {name: count for name, count in view.vectors.items() if name != model}
    progress = noted(home, view.passages, view.passages - view.vectors.get(model, 0))
    if others:
        name, count = max(others.items(), key=lambda item: item[1])
        yield warn(
            "vectors", f"{count} vectors of another model ({name})", "`claude-memory reindex` drops them"
        )
    if progress.missing > max(_FEW, view.passages * _SHARE) and (progress.stopped or not progress.working):
        yield warn("vectors", progress.words, _EMBED)
    elif not others or progress.missing:
        yield ok("vectors", progress.words)
