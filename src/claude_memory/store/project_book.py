"""The projects of a home: list them, find one by what a person calls it, and say what belongs together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.model import Project, ProjectId
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.platform.project import identify
from claude_memory.store.base import Store
from claude_memory.text.quotation import meant

_APPROVED = "approved.txt"


@dataclass(frozen=True, slots=True)
class Listed:
    """A project with what is kept of it."""

    project: Project
    memories: int
    events: int
    here: bool


@dataclass(frozen=True, slots=True)
class Regrouped:
    """The project that came out of it, and files that both had, kept beside."""

    project: Project
    set_aside: tuple[Path, ...] = ()


def named(projects: Sequence[Project], text: str) -> Project:
    """The project that a person means: by its id, its path, or a name that only one has."""
    wanted = text.strip()
    if not wanted:
        raise InvalidInput("name a project by its id, its name or its folder")
    by_id = {project.id: project for project in projects}
    if wanted in by_id:
        return by_id[ProjectId(wanted)]
    path = os.path.realpath(Path(wanted).expanduser())
    found = [
        project
        for project in projects
        if project.name.casefold() == wanted.casefold() or project.path == path
    ]
    if not found:
        return by_id[
            ProjectId(meant(wanted, list(by_id), f"project {wanted!r} is known; `projects list` shows all"))
        ]
    if len(found) > 1:
        raise InvalidInput(
            f"{wanted!r} could be {', '.join(project.id for project in found[:4])}: give the id"
        )
    return found[0]


class ProjectBook:
    """What a person may say of projects; whoever calls makes sure that a person says it."""

    def __init__(self, home: Path, store: Store, own: Project) -> None:
        self._home = home
        self._store = store
        self._own = own

    def list(self) -> list[Listed]:
        """Every project, by name."""
        return [self._listed(project) for project in self._store.projects()]

    def named(self, text: str) -> Project:
        """The project that a person means; a folder may be one that was never worked in."""
        folder = Path(text.strip()).expanduser()
        if len(folder.parts) > 1 and folder.is_dir():
            return self.at(folder)
        return named(self._store.projects(), text)

    def at(self, folder: Path) -> Project:
        """The project of a folder."""
        return self._store.project_for(identify(folder))

    def merge(self, source: ProjectId, target: ProjectId) -> Regrouped:
        """Let all of one project belong to another, its files in the home too."""
        if source == target:
            raise InvalidInput("a project cannot be merged into itself")
        merged = self._store.merge_projects(source, target)
        return Regrouped(merged, tuple(_carry(self._home / "projects", source, target)))

    def split(self, folder: Path) -> Regrouped:
        """Make a folder a project of its own, with the sessions that were held in it."""
        if not folder.is_dir():
            raise NotFound(f"no such folder: {folder}")
        made = self._store.split_project(identify(folder))
        return Regrouped(made)

    def move(self, project: ProjectId, folder: Path) -> Regrouped:
        """Let a folder belong to a known project from now on."""
        if not folder.is_dir():
            raise NotFound(f"no such folder: {folder}")
        joined = self._store.move_folder(identify(folder), project)
        return Regrouped(joined)

    def _listed(self, project: Project) -> Listed:
        stats = self._store.stats(project.id)
        return Listed(project, sum(stats.memories.values()), stats.events, project.id == self._own.id)


def _carry(folder: Path, source: str, target: str) -> list[Path]:
    """Move a project's files in the home to another; of what both have, the moved one is set aside."""
    beside = []
    for path in sorted((folder / source).rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        inner = path.relative_to(folder / source)
        goal = folder / target / inner
        if inner.name == _APPROVED and goal.exists():
            lines = dict.fromkeys(goal.read_bytes().splitlines() + path.read_bytes().splitlines())
            write_atomically(goal, b"".join(line + b"\n" for line in lines))
            path.unlink()
            continue
        if goal.exists():
            goal = folder / target / "merged" / source / inner
            beside.append(goal)
        private_folder(goal.parent)
        os.replace(path, goal)
    return beside
