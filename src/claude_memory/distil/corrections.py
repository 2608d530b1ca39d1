"""Corrections: a person sets right what the agent did, said or announced. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.distil import phrases
from claude_memory.distil.exchange import Before, Said, all_terms, shared, terms
from claude_memory.distil.phrases import fits

MIN_TERMS = 2


def corrected(said: Sequence[Said], before: Before, done: frozenset[str]) -> list[Said]:
    """The sentences of a turn that corrects, given what the agent did so far; empty if it does not."""
    if not before.anything or len(all_terms(said)) < MIN_TERMS:
        return []
    if any(_points_out(one, done) or _finds_fault(one, before) for one in said):
        return list(said)
    if before.asked or before.asked_fact:  # an answer, even if it is no
        return []
    if said[0].refuses and not said[0].agrees:
        return list(said)
    if said[0].agrees or before.alternatives:
        return []
    return list(said) if _against(said, before) else []


def _points_out(one: Said, done: frozenset[str]) -> bool:
    """Whether a sentence names what is wrong, or sets what is right against what the agent did."""
    if fits(phrases.CORRECTING, one.plain) and not fits(phrases.DECLARING, one.plain):
        return True
    return fits(phrases.EQUATING, one.plain) and bool(terms(one.plain.rpartition(" not ")[2]) & done)


def _finds_fault(one: Said, before: Before) -> bool:
    """“24 h is short”: what the agent named is judged."""
    return fits(phrases.EVALUATING, one.plain) and shared(terms(one.plain.partition(",")[0]), before.terms)


def _against(said: Sequence[Said], before: Before) -> bool:
    """Whether a turn takes up what the agent just did or announced and wants it otherwise."""
    first = said[0]
    if fits(phrases.NARRATING, first.plain) or not (before.announced or before.acted):
        return False
    if before.announced and _other_value(first, before):
        return True
    if not shared(all_terms(said), before.terms):
        return False
    if any(fits(phrases.CONTRASTING, one.plain) for one in said):
        return True
    return bool(before.announced) and (fits(phrases.DIRECTING, first.plain) or _same_subject(first, before))


def _same_subject(first: Said, before: Before) -> bool:
    """“I put the plot in kelvin.” “Plots in celsius”: the same subject, said anew."""
    subject = terms(" ".join(first.plain.split(" ")[:3]))
    announced = terms(before.announced)
    return bool(subject & announced) and bool(first.terms - announced)


def _other_value(first: Said, before: Before) -> bool:
    """“I annualise with 365 days.” “252!”"""
    bare = first.plain.strip("!. ")
    return bare.replace(".", "").isdigit() and any(term.isdigit() for term in terms(before.announced))
