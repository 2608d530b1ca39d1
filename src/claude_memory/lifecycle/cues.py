"""Words that tell of change, and of who says something. Pure; they know English and no field."""

from __future__ import annotations

import re
from functools import lru_cache

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
    "unified updated upgraded widened withdrawn withdrew outgrown outgrew stretched landed undone reinstated "
    "voted repealed waived restored"
)
# `stop words are removed`: of a habit these tell as well as of a change, so `is` and `are` make them no news.
_HABIT = frozenset(
    "adjusted changed converted corrected cut deleted disabled enabled ended expanded extended folded handed "
    "increased introduced merged modified moved promoted pulled raised reduced removed reverted restored "
    "rewritten shortened split stopped transferred updated upgraded lowered cancelled canceled rebuilt "
    "shut".split()
)
_HABITUAL = re.compile(
    r"\b(?:is|are|gets?|be|stays?|remains?|that['’]s)(?: \w+ly| always| only| usually)? $", re.IGNORECASE
)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_CHANGE = re.compile(
    rf"\b(?:{'|'.join(_CHANGED.split())})\b"
    r"|\b(?:no longer|any ?more|any longer|no more|not yet|used to|formerly|previously|originally|initially"
    r"|as of|from now on|going forward|from then on|henceforth|starting (?:with|from|in|next|today|monday)"
    r"|now(?! that)|these days|nowadays|for now|being \w+(?:ed|en)"
    r"|(?:turned|gone|went|gave|taken) (?:up|down|off|away|over)"
    r"|(?:after|since|with|because of) the(?: \w+)? (?:change|migration|move"
    r"|re(?:design|lease|vision|write)|switch|update|upgrade)"
    rf"|since (?:v?\d[\d.]*|{_MONTHS})|from (?:{_MONTHS})|thing of the past"
    r"|have become|has become|became|becomes|turned into|took over|takes over|taken over|took the place"
    r"|takes the place|in (?:its|their) place|gave way|gave up|given up|got rid of|made way|handed over"
    r"|in favou?r of|off the table|phased out|thrown out|pushed back|brought forward|turned off|turned on"
    r"|went (?:to|from|with|back|up|down|\w+-\w+)|changed? (?:our|my|their|his|her|its) minds?|for good"
    r"|(?:is|are) (?:gone|history|over|out|obsolete|outdated)|have since|has since|as before|until now"
    r"|up to now|replacing|moving to|switching to|up from|down from"
    r"|from (?:this|next) \w+ on(?:wards?)?|(?:last|this past) (?:week|month|year|night|\w+day)|yesterday"
    r"|(?:is|are|went|goes|go) back (?:to|on|in|at)|ended up|supersedes?|effective|ran out|by now"
    r"|from \d\S* on"
    r"|since (?:the (?:last|new|spring|summer|autumn|winter)|last|this)|cut ?over"
    r"|(?:fine|okay?|allowed|permitted|possible) again"
    r"|(?:decided|agreed|voted) to (?:switch|move|go|change|use|stop|drop)"
    r"|got (?:more|less|bigger|smaller|faster)"
    r"|in \w+['’]s hands|left (?:the|at|us|last)"
    r"|instead of (?:the )?(?:old|previous|former)|only \w+ remains?|rather than .* as|successor|not .* since"
    r"|from (?:here|today|tomorrow|this point|that point)(?: on(?:wards?)?)?|from [\w ]{1,20} onwards?"
    r"|forget (?:what|about|the)|scrap|rolled back|ripped out|came into (?:force|effect)"
    r"|(?:is|are|was|were|been) (?:dead|archived|void|frozen|sunset)|down to \d+|joined (?:the|us)"
    r"|at last|finally"
    r"|quit|stop \w+ing|replaces|have switched|has switched|gone over|changes? (?:to|from)|becoming"
    r"|new (?:name|home|wish|rule|default|place|value|limit|owner|policy|address))\b"
    r"|\S*\d\S*\s*(?:→|->)|\(was\b|\(formerly\b|\bwas \d",
    re.IGNORECASE,
)
# `must not be changed`, `can be moved`, `is never deleted`: a rule, and no news.
_RULED_OUT = re.compile(
    r"(?:\b(?:can|could|may|must|should|shall|cannot|never|to)|n['’]t|\bnot)(?: \w+ly)? (?:be |get )?$",
    re.IGNORECASE,
)
SOURCE = re.compile(
    r"\b(?:according to|as (?:far as )?(?:the )?\w+ (?:reports?|states?|says?|has it|writes?|knows)"
    r"|(?-i:[Pp]er (?:the )?[A-Z]\w+(?:'s)?)|(?-i:[A-Z]\w+|[Tt]he \w+) (?:says?|writes|states|claims|lists)"
    r"|it says|says the|(?:have|heard) it from|datasheet|data ?sheet|data card|readme|faq|handbook"
    r"|docs? says?|as required by|thinks|insists|believes|notebook|log adds"
    r"|in the \w+ (?:log|notes?|concept|list|manual|spec)|wish of)\b"
    r"|\([^)]*(?:page|card|wiki|docs?|notes?|readme|log)\)|\((?-i:[A-Z][a-z]+)(?:, [\w ]+)?\)",
    re.IGNORECASE,
)
# A trouble and what helped: to say that it stopped tells of the cure, not of a change of plan.
TROUBLE = re.compile(
    r"\b(?:crash\w*|fail\w*|bugs?|errors?|slow|leak\w*|stutter\w*|jump\w*|hang\w*|hung|twice|doubled?|wrong"
    r"|broken?|timeouts?|timed out|flak\w*|blurr\w*|empty|nothing|lost|missing|killed|kills|corrupt\w*|stuck"
    r"|nan|duplicate\w*|vanish\w*|freez\w*|froze\w?|exhaust\w*|overflow\w*|resets?|drop-outs?|fix(?:ed|es)?"
    r"|solve[ds]?|cured?|helped|caused?)\b",
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


@lru_cache(maxsize=1024)
def changes(old: str, new: str) -> tuple[str, ...]:
    """The words of change in the new text that the old one does not use itself."""
    known = {stem(word) for word in re.findall(r"[a-z]+", old.lower())}
    found = [
        match.group().lower()
        for match in _CHANGE.finditer(new)
        if not _RULED_OUT.search(new[: match.start()])
        and not (match.group().lower() in _HABIT and _HABITUAL.search(new[: match.start()]))
    ]
    return tuple(words for words in found if not known.issuperset(stem(word) for word in words.split()))


def happened(old: str, new: str) -> bool:
    """Whether the new text tells of an event and the old one of a state."""
    return bool(_EVENT.search(new)) and not _EVENT.search(old) and not _PAST.search(old)


# They may tell of a change or of a choice.
_HINT = re.compile(
    r"\b(?:again|instead|already|enough|since|until|still|meanwhile|therefore|hence|so|new|newer|old|older"
    r"|after|was|were|had|before|than)\b",
    re.IGNORECASE,
)


def hints(old: str, new: str) -> int:
    """How many words that may tell of a change the new text has and the old one has not."""
    known = {found.lower() for found in _HINT.findall(old)}
    return len({found.lower() for found in _HINT.findall(new)} - known)
