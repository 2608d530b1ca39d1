"""How people word that a choice became another: what they turn down, drop, offer, and which numbers they say.

Pure. Reads one text at a time and knows nothing of the session.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import re
from functools import lru_cache

from claude_memory.compaction.episodes import NUMBERS, subjects
from claude_memory.compaction.talk import TAKING_BACK, TOKEN
from claude_memory.compaction.undoing import stem
from claude_memory.distil.exchange import STOPWORDS

_AROUND = 6  # words on each side of a number
_MOST = 40  # numbers of one text; a pasted table has no end of them
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][\w+-]+|\b\w+[a-z][A-Z]\w*|`[^`]+`")
_PIECE = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)*")
_DROPPING = re.compile(
    r"\b(?:drop(?:s|ped|ping)?|scrap|strike|shelve|retire|cancel|toss|swap|lose|kill|ditch|abandon|remov(?:e|es|ing)|get rid of|rip out|take out|throw out|undo|revert|replace|instead of|rather than|no more|no longer|stop using)\s+(?:the |a |an |our |this |that |all |use |using |with )*((?:[\w'/.+-]+ ?){1,2})",
    re.IGNORECASE,
)
# The word right after, or right before, is what somebody will not have.
_REFUSING = re.compile(
    r"\b(?:no|not|without|drop(?:s|ped|ping)?|scrap(?:ped)?|strike|shelve|retire|cancel|toss|swap|lose|kill|ditch|abandon|remov(?:e|es|ing)|rid of|rip out|take out|throw out|kick|undo|revert|replac(?:e|es|ed|ing)|instead of|rather than|no more|no longer|stop(?: using)?|against|leave out|forget|never)\s+"
    r"(?:(?:the|a|an|our|this|that|all|any|use|using|with|more|by|on|to|about) )*((?:[\w'/.+-]+ ?){1,2})",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"((?:[\w'/.+-]+ ){1,3})(?:(?:is|are|was|were|will|would|has|have|must|can|does|do|did|should|gets?|goes|go|we|i|they)(?:n't|n’t)? )*"
    r"(?:not (?:ok\w*|allowed|enough|worth|pass|work\w*|good|acceptable)|(?:don'?t|doesn'?t|won'?t|can'?t) (?:need|want|like|work|fit|pass|have)|out\b|gone|dead|wrong|removed|dropped|must go|has to go|in the bin|no more|no longer|hate[sd]?|forbidden|overkill|a mistake)",
    re.IGNORECASE,
)
OFFERING = re.compile(
    r"\b(?:or|either|options?|alternatives?|candidates?|versus|vs|which|would|could|compatible|there (?:is|are) also)\b",
    re.IGNORECASE,
)
CONCLUDING = re.compile(
    r"(?:^|[.!?:;,] |\bok )(?:so|then|therefore|thus|hence|and so|make it|let us|let's)\b|\b(?:therefore|make it|instead|from now on|from today)\b|\bthen[.!]?$",
    re.IGNORECASE,
)
IDEA = re.compile(
    r"\b(?:maybe|perhaps|might|what if|thinking (?:of|about)|wonder\w*|reckon|would like|could we|idea)\b",
    re.IGNORECASE,
)
REASON = re.compile(
    r"\W*(?:i|i'\w+|it|its|it's|that|that's|this|because|since|we've|nobody|they|there)\b", re.IGNORECASE
)
EVERYWHERE = re.compile(
    r"\b(?:all|both|every\w*|whole|alike|each|entire\w*|throughout|per|also|too|as well|one \w+ for)\b",
    re.IGNORECASE,
)
APART = re.compile(
    r"\b(?:only|except|rest|others?|whereas|separate\w*|still|keeps? (?=\w)|stays?|remains?|single|as (?:before|is|said))(?:\b|(?<= ))",
    re.IGNORECASE,
)
_DID_IT = (
    r"\b(?!['’]?(?:ll|d)| (?:will|would|can|could|should))[^.!?]{0,50}?"
    r"\b(?:changed|moved|edited|put|made|switched|rewrote|worked|pushed|committed|replaced|renamed|swapped|converted|migrated|reverted)\b"
)
DID_IT = re.compile(rf"\b(?:i|we){_DID_IT}|\bdid (?:that|it|this)\b", re.IGNORECASE)
YOU_DID_IT = re.compile(rf"\byou{_DID_IT}", re.IGNORECASE)
RULING = re.compile(r"\W*(?:and |but |also )?(?:no|never|always|only|keep|must)\b", re.IGNORECASE)


def alike(word: str, chosen: str) -> bool:
    """`tag` and `apriltag`; numbers and short words must be the very same."""
    if word == chosen:
        return True
    if min(len(word), len(chosen)) < 3 or chosen[0].isdigit():
        return False
    if chosen.endswith(word):
        return True
    return min(len(word), len(chosen)) > 3 and (chosen.startswith(word) or word.startswith(chosen))


def begins(one: str, other: str) -> bool:
    """`timescale` and `timescaledb`."""
    return one == other or (
        min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one))
    )


@lru_cache(maxsize=2_000)
def slots(text: str) -> list[tuple[str, str, str, frozenset[str]]]:
    """Each number of a text with the word after it, the telling word before it, and the words around."""
    tokens = [NUMBERS.get(token.lower(), token.lower()) for token in _PIECE.findall(text)]
    found = []
    for place, token in enumerate(tokens):
        if not token[0].isdigit():
            continue
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        unit = "" if after in STOPWORDS or after[:1].isdigit() else stem(after)
        before = [one for one in tokens[max(0, place - 3) : place] if one not in STOPWORDS]
        label = stem(before[-1]) if before and not before[-1][0].isdigit() else ""
        around = tokens[max(0, place - _AROUND) : place + _AROUND + 1]
        words = frozenset(stem(one) for one in around if one not in STOPWORDS and not one[0].isdigit())
        found.append((token, unit, label, words))
        if len(found) == _MOST:
            break
    return found


# What a number of a sentence becomes in code: kHz as Hz, minutes as seconds, days as milliseconds.
_SCALES = (1, 60, 3600, 86_400, 1000, 60_000, 3_600_000, 86_400_000, 1024, 1_000_000, 1_048_576)


@lru_cache(maxsize=4_000)
def scaled(number: str) -> tuple[str, ...]:
    """A number as code may write it, in each unit."""
    try:
        value = float(number)
    except ValueError:
        return (number,)
    return (number, *(f"{value * scale:.10g}" for scale in _SCALES[1:]))


def exchanged(was: str, now: str, removed: frozenset[str], added: frozenset[str]) -> bool:
    """Whether an edit took out the one number and brought in the other, both in the same unit."""
    pairs = zip(scaled(was), scaled(now), strict=False)
    return any(one in removed and other in added for one, other in pairs)


@lru_cache(maxsize=2_000)
def given_up(text: str) -> frozenset[str]:
    """The words that stand where a text turns something down: “drop Celery”, “the hosted one is removed”."""
    tokens = [token.lower() for token in TOKEN.findall(text.replace("’", "'"))]
    found: list[str] = []
    for place, token in enumerate(tokens):
        reach = TAKING_BACK.get(token)
        if reach is not None:
            around = tokens[max(0, place - reach[0]) : place + reach[1] + 1]
            found += [word for word in around if word != token]
    return subjects(" ".join(found))


_FAILED = re.compile(
    r"((?:[\w'/.+-]+ ){1,2})(?:can't|cannot|won't|will not|does not|doesn't|did not|didn't) (?:work|fit|do|help|hold|scale|be|pass|run)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(r"(?:^|[.:;,] )(?:so |then |and )?no ((?:[\w'/.+-]+ ?){1,2})", re.IGNORECASE)


@lru_cache(maxsize=2_000)
def given_way(text: str) -> frozenset[str]:
    """What a proposal does away with: “we drop Celery and …”, “no Horde needed”, “…, so mtime can't work”."""
    plain = text.replace("’", "'")
    found = [match[1] for pattern in (_DROPPING, _NO_MORE, _FAILED) for match in pattern.finditer(plain)]
    return subjects(" . ".join(found))


@lru_cache(maxsize=2_000)
def refused(text: str) -> frozenset[str]:
    """What a text says plainly that it will not have: “no tag”, “EEPROM we don't need”."""
    plain = text.replace("’", "'")
    found = [match[1] for pattern in (_REFUSING, _REFUSED) for match in pattern.finditer(plain)]
    return subjects(" . ".join(found))


@lru_cache(maxsize=2_000)
def names_in(text: str) -> frozenset[str]:
    """Names of things: written large within a sentence, or with a capital inside."""
    return subjects(" ".join(_NAME.findall(text)))
