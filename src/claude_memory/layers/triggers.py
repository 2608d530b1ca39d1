"""The write-ahead scan: which sentences of a prompt must be written down before the agent acts.

Rules are data, by language. Standard library only: it runs inside the prompt hook, and compiles only
the rules whose cues a sentence holds.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from claude_memory.layers.rules import LANGUAGES, Rule, compiled
from claude_memory.layers.spoken import sentences

MAX_FOUND = 12
DESCRIPTION = 3  # sentences
VALUE = "value"
CORRECTION = "correction"
_PUNCTUATION = " ,.:;!—–-"
SENTENCE_CHARACTERS = 400
# What a sentence is taken for when several rules fit: a correction says what is right instead, which
# is no decision of its own.
_HIDES: dict[str, tuple[str, ...]] = {
    "correction": ("decision", "architecture", "priority"),
    "priority": ("decision", "architecture"),
    "architecture": ("decision",),
}


class Found(NamedTuple):
    """One sentence worth writing down, and why."""

    label: str
    text: str


def scan(text: str) -> list[Found]:
    """What the prompt corrects, decides, rules, ranks or names; in its order, each sentence once a label."""
    found: dict[tuple[str, str], Found] = {}
    said = list(sentences(text))
    for language in LANGUAGES:
        rules = _language(language)
        if _fits(rules.SARCASM, text.lower()) or (said and _fits(rules.DESCRIBING, said[0].lower())):
            continue
        for sentence, described in zip(said, _described(rules, said), strict=True):
            for label in _labels(rules, sentence):
                if not (described and label not in (CORRECTION, VALUE)):
                    item = Found(label, sentence[:SENTENCE_CHARACTERS])
                    found.setdefault((label, item.text), item)
    return list(found.values())[:MAX_FOUND]


def _labels(rules: ModuleType, sentence: str) -> list[str]:
    """Cheapest question first: most sentences hold no cue, and few that do are taken back."""
    typed = " ".join(sentence.lower().replace("’", "'").split())
    text = _without_fillers(rules, typed)
    assent = (
        "yes> " if rules.ASSENT.intersection(_words(typed)[: len(typed.split()) - len(text.split())]) else ""
    )
    if "?" in text[-3:]:
        text = _before_the_question(rules, text)
    text = text.rstrip(" .!;,")
    if not any(_cued(rule, text) or _cued(rule, assent + text) for rule in rules.RULES) or _fits(
        rules.ASKING, text
    ):
        return []
    fitting = [rule for rule in rules.RULES if _fits(rule, text) or (assent and _fits(rule, assent + text))]
    if not fitting or _is_not_meant(rules, text):
        return []
    if any(rule.label == VALUE for rule in fitting) and (
        _fits(rules.TASK, text) or _fits(rules.NOT_A_VALUE, text)
    ):
        fitting = [rule for rule in fitting if rule.label != VALUE]
    if any(rule.label != CORRECTION for rule in fitting) and (
        _fits(rules.INSPECTING, text) and not _fits(rules.STRONG, text)
    ):
        fitting = [rule for rule in fitting if rule.label == CORRECTION]
    labels = list(dict.fromkeys(rule.label for rule in fitting))
    hidden = {name for label in labels for name in _HIDES.get(label, ())}
    return [label for label in labels if label not in hidden or _stands_apart(label, fitting, text)]


def _described(rules: ModuleType, said: list[str]) -> list[bool]:
    """Which sentences only describe: three or more together, none of them in anybody's voice."""
    plain = [
        len(words) > 3 and not (set(words) & rules.PERSONAL) and "?" not in sentence
        for sentence in said
        if (words := sentence.lower().replace("’", "'").replace(",", " ").split()) is not None
    ]
    return [one and sum(plain) >= DESCRIPTION for one in plain]


def _is_not_meant(rules: ModuleType, text: str) -> bool:
    if _fits(rules.SUPPOSING, text) or _fits(rules.ABOUT_A_TEXT, text):
        return True
    return _fits(rules.REPORTED, text) and not _fits(rules.OWN_VOICE, text)


def _stands_apart(label: str, fitting: list[Rule], text: str) -> bool:
    """“Skip the suite, the outage is more urgent”: each part has its own say."""
    if (
        label != "decision"
        or "priority" not in {rule.label for rule in fitting}
        or "correction" in {rule.label for rule in fitting}
    ):
        return False
    return any(
        any(_fits(rule, part) for rule in fitting if rule.label == label)
        and not any(_fits(rule, part) for rule in fitting if rule.label != label)
        for part in text.split(", ")
    )


def _without_fillers(rules: ModuleType, text: str) -> str:
    while text:
        phrase = next((item for item in rules.FILLING if text.startswith(item)), None)
        word = text.partition(" ")[0].strip(_PUNCTUATION)
        if phrase is not None:
            text = text[len(phrase) :].lstrip(_PUNCTUATION)
        elif word in rules.FILLERS or not word:
            text = text.partition(word)[2].lstrip(_PUNCTUATION) if word else text.lstrip(_PUNCTUATION)
        else:
            break
    return text


def _words(text: str) -> list[str]:
    return [word.strip(_PUNCTUATION) for word in text.split()]


def _before_the_question(rules: ModuleType, text: str) -> str:
    """“We can't start until it is merged, so what is missing?” says something before it asks."""
    head, comma, tail = text.rpartition(",")
    asked = tail.strip(_PUNCTUATION + "?").partition(" ")[0].partition("'")[0]
    return head.strip() if comma and asked in rules.ASKED_AT_END else ""


def _cued(rule: Rule, text: str) -> bool:
    return not rule.cues or any(
        text.startswith(cue[1:]) if cue[0] == "^" else cue in text for cue in rule.cues
    )


def _fits(rule: Rule, text: str) -> bool:
    if not _cued(rule, text) or compiled(rule.pattern).search(text) is None:
        return False
    return not (rule.unless and compiled(rule.unless).search(text))


@cache
def _language(name: str) -> ModuleType:
    return import_module(f"claude_memory.layers.rules.{name}")
