"""One finding of the doctor, and how a probe that cannot be made becomes one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from claude_memory.errors import MemoryFault

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it stands, and what to do about it."""

    name: str
    level: Level
    message: str
    hint: str = ""


def ok(name: str, message: str, hint: str = "") -> Check:
    """All is well."""
    return Check(name, "ok", message, hint)


def warn(name: str, message: str, hint: str = "") -> Check:
    """It works, but somebody should look."""
    return Check(name, "warn", message, hint)


def fail(name: str, message: str, hint: str = "") -> Check:
    """Something does not work."""
    return Check(name, "fail", message, hint)


def probed(name: str, probe: Callable[[], Iterable[Check]]) -> list[Check]:
    """A probe's findings; where it cannot even look, that is the finding."""
    try:
        return list(probe())
    except MemoryFault as fault:
        return [fail(name, str(fault))]
    except (OSError, ValueError) as fault:
        return [fail(name, f"cannot be checked: {fault}")]
