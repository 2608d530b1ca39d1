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
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][\w+-]+|\b\w+[a-z][A-Z]\w*|`[^`]+`")
_PIECE = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)*")
TURNING_BACK = re.compile(
    r"\b(?:scrap|scratch that|forget (?:what|that|it|about|the)|second thoughts?|walk (?:that|this|it)?.{0,10}back"
    r"|back to|(?:go|going|went) back|chang(?:e|ed) (?:my|our) mind|change of plan|no longer|any ?more|instead"
    r"|rather than|was (?:wrong|dumb|stupid|a mistake)|(?:is|are) dead|convinced|you were right|revert\w*|undo\w*"
    r"|kill|drop|remove[sd]?|take \w+ out|out again|we invert|switch(?:ing|ed)? (?:to|back|over)|after all"
    r"|reconsider\w*|too optimistic|it is (?:again|then)|not worth|give up|abandon\w*|get rid|ditch|bring back"
    r"|replace\w*|rip \w+ out|strike|shel(?:f|ve[ds]?)|retire[ds]?|cancel\w*|toss|swap\w*|(?:must|has to|have to|needs? to|can) go|goes|roll(?:ed|ing)? back|never ?mind"
    r"|overruled|vetoed|forbid\w*|not allowed|move (?:off|away)|in the drawer|wait|actually|hold on|turns out|out too|is out)\b",
    re.IGNORECASE,
)

_DROPPING = re.compile(
    r"\b(?:drop(?:s|ped|ping)?|scrap|strike|shelve|retire|cancel|toss|swap|lose|kill|ditch|abandon|remov(?:e|es|ing)|get rid of|rip out|take out|throw out|undo|revert|replace|instead of|rather than|no more|no longer|stop using)\s+(?:the |a |an |our |this |that |all |use |using |with )*((?:[\w'/.+-]+ ?){1,2})",
    re.IGNORECASE,
)
OFFERING = re.compile(
    r"\b(?:or|either|options?|alternatives?|candidates?|versus|vs|which|would|could|compatible|there (?:is|are) also)\b",
    re.IGNORECASE,
)
IDEA = re.compile(
    r"\b(?:maybe|perhaps|might|what if|thinking (?:of|about)|wonder\w*|reckon|wants|would like|could we|idea)\b",
    re.IGNORECASE,
)
REASON = re.compile(
    r"\W*(?:i|i'\w+|it|its|it's|that|that's|this|because|since|we've|nobody|they|there)\b", re.IGNORECASE
)
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
    return found


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


@lru_cache(maxsize=2_000)
def dropped(text: str) -> frozenset[str]:
    """What a text does away with in plain words; the two words after the verb say what."""
    found = " ".join(match[1] for match in _DROPPING.finditer(text.replace("’", "'")))
    return subjects(found)


@lru_cache(maxsize=2_000)
def names_in(text: str) -> frozenset[str]:
    """Names of things: written large within a sentence, or with a capital inside."""
    return subjects(" ".join(_NAME.findall(text)))
