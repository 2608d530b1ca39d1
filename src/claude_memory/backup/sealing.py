"""Encryption of what lies at a place, by age (`pyrage`): on when the setting `backup_key` names a key.

The setting says where the key is, never what it is. A passphrase opens an age key that lies at the place,
so that each piece costs no key derivation of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claude_memory.errors import ConfigFault, StoreCorrupt

MAGIC = b"age-encryption.org/v1"
_SECRET = "AGE-SECRET-KEY-1"  # noqa: S105 - how every such key begins
_MISSING = "encrypted backups need pyrage: install claude-memory-system[places]"


class Seal:
    """Seals and opens the objects of a place; without a key it passes them on, and refuses sealed ones."""

    def __init__(self, identity: Any = None) -> None:
        self._identity = identity

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._identity is not None

    def close(self, content: bytes) -> bytes:
        """What is to lie at the place."""
        if self._identity is None:
            return content
        sealed: bytes = _pyrage().encrypt(content, [self._identity.to_public()])
        return sealed

    def open(self, content: bytes) -> bytes:
        """What was given to `close`; ConfigFault for a missing or wrong key."""
        is_sealed = content.startswith(MAGIC)
        if self._identity is None:
            if is_sealed:
                raise ConfigFault("the backup is encrypted: name its key in the setting backup_key")
            return content
        if not is_sealed:
            raise StoreCorrupt("it is not encrypted, though the setting backup_key wants that")
        library = _pyrage()
        try:
            opened: bytes = library.decrypt(content, [self._identity])
        except library.DecryptError as fault:
            if "No matching keys" in str(fault):
                raise ConfigFault("the backup is encrypted with another key than backup_key names") from None
            raise StoreCorrupt("a piece of it is damaged") from None
        return opened


def seal_for(setting: str, shared_key: Callable[[Callable[[], bytes]], bytes]) -> Seal:
    """The seal that `backup_key` asks for: empty, `env:NAME` or `file:PATH`.

    `shared_key` gives the sealed key that lies at the place, and puts there what its argument makes if there
    is none; only a passphrase needs it.
    """
    if not setting:
        return Seal()
    secret = _secret(setting)
    library = _pyrage()
    if secret.startswith(_SECRET):
        return Seal(_identity(secret, setting))
    made = shared_key(
        lambda: library.passphrase.encrypt(str(library.x25519.Identity.generate()).encode(), secret)
    )
    try:
        opened = library.passphrase.decrypt(made, secret)
    except library.DecryptError:
        raise ConfigFault(f"{setting} holds another passphrase than the backup was encrypted with") from None
    return Seal(_identity(opened.decode("ascii", "replace"), setting))


def _identity(text: str, setting: str) -> Any:
    library = _pyrage()
    try:
        return library.x25519.Identity.from_str(text)
    except library.IdentityError:
        raise ConfigFault(f"{setting} holds no age key that can be read") from None


def _secret(setting: str) -> str:
    kind, _, name = setting.partition(":")
    if kind == "env" and name:
        text = os.environ.get(name, "")
    elif kind == "file" and name:
        try:
            text = Path(name).expanduser().read_text("utf-8")
        except (OSError, ValueError):
            raise ConfigFault(f"cannot read the key that backup_key names: {name}") from None
    else:
        raise ConfigFault("setting backup_key wants env:NAME or file:PATH, never the key itself")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise ConfigFault(f"{setting}, which backup_key names, is empty or not set")
    return next((line for line in lines if line.startswith(_SECRET)), lines[0])


def _pyrage() -> Any:
    try:
        import pyrage
    except ImportError:
        raise ConfigFault(_MISSING) from None
    return pyrage
