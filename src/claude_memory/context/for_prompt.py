"""What earlier sessions know about a prompt; nothing for most prompts.

A prompt gets a line where it names a thing (a path, an address, an identifier, a number) that an earlier
exchange was about, or where it brings up several rare words, new to its own session, that stand in what such
an exchange is called. The line must say them itself. On real prompts the best hits of a search are noise four
times of five: most prompts are a step of running work.
"""

from __future__ import annotations

import math
import re

from claude_memory.context.moments import QUOTED_CHARACTERS, Line, Offer, day, of_memory
from claude_memory.text.quotation import clipped, named, plain, quoted
from claude_memory.text.words import is_stop_term, query_terms

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from claude_memory.context.moments import Scene
    from claude_memory.store.sqlite.glance import Glance, Seen

    Word = tuple[tuple[str, ...], bool]  # of a prompt: its terms, the whole first; whether it names a thing
    Shared = tuple[dict[str, float], set[str]]  # rare words with what each tells; those that name a thing

HEADING = "From earlier sessions in this project, possibly relevant:"
MAX_TOKENS = 300
MAX_LINES = 2
ASKED_CHARACTERS = 110
READ_CHARACTERS = 4_000
LEAST_WORDS = 3  # with fewer, a prompt is an answer or a step of what is under way, unless it names a thing
# In nats: a word that one of three sessions uses tells 1.1, one of seven 2. Counted by sessions, for what a
# session is about stands in all of its passages.
RARE = 1.2
NAMING = 2.0
ENOUGH = 3.5
COVERED, MUCH = 0.2, 8.0  # of what the prompt's words tell; so much is enough for the longest
TOGETHER, MOST = 5.0, 0.35
NEAR_THE_BEST = 0.8
PASSAGES = 600  # that may be looked at
MANY_NAMES = 6  # in a prompt that names so many things, one of them is met by chance
LOOKED_AT = 12
COMMON, FEW_PASSAGES = 0.3, 20  # a word that stands in more is not looked up; among so few, any is
FEW_SESSIONS = 12  # among fewer, counting says nothing
_NAME = re.compile(
    r"[a-z0-9]{2}[A-Z]|[A-Z]{2}[a-z]{2}|\w{2}[._/]\w{2}|#\d{2}|[A-Z]{2,}-\d|^\d{4,}$|^(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,40}$"
)
_PLACE_IN = re.compile(r"(?<=\w)[#?].*$|:\d[\d:,-]*$")  # of an address or a file: which part of it
_EDGES = "@.,:;!?()[]{}'\"`*<>“”’"
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MARKUP = re.compile(r"^[\s#>*+|✅✓-]+|\*\*|`{3,}\w*")


def at_prompt(scene: Scene, prompt: str) -> Offer:
    """The few lines that earlier sessions have on a prompt, and reminders it calls for."""
    due = scene.reminders(words=prompt)
    if prompt.lstrip().startswith("/"):
        return due
    found = for_prompt(scene.glance, prompt, session=scene.session, given=scene.given)
    return due + scene.offer(HEADING, found, MAX_TOKENS)


def for_prompt(glance: Glance, prompt: str, *, session: str, given: Collection[str]) -> list[Line]:
    """At most two lines, the newest first; usually none."""
    words = words_of(prompt[:READ_CHARACTERS])
    if len(words) < LEAST_WORDS and not any(is_name for _, is_name in words):
        return []
    asked, matches = _matches(glance, words, session)
    names = sum(is_name for _, is_name in words)
    lines = [
        line
        for seen in glance.seen(list(matches))
        if seen.id not in given and (line := _Candidate(seen, *matches[seen.number])).is_enough(asked, names)
    ]
    best = max((line.weight for line in lines), default=0.0)
    chosen: dict[str, _Candidate] = {}
    for line in sorted(lines, key=lambda line: (line.seen.trust != "user", -line.weight)):
        if line.weight >= NEAR_THE_BEST * best:  # a session says it once; a person's own words come first
            chosen.setdefault(line.seen.session or line.seen.id, line)
    newest = sorted(chosen.values(), key=lambda line: -line.seen.created)[:MAX_LINES]
    return [line.hint() for line in newest]


def words_of(prompt: str) -> list[Word]:
    """The words that say something, each once; a path or an address also by its last part."""
    found: dict[str, Word] = {}
    for written in prompt.split():
        bare = _PLACE_IN.sub("", written.strip(_EDGES)).rstrip("/")
        for part in dict.fromkeys((bare, bare.rpartition("/")[2])):
            is_name = len(part) > 2 and _NAME.search(part) is not None
            least = 1 if is_name and part[0] == "#" else 3  # letters; a small number tells nothing
            terms = [term for term in query_terms(part) if not is_stop_term(term)]
            terms = [one for one in terms if len(one) >= least + one.isdigit() or not one.isascii()]
            if terms:
                found.setdefault(terms[0], (tuple(terms), is_name))
    return list(found.values())


def _matches(glance: Glance, words: list[Word], session: str) -> tuple[float, dict[int, Shared]]:
    """What the prompt's words tell, and the memories of other sessions that share most with it."""
    passages, counts = glance.frequencies(term for terms, _ in words for term in terms)
    left, looked_up = PASSAGES, dict[str, set[str]]()  # the rarest terms, each with the sessions that hold it
    for term in sorted(counts, key=counts.__getitem__):
        left -= counts[term]
        if left >= 0 and counts[term] <= max(COMMON * passages, FEW_PASSAGES):
            looked_up[term] = set()
    texts: dict[int, set[str]] = {}
    own: set[str] = set()
    for number, of_session, text in glance.holding(looked_up):
        terms = set(text.split())
        for term in terms.intersection(looked_up):
            looked_up[term].add(of_session or str(number))
        (own if of_session == session else texts.setdefault(number, set())).update(terms)
    total = max(glance.sessions(), FEW_SESSIONS)
    worth = {term: math.log(total / len(held)) for term, held in looked_up.items() if held}
    # A word that was not looked up tells nothing if it is everywhere, much if nobody knows it.
    unknown = {term: 0.0 if term in counts else NAMING for terms, _ in words for term in terms}
    asked = sum(max(worth.get(term, unknown[term]) for term in terms) for terms, _ in words)
    shared = {number: _shared(words, text, worth, own) for number, text in texts.items()}
    best = sorted(shared, key=lambda number: -sum(shared[number][0].values()))[:LOOKED_AT]
    return asked, {number: shared[number] for number in best}


def _shared(
    words: list[Word], text: Collection[str], worth: Mapping[str, float], own: Collection[str]
) -> Shared:
    """What a text shares with a prompt; a plain word only if the session itself has not used it yet."""
    found: dict[str, float] = {}
    names: set[str] = set()
    for terms, is_name in words:
        shared = [term for term in terms if worth.get(term, 0.0) >= RARE and term in text]
        if is_name:  # parts of a name are other names' parts, too
            shared = [term for term in shared if term == terms[0]]
            names.update(shared)
        else:
            shared = [term for term in shared[-1:] if term not in own]
        found.update((term, worth[term]) for term in shared)
    return found, names


class _Candidate:
    """A match as the line that would be given for it, and which of the shared words the line is about."""

    __slots__ = ("about", "called", "named", "said", "seen", "topic", "weight", "words")

    def __init__(self, seen: Seen, words: Mapping[str, float], names: set[str]) -> None:
        self.seen, self.words, self.named = seen, words, names
        record = seen.record
        commits = [str(commit.get("subject", "")) for commit in record.get("commits", ())]
        files = [str(path).rpartition("/")[2] for path, _ in record.get("files_edited", ())[:10]]
        self.called = set(query_terms(" ".join((seen.title, *commits))))
        beside = (_asked(record), str(record.get("branch", "")), *files)
        self.topic = self.called.union(query_terms(" ".join(beside)))
        told = {word: nats for word, nats in words.items() if word in self.topic or word in names}
        self.said = _of_exchange(seen, told) if record else of_memory(seen)
        shown = set(query_terms(self.said))
        edited = [name for name in files if name.lower() in names - shown]
        if edited and self.said and commits:
            self.said += f"; it edited {named(edited[0])}"
            shown.add(edited[0].lower())
        self.about = {word: nats for word, nats in told.items() if word in shown}
        self.weight = sum(self.about.values())

    def is_enough(self, asked: float, names: int) -> bool:
        """Whether it is worth an agent's time, for a prompt whose words tell so much, with so many names."""
        # How a command failed is told before that command.
        own = self.named if self.seen.kind != "lesson" or self.seen.trust == "user" else ()
        least = {name: RARE if name in self.topic else NAMING for name in own}
        met = sum(self.about.get(name, 0.0) >= nats for name, nats in least.items())
        rare = [name for name in self.named if self.words[name] >= NAMING]
        # A path and its last part are one thing.
        things = sum(not any(one != name and one.endswith(name) for one in rare) for name in rare)
        return bool(self.said) and (
            met > (names >= MANY_NAMES)
            or things > 1
            or (len(self.about) > 1 and self.weight >= min(max(ENOUGH, COVERED * asked), MUCH))
            or (
                not self.called.isdisjoint(self.about)
                and sum(self.words.values()) >= max(TOGETHER, MOST * asked)
            )
        )

    def hint(self) -> Line:
        kind = "" if self.seen.record else f"{self.seen.kind}, "
        shared = sorted(self.about, key=self.about.__getitem__, reverse=True)[:4]
        text = f"- {kind}{day(self.seen.created)}: {self.said} [{self.seen.id}]"
        return Line(text, self.seen.id, f"shares {', '.join(shared)}")


def _asked(record: Mapping[str, Any]) -> str:
    """The request that an exchange began with, as it is quoted."""
    words = next((str(one["words"]) for one in record.get("asked", ()) if one.get("words")), "")
    return clipped(plain(words), ASKED_CHARACTERS)


def _of_exchange(seen: Seen, shared: Mapping[str, float]) -> str:
    """What was asked and how it ended; nothing where it did not end with words."""
    record = seen.record
    asked = [term for term in query_terms(_asked(record)) if not is_stop_term(term)]
    is_telling = len(asked) >= LEAST_WORDS and (not record.get("commits") or bool(set(asked) & set(shared)))
    begun = quoted(_asked(record) if is_telling else seen.title, ASKED_CHARACTERS)
    said = [str(spoken["words"]) for spoken in record.get("asked", ()) if spoken.get("manner") == "rejection"]
    refused = [words for words in said if set(query_terms(words)) & set(shared)]
    last = refused[-1] if refused else telling(str(record.get("closing", "")), shared)
    ended = quoted(last, QUOTED_CHARACTERS)
    if not refused and not ended:
        return ""
    outcome = f"the person refused: {ended}" if refused else f"it ended with {ended}"
    commits = record.get("commits") or [{}]
    done = f" (commit {commits[-1]['hash'][:8]})" if commits[-1].get("hash") else ""
    return f"{'asked ' if is_telling else ''}{begun}; {outcome}{done}"


def telling(closing: str, shared: Collection[str]) -> str:
    """The sentences of closing words that say most about what the prompt shares, in their order."""
    sentences = [_MARKUP.sub("", line).strip() for line in _SENTENCE.split(closing[:6_000])]
    sentences = [line for line in sentences if len(line) > 12 and not line.startswith("|")]
    worth = [len(set(query_terms(sentence)) & set(shared)) for sentence in sentences]
    taken: list[int] = []
    for place in sorted(range(len(sentences)), key=lambda place: -worth[place]):
        if sum(len(sentences[one]) for one in taken) < QUOTED_CHARACTERS * 0.7:
            taken.append(place)
    return " ".join(sentences[place] for place in sorted(taken))
