"""`backup.json` in the home: which memory this is, and how the last backup by itself went.

The id travels in every manifest, so that a place can tell this memory, come back on another machine, from
somebody else's. The file itself stays here.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from claude_memory.platform.files import private_folder, write_atomically

FILE = "backup.json"
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class HomeState:
    """`seen` sums up the files of the last push, `pushed_at` is its time, `fault` why the next one failed.

    `token` tells this very copy from all others; `paired` are the homes that the person said are theirs, with
    the name they were met by. Neither comes with a backup.
    """

    home: str = ""
    place: str = ""
    seen: str = ""
    pushed_at: float = 0.0
    fault: str = ""
    token: str = ""
    paired: dict[str, str] = field(default_factory=dict)


def load(home: Path) -> HomeState:
    """What is known; nothing where there is no such file or it cannot be read."""
    try:
        document = json.loads((home / FILE).read_bytes()[:_MOST_BYTES])
        usable = {
            name: document[name]
            for name, default in asdict(HomeState()).items()
            if type(document.get(name)) is type(default)
        }
    except (OSError, ValueError, AttributeError, RecursionError):
        return HomeState()
    return HomeState(**usable)


def note(folder: Path, /, **changed: Any) -> HomeState:
    """Change some of it; returns all of it."""
    state = replace(load(folder), **changed)
    write_atomically(private_folder(folder) / FILE, json.dumps(asdict(state), indent=1).encode())
    return state


def home_id(home: Path) -> str:
    """The id of this memory; a new one is made once."""
    return load(home).home or note(home, home=secrets.token_hex(8)).home


def copy_token(home: Path) -> str:
    """What a copy of this folder at another place does not have; a new one for a home that was moved."""
    where = f"{os.path.realpath(home)}:{home.stat().st_ino}"
    token = load(home).token
    return token if token.endswith(where) else note(home, token=f"{secrets.token_hex(8)}:{where}").token


def pair(home: Path, other: str, name: str) -> None:
    """Note that another home is the person's own."""
    note(home, paired={**load(home).paired, other: name})
