"""In a prompt that a person typed: their own words, and what they pasted.

Goes by the shape of lines, not by what is said. In doubt a part was pasted: own words are believed.
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
