"""Decisions: choices of a person that hold beyond the moment, answers to the agent's questions among them.

Pure. A task, a go-ahead and a refusal without a reason are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from claude_memory.distil import phrases
from claude_memory.distil.exchange import LETTER, Before, Said, all_terms, shared, terms
from claude_memory.distil.phrases import fits

MIN_ANSWER_TERMS = 2
MAX_NAMED = 4
_SELF = r"\b(?:i|me|my|i'm|i've|mine|too)\b"
# What tells of something or asks for it, and names no choice.
_TELLING = (
    phrases.STATING,
    phrases.TASK,
    phrases.NARRATING,
    phrases.TROUBLE,
    phrases.APPRAISING,
    _SELF,
)


def decided(said: Sequence[Said], before: Before, *, opening: bool = False) -> list[Said]:
    """The sentences of a turn that decides; empty if it does not. `opening`: it begins the session."""
    telling = [one for one in said if not fits(phrases.GOING_AHEAD, one.plain)]
    # What a person tells when asked how things are or how to go on is no rule, unless they say so outright.
    told_facts = opening or before.asked_fact or before.asked_step
    standing = [one for one in telling if stands(one, opening=told_facts)]
    if standing and (len(all_terms(telling)) > 1 or fits(phrases.DECLARING, standing[0].plain)):
        return telling
    if before.asked_step or before.asked_fact:
        return []
    chooses = (
        (before.asked and _answers(telling, before))
        or (before.offered and _takes_up(telling, before))
        or any(_settles(one, before) or _takes_named(one, before) for one in telling)
        or _puts_another(said, before)
    )
    return telling if chooses else []


def stands(one: Said, *, opening: bool = False) -> bool:
    """Whether a sentence states a rule by itself; how things are today is told in openings, too."""
    if fits(phrases.DECLARING, one.plain):
        return bool(one.terms)
    if len(one.terms) < MIN_ANSWER_TERMS or opening or fits(phrases.NARRATING, one.plain):
        return False
    if fits(phrases.TROUBLE, one.plain) and not fits(r"\blet'?s\b", one.plain):
        return False
    if one.concludes or fits(phrases.TOPIC, one.plain):
        return True
    return fits(phrases.STANDING, one.plain) and not _about_oneself(one)


def _about_oneself(one: Said) -> bool:
    """“Regexes always bite me”: no rule, unless a will is said."""
    return fits(_SELF, one.plain) and not fits(phrases.WILLING, one.plain)


def agrees_to(text: str, before: Before) -> bool:
    """Whether a turn without words of its own takes a proposal: “agreed, do it like that”."""
    plain = " ".join(text.lower().replace("’", "'").split())
    return before.proposed and not before.asked_step and fits(phrases.AGREED, plain)


def reconsiders(text: str) -> bool:
    """Whether a turn takes an earlier choice back."""
    return fits(phrases.RECONSIDERING, text.lower().replace("’", "'"))


def rethinks(text: str) -> bool:
    """Whether a turn says that it chooses anew."""
    return fits(phrases.THINKING_AGAIN, text.lower().replace("’", "'"))


def _answers(said: Sequence[Said], before: Before) -> bool:
    """Whether a question was answered: with more than a report of trouble, or the next task."""
    telling = [
        one
        for one in said
        if not fits(phrases.NARRATING, one.plain)
        and not fits(phrases.TROUBLE, one.plain)
        and (before.open_question or shared(one.terms, before.terms) or not fits(phrases.TASK, one.plain))
    ]
    count = len(all_terms(telling))
    if count and fits(r"\bor\b", before.question) and shared(all_terms(telling), terms(before.question)):
        return True  # one of two was named
    if count and before.open_question and fits(r"\b(?:should|shall|do we)\b", before.question):
        return True  # “How should I name it?” “shipping”
    return count >= MIN_ANSWER_TERMS or (
        count > 0 and fits(r"\b(?:only|never|always)\b|\d", telling[0].plain)
    )


def _takes_up(said: Sequence[Said], before: Before) -> bool:
    """Without a question, an answer must take up what was offered and choose."""
    if any(fits(LETTER, one.plain) or _names(one, before) for one in said) or _picks(said, before):
        return True
    return any(
        (shared(one.terms, before.terms) or (one.agrees and len(one.terms) > 1))
        and fits(phrases.CHOOSING, one.plain)
        and not fits(phrases.NARRATING, one.plain)
        for one in said
    )


def _picks(said: Sequence[Said], before: Before) -> bool:
    """“Fail hard. Silent errors cost us a week”: first the option in the agent's own words, then why."""
    if not said or before.acted:
        return False
    first = said[0].plain
    named, _, reason = first.partition(",")
    if fits(r"^\(?[a-d1-4]\)?$", named) and before.alternatives:
        return True
    if not terms(named):  # “each its own”
        words = re.findall(r"\w+", before.text.lower())
        return len(named.split()) > 1 and bool(said[1:]) and all(word in words for word in named.split())
    of_the_agent = all(shared([one], before.terms) for one in terms(named))
    unfit = (phrases.TASK, phrases.NARRATING, phrases.APPRAISING, _SELF)
    explained = bool(reason) or len(said) > 1
    return (
        explained
        and of_the_agent
        and 0 < len(terms(named)) < MAX_NAMED
        and not any(fits(pattern, named) for pattern in unfit)
    )


def _takes_named(one: Said, before: Before) -> bool:
    """“Crockford then”, “ok, minio”: what the agent brought up is taken, and nothing told of it."""
    if not (one.agrees or fits(phrases.ACCEPTING, one.plain)) or (before.acted and not before.proposed):
        return False
    named = phrases.compiled(phrases.ACCEPTING).sub("", one.plain).partition(",")[0].strip()
    return shared(one.terms, before.terms) and not any(fits(pattern, named) for pattern in _TELLING)


def _puts_another(said: Sequence[Said], before: Before) -> bool:
    """“Nah, doubling feels mean. Flat 8 coins”: an offer is refused, and something else put in its place."""
    if len(said) < 2 or not said[0].refuses or not (before.suggested or before.proposed):
        return False
    return any(
        len(one.terms) >= MIN_ANSWER_TERMS and not any(fits(pattern, one.plain) for pattern in _TELLING)
        for one in said[1:]
    )


def _names(one: Said, before: Before) -> bool:
    """“Lua upvalues, i know that code”: what is taken is just named, and nothing is told of it."""
    named = one.plain.partition(",")[0]
    if fits(phrases.TROUBLE, one.plain) or any(
        fits(pattern, named) for pattern in (phrases.STATING, phrases.NARRATING, _SELF)
    ):
        return False
    polite = fits(r" (?:please|pls|then)$", named) and len(terms(named)) < MAX_NAMED
    return polite or shared(terms(" ".join(named.split(" ")[:3])), before.terms)


def _settles(one: Said, before: Before) -> bool:
    """“Yes, decimal only”, “the room process, sure”: assent that makes a rule of what was said."""
    if fits(phrases.DOING_SO, one.plain) and before.text and not before.acted:
        return bool(one.terms)
    if not one.agrees or fits(phrases.NARRATING, one.plain) or fits(phrases.TROUBLE, one.plain):
        return False
    if fits(phrases.SETTLING, one.plain) and not _about_oneself(one):
        return shared(one.terms, before.terms) or not fits(phrases.STATING, one.plain)
    return len(one.terms) > 1 and _names(one, before) and not fits(phrases.TASK, one.plain)
