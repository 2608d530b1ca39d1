"""What a text lays down a rule about: a subject key, found when it is written, asked for when it is read.

`variable name`, `function decorator`, `import`: a thing of a codebase and the side of it that is ruled.
A later rule about the same key is the current one, whatever else both texts say. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

# Things of a codebase that rules are made about; the first name of each group is its key.
_THINGS = {
    "argument": r"arguments?|parameters?|params?|args",
    "attribute": r"attributes?|fields?|properties|property|members?",
    "variable": r"variables?|vars?",
    "function": r"functions?",
    "method": r"methods?",
    "class": r"class(?:es|s)?",
    "constant": r"constants?",
    "module": r"modules?|packages?",
    "file": r"files?|filenames?",
    "test": r"tests?",
    "branch": r"branch(?:es)?",
    "commit": r"commits?(?: messages?)?",
    "endpoint": r"endpoints?|routes?",
    "table": r"tables?|columns?",
    "component": r"components?",
}
# Sides of a thing that a rule is about. `name` is meant when no other is named.
_SIDES = {
    "decorator": r"decorators?|decorated|@\w+",
    "docstring": r"docstrings?|doc-strings?",
    "annotation": r"(?:type |return )?(?:annotations?|hints?)|annotated?|typing",
    "assert": r"asserts?|assertions?",
    "try": r"tr(?:y|ies|ys)(?:[-/ ](?:except|catch))?|exceptions?|error[- ]handling",
    "import": r"imports?|imported|importing",
    "comment": r"comments?|commenting",
    "logging": r"log(?:ging|ger|s)?",
}
_STANDING_ALONE = ("import", "comment", "logging")
_SPOKEN_OF_NAMES = (
    r"nam(?:es?|ed|ing)|prefix(?:es|ed)?|suffix(?:es|ed)?|start(?:s|ing)?|end(?:s|ing)?|begin\w*|case"
)
_THING = {key: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for key, words in _THINGS.items()}
_SIDE = {key: re.compile(rf"(?:\b|(?=@))(?:{words})\b", re.IGNORECASE) for key, words in _SIDES.items()}
_NAMES = re.compile(rf"\b(?:{_SPOKEN_OF_NAMES})\b", re.IGNORECASE)
_RULE = re.compile(
    r"\b(?:always|never|must|should|shall|need(?:s|ed)?|want|ensure|make sure|require[sd]?|from now on"
    r"|going forward|use|using|add|adding|include[sd]?|including|start|end|begin|avoid|prefer|remember to"
    r"|please|follow|convention|standard|rule|policy|adopt|stick to|switch(?:ing)? to|instead|expect"
    r"|have to|let's|insist|mandatory|be sure|continue|apply|implement"
    r"|incorporate|prefixed|suffixed|named)\b",
    re.IGNORECASE,
)
# A rule about names says how they look: something quoted, a case, a digit.
_VALUE = re.compile(
    r"['\"`‘’“”][^\s'\"`‘’“”]{1,24}['\"`‘’“”]|\b(?:camel|pascal|snake|kebab|upper|lower)[- _]?case\b"
    r"|\ball caps\b|\bdigits?\b|\bnumber in\b|\b\w{1,12}_(?=\s|$|[.,])|\b_\w{1,12}\b|\bcapital\w*",
    re.IGNORECASE,
)
# Asked for are the present and a rule, both: `which test fails now` wants no convention.
_PRESENT = re.compile(
    r"\b(?:current(?:ly)?|now|latest|newest|at the moment|these days|today|nowadays|in force|up to date"
    r"|at present|presently)\b",
    re.IGNORECASE,
)
_REGULATED = re.compile(
    r"\b(?:conventions?|rules?|standards?|polic(?:y|ies)|styles?|guidelines?|nam(?:e|es|ing)|form|format|look"
    r"|should (?:i|we)|must|supposed to|applies|holds)\b",
    re.IGNORECASE,
)
# Files and tests are spoken of in any sense; of these only a question for a rule is one.
_CODE = ("argument", "attribute", "variable", "function", "method", "class", "constant")
_RULED = re.compile(
    r"\b(?:conventions?|rules?|standards?|polic(?:y|ies)|styles?|guidelines?|naming|names?)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_READ = 20_000  # characters: a rule stands in a sentence, not at the end of a novel


def subjects(text: str) -> dict[str, float]:
    """The keys a text lays something down about; 1 where it says what, less where it only insists."""
    found: dict[str, float] = {}
    previous: list[str] = []
    for sentence in _SENTENCE.split(text[:_READ]):
        keys = list(_keys(sentence))
        if _RULE.search(sentence):
            # `Use the prefix 'x_' for them.` speaks of the sentence before.
            for key in keys or (previous if _VALUE.search(sentence) and _NAMES.search(sentence) else []):
                found[key] = max(found.get(key, 0.0), _weight(key, sentence))
        previous = keys or previous
    return {key: weight for key, weight in found.items() if weight}


def asked_for(question: str) -> list[str]:
    """The keys that a question about the present state asks for; none if it asks for something else."""
    if not (_PRESENT.search(question) and _REGULATED.search(question)):
        return []
    keys = [
        key
        for key in _keys(question, asked=True)
        if key.split()[0] in _CODE or key in _STANDING_ALONE or _RULED.search(question)
    ]
    return keys if len(keys) <= 2 else []


def _weight(key: str, sentence: str) -> float:
    if key.endswith(" name"):
        return 1.0 if _VALUE.search(sentence) else 0.0
    if key.endswith((" decorator", "import")):
        return 1.0 if _VALUE.search(sentence) or "@" in sentence else 0.0
    return 1.0


def _keys(sentence: str, *, asked: bool = False) -> Iterator[str]:
    things = list(_things(sentence))
    sides = [side for side, pattern in _SIDE.items() if pattern.search(sentence)]
    if sides:
        for side in sides:
            if side in _STANDING_ALONE:
                yield side
            else:
                yield from (f"{thing} {side}" for thing in things if thing in ("function", "method", "class"))
        return
    if asked or _NAMES.search(sentence) or _VALUE.search(sentence):
        yield from (f"{thing} name" for thing in things)


@lru_cache(maxsize=1024)
def _things(sentence: str) -> tuple[str, ...]:
    """Things named, in order; `function arguments` are arguments, not functions."""
    spans = [
        (match.start(), match.end(), key)
        for key, pattern in _THING.items()
        for match in pattern.finditer(sentence)
    ]
    spans.sort()
    kept = []
    for place, (_, end, key) in enumerate(spans):
        following = spans[place + 1] if place + 1 < len(spans) else None
        if following and following[0] - end <= 1 and following[2] in ("argument", "attribute"):
            continue
        kept.append(key)
    return tuple(dict.fromkeys(kept))
