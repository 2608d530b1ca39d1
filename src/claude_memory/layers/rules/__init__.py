"""What a language's trigger rules are made of, and which languages there are.

A language is a module with RULES, and the patterns of what is not meant; see `en`. To add one, write
its module and name it in LANGUAGES.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

LANGUAGES = ("en",)


class Rule(NamedTuple):
    """One way to say something worth writing down.

    The pattern runs only on clauses that hold one of the cues (lower case; none: always), because compiling
    it costs more than asking. `unless` names what makes it something else.
    """

    label: str
    cues: tuple[str, ...]
    pattern: str
    unless: str = ""


def rule(label: str, cues: str, pattern: str, unless: str = "") -> Rule:
    """A rule whose cues stand in one string, apart by `|`."""
    return Rule(label, tuple(cues.split("|")) if cues else (), pattern, unless)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first needed."""
    return re.compile(pattern)
