"""Text to vectors. Opening an embedder is cheap: nothing heavy loads before the first text.

Belongs here: the bundled model, models in folders or packages, endpoints, the stored form of a vector.
Does not: searching vectors (store), choosing what to embed (capture, search).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from claude_memory.errors import ConfigFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from claude_memory.settings import Settings

    Vector = NDArray[np.float32]

_KEPT_CHARACTERS = 4096  # a longer question is a pasted text and does not come back
_KEPT_QUERIES = 256  # one is 384 bytes; the same question comes back while an agent works

# Importing onnxruntime alone writes a device id and starts an uploader; this switch works only before that.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


class Embedder(Protocol):
    """One model. Its id names weights and pooling, so that two models never meet in one comparison."""

    @property
    def model(self) -> str: ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One int8 vector per text: unit vector × 127, rounded; nothing of a long text is cut off.

        Raises EmbedderUnavailable when the model cannot be used now.
        """
        ...


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
    from claude_memory.embed.local import PACKAGE, BundledModel, FolderModel

    if (scheme, place) == ("bundled", "") or (scheme == "package" and place.replace("_", "-") == PACKAGE):
        return BundledModel(cache, progress)
    if scheme == "package" and place:
        return FolderModel.in_package(place)
    if scheme == "folder" and place:
        return FolderModel.in_folder(Path(place).expanduser())
    raise ConfigFault(
        "setting embedder wants bundled, none, folder:PATH, package:NAME or endpoint:URL, "
        f"not {settings.embedder!r}"
    )


def remembered(vector_of: Callable[[str], bytes]) -> Callable[[str], bytes]:
    """The same for questions: the vectors of the last ones asked are kept."""
    cached = lru_cache(maxsize=_KEPT_QUERIES)(vector_of)
    return lambda text: cached(text) if len(text) <= _KEPT_CHARACTERS else vector_of(text)


def unit(vector: Vector) -> Vector:
    """The vector at length one; zero stays zero, because it points nowhere."""
    import numpy as np

    wide = vector.astype(np.float64)
    length = float(np.sqrt(wide @ wide))
    return (wide / length if length > 0 else wide).astype(np.float32)


def averaged(vectors: Sequence[Vector], weights: Sequence[int]) -> Vector:
    """One unit vector for a text read in several windows, each counting by its length."""
    import numpy as np

    units = [unit(vector) for vector in vectors]
    return units[0] if len(units) == 1 else unit(np.asarray(weights, np.float32) @ np.stack(units))


def to_int8(vector: Vector) -> bytes:
    """The stored form of a vector: unit length, times 127, rounded."""
    import numpy as np

    return bytes(np.rint(unit(vector) * 127.0).astype(np.int8).tobytes())
