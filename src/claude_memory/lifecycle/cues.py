"""Words that tell of change, and of who says something. Pure; they know English and no field."""

from __future__ import annotations

import re

from claude_memory.text import stem

# Said of a thing, these tell that it was otherwise before.
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
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_CHANGE = re.compile(
    rf"\b(?:{'|'.join(_CHANGED.split())})\b"
    r"|\b(?:no longer|any ?more|any longer|no more|not yet|used to|formerly|previously|originally|initially"
    r"|as of|from now on|going forward|from then on|henceforth|starting (?:with|from|in|next|today|monday)"
    r"|now(?! that)|these days|nowadays|for now|being \w+(?:ed|en)"
    r"|(?:turned|gone|went|gave|taken) (?:up|down|off|away|over)"
    r"|(?:after|since|with|because of) the(?: \w+)? (?:change|fix|migration|move"
    r"|re(?:design|lease|vision|write)|switch|update|upgrade)"
    rf"|since (?:v?\d[\d.]*|{_MONTHS})|from (?:{_MONTHS})|thing of the past"
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
# `must not be changed`, `can be moved`, `is never deleted`: a rule, and no news.
_RULED_OUT = re.compile(
    r"(?:\b(?:can|could|may|must|should|shall|cannot|never|to)|n['’]t|\bnot)(?: \w+ly)? (?:be |get )?$",
    re.IGNORECASE,
)
SOURCE = re.compile(
    r"\b(?:according to|as \w+ (?:reports?|states?|says?|has it|writes?)"
    r"|(?-i:[Pp]er (?:the )?[A-Z]\w+(?:'s)?)"
    r"|says?|writes?|\w+ (?:reports|states|claims) that|the \w+ (?:states|claims)"
    r"|as \w+ \w+ (?:reports|states)|measured|counted|note from|datasheet|data card"
    r"|readme|faq|docs? says?"
    r"|thinks|insists|believes|notebook|wiki|log adds|in the \w+ (?:log|notes?)|page\))\b"
    r"|^\w+(?: \w+)?:|\([^)]*(?:page|card|wiki|docs?|notes?|readme|log)\)",
    re.IGNORECASE,
)
# `was raised`, `have been split`, `we shortened`: something happened, where the old text says how it is.
_EVENT = re.compile(
    r"\b(?:was|were|has|have|had|got|['’]ve|been)(?: \w+ly)?(?: been| become| since)?"
    r" (?:\w{2,}(?:ed|en|wn|pt)|cut|put|set|split|shut|made|built|left|sent|sold|lost|found|gone|done|run"
    r"|brought|bought|taught|held|kept)\b"
    r"|\b(?:we|they|user|team|he|she|i)(?: \w+ly)?"
    r" (?:\w{3,}ed|left|cut|put|went|chose|took|gave|made|built|got)\b"
    r"|^\w{3,}ed\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|came|we \w{3,}ed|\w+ed it|chose|picked|fixed|solved|caused|failed"
    r"|crashed)\b",
    re.IGNORECASE,
)


def changes(old: str, new: str) -> list[str]:
    """The words of change in the new text that the old one does not use itself."""
    known = {stem(word) for word in re.findall(r"[a-z]+", old.lower())}
    found = [
        match.group().lower()
        for match in _CHANGE.finditer(new)
        if not _RULED_OUT.search(new[: match.start()])
    ]
    return [words for words in found if not known.issuperset(stem(word) for word in words.split())]


def happened(old: str, new: str) -> bool:
    """Whether the new text tells of an event and the old one of a state."""
    return bool(_EVENT.search(new)) and not _EVENT.search(old) and not _PAST.search(old)
