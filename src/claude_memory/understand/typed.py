"""In a prompt that a person typed: their own words, what they pasted, and what the words settle.

What was pasted is told by the shape of lines, not by what is said; in doubt a part was pasted, for own words
are believed. What is settled is told by a few plain rules over own sentences, by five families: too rough to
make memories of, they mark entries of the working buffer and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LINE = 1_500
HEAD = 200  # characters that tell what a line is, from either end
_FENCES = ("```", "~~~")

_PASTED = re.compile(
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
)
_LISTED = re.compile(r"\s*(?:[-*•] (?!commit [0-9a-f]{7})|\d{1,2}[.)] )")
_DOCUMENT = re.compile(
    r"\s*#{1,6} \S|\*\*[^*]+\*\*:?\s*$|(?:Summary|Description|Details|Impact|Steps to reproduce"
    r"|Expected behaviou?r|Actual behaviou?r|Acceptance criteria|Proof of concept|PoC)\s*:?\s*$"
)


def typed_words(text: str) -> tuple[str, tuple[str, ...]]:
    """The person's own words, and the parts they pasted, each in order."""
    own: list[str] = []
    pasted: list[str] = []
    paragraphs = list(_paragraphs(text))
    for place, (fenced, lines) in enumerate(paragraphs):
        if _DOCUMENT.match(lines[0][:HEAD]) and len(lines) + len(paragraphs) > 2 and not fenced:
            pasted += ["\n".join(rest) for _, rest in paragraphs[place:]]  # a document, to its end
            break
        mine, theirs = ([], lines) if fenced else _parted(lines)
        own += ["\n".join(mine)] if mine else []
        pasted += ["\n".join(theirs)] if theirs else []
    return "\n\n".join(own).strip(), tuple(pasted)


def _paragraphs(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Runs of lines between empty ones, and whether a run stands between fences."""
    run: list[str] = []
    fence = ""
    for line in text.splitlines():
        bare = line.strip()
        opens = not fence and bare.startswith(_FENCES)
        if run and (opens or not (fence or bare)):
            yield False, run
            run = []
        if opens:
            fence, run = bare[:3], [line]
        elif fence or bare:
            run.append(line)
            if fence and bare.startswith(fence):
                yield True, run
                run, fence = [], ""
    if run:
        yield bool(fence), run


def _parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """A paragraph's own lines, and the pasted rest: what a pasted one begins with may be typed."""
    # Those of a list tell nothing, programs and people write them alike.
    telling = [line for line in lines if _LISTED.match(line[:HEAD]) is None] or lines
    if 2 * sum(map(_is_pasted, telling)) > len(telling):
        head = next((place for place, line in enumerate(lines) if _is_pasted(line)), 0)
        return lines[:head], lines[head:]
    own: list[str] = []
    theirs: list[str] = []
    for line in lines:
        (theirs if line.lstrip().startswith(">") or len(line) > LINE else own).append(line)
    return own, theirs


def _is_pasted(line: str) -> bool:
    head, tail = line[:HEAD], line[-HEAD:].rstrip()
    if _LISTED.match(head) is not None:
        return False
    statement = tail.endswith(("{", ";")) and any(map(tail.count, "=()"))
    return statement or tail.endswith((");", "=> {", "=> (", "\\")) or _PASTED.match(head) is not None


# --- what a prompt settles

# What people say before they come to it, and what they name by a value.
_LEAD = r"^(?:(?:ok(?:ay)?|yes|yeah|right|so|and|but|also|then|please|pls|oh|hmm|well)\b[,.!:]* )*"
_VALUE = r"(?:`[^`]+`|\"[^\"]+\"|\S*\d\S*|\w+(?:[-_./:@]\w+)+)"
_FAMILIES = {
    "correction": (
        r"LEAD(?:(?:no|nope|wait|sorry|oops)\b[,.!:—–-]+ (?!thanks|no problem)\S+ \S|actually\b)"
        r"|\bi (?:meant|said|asked for|was (?:wrong|mistaken))\b"
        r"|\bthat(?:'s| is) (?:wrong|not (?:right|what|how))\b"
        r"|\b(?:use|call|name|make|put|take|should be|want|needs?)\b.{2,70}(?<!or)"
        r" (?:not|instead of|rather than) \S"
    ),
    "decision": (
        r"\blet'?s (?:just )?(?:go (?:with|for)|use|stick|keep(?! going| on)|skip|drop|leave|not|take|pick"
        r"|choose|switch|stay|remove|make it|call it|do (?:option|it|the|both))\b|\boption (?:[a-e]|\d)\b"
        r"|\bwe (?:(?:have )?(?:decided|agreed)|(?:don'?t|do not|won'?t) need)\b"
        r"|LEAD(?:go(?:ing)? with|i'?ll take|we'?ll (?:go with|use|keep|drop)|i(?:'d)? (?:prefer|rather)"
        r"|skip|drop|leave (?:it|that|this|out)|ignore)\b"
    ),
    "architecture": (
        r"\bwe (?:should|must|need to|have to|want to) (?:\w+ly )?(?:use|keep|store|avoid|have|separate"
        r"|split|share|depend|expose|never|always|not|only|stay|rely|treat)\b"
        r"|\b(?:must|should|may) (?:always|never|not|only|live|stay|be (?:stored|kept|in|behind|part))\b"
        r"|\bbelongs? (?:in|to)\b|\bfrom now on\b|LEAD(?:(?:always|never)\b(?! mind)"
        r"|(?:don'?t|do not|avoid) (?:add|us|introduc|creat|depend|import|put|stor|call|wrap)\w*)"
    ),
    "priority": (
        r"\b(?:blocking|blocked (?:by|on|until)|urgent|asap|can wait|comes? first|(?:most|more) important)\b"
        r"|LEAD(?:add|do|finish|fix|get|make|merge|move|run|ship|start|test|update|write)\b.{1,90}"
        r"\b(?:before\b|first\b[.!]*$)"
    ),
    "value": (
        r"https?://\S+\w|(?-i:\b(?!UTF|SHA|ISO|RFC|AES)[A-Z]{2,8}-\d{1,6}\b)"
        r"|\b(?:feat(?:ure)?|fix|bugfix|hotfix|release|chore)/[\w./-]+|(?-i:\b[A-Z][A-Z0-9_]{3,} ?= ?\S+)"
        r"|\bset\b.{1,60}\bto VALUE|\b(?:branch|bucket|database|domain|endpoint|flag|folder|host|id|issue|key"
        r"|limit|model|name|path|port|region|repo|server|staging|prod|table|tag|ticket|timeout|topic|url"
        r"|user|version)s?\b(?: \w+)?(?: is| are|'s|=|:| called| named| to| at| of)+(?: now| at)? *VALUE"
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

    spoken = (sentence.plain for sentence in sentences(typed_words(prompt)[0]))
    settling = [sentence for sentence in spoken if not re.search(_UNSETTLED, sentence, re.IGNORECASE)]
    rules = {name: rule.replace("LEAD", _LEAD).replace("VALUE", _VALUE) for name, rule in _FAMILIES.items()}
    return tuple(
        name
        for name, rule in rules.items()
        if any(re.search(rule, sentence, re.IGNORECASE) for sentence in settling)
    )
