"""A lasting, layered memory for coding agents. Public names load on first use."""

from __future__ import annotations

TYPE_CHECKING = False  # every hook that answers imports this module: typing would take longer than all of it
if TYPE_CHECKING:
    from claude_memory.memory import Memory
    from claude_memory.model import Hit, Kind, NewMemory, Scope, Status, StoredMemory, Trust
    from claude_memory.tasks.api import MemoryAPI
    from claude_memory.tasks.session_files import SessionManager

__version__ = "0.1.0"

_HOMES = {  # the others are of `model`
    "Memory": "claude_memory.memory",
    "MemoryAPI": "claude_memory.tasks.api",
    "SessionManager": "claude_memory.tasks.session_files",
}

__all__ = [
    "Hit",
    "Kind",
    "Memory",
    "MemoryAPI",
    "NewMemory",
    "Scope",
    "SessionManager",
    "Status",
    "StoredMemory",
    "Trust",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'claude_memory' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "claude_memory.model")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
