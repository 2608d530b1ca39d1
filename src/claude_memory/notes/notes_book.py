"""The plain files of the person, of projects and of the knowledge base: which are read, what is written.

What `memory.notes` gives, and what the drain keeps up. What is written here is cleaned of secrets first, and
read into the store at once; a busy store leaves that to the next drain.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.lifecycle.drafting import clean
from claude_memory.model import Project, ProjectId, ProjectIdentity, Scope, Trust
from claude_memory.notes import blocks, buffer, index, person_files, places
from claude_memory.notes.index import FileSource
from claude_memory.notes.journal import Journal
from claude_memory.notes.places import ON_DEMAND, ProjectFiles, files_under, project_files
from claude_memory.notes.project_documents import ProjectDocuments, Proposal
from claude_memory.notes.text_files import MAX_BYTES, FileProblem, Lines, edit, one_line, read_lines
from claude_memory.platform import project as projects
from claude_memory.platform.files import FOLDER
from claude_memory.settings import Settings
from claude_memory.store.base import Store

NOTES = (".md", ".markdown", ".mdx")
SYNC_SECONDS = 2.0
_SKIPPED = ("node_modules", "__pycache__")


@dataclass(frozen=True, slots=True)
class KnowledgeFolder:
    """A folder of notes, and what of it is indexed."""

    folder: Path
    exists: bool
    notes: int
    indexed: int
    pieces: int


@dataclass(frozen=True, slots=True)
class NotesBook:
    """Files that people and agents write: of the person, of one project, and of all of a home."""

    home: Path
    store: Store
    settings: Settings
    project: Project
    root: Path

    @property
    def files(self) -> ProjectFiles:
        return project_files(self.home, self.project.id, self.root)

    @property
    def documents(self) -> ProjectDocuments:
        """The project's documents, to be written."""
        return ProjectDocuments(self.files, self.home)

    # --- store and files kept together

    def sync(self) -> index.Synced:
        """Bring the files up to the last sessions and the store up to the files, whatever time it takes."""
        self.keep_up(on_command=True)
        return self.read_files()

    def keep_up(self, *, on_command: bool = False) -> None:
        """Write down what sessions did; condense those whose window is nearly full; mark what was said."""
        now = datetime.now(UTC)
        journal = Journal(self.home, self.store, on_command)
        journal.keep_up(now)
        journal.watch(self.settings, now)
        for project, root in self._at_work():
            ProjectDocuments(project_files(self.home, project.id, root), self.home).fold_buffer()

    def read_files(self, *, budget_seconds: float | None = None) -> index.Synced:
        """Bring the store up to what the files of the person, this project and the knowledge base say."""
        state = index.FileIndex(self.home, self.settings.store)
        sources = self._sources()
        if not sources and not state.known:
            return index.Synced()
        return state.sync(self.store, sources, budget_seconds)

    def knowledge_folders(self) -> list[Path]:
        """The folders of notes, as set; those that are there or not."""
        return [Path(name).expanduser().absolute() for name in self.settings.knowledge]

    def _at_work(self) -> Iterator[tuple[Project, Path]]:
        """Every project that has files."""
        for project in self.store.projects():
            root = Path(project.path)
            if (self.home / "projects" / project.id).is_dir() or (root / FOLDER).is_dir():
                yield project, root

    def _sources(self) -> list[FileSource]:
        """Which files are read, and whose word they are."""
        sources: list[FileSource] = []
        for project, root in [(self.project, self.root)] if self.root != self.home else self._at_work():
            files = project_files(self.home, project.id, root)
            # Those that came with a clone are nobody's word yet.
            trusts = {files.base: Trust.USER, **dict.fromkeys(files.imported, Trust.IMPORTED)}
            if files.all():
                sources += (_of_project(base, project.id, trust, root) for base, trust in trusts.items())
        own = [self.home / "MEMORY.md", self.home / person_files.REFLECTIONS]
        own = [path for path in (*own, *person_files.session_logs(self.home)) if path.is_file()]
        folders = [folder for folder in self.knowledge_folders() if folder.is_dir()]
        if own or folders:
            # What belongs to the person and no project still needs one to stand under.
            path = str(self.home)
            id_ = self.store.project_for(ProjectIdentity((f"path:{path}",), self.home.name, path)).id
            prefixes = tuple(
                f"{self.home}{os.sep}{name}" for name in ("MEMORY.md", "reflections.", "sessions/")
            )
            projects = self._projects_by_name()
            sources.append(FileSource(own, id_, Trust.USER, Scope.USER, prefixes, projects=projects))
            sources += [_of_knowledge(folder, id_) for folder in folders]
        return sources

    def _projects_by_name(self) -> dict[str, ProjectId]:
        """A line of the person's files that names its project belongs there; a name of two is none's."""
        projects = self.store.projects()
        names = Counter(project.name for project in projects)
        by_name = {project.name: project.id for project in projects if names[project.name] == 1}
        return by_name | {project.id: project.id for project in projects}

    # --- what people and agents write on purpose

    def sessions(
        self, days: int, *, all_projects: bool = False
    ) -> tuple[Sequence[person_files.SessionLine], Sequence[FileProblem]]:
        """The last days of the session log, and lines of it that cannot be read."""
        wanted = None if all_projects else self.project.id
        return person_files.recent_sessions(self.home, today=_today(), days=days, project=wanted)

    def add_session(
        self, text: str, *, title: str = "", **lists: Sequence[str]
    ) -> tuple[Path, person_files.SessionLine]:
        """Add a line to today's session log; `lists` are decisions, artifacts and open threads."""
        now, summary = datetime.now().astimezone(), one_line(clean(text))
        line = person_files.SessionLine(
            date=f"{now:%Y-%m-%d}",
            session=clean(title) if title else summary[:80],
            time=f"{now:%H:%M}",
            summary=summary,
            project=self.project.id,
            session_id=os.environ.get("CLAUDE_MEMORY_SESSION", ""),
            **{name: tuple(map(clean, texts)) for name, texts in lists.items()},  # type: ignore[arg-type]
        )
        return self._written(person_files.append_session(self.home, line)), line

    def reflect(self, type_: str, text: str, *, by_agent: bool) -> tuple[Path, person_files.Piece]:
        home, now = self.home, datetime.now().astimezone()
        made = person_files.add_reflection(
            home, type_, clean(text), project=self.project.id, by_agent=by_agent, now=now
        )
        return self._written(home / person_files.REFLECTIONS), made

    def add_lesson(self, text: str, *, by_agent: bool) -> tuple[Path, str]:
        content = clean(text)
        if not content.strip():
            raise InvalidInput("a lesson needs a text")
        self.documents.add_dated(blocks.AGENT_LESSONS if by_agent else blocks.LESSONS, [content], _today())
        return self._written(self.files.lessons), content

    def decide(self, text: str, why: str, *, by_agent: bool) -> tuple[Path, str, str]:
        """Add a decision and its reason to the table in the project's MEMORY.md."""
        what, reason = clean(text), clean(why)
        self.documents.add_decision(what, reason, day=_today(), by_agent=by_agent)
        return self._written(self.files.memory), what, reason

    def buffer(self) -> Lines:
        return read_lines(self.files.buffer)

    def add_to_buffer(self, text: str, *, by_agent: bool) -> tuple[Path, str]:
        content = one_line(clean(text))
        session = buffer.session_name(os.environ.get("CLAUDE_MEMORY_SESSION", ""))
        entry = buffer.BufferEntry(datetime.now(UTC), buffer.NOTE, content, session)
        name = blocks.AGENT_NOTES if by_agent else blocks.NOTES
        self.documents.change_block(name, lambda present: buffer.with_note(present, entry))
        return self._written(self.files.buffer), content

    def clear_buffer(self) -> bool:
        """Empty our blocks of the working buffer, once what was said there is remembered."""
        self._written(self.files.buffer)
        return self.documents.clear_buffer()

    def propose(self, days: int) -> Proposal:
        """What of the last days' logs belongs into MEMORY.md."""
        return self.documents.propose(since=_today() - timedelta(days=days - 1))

    def apply(self, proposal: Proposal) -> None:
        self.documents.apply(proposal)
        self._written(self.files.memory)

    def add_note(self, name: str, text: str, *, by_agent: bool) -> Path:
        """Add to a note of the knowledge base, or begin it; what agents add is marked as theirs."""
        folders = self.knowledge_folders()
        title, addition = one_line(clean(name)), clean(text).strip()
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
        return self._written(path)

    def knowledge(self) -> list[KnowledgeFolder]:
        known = index.FileIndex(self.home, self.settings.store).known
        rows = []
        for folder in self.knowledge_folders():
            there = [str(path) for path in notes_in(folder)]
            indexed = [known[path] for path in there if path in known]
            pieces = sum(len(file.memories) for file in indexed)
            rows.append(KnowledgeFolder(folder, folder.is_dir(), len(there), len(indexed), pieces))
        return rows

    def unapproved(self, *, repo: bool) -> list[Path]:
        """Files of the project's folder that came with a clone, and that the person never took over."""
        return places.unapproved(self.home, self.project.id, self.root, repo=repo)

    def prepare(self, layout: str | None) -> tuple[projects.Prepared, list[Path]]:
        """Give the project its own folder; what stands there is the person's word from now on.

        Returns the folder, and files that were brought back into it from their copies in the home.
        """
        done = projects.prepare(self.root, layout)
        places.approve(self.home, self.project.id, self.root)
        return done, places.bring_back(self.files)

    def _written(self, path: Path) -> Path:
        """Read what was just written; if the store is busy, the next drain does."""
        with contextlib.suppress(StoreFault):
            self.read_files(budget_seconds=SYNC_SECONDS)
        return path


def _of_project(base: Path, project: ProjectId, trust: Trust, root: Path) -> FileSource:
    paths = [path for path in files_under(base) if ProjectFiles(base, base).inside(path)]
    prefixes = tuple(str(base / name) for name in ("MEMORY.md", "memory" + os.sep, "tasks" + os.sep))
    return FileSource(paths, project, trust, Scope.PROJECT, prefixes, root=base, shown_from=root)


def _of_knowledge(folder: Path, project: ProjectId) -> FileSource:
    return FileSource(
        notes_in(folder),
        project,
        Trust.USER,
        Scope.USER,
        (str(folder) + os.sep,),
        root=folder,
        shown_from=folder.parent,
        by_name=False,
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


def _today() -> date:
    return datetime.now().astimezone().date()
