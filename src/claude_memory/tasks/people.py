"""Who writes: a person, an agent, or one of its sub-agents."""

from __future__ import annotations

import os
import re

from claude_memory.platform.caller import at_terminal, inside_agent, require_person
from claude_memory.redact import kept

ENVIRONMENT = "CLAUDE_MEMORY_BY"
_MARK = re.compile(r"\[(private|secret:[a-z0-9-]+)\]")  # an entry's heading ends at a bracket


def me() -> str:
    """By whom entries of this process are: told by the environment, else an agent, a person, or a script."""
    told = os.environ.get(ENVIRONMENT)
    if told and not (is_person(told) and inside_agent()):  # a clone's settings may set it, too
        return clean(told)
    if inside_agent():
        return "agent"
    import getpass

    kind = "person" if at_terminal() else "script"
    try:
        return clean(f"{kind}:{getpass.getuser()}")
    except (OSError, KeyError):
        return kind


def checked(by: str) -> str:
    """By whom, as the caller says it; an agent cannot sign as a person."""
    if is_person(by):
        require_person("signing as a person")
    return clean(by)


def is_person(by: str) -> bool:
    """Whether an entry's signature names a person."""
    return clean(by).startswith("person")


def clean(text: str) -> str:
    """One short line without the characters that end a name in an entry's heading."""
    return re.sub(r"[\s\[\];·]+", " ", _MARK.sub(r"(\1)", kept(text))).strip()[:100] or "unknown"
