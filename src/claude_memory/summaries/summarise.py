"""Sums up a stretch of a session: its exchanges, and the agent's own summary once there is one.

Pure, and no guessing from wording: what was asked, answered, refused, committed, left open is known by
structure; the rest is told in the words of those who were there, all cut to the same length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from pathlib import PurePosixPath

from claude_memory.model import Kind, StoredMemory
from claude_memory.summaries.fitting import clip, fitted
from claude_memory.summaries.model import Decision, FileChange, Remark, Snippet, Solution, Summary
from claude_memory.understand import agent_summary as agents
from claude_memory.understand import commands, tools
from claude_memory.understand.agent_summary import AgentSummary
from claude_memory.understand.model import Exchange, Outcome, TaskItem, Utterance

RATIO = 10.2  # tokens summed up for each token of the summary
MIN_TOKENS, MAX_TOKENS = 1_200, 8_000
MAX_TOPICS, MAX_SNIPPETS, MAX_FILES, MAX_DONE = 8, 4, 40, 30
OPEN_STATES = ("pending", "in_progress")
_REFUSED = "rejection"
_ANSWER = "answer"
_PLAN_TITLE = re.compile(r"(?m)^#{1,3} +(?:Plan: *)?(.+)$")
_SCOPE = re.compile(r"^\w+\(([\w/.-]{2,30})\)!?:")
_BOLD = re.compile(r"\*\*`?([^*`\n]{3,40}?)`?:?\*\*")


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
    max_tokens: int = MAX_TOKENS,
) -> Summary:
    """What these exchanges leave, within `max_tokens`.

    `earlier` are exchanges that compactions before took: work may go on from them. `open_tasks` are those of
    the agent's list at the end, `memories` typed memories of the same stretch, `created` paths that were new.
    """
    written = agents.read(agent_summary) if agent_summary else AgentSummary({})
    files = _files(exchanges, written, created)
    pending = list(_once(_pending(exchanges, open_tasks, written)))
    return fitted(
        Summary(
            executive=_executive(exchanges, earlier, written, pending),
            key_decisions=tuple(_decisions(exchanges, memories)),
            files_modified=tuple(files[:MAX_FILES]),
            code_snippets=tuple(_snippets(written)),
            topics=tuple(_topics(exchanges, written)),
            tasks_completed=tuple(_once(_completed(exchanges)))[-MAX_DONE:],
            tasks_pending=tuple(pending),
            important_context=tuple(_once(_context(exchanges, earlier, written))),
            error_solutions=tuple(_solutions(exchanges, written, memories)),
            conventions=tuple(_once(_conventions(memories))),
        ),
        max_tokens,
    )


# --- what it was about, what was done, how it stands


def _executive(
    exchanges: Sequence[Exchange],
    earlier: Sequence[Exchange],
    written: AgentSummary,
    pending: Sequence[Remark],
) -> str:
    told = (_about(exchanges, earlier, written), _done(exchanges), _standing(exchanges, written, pending))
    return "\n\n".join(filter(None, told)) or clip(written.rest, 900) or "Nothing was asked or done."


def _about(exchanges: Sequence[Exchange], earlier: Sequence[Exchange], written: AgentSummary) -> str:
    intent = written.text("request")
    if intent:
        return clip(intent, 900)
    begun = [one for one in (*_going_on(exchanges, earlier), *exchanges) if _opening(one)]
    asked = [one for one in begun if len(_opening(one).split()) > 2] or begun
    if not asked:
        return clip(written.rest, 700)
    first, last = clip(_opening(asked[0]), 300), clip(_opening(asked[-1]), 300)
    if len(asked) == 1:
        return f"The person asked: “{first}”"
    between = f", and {len(asked) - 2} requests later" if len(asked) > 2 else ", then"
    return f"It began with: “{first}”{between}: “{last}”"


def _done(exchanges: Sequence[Exchange]) -> str:
    # One that was amended goes through several times under the same subject.
    commits = list(dict.fromkeys(commit.subject for one in exchanges for commit in one.commits))
    requests = list(dict.fromkeys(link for one in exchanges for link in one.pull_requests))
    files = {path for one in exchanges for path, _ in one.files_edited}
    parts = []
    if commits:
        shown = "; ".join(clip(subject, 90) for subject in commits[-5:])
        parts.append(f"{_count(len(commits), 'commit')}{', the last' if len(commits) > 5 else ''}: {shown}.")
    if files:
        parts.append(f"{_count(len(files), 'file')} edited.")
    if requests:
        parts.append(f"Pull requests: {', '.join(requests[-3:])}.")
    return " ".join(parts)


def _standing(exchanges: Sequence[Exchange], written: AgentSummary, pending: Sequence[Remark]) -> str:
    current = written.text("current")
    if current:
        return f"How it stands: {clip(current, 700)}"
    if not exchanges:
        return ""
    last = _last(exchanges)
    told = {
        Outcome.ANSWERED: "the last request was answered",
        Outcome.INTERRUPTED: "the person stopped the agent",
        Outcome.REJECTED: "the person refused the last step",
        Outcome.OPEN: "the agent was still at the last request",
    }[last.outcome]
    words = _closing(last) or agents.plain("".join(last.said[-1:]))
    open_ = f" Open: {'; '.join(clip(one.text, 80) for one in pending[:4])}." if pending else ""
    return f"How it stands: {told}{': ' + clip(words, 500) if words else '.'}{open_}"


def _going_on(exchanges: Sequence[Exchange], earlier: Sequence[Exchange]) -> list[Exchange]:
    """The request from before that the work went on with; none where a new one came first."""
    begun = [one for one in earlier if _opening(one)]
    return begun[-1:] if exchanges and begun and not _opening(exchanges[0]) else []


def _last(exchanges: Sequence[Exchange]) -> Exchange:
    """The last exchange that a person or a plan began: what came after it is the harness's."""
    return next((one for one in reversed(exchanges) if one.asked or one.plan), exchanges[-1])


# --- decisions: what structure tells was decided


def _decisions(exchanges: Sequence[Exchange], memories: Sequence[StoredMemory]) -> Iterator[Decision]:
    told: set[str] = set()
    for found in (*_typed_decisions(memories), *(one for each in exchanges for one in _decided(each))):
        if (key := _key(found.decision)) and key not in told:
            told.add(key)
            yield found


def _typed_decisions(memories: Sequence[StoredMemory]) -> Iterator[Decision]:
    for memory in memories:
        if memory.kind is Kind.DECISION:
            yield Decision(memory.title, memory.body, files=memory.files, messages=_places(memory))


def _decided(one: Exchange) -> Iterator[Decision]:
    """A plan that was accepted, answers, refusals with a reason, and a request that ended in a commit."""
    files = tuple(path for path, _ in one.files_edited[:6])
    if one.plan:
        yield Decision("", f"Carry out the plan: {_title(one.plan)}", files=files, messages=(one.first,))
    for utterance in one.asked:
        if utterance.manner in (_ANSWER, _REFUSED) and utterance.words:
            yield Decision(_line(utterance.question), _line(utterance.words), messages=(utterance.ordinal,))
    if one.commits and one.asked and one.asked[0].manner not in (_ANSWER, _REFUSED):
        subjects = "; ".join(commit.subject for commit in one.commits[-3:])
        places = (one.asked[0].ordinal, one.commits[-1].ordinal)
        if len(one.request.split()) > 4:
            yield Decision(subjects, _line(one.request), files=files, messages=places)


# --- files and code


def _files(exchanges: Sequence[Exchange], written: AgentSummary, new: Set[str]) -> list[FileChange]:
    """The files that were edited, those still uncommitted first, then by number of edits."""
    counts: dict[str, int] = {}
    places: dict[str, list[int]] = {}
    why: dict[str, str] = {}
    loose = _uncommitted(exchanges)
    gone: dict[str, str] = {}
    for one in exchanges:
        edited = dict(one.files_edited)
        for path, count in edited.items():
            counts[path] = counts.get(path, 0) + count
            places.setdefault(path, []).append(one.first)
            if one.commits:
                why[path] = one.commits[-1].subject
        gone.update(_moved(one))
    said = {section.path: section.text for section in written.sections()}
    made = {tools.relative(path, one.cwd) for one in exchanges[:1] for path in new}
    order = sorted(counts, key=lambda path: (path not in loose, -counts[path], path))
    found = [
        FileChange(
            path,
            "created" if path in made else "modified",
            _purpose(path, said) or why.get(path, ""),
            messages=tuple(places[path][-3:]),
        )
        for path in order
    ]
    return [_net(change, gone) for change in found] + _only_moved(gone, counts)


def _uncommitted(exchanges: Sequence[Exchange]) -> list[str]:
    """The files that were edited after the last commit."""
    loose: list[str] = []
    for one in exchanges:
        loose = [*([] if one.commits else loose), *one.uncommitted]
    return list(dict.fromkeys(loose))


def _moved(one: Exchange) -> dict[str, str]:
    """Files that a command removed or renamed: the name before, and the one after, empty if removed."""
    found: dict[str, str] = {}
    for command in one.commands:
        if command.failed:
            continue
        for step in commands.segments(command.command):
            words = [tools.relative(word, one.cwd) for word in step.split() if not word.startswith("-")]
            words = words[1:] if words and words[0] == "git" else words
            if words[:1] == ["mv"] and len(words) == 3:
                found[words[1]] = words[2]
            elif words[:1] == ["rm"]:
                found |= {word: "" for word in words[1:] if "." in word and "*" not in word}
    return found


def _net(change: FileChange, gone: dict[str, str]) -> FileChange:
    before = next((old for old, new in gone.items() if new == change.path), "")
    if before:
        return replace(change, action="renamed", renamed_from=before)
    return replace(change, action="deleted") if gone.get(change.path) == "" else change


def _only_moved(gone: dict[str, str], counts: dict[str, int]) -> list[FileChange]:
    """Files that were never edited, but renamed or removed."""
    return [
        FileChange(new, "renamed", renamed_from=old) if new else FileChange(old, "deleted")
        for old, new in gone.items()
        if (new or old) not in counts
    ]


def _purpose(path: str, said: dict[str, str]) -> str:
    """What the agent's summary says of a file; it may name more or less of the path."""
    return next((text for named, text in said.items() if _same_file(named, path)), "")


def _same_file(left: str, right: str) -> bool:
    one, other = (path.replace("\\", "/").lstrip("./") for path in (left, right))
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def _snippets(written: AgentSummary) -> Iterator[Snippet]:
    quoted = [(section.path, code) for section in written.sections() for code in section.code]
    for path, code in quoted[-MAX_SNIPPETS:]:
        yield Snippet(path, _function(code), code)


def _function(code: str) -> str:
    found = re.search(r"\b(?:func(?: \([^)]*\))?|def|function|class|type|fn|interface) +(\w+)", code)
    return found[1] if found else ""


# --- done, open, learnt


def _completed(exchanges: Sequence[Exchange]) -> Iterator[Remark]:
    for one in exchanges:
        for task in one.tasks:
            if task.status == "completed":
                yield Remark(_line(task.title), (task.ordinal,) if task.ordinal else (one.last,))
        for commit in one.commits:
            yield Remark(f"{commit.hash} {commit.subject}", (commit.ordinal,))


def _pending(
    exchanges: Sequence[Exchange], open_tasks: Sequence[TaskItem], written: AgentSummary
) -> Iterator[Remark]:
    """The agent's own word first; then the list of tasks, what nobody answered, what fails, what is loose."""
    here = (exchanges[-1].last,) if exchanges else ()
    for name, mark in (("pending", ""), ("next", "Next: ")):
        items = written.items(name) if name == "pending" else [written.text(name)]
        for text in items:
            if text and not agents.is_nothing(text):
                yield Remark(mark + text, here)
    for task in open_tasks or (exchanges[-1].tasks if exchanges else ()):
        if task.status in OPEN_STATES:
            doing = "In progress: " if task.status == "in_progress" else ""
            yield Remark(doing + _line(task.title), (task.ordinal,) if task.ordinal else here)
    if not exchanges:
        return
    last = _last(exchanges)
    if last.outcome is not Outcome.ANSWERED and last.request:
        yield Remark(f"Not finished: “{_line(last.request)}”", (last.first,))
    for command in last.failing:
        yield Remark(f"Failing: {_line(command.command)}: {_line(command.error)}", (command.ordinal,))
    loose = _uncommitted(exchanges)
    if loose:
        yield Remark(f"Edited and not committed: {', '.join(loose[:12])}", (last.last,))


def _context(
    exchanges: Sequence[Exchange], earlier: Sequence[Exchange], written: AgentSummary
) -> Iterator[Remark]:
    """The state first, then what was said, exchange by exchange, then what the agent's summary adds."""
    here = (exchanges[-1].last,) if exchanges else ()
    current = written.text("current")
    if current:
        yield Remark(f"Current work: {current}", here)
    for one in _going_on(exchanges, earlier):
        yield Remark(f"Went on with: {_opening(one)}", (one.first,))
    for one in exchanges:
        # The agent's own summary has what was said on the way: on real sessions it added size, no fact.
        yield from _told(one, on_the_way=not written)
    for name in ("problems", "concepts"):
        for text in written.items(name):
            yield Remark(text, here)
    for text in [] if exchanges else [*written.items("request"), *written.items("messages")]:
        yield Remark(text)
    for block in agents.blocks(written.rest):
        yield Remark(agents.plain(block), here)


def _told(one: Exchange, *, on_the_way: bool) -> Iterator[Remark]:
    """One exchange: what was asked, what was added to it, and how it ended."""
    for place, utterance in enumerate(one.asked):
        mark = "Asked" if not place else _MANNERS.get(utterance.manner, "Added")
        yield Remark(f"{mark}: {_words(utterance)}", (utterance.ordinal,))
    if not one.asked and (one.plan or one.handed):
        yield Remark(f"{'Plan' if one.plan else 'Given'}: {_line(one.plan or one.handed)}", (one.first,))
    for text in one.said if on_the_way else ():
        yield Remark(_line(text), (one.first, one.last))
    if one.closing:
        ended = "Answered" if one.outcome is Outcome.ANSWERED else "Last said"
        yield Remark(f"{ended}: {_closing(one)}", (one.last,))


_MANNERS = {
    _ANSWER: "Answer",
    _REFUSED: "Refused",
    "queued": "Added meanwhile",
    "after_interruption": "After stopping the agent",
}


def _solutions(
    exchanges: Sequence[Exchange], written: AgentSummary, memories: Sequence[StoredMemory]
) -> Iterator[Solution]:
    """Errors with their fixes, as the agent tells them; else checks that failed and then passed."""
    here = (exchanges[-1].last,) if exchanges else ()
    feedback, fixes = agents.feedback_and_fixes(written)
    for error, fix in fixes:
        yield Solution(error, fix, messages=here)
    for text in feedback:
        yield Solution("The person corrected the agent", text, messages=here)
    for memory in memories:
        if memory.kind is Kind.FIX:
            yield Solution(memory.title, memory.body, memory.files, messages=_places(memory))
    for one in [] if fixes else exchanges:
        yield from _repaired(one)


def _repaired(one: Exchange) -> Iterator[Solution]:
    for place, command in enumerate(one.commands):
        later = one.commands[place + 1 :]
        passed = next((each for each in later if each.command == command.command and not each.failed), None)
        if command.failed and command.error and passed:
            files = tuple(path for path, _ in one.files_edited[:4])
            done = f"passes after changes of {', '.join(files)}" if files else "passes later"
            told = f"`{clip(_line(command.command), 80)}` {done}"
            yield Solution(_line(command.error), told, files, True, (command.ordinal, passed.ordinal))


def _conventions(memories: Sequence[StoredMemory]) -> Iterator[Remark]:
    for memory in memories:
        if memory.kind in (Kind.CONVENTION, Kind.PREFERENCE, Kind.CORRECTION):
            yield Remark(_line(memory.body), _places(memory))


def _topics(exchanges: Sequence[Exchange], written: AgentSummary) -> list[str]:
    """Scopes of commits, the branch, the files edited most, the names of concepts."""
    commits = [commit for one in exchanges for commit in one.commits]
    scopes = [found[1] for commit in commits if (found := _SCOPE.match(commit.subject))]
    branches = [one.branch for one in exchanges if one.branch not in ("", "main", "master", "HEAD")]
    edits: dict[str, int] = {}
    for one in exchanges:
        for path, count in one.files_edited:
            name = PurePosixPath(path.replace("\\", "/")).stem.removesuffix("_test").removeprefix("test_")
            edits[name] = edits.get(name, 0) + count
    names = sorted(edits, key=lambda name: (-edits[name], name))[:4]
    concepts = _BOLD.findall(written.parts.get("concepts", ""))
    topics = [*scopes, *branches[-2:], *names, *concepts]
    return list(dict.fromkeys(clip(one.strip(), 60) for one in topics if one.strip()))[:MAX_TOPICS]


# --- words


def _opening(one: Exchange) -> str:
    return (_words(one.asked[0]) if one.asked else "") or (
        _title(one.plan) if one.plan else _line(one.handed)
    )


def _title(plan: str) -> str:
    found = _PLAN_TITLE.search(plan)
    return _line(found[1]) if found else clip(_line(plan), 120)


def _words(utterance: Utterance) -> str:
    asked = f"{_line(utterance.question)} → " if utterance.question else ""
    pasted = f" [pasted: {clip(_line(utterance.pasted), 300)}]" if utterance.pasted else ""
    return f"{asked}{_line(utterance.words)}{pasted}"


def _closing(one: Exchange) -> str:
    return agents.plain(one.closing)


def _line(text: str) -> str:
    return " ".join(text.split())


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _places(memory: StoredMemory) -> tuple[int, ...]:
    evidence = memory.provenance.get("evidence")
    refs = evidence if isinstance(evidence, list | tuple) else ()
    return tuple(
        ref["message"] for ref in refs if isinstance(ref, dict) and isinstance(ref.get("message"), int)
    )


def _once(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """Each statement once: the first time it is made."""
    told: set[str] = set()
    for remark in remarks:
        key = _key(remark.text)
        if key and key not in told:
            told.add(key)
            yield remark
