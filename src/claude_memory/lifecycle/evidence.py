"""What two texts have in common and what sets them apart: the figures the write gate decides by.

Pure functions of two texts and, where there is one, the cosine of their vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from claude_memory.text import index_terms, is_stop_term, stem

# Said of a thing, these tell that it was otherwise before. `now`, `since` and the like are weaker.
_CHANGED = (
    "abandoned abolished adopted adjusted bumped cancelled canceled changed consolidated converted "
    "corrected cut decommissioned decreased deleted deprecated disabled discontinued dissolved "
    "downgraded dropped eased eliminated enabled ended exchanged expanded extended folded frozen grew "
    "halved handed increased introduced lifted loosened lowered merged migrated modified moved narrowed "
    "overhauled overruled overturned ported postponed promoted pulled raised ran reassigned rebuilt "
    "reconsidered redone reduced refactored relaxed relocated removed renamed reorganised reorganized "
    "replaced rescheduled restricted restructured retired reverted reversed revised revoked rewritten "
    "rewrote rose scrapped shifted shortened shrank shrunk shut simplified split standardised "
    "standardized stopped substituted superseded swapped switched tightened transferred tripled doubled "
    "unified updated upgraded widened withdrawn withdrew"
)
_CHANGE = re.compile(
    rf"\b(?:{'|'.join(_CHANGED.split())})\b"
    r"|\b(?:no longer|any ?more|any longer|no more|not yet|used to|formerly|previously|originally|initially"
    r"|as of|from now on|going forward|from then on|henceforth|starting (?:with|from|in|next|today|monday)"
    r"|(?:is|are|has|have|we|it|they|he|she) now|now (?!that)\w+s|(?<=[a-z]) now(?=[.,;]|$)|^now|these days"
    r"|have become|has become|became|becomes|turned into|took over|takes over|taken over|took the place"
    r"|takes the place|in (?:its|their) place|gave way|gave up|given up|got rid of|made way|handed over"
    r"|in favou?r of|off the table|phased out|thrown out|pushed back|brought forward|turned off|turned on"
    r"|went (?:to|from|with|back|up|down|\w+-\w+)|changed? (?:our|my|their|his|her|its) minds?|for good"
    r"|(?:is|are) (?:gone|history|over|out|obsolete|outdated)|have since|has since|as before|until now"
    r"|up to now|replacing|moving to|switching to|up from|down from"
    r"|instead of (?:the )?(?:old|previous|former)|only \w+ remains?|rather than .* as|successor|not .* since"
    r"|new (?:name|home|wish|rule|default|place|value|limit|owner|policy|address))\b"
    r"|→|->|\(was\b|\(formerly\b|\bwas \d",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"\b(?:now|nowadays|today|currently|meanwhile|instead|since (?:the|then|last|we|v?\d|[A-Z]\w+)"
    r"|rather than|old|old one|by now|already|recently|decided|lately|from \S+ to|after (?:the|a|an|we)"
    r"|following the|new|this (?:week|month|year|sprint|quarter)|last (?:week|month|year|sprint)|yesterday"
    r"|earlier|before that|in (?:version )?v?\d+\.\d+|with (?:version )?v?\d+\.\d+|finally|eventually|again"
    r"|(?:has|have) been \w+(?:ed|en)|got \w+(?:ed|en)|will be)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nor|without|cannot|neither|avoid|forbid\w*|forbidden|prohibit\w*"
    r"|banned|disallow\w*|refus\w*|off limits|stop|instead of|rather than|in place of|removed|dropped)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_NARROW = re.compile(r"no|without|instead of|rather than|in place of|none|neither", re.IGNORECASE)
_SOURCE = re.compile(
    r"\b(?:according to|as \w+ (?:reports?|states?|says?|has it|writes?)|per \w+(?:'s)?|says?|writes?"
    r"|reports?|states?|claims?|measured|counted|note from|datasheet|data card|readme|faq|docs? says?"
    r"|thinks|insists|believes|notebook|wiki|log adds|in the \w+ (?:log|notes?)|page\))\b"
    r"|^\w+(?: \w+)?:|\([^)]*(?:page|card|wiki|docs?|notes?|readme|log)\)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:/ ]\d+)*")
_NUMBER_WORDS = {
    "one": "1", "once": "1", "single": "1", "two": "2", "twice": "2", "both": "2", "three": "3", "four": "4",
    "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "hourly": "60min",
    "daily": "1d", "weekly": "1w", "monthly": "1mo", "noon": "12:00",
}  # fmt: skip
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
        "ascending/descending sequential/parallel mandatory/optional strict/lenient stateless/stateful"
    ).split()
)
_PREFIXES = ("un", "im", "in", "non", "dis", "de")
# Words that head a sentence without being its subject.
_LEADING = frozenset(
    stem(word)
    for word in (
        "user users prefer prefers want wants use uses using used team note please always never new wish "
        "told keep write run name put make set show build need needs auditors changed per start minimum "
        "maximum number"
    ).split()
)


@lru_cache(maxsize=4096)
def content(text: str) -> tuple[str, ...]:
    """The words that carry a text's meaning, as stems, each once, in order."""
    terms = dict.fromkeys(term for term in index_terms(text) if not is_stop_term(term))
    # The pieces of an identifier speak for it: `half-even` and `half to even` are the same.
    return tuple(term for term in terms if term.isalnum()) or tuple(terms)


def measured(old: str, new: str, cosine: float | None = None) -> dict[str, float]:
    """Every figure about a pair, by name; each is 0 to 1."""
    ours, theirs = content(old), content(new)
    one, other = set(ours), set(theirs)
    shared = one & other
    changed = len(changes(old, new))
    strange = _strange_heads(ours, theirs)
    clash = len(_clash(old, new) & shared) / max(len(shared), 1)
    agreed = bool(negated(old) & negated(new))
    differ = _numbers_differ(old, new)
    tails = not strange and _tails_differ(ours, theirs)
    against = opposed(old, new)
    alike = not (strange or changed or differ or _codes_differ(old, new) or against or clash or tails)
    overlap = len(shared) / max(min(len(one), len(other)), 1)
    figures = {
        "overlap": overlap,
        "length": abs(len(one) - len(other)) / max(len(one | other), 1),
        "strangers": float(strange),
        "strangers_changed": float(strange and changed > 0),
        "change": min(changed, 2) / 2,
        "changed": float(changed > 0 and not strange),
        "changed_and_shared": float(changed > 0) * overlap,
        "hint": min(len(_HINT.findall(new)), 2) / 2,
        "names_old": _named_after_change(old, new),
        "clash": clash,
        "denied": float(not changed and clash >= 0.5 and not agreed),
        "agreed_no": float(agreed),
        "negated_new": float(bool(_NEGATION.search(new)) and not _NEGATION.search(old)),
        "negated_old": float(bool(_NEGATION.search(old)) and not _NEGATION.search(new)),
        "tails_differ": float(tails),
        "opposites": float(against),
        "sources": (float(bool(_SOURCE.search(old))) + float(bool(_SOURCE.search(new)))) / 2,
        "numbers_differ": float(differ),
        "alike": float(alike),
    }
    return figures if cosine is None else {**figures, "cosine": cosine, "far": min(cosine, 0.85)}


def changes(old: str, new: str) -> list[str]:
    """The words of change in the new text that the old one does not use itself."""
    known = {stem(word) for word in re.findall(r"[a-z]+", old.lower())}
    found = [match.group().lower() for match in _CHANGE.finditer(new)]
    return [words for words in found if not known.issuperset(stem(word) for word in words.split())]


def numbers(text: str) -> frozenset[str]:
    """The figures a text gives, spelled alike: `10,000`, `10 000` and `10000` are one."""
    plain = {re.sub(r"[, ](?=\d{3}\b)", "", found) for found in _NUMBER.findall(text)}
    words = {_NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _NUMBER_WORDS}
    return frozenset(plain | words)


def opposed(old: str, new: str) -> bool:
    """Whether one text holds a word and the other its opposite."""
    one, other = _words(old), _words(new)
    if bool(negated(old)) != bool(negated(new)):
        return False  # `never off` is `always on`: a denial on one side turns an opposite around
    for left, right in _OPPOSITES:
        here, there = left in one and right in other, right in one and left in other
        if (here and left not in other) or (there and right not in other):
            return True
    return any(
        word.startswith(prefix) and word[len(prefix) :] in against and word not in against
        for words, against in ((one, other), (other, one))
        for word in words
        for prefix in _PREFIXES
        if len(word) > len(prefix) + 3
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z_]+(?:-[a-z]+)*", text.lower()))


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


def _clash(old: str, new: str) -> set[str]:
    """Words that one text affirms and the other denies."""
    one, other = negated(old), negated(new)
    yes_old, yes_new = set(content(old)) - one, set(content(new)) - other
    return (yes_old & other) | (yes_new & one)


def _tails_differ(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Whether each text ends in something the other does not speak of, though they begin alike."""
    if not ours or not theirs:
        return False
    return not _related(ours[-1], theirs) and not _related(theirs[-1], ours)


def _numbers_differ(old: str, new: str) -> bool:
    one, other = numbers(old), numbers(new)
    return bool(one - other and other - one)


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


def _related(term: str, terms: Iterable[str]) -> bool:
    """The same word, or one that begins the other: `config` and `configuration`."""
    return any(
        term == other
        or (min(len(term), len(other)) >= 4 and (term.startswith(other) or other.startswith(term)))
        for term_ in (term,)
        for other in terms
    )


def _named_after_change(old: str, new: str) -> float:
    """How many of the old text's last words the new one names beside a word of change."""
    if not changes(old, new):
        return 0.0
    tail = content(old)[-3:]
    return sum(term in content(new) for term in tail) / max(len(tail), 1)
