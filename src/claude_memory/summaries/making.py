"""Sums up a stretch of a session: its exchanges, and the agent's own summary once there is one.

Pure, and no guessing from wording: what was asked, answered, refused, committed and left open is known by
structure; the rest is told in the words of those who were there. To fit the budget every text is cut to the
same length, those on the present state to a longer one; nothing is ranked.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from claude_memory.model import Kind, StoredMemory
from claude_memory.summaries.shelf import ENTRIES, SOURCED
from claude_memory.text.quotation import about_tokens, clipped
from claude_memory.understand import agent_summary as agents
from claude_memory.understand import calls, commands
from claude_memory.understand.agent_summary import AgentSummary
from claude_memory.understand.model import Exchange, Outcome, TaskItem, Utterance, places_of
from claude_memory.understand.sessions import OPEN_STATES, uncommitted
from claude_memory.understand.titles import plan_title, without_announcements

RATIO = 10.2  # tokens summed up for each token of the summary
MIN_TOKENS, MAX_TOKENS = 1_200, 8_000
MAX_TOPICS, MAX_SNIPPETS, MAX_FILES, MAX_DONE, MAX_DEFINED = 8, 4, 40, 30, 6
SHORTEST, LONGEST = 60, 4_000  # characters of a text that is cut
STATE = 3  # how much longer what is open and where things stand may be than the rest
_CUT = ("topic", "decision", "purpose", "code", "error", "solution", "text")
# An entry of a list of the summary, as the file shows it; a plain text has `text` and `messages`.
Entry = dict[str, Any]
_REFUSED, _ANSWER = "rejection", "answer"
_MANNERS = {
    _ANSWER: "Answer",
    _REFUSED: "Refused",
    "queued": "Added meanwhile",
    "after_interruption": "After stopping the agent",
}
_OUTCOMES = {
    Outcome.ANSWERED: "the last request was answered",
    Outcome.INTERRUPTED: "the person stopped the agent",
    Outcome.REJECTED: "the person refused the last step",
    Outcome.OPEN: "the agent was still at the last request",
}
_SCOPE = re.compile(r"^\w+\(([\w/.-]{2,30})\)!?:")
_BOLD = re.compile(r"\*\*`?([^*`\n]{3,40}?)`?:?\*\*")
_LAST_SENTENCE = re.compile(r"(?:^|(?<=[.!?]) )[^.!?]*$")
_DEFINITION = re.compile(r"\b(?:func(?: \([^)]*\))?|def|function|class|type|fn|interface) +(\w+)")


def budget(tokens_before: int) -> int:
    """How many tokens the summary of so many may take: a tenth, but never less than a page."""
    return int(min(max(tokens_before / RATIO, MIN_TOKENS), MAX_TOKENS))


def summarise(
    exchanges: Sequence[Exchange],
    *,
    agent_summary: str = "",
    earlier: Sequence[Exchange] = (),
    open_tasks: Sequence[TaskItem] = (),
    memories: Sequence[StoredMemory] = (),
    created: Set[str] = frozenset(),
    defined: Mapping[str, Sequence[str]] = MappingProxyType({}),
    max_tokens: int = MAX_TOKENS,
) -> dict[str, Any]:
    """What these exchanges leave, within `max_tokens`: the part `summary` of a compact_NNN.json.

    `earlier` are exchanges that compactions before took: work may go on from them. `open_tasks` are those of
    the agent's list at the end, `memories` typed memories of the same stretch, `created` paths that were new,
    `defined` the names that edits of a file define.
    """
    written = agents.read(agent_summary) if agent_summary else AgentSummary({})
    pending = _once(_pending(exchanges, open_tasks, written))
    whole = {
        "executive": _executive(exchanges, earlier, written, pending),
        "key_decisions": _once(_decisions(exchanges, memories)),
        "files_modified": _files(exchanges, written, created, defined)[:MAX_FILES],
        "code_snippets": list(_snippets(written)),
        "topics": _topics(exchanges, written),
        "tasks_completed": _once(_completed(exchanges))[-MAX_DONE:],
        "tasks_pending": pending,
        "important_context": _once(_context(exchanges, earlier, written)),
        "error_solutions": list(_solutions(exchanges, written, memories)),
        "conventions": _once(_conventions(memories)),
    }
    return _published(_fitted(whole, max_tokens))


# --- what it was about, what was done, how it stands


def _executive(
    exchanges: Sequence[Exchange],
    earlier: Sequence[Exchange],
    written: AgentSummary,
    pending: Sequence[Entry],
) -> str:
    parts = (_about(exchanges, earlier, written), _done(exchanges), _standing(exchanges, written, pending))
    return "\n\n".join(filter(None, parts)) or clipped(written.rest, 900) or "Nothing was asked or done."


def _about(exchanges: Sequence[Exchange], earlier: Sequence[Exchange], written: AgentSummary) -> str:
    if intent := written.text("request"):
        return clipped(intent, 900)
    begun = list(filter(None, map(_opening, (*_going_on(exchanges, earlier), *exchanges))))
    asked = [text for text in begun if len(text.split()) > 2] or begun
    if not asked:
        return clipped(written.rest, 700)
    first, last = clipped(asked[0], 300), clipped(asked[-1], 300)
    if len(asked) == 1:
        return f"The person asked: “{first}”"
    between = f", and {len(asked) - 2} requests later" if len(asked) > 2 else ", then"
    return f"It began with: “{first}”{between}: “{last}”"


def _done(exchanges: Sequence[Exchange]) -> str:
    # One that was amended goes through several times under the same subject.
    commits = list(dict.fromkeys(commit.subject for each in exchanges for commit in each.commits))
    requests = list(dict.fromkeys(link for each in exchanges for link in each.pull_requests))
    files = {path for each in exchanges for path, _ in each.files_edited}
    parts = []
    if commits:
        shown = "; ".join(clipped(subject, 90) for subject in commits[-5:])
        parts.append(f"{_count(len(commits), 'commit')}{', the last' if len(commits) > 5 else ''}: {shown}.")
    if files:
        parts.append(f"{_count(len(files), 'file')} edited.")
    if requests:
        parts.append(f"Pull requests: {', '.join(requests[-3:])}.")
    return " ".join(parts)


def _standing(exchanges: Sequence[Exchange], written: AgentSummary, pending: Sequence[Entry]) -> str:
    if current := written.text("current"):
        return f"How it stands: {clipped(current, 700)}"
    if not exchanges:
        return ""
    last = _last(exchanges)
    words = agents.plain(last.closing) or agents.plain("".join(last.said[-1:]))
    left = "; ".join(clipped(remark["text"], 80) for remark in pending[:4])
    open_ = f" Open: {left}." if left else ""
    return f"How it stands: {_OUTCOMES[last.outcome]}{': ' + clipped(words, 500) if words else '.'}{open_}"


def _going_on(exchanges: Sequence[Exchange], earlier: Sequence[Exchange]) -> list[Exchange]:
    """The request from before that the work went on with; none where a new one came first."""
    begun = [each for each in earlier if _opening(each)]
    return begun[-1:] if exchanges and begun and not _opening(exchanges[0]) else []


def _last(exchanges: Sequence[Exchange]) -> Exchange:
    """The last exchange that a person or a plan began: what came after it is the harness's."""
    return next((each for each in reversed(exchanges) if each.asked or each.plan), exchanges[-1])


# --- decisions: what structure tells was decided


def _decisions(exchanges: Sequence[Exchange], memories: Sequence[StoredMemory]) -> Iterator[Entry]:
    for memory in memories:
        if memory.kind is Kind.DECISION:
            yield _decision(memory.title, memory.body, _places(memory), memory.files)
    for each in exchanges:
        yield from _decided(each)


def _decided(exchange: Exchange) -> Iterator[Entry]:
    """A plan that was accepted, answers, refusals with a reason, and a request that ended in a commit."""
    files = tuple(path for path, _ in exchange.files_edited[:6])
    if exchange.plan:
        plan = f"Carry out the plan: {plan_title(exchange.plan)}"
        yield _decision("", plan, (exchange.first,), files)
    for utterance in exchange.asked:
        if utterance.manner in (_ANSWER, _REFUSED) and utterance.words:
            yield _decision(_line(utterance.question), _line(utterance.words), (utterance.ordinal,))
    if exchange.commits and exchange.asked and exchange.asked[0].manner not in (_ANSWER, _REFUSED):
        subjects = "; ".join(commit.subject for commit in exchange.commits[-3:])
        places = (exchange.asked[0].ordinal, exchange.commits[-1].ordinal)
        if len(exchange.request.split()) > 4:
            yield _decision(subjects, _line(exchange.request), places, files)


# --- files and code


def _files(
    exchanges: Sequence[Exchange], written: AgentSummary, new: Set[str], defined: Mapping[str, Sequence[str]]
) -> list[Entry]:
    """The files that were edited, those still uncommitted first, then by number of edits; then moved ones."""
    counts: Counter[str] = Counter()
    places: dict[str, list[int]] = {}
    purposes: dict[str, str] = {}
    moved: dict[str, str] = {}
    for each in exchanges:
        for path, count in each.files_edited:
            counts[path] += count
            places.setdefault(path, []).append(each.first)
            if each.commits:
                purposes[path] = each.commits[-1].subject
        moved |= _moved(each)
    said = {section.path: section.text for section in written.sections()}
    for named, text in reversed(said.items()):
        purposes |= {path: text for path in counts if calls.same_file(named, path) and text}
    before = {name: old for old, name in moved.items() if name}
    created = {calls.relative(path, each.cwd) for each in exchanges[:1] for path in new}
    loose = uncommitted(exchanges)
    changes = []
    for path in sorted(counts, key=lambda path: (path not in loose, -counts[path], path)):
        action = "created" if path in created else "modified"
        action = "renamed" if path in before else "deleted" if moved.get(path) == "" else action
        names = list(defined.get(path, ()))[-MAX_DEFINED:]
        change = _change(path, action, purposes.get(path, ""), before.get(path, ""), places[path][-3:])
        changes.append({**change, "definitions": names} if names else change)
    changes += [_change(name, "renamed", old=old) for name, old in before.items() if name not in counts]
    return changes + [
        _change(old, "deleted") for old, name in moved.items() if not name and old not in counts
    ]


def _moved(exchange: Exchange) -> dict[str, str]:
    """Files that a command removed or renamed: the name before, and the one after, empty if removed."""
    moved: dict[str, str] = {}
    passed = [each.command for each in exchange.commands if not each.failed]
    for step in (step for command in passed for step in commands.segments(command)):
        words = [calls.relative(word, exchange.cwd) for word in step.split() if not word.startswith("-")]
        words = words[1:] if words and words[0] == "git" else words
        if words[:1] == ["mv"] and len(words) == 3:
            moved[words[1]] = words[2]
        elif words[:1] == ["rm"]:
            moved |= {word: "" for word in words[1:] if "." in word and "*" not in word}
    return moved


def _snippets(written: AgentSummary) -> Iterator[Entry]:
    quoted = [(section.path, code) for section in written.sections() for code in section.code]
    for path, code in quoted[-MAX_SNIPPETS:]:
        name = {"function": definition[1]} if (definition := _DEFINITION.search(code)) else {}
        yield {"file": path, **name, "code": code, "importance": "medium", "messages": []}


# --- done, open, learnt


def _completed(exchanges: Sequence[Exchange]) -> Iterator[Entry]:
    for each in exchanges:
        for task in each.tasks:
            if task.status == "completed":
                yield _remark(_line(task.title), (task.ordinal or each.last,))
        for commit in each.commits:
            yield _remark(f"{commit.hash} {commit.subject}", (commit.ordinal,))


def _pending(
    exchanges: Sequence[Exchange], open_tasks: Sequence[TaskItem], written: AgentSummary
) -> Iterator[Entry]:
    """The agent's own word first; then the list of tasks, what nobody answered, what fails, what is loose."""
    here = _end(exchanges)
    following = written.text("next")
    for text in (*written.items("pending"), *([f"Next: {following}"] if following else [])):
        if not agents.is_nothing(text.removeprefix("Next: ")):
            yield _remark(text, here)
    for task in open_tasks or (exchanges[-1].tasks if exchanges else ()):
        if task.status in OPEN_STATES:
            doing = "In progress: " if task.status == "in_progress" else ""
            yield _remark(doing + _line(task.title), (task.ordinal,) if task.ordinal else here)
    if not exchanges:
        return
    if not written:  # the newest list of what is left, in the words that closed an exchange
        listed = ((each.last, list(agents.called_open(each.closing))) for each in reversed(exchanges))
        place, left = next((one for one in listed if one[1]), (0, []))
        yield from (_remark(agents.plain(text), (place,)) for text in left)
    last = _last(exchanges)
    if last.outcome is not Outcome.ANSWERED and last.request:
        yield _remark(f"Not finished: “{_line(last.request)}”", (last.first,))
    for command in last.failing:
        yield _remark(f"Failing: {_line(command.command)}: {_line(command.error)}", (command.ordinal,))
    if loose := uncommitted(exchanges):
        yield _remark(f"Edited and not committed: {', '.join(loose[:12])}", (last.last,))


def _context(
    exchanges: Sequence[Exchange], earlier: Sequence[Exchange], written: AgentSummary
) -> Iterator[Entry]:
    """The state first, then what was said, exchange by exchange, then what the agent's summary adds."""
    here = _end(exchanges)
    if current := written.text("current"):
        yield _remark(f"Current work: {current}", here)
    for each in _going_on(exchanges, earlier):
        yield _remark(f"Went on with: {_opening(each)}", (each.first,))
    for each in exchanges:
        # The agent's own summary has what was said on the way: on real sessions it added size, no fact.
        yield from _story(each, on_the_way=not written)
    names = ("problems", "concepts", *(() if exchanges else ("request", "messages")))
    for text in (text for name in names for text in written.items(name)):
        yield _remark(text, here)
    for block in agents.blocks(written.rest):
        yield _remark(agents.plain(block), here)


def _story(exchange: Exchange, *, on_the_way: bool) -> Iterator[Entry]:
    """One exchange: what was asked, what was added to it, and how it ended."""
    for place, utterance in enumerate(exchange.asked):
        mark = "Asked" if not place else _MANNERS.get(utterance.manner, "Added")
        yield _remark(f"{mark}: {_words(utterance)}", (utterance.ordinal,))
    if not exchange.asked and (exchange.plan or exchange.handed):
        mark = "Plan" if exchange.plan else "Given"
        yield _remark(f"{mark}: {_line(exchange.plan or exchange.handed)}", (exchange.first,))
    for text in exchange.said if on_the_way else ():
        told = _line(without_announcements(text))
        if told.endswith(":"):  # what it announces is a call
            told = _LAST_SENTENCE.sub("", told)
        yield _remark(told, (exchange.first, exchange.last))
    if exchange.closing:
        mark = "Answered" if exchange.outcome is Outcome.ANSWERED else "Last said"
        yield _remark(f"{mark}: {agents.plain(exchange.closing)}", (exchange.last,))


def _solutions(
    exchanges: Sequence[Exchange], written: AgentSummary, memories: Sequence[StoredMemory]
) -> Iterator[Entry]:
    """Errors with their fixes, as the agent tells them; else checks that failed and then passed."""
    here = _end(exchanges)
    feedback, fixes = agents.feedback_and_fixes(written)
    for error, fix in (*fixes, *(("The person corrected the agent", text) for text in feedback)):
        yield _solution(error, fix, here)
    for memory in memories:
        if memory.kind is Kind.FIX:
            yield _solution(memory.title, memory.body, _places(memory), memory.files)
    for each in [] if fixes else exchanges:
        yield from _repaired(each)


def _repaired(exchange: Exchange) -> Iterator[Entry]:
    for place, command in enumerate(exchange.commands):
        later = exchange.commands[place + 1 :]
        passed = next((each for each in later if each.command == command.command and not each.failed), None)
        if command.failed and command.error and passed:
            files = tuple(path for path, _ in exchange.files_edited[:4])
            done = f"passes after changes of {', '.join(files)}" if files else "passes later"
            solution = f"`{clipped(_line(command.command), 80)}` {done}"
            places = (command.ordinal, passed.ordinal)
            yield _solution(_line(command.error), solution, places, files, verified=True)


def _conventions(memories: Sequence[StoredMemory]) -> Iterator[Entry]:
    for memory in memories:
        if memory.kind in (Kind.CONVENTION, Kind.PREFERENCE, Kind.CORRECTION):
            yield _remark(_line(memory.body), _places(memory))


def _topics(exchanges: Sequence[Exchange], written: AgentSummary) -> list[str]:
    """Scopes of commits, the branch, the files edited most, the names of concepts."""
    commits = [commit for each in exchanges for commit in each.commits]
    scopes = [match[1] for commit in commits if (match := _SCOPE.match(commit.subject))]
    branches = [each.branch for each in exchanges if each.branch not in ("", "main", "master", "HEAD")]
    edits: Counter[str] = Counter()
    for path, count in (edited for each in exchanges for edited in each.files_edited):
        stem = PurePosixPath(path.replace("\\", "/")).stem
        edits[stem.removesuffix("_test").removeprefix("test_")] += count
    names = sorted(edits, key=lambda name: (-edits[name], name))[:4]
    concepts = _BOLD.findall(written.parts.get("concepts", ""))
    topics = [topic.strip() for topic in (*scopes, *branches[-2:], *names, *concepts)]
    return list(dict.fromkeys(clipped(topic, 60) for topic in topics if topic))[:MAX_TOPICS]


# --- words


def _opening(exchange: Exchange) -> str:
    asked = _words(exchange.asked[0]) if exchange.asked else ""
    return asked or (plan_title(exchange.plan) if exchange.plan else _line(exchange.handed))


def _words(utterance: Utterance) -> str:
    asked = f"{_line(utterance.question)} → " if utterance.question else ""
    pasted = f" [pasted: {clipped(_line(utterance.pasted), 300)}]" if utterance.pasted else ""
    return f"{asked}{_line(utterance.words)}{pasted}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _end(exchanges: Sequence[Exchange]) -> tuple[int, ...]:
    return (exchanges[-1].last,) if exchanges else ()


def _places(memory: StoredMemory) -> tuple[int, ...]:
    return tuple(sorted({place for _, *ends in places_of(memory) for place in ends}))


def _once(entries: Iterable[Entry]) -> list[Entry]:
    """Each statement once: the first time it is made."""
    stated: dict[str, Entry] = {}
    for entry in entries:
        text = entry.get("text") or entry.get("decision", "")
        stated.setdefault(" ".join(re.findall(r"\w+", text.lower())), entry)
    stated.pop("", None)
    return list(stated.values())


# --- entries


def _remark(text: str, messages: Iterable[int] = ()) -> Entry:
    return {"text": text, "messages": list(messages)}


def _decision(topic: str, decision: str, messages: Iterable[int], files: Iterable[str] = ()) -> Entry:
    about = {"topic": topic} if topic else {}
    return {**about, "decision": decision, "files": list(files), "messages": list(messages)}


def _change(path: str, action: str, purpose: str = "", old: str = "", messages: Iterable[int] = ()) -> Entry:
    known = {"purpose": purpose, "from": old}
    said = {name: text for name, text in known.items() if text}
    return {"path": path, "action": action, **said, "messages": list(messages)}


def _solution(
    error: str, solution: str, messages: Iterable[int], files: Iterable[str] = (), *, verified: bool = False
) -> Entry:
    passed = {"verified": True} if verified else {}
    return {"error": error, "solution": solution, "files": list(files), **passed, "messages": list(messages)}


def _published(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Plain lists hold texts alone; where they are from stands in `sources`."""
    texts = {name: [each["text"] for each in whole[name]] for name in SOURCED}
    sources = {name: [each["messages"] for each in whole[name]] for name in SOURCED if whole[name]}
    return {**whole, **texts, "sources": sources}


# --- fitting into the budget


def tokens_of(summary: Mapping[str, Any]) -> int:
    """How many tokens a summary takes in its file, about."""
    return about_tokens(json.dumps(summary, ensure_ascii=False))


def _fitted(whole: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """The summary with every text cut evenly, as little as the budget asks for.

    Where even short texts are too many, the middle of the story goes: its two ends say most.
    """

    def fits(length: int | None = None) -> bool:
        return tokens_of(_published(_cut(whole, length) if length else whole)) <= max_tokens

    if fits():
        return whole
    while not fits(SHORTEST) and len(context := whole["important_context"]) > 8:
        count = max(1, len(context) // 10)
        start = max(1, 2 * len(context) // 3 - count)
        whole = {**whole, "important_context": [*context[:start], *context[start + count :]]}
    low, high = SHORTEST, LONGEST
    while high - low > 8:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return _cut(whole, low)


def _cut(whole: Mapping[str, Any], length: int) -> dict[str, Any]:
    def cut(entry: Entry, length: int) -> Entry:
        return {name: clipped(value, length) if name in _CUT else value for name, value in entry.items()}

    long = STATE * length
    entries = {name: [cut(entry, length) for entry in whole[name]] for name in (*ENTRIES, *SOURCED)}
    entries["tasks_pending"] = [cut(entry, long) for entry in whole["tasks_pending"]]
    entries["important_context"][:1] = [cut(entry, long) for entry in whole["important_context"][:1]]
    return {**whole, "executive": clipped(whole["executive"], 2 * long), **entries}
