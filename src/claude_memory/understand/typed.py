"""In a prompt that a person typed: their own words, what they pasted, and what the words settle.

What was pasted is told by the shape of lines, not by what is said; in doubt a part was pasted, for own words
are believed. What is settled is told by a few plain rules over own sentences, by five families: too rough to
make memories of, they mark entries of the working buffer and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

BLOB = 60  # characters from an opening brace to the end of a line: nobody types that
LINE = 1_500
HEAD = 200  # characters that tell what a line is, from either end
CODA = 200  # characters of a last paragraph that may be the person's again, after what they quoted
_FENCES = ("```", "~~~")


_SHAPES = {
    "pasted": (
        r"\s*(?:"
        r"[\[(]?\d{4}-\d\d-\d\d[T ]|[\[(]?\d\d:\d\d:\d\d|\[ *\d+[.\]]"  # a log's time
        r"|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE|PASS|FAIL(?:ED)?|PASSED)\b[\]:|\t ]"
        r"|[\w.]*(?:[Ee]rror|[Ee]xception|[Ww]arning|panic|fatal|hint)(?:\[\w+\])?: "  # faults, traces
        r"|Traceback \(|File \"|at [\w.$<>/]+ ?\(|Caused by:|goroutine \d|npm (?:ERR|WARN|error)"
        r"|(?:[$%❯➜»⎿]|>>>|\w+@[\w.-]+[:~ ]\S*[$#]) ?|>|=== |ok +\t|--- (?:FAIL|PASS)"  # a terminal
        r"|diff --git|[*|\\/ ]*commit [0-9a-f]{7}|(?:Author|Date|Merge): |[0-9a-f]{7,40} \S"  # git
        r"|@@ |\+\+\+ |--- |[+-]\s{2,}\S|index [0-9a-f]{7}"
        r"|\||[│┃├└┌╭╰─━═┆⏺●◉✓✔✗✘×⨯•]|[-=_*~]{4,}\s*$"  # tables, frames, marks
        r"|[{}\[\]();,]+\s*$|[{\[]+\"|[\"'][\w.$-]+[\"']\s*:"
        r"|</?[A-Za-z][\w-]*[ >/]|<!--|//|/\*|#!|#include"
        r"|[\w./\\-]+\.\w{1,5}:\d+"  # a place in a file
        r"|(?:def|class|import|return|const|let|var|func|fn|public|private|export|type) .*[:;({=]\s*$"
        r"|(?:SELECT|INSERT|UPDATE|CREATE|ALTER) .*(?:;|FROM|INTO|TABLE)"
        r")|(?: {4,}|\t)\S"
    ),
    "listed": (r"\s*(?:[-*•] (?!commit [0-9a-f]{7})|\d{1,2}[.)] )"),
    "document": (
        r"\s*#{1,6} \S|\*\*[^*]+\*\*:?\s*$|(?:Summary|Description|Details|Impact|Steps to reproduce"
        r"|Expected behaviou?r|Actual behaviou?r|Acceptance criteria|Proof of concept|PoC)\s*:?\s*$"
    ),
    "review": (
        r"<details>|\[bot\]|(?:Low|Medium|High|Critical) Severity|\[P[0-3]\]|Potential issue"
        r"|^\s*\w[\w-]* (?:left a comment|commented|requested changes|reviewed)\b"
    ),
    "handed_over": (
        r"(?i)\b(?:feedback|review|comments?|says|said|wrote|message|report|output|readout|log|logs|error|mail"
        r"|ticket|issue|description|from (?:copilot|cursor|codex|gemini|claude))\b[^\n]{0,60}:\s*$"
    ),
    "blob": (r"[{\[]\s*[{\"]"),
    "opened": (r"(?m)(?<=[^\s`])[ \t]*```$"),  # "it says ```", at the end of a line
}


@cache
def _shape(name: str) -> re.Pattern[str]:
    """Compiled when first needed: most hooks need none."""
    return re.compile(_SHAPES[name])


def typed_words(text: str) -> tuple[str, tuple[str, ...]]:
    """The person's own words, and the parts they pasted, each in order."""
    own: list[str] = []
    pasted: list[str] = []
    quoting = False  # what follows was announced as somebody else's words
    paragraphs = list(_paragraphs(text))
    for place, (fenced, lines) in enumerate(paragraphs):
        whole = "\n".join(lines)
        if fenced:
            pasted.append(whole)
            continue
        last = place == len(paragraphs) - 1
        if quoting and not (last and len(whole) <= CODA and not _looks_pasted(lines)):
            pasted.append(whole)
            continue
        if _shape("document").match(lines[0][:HEAD]) and len(lines) + len(paragraphs) > 2:
            pasted += ["\n".join(rest) for _, rest in paragraphs[place:]]  # a document, to its end
            break
        mine, theirs = _parted(lines)
        own += ["\n".join(mine)] if mine else []
        pasted += ["\n".join(theirs)] if theirs else []
        quoting = bool(mine) and not theirs and _shape("handed_over").search(mine[-1][-HEAD:]) is not None
    return "\n\n".join(own).strip(), tuple(pasted)


def _paragraphs(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Runs of lines between empty ones, and whether a run stands between fences."""
    run: list[str] = []
    fence = ""
    for line in _shape("opened").sub("\n```", text).splitlines():
        bare = line.strip()
        opens = not fence and bare.startswith(_FENCES)
        if opens or (not fence and not bare):
            if run:
                yield False, run
            run = [line] if opens else []
            fence = bare[:3] if opens else ""
            if opens and len(bare) > 6 and bare.endswith(fence):  # opened and closed on one line
                yield True, run
                run, fence = [], ""
            continue
        run.append(line)
        if fence and bare.startswith(fence):
            yield True, run
            run, fence = [], ""
    if run:
        yield bool(fence), run


def _parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """A paragraph's own lines, and the pasted rest: what a pasted one begins with may be typed."""
    if _shape("review").search("\n".join(lines)):
        return [], lines
    if _looks_pasted(lines):
        head = next((place for place, line in enumerate(lines) if _is_pasted(line)), 0)
        return _unblobbed(lines[:head]), lines[head:]
    own: list[str] = []
    theirs: list[str] = []
    for line in lines:
        (theirs if line.lstrip().startswith(">") or len(line) > LINE else own).append(line)
    mine = _unblobbed(own)
    theirs += [line[len(kept) :] for line, kept in zip(own, mine, strict=True) if line != kept]
    return [line for line in mine if line.strip()], theirs


def _unblobbed(lines: list[str]) -> list[str]:
    """Lines without the long JSON that they end in."""
    kept = []
    for line in lines:
        found = _shape("blob").search(line) if len(line) > BLOB else None
        kept.append(line[: found.start()] if found and len(line) - found.start() > BLOB else line)
    return kept


def _looks_pasted(lines: list[str]) -> bool:
    """Most lines do; those of a list tell nothing, programs and people write them alike."""
    telling = [line for line in lines if _shape("listed").match(line[:HEAD]) is None] or lines
    return 2 * sum(map(_is_pasted, telling)) > len(telling)


def _is_pasted(line: str) -> bool:
    head, tail = line[:HEAD], line[-HEAD:].rstrip()
    if _shape("listed").match(head) is not None:
        return False
    code = tail.endswith((");", "=> {", "=> (", "\\")) or (
        tail.endswith(("{", ";")) and any(map(tail.count, "=()"))
    )
    return code or _shape("pasted").match(head) is not None


# --- what a prompt settles

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
# What asks, supposes, hands on or tells what was: it settles nothing.
_UNSETTLED = (
    r"\?[\"')\]]*\s*$"
    r"|^(?:why|what|how|where|when|who|which|is|are|was|were|does|did|do (?:we|you|i)|can|could|would"
    r"|should|shall|will|have (?:we|you)|if|suppose|imagine|maybe|perhaps|assuming|i wonder|not sure)\b"
    r"|\b(?:he|she|they|it|docs?|readme|reviewer|linter|error|log|message|comment|bot|article) "
    r"(?:says?|said|suggests?|claims?|recommends?|wants?)\b"
)


def families(prompt: str) -> tuple[str, ...]:
    """The families of what a prompt settles, in the order of the table; none if it settles nothing."""
    from claude_memory.text.sentences import sentences

    unsettled = re.compile(_UNSETTLED, re.IGNORECASE)
    spoken = (sentence.plain for sentence in sentences(typed_words(prompt)[0]))
    told = [sentence for sentence in spoken if not unsettled.search(sentence)]
    rules = {name: re.compile("|".join(rules), re.IGNORECASE) for name, rules in _RULES.items()}
    return tuple(name for name, rule in rules.items() if any(map(rule.search, told)))
