"""Keeps store and plain files together: which files are read for whom, within a bound of time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.model import Project, ProjectId, ProjectIdentity, Scope, Trust
from claude_memory.notes import blocks, buffer, danger_zone, index, journal, pieces
from claude_memory.notes.file_edits import edit, one_line
from claude_memory.notes.index import FileSource
from claude_memory.notes.places import ON_DEMAND, PersonFiles, ProjectFiles, project_files
from claude_memory.notes.project_documents import ProjectDocuments
from claude_memory.notes.reading import MAX_BYTES
from claude_memory.notes.session_log import SessionLine, day_files
from claude_memory.platform.layout import FOLDER
from claude_memory.settings import Settings
from claude_memory.store.protocol import Store

NOTES = (".md", ".markdown", ".mdx")
_SKIPPED = ("node_modules", "__pycache__")


@dataclass(frozen=True, slots=True)
class Keeper:
    """The plain files of one home, and the store that knows them."""

    home: Path
    store: Store
    settings: Settings
    clean: Callable[[str], str]

    def sync(
        self,
        project: Project | None,
        root: Path,
        *,
        now: datetime,
        budget_seconds: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> index.Synced:
        """Bring the store up to what the files of the person, this project and the knowledge base say."""
        found = self._sources(project, root)
        if not found and not (self.home / "cache" / index.STATE).exists():
            return index.Synced()
        return index.sync(
            self.home,
            self.store,
            found,
            clean=self.clean,
            now=now,
            store_key=self.store_key,
            budget_seconds=budget_seconds,
            progress=progress,
        )

    def keep_up(self, *, now: datetime, on_command: bool = False) -> list[SessionLine]:
        """Write down what sessions did; condense those whose window is nearly full; mark what was said."""
        written = journal.keep_up(self.home, self.store, now=now, on_command=on_command)
        danger_zone.watch(self.home, self.store, self.settings, now=now)
        for project, root in self._at_work():
            buffer.fold(self.files_of(project.id, root), self.home)
        return written

    @property
    def store_key(self) -> str:
        """Names the store that the index state belongs to."""
        return index.store_key(self.home, self.settings.store)

    def files_of(self, project: ProjectId, root: Path) -> ProjectFiles:
        """The plain files of a project."""
        return project_files(self.home, project, root)

    def shelf_of(self, project: ProjectId, root: Path) -> ProjectDocuments:
        """The documents of a project, to be written."""
        return ProjectDocuments(self.files_of(project, root), self.home)

    def knowledge_folders(self) -> list[Path]:
        """The folders of notes, as set; those that are there or not."""
        return [Path(name).expanduser().absolute() for name in self.settings.knowledge]

    def add_note(self, name: str, text: str, *, by_agent: bool) -> Path:
        """Add to a note of the knowledge base, or begin it; what agents add is marked as theirs."""
        folders = self.knowledge_folders()
        title, told = one_line(self.clean(name)), self.clean(text).strip()
        stem = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())[:80]
        if not folders or not stem or not told:
            raise InvalidInput("a note needs a name, a text and a knowledge folder (setting `knowledge`)")
        path = folders[0] / f"{stem}.md"

        def change(before: str) -> str:
            body = before or f"# {title}\n"
            if by_agent:
                present = blocks.content(body, buffer.BY_AGENTS)
                lines = [*present, f"- {one_line(told)}"]
                return blocks.updated(
                    body, buffer.BY_AGENTS, lines, heading=buffer.HEADINGS[buffer.BY_AGENTS]
                )
            return f"{body.rstrip()}\n\n{told}\n"

        edit(path, change, home=self.home)
        return path

    def _sources(self, project: Project | None, root: Path) -> list[FileSource]:
        found: list[FileSource] = []
        projects = [(project, root)] if project is not None else list(self._at_work())
        for each, place in projects:
            files = self.files_of(each.id, place)
            if files.all():
                found += _of_project(files, each.id, place)
        folders = [folder for folder in self.knowledge_folders() if folder.is_dir()]
        if folders or _has_own_files(self.home):
            own = self._own_project()
            found += _of_person(self.home, own, self.store.projects())
            found += [_of_knowledge(folder, own) for folder in folders]
        return found

    def _own_project(self) -> ProjectId:
        """What belongs to the person and no project still needs one to stand under."""
        path = str(self.home)
        return self.store.project_for(ProjectIdentity((f"path:{path}",), self.home.name, path)).id

    def _at_work(self) -> Iterator[tuple[Project, Path]]:
        """Every project that has files."""
        for project in self.store.projects():
            root = Path(project.path)
            if (self.home / "projects" / project.id).is_dir() or (root / FOLDER).is_dir():
                yield project, root


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
        elif (
            entry.name.lower().endswith(NOTES)
            and entry.name not in ON_DEMAND
            and entry.stat().st_size <= MAX_BYTES
        ):
            yield Path(entry.path)


def _of_person(home: Path, own: ProjectId, projects: Sequence[Project]) -> list[FileSource]:
    """MEMORY.md, reflections and logs go with the person; a line that names its project belongs there."""
    files = PersonFiles(home)
    names = Counter(project.name for project in projects)
    named = {project.name: project.id for project in projects if names[project.name] == 1}
    named |= {project.id: project.id for project in projects}
    return [
        FileSource(list_paths, read, own, Trust.USER, Scope.USER, (prefix,), projects=named)
        for list_paths, read, prefix in (
            (lambda: filter(Path.is_file, [files.memory]), pieces.of_memory_file, str(files.memory)),
            (
                lambda: filter(Path.is_file, [files.reflections]),
                pieces.of_reflections,
                str(files.reflections),
            ),
            (lambda: day_files(home), pieces.of_session_log, str(files.sessions) + os.sep),
        )
    ]


def _of_project(files: ProjectFiles, project: ProjectId, root: Path) -> list[FileSource]:
    """The project's own files; those that came with a clone are nobody's word yet."""

    def of_base(base: Path, trust: Trust) -> FileSource:
        single = ProjectFiles(base, files.kept)
        return FileSource(
            lambda: [path for path in single.all() if single.inside(path)],
            pieces.of_project_file,
            project,
            trust,
            Scope.PROJECT,
            tuple(str(base / name) for name in ("MEMORY.md", "memory" + os.sep, "tasks" + os.sep)),
            root=base,
            shown_from=root,
        )

    return [of_base(files.base, Trust.USER), *(of_base(base, Trust.IMPORTED) for base in files.imported)]


def _of_knowledge(folder: Path, project: ProjectId) -> FileSource:
    """A folder of notes that the person keeps for everything they do."""
    return FileSource(
        lambda: notes_in(folder),
        pieces.of_knowledge,
        project,
        Trust.USER,
        Scope.USER,
        (str(folder) + os.sep,),
        root=folder,
        shown_from=folder.parent,
    )


def _has_own_files(home: Path) -> bool:
    files = PersonFiles(home)
    return files.memory.is_file() or files.reflections.is_file() or any(day_files(home))
