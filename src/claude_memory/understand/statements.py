"""What a session settled, as single statements: told by what was done, seldom by how it was worded.

Pure. Settled is what lasts by its nature: a request that ended in a commit, a plan that was carried out,
what a person asks to be remembered or says in a second session. The rest is a proposal: found by
search, listed in the inbox, never given as settled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from claude_memory.model import Kind
from claude_memory.text.sentences import sentences
from claude_memory.text.words import is_stop_term, query_terms, shorten
from claude_memory.understand.model import Exchange, Outcome
from claude_memory.understand.titles import outside_fences, plan_title, title

REQUEST_CHARACTERS = 500
POINT_CHARACTERS, MOST_POINTS = 240, 10
LINE_CHARACTERS = 300
MAX_FILES = 8
SAME = 0.75  # share of the shorter statement's terms that stand in the longer one
_SHORTEST_SUBJECT = 3  # words of a commit's subject, without its type
_TYPE = re.compile(r"^\W*(?P<type>[a-z]+)(?:\([^)]*\))?!?: *", re.ASCII)
# Commits that say nothing of the matter, or nothing that lasts.
_HOUSEKEEPING = re.compile(
    r"^(?:(?:fixup|squash|amend)!|(?:merge|wip|bump|revert|release|version|fmt|gofmt|format|typo|cleanup|tidy)\b"
    r"|clean up\b|address(?:ed)?\b.*\b(?:feedback|reviews?|comments?)\b|record conversation\b"
    r"|more\b.*\bfixes$|update (?:changelog|lock|deps|dependencies)\b)"
    r"|\b(?:lint\w*|whitespace|typos?|redundant|misleading comment|t\.Parallel|fieldalignment)\b",
    re.IGNORECASE,
)
_MINOR_TYPES = frozenset("chore style ci build release wip test tests docs".split())
# A commit of tests or documents alone tells little that the commit before it did not.
_BESIDE_THE_CODE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testdata|fixtures)/|[._-](?:test|spec)s?\.\w+$|(?:^|/)test_\w+\.\w+$"
    r"|\.(?:md|mdx|rst|txt)$",
    re.IGNORECASE,
)
_FIXING = re.compile(r"^(?:fix(?:es|ed)?|prevent|handle|avoid|resolve[sd]?|repair(?:s|ed)?)\b", re.IGNORECASE)
# Said as a rule, in the person's own typed words. Of wider rules readers found two of eleven right.
_RULE = re.compile(r"\b(?:(?<!can )always|never|from now on)\b(?! ?mind)", re.IGNORECASE)
_CHOICE = re.compile(r"\b(?:use|go with|pick|choose)\b.{2,60}\b(?:instead of|rather than)\b", re.IGNORECASE)
_REMEMBER = re.compile(
    r"^(?:please |pls |also |and )*(?:remember|keep in mind|note for later|don't forget)"
    r"(?:: *| that | to )",
    re.IGNORECASE,
)
# What a key begins with; others begin with their source.
_KEYS = {"feedback": "said", "remembered": "said", "rule": "said", "closing": "told"}
_WORDS_OF_A_RULE = range(4, 17)
_FEWEST_POINTS = 3  # points of closing words that make them worth a proposal
_MOST_TOLD = 4  # such proposals a session; those with most points
_FEWEST_TERMS = 3  # content words that a line must have to say something
_COMMIT_WORDS = frozenset(
    query_terms(
        "commit commits push pushed pull request pr draft branch please now then yes ok okay go ahead do it"
        " this that them all let merge rebase amend looks good great thanks done continue next step proceed"
    )
)
_REPORT = re.compile(
    r"\b(?:commit(?:ted|s)?|push(?:ed)?|amended|working tree|up to date|branch is|pr (?:is|#)|all tests pass"
    r"|no issues|files? changed|insertions|say (?:the )?word|let me know)\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"^\s*(?:[-*•>#]+|\d+[.)])\s+")
_STEP = re.compile(r"(?:#{2,4} |\d+[.)] )")
_RECOMMENDED = re.compile(r"\s*\((?:recommended|default)\)", re.IGNORECASE)
# Questions about the step at hand; their answers do not outlive it.
_PROCESS = re.compile(
    r"\b(?:which (?:pr|issue|branch|file|task)|ready to|would you like me|shall i|do you want me|clarify"
    r"|scope|should i (?:proceed|continue|start|go)|any (?:aspects|concerns)|anything else"
    r"|what would you like|how would you like to proceed"
    r"|prs?|commit(?:s|ted)?|sweep|write the plan|fixups?|phase \d|first\?)\b",
    re.IGNORECASE,
)
_QUESTION_TERMS, _ANSWER_WORDS = 4, 40  # a shorter question does not say of what; a longer answer is a talk
# How a summary tells that a person set the agent right, and what of that was about the hour alone.
_SET_RIGHT = re.compile(
    r"\b(?:rejected|corrected that|explicitly|told me|caught|said|explaining|suggested|pointed out)\b",
    re.IGNORECASE,
)
_HOUR = re.compile(
    r"\b(?:lint\w*|compile|git (?:reset|clone|log|branch)|are you sure|asked)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that was settled or may have been."""

    kind: Kind
    title: str
    body: str
    key: str  # the same statement has the same key, wherever it stands
    source: str  # commit, plan, summary, answer, rule, remembered
    at: datetime
    settled: bool = False
    by_person: bool = False  # the body is a person's own words
    files: tuple[str, ...] = ()
    ordinals: tuple[int, ...] = ()


def _statement(
    kind: Kind, source: str, subject: str, body: str, at: datetime, ordinal: int, **more: Any
) -> Statement:
    """A statement, titled and known by its subject; nothing settled it unless `more` says so."""
    key = f"{_KEYS.get(source, source)}:{_normal(subject)}"
    return Statement(kind, shorten(subject, 80), body, key, source, at, ordinals=(ordinal,), **more)


def of_session(exchanges: Sequence[Exchange], fresh: Collection[str]) -> list[Statement]:
    """What the exchanges with these keys settled or suggest; those before tell what led to a commit."""
    found: list[Statement] = []
    told: list[Statement] = []
    work: list[Exchange] = []  # what was worked on since the last commit
    for exchange in exchanges:
        if exchange.key in fresh:
            found += _commits(exchange, work)
            # A commit may take an earlier one back by name.
            subjects = (commit.subject for commit in exchange.commits)
            back = [_normal(subject) for subject in subjects if subject.lower().startswith("revert")]
            found = [
                item
                for item in found
                if item.source != "commit" or not any(item.key.removeprefix("commit:") in one for one in back)
            ]
            found += (*_plan(exchange), *_answers(exchange), *_rules(exchange))
            told += _told(exchange)
        if exchange.commits:
            work = [exchange] if exchange.uncommitted else []
        elif exchange.files_edited or exchange.plan:
            work.append(exchange)
    longest = sorted(told, key=lambda item: -item.body.count("\n"))[:_MOST_TOLD]
    return merged([*found, *longest])


def of_summary(feedback: Iterable[str], at: datetime, ordinal: int) -> list[Statement]:
    """A person's feedback as the agent's own compaction summary tells it.

    Errors with their fixes stay in the summary: read by others, four of thirteen were worth a memory.
    """
    lines = [_line(told) for told in feedback]
    return [
        _statement(Kind.CORRECTION, "feedback", line, line, at, ordinal)
        for line in lines
        if len(query_terms(line)) >= _FEWEST_TERMS and _SET_RIGHT.search(line) and not _HOUR.search(line)
    ]


def _commits(exchange: Exchange, work: Sequence[Exchange]) -> Iterator[Statement]:
    """A request that ended in a commit is a decision that was carried out; what repairs something is a fix.

    A commit is often asked for by itself: what led to it was asked in the exchanges before.
    """
    asked = _requests([*work, exchange])
    # How it ended: in the words of the last exchange that tells more than that it was committed.
    ended = [closing_points(item.closing) for item in (exchange, *work[-1:])]
    done = next(filter(None, ended), []) if len(exchange.commits) == 1 else []
    if not asked and not done:
        return
    files = _files(*work, exchange)
    if files and all(_BESIDE_THE_CODE.search(path) for path in files):
        return
    for commit in exchange.commits:
        match = _TYPE.match(commit.subject)
        type_ = match["type"] if match else ""
        subject = commit.subject[match.end() if match else 0 :].strip().rstrip(".")
        if type_ in _MINOR_TYPES or _HOUSEKEEPING.match(subject) or len(subject.split()) < _SHORTEST_SUBJECT:
            continue
        subject = subject[:1].upper() + subject[1:]
        kind = Kind.FIX if type_ == "fix" or _FIXING.match(subject) else Kind.DECISION
        branch = f" on {commit.branch}" if commit.branch else ""
        lines = [subject, *asked, *(f"- {point}" for point in done), f"Commit {commit.hash}{branch}"]
        settled, at = {"settled": True, "files": files}, exchange.ended
        yield _statement(kind, "commit", subject, "\n".join(lines), at, commit.ordinal, **settled)


def _requests(work: Sequence[Exchange]) -> list[str]:
    """What the person asked for last; an order to commit or a nod says nothing. Else the plan at work."""
    for item in reversed(work):
        if _asks(item.request):
            asked = _line(item.request, REQUEST_CHARACTERS).replace("“", "‘").replace("”", "’")
            return [f"Asked: “{asked}”"]
        if len((title := _line(plan_title(item.plan))).split()) > 1:
            return [f"Plan: {title}"]
    return []


def _asks(request: str) -> bool:
    return sum(term not in _COMMIT_WORDS for term in query_terms(request[:2_000])) >= _FEWEST_TERMS


def closing_points(closing: str) -> list[str]:
    """The list items and sentences of closing words that say something, without code, reports and offers."""
    told = []
    for line in outside_fences(closing):
        plain = _MARK.sub("", line.replace("**", "")).strip()
        if plain.startswith(("|", "<")) or plain.endswith(("?", ":", "{")):
            continue
        if len(query_terms(plain)) > _FEWEST_TERMS and not _REPORT.search(plain):
            told.append(_line(plain, POINT_CHARACTERS))
    return told[:MOST_POINTS]


def _plan(exchange: Exchange) -> Iterator[Statement]:
    """An accepted plan that led to edits was decided; one that was only written was not."""
    title = _line(plan_title(exchange.plan))
    if len(title.split()) < 2 or not exchange.files_edited or exchange.outcome is not Outcome.ANSWERED:
        return
    lines = [line.strip() for line in exchange.plan.splitlines()]
    steps = [line.lstrip("#*-0123456789. ").rstrip(":*") for line in lines if _STEP.match(line)]
    steps = [step for step in steps if len(query_terms(step)) >= _FEWEST_TERMS][:12]
    body = "\n".join([title, *(f"- {shorten(step, 160)}" for step in steps)])
    settled = {"settled": True, "files": _files(exchange)}
    yield _statement(Kind.DECISION, "plan", title, body, exchange.ended, exchange.first, **settled)


def _told(exchange: Exchange) -> Iterator[Statement]:
    """What the agent told of work that no commit of the session tells: worth asking the person about."""
    points = closing_points(exchange.closing)
    if exchange.commits or exchange.plan or len(points) < _FEWEST_POINTS or not _asks(exchange.request):
        return
    subject = title(exchange)
    body = "\n".join([subject, *(f"- {point}" for point in points)])
    files = _files(exchange)
    yield _statement(Kind.FACT, "closing", subject, body, exchange.ended, exchange.last, files=files)


def _answers(exchange: Exchange) -> Iterator[Statement]:
    """A question of the agent with the person's answer: a choice and its topic, nothing to guess."""
    for said in exchange.asked:
        if said.manner != "answer" or not said.words.strip():
            continue
        question, answer = _line(said.question), _line(_RECOMMENDED.sub("", said.words))
        if answer.endswith("?") or _PROCESS.search(question) or len(answer.split()) > _ANSWER_WORDS:
            continue
        if len(query_terms(question)) < _QUESTION_TERMS:
            continue
        body = f"{question} — {answer}"
        yield _statement(Kind.DECISION, "answer", body, body, said.at, said.ordinal)


def _rules(exchange: Exchange) -> Iterator[Statement]:
    """Sentences said as a rule: worth asking the person about, and settled if they say so."""
    for said in exchange.asked:
        if said.manner == "answer":
            continue
        for sentence in (item.said for item in sentences(said.words)):
            asked, chosen = _REMEMBER.match(sentence), _CHOICE.search(sentence)
            if not (asked or ((chosen or _RULE.search(sentence)) and not sentence.endswith("?"))):
                continue
            if len(sentence.split()) not in _WORDS_OF_A_RULE:
                continue
            line, source = _line(sentence), "remembered" if asked else "rule"
            kind = Kind.DECISION if chosen and not asked else Kind.CONVENTION
            told = {"settled": bool(asked), "by_person": True}
            files = _files(exchange) if kind is Kind.DECISION else ()
            yield _statement(kind, source, line, line, said.at, said.ordinal, files=files, **told)


def _files(*exchanges: Exchange) -> tuple[str, ...]:
    counted: Counter[str] = Counter()
    for exchange in exchanges:
        counted.update(dict(exchange.files_edited))
    return tuple(path for path, _ in counted.most_common(MAX_FILES))


def _normal(text: str) -> str:
    """What two wordings of the same line share: its terms in order."""
    return " ".join(query_terms(text)[:40])


def _line(text: str, limit: int = LINE_CHARACTERS) -> str:
    return shorten(" ".join(text.split()), limit)


def merged(statements: Sequence[Statement]) -> list[Statement]:
    """Each statement of a session once: settled before proposed, earlier before later.

    Two are one if they have one key, or if nearly all terms of the shorter one stand in the other.
    """
    kept: dict[str, tuple[Statement, set[str]]] = {}
    for statement in sorted(statements, key=lambda item: (not item.settled, item.at)):
        mine = {term for term in query_terms(statement.body[:600]) if not is_stop_term(term)}
        pairs = (sorted((mine, theirs), key=len) for _, theirs in kept.values())
        alike = any(len(small) >= 3 and len(small & large) >= SAME * len(small) for small, large in pairs)
        if statement.key not in kept and not alike:
            kept[statement.key] = statement, mine
    return [statement for statement, _ in kept.values()]
