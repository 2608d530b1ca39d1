"""From the messages of a conversation to its exchanges: one request of a person, one exchange.

Pure. Where an exchange begins is told by who spoke and in which way, never by what the words mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from claude_memory.model import Message, SessionId
from claude_memory.redact.erasure import ERASED
from claude_memory.understand.calls import (
    CHANGING,
    FILES,
    PLANNING,
    Tasks,
    Work,
    clip,
    failing,
    files_of,
    given_of,
    pull_requests_in,
    relative,
)
from claude_memory.understand.model import Exchange, Outcome, Utterance
from claude_memory.understand.typed import typed_words

SAME_WORK = timedelta(minutes=10)  # of 38 prompts after an interruption 37 came sooner, 32 on the same work
TEXT_CHARACTERS = 4_000  # of what the agent said at one time
CLOSING_CHARACTERS = 8_000
HANDED_CHARACTERS = 600
PASTED_CHARACTERS = 600
COMMANDS = 200
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
    calls = {message.call: message for message in ordered if message.role == "call" and message.call}
    tasks = Tasks()
    made: list[Exchange] = []
    for span in _spans(ordered):
        if (_is_request(span[0]) or _has_work(span)) and not _is_erased(span):
            made.append(_exchange(session, span, calls, tasks, cwd, made[-1] if made else None))
    return made


# --- where an exchange begins and ends


def _spans(ordered: Sequence[Message]) -> list[list[Message]]:
    spans: list[list[Message]] = []
    for message in ordered:
        if not spans or _starts(message, spans[-1]):
            spans.append([])
        spans[-1].append(message)
    return spans


def _starts(message: Message, running: Sequence[Message]) -> bool:
    if message.role == "task" or message.manner == "plan":
        return True
    if message.speaker == "person" and message.manner not in _ADDED:
        return _is_new_request(message, running)
    if message.manner == "command":
        named = message.text.lstrip().startswith("/") or "<command-name>" in message.text[:400]
        # Without a name it is what a command expands to, or a skill that the agent itself loaded.
        return named and (_outcome(running) is not Outcome.OPEN or not _has_work(running))
    scheduled = message.role == "user" and message.manner == "notification"
    return scheduled and not message.text.lstrip().startswith(("<", "["))


def _is_new_request(message: Message, running: Sequence[Message]) -> bool:
    """Whether a person's prompt asks for something new, or goes on with what is running."""
    begun = _is_request(running[0]) or _has_work(running)
    outcome = _outcome(running)
    if not begun:
        return True
    if message.manner == "queued":
        return outcome is Outcome.ANSWERED and not _is_underway(running)
    if outcome is Outcome.ANSWERED or message.at - running[-1].at > SAME_WORK:
        return True
    stopped = outcome is not Outcome.OPEN or message.manner == "after_interruption"
    return _has_work(running) and not stopped


def _is_underway(running: Sequence[Message]) -> bool:
    """Whether the agent's last words announced its next step."""
    last = next((message for message in reversed(running) if message.role == "assistant"), None)
    return last is not None and last.manner == "said"


def _is_request(message: Message) -> bool:
    return message.speaker == "person" or message.role == "task" or message.manner == "plan"


def _has_work(span: Iterable[Message]) -> bool:
    """Whether the agent said or did anything; a failed reply is its program's, such as a limit reached."""
    return any(message.role in _AGENTS and not _is_broken(message) for message in span)


def _is_erased(span: Iterable[Message]) -> bool:
    """Whether nothing is left of it; the messages stay as places, so that no copy takes them."""
    return all(message.text == ERASED for message in span)


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
    calls: Mapping[str, Message],
    tasks: Tasks,
    cwd: str,
    before: Exchange | None,
) -> Exchange:
    first = span[0]
    outcome = _outcome(span)
    said, closing = _words_of_agent(span, outcome)
    work = Work(cwd)
    tasks.begin()
    for position, message in enumerate(span):
        if message.role == "call":
            work.call(position, message)
            tasks.call(message)
        elif message.role == "result":
            work.result(position, message, calls.get(message.call))
            tasks.result(message)
        elif message.manner == "pull_request":
            work.pull_requests += pull_requests_in(message.text)
    asked = tuple(
        replace(words, file=_refused_file(message, calls, cwd))
        for message in span
        if message.speaker == "person" and message.text != ERASED
        for words in _utterances(message)
    )
    if asked and before is not None and asked[0].ordinal == first.ordinal:
        asked = (_with_question(asked[0], before), *asked[1:])
    return Exchange(
        session=session,
        key=first.event or f"{session}:{first.ordinal}",
        first=min(message.ordinal for message in span),
        last=max(message.ordinal for message in span),
        began=first.at,
        ended=span[-1].at,
        branch=next((message.branch for message in reversed(span) if message.branch), ""),
        cwd=cwd,
        asked=asked,
        plan=_plan(span, calls),
        handed=_handed(first),
        files_read=tuple(work.read)[:FILES],
        files_edited=tuple(work.edited.most_common(FILES)),
        commands=tuple(work.commands.values())[-COMMANDS:],
        commits=tuple(work.commits),
        pull_requests=tuple(dict.fromkeys(work.pull_requests)),
        tasks=tasks.standing(),
        said=said,
        closing=closing,
        outcome=outcome,
        uncommitted=work.uncommitted(),
        failing=failing(work.commands.values()),
    )


def _utterances(message: Message) -> list[Utterance]:
    text = message.text.strip()
    if message.manner != "answer":
        words, pasted = typed_words(text)
        shown = clip("\n".join(pasted), PASTED_CHARACTERS)
        return [Utterance(message.ordinal, message.at, words, message.manner, shown)]
    parted = [part.partition("\n→ ") for part in text.split("\n\n")]
    pairs = [(question, answer) for question, _, answer in parted if answer]
    pairs = pairs or _ANSWERS.findall(text) or [("", text)]
    return [
        Utterance(message.ordinal, message.at, answer.strip(), "answer", "", question.strip())
        for question, answer in pairs
    ]


def _refused_file(message: Message, calls: Mapping[str, Message], cwd: str) -> str:
    """The file whose edit a person refused with these words; empty for all other words."""
    call = calls.get(message.call) if message.manner == "rejection" else None
    if call is None or call.tool.lower() not in CHANGING:
        return ""
    return next((relative(name, cwd) for name in files_of(call.text)), "")


def _with_question(reply: Utterance, before: Exchange) -> Utterance:
    """A short reply says little without the question it answers: the last one that the agent asked."""
    if len(reply.words) > SHORT_REPLY or reply.question:
        return reply
    lines = (line.strip(" *_#>-") for line in before.closing[-QUESTION_WITHIN:].splitlines())
    asking = [line for line in lines if line.endswith("?")]
    return replace(reply, question=asking[-1][-QUESTION_CHARACTERS:]) if asking else reply


def _words_of_agent(span: Sequence[Message], outcome: Outcome) -> tuple[tuple[str, ...], str]:
    """What the agent told on the way, and its closing words: the end of its last turn."""
    told = [
        place for place, message in enumerate(span) if message.role == "assistant" and not _is_broken(message)
    ]
    closing: list[int] = []
    if outcome is Outcome.ANSWERED:
        ends = [place for place in told if _ends_turn(span, place)]
        while ends and (not closing or ends[-1] == closing[-1] - 1):
            closing.append(ends.pop())
        if sum(len(span[place].text) for place in closing) < SHORT_CLOSING:
            closing += [place for place in ends if len(span[place].text) >= SHORT_CLOSING][-1:]
    said = dict.fromkeys(clip(span[at].text.strip(), TEXT_CHARACTERS) for at in told if at not in closing)
    words = dict.fromkeys(span[at].text.strip() for at in reversed(closing))
    return tuple(filter(None, said)), clip("\n\n".join(words), CLOSING_CHARACTERS)


def _ends_turn(span: Sequence[Message], place: int) -> bool:
    """Whether the agent stopped after these words: it called no tool before the next prompt or notice."""
    for later in range(place + 1, len(span)):
        if span[later].role in ("call", "result"):
            return False
        if span[later].role != "assistant" and span[later].manner not in _QUIET:
            return True
    return True


def _plan(span: Sequence[Message], calls: Mapping[str, Message]) -> str:
    """The last plan that was accepted in the exchange, or handed on to it."""
    for message in reversed(span):
        if message.manner == "plan":
            return _PLAN_HEAD.sub("", message.text, count=1).strip()
        call = calls.get(message.call) if message.role == "result" and not message.failed else None
        if call is not None and call.tool.lower() in PLANNING and message.manner != "rejection":
            approved = _APPROVED.split(message.text, maxsplit=1)
            return (approved[1] if len(approved) > 1 else given_of(call.text).get("plan", "")).strip()
    return ""


def _handed(first: Message) -> str:
    """What the harness handed on; a command is told by its name and arguments alone."""
    if first.speaker == "person" or first.manner == "plan":
        return ""
    if name := _COMMAND_NAME.search(first.text):
        arguments = _COMMAND_ARGUMENTS.search(first.text)
        return clip(f"{name[1]} {arguments[1] if arguments else ''}".strip(), HANDED_CHARACTERS)
    return "" if first.role in _AGENTS else clip(first.text.strip(), HANDED_CHARACTERS)
