"""Where indexed files come from: the home, a project, a knowledge base; and what each file's pieces are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from claude_memory.model import Kind, Project, ProjectId, Scope, Trust
from claude_memory.notes import markdown, reflections, session_log
from claude_memory.notes.pieces import Piece, of_memory_file, of_note, of_project_file
from claude_memory.notes.places import ON_DEMAND, PersonFiles, ProjectFiles
from claude_memory.notes.reading import MAX_BYTES, Lines

SUFFIXES = (".md", ".markdown", ".mdx")
_SKIPPED = ("node_modules", "__pycache__")
_REFLECTION_KINDS = {"pattern": Kind.PATTERN, "reflection": Kind.REFLECTION, "idea": Kind.IDEA}


@dataclass(frozen=True, slots=True)
class Source:
    """A set of files that are read alike and belong together."""

    list_paths: Callable[[], Iterable[Path]]
    read: Callable[[Path, Lines], tuple[list[Piece], str]]
    project: ProjectId
    trust: Trust
    scope: Scope
    prefixes: tuple[str, ...]
    root: Path | None = None
    by_name: Mapping[str, ProjectId] | None = None
    shown_from: Path | None = None
    lasting: tuple[str, ...] = ()  # files whose pieces stay remembered when they leave the file

    def paths(self) -> Iterable[Path]:
        """The files that are there now."""
        return self.list_paths()

    def pieces(self, path: Path, lines: Lines) -> tuple[list[Piece], str]:
        """What a file says, and the id it gives itself."""
        return self.read(path, lines)

    def owns(self, path: str) -> bool:
        """Whether a path belongs here, also when it is gone."""
        return path.startswith(self.prefixes)

    def lasts(self, path: str) -> bool:
        """Whether what a file said once stays true when the file says it no more."""
        return path.endswith(self.lasting) if self.lasting else False

    def is_there(self) -> bool:
        """Whether the folder itself can be seen."""
        return self.root is None or self.root.is_dir()

    def file_id(self, path: Path) -> str:
        """A name for a new file: its place."""
        return str(path)

    def project_of(self, piece: Piece) -> ProjectId:
        """The project a piece is about."""
        if self.by_name is None or not piece.topics:
            return self.project
        return self.by_name.get(piece.topics[0], self.project)

    def shown(self, path: Path) -> str:
        """The file as a person would name it."""
        if self.shown_from is not None and path.is_relative_to(self.shown_from):
            return path.relative_to(self.shown_from).as_posix()
        return str(path)


def of_person(home: Path, own: ProjectId, projects: Sequence[Project]) -> list[Source]:
    """MEMORY.md and reflections travel with the person; a session's line belongs to its project."""
    files = PersonFiles(home)
    names = Counter(project.name for project in projects)
    known = {project.name: project.id for project in projects if names[project.name] == 1}
    known |= {project.id: project.id for project in projects}
    return [
        Source(
            lambda: [path for path in (files.memory,) if path.is_file()],
            lambda _, lines: (of_memory_file(lines), ""),
            own,
            Trust.USER,
            Scope.USER,
            (str(files.memory),),
        ),
        Source(
            lambda: [path for path in (files.reflections,) if path.is_file()],
            lambda *_: (_reflections(home), ""),
            own,
            Trust.USER,
            Scope.USER,
            (str(files.reflections),),
        ),
        Source(
            lambda: session_log.files(home),
            lambda path, _: (_sessions(path), ""),
            own,
            Trust.AGENT,
            Scope.PROJECT,
            (str(files.sessions) + os.sep,),
            by_name=known,
        ),
    ]


def of_project(files: ProjectFiles, project: ProjectId, root: Path) -> list[Source]:
    """The project's own files; those that came with a clone are nobody's word yet."""
    found = []
    for base, trust in ((files.base, Trust.USER), *((base, Trust.IMPORTED) for base in files.imported)):
        single = ProjectFiles(base, files.kept)
        found.append(
            Source(
                lambda single=single: [path for path in single.all() if single.inside(path)],  # type: ignore[misc]
                lambda path, lines: (of_project_file(path, lines), ""),
                project,
                trust,
                Scope.PROJECT,
                tuple(str(base / name) for name in ("MEMORY.md", "memory" + os.sep, "tasks" + os.sep)),
                root=base,
                shown_from=root,
                lasting=("working-buffer.md",),
            )
        )
    return found


def of_knowledge(folder: Path, project: ProjectId) -> Source:
    """A folder of notes that the person keeps for everything they do."""
    return Source(
        lambda: notes_in(folder),
        _note,
        project,
        Trust.USER,
        Scope.USER,
        (str(folder) + os.sep,),
        root=folder,
        shown_from=folder.parent,
    )


def notes_in(folder: Path) -> Iterator[Path]:
    """Every note below a folder: no hidden folders, no links, nothing huge."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            if entry.name not in _SKIPPED:
                yield from notes_in(Path(entry.path))
        elif _is_note(entry.name) and entry.stat().st_size <= MAX_BYTES:
            yield Path(entry.path)


def _is_note(name: str) -> bool:
    return name.lower().endswith(SUFFIXES) and name not in ON_DEMAND


def _note(path: Path, lines: Lines) -> tuple[list[Piece], str]:
    own_id = markdown.parse(lines.lines, path.stem).id
    return of_note(lines), f"note:{own_id}" if own_id else ""


def _reflections(home: Path) -> list[Piece]:
    found, _ = reflections.read(home)
    return [
        Piece(
            item.key,
            _REFLECTION_KINDS[item.type],
            item.content[:120],
            item.content,
            item.line,
            created_at=_day(item.date),
            machine=item.by_agent,
            noted_in=item.project,
        )
        for item in found
    ]


def _sessions(path: Path) -> list[Piece]:
    found = []
    for line in session_log.read(path):
        parts = [line.summary]
        parts += [f"Decided: {text}" for text in line.decisions]
        parts += [f"Made: {', '.join(line.artifacts)}"] if line.artifacts else []
        parts += [f"Open: {text}" for text in line.open_threads]
        body = "\n".join(part for part in parts if part)
        if body:
            key = f"{line.session_id}:{line.through}" if line.through else body[:500]
            topics = (line.project,) if line.project else ()
            found.append(
                Piece(
                    key,
                    Kind.SUMMARY,
                    (line.session or line.summary)[:120],
                    body,
                    line.line,
                    topics,
                    created_at=_day(line.date, line.time),
                    session=line.session_id,
                )
            )
    return found


def _day(date: str, time: str = "") -> datetime | None:
    for text in (f"{date}T{time}", date):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
