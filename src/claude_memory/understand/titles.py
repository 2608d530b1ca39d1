"""What an exchange is called, and the one text by which it is found. Pure.

A commit, a plan and the agent's closing words say what it was about; the request says it less often.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from claude_memory.text import STOP_WORDS, shorten
from claude_memory.understand.model import Command, Exchange, Utterance

TITLE_CHARACTERS = 80
SEARCH_CHARACTERS = 8_000
ASKED_CHARACTERS = 2_000
CLOSING_CHARACTERS = 3_600
PLAN_CHARACTERS = 1_200
PASTED_CHARACTERS = 300
TOLD_CHARACTERS = 1_000  # of what was said at one time
NAMES_CHARACTERS = 700
_SHORT_CLAUSE = 30  # a title cut at a clause must still say something

# Words that say that something is done, comes now or is polite, and nothing of the matter. A line with
# fewer than three others is an opener: "All 19 tests pass. Here's a summary of the changes:".
_EMPTY = STOP_WORDS | frozenset(
    """absolutely ahead agreed alright analysis applied back background build catch changes changed check checks
    clean commit commits committed complete completed conclusion confirmed context continue cool correct created
    done draft error errors everything exactly excellent fair fail failing fails files final findings finished fine
    fixes following found full get go going good got great green hello here hey hi i'll i'm i've implementation
    implemented issue issues it's key let's lgtm like lint linter linting look looks made make modified need needed
    next note notes ok okay overview pass passed passes passing perfect plan please pls point problem proceed push
    pushed question quick ready remaining result results resume retry review right root cause run runs sense solution
    sounds status step steps successfully suite summary sure test tests thank thanks thing things understood
    update updated verification verified want well what's work working works yeah yep yes you're""".split()
)
_WORD = re.compile(r"[^\W\d_][\w'’./-]*")
_MARKS = re.compile(r"^[\s>#*•✅✓✔☑🎉-]+(?:\d+[.)]\s+)?|^\d+[.)]\s+")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|`")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,400}\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"*(\[])")
_CLAUSE = re.compile(r"(?:,| —| –| -|:|;| because| so that| which)\s")
_SKIPPED = re.compile(r"\s*(?:\||---|===|\$ |<)")
_LEADING_WORD = re.compile(
    r"(?:(?:done|perfect|great|excellent|all (?:done|set)|yes|yep|good|ok(?:ay)?|right|got it|sure|no|confirmed"
    r"|correct|exactly|summary|complete|tl;dr)\s?[.!,:;—–-]+\s*)+",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:(?:hey|hi|hello|ok(?:ay)?|so|please|pls|great|cool|thanks|now|and|then|also|yes|yeah|right|alright|well"
    r"|nice|perfect|can (?:you|we)|could (?:you|we)|would you|i(?:'d| would) like (?:you )?to|i want (?:you )?to"
    r"|let's|we (?:need|want) to)(?:[,.! ]+|$))+",
    re.IGNORECASE,
)
_PLAN_WORDS = re.compile(
    r"^(?:implementation )?plan(?: for)?\s?[:—–-]\s*|\s(?:implementation )?plan$", re.IGNORECASE
)
_UNFINISHED = re.compile(r"(?:fixup!|squash!|amend!|wip\b|merge (?:branch|remote))", re.IGNORECASE)
_ON_THE_WAY = re.compile(
    r"(?:(?:now|next|first|good|great|ok(?:ay)?|perfect)[.,!]? )*"
    r"(?:let me|let's|i'll|i will|i'm going to|i need to|checking|running|reading|looking)\b",
    re.IGNORECASE,
)
_FALLBACK = "Unanswered prompt"


def title(exchange: Exchange) -> str:
    """What the exchange was about, in at most 80 characters; never empty."""
    for text in _titles(exchange):
        line = _fitted(text)
        if line:
            return line
    return _FALLBACK


def _titles(exchange: Exchange) -> Iterator[str]:
    subjects = [commit.subject for commit in exchange.commits]
    yield from [subject for subject in reversed(subjects) if not _UNFINISHED.match(subject)]
    yield from subjects
    yield _plan_title(exchange.plan)
    yield _first_telling(exchange.closing)
    yield from _request_lines(exchange.asked)
    if exchange.handed:
        yield _first_line(exchange.handed)
    yield from (_first_telling(text) for text in reversed(exchange.said))
    yield from (spoken.question for spoken in exchange.asked)
    if exchange.files_edited:
        yield "Edited " + ", ".join(name for name, _ in exchange.files_edited[:3])
    yield from (command.command for command in exchange.commands[-1:])


def _plan_title(plan: str) -> str:
    heading = next((line for line in plan.splitlines() if line.startswith("#")), "") or _first_line(plan)
    return _PLAN_WORDS.sub("", _plain(heading))


def _first_telling(text: str) -> str:
    """The first heading, item or sentence that says something of its own; questions come last."""
    asks = ""
    for sentence in _sentences(text):
        if telling_words(sentence) < 3 or _ON_THE_WAY.match(sentence):
            continue
        if not sentence.endswith(("?", ":")):
            return sentence
        asks = asks or sentence
    return asks


def _sentences(text: str) -> Iterator[str]:
    """Sentences of a text without code, tables and marks."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not _SKIPPED.match(line):
            for sentence in _SENTENCE_END.split(_plain(line)):
                word = _LEADING_WORD.match(sentence)
                yield sentence[word.end() :] if word else sentence


def telling_words(sentence: str) -> int:
    """How many words of a sentence say something of the matter."""
    words = (word.lower().replace("’", "'") for word in _WORD.findall(sentence))
    return sum(word not in _EMPTY for word in words)


def _request_lines(asked: Iterable[Utterance]) -> Iterator[str]:
    """What was asked, the lines that tell most first; a bare word of consent is none."""
    lines = [_plain(line) for spoken in asked for line in spoken.words.splitlines()]
    bare = [line[polite.end() :] if (polite := _POLITE.match(line)) else line for line in lines]
    for least in (3, 2, 1):
        yield from (line[:1].upper() + line[1:] for line in bare if telling_words(line) >= least)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _plain(line: str) -> str:
    """A line without marks of headings, lists, emphasis and links."""
    line = _MARKS.sub("", line.strip(), count=1)
    line = _LINK.sub(r"\1", line) if "](" in line else line
    return " ".join(_EMPHASIS.sub("", line).split())


def _fitted(text: str) -> str:
    """A text as a title: one line, cut at a clause where one ends in time, else at a word."""
    line = _plain(text).rstrip(" .:;,—–-")
    if len(line) <= TITLE_CHARACTERS:
        return line
    cuts = [cut.start() for cut in _CLAUSE.finditer(line[: TITLE_CHARACTERS + 1])]
    cuts = [cut for cut in cuts if cut >= _SHORT_CLAUSE]
    return line[: cuts[-1]].rstrip() if cuts else shorten(line, TITLE_CHARACTERS)


# --- the text for search


def search_text(exchange: Exchange) -> str:
    """One text in which the answer stands, the most telling parts first."""
    room = SEARCH_CHARACTERS
    parts: list[str] = []
    for part in _parts(exchange):
        part = _cut(part, room)
        if part:
            parts.append(part)
            room -= len(part) + 2
        if room < 100:
            break
    return "\n\n".join(parts)


def _parts(exchange: Exchange) -> Iterator[str]:
    yield _cut("\n".join(_asked(exchange.asked)) or exchange.handed, ASKED_CHARACTERS)
    if exchange.commits:
        yield _cut(
            "\n".join(f"Commit {one.hash} {one.subject}" for one in exchange.commits), NAMES_CHARACTERS
        )
    yield from exchange.pull_requests[:5]
    yield _cut(exchange.closing, CLOSING_CHARACTERS)
    if exchange.files_edited:
        yield _cut("Edited: " + ", ".join(name for name, _ in exchange.files_edited), NAMES_CHARACTERS)
    yield _cut("\n".join(_failures(exchange.commands)), NAMES_CHARACTERS * 2)
    yield _cut(exchange.plan, PLAN_CHARACTERS)
    yield "\n".join(_told(exchange.said, SEARCH_CHARACTERS // 2))
    if exchange.files_read:
        yield _cut("Read: " + ", ".join(exchange.files_read), NAMES_CHARACTERS)
    went_well = [one.command.splitlines()[0] for one in exchange.commands if not one.failed]
    if went_well:
        yield _cut("Ran: " + "; ".join(dict.fromkeys(went_well)), NAMES_CHARACTERS)


def _asked(asked: Iterable[Utterance]) -> Iterator[str]:
    for spoken in asked:
        if spoken.question:
            yield spoken.question
        yield spoken.words
        if spoken.pasted:
            yield _cut(spoken.pasted, PASTED_CHARACTERS)


def _failures(commands: Iterable[Command]) -> Iterator[str]:
    seen = set()
    for one in commands:
        if one.failed and (one.command, one.error) not in seen:
            seen.add((one.command, one.error))
            yield f"Failed: {shorten(one.command.splitlines()[0], 160)}\n{one.error}".rstrip()


def _told(said: Iterable[str], room: int) -> list[str]:
    """What was told on the way, without announcements of the next step; the longest tell most."""
    texts = [text for one in said if (text := _without_announcements(one))]
    chosen: set[int] = set()
    for place in sorted(range(len(texts)), key=lambda place: -len(texts[place])):
        if len(texts[place]) <= room:
            chosen.add(place)
            room -= len(texts[place]) + 1
    return [texts[place] for place in sorted(chosen)]


def _without_announcements(text: str) -> str:
    kept = []
    for line in text.splitlines():
        sentences = [one for one in _SENTENCE_END.split(line.strip()) if one and not _ON_THE_WAY.match(one)]
        if sentences:
            kept.append(" ".join(sentences))
    joined = _cut("\n".join(kept), TOLD_CHARACTERS)
    return joined if telling_words(joined) >= 3 else ""


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text.strip()
    head = text[:limit]
    end = max(head.rfind("\n"), head.rfind(" "))
    return (head[:end] if end > limit // 2 else head).strip()
