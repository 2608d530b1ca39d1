"""Decisions: choices of a person that hold beyond the moment, answers to the agent's questions among them.

Pure. A task, a go-ahead and a refusal without a reason are none.
"""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.distil import phrases
from claude_memory.distil.exchange import LETTER, Before, Said, all_terms, shared, terms
from claude_memory.distil.phrases import fits

MIN_ANSWER_TERMS = 2
MAX_NAMED = 4


def decided(said: Sequence[Said], before: Before, *, opening: bool = False) -> list[Said]:
    """The sentences of a turn that decides; empty if it does not. `opening`: it begins the session."""
    telling = [one for one in said if not fits(phrases.GOING_AHEAD, one.plain)]
    standing = [one for one in telling if stands(one, opening=opening)]
    if standing and (len(all_terms(telling)) > 1 or fits(phrases.DECLARING, standing[0].plain)):
        return telling
    if before.asked and _answers(telling, before):
        return telling
    if before.offered and _takes_up(telling, before):
        return telling
    if any(_settles(one, before) for one in telling):
        return telling
    return []


def stands(one: Said, *, opening: bool = False) -> bool:
    """Whether a sentence states a rule by itself; how things are today is told in openings, too."""
    if fits(phrases.DECLARING, one.plain):
        return bool(one.terms)
    if (
        len(one.terms) < MIN_ANSWER_TERMS
        or opening
        or fits(phrases.TROUBLE, one.plain)
        or fits(phrases.NARRATING, one.plain)
    ):
        return False
    return bool(one.terms) and (one.concludes or fits(phrases.STANDING, one.plain))


def reconsiders(text: str) -> bool:
    """Whether a turn takes an earlier choice back."""
    return fits(phrases.RECONSIDERING, text.lower().replace("’", "'"))


def _answers(said: Sequence[Said], before: Before) -> bool:
    """Whether a question was answered: with more than a report of trouble, or the next task."""
    telling = [
        one
        for one in said
        if not fits(phrases.NARRATING, one.plain)
        and not fits(phrases.TROUBLE, one.plain)
        and (shared(one.terms, before.terms) or not fits(phrases.TASK, one.plain))
    ]
    count = len(all_terms(telling))
    return count >= MIN_ANSWER_TERMS or (count > 0 and fits(r"\b(?:only|never|always)\b", telling[0].plain))


def _takes_up(said: Sequence[Said], before: Before) -> bool:
    """Without a question, an answer must take up what was offered and choose."""
    if any(fits(LETTER, one.plain) or _names(one, before) for one in said):
        return True
    return any(
        (shared(one.terms, before.terms) or (one.agrees and len(one.terms) > 1))
        and fits(phrases.CHOOSING, one.plain)
        and not fits(phrases.NARRATING, one.plain)
        for one in said
    )


def _names(one: Said, before: Before) -> bool:
    """“Lua upvalues, i know that code”: what is taken is just named, and nothing is told of it."""
    named = one.plain.partition(",")[0]
    if fits(phrases.STATING, named) or fits(phrases.TROUBLE, one.plain):
        return False
    polite = fits(r" (?:please|pls|then)$", named) and len(terms(named)) < MAX_NAMED
    return polite or shared(terms(" ".join(named.split(" ")[:3])), before.terms)


def _settles(one: Said, before: Before) -> bool:
    """“Yes, decimal only”, “the room process, sure”: assent that makes a rule of what was said."""
    if not one.agrees or fits(phrases.NARRATING, one.plain) or fits(phrases.TROUBLE, one.plain):
        return False
    if fits(phrases.SETTLING, one.plain):
        return shared(one.terms, before.terms) or not fits(phrases.STATING, one.plain)
    return len(one.terms) > 1 and _names(one, before) and not fits(phrases.TASK, one.plain)
