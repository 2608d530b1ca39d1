"""Sections of the start context that come from plain files: they stand even when the database is gone.

A person's own lines are handed on as they are; what a machine wrote, or what came with a clone, is
quoted as data. A long MEMORY.md gives its state and newest decisions, and says where the rest is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.context.moments import Line
from claude_memory.model import SearchScope
from claude_memory.notes import blocks
from claude_memory.notes.person_files import Reflection, memory_of_reflection, reflections
from claude_memory.notes.places import INVITATIONS, PersonFiles, ProjectFiles, project_files
from claude_memory.notes.text_files import read_lines
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
    person, project = PersonFiles(situation.home), files_of(situation)
    lines = excerpt(person.memory, PERSON_TOKENS)
    lines += excerpt(project.memory, PROJECT_TOKENS, without=_told_by_records(situation))
    for base in project.imported:
        lines += excerpt(base / "MEMORY.md", CLONED_TOKENS, ", from this repository's MEMORY.md")
    return lines + [
        Line(f"{path} exists: {purpose}. It is read only when a person asks for it.", source=str(path))
        for path, purpose in person.on_demand()
    ]


def insights(situation: Situation) -> list[Line]:
    """The last thirty reflections: those held most firmly first, then the newest."""

    newest = reversed(reflections(situation.home)[-MAX_REFLECTIONS:])
    last = {memory_of_reflection(situation.home, item): item for item in newest}
    held = situation.store.lifecycle.strengths(list(last)) if last else {}
    firmness = {id_: -1.0 if state.demoted else state.stability for id_, state in held.items()}
    ordered = sorted(last, key=lambda id_: firmness.get(id_, 0.0), reverse=True)
    return [Line(_insight(last[id_], situation), source="reflections.jsonl") for id_ in ordered]


def _insight(item: Reflection, situation: Situation) -> str:
    """A reflection; an agent's is quoted, with where it was noted: it is read in every project."""
    if not item.by_agent:
        return f"- {item.type}: {clipped(plain(item.content), REFLECTION_CHARACTERS)}"
    elsewhere = item.project and item.project != situation.project.id
    where = f" in project {named(item.project, 80)}" if elsewhere else ""
    return f"- {item.type}: {quoted(item.content, REFLECTION_CHARACTERS)}, from an agent{where}"


def buffer(situation: Situation) -> list[Line]:
    """The working buffer: what people wrote, then entries, newest first.

    Of earlier prompts a new session is told what settled something, and what came after the last record.
    """
    files = files_of(situation)
    lines = [one for one in _read(files.buffer) if not one.raw.startswith("# ")]
    if situation.source in ("startup", "clear"):
        ended = _last_record(situation)
        told = (
            (blocks.EXCHANGES, blocks.NEXT) if ended else (blocks.EXCHANGES,)
        )  # the section on work says it
        lines = [one for one in lines if one.block not in told]
        lines = [one for one in lines if not (prompt := _PROMPT.match(one.raw)) or prompt[1] > ended]
    own = [one for one in lines if not one.raw.startswith("- 2")]
    said = [one for one in reversed(lines) if one.raw.startswith("- 2")]
    paths = [base / "memory" / "working-buffer.md" for base in files.imported]
    cloned = [_line(one, path) for path in paths for one in _read(path, "")]
    return [*(_line(one, files.buffer) for one in (*own, *said)), *cloned]


def todo(situation: Situation) -> list[Line]:
    """What is to be done; what is done already is left out."""
    path, without = files_of(situation).todo, _told_by_records(situation)
    lines = [one for one in _read(path) if one.block not in without]
    return [_line(one, path) for one in lines if not one.raw.lstrip().startswith(("- [x]", "- [X]", "# "))]


def lessons(situation: Situation) -> list[Line]:
    """What went wrong once and need not again."""
    path, without = files_of(situation).lessons, _told_by_records(situation)
    lines = [one for one in _read(path) if one.block not in without and not one.raw.startswith("# ")]
    return [_line(one, path) for one in lines]


def _told_by_records(situation: Situation) -> Sequence[str]:
    """Blocks that say what the section on work says; without a record of a session they are all there is.

    On twelve real starts a third of the lines was old tasks, which records of sessions tell better.
    """
    return blocks.FROM_SESSIONS if _last_record(situation) else ()


def _last_record(situation: Situation) -> str:
    """The minute at which the last session ended that a record tells of; empty if there is none."""
    scope = SearchScope((situation.project.id,))
    found = situation.store.archive.session_records(scope, 1)
    return str(found[0][1]["ended"])[:16] if found else ""


def files_of(situation: Situation) -> ProjectFiles:
    """The plain files of the situation's project."""
    return project_files(situation.home, situation.project.id, situation.project_root)


# --- a file's lines


@dataclass(frozen=True, slots=True)
class _Text:
    """A line as it stands in its file, and as it may be handed on."""

    raw: str
    shown: str
    block: str = ""  # the machine's block it stands in


def _read(path: Path, cloned: str | None = None) -> list[_Text]:
    """A file's lines as they may be handed on: the machine's own marked as quotes, its marks left out.

    Of a file that came with a clone all is quoted, and `cloned` says so behind each line.
    """
    texts = [text for _, text in read_lines(path).lines]
    marks: set[int] = set()
    names: dict[int, str] = {}
    machine = set(range(len(texts))) if cloned is not None else set()
    for block in blocks.find(texts):
        marks |= {block.first, block.last}
        names |= dict.fromkeys(range(block.first, block.last), block.name)
        if block.name not in blocks.BY_PERSON:
            human = list(block.human)
            for place in range(block.first + 1, block.last):
                if texts[place] in human:
                    human.remove(texts[place])
                else:
                    machine.add(place)
    found = []
    for place, raw in enumerate(texts):
        text = _WHOSE.sub("", raw)
        shown = quoted(text, _LINE_CHARACTERS) if place in machine else clipped(plain(text), _LINE_CHARACTERS)
        is_said = place not in marks and raw != INVITATIONS.get(path.name) and not _RULE.fullmatch(raw)
        if shown and is_said:
            found.append(_Text(raw, shown + (cloned or ""), names.get(place, "")))
    return found


def _line(text: _Text, path: Path) -> Line:
    heading = _HEADING.match(text.raw)
    return Line(text.shown, source=str(path), level=len(heading[1]) if heading else 0)


# --- what a long file gives

_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|\|[\s|:-]+\||```\w*)\s*")
_HEADING = re.compile(r"(#{1,6}) ")
_PRESENT = re.compile(
    r"(?i)\b(?:state|status|current|active|now|workstreams?|progress|next|open|to ?do|decisions?|blockers?)\b"
)
_PAST = re.compile(r"(?i)\b(?:complete[d]?|done|finished|paused|archived?|dropped|shipped)\b")
_STRUCK = re.compile(r"^\s*[-*] (?:~~|\[[xX]\])")
_ROW = re.compile(r"\|\s*(\d{4}-\d\d-\d\d)")


@dataclass(slots=True)
class _Part:
    """What stands between two headings, with the headings above it."""

    headings: tuple[_Text, ...]
    lines: list[_Text] = field(default_factory=list)

    @property
    def rank(self) -> int:
        """How far it is from what goes on now."""
        if not any(_PRESENT.search(one.raw) for one in self.headings):
            return 2
        return 1 if _PAST.search(self.headings[-1].raw) else 0


def excerpt(
    path: Path, max_tokens: int, cloned: str | None = None, *, without: Sequence[str] = ()
) -> list[Line]:
    """The file if it is short; else what goes on now and the newest decisions, each part a line in turn."""
    parts = list(_parts([text for text in _read(path, cloned) if text.block not in without]))
    taken: list[list[_Text]] = [[] for _ in parts]
    left = max_tokens
    for rank in (0, 1, 2):
        places = [place for place, part in enumerate(parts) if part.rank == rank]
        for turn in zip_longest(*(parts[place].lines for place in places)):
            for place, text in zip(places, turn, strict=True):
                if text is not None and (left := left - tokens(text.shown) - 1) >= 0:
                    taken[place].append(text)
    lines: list[Line] = []
    shown: list[_Text] = []
    for part, texts in zip(parts, taken, strict=True):
        while texts and len(texts) < len(part.lines) and texts[-1].raw.rstrip("* ").endswith(":"):
            texts.pop()  # what it leads in was cut
        fresh = [one for one in part.headings if texts and one not in shown]
        shown += fresh
        lines += [_line(text, path) for text in (*fresh, *texts)]
    cut = [part for part, texts in zip(parts, taken, strict=True) if len(texts) < len(part.lines)]
    return lines + ([_rest(path, cut, parts, taken)] if cut else [])


def _parts(texts: Sequence[_Text]) -> Iterator[_Part]:
    above: list[_Text] = []
    part = _Part(())
    for text in texts:
        if heading := _HEADING.match(text.raw):
            if part.lines:
                yield _ordered(part)
            level = len(heading[1])
            above = [one for one in above if len(_HEADING.match(one.raw)[1]) < level] + [text]  # type: ignore[index]
            part = _Part(tuple(above))
        else:
            part.lines.append(text)
    if part.lines:
        yield _ordered(part)


def _ordered(part: _Part) -> _Part:
    """The newest rows of a table first; what is struck out or ticked last."""
    rows = sorted((one for one in part.lines if _ROW.match(one.raw)), key=_date, reverse=True)
    others = [one for one in part.lines if not _ROW.match(one.raw)]
    struck = [one for one in others if _STRUCK.match(one.raw)]
    part.lines = [*(one for one in others if one not in struck), *rows, *struck]
    return part


def _date(text: _Text) -> str:
    found = _ROW.match(text.raw)
    return found[1] if found else ""


def _rest(path: Path, cut: Sequence[_Part], parts: Sequence[_Part], taken: Sequence[Sequence[_Text]]) -> Line:
    """Which parts were cut, and where they stand."""
    missing = sum(len(part.lines) - len(texts) for part, texts in zip(parts, taken, strict=True))
    headings = (next((one for one in part.headings if one.raw.startswith("## ")), None) for part in cut)
    names = dict.fromkeys(plain(one.raw.lstrip("# ")) for one in headings if one)
    of = f" of {', '.join(names)}" if names else ""
    text = f"({missing} more lines{clipped(of, 200)}: {named(str(path))})"
    return Line(text, reason="what was cut of the file", source=str(path))
