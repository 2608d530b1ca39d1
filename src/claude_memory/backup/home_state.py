"""`backup.json` in the home: which memory this is, and how the last backup by itself went.

The id travels in every manifest, so that a place can tell this memory, come back on another machine, from
somebody else's. The file itself stays here.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from claude_memory.platform.files import private_folder, write_atomically

FILE = "backup.json"
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class HomeState:
    """`seen` sums up the files of the last push, `pushed_at` is its time, `fault` why the next one failed."""

    home: str = ""
    place: str = ""
    seen: str = ""
    pushed_at: float = 0.0
    fault: str = ""


def load(home: Path) -> HomeState:
    """What is known; nothing where there is no such file or it cannot be read."""
    try:
        content = (home / FILE).read_bytes()[:_MOST_BYTES]
        document = json.loads(content)
        known = {
            name: document[name]
            for name, default in asdict(HomeState()).items()
            if type(document.get(name)) is type(default)
        }
    except (OSError, ValueError, AttributeError, RecursionError):
        return HomeState()
    return HomeState(**known)


def save(home: Path, state: HomeState) -> None:
    """Replace the file."""
    write_atomically(private_folder(home) / FILE, json.dumps(asdict(state), indent=1).encode())


def note(home: Path, **changed: Any) -> None:
    """Change some of it."""
    save(home, replace(load(home), **changed))


def home_id(home: Path) -> str:
    """The id of this memory; a new one is made once."""
    state = load(home)
    if not state.home:
        state = replace(state, home=secrets.token_hex(8))
        save(home, state)
    return state.home


def adopt(home: Path, id_: str) -> None:
    """Let a home that was restored be the memory that was backed up."""
    if id_:
        save(home, HomeState(home=id_))
