"""A short hash, without loading what `hashlib` loads: the prompt hook writes files, too."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # another Python: the same hash, a little later
    from hashlib import blake2b


def short(content: bytes, size: int) -> str:
    """The hash as twice `size` hexadecimal digits."""
    return str(blake2b(content, digest_size=size).hexdigest())
