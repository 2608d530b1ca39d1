"""Keeps store and plain files together: which files are read for whom, within a bound of time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from claude_memory.errors import InvalidInput
from claude_memory.model import Project, ProjectId, ProjectIdentity, Scope, Trust
from claude_memory.notes import blocks, danger_zone, index, journal, pieces
from claude_memory.notes.index import FileSource
from claude_memory.notes.person_files import SessionLine
from claude_memory.notes.places import ON_DEMAND, PersonFiles, ProjectFiles, project_files
from claude_memory.notes.project_documents import ProjectDocuments
from claude_memory.notes.text_files import MAX_BYTES, edit, one_line
from claude_memory.platform.project import FOLDER
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
        self, project: Project | None, root: Path, *, now: datetime, budget_seconds: float | None = None
    ) -> index.Synced:
        """Bring the store up to what the files of the person, this project and the knowledge base say."""
        sources = self._sources(project, root)
        if not sources and not self.index.known:
            return index.Synced()
        return index.sync(
            self.home,
            self.store,
            sources,
            clean=self.clean,
            now=now,
            store_setting=self.settings.store,
            budget_seconds=budget_seconds,
        )

    @property
    def index(self) -> index.FileIndex:
        """Which files the store knows."""
        return index.FileIndex(self.home, self.settings.store)

    def keep_up(self, *, now: datetime, on_command: bool = False) -> list[SessionLine]:
        """Write down what sessions did; condense those whose window is nearly full; mark what was said."""
        written = journal.keep_up(self.home, self.store, now=now, on_command=on_command)
        danger_zone.watch(self.home, self.store, self.settings, now=now)
        for project, root in self._at_work():
            self.documents_of(project.id, root).fold_buffer()
        return written

    def files_of(self, project: ProjectId, root: Path) -> ProjectFiles:
        """The plain files of a project."""
        return project_files(self.home, project, root)

    def documents_of(self, project: ProjectId, root: Path) -> ProjectDocuments:
        """The documents of a project, to be written."""
        return ProjectDocuments(self.files_of(project, root), self.home)

    def knowledge_folders(self) -> list[Path]:
        """The folders of notes, as set; those that are there or not."""
        return [Path(name).expanduser().absolute() for name in self.settings.knowledge]

    def add_note(self, name: str, text: str, *, by_agent: bool) -> Path:
        """Add to a note of the knowledge base, or begin it; what agents add is marked as theirs."""
        folders = self.knowledge_folders()
        title, addition = one_line(self.clean(name)), self.clean(text).strip()
        stem = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())[:80]
        if not folders or not stem or not addition:
            raise InvalidInput("a note needs a name, a text and a knowledge folder (setting `knowledge`)")

        def change(before: str) -> str:
            body = before or f"# {title}\n"
            if not by_agent:
                return f"{body.rstrip()}\n\n{addition}\n"
            present = blocks.content(body, blocks.AGENT_NOTES)
            return blocks.updated(body, blocks.AGENT_NOTES, [*present, f"- {one_line(addition)}"])

        path = folders[0] / f"{stem}.md"
        edit(path, change, home=self.home)
        return path

    def _at_work(self) -> Iterator[tuple[Project, Path]]:
        """Every project that has files."""
        for project in self.store.projects():
            root = Path(project.path)
            if (self.home / "projects" / project.id).is_dir() or (root / FOLDER).is_dir():
                yield project, root

    # --- which files are read, and whose word they are

    def _sources(self, project: Project | None, root: Path) -> list[FileSource]:
        sources: list[FileSource] = []
        for each, place in [(project, root)] if project is not None else self._at_work():
            files = self.files_of(each.id, place)
            if files.all():
                sources.append(_of_project(files, files.base, each.id, Trust.USER, place))
                # Those that came with a clone are nobody's word yet.
                sources += [
                    _of_project(files, base, each.id, Trust.IMPORTED, place) for base in files.imported
                ]
        folders = [folder for folder in self.knowledge_folders() if folder.is_dir()]
        person = PersonFiles(self.home)
        if folders or person.memory.is_file() or person.reflections.is_file() or person.session_logs():
            # What belongs to the person and no project still needs one to stand under.
            path = str(self.home)
            identity = ProjectIdentity((f"path:{path}",), self.home.name, path)
            own = self.store.project_for(identity).id
            sources += self._of_person(person, own)
            sources += [_of_knowledge(folder, own) for folder in folders]
        return sources

    def _of_person(self, files: PersonFiles, own: ProjectId) -> Iterator[FileSource]:
        """MEMORY.md, reflections and logs go with the person; a line that names its project belongs there."""
        projects = self.store.projects()
        names = Counter(project.name for project in projects)
        named = {project.name: project.id for project in projects if names[project.name] == 1}
        named |= {project.id: project.id for project in projects}
        for path, read in (
            (files.memory, pieces.of_memory_file),
            (files.reflections, pieces.of_reflections),
            (files.sessions, pieces.of_session_log),
        ):
            single = path != files.sessions
            paths = [path] if single and path.is_file() else [] if single else files.session_logs()
            prefix = str(path) if single else f"{path}{os.sep}"
            yield FileSource(paths, read, own, Trust.USER, Scope.USER, (prefix,), projects=named)


def _of_project(files: ProjectFiles, base: Path, project: ProjectId, trust: Trust, root: Path) -> FileSource:
    single = ProjectFiles(base, files.kept)
    return FileSource(
        [path for path in single.all() if single.inside(path)],
        pieces.of_project_file,
        project,
        trust,
        Scope.PROJECT,
        tuple(str(base / name) for name in ("MEMORY.md", "memory" + os.sep, "tasks" + os.sep)),
        root=base,
        shown_from=root,
    )


def _of_knowledge(folder: Path, project: ProjectId) -> FileSource:
    """A folder of notes that the person keeps for everything they do."""
    return FileSource(
        notes_in(folder),
        pieces.of_knowledge,
        project,
        Trust.USER,
        Scope.USER,
        (str(folder) + os.sep,),
        root=folder,
        shown_from=folder.parent,
    )


def notes_in(folder: Path) -> Iterable[Path]:
    """Every note below a folder: no hidden folders, no links, nothing huge."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        for name in sorted(names):
            path = Path(place, name)
            is_note = name.lower().endswith(NOTES) and name[0] != "." and name not in ON_DEMAND
            if is_note and not path.is_symlink() and path.stat().st_size <= MAX_BYTES:
                yield path
