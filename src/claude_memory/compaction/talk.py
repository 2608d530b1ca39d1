"""The talk of a session, turn by turn: what was proposed, settled, put off, found out, and reported.

Pure. Leans towards keeping: a summary is read in place of what it sums up, and says who said what.
"""

# ruff: noqa: E501  A pattern broken in the middle is harder to read than a long line.

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from claude_memory.distil.exchange import terms
from claude_memory.distil.observe import is_spoken
from claude_memory.understand.sentences import spoken
from claude_memory.distil.turns import AGENT, PERSON, TOOL, Turn

_RULE = re.compile(
    r"\b(?:always|never|convention|house rule|from now on|every time|rule\b|in future|going forward|by default|no exceptions?"
    r"|must (?:not|never|always|be)|only ever|we don'?t|don'?t ever|please don'?t|policy|guideline|standard here|team agreed)\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:later|not (?:today|now|yet)|tomorrow|next (?:week|sprint|month|release|time|quarter|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|(?:until|till|by|before|after) (?:mon|tues|wednes|thurs|fri|satur|sun)day|leave (?:that|it|this|the)|postpone|park (?:it|that|this)|to ?do|still (?:open|missing|to do|needs?)"
    r"|waits? (?:for|until)|waiting (?:for|on)|once .{3,40} (?:is|are|has|arrives?)|follow.?up|someday|another day|for now|stays? open|remains?)\b",
    re.IGNORECASE,
)
_ASSENT = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|ok(?:ay)?|sure|fine|go|do it|agreed|good|great|better(?!:)|nice|excellent|lovely|right|perfect|please do|sounds good|exact(?:ly)?|precisely|i (?:agree|understand)|settled|correct|makes sense|deal|fair|ja|that'?s (?:it|the|right)|you were right|ugh|hm+|alright|let'?s|lets)\b",
    re.IGNORECASE,
)
SETTLING = re.compile(
    r"\b(?:it is|then|instead|rather|use|keep|stay|take|make it|go with|drop|remove|revert|switch|no more|want|should|has to|have to|must|only|not)\b|\bno \w+",
    re.IGNORECASE,
)
PROPOSING = re.compile(
    r"\b(?:i'?d|i would|i'?ll|i will|i can|i could|i suggest|i propose|i recommend|options?|either|instead|we (?:could|can|drop|should|use|take|need)|better|rather|simplest|prefer|so \w+|alternative|shall|should|would|let'?s|adding|trying|\(a\)|works:|take)\b|\?\s*$",
    re.IGNORECASE,
)
ORDERING = re.compile(
    r"(?:^|[.:;,] )(?:then |so |ok(?:ay)?,? |please |let'?s |lets )*(?:use|go (?:with|for)|take|replace|switch (?:to|back)|stay with|keep|we (?:use|take|keep)|make it|increase|decrease|raise|lower|set|limit|drop|no \w+,)\b",
    re.IGNORECASE,
)
# What takes something back, and how many words around it say what.
TAKING_BACK = {
    word: (before, after)
    for before, after, listed in (
        (
            0,
            4,
            "drop drops dropped undo undoing revert reverted kill scrap remove removing without ditch replace forget abandon",
        ),
        (5, 1, "removed reverted dropped stopped forbids forbidden forbade out back gone wrong dead"),
        (4, 3, "instead rather"),
        (0, 2, "no never"),
        (3, 1, "not isn't doesn't won't can't"),
        (3, 3, "don't dont"),
    )
    for word in listed.split()
}
_CHOOSING = re.compile(
    r"\b(?:i(?:'ll| will|'m)? (?:use|using|go with|going with|take|switch|replace|move|drop|keep|put|make|store|chose|choose|picked|went with)|we (?:use|go with|take|keep|drop|switch)|going with|go with"
    r"|switch(?:ing|ed) to|replac(?:ed|ing)\b.{1,60}\b(?:with|by)|instead of|rather than|back to)\b",
    re.IGNORECASE,
)
DIFFICULTY = re.compile(
    r"\b(?:but|catch|however|problem|instead|rather|can'?t|cannot|won'?t|would need|fails?|failed|not enough|too \w+|only \w+ hz|propose|suggest|alternative|estimate|still|breaks?|unless|limit\w*|slower|worse)\b",
    re.IGNORECASE,
)
TOKEN = re.compile(r"[\w'/.+-]*\w")
_RESULT = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|green|done|works?|working|finished|complete[ds]?|state:|status:|deployed|merged|shipped|in place|runs?|returns?|ready|no longer|now (?:\w+ ){0,3}(?:is|are|has|have)|all \d+|\d+/\d+|tests? (?:are|is)|verified|confirmed|holds|measured)\b",
    re.IGNORECASE,
)
_REPORTING = re.compile(
    r"^\W*(?:state|status|summary|done|in short|result|all (?:done|green)|everything|\d+ (?:tests? )?pass|(?:both|all) )|\b(?:is|are) (?:done|finished|complete|green|in place)\b|\b\d+(?:/\d+)? (?:tests? )?pass",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"^\W*(?:thanks?|thank you|thx|ok|okay|great|nice|cool|perfect|good|lovely|done|noted|got it|understood|will do|on it|sure|continue|go on|next|yes|no|hello|hi|bye)\W*$",
    re.IGNORECASE,
)
_ANNOUNCING = re.compile(
    r"^(?:i'?ll|let me|i will|i'?m going to|now|looking|reading|checking|running|trying|adding|first)\b",
    re.IGNORECASE,
)
_WONDERING = re.compile(
    r"(?:^|[.,;!] )(?:and |so |but )?(?:what|why|how|where|which|who(?! (?:cares|knew))|when|can we|could we|does|is it|are (?:we|they))\b[^.!]*$",
    re.IGNORECASE,
)
# A question by its form alone: “could you use MAFFT for that?”.
_POLITE = re.compile(
    r"\b(?:could|can|would|will) you (?:please |maybe |also |just |rather )*(?!tell|explain|check|see|show|remind|look|say|confirm|summari[sz]e|list|describe|compare|estimate|find)\w+\b[^.!?]*\?*$",
    re.IGNORECASE,
)
_NAMED_ERROR = re.compile(r"\b(?:E[A-Z]{3,}|[A-Z]\w*(?:Error|Exception))\b|\berror\b")
_CHOSEN_ALONE = re.compile(
    r"\bi(?:['’]ve|['’]m| have)?(?: (?!would|could|can|will)\w+){0,2}? (?:chose|choose|picked|pick|took|take|decided|decide|went|settled|set|used|kept|left|put|opted|defaulted|assumed|gave|made)\b"
    r"|\bi(?:['’]m| am) (?:putting|using|going with|taking|setting|choosing|picking|starting with)\b"
    r"|\bmy (?:own )?(?:choices?|picks?|calls?|decisions?|defaults?|guess(?:es)?|assumptions?)\b",
    re.IGNORECASE,
)
_WOULD_CHOOSE = re.compile(
    r"\bi(?:['’]d| would|['’]ll| will) (?:\w+ )?(?:pick|use|take|choose|go (?:with|for)|put|set|keep|start with)\b",
    re.IGNORECASE,
)
_REVISED_ALONE = re.compile(
    r"\bi (?:have |now )?(?:take|took|taken) (?:it|that|this|mine|\w+) (?:back|out again)\b|\bi(?:['’]ve| have)? (?:revised|reconsidered|undid|undone|changed my|went back|gone back)\b|\bi was wrong\b|\bcorrect myself\b"
    r"|\bmy (?:own |first |earlier )?(?:choice|pick|call|decision|default|guess|assumption|idea) (?:was|is|did|does|turned)\b|\bmy own (?:choice|pick|decision)\b",
    re.IGNORECASE,
)
_REPLACED_ALONE = re.compile(
    r"\b(?:so|therefore|hence) (?:i|we)(?:['’]ve| have| am|['’]m)?(?: now)? (?!can|could|would|will|need|want|guess|think|assume|suggest|propose)\w+\b|\bi (?:now|since) \w+\b"
    r"|\bmy (?!own)\w+\b.{0,160}?\bi(?:['’]ve| have)? (?:now )?\w+ed\b"
    r"|\bi(?:['’]ve|['’]m| have| am)?(?: now| since)? (?:replac(?:ed|ing)|mov(?:ed|ing)|swapp(?:ed|ing)|switch(?:ed|ing)|dropp(?:ed|ing)|revert(?:ed|ing)|chang(?:ed|ing) (?:it|that|this|what|the))\b"
    r"|\bi (?:put|used|took|wrote)\b[^.;]{1,60}\b(?:in its place|instead)\b",
    re.IGNORECASE,
)
STAYING = re.compile(
    r"\b(?:stays?|stayed|staying|remains?|remain(?:ed|ing)|unchanged|as (?:it|they|before|planned|said|is)|leave (?:it|that|them|the)|left alone|keeps? (?:it|that|the|this|them|our|using)|is (?:ok|okay|fine)|are fine|still|same as (?:now|before)|not touch\w*|don'?t touch|don'?t change|nothing (?:changes|to change))\b",
    re.IGNORECASE,
)
# An agent that tried: what failed, and another way.
FAILING = re.compile(
    r"\b(?:fail\w*|can'?t|cannot|could(?:n'?t| not)|won'?t|(?:does|do|did|is|are)(?:n'?t| not)(?: \w+)? (?:work|fit|help|enough|hold|pass|scale|support|run|exist|allow\w*|there|available)|would (?:need|mean|cost|take)|not enough|too \w+|worse|slow\w*|break\w*|broke\w*|costs?|hurts?|los(?:es?|t|ing)|wrong|missing|miss(?:es|ed)|discontinued|deprecated|unmaintained|licen[cs]e\w*|crash\w*|differs?|problem|stuck|dies|died|killed|evicted|explodes?|poor|at a price|falls? behind|stalls?|leaks?|never|out of (?:memory|space|room)|no longer|nothing|flaky|blocks?|refuses?)\b",
    re.IGNORECASE,
)
OFFERING_ELSE = re.compile(
    r"\b(?:instead|rather|suggest\w*|propos\w*|alternative\w*|i'?d|i would|i could|i can|could|we drop|would (?:be|cover|fit|catch|survive)|or|covers|switch|better)\b",
    re.IGNORECASE,
)
SUGGESTING = re.compile(
    r"\b(?:i['’]d|i would|i suggest|i propose|i recommend|shall (?:i|we)|we could)\b", re.IGNORECASE
)
_ENDED = re.compile(r"[.!?;:,…)\"'”’]$")  # an item of a list has no end of its own
LITTLE = 3  # words that say nothing by themselves
MAX_SENTENCES = 12


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken turn, with what stands around it. `index` counts in the session's turns."""

    index: int
    person: bool
    text: str
    failed: str = ""  # for an agent: what went wrong just before
    turns: tuple[int, ...] = ()  # the failing calls, if any

    @property
    def asks(self) -> bool:
        text = self.text.rstrip(" )\"'")
        if self.person and _POLITE.search(text):
            return False
        return text.endswith("?") or (self.person and _WONDERING.search(text) is not None)

    @property
    def states(self) -> bool:
        """Whether it says something beside what it asks."""
        if not self.asks:
            return True
        said = [" ".join(one.said.split()) for one in spoken(self.text)]
        rest = (replace(self, text=one) for one in said)
        return any(not one.asks and len(one.terms) >= LITTLE for one in rest)

    @property
    def empty(self) -> bool:
        return _EMPTY.match(self.text) is not None

    @property
    def rule(self) -> bool:
        return self.person and not self.asks and _RULE.search(self.text) is not None

    @property
    def later(self) -> bool:
        return not self.asks and _LATER.search(self.text) is not None

    @property
    def assents(self) -> bool:
        return _ASSENT.match(self.text) is not None

    @property
    def settles(self) -> bool:
        return not self.asks and (self.assents or SETTLING.search(self.text) is not None)

    @property
    def proposes(self) -> bool:
        return not self.person and PROPOSING.search(self.text) is not None

    @property
    def orders(self) -> bool:
        """A choice that nobody proposed: “use the vendor's hosted one”."""
        return self.person and not self.asks and len(self.text) < 200 and bool(ORDERING.search(self.text))

    @property
    def chooses(self) -> bool:
        """An agent that settles something itself: “I'll use a queue in Postgres”."""
        return not self.person and not self.asks and _CHOOSING.search(self.text) is not None

    @property
    def result(self) -> bool:
        return not self.person and _RESULT.search(self.text) is not None

    @property
    def reports(self) -> bool:
        return not self.person and _REPORTING.search(self.text) is not None

    @property
    def announces(self) -> bool:
        """Only says what comes next, and nothing that was found."""
        return (
            not self.person
            and len(self.text) < 110
            and _ANNOUNCING.match(self.text.lstrip("*_ ")) is not None
        )

    @property
    def terms(self) -> frozenset[str]:
        return terms(self.text)


@dataclass(slots=True)
class _Failures:
    """Calls that went wrong since the agent last spoke."""

    text: str = ""
    turns: list[int] = field(default_factory=list)


def words(turns: Sequence[Turn]) -> list[Word]:
    """Everything that was said, in order; an agent's word knows the failure that it speaks after."""
    from claude_memory.distil.fixes import error_lines

    found: list[Word] = []
    failing = _Failures()
    for index, turn in enumerate(turns):
        if turn.role == TOOL:
            if turn.failed and turn.output.strip():
                lines = sorted(error_lines(turn.output), key=lambda line: not _NAMED_ERROR.search(line))
                failing = _Failures(" · ".join(lines[:2]), [*failing.turns[-1:], index])
        elif turn.role in (PERSON, AGENT):
            person = turn.role == PERSON
            if person and not is_spoken(turn.text):
                continue
            text = condensed(turn.text)
            if not text:
                continue
            if person:
                failing = _Failures()
                found.append(Word(index, True, text))
            else:
                found.append(Word(index, False, text, failing.text, tuple(failing.turns)))
                failing = _Failures()
    return found


def condensed(text: str) -> str:
    """A turn in its own sentences: without code, logs and quotes that were pasted in."""
    said = [" ".join(sentence.said.split()) for sentence in spoken(text)]
    if len(said) > MAX_SENTENCES:  # what matters stands at the beginning and at the end
        said = [*said[: MAX_SENTENCES // 2], *said[-MAX_SENTENCES // 2 :]]
    return " ".join([one if _ENDED.search(one) else f"{one} ·" for one in said[:-1]] + said[-1:])


def chosen_alone(text: str, *, at_once: bool = False) -> str:
    """The sentences in which an agent says that it chose something itself; empty if it says nothing such.

    “I'd pick …” is a choice if it is done `at_once`, without waiting for an answer.
    """
    said = [" ".join(sentence.said.split()) for sentence in spoken(text)]
    return " ".join(one for one in said if _chooses(one, at_once=at_once) and not one.endswith("?"))


def _chooses(text: str, *, at_once: bool) -> bool:
    return _CHOSEN_ALONE.search(text) is not None or (at_once and _WOULD_CHOOSE.search(text) is not None)


def revised_alone(text: str, *, at_work: bool) -> bool:
    """Whether an agent says that it changed what it had chosen itself; `at_work`: while it worked.

    “I am replacing it with …” right after a person's words only takes them up.
    """
    return _REVISED_ALONE.search(text) is not None or (at_work and _REPLACED_ALONE.search(text) is not None)


def proposed(text: str) -> str:
    """The sentences of an agent that propose something, without what it found; all, if that says little."""
    said = [" ".join(sentence.said.split()) for sentence in spoken(text)]
    found = " ".join(one for one in said if PROPOSING.search(one))
    return found if len(terms(found)) > LITTLE else text
