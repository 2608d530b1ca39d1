"""What a person's turn says, and what it answers: the words that are meant, against what the agent just did.

Pure. Reads; decides nothing about kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from claude_memory.distil import phrases
from claude_memory.distil.phrases import fits
from claude_memory.understand.sentences import spoken
from claude_memory.distil.turns import AGENT, Turn

MAX_SENTENCES = 60
_STEM = 4  # letters that make a beginning tell
_WORD = re.compile(r"[^\s,;!?()\[\]{}\"“”…]+")
_AGREED = re.compile(r", (?:sure|yes|yep|yeah|ok|okay|agreed|right|exactly|fine)\W*$")
# “New thing: …”, “next, …”
_TURNING_TO = re.compile(
    r"^(?:(?:next|new|another|last|other) (?:thing|topic|one|point)|one more(?: thing)?|next|last)[:,]"
    r" (?:the )?"
)
_CODE = re.compile(r"`[^`]*(?: [^` ]+){3,}`")  # code with words in it, which nobody says
_EDGE = " ,.:;!—–-…"
LETTER = r"^\(?[a-d1-4]\)?\W*$"  # “(a).”
_OFFERING = f"{phrases.OFFERING}|{phrases.ALTERNATIVES}|{phrases.COMPARING}"
STOPWORDS = frozenset(
    """a an the this that these those it its it's is are was were be been being am i i'm i'd i'll i've you
    your you're we our us they them their he she his her my me of in on at by for from to with without
    into onto over under as and or but nor so if then than too very just also only not no yes do does
    did doing done have has had having can could will would shall should may might must let let's lets
    there here what which who whom how why when where all any both each few more most other some such
    own same now again once up down out off about because until while before after above below between
    through during against get gets got make makes made put use used using take please pls ok okay
    thanks one two new want need like see go going way thing things don't dont doesn't isn't aren't
    won't can't cannot""".split()
)


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence that is meant: as typed, and plain for rules. `agrees`: it begins with assent."""

    typed: str
    plain: str
    agrees: bool = False
    refuses: bool = False
    objects: bool = False  # it says no to what was just said or done
    concludes: bool = False
    praised: bool = False  # “Good. …”: what was done is well

    @property
    def terms(self) -> frozenset[str]:
        return terms(self.plain)


@dataclass(frozen=True, slots=True)
class Before:
    """What the agent said and did just before."""

    text: str = ""
    question: str = ""
    asked: bool = False  # for a choice or a leave
    asked_fact: bool = False
    asked_step: bool = False  # for a leave to do one thing now
    offered: bool = False
    announced: str = ""  # what it said that it did or will do
    suggested: bool = False  # its last word was what could be done, too
    alternatives: bool = False
    proposed: bool = False  # a way to do it lies before the person
    acted: bool = False
    terms: frozenset[str] = field(default_factory=frozenset)

    @property
    def anything(self) -> bool:
        return bool(self.text) or self.acted

    @property
    def open_question(self) -> bool:
        """Whether it asked where, how or what: any answer is one."""
        return fits(r"^(?:and |so |but )?(?:where|how|what|which|when)\b", self.question)


def meant(text: str) -> list[Said]:
    """The sentences of a turn that say something of their own: no question, joke, guess or hearsay."""
    found: list[Said] = []
    if fits(phrases.HESITATING, text.lower()) or fits(phrases.SARCASM, text.lower().replace("’", "'")):
        return found
    refused = asked = assented = challenged = praised = False
    for sentence in islice(spoken(text), MAX_SENTENCES):
        praise = _praises(sentence.plain)
        said = None if praise else _said(sentence.said, sentence.plain)
        if said is not None:
            # “120? hmm no.” answers oneself.
            refuses, objects = refused or said.refuses, refused or said.objects
            said = replace(said, refuses=refuses and not asked, objects=objects and not asked)
            challenged = challenged and fits(r"^we\b", said.plain)  # “Why jest? We use vitest here.”
            said = replace(said, agrees=said.agrees or assented, objects=said.objects or challenged)
            found.append(replace(said, praised=praised))
        elif fits(phrases.JOKING, sentence.plain.lower()):
            found.clear()  # what came before was the joke
        # “No! Let them through.”: the refusal belongs to what follows.
        refused = said is None and not found and fits(phrases.REFUSING, _plain(sentence.plain))
        asked = sentence.plain.endswith("?")
        challenged = (
            asked and not found and fits(r"^(?:why|since when|what|but why)\b", sentence.plain.lower())
        )
        praised = praised or (praise and not found)
        assented = said is None and _assents(sentence.plain)  # “Yes. Decimals only.”
        if assented and found:  # “Fail open. Yes.”
            found[-1] = replace(found[-1], agrees=True)
    return found


def _said(typed: str, plain: str) -> Said | None:
    text = " ".join(_CODE.sub("` `", plain.lower()).replace("’", "'").split())
    bare, agrees = without_fillers(text)
    bare = _TURNING_TO.sub("", bare)
    answer = after_the_question(bare)
    refuses = answer == bare and fits(phrases.REFUSING, bare)
    bare = answer
    if not terms(bare) and not fits(LETTER, bare):
        return None
    unmeant = (
        phrases.ASKING,
        phrases.SUPPOSING,
        phrases.JOKING,
        phrases.LATER,
        phrases.MOMENTARY,
    )
    if not fits(phrases.REQUESTING, bare) and any(fits(pattern, bare) for pattern in unmeant):
        return None
    if fits(phrases.REPORTED, bare) and not fits(phrases.OWN_CONCLUSION, bare):
        return None
    if fits(phrases.JOKING, text):
        return None
    return Said(
        typed,
        bare.rstrip(_EDGE),
        agrees or _AGREED.search(bare) is not None,
        refuses,
        refuses and fits(phrases.OBJECTING, bare),
        fits(phrases.CONCLUDING, text),
    )


def _praises(text: str) -> bool:
    words = text.lower().strip(_EDGE).split()
    return bool(words) and all(word.strip(_EDGE) in phrases.PRAISING for word in words)


def _assents(text: str) -> bool:
    return text.lower().strip(_EDGE) in phrases.ASSENTING


def _plain(text: str) -> str:
    return without_fillers(" ".join(text.lower().replace("’", "'").split()))[0]


def after_the_question(text: str) -> str:
    """“120 for now? hmm no. make it 20”: what follows the question is the answer."""
    _, mark, tail = text.rpartition("? ")
    return without_fillers(tail)[0] if mark and terms(tail) else text


def without_fillers(text: str) -> tuple[str, bool]:
    """The text without leading fillers, and whether one of them was assent."""
    agrees = False
    text = text.lstrip(_EDGE)
    while text:
        head, _, tail = text.partition(" ")
        word = head.strip(_EDGE)
        if word not in phrases.FILLERS or (not tail and not agrees):
            break
        agrees = (agrees or word in phrases.AGREEING) and word != "but"  # “ok, but …” does not
        text = tail.lstrip(_EDGE)
    return text, agrees


def before(turns: Sequence[Turn], earlier: Before | None = None) -> Before:
    """What stands before a person's turn; `earlier`: what an intermediate question left open."""
    texts = [turn.text for turn in turns if turn.role == AGENT and turn.text.strip()]
    acted = any(turn.changed_file for turn in turns)
    if not texts:
        return _with(Before(acted=acted, terms=acted_on(turns)), earlier)
    last = texts[-1]
    sentences = [sentence.plain.lower().replace("’", "'") for sentence in spoken(last)]
    questions = [sentence for sentence in sentences if sentence.rstrip(" \"')*_").endswith("?")]
    told = [sentence for sentence in sentences if sentence not in questions]
    question = questions[-1] if questions else ""
    fact = bool(question) and fits(phrases.FACT_ASKED, without_fillers(question)[0])
    # What is told after a change tells of it.
    reports = acted and turns[-1].role == AGENT and not fits(phrases.ALTERNATIVES, last.lower())
    found = Before(
        text=last,
        question=question,
        asked=bool(question) and not fact,
        asked_fact=fact,
        asked_step=bool(question) and fits(phrases.STEP_ASKED, question),
        offered=fits(_OFFERING, " ".join(told)),
        announced=" ".join(one for one in told if fits(phrases.ANNOUNCING, one) or reports),
        suggested=bool(told) and fits(phrases.SUGGESTING, told[-1]),
        alternatives=any(fits(phrases.ALTERNATIVES, sentence) for sentence in told),
        proposed=any(fits(phrases.PROPOSING, sentence) for sentence in sentences),
        acted=acted,
        terms=terms(last.lower()) | acted_on(turns),
    )
    return _with(found, earlier)


def _with(found: Before, earlier: Before | None) -> Before:
    """An offer stays open while the person only asks about it."""
    if earlier is None or found.acted:
        return found
    return replace(
        found,
        text=found.text or earlier.text,
        offered=found.offered or earlier.offered or earlier.asked,
        alternatives=found.alternatives or earlier.alternatives,
        terms=found.terms | earlier.terms,
    )


def terms(text: str) -> frozenset[str]:
    """The words of a text that carry meaning; plurals count as their singular."""
    found = (word.strip("`'*_.,:;!?()/-—–→") for word in _WORD.findall(text.lower().replace("’", "'")))
    kept = (word for word in found if word and word not in STOPWORDS and word not in phrases.FILLERS)
    return frozenset(_singular(word) for word in kept)


def shared(some: Iterable[str], others: frozenset[str]) -> bool:
    """Whether both speak of the same thing: `exif` and `exiftool` do, `interval` and `interval_hours`."""
    return any(one in others or any(_akin(one, other) for other in others) for one in some)


def _akin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _STEM and (long.startswith(short) or (len(short) > _STEM and short in long))


def all_terms(said: Iterable[Said]) -> frozenset[str]:
    """The terms of several sentences."""
    return frozenset().union(*(one.terms for one in said))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def acted_on(turns: Iterable[Turn]) -> frozenset[str]:
    """The words of what the agent wrote into files."""
    texts: list[str] = []
    for turn in turns:
        if turn.changed_file:
            new = turn.given.get("new_string") or turn.given.get("content") or ""
            texts += [str(new)[:2000], turn.path.rpartition("/")[2]]
    return frozenset().union(*(terms(re.sub(r"[=\"'()<>,]", " ", text)) for text in texts))
