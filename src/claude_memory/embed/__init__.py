"""Text to vectors. Opening an embedder is cheap: nothing heavy loads before the first text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.errors import ConfigFault

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder
    from claude_memory.settings import Settings


def open_embedder(
    settings: Settings, cache: Path, *, progress: Callable[[str], None] | None = None
) -> Embedder | None:
    """The embedder the settings ask for; None for `none`. Never another one in its place."""
    scheme, _, rest = settings.embedder.partition(":")
    if scheme == "none" and not rest:
        return None
    if scheme == "bundled" and not rest:
        from claude_memory.embed.bundled import BundledModel
        from claude_memory.embed.local import LocalEmbedder

        return LocalEmbedder(BundledModel(cache, progress))
    raise ConfigFault(
        f"setting embedder wants bundled, none, folder:PATH, package:NAME or endpoint:URL, "
        f"not {settings.embedder!r}"
    )
