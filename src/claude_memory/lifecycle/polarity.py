"""What a text says no to, and whether another says yes to it. Pure functions of texts and of their words."""

from __future__ import annotations

import re
from functools import lru_cache

from claude_memory.lifecycle.matching import Matched, weighty

_NO = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nor|without|cannot|neither|avoid\w*|forbid\w*|prohibit\w*|dont|cant"
    r"|banned|disallow\w*|refus\w*|off limits|refrain|unwelcome|leaves? out|left out|lack(?:s|ing)?|against"
    r"|stop|instead of|rather than|in place of|free of|out of|exclud\w+|except|hates?|dislikes?|unable|skips?"
    r"|ignor\w+|missing|dead|gone)\b|n['’]t\b",
    re.IGNORECASE,
)
# `not only`, `no later than`, `no problem`: these say no to nothing.
_NO_DENIAL = re.compile(
    r"\bnot (?:only|just|yet)\b|\bno (?:later|more|less|earlier|fewer) than\b|\bno (?:longer|more)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.,;:!?()](?:\s|$)|\b(?:and|but|because|since|so|as|while|if|when|otherwise)\b")


@lru_cache(maxsize=4096)
def denied(text: str) -> frozenset[str]:
    """The words that stand after a `no` in its clause; all of the clause where none does."""
    found: set[str] = set()
    for clause in _CLAUSE.split(_NO_DENIAL.sub(" ", text)):
        no = _NO.search(clause)
        if no:
            after = clause[no.end() :]
            found.update(_said(after) or _said(clause[: no.start()]))
    return frozenset(found)


def _said(part: str) -> tuple[str, ...]:
    return weighty(part) if re.search(r"\w", part) else ()


def says_no(text: str) -> bool:
    """Whether a text denies anything."""
    return bool(_NO.search(_NO_DENIAL.sub(" ", text)))


def polarity(old: str, new: str, match: Matched) -> dict[str, float]:
    """How the texts agree or disagree on what they share."""
    ours, theirs = denied(old), denied(new)
    pairs = [(match.old[left] in ours, match.new[right] in theirs) for left, right in match.shared]
    against = sum(one != other for one, other in pairs)
    both = any(one and other for one, other in pairs)
    return {
        "against": against / max(len(pairs), 1),
        "against_new": float(any(other and not one for one, other in pairs) and not both),
        "against_old": float(any(one and not other for one, other in pairs) and not both),
        "both_no": float(both),
        "no_new": float(says_no(new) and not says_no(old)),
        "no_old": float(says_no(old) and not says_no(new)),
    }
