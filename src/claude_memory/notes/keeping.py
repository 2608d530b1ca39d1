"""Keeps store and plain files together: which files are read for whom, within a bound of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from claude_memory.model import Project, ProjectId, ProjectIdentity, SearchScope
from claude_memory.notes import danger_zone, index, session_end, sources
from claude_memory.notes.places import PersonFiles, ProjectFiles, project_files
from claude_memory.notes.session_log import SessionLine
from claude_memory.platform.files import FILE_MODE, private_folder
from claude_memory.platform.layout import FOLDER
from claude_memory.settings import Settings
from claude_memory.store.protocol import EventFilter, Store

LOOK_SECONDS = 60
_LOOKED = "sessions-looked"


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
        knowledge: bool = True,
    ) -> index.Synced:
        """Bring the store up to what the files of the person, this project and the knowledge base say."""
        found = self._sources(project, root, knowledge=knowledge)
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

    def end_sessions(self, *, now: datetime) -> list[SessionLine]:
        """Write down the sessions that are over; condense those whose window is nearly full."""
        if not self._has_news(now):
            return []
        danger_zone.watch(self.home, self.store, self.settings, now=now)
        return session_end.end_sessions(self.home, self.store, now=now)

    @property
    def store_key(self) -> str:
        """Names the store that the index state belongs to."""
        return index.store_key(self.home, self.settings.store)

    def files_of(self, project: ProjectId, root: Path) -> ProjectFiles:
        """The plain files of a project."""
        return project_files(self.home, project, root)

    def knowledge_folders(self) -> list[Path]:
        """The folders of notes, as set; those that are there or not."""
        return [Path(name).expanduser().absolute() for name in self.settings.knowledge]

    def _sources(self, project: Project | None, root: Path, *, knowledge: bool) -> list[sources.Source]:
        found: list[sources.Source] = []
        projects = [(project, root)] if project is not None else list(self._at_work())
        for each, place in projects:
            files = self.files_of(each.id, place)
            if files.all():
                found += sources.of_project(files, each.id, place)
        folders = [folder for folder in self.knowledge_folders() if folder.is_dir()] if knowledge else []
        if folders or _has_own_files(self.home):
            own = self._own_project()
            found += sources.of_person(self.home, own, self._projects())
            found += [sources.of_knowledge(folder, own) for folder in folders]
        return found

    def _has_news(self, now: datetime) -> bool:
        """Whether anything happened since the last look; if not, a minute is soon enough to look again."""
        newest = self.store.events(SearchScope(None), EventFilter(), limit=1)
        if not newest:
            return False
        marker = private_folder(self.home / "cache") / _LOOKED
        seen = newest[0].id.encode()
        try:
            if marker.read_bytes() == seen and now.timestamp() - marker.stat().st_mtime < LOOK_SECONDS:
                return False
        except OSError:
            pass
        marker.touch(mode=FILE_MODE)
        marker.write_bytes(seen)  # derived: losing it costs one more look
        return True

    def _own_project(self) -> ProjectId:
        """What belongs to the person and no project still needs one to stand under."""
        path = str(self.home)
        return self.store.project_for(ProjectIdentity((f"path:{path}",), self.home.name, path)).id

    def _at_work(self) -> Iterator[tuple[Project, Path]]:
        """Every project that has files, for a drain that runs for nobody in particular."""
        for project in self._projects():
            root = Path(project.path)
            if (self.home / "projects" / project.id).is_dir() or (root / FOLDER).is_dir():
                yield project, root

    def _projects(self) -> Sequence[Project]:
        return self.store.projects()


def _has_own_files(home: Path) -> bool:
    files = PersonFiles(home)
    return (
        files.memory.is_file() or files.reflections.is_file() or any(files.sessions.glob("????-??-??.jsonl"))
    )
