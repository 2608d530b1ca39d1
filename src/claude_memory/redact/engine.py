"""Runs the rules over a text: with re2, or with the standard library where loading re2 would cost too much.

Both see one ASCII byte per character, so that offsets hold for any text, lone surrogates too, and a rule
runs only when one of its keywords stands in the text. Both find the same; re2 alone is linear in any text,
so the other is for short texts only.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from claude_memory.redact import checks
from claude_memory.redact.columns import find_columns
from claude_memory.redact.rule import Rule
from claude_memory.redact.rules import RULES, SHARPER, SPELLED

_MARK = re.compile(rb"\[(?:private|secret:[a-z0-9-]+)\]")
_COLOUR = re.compile(
    rb"(?:\x1b|\\+u001b)\[[0-9;?]{0,20}[A-Za-z]"
)  # its letters would join the words beside them
SHORTEST = 8  # characters that can hold a secret

_AT_LINES = frozenset(rank for rank, rule in enumerate(RULES) if re.search(r"(?<!\[)\^", rule.pattern))

# DEL stands for every character beyond ASCII: no rule names it, no pattern treats it as a delimiter.
codecs.register_error("claude_memory.del", lambda fault: (b"\x7f" * (fault.end - fault.start), fault.end))  # type: ignore[attr-defined]


class Span(NamedTuple):
    """Where a secret stands; a lower rank is the more telling rule."""

    start: int
    end: int
    rank: int


class Engine(NamedTuple):
    """How a text is looked through: which rules it calls for, and a rule's pattern, compiled."""

    wanted: Callable[[bytes], list[int]]
    compiled: Callable[[int], Any]


def find(text: str, engine: Engine) -> list[Span]:
    """Every secret of the text, in order, without overlap."""
    if len(text) < SHORTEST:
        return []
    shadow = shadow_of(text)
    wanted = engine.wanted(shadow)
    return _merged(_spans(shadow, wanted, engine)) if wanted else []


def find_named(text: str, name: str, engine: Engine) -> list[Span]:
    """Secrets of a text that stands as the value of a name, such as a JSON member."""
    before = f'{name}="'
    whole = shadow_of(f'{before}{text}"')
    wanted = engine.wanted(whole)
    if not wanted:
        return []
    shift, size = len(before), len(text)
    moved = [
        Span(max(s.start - shift, 0), min(s.end - shift, size), s.rank)
        for s in _spans(whole, wanted, engine)
        if s.end > shift and s.start < shift + size
    ]
    # By itself as well, for rules that look for where a line begins.
    at_lines = [rank for rank in wanted if rank in _AT_LINES]
    return _merged([*moved, *_spans(whole[shift:-1], at_lines, engine)])


def shadow_of(text: str) -> bytes:
    """The text as the rules read it, character for byte."""
    shadow = text.encode("ascii", "claude_memory.del")
    if not text.isascii() and b"\x7f\x7f" in shadow and (spelled := _spelled(text)) != text:
        shadow = spelled.encode("ascii", "claude_memory.del")
    if b"\x1b" in shadow or b"u001b" in shadow:
        shadow = _COLOUR.sub(lambda code: b" " * len(code[0]), shadow)
    if b"[secret:" in shadow or b"[private]" in shadow:
        # NUL ends every value: what was cut already is never part of a new find.
        shadow = _MARK.sub(lambda mark: b"\0" * len(mark[0]), shadow)
    # The one character that the two engines do not agree to call a space.
    return shadow.replace(b"\v", b" ") if b"\v" in shadow else shadow


def _spelled(text: str) -> str:
    for word, spelled in SPELLED.items():
        if word in text:
            text = text.replace(word, spelled)
    return text


def _spans(shadow: bytes, wanted: list[int], engine: Engine) -> list[Span]:
    return [span for rank in wanted for span in _matches(rank, shadow, engine)]


def _matches(rank: int, shadow: bytes, engine: Engine) -> Iterator[Span]:
    rule = RULES[rank]
    if rule.finder:
        yield from (
            Span(*place, rank)
            for place in find_columns(shadow, engine.compiled(rank))
            if _holds(rule, shadow[slice(*place)])
        )
        return
    for match in engine.compiled(rank).finditer(shadow):
        if rule.unless and _compiled_re(rule.unless).match(shadow, match.start()):
            continue
        for group in range(1, match.re.groups + 1):
            start, end = match.span(group)
            if start != -1 and end > start and _holds(rule, shadow[start:end]):
                yield Span(start, end, rank)


def _holds(rule: Rule, value: bytes) -> bool:
    return rule.check is None or checks.CHECKS[rule.check](value.decode("ascii"))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        last = merged[-1] if merged else None
        if last and span.start < last.end:
            merged[-1] = Span(last.start, max(last.end, span.end), min(last.rank, span.rank))
        else:
            merged.append(span)
    return merged


@cache
def keywords() -> tuple[tuple[bytes, ...], Mapping[bytes, tuple[int, ...]]]:
    """Every keyword, and the ranks of the rules that each calls for."""
    by_keyword: dict[bytes, tuple[int, ...]] = {}
    for rank, rule in enumerate(RULES):
        for keyword in rule.keywords:
            key = keyword.encode()
            by_keyword[key] = (*by_keyword.get(key, ()), rank)
    return tuple(by_keyword), by_keyword


def _ranks(found: list[bytes]) -> list[int]:
    by_keyword = keywords()[1]
    return sorted({rank for keyword in found for rank in by_keyword[keyword]})


def _wanted_by_re(shadow: bytes) -> list[int]:
    """One keyword after the other: quick enough for a short text, and nothing has to be built for it."""
    lowered = shadow.lower()
    found = [keyword for keyword in keywords()[0] if keyword in lowered and keyword not in _SHARP]
    found += [keyword for keyword, pattern in _SHARP.items() if _compiled_re(pattern).search(lowered)]
    return _ranks(found)


_SHARP = {keyword.encode(): pattern for keyword, pattern in SHARPER.items()}


def _wanted_by_re2(shadow: bytes) -> list[int]:
    words = keywords()[0]
    hits = _prefilter().Match(shadow)
    if len(hits) == 1 and hits[0] == len(words):
        return []
    if len(words) not in hits:  # the automaton ran out of memory and found nothing: ask one by one
        return _wanted_by_re(shadow)
    return _ranks([words[hit] for hit in hits if hit < len(words)])


@cache
def _prefilter() -> Any:
    """All keywords as one automaton: one pass over the text, seventy times faster than one by one."""
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = 64 << 20
    found = re2.Set.SearchSet(options)
    for keyword in keywords()[0]:
        found.Add(SHARPER.get(keyword.decode(), re2.escape(keyword.decode())))
    found.Add(r"(?s).")  # always matches: its absence shows that the automaton failed
    found.Compile()
    return found


@cache
def _compiled_by_re2(rank: int) -> Any:
    import re2

    options = re2.Options()
    options.max_mem = 32 << 20
    return re2.compile(RULES[rank].pattern.encode(), options)


def _compiled_by_re(rank: int) -> Any:
    return _compiled_re(RULES[rank].pattern)


@cache
def _compiled_re(pattern: str) -> re.Pattern[bytes]:
    """The pattern as the standard library takes it: there `$` alone would match before a last newline too."""
    if not pattern.startswith("(?m)"):
        pattern = _END.sub(r"\\Z", pattern)
    return re.compile(pattern.encode())


_END = re.compile(r"(?<![\\\[\w])\$(?=[|)]|$)")

RE2 = Engine(_wanted_by_re2, _compiled_by_re2)
STANDARD = Engine(_wanted_by_re, _compiled_by_re)
