"""The user's config.toml: which value holds and why, and changes that keep its comments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory import settings
from claude_memory.errors import ConfigFault, Conflict
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.locks import try_lock

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


@dataclass(frozen=True, slots=True)
class Resolved:
    """A setting's value, where it comes from, and what it would be otherwise."""

    value: Any
    origin: str
    default: Any
    doc: str


def resolved(home: Path, project_root: Path | None) -> dict[str, Resolved]:
    values = settings.load(home, project_root=project_root)
    origins = settings.origins(home, project_root=project_root)
    described = {}
    for key, item in settings.KEYS.items():
        value = getattr(values, key)
        if isinstance(value, str) and "://" in value:  # a server's address is shown without its password
            value = re.sub(r"://([^:/@]*):[^@]*@", r"://\1:…@", value)
        default = getattr(settings.Settings(), key)
        described[key] = Resolved(value, origins.get(key, "default"), default, item.metadata["doc"])
    return described


def known(key: str) -> str:
    if key not in settings.KEYS:
        near = get_close_matches(key, settings.KEYS, 1)
        hint = f"did you mean {near[0]}?" if near else "`claude-memory config list` shows all"
        raise ConfigFault(f"unknown setting {key!r}; {hint}")
    return key


def assign(home: Path, key: str, value: str) -> Path:
    """Write one setting; a value of the wrong type is refused before anything changes."""
    checked = settings.checked(known(key), value)
    with _edited(home) as document:
        document[key] = list(checked) if isinstance(checked, tuple) else checked
    return settings.config_path(home)


def remove(home: Path, key: str) -> bool:
    known(key)
    if not settings.config_path(home).exists():
        return False
    with _edited(home) as document:
        return document.pop(key, None) is not None


@contextmanager
def _edited(home: Path) -> Iterator[TOMLDocument]:
    """The file's document; what the caller changes in it replaces the file as a whole."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    # Resolved, because some people keep their settings elsewhere and link to them.
    path = Path(os.path.realpath(settings.config_path(private_folder(home))))
    with try_lock(home / "config.lock") as taken:
        if not taken:
            raise Conflict("another process is changing the settings: try again")
        try:
            document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
        except (ValueError, TOMLKitError) as fault:
            raise ConfigFault(f"cannot read {path}: {fault}") from None
        yield document
        write_atomically(path, tomlkit.dumps(document).encode("utf-8"))
