"""From the messages of a conversation to its exchanges, and from exchanges to the session's record. Pure.

One request of a person, one exchange. Where it begins is told by who spoke and in which way, never by what
the words mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from claude_memory.model import Message, SessionId
from claude_memory.redact.erasure import ERASED
from claude_memory.text.words import index_terms, shorten
from claude_memory.understand import calls
from claude_memory.understand.commands import checks_of
from claude_memory.understand.model import (
    Command,
    Commit,
    Exchange,
    Outcome,
    SessionRecord,
    TaskItem,
    Utterance,
)
from claude_memory.understand.titles import title as title_of
from claude_memory.understand.typed import typed_words

SAME_WORK = timedelta(minutes=10)  # of 38 prompts after an interruption 37 came sooner, 32 on the same work
TEXT_CHARACTERS = 4_000  # of what the agent said at one time
CLOSING_CHARACTERS = 8_000
HANDED_CHARACTERS, PASTED_CHARACTERS = 600, 600
MOST_FILES, COMMANDS = 80, 200
SHORT_REPLY = 80
QUESTION_WITHIN = 1_500  # of the words before it
QUESTION_CHARACTERS = 300
SHORT_CLOSING = 160  # after a notice an agent often adds only a word; what it said before still counts
_COMMAND_NAME = re.compile(r"<command-name>([^<]*)</command-name>")
_COMMAND_ARGUMENTS = re.compile(r"<command-args>([^<]*)</command-args>")
_PLAN_HEAD = re.compile(r"\s*Implement the following plan:\s*")
_APPROVED = re.compile(r"## Approved Plan[^\n]*:\s*\n")
_ANSWERS = re.compile(r'"([^"\n]+)"="([^"\n]*)"')
_AGENTS = frozenset(("assistant", "call", "result"))
_QUIET = frozenset(("reminder", "boundary", "hook", "shell", "pull_request"))
_OPENING = frozenset(("call", "result", "task", "command", "notification", "plan"))
_ADDED = frozenset(("answer", "rejection"))


def exchanges(session: SessionId, messages: Iterable[Message], cwd: str = "") -> list[Exchange]:
    """The exchanges of one conversation, oldest first."""
    # A title names the conversation; it was given at no moment of it.
    told = (message for message in messages if message.manner != "title")
    ordered = sorted(told, key=lambda message: (message.at, message.ordinal))
    by_id = {message.call: message for message in ordered if message.role == "call" and message.call}
    tasks: dict[str, TaskItem] = {}
    made: list[Exchange] = []
    spans: list[list[Message]] = []
    for message in ordered:
        if not spans or _starts(message, spans[-1]):
            spans.append([])
        spans[-1].append(message)
    for span in spans:
        # What was erased stays as places, so that no copy takes them; an exchange of nothing else is none.
        if (_is_request(span[0]) or _has_work(span)) and any(one.text != ERASED for one in span):
            made.append(_exchange(session, span, by_id, tasks, cwd, made[-1].closing if made else ""))
    return made


# --- where an exchange begins and ends


def _starts(message: Message, running: Sequence[Message]) -> bool:
    """Whether a message begins a new request, or goes on with what is running."""
    if message.role == "task" or message.manner == "plan":
        return True
    if message.manner == "command":
        named = message.text.lstrip().startswith("/") or "<command-name>" in message.text[:400]
        # Without a name it is what a command expands to, or a skill that the agent itself loaded.
        return named and (_outcome(running) is not Outcome.OPEN or not _has_work(running))
    if message.speaker != "person" or message.manner in _ADDED:
        scheduled = message.role == "user" and message.manner == "notification"
        return scheduled and not message.text.lstrip().startswith(("<", "["))
    outcome, worked = _outcome(running), _has_work(running)
    begun = worked or _is_request(running[0])
    if begun and message.manner == "queued":
        last = next((one for one in reversed(running) if one.role == "assistant"), message)
        # Unless the agent's last words announced its next step.
        return outcome is Outcome.ANSWERED and last.manner != "said"
    if not begun or outcome is Outcome.ANSWERED or message.at - running[-1].at > SAME_WORK:
        return True
    return worked and outcome is Outcome.OPEN and message.manner != "after_interruption"


def _is_request(message: Message) -> bool:
    return message.speaker == "person" or message.role == "task" or message.manner == "plan"


def _has_work(span: Iterable[Message]) -> bool:
    """Whether the agent said or did anything; a failed reply is its program's, such as a limit reached."""
    return any(message.role in _AGENTS and not _is_broken(message) for message in span)


def _is_broken(message: Message) -> bool:
    return message.role == "assistant" and message.failed


def _outcome(span: Sequence[Message]) -> Outcome:
    stopped = False
    for message in reversed(span):
        if message.manner == "rejection":
            return Outcome.REJECTED
        if stopped:
            return Outcome.INTERRUPTED
        if message.manner == "interruption":
            stopped = True
        elif message.role == "assistant" and message.text.strip():
            return Outcome.OPEN if _is_broken(message) else Outcome.ANSWERED
        elif message.role in _OPENING or message.manner in _OPENING or message.speaker == "person":
            return Outcome.OPEN
    return Outcome.INTERRUPTED if stopped else Outcome.OPEN


# --- what is in it


def _exchange(
    session: SessionId,
    span: Sequence[Message],
    by_id: Mapping[str, Message],
    tasks: dict[str, TaskItem],
    cwd: str,
    closed_before: str,
) -> Exchange:
    first, work = span[0], calls.Work(cwd, tasks)
    asked: list[Utterance] = []
    for message in span:
        if message.role == "call":
            work.call(message)
        elif message.role == "result":
            work.result(message, by_id.get(message.call))
        elif message.manner == "pull_request":
            work.find_pull_requests(message.text)
        if message.speaker == "person" and message.text != ERASED:
            asked += _utterances(message, by_id, cwd)
    if asked and asked[0].ordinal == first.ordinal:
        asked[0] = _with_question(asked[0], closed_before)
    outcome = _outcome(span)
    said, closing = _words_of_agent(span, outcome)
    return Exchange(
        session=session,
        key=first.event or f"{session}:{first.ordinal}",
        first=min(message.ordinal for message in span),
        last=max(message.ordinal for message in span),
        began=first.at,
        ended=span[-1].at,
        branch=next((message.branch for message in reversed(span) if message.branch), ""),
        cwd=cwd,
        asked=tuple(asked),
        plan=_plan(span, by_id),
        handed=_handed(first),
        files_read=tuple(work.read)[:MOST_FILES],
        files_edited=tuple(work.edited.most_common(MOST_FILES)),
        commands=tuple(work.commands.values())[-COMMANDS:],
        commits=tuple(work.commits),
        pull_requests=tuple(work.pull_requests),
        tasks=work.tasks(),
        said=said,
        closing=closing,
        outcome=outcome,
        uncommitted=work.uncommitted()[:MOST_FILES],
        failing=calls.failing(work.commands.values()),
    )


def _utterances(message: Message, by_id: Mapping[str, Message], cwd: str) -> list[Utterance]:
    text = message.text.strip()
    if message.manner == "answer":
        parted = [part.partition("\n→ ") for part in text.split("\n\n")]
        pairs = [(question, answer) for question, _, answer in parted if answer]
        pairs = pairs or _ANSWERS.findall(text) or [("", text)]
        return [
            Utterance(message.ordinal, message.at, answer.strip(), "answer", "", question.strip())
            for question, answer in pairs
        ]
    words, pasted = typed_words(text)
    # The file whose edit a person refused with these words.
    call = by_id.get(message.call) if message.manner == "rejection" else None
    files = calls.files_of(call.text) if call is not None and call.tool.lower() in calls.CHANGING else []
    file = calls.relative(files[0], cwd) if files else ""
    shown = calls.clip("\n".join(pasted), PASTED_CHARACTERS)
    return [Utterance(message.ordinal, message.at, words, message.manner, shown, file=file)]


def _with_question(reply: Utterance, closed_before: str) -> Utterance:
    """A short reply says little without the question it answers: the last one that the agent asked."""
    if len(reply.words) > SHORT_REPLY or reply.question:
        return reply
    lines = (line.strip(" *_#>-") for line in closed_before[-QUESTION_WITHIN:].splitlines())
    asking = [line for line in lines if line.endswith("?")]
    return replace(reply, question=asking[-1][-QUESTION_CHARACTERS:]) if asking else reply


def _words_of_agent(span: Sequence[Message], outcome: Outcome) -> tuple[tuple[str, ...], str]:
    """What the agent told on the way, and its closing words: the end of its last turn."""
    told: list[int] = []  # both from the last to the first
    ends: list[int] = []  # where it stopped: it called no tool before the next prompt or notice
    stopped = True
    for place in reversed(range(len(span))):
        message = span[place]
        if message.role in ("call", "result"):
            stopped = False
        elif message.role != "assistant":
            stopped = stopped or message.manner not in _QUIET
        elif not _is_broken(message):
            told.append(place)
            ends += [place] if stopped else []
    closing: list[int] = []
    if outcome is Outcome.ANSWERED:
        while ends and (not closing or ends[0] == closing[-1] - 1):
            closing.append(ends.pop(0))
        if sum(len(span[place].text) for place in closing) < SHORT_CLOSING:
            closing += [place for place in ends if len(span[place].text) >= SHORT_CLOSING][:1]
    said = [
        calls.clip(span[place].text.strip(), TEXT_CHARACTERS)
        for place in reversed(told)
        if place not in closing
    ]
    words = dict.fromkeys(span[place].text.strip() for place in reversed(closing))
    return tuple(dict.fromkeys(filter(None, said))), calls.clip("\n\n".join(words), CLOSING_CHARACTERS)


def _plan(span: Sequence[Message], by_id: Mapping[str, Message]) -> str:
    """The last plan that was accepted in the exchange, or handed on to it."""
    for message in reversed(span):
        if message.manner == "plan":
            return _PLAN_HEAD.sub("", message.text, count=1).strip()
        call = by_id.get(message.call) if message.role == "result" and not message.failed else None
        if call is not None and call.tool.lower() in calls.PLANNING and message.manner != "rejection":
            approved = _APPROVED.split(message.text, maxsplit=1)
            return (approved[1] if len(approved) > 1 else calls.given_of(call.text).get("plan", "")).strip()
    return ""


def _handed(first: Message) -> str:
    """What the harness handed on; a command is told by its name and arguments alone."""
    if first.speaker == "person" or first.manner == "plan":
        return ""
    if name := _COMMAND_NAME.search(first.text):
        arguments = _COMMAND_ARGUMENTS.search(first.text)
        return calls.clip(f"{name[1]} {arguments[1] if arguments else ''}".strip(), HANDED_CHARACTERS)
    return "" if first.role in _AGENTS else calls.clip(first.text.strip(), HANDED_CHARACTERS)


# --- the record of a session

FILES, CHECKS = 40, 8
REQUEST_CHARACTERS, LAST_WORDS_CHARACTERS = 600, 2_000
OPEN_STATES = ("pending", "in_progress")
_RESET = re.compile(r"\bgit (?:-C \S+ )?reset (?:--?\w+ )*(HEAD~\d*|HEAD\^+|[0-9a-f]{7,40})(?![\w/.])")


def record(session: SessionId, exchanges: Sequence[Exchange], title: str = "") -> SessionRecord:
    """The session as its exchanges show it, oldest first; `title` is what its program calls it."""
    if not exchanges:
        raise ValueError("a session without exchanges has no record")
    requests = [exchange for exchange in exchanges if exchange.asked] or list(exchanges)
    first, last = (
        shorten(one.request or one.handed or one.plan, REQUEST_CHARACTERS)
        for one in (requests[0], requests[-1])
    )
    most = max(exchanges, key=_weight)
    commits = _commits(exchanges)
    files, checks = Counter[str](), Counter[str]()
    for exchange in exchanges:
        files.update({name: count for name, count in exchange.files_edited if not calls.is_scratch(name)})
        checks.update(name for command in exchange.commands for name, _ in checks_of(command.command))
    branches = dict.fromkeys(one.branch for one in reversed(exchanges) if one.branch)
    committed = commits[-1].ordinal if commits else 0
    done = [set(index_terms(commit.subject)) for commit in commits]
    return SessionRecord(
        session=session,
        # That of the exchange that changed most; without any change, of the first request.
        title=title.strip() or title_of(most if any(_weight(most)) else exchanges[0]),
        began=min(exchange.began for exchange in exchanges),
        ended=max(exchange.ended for exchange in exchanges),
        branches=tuple(reversed(branches)),
        exchanges=len(exchanges),
        first_request=first,
        last_request=last,
        answered=requests[-1].outcome is Outcome.ANSWERED,
        commits=commits,
        pull_requests=tuple(dict.fromkeys(link for one in exchanges for link in one.pull_requests)),
        files=tuple(files.most_common(FILES)),
        uncommitted=uncommitted(exchanges)[:FILES],
        # Without what was begun before the last commit, or is what a commit says: nobody ticked it off.
        open_tasks=tuple(
            task
            for task in open_tasks(exchanges)
            if task.status == "pending" or task.ordinal > committed
            if not any(subject.issuperset(index_terms(task.title)) for subject in done)
        ),
        failing=calls.failing(command for one in exchanges for command in one.commands),
        checks=tuple(name for name, _ in checks.most_common(CHECKS)),
        closing=next((one.closing for one in reversed(exchanges) if one.closing), "")[:LAST_WORDS_CHARACTERS],
    )


def _weight(exchange: Exchange) -> tuple[int, int]:
    edits = sum(count for _, count in exchange.files_edited)
    return len(exchange.commits), bool(exchange.plan) + edits


def _commits(exchanges: Iterable[Exchange]) -> tuple[Commit, ...]:
    """Commits in order, without those that were taken back; one that was amended or rebased later counts
    once, as it was last.
    """
    last: dict[str, Commit] = {}
    for exchange in exchanges:
        steps: list[Commit | Command] = [*exchange.commits, *exchange.commands]
        for step in sorted(steps, key=lambda step: step.ordinal):
            if isinstance(step, Commit):
                if step.amends and last:
                    last.popitem()
                last.pop(step.subject, None)
                last[step.subject] = step
            elif not step.failed and (reset := _RESET.search(step.command)):
                last = dict(list(last.items())[: _left_by(reset[1], list(last.values()))])
    return tuple(last.values())


def _left_by(reset_to: str, commits: Sequence[Commit]) -> int:
    """How many commits a reset leaves; none if it goes back before the first."""
    if reset_to.startswith("HEAD"):
        return max(0, len(commits) - (reset_to.count("^") or int(reset_to[5:] or 1)))
    named = (place for place, one in enumerate(commits, 1) if one.hash[:7] == reset_to[:7])
    return max(named, default=0)


def uncommitted(exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    files: dict[str, None] = {}
    for exchange in exchanges:
        if exchange.commits:
            files.clear()
        files.update(dict.fromkeys(exchange.uncommitted))
    return tuple(files)


def open_tasks(exchanges: Sequence[Exchange]) -> tuple[TaskItem, ...]:
    """What is open on the agent's list; an exchange holds the list only if it touched it."""
    listed = next((one.tasks for one in reversed(exchanges) if one.tasks), ())
    return tuple(task for task in listed if task.status in OPEN_STATES)


def session_text(record: SessionRecord) -> str:
    """The session in a few plain lines: what was asked, what came of it, how it stands."""
    lines = [f"Asked: {record.first_request}"] if record.first_request else []
    if record.last_request and record.last_request != record.first_request:
        unanswered = "" if record.answered else " (not answered)"
        lines.append(f"Asked last{unanswered}: {record.last_request}")
    elif not record.answered:
        lines.append("Not answered.")
    if record.branches:
        lines.append("Branches: " + ", ".join(record.branches[-4:]))
    lines += [f"Commit {commit.hash} {commit.subject}" for commit in record.commits[-8:]]
    lines += [f"Pull request: {link}" for link in record.pull_requests[-4:]]
    if record.files:
        lines.append("Edited: " + ", ".join(f"{name} ({count})" for name, count in record.files[:8]))
    if record.uncommitted:
        lines.append("Not committed: " + ", ".join(record.uncommitted[:8]))
    lines += [f"Open: {task.title}" for task in record.open_tasks[:6]]
    lines += [f"Fails: {shorten(command.command, 120)}" for command in record.failing[:3]]
    if record.closing:
        lines.append(f"Ended with: {shorten(' '.join(record.closing.split()), 800)}")
    return "\n".join(lines)
