"""What a person says in their own voice: sentences, without code, quotes, pasted logs and listings.

Knows no language; standard library only, because it also runs inside the prompt hook.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_CHARACTERS = 20_000  # a longer prompt is a pasted file; its head and tail are read
MAX_LINE = 1_500

_FENCE = re.compile(r"^\s*(```|~~~|\"\"\"\s*$)")
_QUOTED = re.compile(r'"[^"\n]{1,400}"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|(?<![\w`])\'[^\'\n]{3,400}\'(?!\w)')
_ONE_TOKEN = re.compile(r"[\w./:@+#-]+")
_MASKED = re.compile(r"“…+”")
_PASTED = re.compile(
    r"^\s*(?:"
    # a log's stamp or level
    r"(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[ *\d+\.\d+\]|\[\d{4,}\]|[A-Z][a-z]{2} +\d+ \d\d:\d\d)"
    r"|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE|CRITICAL|PASS|FAIL|FAILED|PASSED|OK)\b[\]:| ]"
    # an error and its trace
    r"|[\w.$-]*(?:[Ee]rror|[Ee]xception|[Ww]arning|panic|fatal|traceback)\b.{0,20}:"
    r"|error\[E\d+\]|Traceback \(|File \""
    r"|at [\w.$<>]+\(|\.\.\. \d+ more|Caused by:"
    # what a program puts before its lines
    r"|(?:kernel|npm|pip|cargo|gcc|make|git|docker|systemd|sshd|node|java|python\d?)(?:\[\d+\])?: "
    r"|npm (?:ERR!|WARN)|-->|\d+ +\||\||\$ |>>> |# |//[ !/]|/\*|\* |<!--|%|@@|\+\+\+|---|[+-]{1}\s{2,}"
    # commits, places in files, code
    r"|[0-9a-f]{7,40} \S|commit [0-9a-f]{7,40}|[ \t]{4,}\S|[\w.$/-]+\.\w{1,5}[:!(]\S*\d|[-=_*~]{4,}\s*$"
    r"|[{}\[\]();,]+\s*$"
    r"|\w+ ?[-+*/]?= ?[^=]*[;(\[{]|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER) .*(?:;|FROM|INTO|TABLE)"
    r"|(?:def|class|import|from|return|const|var|public|private|func|fn|function|export|async|pub) .*[:;({=]"
    r"|[A-Z]/\w+: "
    r")"
)
_LISTS = re.compile(r"\s*(?:[-*•] |\d+[.)] )")
_SENTENCE = re.compile(
    r"(?<=[.!?;…])[\"')\]]*\s+(?=\S)|\s+[—–]\s+(?=[A-Za-z])|\s*[\U0001F300-\U0001FAFF☀-➿]+\s*"
)
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|nr|fig|resp|cf|incl|mr|mrs|dr|st)\.|^\d+\.)$", re.IGNORECASE
)


class Sentence(NamedTuple):
    """A sentence as it was typed, and as rules read it: quoted text in it is “…”."""

    said: str
    plain: str


def sentences(text: str) -> Iterator[str]:
    """Each sentence in order, quoted text in it replaced by “…”."""
    return (sentence.plain for sentence in spoken(text))


def spoken(text: str) -> Iterator[Sentence]:
    """Each sentence in order, both as typed and as rules read it."""
    for line in _own_lines(_bounded(text)):
        masked = _QUOTED.sub(_masked_quote, line)  # of the same length, so that places stay
        for start, end in _split(masked):
            said, plain = line[start:end].strip(), _MASKED.sub("“…”", masked[start:end]).strip()
            if plain:
                yield Sentence(said, plain)


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def _own_lines(text: str) -> Iterator[str]:
    fenced = False
    pasted = 0
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced or not line.strip() or line.lstrip().startswith(">"):
            continue
        listed = _LISTS.match(line)
        if (_PASTED.match(line) and not listed) or len(line) > MAX_LINE:
            pasted += 1
            continue
        yield line[listed.end() :] if listed else line.strip()


def _masked_quote(match: re.Match[str]) -> str:
    """A single name in quotes is a name; anything longer is somebody's words."""
    inner = match[0][1:-1]
    return f" {inner} " if _ONE_TOKEN.fullmatch(inner) else f"“{'…' * len(inner)}”"


def _split(line: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _SENTENCE.finditer(line):
        if not _ABBREVIATED.search(line[start : gap.start()]):
            yield start, gap.start()
            start = gap.end()
    yield start, len(line)
