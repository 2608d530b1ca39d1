"""Corrections: a person sets right what the agent did, said or announced. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claude_memory.distil import phrases
from claude_memory.distil.exchange import Before, Said, all_terms, shared, terms
from claude_memory.distil.phrases import fits

MIN_TERMS = 2
MAX_NAMED = 4
_NUMBER = r"(?:\d+(?:\.\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|hundred)"
_SELF = r"\b(?:i|me|my|too|also)\b"
# Words that any two sentences about code may share.
DULL = frozenset(
    """module test file code function class method line page project repo app thing name value data type
    change version server service user done pass passed passing green build run""".split()
)


def corrected(said: Sequence[Said], before: Before, done: frozenset[str]) -> list[Said]:
    """The sentences of a turn that corrects, given what the agent did so far; empty if it does not."""
    if not said or not before.anything or len(all_terms(said)) < MIN_TERMS:
        return []
    acted = bool(before.announced) or before.acted
    can_be = acted or not before.asked or any(fits(phrases.DENYING, one.plain) for one in said)
    if can_be and any(_points_out(one, done) or _finds_fault(one, before) for one in said):
        return list(said)
    if (
        not acted
        or said[0].praised
        or accepts(said)
        or any(fits(phrases.DECLARING, one.plain) for one in said)
    ):
        return []
    if before.asked or before.asked_fact:  # an answer, even if it is no, unless it goes about something done
        return list(said) if _beside_the_question(said, before) else []
    return list(said) if _objects(said, before) else []


def accepts(said: Sequence[Said]) -> bool:
    """Whether a turn begins by taking what the agent said: “crockford then”, “pdo ok”."""
    if fits(phrases.ACCEPTING, said[0].plain) or fits(r"\bthen$", said[-1].plain):
        return True
    return any(one.agrees for one in said[:2])


def _objects(said: Sequence[Said], before: Before) -> bool:
    first = said[0]
    if first.refuses and before.suggested:
        return False  # an offer was refused
    if first.objects or (first.refuses and _relates(said, before)):
        return True
    return not before.alternatives and _against(said, before)


def _relates(said: Sequence[Said], before: Before) -> bool:
    """Whether a turn speaks of what the agent just told or did."""
    if shared(_about(said), before.terms) or fits(r"\b(?:that|it|them|those)\b", said[0].plain):
        return True
    refused = phrases.compiled(phrases.SET_ASIDE).findall(said[0].plain)  # “no any please”
    return any(fits(rf"\b{re.escape(word)}\b", before.text.lower()) for word in refused)


def _beside_the_question(said: Sequence[Said], before: Before) -> bool:
    """“I used floats. Go on?” “No floats, they round”: the objection is to what was done."""
    about = _about(said)
    told, question = terms(before.announced), terms(before.question)
    objects = any(one.refuses or fits(phrases.CONTRASTING, one.plain) for one in said if not one.agrees)
    return objects and shared(about, told) and not shared(about, question) and not before.open_question


def _points_out(one: Said, done: frozenset[str]) -> bool:
    """Whether a sentence names what is wrong, or sets what is right against what the agent did."""
    if fits(phrases.CORRECTING, one.plain) and not fits(phrases.DECLARING, one.plain):
        return not one.agrees
    return fits(phrases.EQUATING, one.plain) and bool(terms(one.plain.rpartition(" not ")[2]) & done)


def _finds_fault(one: Said, before: Before) -> bool:
    """“24 h is short”, “409 makes them retry”: what the agent named is judged."""
    if fits(phrases.EVALUATING, one.plain) and shared(terms(one.plain.partition(",")[0]), before.terms):
        return True
    subject = terms(" ".join(one.plain.split(" ")[:3]))
    return fits(phrases.HARMING, one.plain) and shared(subject - DULL, terms(before.announced))


def _against(said: Sequence[Said], before: Before) -> bool:
    """Whether a turn takes up what the agent just did or announced and wants it otherwise."""
    first = said[0]
    elliptic = bool(before.announced) and any(fits(phrases.ELLIPTIC, one.plain) for one in said[:2])
    if elliptic or fits(phrases.NARRATING, first.plain) or fits(r"^(?:let's|lets|let us)\b", first.plain):
        return elliptic
    if not before.announced:  # only files tell what was done, and share many words by chance
        return any(_demands(one, before) for one in said)
    directs = fits(phrases.DIRECTING, first.plain)
    if _other_value(first, before) or _put_otherwise(first, said, before):
        return True
    if not shared(_about(said), before.terms):
        return _did(before) and ((directs and bool(_set_aside(first))) or _gives_reasons(said))
    contrasts = directs or any(_contrasts(one, before) for one in said)
    return contrasts or _retorts(first, before) or _restates(first, before)


def _contrasts(one: Said, before: Before) -> bool:
    """Whether a sentence sets one thing against another; what may be a rule of its own needs a deed."""
    if not fits(phrases.CONTRASTING, one.plain):
        return False
    tells = any(fits(pattern, one.plain) for pattern in (phrases.APPRAISING, phrases.TROUBLE))
    return (_did(before) and not tells) or fits(
        r"\b(?:not|instead|rather than|must|should|has to|needs? to)\b", one.plain
    )


def _gives_reasons(said: Sequence[Said]) -> bool:
    """“Musl breaks our build. Debian slim”: something is the matter with what was done, and what to take."""
    first = said[0].plain
    unfit = (phrases.TASK, phrases.NARRATING, phrases.APPRAISING, phrases.TURNING, _SELF)
    if len(said) < 2 or any(fits(pattern, first) for pattern in unfit):
        return False
    return fits(f"{phrases.HARMING}|{phrases.DENOTING}|^(?:that|those|these|they)\\b", first)


def _restates(first: Said, before: Before) -> bool:
    """“The default theme is dark.” “Default is light”: the same subject, with something else said of it."""
    parts = re.split(r"\b(?:is|are|means|goes|must be|should be)\b", first.plain, maxsplit=1)
    subject, rest = parts[0], "".join(parts[1:])
    if not rest or fits(phrases.TURNING, first.plain) or fits(_SELF, first.plain):
        return False
    if any(fits(pattern, first.plain) for pattern in (phrases.APPRAISING, phrases.TROUBLE)):
        return False
    told = terms(before.announced)
    return (
        0 < len(terms(subject)) < MAX_NAMED
        and shared(terms(subject) - DULL, told)
        and bool(terms(rest) - told)
    )


def _retorts(first: Said, before: Before) -> bool:
    """“I rounded to two decimals.” “Yen has no decimals”: a fact that what was done does not fit."""
    if not _did(before) or not shared(first.terms - DULL, terms(before.announced)):
        return False
    unfit = (phrases.TASK, phrases.TROUBLE, phrases.APPRAISING, _SELF)
    return fits(phrases.DENOTING, first.plain) and not any(fits(pattern, first.plain) for pattern in unfit)


def _did(before: Before) -> bool:
    """Whether the agent spoke of a deed of its own, and not only of how things are after it."""
    return fits(phrases.ANNOUNCING, before.announced)


def _demands(one: Said, before: Before) -> bool:
    """Whether a sentence sets aside what was just written, or demands something else of it."""
    if not fits(r"\b(?:not|instead|rather than|should)\b", one.plain):
        return False  # “never pruned”, “every request must …” are rules of their own
    if shared(_set_aside(one), before.terms):
        return True
    return fits(phrases.DEMANDING, one.plain) and shared(one.terms - DULL, before.terms)


def _about(said: Sequence[Said]) -> frozenset[str]:
    return all_terms(said) - DULL


def _set_aside(one: Said) -> frozenset[str]:
    found = phrases.compiled(phrases.SET_ASIDE).findall(one.plain)
    return terms(" ".join(found)) - DULL


def _put_otherwise(first: Said, said: Sequence[Said], before: Before) -> bool:
    """“I assumed sunday.” “Monday, we're in europe”: just another name for it, and why."""
    named, mark, _ = first.plain.partition(",")
    unfit = (phrases.STATING, phrases.TASK, phrases.APPRAISING)
    if any(fits(pattern, named) for pattern in unfit) or fits(phrases.TROUBLE, first.plain):
        return False
    if fits(r"\b(?:nice|great|cool|perfect|lovely|thanks|thx)\b", first.plain):
        return False
    fresh = bool(terms(named) - before.terms) or fits(r"^(?:only|not|no|drop|leave|keep|without)\b", named)
    polite = fits(r" (?:please|pls)$", named)
    explained = bool(mark) or len(said) > 1 or polite
    kept = fits(r"^(?:leave|keep|call|use|take|only|not|no|drop)\b", named)
    related = shared(_about(said), before.terms) or ((kept or polite) and _did(before))
    return fresh and explained and related and 0 < len(terms(named)) < MAX_NAMED


def _other_value(first: Said, before: Before) -> bool:
    """“I annualise with 365 days.” “252!”"""
    value = first.plain.rpartition(" so ")[2].strip("!. ")
    return fits(f"^{_NUMBER}$", value) and fits(rf"\b{_NUMBER}\b", before.announced)
