"""Sections of the start context that come from files: they stand even when the database is gone.

A person's own lines are handed on as they are; what a machine wrote, or what came with a clone, is quoted as
data. A long MEMORY.md gives its state and newest decisions, and says where the rest is. What a compaction
took is told by its summary, which a process that PreCompact starts makes; where that is not ready, the
agent's own file is read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory.context.moments import Line
from claude_memory.model import SearchScope
from claude_memory.notes import blocks
from claude_memory.notes.person_files import memory_of_reflection, reflections
from claude_memory.notes.plain_files import INVITATIONS, ON_DEMAND, ProjectFiles, project_files, read_lines
from claude_memory.text.quotation import clipped, named, plain, quoted, tokens

if TYPE_CHECKING:
    from claude_memory.context.sections import Situation

MAX_REFLECTIONS = 30
REFLECTION_CHARACTERS = 240
PERSON_TOKENS, PROJECT_TOKENS, CLONED_TOKENS = 350, 600, 300
_LINE_CHARACTERS = 400
_PROMPT = re.compile(r"- (\S{16})Z said: ")  # it settled nothing
_WHOSE = re.compile(r" \(session [\w-]+\)$")


def identity(situation: Situation) -> list[Line]:
    """MEMORY.md of the person, then of the project; and that there are files to ask for."""
    project = files_of(situation)
    lines = excerpt(situation.home / "MEMORY.md", PERSON_TOKENS)
    lines += excerpt(project.memory, PROJECT_TOKENS, without=_told_by_records(situation))
    for base in project.imported:
        lines += excerpt(base / "MEMORY.md", CLONED_TOKENS, ", from this repository's MEMORY.md")
    beside = {situation.home.parent / name: purpose for name, purpose in ON_DEMAND.items()}
    return lines + [
        Line(f"{path} exists: {purpose}. It is read only when a person asks for it.", source=str(path))
        for path, purpose in beside.items()
        if path.is_file()
    ]


def insights(situation: Situation) -> list[Line]:
    """The last thirty reflections: those held most firmly first, then the newest.

    An agent's is quoted, with where it was noted: it is read in every project.
    """
    newest = reversed(reflections(situation.home)[-MAX_REFLECTIONS:])
    last = {memory_of_reflection(situation.home, item): item for item in newest}
    held = situation.store.lifecycle.strengths(list(last)) if last else {}
    firmness = {id_: -1.0 if state.demoted else state.stability for id_, state in held.items()}
    lines = []
    for id_ in sorted(last, key=lambda id_: firmness.get(id_, 0.0), reverse=True):
        item, said = last[id_], clipped(plain(last[id_].body), REFLECTION_CHARACTERS)
        if item.by_agent:
            elsewhere = item.project and item.project != situation.project.id
            where = f" in project {named(item.project, 80)}" if elsewhere else ""
            said = f"{quoted(item.body, REFLECTION_CHARACTERS)}, from an agent{where}"
        lines.append(Line(f"- {item.kind}: {said}", source="reflections.jsonl"))
    return lines


def buffer(situation: Situation) -> list[Line]:
    """The working buffer: what people wrote, then entries, newest first.

    Of earlier prompts a new session is told what settled something, and what came after the last record.
    """
    files = files_of(situation)
    lines = [one for one in _read(files.buffer) if not one.raw.startswith("# ")]
    if situation.source in ("startup", "clear"):
        ended = _last_record(situation)
        told = (blocks.EXCHANGES, blocks.NEXT)[: 1 + bool(ended)]  # the section on work says it
        lines = [one for one in lines if one.block not in told]
        lines = [one for one in lines if not (prompt := _PROMPT.match(one.raw)) or prompt[1] > ended]
    own = [one for one in lines if not one.raw.startswith("- 2")]
    said = [one for one in reversed(lines) if one.raw.startswith("- 2")]
    paths = [base / "memory" / "working-buffer.md" for base in files.imported]
    return [*own, *said, *(one for path in paths for one in _read(path, ""))]


def todo(situation: Situation) -> list[Line]:
    return _listed(files_of(situation).todo, situation, ("- [x]", "- [X]", "# "))


def lessons(situation: Situation) -> list[Line]:
    return _listed(files_of(situation).lessons, situation, ("# ",))


def _listed(path: Path, situation: Situation, left_out: tuple[str, ...]) -> list[Line]:
    without = _told_by_records(situation)
    lines = [one for one in _read(path) if one.block not in without]
    return [one for one in lines if not one.raw.lstrip().startswith(left_out)]


def _told_by_records(situation: Situation) -> Sequence[str]:
    """Blocks that say what the section on work says; without a record of a session they are all there is.

    On twelve real starts a third of the lines was old tasks, which records of sessions tell better.
    """
    return blocks.FROM_SESSIONS if _last_record(situation) else ()


def _last_record(situation: Situation) -> str:
    """The minute at which the last session ended that a record tells of; empty if there is none."""
    found = situation.store.archive.session_records(SearchScope((situation.project.id,)), 1)
    return str(found[0][1]["ended"])[:16] if found else ""


def files_of(situation: Situation) -> ProjectFiles:
    return project_files(situation.home, situation.project.id, situation.project_root)


# --- a file's lines


class _Text(Line):
    """A line as it may be handed on; how it stands in its file, and the machine's block around it."""

    __slots__ = ("block", "raw")

    def __init__(self, raw: str, shown: str, path: Path, block: str) -> None:
        heading = _HEADING.match(raw)
        super().__init__(shown, source=str(path), level=len(heading[1]) if heading else 0)
        self.raw, self.block = raw, block


def _read(path: Path, cloned: str | None = None) -> list[_Text]:
    """A file's lines as they may be handed on: the machine's own marked as quotes, its marks left out.

    Of a file that came with a clone all is quoted, and `cloned` says so behind each line.
    """
    texts = [text for _, text in read_lines(path).lines]
    names: dict[int, str] = {}
    left_out: set[int] = set()
    machine = set(range(len(texts))) if cloned is not None else set()
    for block in blocks.find(texts):
        left_out |= {block.first, block.last}
        names |= dict.fromkeys(range(block.first, block.last), block.name)
        human = list(block.human)
        for place in range(block.first + 1, block.last) if block.name not in blocks.BY_PERSON else ():
            if texts[place] in human:
                human.remove(texts[place])
            else:
                machine.add(place)
    found = []
    for place, raw in enumerate(texts):
        text = _WHOSE.sub("", raw)
        shown = quoted(text, _LINE_CHARACTERS) if place in machine else clipped(plain(text), _LINE_CHARACTERS)
        is_said = place not in left_out and raw != INVITATIONS.get(path.name) and not _RULE.fullmatch(raw)
        if shown and is_said:
            found.append(_Text(raw, shown + (cloned or ""), path, names.get(place, "")))
    return found


# --- what a long file gives

_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|\|[\s|:-]+\||```\w*)\s*")
_HEADING = re.compile(r"(#{1,6}) ")
_PRESENT = re.compile(
    r"(?i)\b(?:state|status|current|active|now|workstreams?|progress|next|open|to ?do|decisions?|blockers?)\b"
)
_PAST = re.compile(r"(?i)\b(?:complete[d]?|done|finished|paused|archived?|dropped|shipped)\b")
_STRUCK = re.compile(r"^\s*[-*] (?:~~|\[[xX]\])")
_ROW = re.compile(r"\|\s*(\d{4}-\d\d-\d\d)")


class _Part:
    """What stands between two headings, with the headings above it."""

    def __init__(self, headings: Sequence[_Text]) -> None:
        self.headings, self.lines, self.taken = headings, list[_Text](), list[_Text]()
        is_past = headings and _PAST.search(headings[-1].raw)
        is_present = any(_PRESENT.search(one.raw) for one in headings)
        self.rank = (1 if is_past else 0) if is_present else 2  # how far it is from what goes on now

    def ordered(self) -> list[_Text]:
        """The newest rows of a table after other lines, but before what is struck out or ticked."""
        dates = {one: row[1] for one in self.lines if (row := _ROW.match(one.raw))}
        struck = [one for one in self.lines if _STRUCK.match(one.raw)]
        others = [one for one in self.lines if one not in dates and one not in struck]
        return [*others, *sorted(dates, key=lambda one: dates[one], reverse=True), *struck]


def excerpt(
    path: Path, max_tokens: int, cloned: str | None = None, *, without: Sequence[str] = ()
) -> list[Line]:
    """The file if it is short; else what goes on now and the newest decisions, each part a line in turn."""
    parts = [_Part(())]
    for text in _read(path, cloned):
        if text.block in without:
            continue
        if text.level:
            parts.append(_Part([*(one for one in parts[-1].headings if one.level < text.level), text]))
        else:
            parts[-1].lines.append(text)
    left = max_tokens
    for rank in (0, 1, 2):
        ranked = [part for part in parts if part.lines and part.rank == rank]
        for turn in zip_longest(*(part.ordered() for part in ranked)):
            for part, line in zip(ranked, turn, strict=True):
                if line is not None and (left := left - tokens(line.text) - 1) >= 0:
                    part.taken.append(line)
    lines: list[Line] = []
    shown: set[tuple[str, str]] = set()
    for part in parts:
        taken = part.taken
        while taken and len(taken) < len(part.lines) and taken[-1].raw.rstrip("* ").endswith(":"):
            taken.pop()  # what it leads in was cut
        lines += [one for one in part.headings if taken and (one.raw, one.block) not in shown]
        lines += taken
        shown.update((one.raw, one.block) for one in part.headings if taken)
    if cut := [part for part in parts if len(part.taken) < len(part.lines)]:
        missing = sum(len(part.lines) - len(part.taken) for part in cut)
        headings = (next((one for one in part.headings if one.level == 2), None) for part in cut)
        names = dict.fromkeys(plain(one.raw.lstrip("# ")) for one in headings if one)
        of = f" of {', '.join(names)}" if names else ""
        rest = f"({missing} more lines{clipped(of, 200)}: {named(str(path))})"
        lines.append(Line(rest, reason="what was cut of the file", source=str(path)))
    return lines


# --- what a compaction took: the last request, how it stands, what is open, then the story

EARLIER = 2  # summaries before the last one
# Tokens: of all right after a compaction, of what others need of it then, and when a session goes on. Of 161
# facts that an agent needed after 12 real compactions, 1,850 tokens tell 81%.
AFTER, OTHERS, GOING_ON = 1_850, 350, 600
FILES, NAMES, COMMITS, PENDING, DECISIONS = 14, 3, 10, 14, 6
REQUEST, STATE, ENTRY, DONE = 500, 900, 220, 90  # characters
SHORTEST = 40  # what would be cut to less is left out
_LENGTHS = range(0, 8_000, 8)
TAIL_BYTES = 1 << 18
SLACK = timedelta(seconds=5)  # between the clocks of a hook and of a transcript
_BEGINS = ("Asked: ", "Plan: ", "Given: ", "Went on with: ")
_ENDS = ("Answered: ", "Last said: ")
_DECIDES = ("Answer: ", "Refused: ")


def compactions(situation: Situation) -> list[Line]:
    """The last compaction of this session in full, those before it in a line each."""
    if situation.session is None:
        return []
    from claude_memory.errors import InvalidInput
    from claude_memory.summaries.shelf import Shelf

    try:
        kept = Shelf(situation.home).of(situation.session)[-1 - EARLIER :]
    except InvalidInput:
        return []
    last = kept[-1] if kept else None
    fresh = _from_transcript(situation, str(last.document.get("timestamp", "")) if last else "")
    summary = fresh if fresh is not None else last.summary if last else None
    if summary is None:
        return []
    id_ = last.id if last and fresh is None else ""
    room = GOING_ON
    if situation.source == "compact":
        room = AFTER - (OTHERS if identity(situation) else 0)
    lines = [Line(text, reason="the last compaction", source=id_) for text in summary_lines(summary, room)]
    for one in reversed(kept[:-1] if fresh is None else kept[-EARLIER:]):
        text = f"- Before that: {quoted(one.executive, ENTRY)} [{one.id}]"
        lines.append(Line(text, reason="an earlier compaction", source=one.id))
    if last:
        lines.append(Line(f"In full: get_summary, or `claude-memory summary {last.id}`.", source=last.id))
    return lines


def summary_lines(summary: Mapping[str, Any], room: int) -> list[str]:
    """What a summary tells within so many tokens."""
    told = summary.get("important_context", ())
    # What was typed while the agent worked is often handed over once more as a prompt.
    story = list({text.partition(": ")[2] or text: text for text in reversed(told)}.values())[::-1]
    begun = [place for place, text in enumerate(story) if text.startswith(_BEGINS)]
    request = story.pop(begun[-1]) if begun else ""
    state = _state(str(summary.get("executive", "")), story)
    lines = list(_present(summary, request, state))
    decided = [text for text in story if text.startswith(_DECIDES)]
    if decided:
        said = (quoted(text.partition(": ")[2], ENTRY) for text in decided[-DECISIONS:])
        lines.append(f"Decided: {'; '.join(said)}")
    rest = [text for text in story if text not in decided]
    rest += [f"{one.get('error')}: {one.get('solution')}" for one in summary.get("error_solutions", ())]
    return lines + _story(rest, room - _size(lines))


def _state(executive: str, story: list[str]) -> str:
    """How it stands; the agent's last words are taken out of the story for it, for they stand there whole."""
    _, mark, state = executive.rpartition("How it stands: ")
    if not mark:
        return executive  # a language model's has no such part
    state = state.partition(" Open: ")[0]
    said = story[-1].partition(": ")[2] if story and story[-1].startswith(_ENDS) else ""
    outcome, _, words = state.partition(": ")
    if said and words and said.startswith(words.rstrip("…")[:SHORTEST]):
        story.pop()
        return f"{outcome}: {said}"
    return state


def _present(summary: Mapping[str, Any], request: str, state: str) -> Iterator[str]:
    """Where things stand: the request at work, the state, what is open, files, what is done."""
    from claude_memory.understand.calls import is_scratch

    mark, _, words = request.partition(": ")
    if words:
        yield f"{'Last asked' if mark == 'Asked' else mark}: {quoted(words, REQUEST)}"
    if state:
        yield f"How it stands: {quoted(state, STATE)}"
    if pending := summary.get("tasks_pending", ())[:PENDING]:
        yield f"Open: {'; '.join(quoted(text, ENTRY) for text in pending)}"
    # Files of a folder together, each with the names that its edits define, the newest first.
    folders: dict[str, list[str]] = {}
    files = [one for one in summary.get("files_modified", ()) if not is_scratch(str(one.get("path")))]
    for file in files[:FILES]:
        folder, slash, name = str(file.get("path")).rpartition("/")
        names = [str(name) for name in file.get("definitions", ())][: -1 - NAMES : -1]
        defined = f" ({quoted(', '.join(names), DONE)})" if names else ""
        folders.setdefault(folder + slash, []).append(named(name) + defined)
    if folders:
        told = (
            named(folder) + own[0] if len(own) == 1 else f"{named(folder or './')}: {', '.join(own)}"
            for folder, own in folders.items()
        )
        yield f"Files in flight: {'; '.join(told)}"
    if done := summary.get("tasks_completed", ())[-COMMITS:]:
        yield f"Done: {'; '.join(quoted(text, DONE) for text in done)}"


def _story(texts: Sequence[str], room: int) -> list[str]:
    """What was said, oldest first, cut to fit: the last exchange least, those before it ever more."""
    weighted, back = list[tuple[str, float]](), 1
    for text in reversed(texts):
        weighted.insert(0, (text, 1 / back))
        back += text.startswith(_BEGINS)

    def shown(length: int) -> list[tuple[str, float]]:
        return [(text, share) for text, share in weighted if length * share >= min(SHORTEST, len(text))]

    def cut(entries: Sequence[tuple[str, float]], length: int) -> list[str]:
        return [f"- {_said(text, int(length * share))}" for text, share in entries]

    fitting = bisect_right(_LENGTHS, room, key=lambda length: _size(cut(shown(length), length))) - 1
    entries = shown(_LENGTHS[max(fitting, 0)])  # what is left out leaves room for the others
    longest = bisect_right(_LENGTHS, room, key=lambda length: _size(cut(entries, length))) - 1
    return cut(entries, _LENGTHS[max(longest, 0)])


def _said(text: str, most: int) -> str:
    mark, colon, words = text.partition(": ")
    is_mark = colon and len(mark) < 25 and mark[:1].isupper() and mark.replace(" ", "").isalpha()
    return f"{mark}: {quoted(words, most)}" if is_mark else quoted(text, most)


def _size(lines: Sequence[str]) -> int:
    return sum(tokens(line) + 1 for line in lines)


def _from_transcript(situation: Situation, summed_up: str) -> Mapping[str, Any] | None:
    """The summary of the transcript's open end, if something was said in it that no summary holds."""
    path = Path(situation.transcript)
    if situation.source != "compact" or not situation.transcript or not _grew(path, summed_up):
        return None
    from claude_memory.errors import InvalidInput
    from claude_memory.redact.erasure import without
    from claude_memory.summaries.stretches import open_material

    try:
        summary = open_material(path, situation.settings).summary
    except (InvalidInput, OSError):
        return None
    # An agent's own file may still say what was erased.
    erased = situation.store.memories.erased_sentences(situation.project.id)
    return {name: without(value, erased, pieces=True) for name, value in summary.items()}


def _grew(path: Path, summed_up: str) -> bool:
    """Whether a person or the agent said something after the last summary was made."""
    from claude_memory.transcripts.model import moment_of
    from claude_memory.transcripts.sources import json_object

    until = moment_of(summed_up)
    try:
        with path.open("rb") as handle:
            handle.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = handle.read().splitlines()
    except OSError:
        return False
    for raw in reversed(lines):
        line = json_object(raw) or {}
        if line.get("type") in ("user", "assistant") and not line.get("isCompactSummary"):
            at = moment_of(line.get("timestamp"))
            return until is None or (at is not None and at > until + SLACK)
    return until is None
