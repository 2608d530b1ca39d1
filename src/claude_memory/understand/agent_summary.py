"""Reads the summary that an agent wrote of its own session, and what closing words list as left to do. Pure.

Claude Code writes nine numbered parts; another agent's text is kept as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from claude_memory.text.words import query_terms, shorten
from claude_memory.understand.titles import outside_fences

MOST_CHARACTERS, HEADING_CHARACTERS = 200_000, 300  # what is longer was not written for reading
# A word of a part's heading, and the part.
_NAMES = {
    "request": "request",
    "concept": "concepts",
    "file": "files",
    "error": "errors",
    "problem": "problems",
    "user message": "messages",
    "pending": "pending",
    "current work": "current",
    "next": "next",
}
_HEADING = re.compile(r"(?m)^(?:#{1,4} *)?(?:\*\*)?([1-9])\. *(?:\*\*)?([A-Za-z][^\n:*]{2,60})[:* ]*")
_TAGGED = re.compile(r"(?s)<summary>(.*?)(?:</summary>|\Z)")
_PREFACE = re.compile(r"(?s)\A.*?^Summary:[ \t]*$", re.MULTILINE)
_BULLET = re.compile(r"^( *)(?:[-*•]|\d{1,2}[.)]|[a-z][.)]) +(?=\S)")
_CODE = re.compile(r"(?ms)^[ \t]*```[^\n]*\n(.*?)^[ \t]*```[ \t]*$")
# An entry that only says that there is none.
SAYS_NOTHING = re.compile(
    r"(?i)^\W*(?:none\b|no (?:\w+ ){0,3}(?:errors?|tasks?|pending|problems?|issues?)\b|n/a\b)"
)
_LEFT = re.compile(
    r"(?i)^[#*\s]*(?:next steps?|remaining|still open|open (?:points|threads|questions|issues)|left to do"
    r"|to ?do(?=\W*$|:))\b[:*\s]*(.*)$"
)
_FIX = re.compile(
    r"(?i)(?:^|(?<=[.;!?)`:] )|(?<=[-→] ))(?:\*\*)?(?:(?:successful )?fix(?:ed)?|solution|solved|resolved|"
    r"resolution|corrected|recovered|reverted|removed|added|changed|updated|re-added|decision)\b"
)
_PERSON = re.compile(
    r"(?i)\b(?:by (?:the )?user\b|user(?:'s)?(?: \w+)? (?:feedback|correct|said|told|reject|pointed|asked|"
    r"want|suggest|request|redirect|push|identified|direct|explicitly|clarif|prefer|caught))"
)
_PATH = re.compile(r"`?((?:[\w.@~:+-]*[\\/])*[\w.@+-]+\.\w{1,8})`?")


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """The parts of a summary by name; `rest` is the text of one that has no such parts."""

    parts: dict[str, str]
    rest: str = ""

    def __bool__(self) -> bool:
        return bool(self.parts or self.rest)

    def text(self, name: str) -> str:
        """A part in one line, without code and marks; empty if it says that there is nothing."""
        return plain(self.parts.get(name, ""))

    def items(self, name: str) -> list[str]:
        """The entries of a part, each in one line."""
        return [text for block in blocks(self.parts.get(name, "")) if (text := plain(block))]

    def sections(self) -> list[tuple[str, str, list[str]]]:
        """The files of the part on files and code: each with what it is for, and the code that is quoted."""
        found = []
        for block in blocks(self.parts.get("files", "")):
            if path := _PATH.search(block.splitlines()[0][:HEADING_CHARACTERS]):
                said = plain(block)
                text = said.partition(path[1])[2].lstrip("`): —-–") if path[1] in said else said
                found.append((path[1], text, [code.strip("\n") for code in _CODE.findall(block)]))
        return found


def read(text: str) -> AgentSummary:
    """The parts of an agent's summary; a text in another form as a whole."""
    text = text[:MOST_CHARACTERS]
    found = _TAGGED.search(text)
    body = (found[1] if found else _PREFACE.sub("", text, count=1)).strip()
    marks = []
    for mark in _HEADING.finditer(body):
        names = [name for word, name in _NAMES.items() if word in mark[2].lower()]
        marks += [(*mark.span(), name) for name in names[:1]]
    parts: dict[str, str] = {}
    for (_, begin, name), (end, _, _) in pairwise([*marks, (len(body), len(body), "")]):
        parts.setdefault(name, body[begin:end].strip("\n"))
    return AgentSummary(parts) if len(parts) >= 3 else AgentSummary({}, body)


def feedback_and_fixes(summary: AgentSummary) -> tuple[list[str], list[tuple[str, str]]]:
    """What the person told the agent, and errors with what was done about them, from the part on errors."""
    feedback: list[str] = []
    fixes: list[tuple[str, str]] = []
    for block in blocks(summary.parts.get("errors", "")):
        said = plain(block)
        if not said or SAYS_NOTHING.match(said):
            below = blocks("\n".join(block.splitlines()[1:]))
            feedback += [plain(inner) for inner in below if _PERSON.search(inner)]
        elif _PERSON.search(said):
            feedback.append(said)
        # An error and its fix: at the word that says so, else at the name's end, else no fix.
        elif (found := _FIX.search(said)) and found.start() > 8:
            error, fix = said[: found.start()].strip(" -:;→"), said[found.start() :].strip(" -:;→")
            fixes += [(error, fix)] if fix else []
        elif len(fix := said.partition(": ")[2]) > 12:
            fixes.append((said.partition(": ")[0], fix))
    return feedback, fixes


def called_open(closing: str) -> Iterator[str]:
    """What an agent's last words list as left to do: below a heading that says so, or behind it."""
    listing = False
    for line in closing.splitlines():
        if heading := _LEFT.match(line):
            listing = True
            if len(query_terms(heading[1])) > 1 and not heading[1].endswith(":"):
                yield shorten(plain(heading[1]), 200)
        elif listing and _BULLET.match(line):
            yield shorten(plain(line).removeprefix("[ ] "), 200)
        elif line.strip():
            listing = False


def blocks(text: str) -> list[str]:
    """The entries of a list, each with what is indented below it; paragraphs where there is no list.

    A line that stands alone above a list is an entry, too.
    """
    depths = [len(bullet[1]) for line in outside_fences(text) if (bullet := _BULLET.match(line))]
    outer = min(depths, default=-1)
    found: list[list[str]] = []
    fenced, gap = False, True
    for line in text.splitlines():
        bullet = None if fenced else _BULLET.match(line)
        opens = len(bullet[1]) == outer if bullet else outer < 0 and gap and bool(line.strip())
        if opens or not found:
            found.append([])
        found[-1].append(line)
        fenced ^= line.lstrip().startswith("```")
        gap = not line.strip() and not fenced
    return [block for one in found if (block := "\n".join(one).strip())]


def plain(text: str) -> str:
    """A text in one line: no code blocks, no list marks, no emphasis."""
    told = ""
    for line in _CODE.sub("", text).replace("**", "").splitlines():
        said = _BULLET.sub("", line).strip()
        if set(said) - set("-=*#|: "):
            ended = not told or told[-1] in ".;:!?,…"
            told += f"{'' if ended or not _BULLET.match(line) else ';'} {said}"
    return " ".join(told.split())
