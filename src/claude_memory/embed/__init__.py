"""Text to vectors. Opening an embedder is cheap: nothing heavy loads before the first text.

Belongs here: the bundled model, models in folders or packages, endpoints, the stored form of a vector.
Does not: searching vectors (store), choosing what to embed (capture, search).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.errors import ConfigFault

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder
    from claude_memory.settings import Settings

# Importing onnxruntime alone writes a device id and starts an uploader; this switch works only before that.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def open_embedder(
    settings: Settings, cache: Path, *, progress: Callable[[str], None] | None = None
) -> Embedder | None:
    """The embedder the settings ask for; None for `none`. Never another one in its place."""
    scheme, _, rest = settings.embedder.partition(":")
    match scheme, rest.strip():
        case "none", "":
            return None
        case "bundled", "":
            return _bundled(cache, progress)
        case "package", name if name:
            return _package(name, cache, progress)
        case "folder", path if path:
            from claude_memory.embed.folder import FolderModel
            from claude_memory.embed.local import LocalEmbedder

            return LocalEmbedder(FolderModel.in_folder(Path(path).expanduser()))
        case "endpoint", url if url:
            from claude_memory.embed.endpoint import EndpointEmbedder

            return EndpointEmbedder(url, settings.embedder_model, settings.embedder_key_variable)
    raise ConfigFault(
        "setting embedder wants bundled, none, folder:PATH, package:NAME or endpoint:URL, "
        f"not {settings.embedder!r}"
    )


def prepare(embedder: Embedder | None) -> None:
    """A question will be embedded soon: begin with what takes long, and come back at once."""
    from claude_memory.embed.local import LocalEmbedder

    if isinstance(embedder, LocalEmbedder):
        embedder.prepare()


def _bundled(cache: Path, progress: Callable[[str], None] | None) -> Embedder:
    from claude_memory.embed.bundled import BundledModel
    from claude_memory.embed.local import LocalEmbedder

    return LocalEmbedder(BundledModel(cache, progress))


def _package(name: str, cache: Path, progress: Callable[[str], None] | None) -> Embedder:
    from claude_memory.embed.bundled import PACKAGE
    from claude_memory.embed.folder import FolderModel
    from claude_memory.embed.local import LocalEmbedder

    if name.replace("_", "-").lower() == PACKAGE:
        return _bundled(cache, progress)
    return LocalEmbedder(FolderModel.in_package(name))
