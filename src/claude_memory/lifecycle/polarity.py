"""What a text says no to, whether another says yes to it, and words that are opposites.

Pure functions of texts and of their words.
"""

from __future__ import annotations

import re
from functools import lru_cache

from claude_memory.lifecycle.matching import Matched, content, group, weighty
from claude_memory.lifecycle.values import words_of
from claude_memory.text import stem

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

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nor|without|cannot|neither|avoid|forbid\w*|forbidden|prohibit\w*"
    r"|banned|disallow\w*|refus\w*|off limits"
    r"|refrain|unwelcome|leave out|lack(?:s|ing)?|against|stop"
    r"|instead of|rather than|in place of|removed|dropped)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_NARROW = re.compile(r"no|without|instead of|rather than|in place of|none|neither", re.IGNORECASE)
_OPPOSITES = tuple(
    tuple(pair.split("/"))
    for pair in (
        "always/never allow/forbid enable/disable enabled/disabled before/after before/later "
        "short/long use/avoid required/optional sync/async public/private upper/lower uppercase/lowercase "
        "left/right tabs/spaces red/black min/max minimum/maximum true/false manual/automatic local/remote "
        "client/server push/pull more/less verbs/noun singular/plural relative/absolute "
        "static/dynamic open/closed camelcase/snake_case camelcase/kebab-case snake_case/pascalcase "
        "snake_case/kebab-case keep/remove fine/wrong safe/unsafe zero/infinity inputs/outputs input/output "
        "internal/external fast/slow worker/main squash/merge rebase/merge light/dark tcp/udp "
        "ascending/descending sequential/parallel mandatory/optional strict/lenient stateless/stateful "
        "on/off first/last lazy/eager lazily/eagerly lazy/eagerly single/double "
        "own/share own/shared early/late implicit/explicit hard/soft inside/outside nested/flat text/binary "
        "high/low odd/even hot/cold server/browser each/all own/all anybody/owner cancel/keep "
        "kept/removed "
        "visible/private visible/hidden supported/unsupported shared/own plain/encrypted everyone/nobody"
    ).split()
)
_OPPOSITE_GROUPS = tuple(
    (one, other) for left, right in _OPPOSITES if (one := group(stem(left))) != (other := group(stem(right)))
)
_PREFIXES = ("un", "im", "in", "non", "dis", "de", "counter")


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


def opposed(old: str, new: str) -> bool:
    """Whether one text holds a word and the other its opposite."""
    one, other = _grouped(old), _grouped(new)
    if bool(negated(old)) != bool(negated(new)):
        return False  # `never off` is `always on`: a denial on one side turns an opposite around
    for left, right in _OPPOSITE_GROUPS:
        here, there = left in one and right in other, right in one and left in other
        if (here and left not in other) or (there and right not in other):
            return True
    one, other = words_of(old), words_of(new)
    return any(
        word.startswith(prefix) and word[len(prefix) :] in against and word not in against
        for words, against in ((one, other), (other, one))
        for word in words
        for prefix in _PREFIXES
        if len(word) > len(prefix) + 3
    )


@lru_cache(maxsize=4096)
def _grouped(text: str) -> frozenset[str]:
    return frozenset(group(stem(word)) for word in words_of(text))


@lru_cache(maxsize=4096)
def negated(text: str) -> frozenset[str]:
    """The content words a text says no to.

    A verb is denied with all of its clause; `no`, `without`, `instead of` and a clause that begins with
    `not` deny only what follows.
    """
    found: set[str] = set()
    for clause in re.split(r"[.,;:!?()]|\band\b|\bbut\b", text):
        match = _NEGATION.search(clause)
        if match:
            after = content(clause[match.end() :])
            narrow = _NARROW.fullmatch(match.group()) or not content(clause[: match.start()])
            found.update(after if narrow and after else content(clause))
    return frozenset(found)


def clash_of(old: str, new: str) -> set[str]:
    """Words that one text affirms and the other denies."""
    one, other = negated(old), negated(new)
    yes_old, yes_new = set(content(old)) - one, set(content(new)) - other
    return (yes_old & other) | (yes_new & one)
