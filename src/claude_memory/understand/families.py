"""What a prompt settles, by five families: corrections, decisions, architecture, priorities, values.

A few plain rules over a person's own typed sentences; questions, suppositions and what others said settle
nothing. They mark entries of the working buffer and nothing else: too rough to make memories of.
"""

from __future__ import annotations

import re

from claude_memory.text.sentences import sentences
from claude_memory.understand.pasted import typed_words

# What people say before they come to it, and what they have done.
_LEAD = r"^(?:(?:ok(?:ay)?|yes|yeah|yep|right|so|and|but|also|then|please|pls|oh|hmm|well|great)\b[,.!:]* )*"
_DO = (
    r"(?:add|address|build|check|do|finish|fix|focus on|get|handle|land|make|merge|migrate|move|release"
    r"|review|rework|rotate|run|ship|sort|start|test|update|upgrade|write)\b.{1,90}"
)
_USE = r"(?:add|us|introduc|creat|depend|import|pull|put|stor|call|mock|hard-?cod|expos|duplicat|wrap|touch)"
_NAMED = (
    r"\b(?:account|address|branch|bucket|channel|cluster|database|db|domain|email|endpoint|env(?:ironment)?"
    r"|file|flag|folder|host(?:name)?|id|image|index|issue|key|limit|model|name(?:space)?|package|path|port"
    r"|prod(?:uction)?|project|queue|region|repo(?:sitory)?|schema|server|service|setting|staging|table|tag"
    r"|threshold|ticket|timeout|topic|ttl|url|user|variable|version|workspace)s?\b"
)
_VALUE = r"(?:`[^`]+`|\"[^\"]+\"|\S*\d\S*|\w+(?:[-_./:@]\w+)+)"

_RULES: dict[str, tuple[str, ...]] = {
    "correction": (
        _LEAD + r"(?:no|nope|nah|wait|sorry|oops)\b[,.!:—–-]+ (?!it's fine|thanks|all good|no problem)\S+ \S",
        _LEAD + r"(?:no,? )?actually\b",
        r"\bi (?:meant|said|asked for|misspoke|was wrong|was mistaken)\b",
        r"\b(?:that's|that is|this is|it's) (?:wrong|not (?:right|correct|what|how|the))\b",
        r"\b(?:use|call|name|make|put|take|should be|must be|want|needs?)\b.{2,70}(?<!or)"
        r" (?:not|instead of|rather than) \S",
        r"\byou (?:forgot|missed|misunderstood|misread|got .{1,30} wrong|(?:should|were) not)\b",
    ),
    "decision": (
        r"\blet'?s (?:just )?(?:go (?:with|for)|use|stick|keep(?! going| on)|skip|drop|leave|not|take|pick"
        r"|choose|switch|stay|defer|postpone|remove|make it|call it|do (?:option|it|the|both))\b",
        _LEAD
        + r"(?:go(?:ing)? with|i'?ll take|we'?ll (?:go with|use|keep|drop)|i(?:'d)? (?:prefer|rather))\b",
        r"\b(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled)\b|^decision:",
        _LEAD + r"(?:skip|drop|leave out|forget about|ignore|don'?t bother)\b",
        r"\bleave (?:it|that|this|them) (?:out|as is|alone|for later)\b|\boption (?:[a-e]|\d)\b",
        r"\bwe (?:don'?t|do not|won'?t) need\b",
        _LEAD + _DO + r"\bfirst\b[.!]*$",
    ),
    "architecture": (
        r"\bwe (?:should|must|need to|have to|will|want to) (?:\w+ly )?(?:use|keep|store|avoid|have|separate"
        r"|split|share|depend|expose|never|always|not|only|stay|build on|rely|treat|go through)\b",
        _LEAD + r"(?:don'?t|do not|never|avoid|no more) (?:ever )?" + _USE + r"(?:e|ing|s)?\b",
        _LEAD + r"(?:always|never)\b(?! mind)",
        r"\b(?:must|should|shall|may) (?:always|never|not|only)\b|\bfrom now on\b",
        r"\b(?:should|must|has to|have to|needs to) (?:live|go|stay|sit|be (?:stored|kept|in|behind|part))\b",
        r"\b(?:belongs? (?:in|to)|source of truth|goes through|single place)\b",
    ),
    "priority": (
        r"\b(?:is|are|'s|was) (?:still )?(?:blocking|blocked|a blocker|urgent|critical"
        r"|(?:the )?(?:most|more) important)\b",
        r"\bblock(?:s|ing) (?:the |our |us\b|every)|\bblocked (?:by|on|until)\b",
        _LEAD + _DO + r"\b(?:before\b|first\b[.!]*$)",
        r"\b(?:can wait|not urgent|asap|as soon as possible|comes? first|before anything else|deprioriti[sz]e"
        r"|drop everything|(?:top|high(?:est)?|low(?:est)?)[ -]priority)\b",
    ),
    "value": (
        r"https?://\S+\w",
        r"(?-i:\b(?!UTF|SHA|ISO|RFC|AES)[A-Z]{2,8}-\d{1,6}\b)",
        r"\b(?:feat(?:ure)?|fix|bugfix|hotfix|release|chore)/[\w./-]+",
        _NAMED + r"(?: \w+)?(?: is| are|'s|=|:| called| named| to| at| of)+(?: now| at| called)? *" + _VALUE,
        r"\bset\b.{1,60}\bto " + _VALUE + r"|(?-i:\b[A-Z][A-Z0-9_]{3,} ?= ?\S+)|\bport \d+\b",
    ),
}
FAMILIES = {name: re.compile("|".join(rules), re.IGNORECASE) for name, rules in _RULES.items()}
# What asks, supposes, hands on or tells what was: it settles nothing.
_UNSETTLED = re.compile(
    r"\?[\"')\]]*\s*$"
    r"|^(?:why|what|how|where|when|who|which|is|are|was|were|does|did|do (?:we|you|i)|can|could|would"
    r"|should|shall|will|have (?:we|you)|if|suppose|imagine|maybe|perhaps|assuming|i wonder|not sure)\b"
    r"|\b(?:he|she|they|it|docs?|readme|reviewer|linter|error|log|message|comment|bot|article) "
    r"(?:says?|said|suggests?|claims?|recommends?|wants?)\b",
    re.IGNORECASE,
)


def families(prompt: str) -> tuple[str, ...]:
    """The families of what a prompt settles, in the order of the table; none if it settles nothing."""
    spoken = (sentence.plain for sentence in sentences(typed_words(prompt)[0]))
    told = [sentence for sentence in spoken if not _UNSETTLED.search(sentence)]
    return tuple(name for name, rule in FAMILIES.items() if any(map(rule.search, told)))
