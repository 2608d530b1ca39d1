"""Projects: found by any name they ever had, made when no name is known, joined and parted by a person.

Memories are moved one by one through the ordinary update, so that the text index, whose terms carry their
project's number, and the mirrors follow. `ProjectBook` is what a person may say of projects.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from claude_memory.errors import InvalidInput, NotFound
from claude_memory.model import Project, ProjectId, ProjectIdentity
from claude_memory.platform.project import birth_of, identify, split_root, still_stands
from claude_memory.store.model import Intention
from claude_memory.store.sql import changes, rows
from claude_memory.store.sql.rows import kept, to_json
from claude_memory.text.quotation import clean, meant

if TYPE_CHECKING:
    from claude_memory.store.base import Database, Store

_ID_NAME = "id:"  # a name that says which project was merged into this one
_REPOSITORY = ("remote:", "repo:")
_NAME = "INSERT INTO project_aliases (identity, project, place, clock) VALUES (?, ?, ?, ?)"
_KEEP_NAME = f"{_NAME} ON CONFLICT DO NOTHING"
_TAKE_NAME = f"""{_NAME} ON CONFLICT (identity) DO UPDATE
    SET project = excluded.project, place = excluded.place, clock = excluded.clock"""
_PATH = "INSERT INTO project_paths (path, project) VALUES (?, ?)"
_KEEP_PATH = f"{_PATH} ON CONFLICT DO NOTHING"
_TAKE_PATH = f"{_PATH} ON CONFLICT (path) DO UPDATE SET project = excluded.project"
_NAMED = "SELECT project FROM project_aliases WHERE identity = ?"
_AT = "SELECT project FROM project_paths WHERE path = ?"
_OF_ID = "SELECT number FROM projects WHERE id = ?"
_GIVEN = "SELECT project, clock FROM project_aliases WHERE identity = ?"
_NAMES = "SELECT count(*) FROM project_aliases WHERE project = ?"
_BORN = "SELECT identity, project FROM project_aliases WHERE identity LIKE ?"
# 0.1.0 noted a remote without its root commit; a folder of the person's own told both.
_NOTED_APART = """SELECT r.project FROM project_aliases r JOIN project_aliases h ON h.project = r.project
    WHERE r.identity = ?1 AND h.identity LIKE 'repo:%#' || ?2"""
_UNDER = "(cwd = :folder OR substr(cwd, 1, length(:folder) + 1) = :folder || :slash)"
# A conversation that came from another home has messages here, and no events.
_HELD_THERE = f"""SELECT session FROM events WHERE project = :old AND session IS NOT NULL AND {_UNDER}
    UNION SELECT s.number FROM sessions s JOIN conversations c ON c.project = s.project
        AND s.id IN (c.session, c.parent) WHERE c.project = :old AND {_UNDER}"""
_INTENTIONS = "SELECT record, clock, home FROM intentions WHERE project = ?"
_TWIN = "SELECT number FROM sessions WHERE project = ? AND id = (SELECT id FROM sessions WHERE number = ?)"


def lookup(db: Database, identity: ProjectIdentity) -> int | None:
    """The project that a folder belongs to; where it was known to stand comes first, so that merges stay."""
    proven = [name for name in identity.identities if not name.startswith("remote:") or split_root(name)[1]]
    names = sorted(proven, key=lambda name: not birth_of(name, exact=False))
    for name in names:
        found = _number(db, _NAMED, name)
        # A template's root commit at a path that was known says little: another remote, another project.
        by_root = name.startswith("repo:") and split_root(name)[1]
        if found is not None and not (by_root and _other_remote(db, found, identity)):
            return found
    if not any(name.startswith(_REPOSITORY) for name in names):
        return _by_path(db, identity.path)
    if identity.partial:  # the rest wants to know the root commit
        return None
    for remote, root in map(split_root, identity.identities):
        if root and remote.startswith("remote:"):
            apart: int | None = db.execute(_NOTED_APART, (clean(remote), root)).get
            if apart is not None:
                return apart
    # Last the project that stood here before, unless the two name different remotes.
    here = _number(db, _AT, identity.path)
    return _moved(db, identity) or (None if here and _other_remote(db, here, identity) else here)


def _number(db: Database, statement: str, name: str) -> int | None:
    found: int | None = db.execute(statement, (clean(name),)).get
    return found


def _moved(db: Database, identity: ProjectIdentity) -> int | None:
    """The project of a repository that was born at another place and stands there no more.

    Where it still stands, this one is a copy and a project of its own. A birth can be copied with the
    files: where the history is known, it must be the same.
    """
    births = [birth for name in identity.identities if (birth := birth_of(name))]
    known = dict(row for birth in births for row in rows.fetch(db, _BORN, (f"repo:%@{birth}",)))
    found = set(known.values())
    if len(found) != 1 or any(map(still_stands, known)):
        return None
    number = int(found.pop())
    noted = {split_root(name)[1] for name in load(db, number).identities} - {""}
    here = {split_root(name)[1] for name in identity.identities}
    return None if noted and noted.isdisjoint(here) else number


def _remotes(names: Sequence[str]) -> set[str]:
    return {split_root(name)[0] for name in names if name.startswith("remote:")}


def _other_remote(db: Database, number: int, identity: ProjectIdentity) -> bool:
    remotes = _remotes(load(db, number).identities) if identity.remote else set()
    return bool(remotes) and clean(f"remote:{identity.remote}") not in remotes


def _by_path(db: Database, path: str) -> int | None:
    """A folder that is gone has only its path left; a known repository above it claims it.

    A plain folder claims nothing below itself: else work in the home folder would swallow all others.
    """
    for folder in (PurePath(path), *PurePath(path).parents):
        number = _number(db, _AT, str(folder))
        if number is None:
            continue
        names = load(db, number).identities
        if folder == PurePath(path) or any(name.startswith(_REPOSITORY) for name in names):
            return number
    return None


def is_complete(db: Database, number: int, identity: ProjectIdentity) -> bool:
    names = {clean(name) for name in identity.identities}
    noted = "SELECT count(*) FROM project_aliases WHERE identity IN (SELECT value FROM json_each(?))"
    known = db.execute(noted, (to_json(list(names)),)).get
    return _number(db, _AT, identity.path) == number and bool(known == len(names))


def load(db: Database, number: int) -> Project:
    id_, name, path = next(db.execute("SELECT id, name, path FROM projects WHERE number = ?", (number,)))
    names = db.execute("SELECT identity FROM project_aliases WHERE project = ? ORDER BY place", (number,))
    return Project(ProjectId(id_), name, path, tuple(identity for (identity,) in names))


def number_of(db: Database, id_: ProjectId) -> int:
    """The number of a project named in a row; one that was merged is the one it went into, an unknown one
    is taken in by its id."""
    found = _number(db, _OF_ID, id_) or _number(db, _NAMED, f"{_ID_NAME}{id_}")
    return found or ensure(db, Project(id_, id_, "", ()))


def join(db: Database, identity: ProjectIdentity) -> Project:
    """Find or make the project, and write down every name and path it is seen with."""
    number = lookup(db, identity)
    if number is None:
        made = provisional(identity)
        taken = db.execute("SELECT 1 FROM projects WHERE id = ? AND path <> ''", (made.id,)).get
        # Under an id that no other has: a short one could be aimed at.
        number = ensure(db, provisional(identity, digest_size=16) if taken else made)
    _note(db, identity, number, _KEEP_NAME, 0)
    return _recorded(db, number)


def _recorded(db: Database, number: int, **merged: Any) -> Project:
    """The project as it is by now, written down: it is new, has a new name, or took others in (`merged`)."""
    project = load(db, number)
    changes.record(db, [changes.line("project", project=rows.record_of(project), **merged)])
    return project


def provisional(identity: ProjectIdentity, *, digest_size: int = 5) -> Project:
    """The project as it would be made; used unsaved while the store cannot be written."""
    import hashlib
    import re

    slug = re.sub(r"[^a-z0-9]+", "-", kept(identity.name).lower()).strip("-")[:40] or "project"
    strongest = identity.identities[0].encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(strongest, digest_size=digest_size).hexdigest()
    return Project(ProjectId(f"{slug}-{digest}"), identity.name, identity.path, identity.identities)


def ensure(db: Database, project: Project) -> int:
    db.execute(
        """INSERT INTO projects (id, name, path) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE
           SET name = excluded.name, path = excluded.path WHERE projects.path = ''""",
        (project.id, kept(project.name), kept(project.path)),
    )
    return int(db.execute(_OF_ID, (project.id,)).get)


def _note(db: Database, identity: ProjectIdentity, number: int, statement: str, clock: int) -> None:
    place = db.execute(_NAMES, (number,)).get
    for offset, name in enumerate(identity.identities):
        db.execute(statement, (kept(name), number, place + offset, clock))
    db.execute(_TAKE_PATH, (kept(identity.path), number))


def _claim(db: Database, identity: ProjectIdentity, number: int) -> None:
    """Give a folder's own names to a project, whoever had them; a remote's name is not the folder's alone."""
    own = tuple(name for name in identity.identities if not name.startswith("remote:"))
    _note(db, replace(identity, identities=own), number, _TAKE_NAME, changes.tick(db))


def attach(db: Database, identity: ProjectIdentity, target: ProjectId) -> Project:
    """Let a folder belong to a project from now on; what it left elsewhere stays there."""
    number = number_of(db, target)
    _claim(db, identity, number)
    return _recorded(db, number)


def split(db: Database, identity: ProjectIdentity) -> Project:
    """Make a folder a project of its own, with its sessions and what they left."""
    old = lookup(db, identity)
    unique = replace(identity, identities=(f"split:{os.urandom(16).hex()}",))
    made = provisional(unique, digest_size=16)
    new = ensure(db, made)
    _claim(db, identity, new)
    if old is not None:
        slash = "\\" if "\\" in identity.path else "/"
        where: dict[str, Any] = {"folder": clean(identity.path), "slash": slash, "old": old}
        sessions = [number for (number,) in rows.fetch(db, _HELD_THERE, where)]
        _move_sessions(db, sessions, new)
        listed = rows.id_list(sessions)
        moved = "UPDATE events SET project = ? WHERE session IN (SELECT +value FROM json_each(?))"
        db.execute(moved, (new, listed))
        moved = f"UPDATE conversations SET project = :new, moved = :clock WHERE project = :old AND {_UNDER}"
        db.execute(moved, {**where, "new": new, "clock": changes.tick(db)})
        _move_memories(db, old, made.id, listed)
        _recorded(db, old)
    return _recorded(db, new)


def merge(db: Database, source: ProjectId, target: ProjectId, *, clock: int | None = None) -> Project:
    """Let all of one project belong to another; only its names stay. No person said so at a `clock` of 0."""
    from claude_memory.store.sql import lifecycle

    old, new = number_of(db, source), number_of(db, target)
    held = rows.fetch(db, "SELECT number FROM sessions WHERE project = ?", (old,))
    _move_sessions(db, [number for (number,) in held], new)
    _move_memories(db, old, target, None)
    for table in ("events", "conversations", "consolidations"):
        db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (new, old))
    for record, since, home in rows.fetch(db, _INTENTIONS, (old,)):
        moved = rows.from_record(Intention, json.loads(record))._replace(project=target)
        db.execute("DELETE FROM intentions WHERE id = ?", (moved.id,))
        lifecycle.put_intention(db, moved, since, home)
        changes.record(db, [changes.line("intention", intention=rows.kept_record(moved))])
    _absorb(db, old, new, source, changes.tick(db) if clock is None else clock)
    return _recorded(db, new, merged=[source])


def _move_sessions(db: Database, sessions: Sequence[int], new: int) -> None:
    """A session of the same id on the other side takes the events over; memories find it by its id."""
    for number in sessions:
        twin = db.execute(_TWIN, (new, number)).get
        if twin is None:
            db.execute("UPDATE sessions SET project = ? WHERE number = ?", (new, number))
        elif twin != number:
            for table in ("events", "memories"):
                db.execute(f"UPDATE {table} SET session = ? WHERE session = ?", (twin, number))
            db.execute("DELETE FROM sessions WHERE number = ?", (number,))


def _move_memories(db: Database, old: int, target: ProjectId, sessions: str | None) -> None:
    from claude_memory.store.sql import write

    only = "" if sessions is None else " AND m.session IN (SELECT +value FROM json_each(?))"
    values = (old,) if sessions is None else (old, sessions)
    for number, memory in rows.memories(db, f"WHERE m.project = ?{only}", *values):
        for table in ("mentions", "graphed"):  # the graph is of one project: it is read anew there
            db.execute(f"DELETE FROM {table} WHERE memory = ?", (number,))
        # One that is merged keeps its last change: the name it had before leads to the new project anywhere.
        write.update(db, replace(memory, project=target), counts=sessions is not None)


def _absorb(db: Database, old: int, new: int, source: ProjectId, clock: int) -> None:
    place = db.execute(_NAMES, (new,)).get
    moved = "UPDATE project_aliases SET project = ?, place = place + ? WHERE project = ?"
    db.execute(moved, (new, place, old))
    db.execute("UPDATE project_paths SET project = ? WHERE project = ?", (new, old))
    db.execute(_TAKE_NAME, (f"{_ID_NAME}{source}", new, place + 1_000, clock))
    used = ("sessions", "events", "memories", "conversations", "intentions", "entities", "consolidations")
    if not any(db.execute(f"SELECT 1 FROM {table} WHERE project = ? LIMIT 1", (old,)).get for table in used):
        db.execute("DELETE FROM projects WHERE number = ?", (old,))


def replay(db: Database, project: Project, merged: Sequence[str]) -> None:
    """Bring a project to what a mirror's record tells; later lines tell who has a name by now."""
    number = ensure(db, project)
    for place, identity in enumerate(project.identities):
        db.execute(_TAKE_NAME, (identity, number, place, 0))
    if project.path:
        db.execute(_KEEP_PATH, (project.path, number))
    for source in merged:
        old = _number(db, _OF_ID, source)
        if old is not None and old != number:
            _absorb(db, old, number, ProjectId(source), 0)


def meet(db: Database, told: Project, clocks: Mapping[str, int]) -> bool:
    """Take in a project of another home of the person; returns whether anything is different now.

    Those that share a name that nobody gave away are one, whose id is the least of all: so it comes out the
    same in every home. Of a name that a person gave to a project, the later word holds.
    """
    before = {number: load(db, number) for number in _kin(db, told, clocks)}
    least = min((told.id, *(project.id for project in before.values())))
    number = ensure(db, replace(told, id=least))
    for other, project in before.items():
        if other != number:
            merge(db, project.id, least, clock=0)
    if least != told.id:
        clocks = {f"{_ID_NAME}{told.id}": 0, **clocks}
    for place, (name, clock) in enumerate(clocks.items()):
        row = db.execute(_GIVEN, (name,)).get
        if row is None or (clock, row[0] != number) > (row[1], True):
            db.execute(_TAKE_NAME, (kept(name), number, place, clock))
    if told.path:
        db.execute(_KEEP_PATH, (kept(told.path), number))
    if load(db, number) == before.get(number):
        return False
    _recorded(db, number)
    return True


def _kin(db: Database, told: Project, clocks: Mapping[str, int]) -> set[int]:
    found: set[int | None] = set()
    remotes = _remotes(list(clocks))
    for name, clock in {f"{_ID_NAME}{told.id}": 0, **clocks}.items():
        if name.startswith(_ID_NAME):
            found |= {_number(db, _OF_ID, name.removeprefix(_ID_NAME)), _number(db, _NAMED, name)}
            continue
        row = db.execute(_GIVEN, (name,)).get
        if row is None or clock or row[1] or (name.startswith("remote:") and not split_root(name)[1]):
            continue
        known = _remotes(load(db, row[0]).identities)
        if not (remotes and known and remotes.isdisjoint(known)):
            found.add(int(row[0]))
    return {number for number in found if number is not None}


class ListedProject(NamedTuple):
    project: Project
    memories: int
    events: int
    here: bool


class Regrouped(NamedTuple):
    """The project that came out of it, and files that both had, kept beside."""

    project: Project
    set_aside: tuple[Path, ...] = ()


class ProjectBook:
    """What a person may say of projects; whoever calls makes sure that a person says it."""

    def __init__(self, home: Path, store: Store, own: Project) -> None:
        self._home = home
        self._store = store
        self._own = own

    def list(self) -> list[ListedProject]:
        counted = ((project, self._store.stats(project.id)) for project in self._store.projects())
        return [
            ListedProject(project, sum(stats.memories.values()), stats.events, project.id == self._own.id)
            for project, stats in counted
        ]

    def named(self, text: str) -> Project:
        """The project that a person means: by its id, a name that only one has, or its folder, which may be
        one that was never worked in."""
        wanted = text.strip()
        folder = Path(wanted).expanduser()
        if not wanted:
            raise InvalidInput("name a project by its id, its name or its folder")
        if len(folder.parts) > 1 and folder.is_dir():
            return self.at(folder)
        by_id = {project.id: project for project in self._store.projects()}
        path, name = os.path.realpath(folder), wanted.casefold()
        found = [item.id for item in by_id.values() if item.name.casefold() == name or item.path == path]
        if wanted in by_id or not found:
            unknown = f"project {wanted!r} is known; `projects list` shows all"
            found = [ProjectId(meant(wanted, list(by_id), unknown))]
        if len(found) > 1:
            raise InvalidInput(f"{wanted!r} could be {', '.join(found[:4])}: give the id")
        return by_id[found[0]]

    def at(self, folder: Path) -> Project:
        return self._store.project_for(identify(folder))

    def merge(self, source: ProjectId, target: ProjectId) -> Regrouped:
        """Let all of one project belong to another, its files in the home too."""
        if source == target:
            raise InvalidInput("a project cannot be merged into itself")
        with self._store.transactions.writing() as db:
            merged = merge(db, source, target)
        return Regrouped(merged, tuple(_carry(self._home / "projects", source, target)))

    def split(self, folder: Path) -> Regrouped:
        identity = _identified(folder)  # asks git: nobody waits for that
        with self._store.transactions.writing() as db:
            return Regrouped(split(db, identity))

    def move(self, project: ProjectId, folder: Path) -> Regrouped:
        identity = _identified(folder)
        with self._store.transactions.writing() as db:
            return Regrouped(attach(db, identity, project))


def _identified(folder: Path) -> ProjectIdentity:
    if not folder.is_dir():
        raise NotFound(f"no such folder: {folder}")
    return identify(folder)


def _carry(folder: Path, source: str, target: str) -> list[Path]:
    """Move a project's files in the home to another; of what both have, the moved one is set aside."""
    from claude_memory.platform.files import private_folder, write_atomically

    beside = []
    for path in sorted((folder / source).rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        inner = path.relative_to(folder / source)
        goal = folder / target / inner
        if inner.name == "approved.txt" and goal.exists():
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
