"""Which words of two texts speak of the same, and what each says beside that.

Pure. Words meet by stem, by a common beginning, by a slip of the pen, or because English has both for one
thing; words that carry little (`want`, `make`, `please`) are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from claude_memory.text import index_terms, is_stop_term, stem

# Words for one thing, in any field; the first of a line stands for the others.
_SYNONYMS = """
begin start commence open
end finish stop close conclude
delete remove erase drop purge wipe gone
add insert append introduce
store keep save hold live sit reside persist kept stored held
send mail email deliver dispatch sent
fetch get retrieve load pull read download
show display render present
write record log note
make create build generate produce made built
change alter modify edit
fix repair solve resolve cure help mend solved
cause reason because why due since
limit cap maximum max most ceiling bound
minimum least floor min
allow permit enable let may
forbid ban prohibit disallow refuse tolerate
need require want must demand necessary mandatory obligatory
fast quick rapid speedy
slow sluggish
big large huge long
small little tiny short brief terse
error fault failure diagnostic exception
bug defect
crash abort die
photo picture image
user customer client person people
team group crew
file document doc
folder directory dir
repo repository
config configuration setting settings configure
database db
doc documentation
app application
param parameter argument
spec specification
intro introduction
info information
auth authentication login
env environment
dev development
prod production live
test check verify testing
run execute perform happen carry place
use employ utilise utilize rely
name call label title
owner responsible maintain own maintainer
ask contact talk reach
location place where
daily nightly night day
minute min mins
second sec secs
hour hr
gigabyte gb gig gigs
megabyte mb meg
ram memory
cpu processor
message msg text
number nr count
each every all any
only just sole single alone
first before earlier prior ahead beforehand
last after later afterwards follow subsequently then
same identical equal
different other another
wrong incorrect false
right correct
answer reply response respond
question query
approve approval approved sign
merge merged
release ship publish launch
deploy rollout roll deployment
server machine host box
compose composition component composed
inherit inheritance hierarchy subclass class
indent indentation
space whitespace blank
lowercase lower
uppercase upper capital capitals
comment remark
rename renamed
split divide
join combine
twice double two doubled
half halve
amount sum money price
pay charge bill payment
invoice bill
schedule plan timetable
week weekly
month monthly
year yearly annual
monday mondays
morning am
afternoon evening pm
noon midday
lock locked hold
exclude skip leave ignore omit excluded
include contain carry comprise
separate own independent
direct directly straight immediately
automatic automatically auto
manual manually hand
tell say report state
explain describe
prefer like favour favor rather wish love
hate dislike unwelcome
avoid refrain
convert transform turn
encode encoded encoding
compress zip gzip
copy duplicate
order sequence sort
optimise optimize optimiser optimizer
size length
light lamp led
full space
"""
_LIGHT = frozenset(
    stem(word)
    for word in (
        "able about actually again also always anybody anyone anything apply around away back basically be "
        "become been being both bring careful case certain come current currently do doing done down either "
        "else especially even ever everybody everyone everything exactly far fine follow for friendly full "
        "general generally get getting give given go goes going good got happen happens have having heads "
        "help here however in instead it its itself just keep kind know known let lot make makes "
        "many matter may maybe me mean means mind much must my need needs never no nobody not note nothing "
        "now of off often ok okay on once one only or other others otherwise our out over own part pls "
        "please "
        "point possible prefer probably put quite rather really regard remember right roughly said say says "
        "see set should simply so some somebody someone something somewhat soon sort still such sure take "
        "taken takes tell than that them then there therefore these they thing things think this those "
        "though through time times to together too try turn two up us use used user uses using usual usually "
        "very via want wants was way we well were what when where which while who whole whoever whose why "
        "will wish with within without wonder work works would yes yet you your"
    ).split()
)


def _groups() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _SYNONYMS.strip().splitlines():
        words = [stem(word) for word in line.split()]
        for word in words:
            found.setdefault(word, words[0])
    return found


_GROUP = _groups()


def group(term: str) -> str:
    """The word that stands for a stem and its like."""
    return _GROUP.get(term, term)


_NUMBER = re.compile(r"\d")
_POINT = re.compile(r"(?<=\d)[.,:](?=\d)")
_SHORT = re.compile(r"\b([A-Z]{2,5})s?\b")
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Matched:
    """Two texts laid against each other, word by word."""

    shared: tuple[tuple[int, int], ...]  # places in the old and the new text
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def chunks(self) -> int:
        """How many things are shared: words that stand side by side in both texts are one."""
        pairs = set(self.shared)
        return sum((left - 1, right - 1) not in pairs for left, right in pairs)

    @property
    def left_old(self) -> tuple[str, ...]:
        taken = {place for place, _ in self.shared}
        return tuple(word for place, word in enumerate(self.old) if place not in taken)

    @property
    def left_new(self) -> tuple[str, ...]:
        taken = {place for _, place in self.shared}
        return tuple(word for place, word in enumerate(self.new) if place not in taken)


@lru_cache(maxsize=4096)
def content(text: str) -> tuple[str, ...]:
    """The words that carry a text's meaning, as stems, each once, in order."""
    terms = dict.fromkeys(term for term in index_terms(text) if not is_stop_term(term))
    # The pieces of an identifier speak for it: `half-even` and `half to even` are the same.
    return tuple(term for term in terms if term.isalnum()) or tuple(terms)


@lru_cache(maxsize=4096)
def weighty(text: str) -> tuple[str, ...]:
    """The words of a text that say something, as stems, each once."""
    # `1.9` and `8.9` share no 9: a figure is one word.
    text = _POINT.sub("", text)
    terms = dict.fromkeys(
        term for term in index_terms(text) if term.isalnum() and not is_stop_term(term) and term not in _LIGHT
    )
    return tuple(terms) or tuple(dict.fromkeys(index_terms(text)))


@lru_cache(maxsize=4096)
def matched(old: str, new: str) -> Matched:
    """Find for each word of the new text its fellow in the old one."""
    ours, theirs = weighty(spelled_out(old, new)), weighty(spelled_out(new, old))
    shared: list[tuple[int, int]] = []
    free = set(range(len(ours)))
    for same in (_equal, akin):
        for right, word in enumerate(theirs):
            if any(right == taken for _, taken in shared):
                continue
            left = next((place for place in sorted(free) if same(ours[place], word)), None)
            if left is not None:
                free.discard(left)
                shared.append((left, right))
    return Matched(tuple(sorted(shared)), ours, theirs)


def spelled_out(text: str, by: str) -> str:
    """The text with its abbreviations in the words that the other text has for them."""
    found = {short.group(1) for short in _SHORT.finditer(text)}
    if not found:
        return text
    words = _WORD.findall(by)
    initials = "".join(word[0].lower() for word in words)
    for short in sorted(found):
        place = initials.find(short.lower())
        if place >= 0 and not re.search(rf"\b{short}", by):
            text = re.sub(rf"\b{short}s?\b", " ".join(words[place : place + len(short)]), text)
    return text


def _equal(one: str, other: str) -> bool:
    return one == other


def akin(one: str, other: str) -> bool:
    """Two words for one thing, two forms of one word, or one of them with a slip of the pen."""
    if _NUMBER.search(one) or _NUMBER.search(other):
        return False
    if group(one) == group(other):
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= 4 and longer.startswith(shorter):
        return True
    return len(shorter) >= 5 and _slip(shorter, longer)


def _slip(shorter: str, longer: str) -> bool:
    """One letter left out, doubled, replaced or swapped with its neighbour."""
    if len(longer) - len(shorter) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(longer) > len(shorter):
        return shorter[start:] == longer[start + 1 :]
    if shorter[start + 1 :] == longer[start + 1 :]:
        return start > 0
    swapped = shorter[start : start + 2][::-1] == longer[start : start + 2]
    return swapped and shorter[start + 2 :] == longer[start + 2 :]
