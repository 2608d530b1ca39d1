"""The values that texts give: figures, durations, one of a kind; and whether two texts give different ones.

Pure; knows units of time and a few kinds that everybody names, and no field.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER = re.compile(r"\d+(?:[.,:/ ]\d+)*")
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "fifteen": "15", "twenty": "20", "thirty": "30",
    "fifty": "50", "sixty": "60", "hundred": "100", "noon": "12:00", "midnight": "0:00", "twice": "2",
}  # fmt: skip
_UNITS = {
    "s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "day": 86_400,
    "night": 86_400, "week": 604_800, "fortnight": 1_209_600, "month": 2_592_000, "quarter": 7_776_000,
    "year": 31_536_000,
}  # fmt: skip
_RHYTHMS = {"hourly": 3600, "daily": 86_400, "nightly": 86_400, "weekly": 604_800, "monthly": 2_592_000,
            "yearly": 31_536_000, "annually": 31_536_000}  # fmt: skip
_DURATION = re.compile(
    r"(?:(?<![\d/.:,])\b(a quarter of an|half an|an?|one|each|every|once an?|(?:\d+|"
    + "|".join(_NUMBER_WORDS)
    + r"))[ -]?)(s|sec|min|h|second|minute|hour|day|night|week|fortnight|month|quarter|year)s?\b"
    r"|\b(" + "|".join(_RHYTHMS) + r")\b",
    re.IGNORECASE,
)
# Parts of a system that stand side by side: what is said of one says nothing of the other.
SIBLINGS = tuple(
    frozenset(line.split())
    for line in (
        "frontend backend",
        "unit integration end-to-end e2e acceptance smoke",
        "staging production demo prod",
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
        "north south east west",
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
    """The figures a text gives, spelled alike: `10,000`, `10 000` and `10000` are one."""
    text = re.sub(r"\b(\d+)k\b", r"\g<1>000", text)
    spans = {str(_seconds(found)) + "s" for found in _DURATION.finditer(text)}
    text = _DURATION.sub(" ", text)
    plain = {re.sub(r"[, ](?=\d{3}\b)", "", found) for found in _NUMBER.findall(text)}
    words = {_NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _NUMBER_WORDS}
    return frozenset(spans | {re.sub(r"^(\d+):00$", r"\1", found) for found in plain | words})


def _seconds(found: re.Match[str]) -> float:
    """A duration or a rhythm in seconds: `14 days` and `two weeks` are one, `daily` and `every day`."""
    if found[3]:
        return float(_RHYTHMS[found[3].lower()])
    many = found[1].lower()
    count = _SHARES.get(many) or float(_NUMBER_WORDS.get(many, many if many.isdigit() else "1").split(":")[0])
    return count * _UNITS[found[2].lower()]


def kinds_differ(old: str, new: str, kinds: tuple[frozenset[str], ...] = _KINDS) -> bool:
    """Both name one of a kind (a weekday, a language), and not the same."""
    one, other = _with_singulars(old), _with_singulars(new)
    return any(one & kind and other & kind and not one & other & kind for kind in kinds)


@lru_cache(maxsize=4096)
def _with_singulars(text: str) -> frozenset[str]:
    words = words_of(text)
    return words | {word.rstrip("s") for word in words} | {part for word in words for part in word.split("-")}


def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z_]+(?:-[a-z]+)*", text.lower()))


def numbers_differ(old: str, new: str) -> bool:
    one, other = numbers(old), numbers(new)
    return bool(one - other and other - one)
