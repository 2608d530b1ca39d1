"""Who writes: a person, an agent, or one of its sub-agents."""

from __future__ import annotations

import os
import re

from claude_memory.redact import kept

ENVIRONMENT = "CLAUDE_MEMORY_BY"
_MARK = re.compile(r"\[(private|secret:[a-z0-9-]+)\]")  # an entry's heading ends at a bracket


def me() -> str:
    """By whom entries of this process are: told by the environment, else an agent's shell, else a person."""
    told = os.environ.get(ENVIRONMENT)
    if told:
        return clean(told)
    if os.environ.get("CLAUDECODE"):  # set by Claude Code in the shells it opens
        return "agent"
    import getpass

    try:
        return clean(f"person:{getpass.getuser()}")
    except (OSError, KeyError):
        return "person"


def clean(text: str) -> str:
    """One short line without the characters that end a name in an entry's heading."""
    return re.sub(r"[\s\[\];·]+", " ", _MARK.sub(r"(\1)", kept(text))).strip()[:100] or "unknown"
