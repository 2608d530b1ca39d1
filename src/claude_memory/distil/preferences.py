"""Preferences: how a person wants to work or be answered, beyond the thing at hand. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.distil import phrases
from claude_memory.distil.exchange import Before, Said, shared, terms
from claude_memory.distil.phrases import fits

_CONTINUING = (
    r"^(?:that's|that goes|this goes|don't|do not|never|always|no|applies|same for|it's|especially|also for"
    r"|i'm tired)\b"
)


def preferred(said: Sequence[Said], before: Before) -> list[Said]:
    """The sentences that state a preference, each with its continuation."""
    found: list[Said] = []
    for number, one in enumerate(said):
        goes_on = number > 0 and said[number - 1] in found and fits(_CONTINUING, one.plain)
        if goes_on or _wishes(one) or _conducts(one, before):
            found.append(one)
    return found


def _wishes(one: Said) -> bool:
    return fits(phrases.PREFERRING, one.plain) or fits(phrases.REQUESTING, one.plain)


def _conducts(one: Said, before: Before) -> bool:
    """A rule for the agent's work; about what it just did, it is a correction."""
    return fits(phrases.CONDUCTING, one.plain) and not shared(one.terms, terms(before.announced))
