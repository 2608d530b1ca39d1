"""The values that texts give: figures, durations, one of a kind; and whether two texts give different ones.

Pure; knows units of time and a few kinds that everybody names, and no field.
"""

from __future__ import annotations

import re
from functools import lru_cache

from claude_memory.text import is_stop_term, stem

_NUMBER = re.compile(r"(?<![a-uw-z_\d])\d+(?:[.,:]\d+|(?: \d{3})(?!\d))*")
_NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "twice": 2,
}  # fmt: skip
_MANY = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
_ONE_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b")
_MANY_OF = re.compile(rf"\b(?:(\d+|an?|one) )?({'|'.join(_MANY)})\b")
_CLOCK = re.compile(
    r"\b(\d{1,2})(?::(\d\d))? ?(am|pm|a\.m\.|p\.m\.|o['’]clock|in the morning|in the evening)"
)
_UNITS = {
    "s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "day": 86_400,
    "night": 86_400, "week": 604_800, "fortnight": 1_209_600, "month": 2_628_000, "quarter": 7_884_000,
    "year": 31_536_000,
}  # fmt: skip
_RHYTHMS = {"hourly": 3600, "daily": 86_400, "nightly": 86_400, "weekly": 604_800, "monthly": 2_628_000,
            "quarterly": 7_884_000, "yearly": 31_536_000, "annually": 31_536_000}  # fmt: skip
_DURATION = re.compile(
    r"(?:(?<![\d/.:,])\b"
    r"(?:(a quarter of an|half an|an?|one|each|every|once an?|per)[ -]|(\d+(?:\.\d+)?)[ -]?))"
    r"(s|secs?|mins?|h|second|minute|hour|day|night|week|fortnight|month|quarter|year)s?\b( and a half)?"
    r"|\b(" + "|".join(_RHYTHMS) + r")\b"
)
_UNIT_AFTER = re.compile(r"(?<![a-uw-z_\d])(\d+(?:[.,:]\d+|(?: \d{3})(?!\d))*)[ -]?([a-z%°]+)?")
# Parts of a system that stand side by side: what is said of one says nothing of the other.
SIBLINGS = tuple(
    frozenset(line.split())
    for line in (
        "frontend backend",
        "unit integration end-to-end e2e acceptance smoke",
        "staging production demo",
        "upload download uploads downloads",
        "import export importer exporter",
        "desktop handheld mobile tablet",
        "reader writer",
        "load loading build building",
        "parser lexer",
        "photo video audio image",
        "windows macos linux",
        "android ios",
        "client server",
        "request response",
        "input output",
        "feature release hotfix",
        "admin guest",
        "cpu gpu",
        "primary replica",
        "encoder decoder",
        "raw clean cleaned",
        "backup restore",
        "buyer seller",
        "invoice reminder",
    )
)
_SHARES = {"a quarter of an": 0.25, "half an": 0.5}
# Of each kind a text names one: another one is another value.
_KINDS = tuple(
    frozenset(line.split())
    for line in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april june july august september october november december",
        "english german french spanish italian dutch polish portuguese japanese chinese norwegian swedish",
        "red green blue yellow black white orange purple grey gray",
        "ms millisecond milliseconds us microsecond microseconds nanoseconds ns",
        "celsius fahrenheit kelvin",
        "utc local",
        "yaml json toml xml ini csv parquet",
        "postgres postgresql mysql sqlite mongodb oracle mariadb redis",
        "mit apache gpl bsd mpl",
        "tabs spaces",
        "python go rust java kotlin typescript javascript ruby",
        "rest grpc graphql soap",
        "kb mb gb tb kib mib gib",
        "metres meters feet miles kilometres kilometers km",
    )
)


@lru_cache(maxsize=4096)
def numbers(text: str) -> frozenset[str]:
    """The figures a text gives, spelled alike: `10,000`, `10 000` and `ten thousand` are one."""
    text = _in_digits(text)
    spans = {_span(found) for found in _DURATION.finditer(text)}
    plain = {_plain(found) for found in _NUMBER.findall(_DURATION.sub(" ", text))}
    return frozenset(spans | plain)


@lru_cache(maxsize=4096)
def measures(text: str) -> dict[str, frozenset[str]]:
    """The figures of a text by what they count: `25 mb`, `40 users`, a duration."""
    text = re.sub(r"\b(?:one|a single)(?= [a-z])", "1", _in_digits(text))
    found: dict[str, set[str]] = {}
    for span in _DURATION.finditer(text):
        found.setdefault("time", set()).add(_span(span))
    for number, unit in _UNIT_AFTER.findall(_DURATION.sub(" ", text)):
        found.setdefault(stem(unit) if unit and not is_stop_term(stem(unit)) else "", set()).add(
            _plain(number)
        )
    return {unit: frozenset(of) for unit, of in found.items()}


def _in_digits(text: str) -> str:
    """The text in lower case with its numbers in digits and its times of day in one form."""
    text = _ONE_WORD.sub(lambda word: str(_NUMBER_WORDS[word.group()]), text.lower())
    text = _MANY_OF.sub(
        lambda many: str((int(many[1]) if many[1] and many[1].isdigit() else 1) * _MANY[many[2]]), text
    )
    text = re.sub(r"\b(\d+)k\b", r"\g<1>000", text)
    text = re.sub(r"\bhalf past (\d+)", r"\g<1>:30", text)
    text = re.sub(r"\bnoon\b", "12:00", re.sub(r"\bmidnight\b", "0:00", text))
    return _CLOCK.sub(_time_of_day, text)


def _time_of_day(found: re.Match[str]) -> str:
    late = found[3] in ("pm", "p.m.", "in the evening") and int(found[1]) < 12
    return f"{int(found[1]) + 12 * late}:{found[2] or '00'}"


def _plain(number: str) -> str:
    number = re.sub(r"[, ](?=\d{3}\b)", "", number)
    return re.sub(r"^0+(?=\d)", "", re.sub(r"^(\d+):00$", r"\1", number))


def _span(found: re.Match[str]) -> str:
    """A duration or a rhythm: `14 days` and `2 weeks` are one, `daily` and `every day`, `90 days` and
    `three months`.
    """
    if found[5]:
        seconds = float(_RHYTHMS[found[5]])
    else:
        count = float(found[2]) if found[2] else _SHARES.get(found[1], 1.0)
        seconds = (count + 0.5 * bool(found[4])) * _UNITS[found[3].rstrip("s") or "s"]
    months = seconds / _UNITS["month"]
    whole = round(months)
    return f"{whole} months" if whole and abs(months - whole) < 0.03 * whole else f"{seconds:g}s"


def kinds_differ(old: str, new: str, kinds: tuple[frozenset[str], ...] = _KINDS) -> bool:
    """Both name one of a kind (a weekday, a language), and not the same."""
    one, other = _with_singulars(old), _with_singulars(new)
    return any(one & kind and other & kind and not one & other & kind for kind in kinds)


@lru_cache(maxsize=4096)
def _with_singulars(text: str) -> frozenset[str]:
    words = words_of(re.sub(r"\bprod\b", "production", text.lower()))
    return words | {word.rstrip("s") for word in words} | {part for word in words for part in word.split("-")}


def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z_]+(?:-[a-z]+)*", text.lower()))


def numbers_differ(old: str, new: str) -> bool:
    one, other = numbers(old), numbers(new)
    return bool(one - other and other - one)


def same_measure_differs(old: str, new: str) -> bool:
    """Both count the same thing, and not to the same figure."""
    one, other = measures(old), measures(new)
    return any(unit and not one[unit] & other[unit] for unit in one.keys() & other.keys())


def other_measures(old: str, new: str) -> bool:
    """Both give figures, and of nothing in common."""
    one, other = measures(old), measures(new)
    return bool(one and other) and not one.keys() & other.keys()
