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
from itertools import chain
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from claude_memory.model import Kind, StoredMemory
from claude_memory.summaries.shelf import ENTRIES, SOURCED
from claude_memory.text.quotation import about_tokens, clipped
from claude_memory.understand import agent_summary as agents
from claude_memory.understand import calls, commands
from claude_memory.understand.agent_summary import AgentSummary
from claude_memory.understand.exchanges import OPEN_STATES, uncommitted
from claude_memory.understand.model import Exchange, Outcome, TaskItem, Utterance, places_of
from claude_memory.understand.titles import plan_title, without_announcements

RATIO = 10.2  # tokens summed up for each token of the summary
MIN_TOKENS, MAX_TOKENS = 1_200, 8_000
MAX_TOPICS, MAX_SNIPPETS, MAX_FILES, MAX_DONE, MAX_DEFINED = 8, 4, 40, 30, 6
SHORTEST, LONGEST = 60, 4_000  # characters of a text that is cut
STATE = 3  # how much longer what is open and where things stand may be than the rest
_CUT = ("topic", "decision", "purpose", "code", "error", "solution", "text")
# An entry of a list of the summary, as the file shows it; a plain text has `text` and `messages`.
Entry = dict[str, Any]
_REPLIES = ("answer", "rejection")
_MANNERS = {
    "answer": "Answer",
    "rejection": "Refused",
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

    `earlier` are exchanges that compactions before took: work may go on from them. `open_tasks` are those at
    the end, `memories` typed ones of the session, `created` paths that were new, `defined` the names that
    edits of a file define.
    """
    written = agents.read(agent_summary) if agent_summary else AgentSummary({})
    begun = [each for each in earlier if _opening(each)][-1:]
    # The request from before that the work went on with; none where a new one came first.
    going_on = begun if exchanges and not _opening(exchanges[0]) else []
    pending = _once(_pending(exchanges, open_tasks, written))
    typed = _typed(exchanges, memories)
    told = "\n\n".join(filter(None, _executive(exchanges, going_on, written, pending)))
    quoted = [(path, code) for path, _, codes in written.sections() for code in codes]
    named = ((path, code, _DEFINITION.search(code)) for path, code in quoted[-MAX_SNIPPETS:])
    whole = {
        "executive": told or clipped(written.rest, 900) or "Nothing was asked or done.",
        "key_decisions": _once(chain(typed["key_decisions"], *map(_decided, exchanges))),
        "files_modified": _files(exchanges, written, created, defined)[:MAX_FILES],
        "code_snippets": [
            _entry([], file=path, function=name and name[1], code=code, importance="medium")
            for path, code, name in named
        ],
        "topics": _topics(exchanges, written),
        "tasks_completed": _once(_completed(exchanges))[-MAX_DONE:],
        "tasks_pending": pending,
        "important_context": _once(_context(exchanges, going_on, written)),
        "error_solutions": [*_solutions(exchanges, written), *typed["error_solutions"]],
        "conventions": _once(typed["conventions"]),
    }
    return _published(_fitted(whole, max_tokens))


# --- what it was about, what was done, how it stands


def _executive(
    exchanges: Sequence[Exchange],
    going_on: Sequence[Exchange],
    written: AgentSummary,
    pending: Sequence[Entry],
) -> Iterator[str]:
    begun = list(filter(None, map(_opening, [*going_on, *exchanges])))
    asked = [clipped(text, 300) for text in [text for text in begun if len(text.split()) > 2] or begun]
    between = f", and {len(asked) - 2} requests later" if len(asked) > 2 else ", then"
    if intent := written.text("request"):
        yield clipped(intent, 900)
    elif not asked:
        yield clipped(written.rest, 700)
    elif len(asked) == 1:
        yield f"The person asked: “{asked[0]}”"
    else:
        yield f"It began with: “{asked[0]}”{between}: “{asked[-1]}”"

    # One that was amended goes through several times under the same subject.
    commits = list(dict.fromkeys(commit.subject for each in exchanges for commit in each.commits))
    requests = list(dict.fromkeys(link for each in exchanges for link in each.pull_requests))
    files = {path for each in exchanges for path, _ in each.files_edited}
    shown = "; ".join(clipped(subject, 90) for subject in commits[-5:])
    last = ", the last" if len(commits) > 5 else ""
    done = [f"{_count(len(commits), 'commit')}{last}: {shown}."] if commits else []
    done += [f"{_count(len(files), 'file')} edited."] if files else []
    done += [f"Pull requests: {', '.join(requests[-3:])}."] if requests else []
    yield " ".join(done)

    if current := written.text("current"):
        yield f"How it stands: {clipped(current, 700)}"
    elif exchanges:
        end = _last(exchanges)
        words = clipped(agents.plain(end.closing) or agents.plain("".join(end.said[-1:])), 500)
        left = "; ".join(clipped(remark["text"], 80) for remark in pending[:4])
        open_ = f" Open: {left}." if left else ""
        yield f"How it stands: {_OUTCOMES[end.outcome]}{f': {words}' if words else '.'}{open_}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _last(exchanges: Sequence[Exchange]) -> Exchange:
    """The last exchange that a person or a plan began: what came after it is the harness's."""
    return next((each for each in reversed(exchanges) if each.asked or each.plan), exchanges[-1])


def _decided(exchange: Exchange) -> Iterator[Entry]:
    """A plan that was accepted, answers, refusals with a reason, and a request that ended in a commit."""
    files = [path for path, _ in exchange.files_edited[:6]]
    if exchange.plan:
        plan = f"Carry out the plan: {plan_title(exchange.plan)}"
        yield _entry([exchange.first], decision=plan, files=files)
    for said in exchange.asked:
        if said.manner in _REPLIES and said.words:
            yield _entry([said.ordinal], topic=_line(said.question), decision=_line(said.words))
    asked = exchange.asked[:1]
    if exchange.commits and asked and asked[0].manner not in _REPLIES and len(exchange.request.split()) > 4:
        subjects = "; ".join(commit.subject for commit in exchange.commits[-3:])
        places = [asked[0].ordinal, exchange.commits[-1].ordinal]
        yield _entry(places, topic=subjects, decision=_line(exchange.request), files=files)


def _typed(exchanges: Sequence[Exchange], memories: Sequence[StoredMemory]) -> dict[str, list[Entry]]:
    """Memories that were understood from these exchanges, as entries of the lists they belong to."""
    lists: dict[str, list[Entry]] = {"key_decisions": [], "error_solutions": [], "conventions": []}
    here = {(each.session, place) for each in exchanges for place in range(each.first, each.last + 1)}
    for memory in memories:
        ends = [(session, end) for session, *both in places_of(memory) for end in both]
        places, files = sorted({end for session, end in ends if (session, end) in here}), list(memory.files)
        if places and memory.kind is Kind.DECISION:
            lists["key_decisions"].append(_entry(places, decision=memory.body, files=files))
        elif places and memory.kind is Kind.FIX:
            fix = _entry(places, error=memory.title, solution=memory.body, files=files)
            lists["error_solutions"].append(fix)
        elif places:
            lists["conventions"].append(_entry(places, text=_line(memory.body)))
    return lists


# --- files and code


def _files(
    exchanges: Sequence[Exchange],
    written: AgentSummary,
    created: Set[str],
    defined: Mapping[str, Sequence[str]],
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
    noted = {path: text for path, text, _ in written.sections()}  # what is said of it last
    for named, text in reversed(noted.items()):
        purposes |= {path: text for path in counts if text and calls.same_file(named, path)}
    before = {name: old for old, name in moved.items() if name}
    loose = uncommitted(exchanges)
    edited = sorted(counts, key=lambda path: (path not in loose, -counts[path], path))
    removed = {old for old, name in moved.items() if not name}
    changes = []
    for path in dict.fromkeys([*edited, *before, *(old for old in moved if old in removed)]):
        action = "created" if path in created else "modified"
        action = "renamed" if path in before else "deleted" if path in removed else action
        known = {"purpose": purposes.get(path), "from": before.get(path)}
        names = list(defined.get(path, ()))[-MAX_DEFINED:] if path in counts else []
        where = places.get(path, [])[-3:]
        changes.append(_entry(where, path=path, action=action, **known, definitions=names))
    return changes


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


# --- done, open, learnt


def _completed(exchanges: Sequence[Exchange]) -> Iterator[Entry]:
    for each in exchanges:
        done = (task for task in each.tasks if task.status == "completed")
        yield from (_entry([task.ordinal or each.last], text=_line(task.title)) for task in done)
        yield from (_entry([one.ordinal], text=f"{one.hash} {one.subject}") for one in each.commits)


def _pending(
    exchanges: Sequence[Exchange], open_tasks: Sequence[TaskItem], written: AgentSummary
) -> Iterator[Entry]:
    """The agent's own word first; then the list of tasks, what nobody answered, what fails, what is loose."""
    here = _end(exchanges)
    following = written.text("next")
    for text in (*written.items("pending"), *([f"Next: {following}"] if following else [])):
        if not agents.SAYS_NOTHING.match(text.removeprefix("Next: ")):
            yield _entry(here, text=text)
    for task in open_tasks or (exchanges[-1].tasks if exchanges else ()):
        if task.status in OPEN_STATES:
            doing = "In progress: " if task.status == "in_progress" else ""
            yield _entry([task.ordinal] if task.ordinal else here, text=doing + _line(task.title))
    if not exchanges:
        return
    if not written:  # the newest list of what is left, in the words that closed an exchange
        lists = ((each.last, list(agents.called_open(each.closing))) for each in reversed(exchanges))
        place, left = next((one for one in lists if one[1]), (0, []))
        yield from (_entry([place], text=text) for text in left)
    last = _last(exchanges)
    if last.outcome is not Outcome.ANSWERED and last.request:
        yield _entry([last.first], text=f"Not finished: “{_line(last.request)}”")
    for command in last.failing:
        yield _entry([command.ordinal], text=f"Failing: {_line(command.command)}: {_line(command.error)}")
    if loose := uncommitted(exchanges):
        yield _entry([last.last], text=f"Edited and not committed: {', '.join(loose[:12])}")


def _context(
    exchanges: Sequence[Exchange], going_on: Sequence[Exchange], written: AgentSummary
) -> Iterator[Entry]:
    """The state first, then what was said, exchange by exchange, then what the agent's summary adds."""
    here = _end(exchanges)
    if current := written.text("current"):
        yield _entry(here, text=f"Current work: {current}")
    for each in going_on:
        yield _entry([each.first], text=f"Went on with: {_opening(each)}")
    for each in exchanges:
        # The agent's own summary has what was said on the way: on real sessions it added size, no fact.
        yield from _story(each, on_the_way=not written)
    names = ("problems", "concepts", *(() if exchanges else ("request", "messages")))
    added = [text for name in names for text in written.items(name)]
    for text in (*added, *map(agents.plain, agents.blocks(written.rest))):
        yield _entry(here, text=text)


def _story(exchange: Exchange, *, on_the_way: bool) -> Iterator[Entry]:
    """One exchange: what was asked, what was added to it, and how it ended."""
    for place, said in enumerate(exchange.asked):
        mark = _MANNERS.get(said.manner, "Added") if place else "Asked"
        yield _entry([said.ordinal], text=f"{mark}: {_words(said)}")
    if not exchange.asked and (exchange.plan or exchange.handed):
        mark = "Plan" if exchange.plan else "Given"
        yield _entry([exchange.first], text=f"{mark}: {_line(exchange.plan or exchange.handed)}")
    for text in exchange.said if on_the_way else ():
        told = _line(without_announcements(text))
        if told.endswith(":"):  # what it announces is a call
            told = _LAST_SENTENCE.sub("", told)
        yield _entry([exchange.first, exchange.last], text=told)
    if exchange.closing:
        mark = "Answered" if exchange.outcome is Outcome.ANSWERED else "Last said"
        yield _entry([exchange.last], text=f"{mark}: {agents.plain(exchange.closing)}")


def _solutions(exchanges: Sequence[Exchange], written: AgentSummary) -> Iterator[Entry]:
    """Errors with their fixes, as the agent tells them; else checks that failed and then passed."""
    feedback, fixes = agents.feedback_and_fixes(written)
    for error, fix in (*fixes, *(("The person corrected the agent", text) for text in feedback)):
        yield _entry(_end(exchanges), error=error, solution=fix)
    for each in [] if fixes else exchanges:
        files = [path for path, _ in each.files_edited[:4]]
        done = f"passes after changes of {', '.join(files)}" if files else "passes later"
        for place, command in enumerate(each.commands):
            later = each.commands[place + 1 :]
            passed = next((one for one in later if one.command == command.command and not one.failed), None)
            if command.failed and command.error and passed:
                solution = f"`{clipped(_line(command.command), 80)}` {done}"
                known = {"error": _line(command.error), "solution": solution, "files": files}
                yield _entry([command.ordinal, passed.ordinal], **known, verified=True)


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


# --- words and entries


def _opening(exchange: Exchange) -> str:
    asked = _words(exchange.asked[0]) if exchange.asked else ""
    return asked or (plan_title(exchange.plan) if exchange.plan else _line(exchange.handed))


def _words(utterance: Utterance) -> str:
    asked = f"{_line(utterance.question)} → " if utterance.question else ""
    pasted = f" [pasted: {clipped(_line(utterance.pasted), 300)}]" if utterance.pasted else ""
    return f"{asked}{_line(utterance.words)}{pasted}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _end(exchanges: Sequence[Exchange]) -> list[int]:
    return [exchanges[-1].last] if exchanges else []


def _entry(messages: Sequence[int], **members: Any) -> Entry:
    """What is told, without members that say nothing, and the messages it rests on."""
    return {**{name: value for name, value in members.items() if value}, "messages": list(messages)}


def _once(entries: Iterable[Entry]) -> list[Entry]:
    """Each statement once: the first time it is made."""
    stated: dict[str, Entry] = {}
    for entry in entries:
        text = entry.get("text") or entry.get("decision", "")
        stated.setdefault(" ".join(re.findall(r"\w+", text.lower())), entry)
    stated.pop("", None)
    return list(stated.values())


# --- fitting into the budget


def _published(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Plain lists hold texts alone; where they are from stands in `sources`."""
    texts = {name: [each["text"] for each in whole[name]] for name in SOURCED}
    sources = {name: [each["messages"] for each in whole[name]] for name in SOURCED if whole[name]}
    return {**whole, **texts, "sources": sources}


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
    def cut(entries: Iterable[Entry], length: int) -> list[Entry]:
        return [
            {name: clipped(value, length) if name in _CUT else value for name, value in entry.items()}
            for entry in entries
        ]

    long, story = STATE * length, whole["important_context"]
    return {
        **whole,
        **{name: cut(whole[name], length) for name in (*ENTRIES, *SOURCED)},
        "executive": clipped(whole["executive"], 2 * long),
        "tasks_pending": cut(whole["tasks_pending"], long),
        "important_context": [*cut(story[:1], long), *cut(story[1:], length)],
    }
