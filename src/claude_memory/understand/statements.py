"""What a session settled, as single statements: told by what was done, seldom by how it was worded.

Pure. Settled is what lasts by its nature: a request that ended in a commit, a plan that was carried out,
an error with its fix in the agent's own summary, what a person asks to be remembered or says in a second
session. The rest is a proposal: found by search, listed in the inbox, never given as settled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from claude_memory.model import Kind
from claude_memory.text import is_stop_term, query_terms, shorten
from claude_memory.understand.model import Commit, Exchange, Outcome, Utterance
from claude_memory.understand.sentences import spoken

REQUEST_CHARACTERS = 500
CLOSING_CHARACTERS = 700
LINE_CHARACTERS = 300
MAX_FILES = 8
SAME = 0.75  # share of the shorter statement's terms that stand in the longer one
_SHORTEST_SUBJECT = 3  # words of a commit's subject, without its type
_TYPE = re.compile(r"^(?P<type>[a-z]+)(?:\([^)]*\))?!?: *", re.ASCII)
_HOUSEKEEPING = re.compile(
    r"^(?:merge|wip|bump|fixup!|squash!|revert|release|version|lint|fmt|format|typo|cleanup|clean up|tidy"
    r"|address (?:review|comments|feedback|pr)|update (?:changelog|lock|deps|dependencies)|fix (?:lint|format|typo))\b",
    re.IGNORECASE,
)
_MINOR_TYPES = frozenset("chore style ci build release wip".split())
_FIXING = re.compile(r"^(?:fix(?:es|ed)?|prevent|handle|avoid|resolve[sd]?|repair(?:s|ed)?)\b", re.IGNORECASE)
# Said as a rule, in the person's own typed words. Kept small enough to read in a minute.
_RULES: tuple[tuple[Kind, str], ...] = (
    (Kind.CONVENTION, r"\b(?:always|never)\b(?! ?mind)"),
    (Kind.CONVENTION, r"\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b.*\b(?:use|do|don't|please|should)\b"),
    (Kind.CONVENTION, r"\bevery time (?:you|we)\b|\bwhenever (?:you|we)\b|\bby default\b.*\b(?:we|should|must)\b"),
    (Kind.CONVENTION, r"\bwe (?:don't|do not|never|always|usually|generally|prefer|only)\b"),
    (Kind.DECISION, r"\b(?:use|using|go with|pick|choose|prefer)\b.{2,60}\b(?:instead of|rather than|over|not)\b"),
    (Kind.DECISION, r"\b(?:let's|lets|we'll|we will|we should) (?:use|go with|stick (?:with|to)|keep|switch to|drop)\b"),
    (Kind.PREFERENCE, r"\bi (?:prefer|like it when|don't like|do not like|hate|want you to always)\b"),
)  # fmt: skip
_REMEMBER = re.compile(r"^(?:please |pls |also |and )*(?:remember|keep in mind|note for later|don't forget)\b[:,]? *(?:that |to )?", re.I)
_MOMENTARY = re.compile(
    r"\?\s*$|\b(?:this time|for now|right now|just now|today|again|let me know|did (?:not|n't)|didn't|doesn't|does not"
    r"|isn't|was|were|why|error|failed|failing|still|seems?|looks? like|i (?:see|saw|get|got|think|thought|guess))\b",
    re.IGNORECASE,
)
_WORDS_OF_A_RULE = range(4, 45)


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that was settled or may have been."""

    kind: Kind
    title: str
    body: str
    key: str  # the same statement has the same key, wherever it stands
    source: str  # commit, plan, summary, answer, rule, remembered
    at: datetime
    settled: bool
    by_person: bool = False  # the body is a person's own words
    files: tuple[str, ...] = ()
    ordinals: tuple[int, ...] = ()


def of_exchange(exchange: Exchange) -> list[Statement]:
    """What one exchange settled or suggests; the stronger source of the same statement stands."""
    found: list[Statement] = []
    for statement in (*_commits(exchange), *_plan(exchange), *_answers(exchange), *_rules(exchange)):
        if not any(says_the_same(statement, known) for known in found):
            found.append(statement)
    return found


def of_summary(
    feedback: Iterable[str], fixes: Iterable[tuple[str, str]], at: datetime, ordinal: int
) -> list[Statement]:
    """What the agent's own compaction summary tells: errors with their fixes; a person's feedback as proposals."""
    found = []
    for error, fix in fixes:
        title = shorten(_line(error), 80)
        body = f"{_line(error)}\nFix: {_line(fix)}"
        if len(query_terms(fix)) >= 3:
            key = f"fix:{_normal(error)}"
            found.append(Statement(Kind.FIX, title, body, key, "summary", at, settled=True, ordinals=(ordinal,)))
    for told in feedback:
        line = _line(told)
        if len(query_terms(line)) >= 3:
            key = f"said:{_normal(line)}"
            found.append(
                Statement(
                    Kind.CORRECTION, shorten(line, 80), line, key, "feedback", at, settled=False, ordinals=(ordinal,)
                )
            )
    return found


def says_the_same(one: Statement, other: Statement) -> bool:
    """Whether two statements of a session are one: the same key, or nearly all terms of the shorter one."""
    if one.key == other.key:
        return True
    mine, theirs = _terms(one.body), _terms(other.body)
    small, large = sorted((mine, theirs), key=len)
    return len(small) >= 3 and len(small & large) >= SAME * len(small)


def _commits(exchange: Exchange) -> Iterator[Statement]:
    """A request that ended in a commit is a decision that was carried out; what repairs something is a fix."""
    if not exchange.request and not exchange.plan:
        return
    for commit in exchange.commits:
        subject, type_ = _subject(commit)
        if not subject:
            continue
        fixing = type_ == "fix" or _FIXING.match(subject) is not None
        body = "\n".join(_told(exchange, subject, commit, single=len(exchange.commits) == 1))
        yield Statement(
            Kind.FIX if fixing else Kind.DECISION,
            shorten(subject, 80),
            body,
            f"commit:{_normal(subject)}",
            "commit",
            exchange.ended,
            settled=True,
            files=_files(exchange),
            ordinals=(commit.ordinal,),
        )


def _subject(commit: Commit) -> tuple[str, str]:
    """A commit's subject without its type, if it says what was done; else nothing."""
    match = _TYPE.match(commit.subject)
    type_ = match["type"] if match else ""
    plain = commit.subject[match.end() :] if match else commit.subject
    plain = plain.strip().rstrip(".")
    if type_ in _MINOR_TYPES or _HOUSEKEEPING.match(plain) or len(plain.split()) < _SHORTEST_SUBJECT:
        return "", type_
    return plain[:1].upper() + plain[1:], type_


def _told(exchange: Exchange, subject: str, commit: Commit, *, single: bool) -> Iterator[str]:
    yield subject
    asked = _line(exchange.request, REQUEST_CHARACTERS)
    if len(query_terms(asked)) >= 2:
        yield f"Asked: “{_unquoted(asked)}”"
    if single and exchange.closing:
        yield f"Done: {shorten(_line(exchange.closing, CLOSING_CHARACTERS), CLOSING_CHARACTERS)}"
    branch = f" on {commit.branch}" if commit.branch else ""
    yield f"Commit {commit.hash}{branch}"


def _plan(exchange: Exchange) -> Iterator[Statement]:
    """An accepted plan that led to edits was decided; one that was only written was not."""
    if not exchange.plan or not exchange.files_edited or exchange.outcome is not Outcome.ANSWERED:
        return
    lines = [line.strip() for line in exchange.plan.splitlines() if line.strip()]
    title = next((line.lstrip("# ").strip() for line in lines if line.lstrip("# ").strip()), "")
    title = re.sub(r"^(?:plan|implementation plan)\s*[:—-]\s*", "", title, flags=re.IGNORECASE)
    if len(title.split()) < 2:
        return
    steps = [line.lstrip("#*-0123456789. ").rstrip(":") for line in lines if re.match(r"(?:#{2,4} |\d+\. )", line)]
    steps = [step for step in steps if len(step.split()) > 1][:12]
    body = "\n".join([title, *(f"- {shorten(step, 120)}" for step in steps)])
    yield Statement(
        Kind.DECISION,
        shorten(title, 80),
        body,
        f"plan:{_normal(title)}",
        "plan",
        exchange.ended,
        settled=True,
        files=_files(exchange),
        ordinals=(exchange.first,),
    )


def _answers(exchange: Exchange) -> Iterator[Statement]:
    """A question of the agent with the person's answer: a choice and its topic, nothing to guess."""
    for said in exchange.asked:
        if said.manner != "answer" or not said.words.strip():
            continue
        question, answer = _line(said.question), _line(said.words)
        body = f"{question} — {answer}" if question else answer
        yield Statement(
            Kind.DECISION,
            shorten(body, 80),
            body,
            f"answer:{_normal(body)}",
            "answer",
            said.at,
            settled=False,
            by_person=not question,
            ordinals=(said.ordinal,),
        )


def _rules(exchange: Exchange) -> Iterator[Statement]:
    for said in exchange.asked:
        if said.manner == "answer":
            continue
        for sentence in (item.said for item in spoken(said.words)):
            statement = _rule(sentence, said, exchange)
            if statement is not None:
                yield statement


def _rule(sentence: str, said: Utterance, exchange: Exchange) -> Statement | None:
    """A sentence that is said as a rule: worth asking the person about, and settled if they say so."""
    words = sentence.split()
    asked = _REMEMBER.match(sentence)
    kind = Kind.CONVENTION if asked else next((kind for kind, rule in _RULES if re.search(rule, sentence, re.I)), None)
    if kind is None or len(words) not in _WORDS_OF_A_RULE or (_MOMENTARY.search(sentence) and not asked):
        return None
    line = _line(sentence)
    return Statement(
        kind,
        shorten(line, 80),
        line,
        f"said:{_normal(line)}",
        "remembered" if asked else "rule",
        said.at,
        settled=asked is not None,
        by_person=True,
        files=_files(exchange) if kind is Kind.DECISION else (),
        ordinals=(said.ordinal,),
    )


def _files(exchange: Exchange) -> tuple[str, ...]:
    return tuple(path for path, _ in exchange.files_edited)[:MAX_FILES]


def _terms(text: str) -> set[str]:
    return {term for term in query_terms(text[:600]) if not is_stop_term(term)}


def _normal(text: str) -> str:
    """What two wordings of the same line share: its terms in order."""
    return " ".join(query_terms(text)[:40])


def _line(text: str, limit: int = LINE_CHARACTERS) -> str:
    return shorten(" ".join(text.split()), limit)


def _unquoted(text: str) -> str:
    return text.replace("“", "‘").replace("”", "’")


def merged(statements: Sequence[Statement]) -> list[Statement]:
    """Each statement of a session once: settled before proposed, earlier before later."""
    kept: list[Statement] = []
    for statement in sorted(statements, key=lambda item: (not item.settled, item.at)):
        if not any(says_the_same(statement, known) for known in kept):
            kept.append(statement)
    return kept
