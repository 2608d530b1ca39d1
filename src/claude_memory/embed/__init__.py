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
    place = rest.strip()
    if (scheme, place) == ("none", ""):
        return None
    if scheme == "endpoint" and place:
        from claude_memory.embed.endpoint import EndpointEmbedder

        return EndpointEmbedder(place, settings.embedder_model, settings.embedder_key_variable)
    from claude_memory.embed.local import LocalEmbedder
    from claude_memory.embed.models import PACKAGE, BundledModel, FolderModel

    if (scheme, place) == ("bundled", "") or (scheme == "package" and place.replace("_", "-") == PACKAGE):
        return LocalEmbedder(BundledModel(cache, progress))
    if scheme == "package" and place:
        return LocalEmbedder(FolderModel.in_package(place))
    if scheme == "folder" and place:
        return LocalEmbedder(FolderModel.in_folder(Path(place).expanduser()))
    raise ConfigFault(
        "setting embedder wants bundled, none, folder:PATH, package:NAME or endpoint:URL, "
        f"not {settings.embedder!r}"
    )
