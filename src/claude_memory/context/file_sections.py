"""Sections of the start context that come from plain files: they stand even when the database is gone.

A person's own lines are handed on as they are; what a machine wrote, or what came with a clone, is
quoted as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

from claude_memory.context.builder import Line, Situation
from claude_memory.context.repeats import Told, nothing_told
from claude_memory.notes import blocks, reflections, session_log
from claude_memory.notes.places import INVITATION, PersonFiles, ProjectFiles, project_files
from claude_memory.notes.reading import read_lines
from claude_memory.text.quotation import clipped, named, plain, quoted

SESSION_DAYS = 3
MAX_REFLECTIONS = 30
_LINE_CHARACTERS = 400
_WHOSE = re.compile(r" \(session [\w-]+\)$")
_OWN_BLOCKS = ("write-ahead", "decisions")  # a person's own words, written down by the machine


def identity(situation: Situation) -> list[Line]:
    """MEMORY.md of the person, then of the project; and that there are files to ask for."""
    person, project = PersonFiles(situation.home), _files(situation)
    lines = [Line(text) for text in _own(person.memory)]
    lines += [Line(text) for text in _own(project.memory)]
    for base in project.imported:
        lines += [Line(f"{text}, from this repository's MEMORY.md") for text in _all(base / "MEMORY.md")]
    lines += [
        Line(f"{path} exists: {purpose}. It is read only when a person asks for it.")
        for path, purpose in person.on_demand()
    ]
    return lines


def sessions(situation: Situation) -> list[Line]:
    """What the last sessions of this project were about, newest first; only the last one when going on."""
    found, _ = session_log.recent(
        situation.home, today=situation.now.date(), days=SESSION_DAYS, project=situation.project.id
    )
    found.sort(key=lambda line: not line.project)  # this project's first; the sort keeps the rest's order
    if situation.source in ("resume", "fork"):
        found = found[:1]
    return [Line(_session(line), anew=partial(_session, line)) for line in found]


def insights(situation: Situation) -> list[Line]:
    """The last thirty reflections: those held most firmly first, then the newest."""
    from claude_memory.store.lifecycle_protocol import lifecycle_of

    found, _ = reflections.read(situation.home)
    last = {reflections.memory_of(situation.home, item): item for item in reversed(found[-MAX_REFLECTIONS:])}
    held = lifecycle_of(situation.store).strengths(list(last)) if last else {}
    firmness = {id_: -1.0 if state.demoted else state.stability for id_, state in held.items()}
    ordered = sorted(last, key=lambda id_: firmness.get(id_, 0.0), reverse=True)
    return [Line(_insight(last[id_], situation)) for id_ in ordered]


def _insight(item: reflections.Reflection, situation: Situation) -> str:
    """A reflection; an agent's is quoted, with where it was noted: it is read in every project."""
    if not item.by_agent:
        return f"- {item.type}: {clipped(plain(item.content), 240)}"
    elsewhere = item.project and item.project != situation.project.id
    where = f" in project {named(item.project, 80)}" if elsewhere else ""
    return f"- {item.type}: {quoted(item.content, 240)}, from an agent{where}"


def buffer(situation: Situation) -> list[Line]:
    """The working buffer, newest entries first where there is no room for all."""
    files = _files(situation)
    lines = [line for line in _own(files.buffer) if not line.startswith("# ") and line != INVITATION]
    own = [line for line in lines if not line.startswith("- 2")]
    said = [_WHOSE.sub("", line) for line in lines if line.startswith("- 2")]
    foreign = [text for base in files.imported for text in _all(base / "memory" / "working-buffer.md")]
    return [Line(text) for text in (*own, *reversed(said), *foreign)]


def today(situation: Situation) -> list[Line]:
    """Lessons; for a session that goes on, also the day's log and the list of things to do."""
    files = _files(situation)
    lines = [Line(text) for text in _own(files.lessons)]
    if situation.source not in ("startup", "clear"):
        day = situation.now.astimezone().date()
        places = (files.daily(day), files.daily(day - timedelta(days=1)))
        log = next((place for place in places if place.is_file()), places[0])
        lines += [Line(text) for path in (log, files.todo) for text in _own(path)]
    return lines


def _files(situation: Situation) -> ProjectFiles:
    return project_files(situation.home, situation.project.id, situation.project_root)


def _session(line: session_log.SessionLine, told: Told = nothing_told) -> str:
    """A session in one line, without what is told elsewhere; empty if that was all of it."""
    decided = [text for text in line.decisions[:3] if not told(text)]
    threads = [text for text in line.open_threads[:3] if not told(text)]
    about = line.summary or line.session
    parts = [] if told(about) and line.decisions else [about]
    parts += [f"decided: {'; '.join(decided)}"] if decided else []
    parts += [f"open: {'; '.join(threads)}"] if threads else []
    said = quoted(" · ".join(parts), _LINE_CHARACTERS)
    return f"- {named(line.date, 20)} {named(line.time, 20)}: {said}" if said else ""


def _own(path: Path) -> Iterator[str]:
    """A file's lines as they may be handed on: the machine's own marked as quotes, its marks left out."""
    found = read_lines(path)
    texts = [text for _, text in found.lines]
    marks: set[int] = set()
    machine: set[int] = set()
    for block in blocks.find(texts):
        marks |= {block.first, block.last}
        if block.name not in _OWN_BLOCKS:
            human = list(block.human)
            for place in range(block.first + 1, block.last):
                if texts[place] in human:
                    human.remove(texts[place])
                else:
                    machine.add(place)
    for place, text in enumerate(texts):
        if place in marks:
            continue
        line = quoted(text, _LINE_CHARACTERS) if place in machine else clipped(plain(text), _LINE_CHARACTERS)
        if line:
            yield line


def _all(path: Path) -> Iterable[str]:
    """Every line of a file that came with a clone, as data."""
    for _, text in read_lines(path).lines:
        line = quoted(text, _LINE_CHARACTERS)
        if line:
            yield line
