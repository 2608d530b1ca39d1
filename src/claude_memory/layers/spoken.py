"""What a person says in their own voice in a prompt: sentences, without code, quotes and pasted logs.

Knows no language; standard library only, because it runs inside the prompt hook.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from claude_memory.layers.rules import compiled

MAX_CHARACTERS = 20_000  # a longer prompt is a pasted file; its head and tail are read
MAX_LINE = 1_500

_QUOTES = "\"“«'"
_BULLETS = "-*•0123456789"
_ODD = frozenset(":=#/;{}()[]|<>@$%\\_0123456789")
_PROGRAMS = tuple(
    """at Traceback Caused error Error ERROR WARN INFO DEBUG FAIL PASS npm SELECT INSERT UPDATE DELETE CREATE
    ALTER commit assert def class import""".split()
)
_FENCES = ("```", "~~~")
_QUOTED = r'"[^"\n]{1,400}"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|(?<![\w`])\'[^\'\n]{3,400}\'(?!\w)'
_ONE_WORD = r"[\w./:@+#-]+"
_PASTED = (
    r"^\s*(?:"
    # a log's stamp or level
    r"(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[ *\d+\.\d+\]|\[\d{4,}\]|[A-Z][a-z]{2} +\d+ \d\d:\d\d)"
    r"|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE|CRITICAL|PASS|FAIL|FAILED|PASSED|OK)\b[\]:| ]"
    # an error and its trace
    r"|(?i:[\w.$-]*(?:error|exception|warning|panic|fatal|traceback)\b.{0,20}:)|error\[E\d+\]|Traceback \("
    r"|File \"|at [\w.$<>]+\(|\.\.\. \d+ more|Caused by:"
    # what a program puts before its lines
    r"|(?:kernel|npm|pip|cargo|gcc|make|git|docker|systemd|sshd|node|java|python\d?)(?:\[\d+\])?: "
    r"|npm (?:ERR!|WARN)|-->|\d+ +\||\||\$ |>>> |# |// |/\*|\* |<!--|%|@@|\+\+\+|---|[+-]{1}\s{2,}"
    # commits, places in files, code
    r"|[0-9a-f]{7,40} \S|commit [0-9a-f]{7,40}|[ \t]{4,}\S|[\w.$/-]+\.\w{1,5}[:!(]\S*\d|[-=_*~]{4,}\s*$"
    r"|[{}\[\]();,]+\s*$"
    r"|.*(?:\S {2,}#|\S //|===?|=>|\);|\{$|::\w)|assert \w"
    r"|\w+ ?[-+*/]?= ?[^=]*[;(\[{]|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER) .*(?:;|FROM|INTO|TABLE)"
    r"|(?:def|class|import|from|return|const|var|public|private|func|fn) .*[:;({=]"
    r")"
)
_LISTS = r"\s*(?:[-*•] |\d+[.)] )"
_SENTENCE = r"(?<=[.!?;…])[\"')\]]*\s+(?=\S)|\s+[—–]\s+(?=[A-Za-z])|\s*[\U0001F300-\U0001FAFF☀-➿]+\s*"
_ABBREVIATED = r"(?i:\b(?:e\.g|i\.e|etc|vs|approx|no|nr|fig|resp|cf|incl|mr|mrs|dr|st)\.|^\d+\.)$"


def sentences(text: str) -> Iterator[str]:
    """Each sentence as it was typed, in order; quoted text in it is replaced by “…”."""
    for line in _own_lines(_bounded(text)):
        plain = compiled(_QUOTED).sub(_kept_quote, line) if any(mark in line for mark in _QUOTES) else line
        yield from _split(plain)


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def _own_lines(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
            continue
        if fenced or not line.strip() or line.lstrip().startswith(">"):
            continue
        listed = compiled(_LISTS).match(line) if line.lstrip()[:1] in _BULLETS else None
        if (not listed and _is_pasted(line)) or len(line) > MAX_LINE:
            continue
        yield line[listed.end() :] if listed else line.strip()


def _is_pasted(line: str) -> bool:
    """A line of plain words needs no closer look, and compiling the pattern costs more than the rest."""
    if line[:1].isalpha() and not _ODD.intersection(line) and not line.startswith(_PROGRAMS):
        return False
    return compiled(_PASTED).match(line) is not None


def _kept_quote(match: re.Match[str]) -> str:
    """A single name in quotes is a name; anything longer is somebody's words."""
    inner = match[0][1:-1]
    return f" {inner} " if compiled(_ONE_WORD).fullmatch(inner) else "“…”"


def _split(line: str) -> Iterator[str]:
    start = 0
    for gap in compiled(_SENTENCE).finditer(line):
        piece = line[start : gap.start()]
        if piece.endswith(".") and compiled(_ABBREVIATED).search(piece):
            continue
        if piece.strip():
            yield piece.strip()
        start = gap.end()
    if line[start:].strip():
        yield line[start:].strip()
