"""What an exchange is called, and the one text by which it is found. Pure.

A commit, a plan and the agent's closing words say what it was about; the request says it less often.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from claude_memory.text.words import STOP_WORDS, shorten
from claude_memory.understand.model import Exchange

TITLE_CHARACTERS = 80
SEARCH_CHARACTERS = 8_000
PASTED_CHARACTERS = 300
TOLD_CHARACTERS = 1_000  # of what was said at one time
NAMES_CHARACTERS = 700
SENTENCES = 8  # of closing words, in which a title is looked for
_STEM = 6  # "render" and "rendering" are one word here
_SHORT_CLAUSE = 30  # a title cut at a clause must still say something

# Words that say that something is done, comes now or is polite, and nothing of the matter. A line with
# fewer than two others is an opener: "All 19 tests pass. Here's a summary of the changes:".
_EMPTY = STOP_WORDS | frozenset(
    """absolutely agreed ah ahead alright analysis answer answered applied back background build can't
    catch cause changed changes check checks clarification clarifies clean commit commits committed
    complete completed conclusion confirmed context continue cool correct created don't done draft enough
    error errors everything exactly excellent fail failing fails fair files final findings fine finished
    fixes following found full get go going good got great green happy hello help here here's hey hi hit
    i'll i'm i've implementation implemented important instinct issue issues it's key latest let let's
    lgtm like lint linter linting look looks made make makes modified need needed next note notes
    observation ok okay overview pass passed passes passing perfect picture plan please pls point pr
    problem proceed pull push pushed question quick ready remaining report request result results resume
    retry review right root run runs see sense sharp solution sounds status step steps successfully suite
    summary sure task tasks test tests thank thanks that's there's thing things think thought understood
    update updated valid validate verdict verification verified want we're well what's work working works
    worth yeah yep yes you're""".split()
)
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_ADDRESS = re.compile(r"https?://\S+")
_MARKS = re.compile(r"^(?:#{1,6}\s+|[>*•✅✓✔☑🎉-]\s*|\d+[.)]\s+)+")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|`")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,400}\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"*(\[])")
_CLAUSE = re.compile(r"(?:,| —| –| -|:|;| because| so that| which)\s")
_SKIPPED = re.compile(r"\s*(?:\||---|===|\$ |<|\[\[)")
_LEADING_WORDS = re.compile(
    r"\A(?:(?:(?:done|perfect|great|excellent|all (?:done|set)|yes|yep|yeah|good|ok(?:ay)?|right|got it|sure"
    r"|no|confirmed|correct|exactly|summary|complete|tl;dr|ah|found it|fixed|fair enough|makes sense|agreed"
    r"|verdict|good (?:catch|point|question))\s?[.!,:;—–-]+\s*)+"
    r"|(?:here(?:'s| is| are)|below is) (?:a|an|the|my)(?: \w+){0,2} of (?:the |all )?)",
    re.IGNORECASE,
)
_DANGLING = re.compile(r"(?:and|but|because|so|that's|that is|it|this|these|those|which)\b", re.IGNORECASE)
_POLITE = re.compile(
    r"\A(?:(?:hey|hi|hello|ok(?:ay)?|so|please|pls|great|cool|thanks|now|and|then|also|yes|yeah|right|alright"
    r"|well|nice|perfect|can (?:you|we)|could (?:you|we)|would you|i(?:'d| would) like (?:you )?to"
    r"|i want (?:you )?to|let's|we (?:need|want) to)(?:[,.! ]+|$))+",
    re.IGNORECASE,
)
_PLAN_WORDS = re.compile(
    r"^(?:implementation )?plan\b\s*(?:to\b|for\b)?\s*[:—–-]*\s*|\s(?:implementation )?plan$", re.IGNORECASE
)
_UNFINISHED = re.compile(r"(?:fixup!|squash!|amend!|wip\b|merge (?:branch|remote))", re.IGNORECASE)
_ON_THE_WAY = re.compile(
    r"(?:(?:now|next|first|good|great|ok(?:ay)?|perfect)[.,!]? )*"
    r"(?:let me|let's|i'll|i will|i'm going to|i need to|checking|running|reading|looking)\b",
    re.IGNORECASE,
)

_FENCED = re.compile(r"\s*(```|~~~)")
_DECORATED = re.compile(r"^[\s#>*_+\-=|`~•]+|[\s*_`#]+$")


def title(exchange: Exchange) -> str:
    """What the exchange was about, in at most 80 characters; never empty."""
    last = "Short reply" if exchange.closing else "Unanswered prompt"
    return next(filter(None, map(_fitted, _titles(exchange))), last)


def _titles(exchange: Exchange) -> Iterator[str]:
    subjects = [commit.subject for commit in exchange.commits]
    # A commit that was amended tells what it was about before; the closing words tell what was added.
    commits = [one.command for one in exchange.commands if "git commit" in one.command]
    amended = len(subjects) == 1 and bool(commits) and all("--amend" in one for one in commits)
    if not amended:
        yield from [subject for subject in reversed(subjects) if not _UNFINISHED.match(subject)]
    yield plan_title(exchange.plan)
    # The lines that a person typed, without polite openings.
    typed = [plain_line(line) for spoken in exchange.asked for line in spoken.words.splitlines()]
    bare = [_POLITE.sub("", line, count=1) for line in typed]
    lines = [line if "://" in line.split()[0] else line[:1].upper() + line[1:] for line in bare if line]
    telling = [line for line in lines if telling_words(line) >= 3]
    # Of mere talk, the question says better what it was about than the first words of the answer.
    if not exchange.files_edited and not subjects:
        yield from (line for line in telling if line.endswith("?") or not exchange.commands)
    # What the exchange was about is named by words of the request, and of the files it changed.
    files = (re.split(r"[/\\]", name)[-1].partition(".")[0] for name, _ in exchange.files_edited)
    named = (word for text in (*lines, *files) for word in _words(text))
    yield _first_telling(exchange.closing, frozenset(word[:_STEM] for word in named if word not in _EMPTY))
    yield from telling
    yield _first_telling(exchange.closing)
    yield from subjects
    yield _first_line(exchange.handed)
    yield from (line for line in lines if telling_words(line))
    yield from (_first_telling(text) for text in reversed(exchange.said))
    yield from (spoken.question for spoken in exchange.asked)
    yield from (command.command for command in exchange.commands[-1:])
    yield from (line for line in lines if len(line.split()) > 2)


def plan_title(plan: str) -> str:
    """What a plan is about: its heading or first line, without the word that it is a plan."""
    heading = next((line for line in plan.splitlines() if line.startswith("#")), "") or _first_line(plan)
    return _PLAN_WORDS.sub("", plain_line(heading)).strip(" :—–-")


def _first_telling(text: str, matter: frozenset[str] = frozenset()) -> str:
    """The first heading, item or sentence that says something of the matter; a question says too little."""
    for sentence in itertools.islice(_sentences(text), SENTENCES):
        least = 3 if sentence.endswith(":") or (matter and len(sentence.split()) < 6) else 2
        if telling_words(sentence) < least or _ON_THE_WAY.match(sentence) or _DANGLING.match(sentence):
            continue
        on_topic = not matter or not matter.isdisjoint(word[:_STEM] for word in _words(sentence))
        if on_topic and not sentence.endswith("?"):
            return sentence
    return ""


def _sentences(text: str) -> Iterator[str]:
    """Sentences of a text without code, tables and marks."""
    for line in outside_fences(text):
        for sentence in () if _SKIPPED.match(line) else _SENTENCE_END.split(plain_line(line)):
            yield _LEADING_WORDS.sub("", sentence, count=1)


def telling_words(sentence: str) -> int:
    """How many words of a sentence say something of the matter."""
    return sum(word not in _EMPTY for word in _words(sentence))


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(_ADDRESS.sub("", text))]


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines() if not _SKIPPED.match(line))
    return next(filter(None, lines), "")


def plain_line(line: str) -> str:
    """A line without marks of headings, lists, emphasis and links."""
    line = _MARKS.sub("", line.strip(), count=1)
    line = _LINK.sub(r"\1", line) if "](" in line else line
    return " ".join(_EMPHASIS.sub("", line).split())


def _fitted(text: str) -> str:
    """A text as a title: one line, cut at a clause where one ends in time, else at a word."""
    line = plain_line(text).rstrip(" .:;,—–-")
    if len(line) <= TITLE_CHARACTERS:
        return line
    ends = [clause.start() for clause in _CLAUSE.finditer(line[: TITLE_CHARACTERS + 1])]
    cuts = [
        end for end in ends if line.count("(", 0, end) == line.count(")", 0, end) and end >= _SHORT_CLAUSE
    ]
    return line[: cuts[-1]].rstrip() if cuts else shorten(line, TITLE_CHARACTERS)


# --- the text for search


def search_text(exchange: Exchange) -> str:
    """One text in which the answer stands, the most telling parts first, each within its own room."""
    room, parts = SEARCH_CHARACTERS, list[str]()
    for text, limit in _parts(exchange):
        if room >= 100 and (part := _cut(text, min(limit, room))):
            parts.append(part)
            room -= len(part) + 2
    return "\n\n".join(parts)


def _parts(exchange: Exchange) -> Iterator[tuple[str, int]]:
    def listed(mark: str, between: str, names: Iterable[str]) -> tuple[str, int]:
        joined = between.join(names)
        return mark + joined if joined else "", NAMES_CHARACTERS

    asked = [
        text
        for spoken in exchange.asked
        for text in (spoken.question, spoken.words, _cut(spoken.pasted, PASTED_CHARACTERS))
    ]
    failed = dict.fromkeys((one.command, one.error) for one in exchange.commands if one.failed)
    failures = (f"Failed: {shorten(run.splitlines()[0], 160)}\n{error}".rstrip() for run, error in failed)
    went_well = dict.fromkeys(one.command.splitlines()[0] for one in exchange.commands if not one.failed)
    yield "\n".join(filter(None, asked)) or exchange.handed, 2_000
    yield listed("", "\n", (f"Commit {one.hash} {one.subject}" for one in exchange.commits))
    yield from ((link, SEARCH_CHARACTERS) for link in exchange.pull_requests[:5])
    yield exchange.closing, 3_600
    yield listed("Edited: ", ", ", (name for name, _ in exchange.files_edited))
    yield "\n".join(failures), NAMES_CHARACTERS * 2
    yield exchange.plan, 1_200
    yield listed("Tasks: ", "; ", (task.title for task in exchange.tasks))
    yield "\n".join(_told(exchange.said, SEARCH_CHARACTERS // 2)), SEARCH_CHARACTERS
    yield listed("Read: ", ", ", exchange.files_read)
    yield listed("Ran: ", "; ", went_well)


def _told(said: Iterable[str], room: int) -> list[str]:
    """What was told on the way, without announcements of the next step; the longest tell most."""
    texts = [text for one in said if (text := without_announcements(one))]
    chosen: set[int] = set()
    for place in sorted(range(len(texts)), key=lambda place: -len(texts[place])):
        if len(texts[place]) <= room:
            chosen.add(place)
            room -= len(texts[place]) + 1
    return [texts[place] for place in sorted(chosen)]


def without_announcements(text: str) -> str:
    """What a text of the agent tells beside its next step; empty if nothing."""
    split = (_SENTENCE_END.split(line.strip()) for line in text.splitlines())
    lines = (" ".join(one for one in parts if one and not _ON_THE_WAY.match(one)) for parts in split)
    joined = _cut("\n".join(filter(None, lines)), TOLD_CHARACTERS)
    return joined if telling_words(joined) >= 3 else ""


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text.strip()
    head = text[:limit]
    end = max(head.rfind("\n"), head.rfind(" "))
    return (head[:end] if end > limit // 2 else head).strip()


# --- plain texts


def title_of(text: str) -> str:
    """The first line that says something, without decoration, within 80 characters."""
    lines = [_DECORATED.sub("", line) for line in outside_fences(text)] or text.splitlines()
    line = " ".join(next((line for line in lines if re.search(r"\w", line)), text.strip()).split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    head = line[: TITLE_CHARACTERS - 1]
    space = head.rfind(" ", TITLE_CHARACTERS // 2)
    return head[: space if space != -1 else None].rstrip(" ,;:") + "…"


def outside_fences(text: str) -> Iterator[str]:
    """The lines that are not quoted code."""
    fenced = False
    for line in text.splitlines():
        if _FENCED.match(line):
            fenced = not fenced
        elif not fenced:
            yield line
