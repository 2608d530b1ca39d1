"""Projects: found by any name they ever had, made when no name is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import apsw

from claude_memory.model import Project, ProjectId, ProjectIdentity
from claude_memory.project import birth_of, still_stands
from claude_memory.store.sqlite import rows

_REPOSITORY = ("remote:", "repo:")
_BORN = "SELECT identity, project FROM project_aliases WHERE identity LIKE ?"


def lookup(db: apsw.Connection, identity: ProjectIdentity) -> int | None:
    """The number of the project that one of the names belongs to, the strongest name first."""
    for name in _names(identity):
        found = db.execute("SELECT project FROM project_aliases WHERE identity = ?", (name,)).get
        if found is not None:
            return int(found)
    return _moved(db, identity) if _is_repository(identity) else _by_path(db, identity.path)


def is_complete(db: apsw.Connection, number: int, identity: ProjectIdentity) -> bool:
    """Whether nothing about this folder is left to write down."""
    known = set(load(db, number).identities)
    path = db.execute("SELECT project FROM project_paths WHERE path = ?", (rows.clean(identity.path),)).get
    return known.issuperset(map(rows.clean, identity.identities)) and path == number


def join(db: apsw.Connection, identity: ProjectIdentity) -> Project:
    """Find or make the project, and write down every name and path it is seen with."""
    number = lookup(db, identity)
    if number is None:
        number = ensure(db, provisional(identity))
    place = db.execute("SELECT count(*) FROM project_aliases WHERE project = ?", (number,)).get
    for offset, name in enumerate(identity.identities):
        db.execute(
            "INSERT OR IGNORE INTO project_aliases VALUES (?, ?, ?)",
            (rows.kept(name), number, place + offset),
        )
    db.execute(
        "INSERT INTO project_paths VALUES (?, ?) ON CONFLICT DO UPDATE SET project = excluded.project",
        (rows.kept(identity.path), number),
    )
    return load(db, number)


def provisional(identity: ProjectIdentity) -> Project:
    """The project as it would be made; used unsaved while the store cannot be written."""
    import hashlib
    import re

    slug = re.sub(r"[^a-z0-9]+", "-", rows.kept(identity.name).lower()).strip("-")[:40] or "project"
    strongest = identity.identities[0].encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(strongest, digest_size=5).hexdigest()
    return Project(ProjectId(f"{slug}-{digest}"), identity.name, identity.path, identity.identities)


def ensure(db: apsw.Connection, project: Project) -> int:
    """The project's number; a project known by its id alone gets its name and path now."""
    db.execute(
        """INSERT INTO projects (id, name, path) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE
           SET name = excluded.name, path = excluded.path WHERE projects.path = ''""",
        (project.id, rows.kept(project.name), rows.kept(project.path)),
    )
    return int(db.execute("SELECT number FROM projects WHERE id = ?", (project.id,)).get)


def number_of(db: apsw.Connection, id_: ProjectId) -> int:
    """The number of a project named in a row; an unknown one is taken in by its id."""
    found = db.execute("SELECT number FROM projects WHERE id = ?", (id_,)).get
    return int(found) if found is not None else ensure(db, Project(id_, id_, "", ()))


def load(db: apsw.Connection, number: int) -> Project:
    """One project with all its names, strongest first."""
    id_, name, path = next(db.execute("SELECT id, name, path FROM projects WHERE number = ?", (number,)))
    names = db.execute("SELECT identity FROM project_aliases WHERE project = ? ORDER BY place", (number,))
    return Project(ProjectId(id_), name, path, tuple(identity for (identity,) in names))


def all_projects(db: apsw.Connection) -> list[Project]:
    """Every project, by name."""
    numbers = rows.fetch(db, "SELECT number FROM projects ORDER BY name, id")
    return [load(db, number) for (number,) in numbers]


def _names(identity: ProjectIdentity) -> Iterator[str]:
    yield from map(rows.clean, identity.identities)
    for name in identity.identities:
        if name.startswith("repo:"):  # the same repository before its first commit
            yield rows.clean(name.partition("#")[0] + "#")
    if not any(name.startswith("remote:") for name in identity.identities):
        yield rows.clean(f"path:{identity.path}")  # the same folder before it became a repository


def _moved(db: apsw.Connection, identity: ProjectIdentity) -> int | None:
    """The project of a repository that was born at another place and stands there no more.

    Where it still stands, this one is a copy and a project of its own.
    """
    births = [birth for name in identity.identities if (birth := birth_of(name))]
    known = [
        (str(name), int(project))
        for birth in births
        for name, project in db.execute(_BORN, (f"repo:%@{birth}",))
    ]
    found = {project for _, project in known}
    return found.pop() if len(found) == 1 and not any(still_stands(name) for name, _ in known) else None


def _is_repository(identity: ProjectIdentity) -> bool:
    return any(name.startswith(_REPOSITORY) for name in identity.identities)


def _by_path(db: apsw.Connection, path: str) -> int | None:
    """A folder that is gone has only its path left; a known repository above it claims it.

    A plain folder claims nothing below itself: else work in the home folder would swallow all others.
    """
    for place, folder in enumerate((PurePath(path), *PurePath(path).parents)):
        number = db.execute(
            "SELECT project FROM project_paths WHERE path = ?", (rows.clean(str(folder)),)
        ).get
        if number is not None and (place == 0 or _has_repository(db, number)):
            return int(number)
    return None


def _has_repository(db: apsw.Connection, number: int) -> bool:
    return any(name.startswith(_REPOSITORY) for name in load(db, number).identities)
