"""Projects: found by any name they ever had, made when no name is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

import apsw

from claude_memory.model import Project, ProjectId, ProjectIdentity
from claude_memory.platform.project import birth_of, split_root, still_stands
from claude_memory.store.sqlite import rows

_REPOSITORY = ("remote:", "repo:")
_KEEP_NAME = "INSERT OR IGNORE INTO project_aliases VALUES (?, ?, ?)"
_TAKE_NAME = "INSERT OR REPLACE INTO project_aliases VALUES (?, ?, ?)"
_BORN = "SELECT identity, project FROM project_aliases WHERE identity LIKE ?"
# 0.1.0 noted a remote without its root commit; a folder of the person's own told both.
_NOTED_APART = """SELECT r.project FROM project_aliases r JOIN project_aliases h ON h.project = r.project
    WHERE r.identity = ?1 AND h.identity LIKE 'repo:%#' || ?2"""


def lookup(db: apsw.Connection, identity: ProjectIdentity) -> int | None:
    """The number of the project that a folder belongs to.

    Where it was known to stand comes first: what a person merged or split stays so.
    """
    proven = [name for name in identity.identities if not name.startswith("remote:") or split_root(name)[1]]
    names = sorted(proven, key=lambda name: not birth_of(name, exact=False))
    for name in names:
        found = db.execute("SELECT project FROM project_aliases WHERE identity = ?", (rows.clean(name),)).get
        # A template's root commit at a path that was known says little: another remote, another project.
        by_root = name.startswith("repo:") and split_root(name)[1]
        if found is not None and not (by_root and _other_remote(db, found, identity)):
            return int(found)
    if not any(name.startswith(_REPOSITORY) for name in names):
        return _by_path(db, identity.path)
    if identity.partial:  # the rest wants to know the root commit
        return None
    return _noted_apart(db, identity) or _moved(db, identity) or _at_known_path(db, identity)


def is_complete(db: apsw.Connection, number: int, identity: ProjectIdentity) -> bool:
    """Whether nothing about this folder is left to write down."""
    names = {rows.clean(name) for name in identity.identities}
    noted = "SELECT count(*) FROM project_aliases WHERE identity IN (SELECT value FROM json_each(?))"
    path = db.execute("SELECT project FROM project_paths WHERE path = ?", (rows.clean(identity.path),)).get
    return bool(path == number and db.execute(noted, (rows.to_json(list(names)),)).get == len(names))


def join(db: apsw.Connection, identity: ProjectIdentity) -> Project:
    """Find or make the project, and write down every name and path it is seen with."""
    number = lookup(db, identity)
    if number is None:
        number = ensure(db, _new(db, identity))
    _note(db, identity, number, _KEEP_NAME)
    return load(db, number)


def claim(db: apsw.Connection, identity: ProjectIdentity, number: int) -> None:
    """Give a folder's own names to a project, whoever had them; a remote's name is not the folder's alone."""
    own = tuple(name for name in identity.identities if not name.startswith("remote:"))
    _note(db, replace(identity, identities=own), number, _TAKE_NAME)


def separate(db: apsw.Connection, identity: ProjectIdentity) -> Project:
    """A new project for a folder that belonged to another."""
    import os

    made = provisional(replace(identity, identities=(f"split:{os.urandom(16).hex()}",)), digest_size=16)
    number = ensure(db, made)
    claim(db, identity, number)
    return load(db, number)


def _note(db: apsw.Connection, identity: ProjectIdentity, number: int, statement: str) -> None:
    place = db.execute("SELECT count(*) FROM project_aliases WHERE project = ?", (number,)).get
    for offset, name in enumerate(identity.identities):
        db.execute(statement, (rows.kept(name), number, place + offset))
    db.execute(
        "INSERT INTO project_paths VALUES (?, ?) ON CONFLICT DO UPDATE SET project = excluded.project",
        (rows.kept(identity.path), number),
    )


def _new(db: apsw.Connection, identity: ProjectIdentity) -> Project:
    """A project under an id that no other has: a short one could be aimed at."""
    made = provisional(identity)
    known = "SELECT 1 FROM projects WHERE id = ? AND path <> ''"
    return provisional(identity, digest_size=16) if db.execute(known, (made.id,)).get else made


def provisional(identity: ProjectIdentity, *, digest_size: int = 5) -> Project:
    """The project as it would be made; used unsaved while the store cannot be written."""
    import hashlib
    import re

    slug = re.sub(r"[^a-z0-9]+", "-", rows.kept(identity.name).lower()).strip("-")[:40] or "project"
    strongest = identity.identities[0].encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(strongest, digest_size=digest_size).hexdigest()
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
    """The number of a project named in a row; one that was merged is the one it went into, an unknown one
    is taken in by its id."""
    found = db.execute("SELECT number FROM projects WHERE id = ?", (id_,)).get
    if found is None:
        found = db.execute("SELECT project FROM project_aliases WHERE identity = ?", (f"id:{id_}",)).get
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


def _noted_apart(db: apsw.Connection, identity: ProjectIdentity) -> int | None:
    for name in identity.identities:
        remote, root = split_root(name)
        if root and remote.startswith("remote:"):
            found = db.execute(_NOTED_APART, (rows.clean(remote), root)).get
            if found is not None:
                return int(found)
    return None


def _moved(db: apsw.Connection, identity: ProjectIdentity) -> int | None:
    """The project of a repository that was born at another place and stands there no more.

    Where it still stands, this one is a copy and a project of its own. A birth can be copied with the
    files: where the history is known, it must be the same.
    """
    births = [birth for name in identity.identities if (birth := birth_of(name))]
    known = [
        (str(name), int(project))
        for birth in births
        for name, project in db.execute(_BORN, (f"repo:%@{birth}",))
    ]
    found = {project for _, project in known}
    if len(found) != 1 or any(still_stands(name) for name, _ in known):
        return None
    number = found.pop()
    noted = {split_root(name)[1] for name in load(db, number).identities} - {""}
    here = {split_root(name)[1] for name in identity.identities}
    return None if noted and noted.isdisjoint(here) else number


def _at_known_path(db: apsw.Connection, identity: ProjectIdentity) -> int | None:
    """The project that stood here before, unless the two name different remotes."""
    path = rows.clean(identity.path)
    number = db.execute("SELECT project FROM project_paths WHERE path = ?", (path,)).get
    return None if number is None or _other_remote(db, number, identity) else int(number)


def _other_remote(db: apsw.Connection, number: int, identity: ProjectIdentity) -> bool:
    names = {split_root(name)[0] for name in load(db, number).identities}
    remotes = {name for name in names if name.startswith("remote:")}
    return bool(identity.remote and remotes and rows.clean(f"remote:{identity.remote}") not in remotes)


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
