"""What two texts have in common and what sets them apart: the figures the write gate decides by.

Pure functions of two texts and, where there is one, the cosine of their vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from claude_memory.lifecycle.cues import SOURCE, TROUBLE, changes, happened, hints
from claude_memory.lifecycle.frame import Frame, framed
from claude_memory.lifecycle.matching import Matched, akin, content, matched
from claude_memory.lifecycle.polarity import clash_of, negated, opposed, polarity
from claude_memory.lifecycle.values import (
    SIBLINGS,
    kinds_differ,
    numbers,
    numbers_differ,
    other_measures,
    same_measure_differs,
)
from claude_memory.text import stem

__all__ = ["content", "measured"]

_LIMIT = re.compile(
    r"\b(?:every|each|all|any|only|at most|up to|under|below|maximum|max|before|after|limit\w*|needs?"
    r"|requires?|must|has to|have to|keep)\b",
    re.IGNORECASE,
)
_NO_MORE_THAN = re.compile(
    r"(?:\b(?:no|not|never|nothing|nobody|none)\b|n['’]t\b).*\b(?:than|until|unless|without)\b", re.IGNORECASE
)
_ONLY = re.compile(r"\b(?:only|alone|solely|exclusively)\b", re.IGNORECASE)
# `the licence is MIT`: a thing and what it is, not what is done with it.
_COPULA = re.compile(
    r"^(?:\W*(?:the|our|all|a|an|my) )?(?:[\w-]+ ){1,3}?(?:is|are)(?! \w+(?:ed|en|wn)\b)", re.IGNORECASE
)
_LABEL = re.compile(r"(?:The )?([A-Z]?[a-z]+) (\d+|[A-Z])\b(?![.,:%]\d)")
_SAME_FRAME = 0.5
# Words that head a sentence without being its subject.
_LEADING = frozenset(
    stem(word)
    for word in (
        "user users prefer prefers want wants use uses using used team note please always never new wish "
        "told keep write run name put make set show build need needs auditors changed per start minimum "
        "maximum number"
    ).split()
)


def measured(old: str, new: str, cosine: float | None = None) -> dict[str, float]:
    """Every figure about a pair, by name; each is 0 to 1."""
    frame, match = framed(old, new), matched(old, new)
    changed = len(changes(old, new))
    strange = _strange_heads(content(old), content(new)) or (not changed and _labels_differ(old, new))
    event = happened(old, new)
    slot = frame.one_slot and bool(match.left_old and match.left_new)
    figures = {
        **_in_common(old, new),
        **_matching(match, changed, cosine),
        **_manner(old, new, match, changed),
        **_said_of_change(old, new, changed, strange, event),
        **_denials(old, new, changed),
        **_told(old, new, changed, match),
        "strangers": float(strange),
        "tails_differ": float(not strange and _tails_differ(content(old), content(new))),
        "opposites": float(opposed(old, new)),
        "sources": (float(bool(SOURCE.search(old))) + float(bool(SOURCE.search(new)))) / 2,
        "numbers_differ": float(numbers_differ(old, new) or kinds_differ(old, new)),
        "frame": frame.ratio,
        "one_slot": float(slot and not changed and not strange),
        "first_slot": float(frame.first),
        "frame_filled": frame.ratio * (not match.left_old or not match.left_new),
        "frame_slot": frame.ratio * slot,
        "two_slots": float(frame.slots >= 2) * frame.ratio,
    }
    apart = (
        *("strangers", "numbers_differ", "opposites", "clash", "tails_differ", "change", "event"),
        *("against_new", "against_old"),
    )
    same = not any(figures[name] for name in apart)
    alike = same and not _codes_differ(old, new) and not (slot and frame.ratio >= _SAME_FRAME)
    figures["alike"] = float(alike)
    figures["all_said"] = float(same and not figures["denied"] and figures["nothing_left"])
    figures["other_figure"] = float(
        figures["numbers_differ"] and match.chunks >= 2 and not (changed or event)
    )
    figures["turned"] = _turned(figures, frame)
    if cosine is None:
        return figures
    return {**figures, "cosine": cosine, "far": min(cosine, 0.85), "near": max(0.0, cosine - 0.88)}


def _in_common(old: str, new: str) -> dict[str, float]:
    one, other = set(content(old)), set(content(new))
    ours, theirs = _codes(old), _codes(new)
    return {
        "overlap": len(one & other) / max(min(len(one), len(other)), 1),
        "length": abs(len(one) - len(other)) / max(len(one | other), 1),
        "numbers_same": float(
            bool(numbers(old)) and numbers(old) == numbers(new) and not kinds_differ(old, new)
        ),
        "codes_same": float(bool(ours & theirs) and not (ours - theirs and theirs - ours)),
    }


def _matching(match: Matched, changed: int, cosine: float | None) -> dict[str, float]:
    """How much of each text the other says as well."""
    ours, theirs, both = len(match.old), len(match.new), len(match.shared)
    left = min(ours, theirs) - both
    return {
        "covered_old": both / max(ours, 1),
        "covered_new": both / max(theirs, 1),
        "covered_less": both / max(ours, theirs, 1),
        "covered_more": both / max(min(ours, theirs), 1),
        "left_old": min(ours - both, 5) / 5,
        "left_new": min(theirs - both, 5) / 5,
        "left_both": min(left, 4) / 4,
        "nothing_left": float(left == 0),
        "nothing_left_old": float(ours == both),
        "shared": min(both, 6) / 6,
        "things": min(match.chunks, 4) / 4,
        "covered_near": both / max(ours, theirs, 1) * (cosine or 0.0),
        "one_thing": float(match.chunks <= 1),
        "no_thing": float(match.chunks == 0),
        "one_thing_changed": float(match.chunks <= 1 and changed > 0),
        "things_changed": float(changed > 0) * min(match.chunks, 4) / 4,
        "head_old": float(any(left == 0 for left, _ in match.shared)),
        "head_new": float(any(right == 0 for _, right in match.shared)),
        "tail_old": float(any(left == ours - 1 for left, _ in match.shared)),
        "tail_new": float(any(right == theirs - 1 for _, right in match.shared)),
    }


def _manner(old: str, new: str, match: Matched, changed: int) -> dict[str, float]:
    trouble = bool(TROUBLE.search(old)) and bool(TROUBLE.search(new))
    head = (0, 0) in match.shared
    return {
        "siblings": float(kinds_differ(old, new, SIBLINGS)),
        "trouble": float(trouble),
        "trouble_changed": float(trouble and changed > 0),
        "only": float(bool(_ONLY.search(new)) and not _ONLY.search(old)),
        "names_a_thing": float(head and bool(_COPULA.search(old)) and bool(_COPULA.search(new))),
    }


def _said_of_change(old: str, new: str, changed: int, strange: bool, event: bool) -> dict[str, float]:
    one, other = set(content(old)), set(content(new))
    overlap = len(one & other) / max(min(len(one), len(other)), 1)
    return {
        "strangers_changed": float(strange and changed > 0),
        "change": min(changed, 2) / 2,
        "changed": float(changed > 0 and not strange),
        "changed_and_shared": float(changed > 0) * overlap,
        "names_old": _named_after_change(old, new),
        "event": float(event),
        "event_only": float(event and not changed),
        "event_strange": float(event and strange),
    }


def _denials(old: str, new: str, changed: int) -> dict[str, float]:
    one, other = set(content(old)), set(content(new))
    clash = len(clash_of(old, new) & one & other) / max(len(one & other), 1)
    agreed = bool(negated(old) & negated(new))
    clash = 0.0 if agreed else clash
    # `every call needs a key`, `no call without a key`: a limit said the other way round.
    limit = bool(_LIMIT.search(old) and _NO_MORE_THAN.search(new))
    denied = not changed and clash >= 0.5 and not agreed and not limit
    return {
        "clash": clash,
        "denied": float(denied),
        "pure_denial": float(denied and min(len(other - one), len(one - other)) <= 1),
        "limit": float(limit),
        "agreed_no": float(agreed),
    }


def _told(old: str, new: str, changed: int, match: Matched) -> dict[str, float]:
    """What the texts tell beside what they share."""
    polar = polarity(old, new, match)
    told_before = len(changes("", old)) > 0
    ours, theirs = numbers(old), numbers(new)
    return {
        **polar,
        "against_half": float(polar["against"] >= 0.5 and not polar["both_no"] and not changed),
        "only_no": float(
            not changed
            and bool(polar["no_new"] or polar["no_old"])
            and (not match.left_old or not match.left_new)
        ),
        "against_unchanged": polar["against"] * (not changed),
        "told_before": float(told_before),
        "told_both": float(told_before and changed > 0),
        "hints": min(hints(old, new), 3) / 3,
        "hints_unchanged": min(hints(old, new), 3) / 3 * (not changed),
        "measure_differs": float(same_measure_differs(old, new)),
        "other_measures": float(other_measures(old, new)),
        "number_added": float(bool(ours) and ours < theirs),
        "number_moved": float(bool(ours & theirs) and bool(theirs - ours) and changed > 0),
        "number_only_old": float(bool(ours) and not theirs),
        "number_only_new": float(bool(theirs) and not ours),
    }


def _turned(figures: dict[str, float], frame: Frame) -> float:
    """The same words in another order, and nothing that sets the texts apart."""
    apart = ("change", "event", "numbers_differ", "opposites", "denied")
    return 0.0 if any(figures[name] for name in apart) else frame.turned


def _tails_differ(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Whether each text ends in something the other does not speak of, though they begin alike."""
    if not ours or not theirs:
        return False
    return not _related(ours[-1], theirs) and not _related(theirs[-1], ours)


def _codes_differ(old: str, new: str) -> bool:
    """Both name something written like a name, and none of these is common."""
    one, other = _codes(old), _codes(new)
    return bool(one and other and not one & other)


def _codes(text: str) -> frozenset[str]:
    inner = re.findall(r"[A-Za-z]*[a-z][A-Z]\w*|\b[A-Z]{2,}\w*|\w+[_/.@-]\w[\w./@-]*|#\w+", text)
    capital = re.findall(r"(?<=[a-z,;] )[A-Z]\w+", text)
    return frozenset(word.lower().strip(".") for word in (*inner, *capital))


def _heads(terms: tuple[str, ...]) -> tuple[str, ...]:
    kept = [term for term in terms if term not in _LEADING] or list(terms)
    return tuple(kept[:2])


def _strange_heads(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Whether each text begins with something that the other does not speak of."""
    one, other = _heads(ours)[:1], _heads(theirs)[:1]
    return bool(one and other) and not _related(one[0], theirs) and not _related(other[0], ours)


def _labels_differ(old: str, new: str) -> bool:
    """`Station 7 …` and `Station 9 …`: each text begins with another one of a kind."""
    one, other = _LABEL.match(old), _LABEL.match(new)
    return one is not None and other is not None and one[1] == other[1] and one[2] != other[2]


def _related(term: str, terms: Iterable[str]) -> bool:
    """The same word, another form of it, or another word for it."""
    return any(term == other or akin(term, other) for other in terms)


def _named_after_change(old: str, new: str) -> float:
    """How many of the old text's last words the new one names beside a word of change."""
    if not changes(old, new):
        return 0.0
    tail = content(old)[-3:]
    return sum(term in content(new) for term in tail) / max(len(tail), 1)
