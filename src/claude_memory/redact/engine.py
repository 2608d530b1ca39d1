"""Reads the table of rules, `rules.tsv`, and runs it over a text.

With re2, or with the standard library where loading re2 would cost too much. Both see one ASCII byte per
character, so that offsets hold for any text, lone surrogates too, and a rule runs only when one of its
keywords stands in the text. Both find the same; re2 alone is linear in any text: the other is for short ones.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from functools import cache
from os.path import dirname, join
from typing import Any, NamedTuple

# --- the rules

# Words for "password" in other scripts. The engine reads SOH for each of their letters, so that offsets hold.
_OTHER_SCRIPTS = (
    *("пароль", "Пароль", "пароля", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호"),
    *("كلمة المرور", "كلمة السر", "סיסמה", "סיסמא", "รหัสผ่าน", "κωδικός πρόσβασης", "पासवर्ड", "пароль"),
)
_SPELLED = {**{word: "\x01" * len(word) for word in _OTHER_SCRIPTS}, "：": ":", "＝": "="}
_PIECE = re.compile("%([A-Z][A-Z0-9_]*)%")


class Rule(NamedTuple):
    """One format. The rule runs only on texts that hold one of its keywords (lower case).

    Every group of the pattern is cut where it matched, if the check says so; a match that begins with
    `unless` is no find. The pattern of a `finder` finds the heads of columns.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    check: str | None = None
    unless: str | None = None
    finder: bool = False


def _rule(pieces: dict[str, str], kind: str, keywords: str, check: str, *rest: str) -> Rule:
    if "\\" in keywords:
        keywords = keywords.encode("ascii").decode("unicode_escape")
    form, pattern = rest[0], rest[-1]
    if len(rest) == 1:
        pattern = f"{pieces['START']}({pattern})"
    elif not form.endswith(":"):
        pattern = rf"(?i:(?:{form})[a-z0-9_.-]{{0,24}}){pieces['SEPARATOR']}({pattern})"
    unless = rest[1] if form == "unless:" else None
    checked = None if check == "-" else check
    return Rule(kind, tuple(keywords.split(",")), pattern, checked, unless, form == "column:")


def _table() -> tuple[tuple[Rule, ...], dict[bytes, str], dict[bytes, list[int]]]:
    """The rules, what must stand around a short keyword, and the ranks of the rules a keyword calls for."""
    rules: list[Rule] = []
    pieces: dict[str, str] = {}
    sharper: dict[bytes, str] = {}
    ranks: dict[bytes, list[int]] = {}
    with open(join(dirname(__file__), "rules.tsv"), encoding="utf-8") as lines:  # noqa: PTH118, PTH120, PTH123
        for line in lines:
            if line.startswith("#"):
                continue
            name, *rest = _PIECE.sub(lambda piece: pieces[piece[1]], line.rstrip("\n")).split("\t")
            if name.startswith("="):
                pieces[name[1:]] = rest[0]
            elif name.startswith("~"):
                sharper[name[1:].encode()] = rest[0]
            else:
                rules.append(_rule(pieces, name, *rest))
                for keyword in rules[-1].keywords:
                    ranks.setdefault(keyword.encode(), []).append(len(rules) - 1)
    return tuple(rules), sharper, ranks


RULES, _SHARP, _RANKS = _table()


# --- two engines


class Engine(NamedTuple):
    """How a text is looked through: which rules it calls for, and a rule's pattern, compiled."""

    wanted: Callable[[bytes], list[int]]
    compiled: Callable[[int], Any]


def _wanted_by_re(shadow: bytes) -> list[int]:
    """One keyword after the other: quick enough for a short text, and nothing has to be built for it."""
    lowered = shadow.lower()
    found = [keyword for keyword in _RANKS if keyword in lowered and keyword not in _SHARP]
    found += [keyword for keyword, pattern in _SHARP.items() if _compiled_re(pattern).search(lowered)]
    return sorted({rank for keyword in found for rank in _RANKS[keyword]})


def _wanted_by_re2(shadow: bytes) -> list[int]:
    hits = _prefilter().Match(shadow)
    if len(hits) == 1 and hits[0] == len(_RANKS):
        return []
    if len(_RANKS) not in hits:  # the automaton ran out of memory and found nothing: ask one by one
        return _wanted_by_re(shadow)
    words = list(_RANKS)
    return sorted({rank for hit in hits if hit < len(words) for rank in _RANKS[words[hit]]})


@cache
def _prefilter() -> Any:
    """All keywords as one automaton: one pass over the text, seventy times faster than one by one."""
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = 64 << 20
    found = re2.Set.SearchSet(options)
    for keyword in _RANKS:
        found.Add(_SHARP.get(keyword) or re2.escape(keyword.decode()))
    found.Add(r"(?s).")  # always matches: its absence shows that the automaton failed
    found.Compile()
    return found


@cache
def _compiled_by_re2(rank: int) -> Any:
    import re2

    options = re2.Options()
    options.max_mem = 32 << 20
    return re2.compile(RULES[rank].pattern.encode(), options)


_END = re.compile(r"(?<![\\\[\w])\$(?=[|)]|$)")


@cache
def _compiled_re(pattern: str) -> re.Pattern[bytes]:
    """The pattern as the standard library takes it: there `$` alone would match before a last newline too."""
    if not pattern.startswith("(?m)"):
        pattern = _END.sub(r"\\Z", pattern)
    return re.compile(pattern.encode())


RE2 = Engine(_wanted_by_re2, _compiled_by_re2)
STANDARD = Engine(_wanted_by_re, lambda rank: _compiled_re(RULES[rank].pattern))


# --- finding

SHORTEST = 8  # characters that can hold a secret
_MARK = re.compile(rb"\[(?:private|secret:[a-z0-9-]+)\]")
_COLOUR = re.compile(rb"(?:\x1b|\\+u001b)\[[0-9;?]{0,20}[A-Za-z]")  # its letters would join the words beside

# DEL stands for every character beyond ASCII: no rule names it, no pattern treats it as a delimiter.
codecs.register_error("claude_memory.del", lambda fault: (b"\x7f" * (fault.end - fault.start), fault.end))  # type: ignore[attr-defined]


class Span(NamedTuple):
    """Where a secret stands; a lower rank is the more telling rule."""

    start: int
    end: int
    rank: int


def shadow_of(text: str) -> bytes:
    """The text as the rules read it, character for byte."""
    shadow = text.encode("ascii", "claude_memory.del")
    if not text.isascii() and b"\x7f\x7f" in shadow:
        for word, spelled in _SPELLED.items():
            if word in text:
                text = text.replace(word, spelled)
                shadow = text.encode("ascii", "claude_memory.del")
    if b"\x1b" in shadow or b"u001b" in shadow:
        shadow = _COLOUR.sub(lambda code: b" " * len(code[0]), shadow)
    if b"[secret:" in shadow or b"[private]" in shadow:
        # NUL ends every value: what was cut already is never part of a new find.
        shadow = _MARK.sub(lambda mark: b"\0" * len(mark[0]), shadow)
    # The one character that the two engines do not agree to call a space.
    return shadow.replace(b"\v", b" ") if b"\v" in shadow else shadow


def find(text: str, name: str = "", using: Engine = RE2) -> list[Span]:
    """Every secret of the text, in order, without overlap; a name gives it context, as a JSON member has."""
    if not name and len(text) < SHORTEST:
        return []
    before = f'{name}="' if name else ""
    whole = shadow_of(f'{before}{text}"' if name else text)
    wanted, shift, size = using.wanted(whole), len(before), len(text)
    spans = [
        Span(max(s.start - shift, 0), min(s.end - shift, size), s.rank)
        for s in _spans(whole, wanted, using)
        if s.end > shift and s.start < shift + size
    ]
    if name:  # by itself as well, for rules that look for where a line begins
        at_lines = [rank for rank in wanted if re.search(r"(?<!\[)\^", RULES[rank].pattern)]
        spans += _spans(whole[shift:-1], at_lines, using)
    merged: list[Span] = []
    for span in sorted(spans):
        last = merged[-1] if merged else None
        if last and span.start < last.end:
            merged[-1] = Span(last.start, max(last.end, span.end), min(last.rank, span.rank))
        else:
            merged.append(span)
    return merged


def _spans(shadow: bytes, wanted: list[int], engine: Engine) -> Iterator[Span]:
    for rank in wanted:
        check = RULES[rank].check
        for start, end in _places(rank, shadow, engine):
            if check:
                from claude_memory.redact.checks import CHECKS  # costs a hook more than all the rules here

                if not CHECKS[check](shadow[start:end].decode("ascii")):
                    continue
            yield Span(start, end, rank)


def _places(rank: int, shadow: bytes, engine: Engine) -> Iterator[tuple[int, int]]:
    rule = RULES[rank]
    for match in engine.compiled(rank).finditer(shadow):
        if rule.finder:
            yield from _cells(shadow, *match.span(1))
        elif not (rule.unless and _compiled_re(rule.unless).match(shadow, match.start())):
            # -1 where the group took no part
            spans = map(match.span, range(1, match.re.groups + 1))
            yield from ((start, end) for start, end in spans if end > start)


_MAX_ROWS = 200
_MAX_LINE = 2000
_EDGES = b" \t\r*`\"'"
_RULER = re.compile(rb"[\s|:+=-]*")


def _cells(shadow: bytes, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Where the cells below the head of a secret column begin and end."""
    start = shadow.rfind(b"\n", 0, first) + 1
    end = _line_end(shadow, start)
    left, right = shadow[start:first], shadow[last:end]
    beside = left.rstrip(_EDGES)[-1:] + right.lstrip(_EDGES)[:1]
    mark = next((mark for mark in (b"|", b"\t", b",", b";") if mark in beside), None)
    if not mark or end - start > _MAX_LINE:
        return
    count, column = shadow[start:end].count(mark), left.count(mark)
    for _ in range(_MAX_ROWS):
        start = end + 1
        end = _line_end(shadow, start)
        line = shadow[start:end]
        if start >= len(shadow) or len(line) > _MAX_LINE or line.count(mark) != count:
            return
        if not _RULER.fullmatch(line):
            cells = line.split(mark)
            value = cells[column].strip(_EDGES)
            place = start + sum(len(cell) + 1 for cell in cells[:column]) + cells[column].find(value)
            if value and not value.isspace() and b"\0" not in value and b" " not in value:
                yield place, place + len(value)


def _line_end(shadow: bytes, start: int) -> int:
    end = shadow.find(b"\n", start)
    return len(shadow) if end == -1 else end


# --- cutting

_MAX_PASSES = 8  # a cut can bare one more secret beside it; two passes settle all but hostile text


def cut_secrets(text: str, name: str = "", using: Engine = RE2) -> str:
    """The text with every secret replaced; a second call changes nothing. A name gives it context."""
    for _ in range(_MAX_PASSES):
        spans = find(text, name, using)
        if not spans:  # nearly always at once
            break
        text = replaced(text, spans)
    return text


def replaced(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    place = 0
    for span in spans:
        parts += (text[place : span.start], f"[secret:{RULES[span.rank].kind}]")
        place = span.end
    return "".join([*parts, text[place:]])
