"""A project's own folder, `.claude-memories`: made on request only, and ignored by git.

Writes nothing else into a repository, and changes no file that is there already but its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.errors import ConfigFault, InvalidInput
from claude_memory.platform.files import private_folder, write_atomically

FOLDER = ".claude-memories"
LAYOUTS = ("private", "repo")
_IGNORE_ALL = b"# Made by claude-memory: nothing in this folder belongs into version control.\n*\n"


class Prepared(NamedTuple):
    """What `prepare` found or made."""

    folder: Path
    layout: str
    created: bool
    changed: bool


def stays_inside(path: Path, base: Path) -> bool:
    """Whether a path really lies in a folder: a link on the way may lead anywhere."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(base))


def prepare(project_root: Path, layout: str | None = None) -> Prepared:
    """Make the folder with its .gitignore and config.json; what stands there already stays."""
    if layout is not None and layout not in LAYOUTS:
        raise InvalidInput(f"unknown layout {layout!r}: one of {', '.join(LAYOUTS)}")
    folder = project_root / FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InvalidInput(f"{folder} is not a folder")
    created = not folder.exists()
    private_folder(folder)
    if not (folder / ".gitignore").exists():
        write_atomically(folder / ".gitignore", _IGNORE_ALL)
    before = _read(folder / "config.json")
    chosen = layout or str(before.get("layout", LAYOUTS[0]))
    after = {**before, "layout": chosen}
    if after != before:
        write_atomically(folder / "config.json", (json.dumps(after, indent=2) + "\n").encode())
    return Prepared(folder, chosen, created, created or after != before)


def _read(path: Path) -> dict[str, Any]:
    if path.is_symlink():
        raise InvalidInput(f"{path} is a link: remove it")
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        # Somebody wrote something there: overwriting it would lose it.
        raise ConfigFault(f"{path} is not a JSON object: repair or remove it")
    return document
