"""Puts `[secret:kind]` in the place of every secret. Never raises, linear in the text."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from claude_memory.redact import engine
from claude_memory.redact.engine import RE2, STANDARD, Engine, Span
from claude_memory.redact.rules import RULES

_MAX_PASSES = 8  # a cut can bare one more secret beside it; two passes settle all but hostile text

_NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text that may be stored, and how many of each kind were cut from it."""

    text: str
    found: Mapping[str, int]


def cut_secrets(text: str, name: str = "", using: Engine = RE2) -> Redacted:
    """The text with every secret replaced; a second call changes nothing. A name gives it context."""
    spans = engine.find_named(text, name, using) if name else engine.find(text, using)
    if not spans:  # nearly always
        return Redacted(text, _NOTHING)
    found: Counter[str] = Counter()
    for _ in range(_MAX_PASSES):
        text = replaced(text, spans, found)
        spans = find(text, name, using)
        if not spans:
            break
    return Redacted(text, found)


def find(text: str, name: str = "", using: Engine = RE2) -> list[Span]:
    """Every secret of the text, in order, without overlap."""
    return engine.find_named(text, name, using) if name else engine.find(text, using)


def may_hold(text: str) -> bool:
    """Whether any rule has to look at the text; cheap, and never wrong when it says no."""
    return len(text) >= engine.SHORTEST and bool(RE2.wanted(engine.shadow_of(text)))


def replaced(text: str, spans: list[Span], found: Counter[str]) -> str:
    """The text with a mark in the place of each span; counts the kinds."""
    kept: list[str] = []
    place = 0
    for span in spans:
        kind = RULES[span.rank].kind
        found[kind] += 1
        kept += (text[place : span.start], f"[secret:{kind}]")
        place = span.end
    kept.append(text[place:])
    return "".join(kept)


def lightest() -> Engine:
    """What a short-lived process takes for a short text: re2 only where it is loaded already."""
    return RE2 if "re2" in sys.modules else STANDARD
