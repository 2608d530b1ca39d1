"""Projects: found by any name they ever had, made when no name is known, joined and parted by a person.

Memories are moved one by one through the ordinary update, so that the text index, whose terms carry their
project's number, and the mirrors follow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from claude_memory.model import Project, ProjectId, ProjectIdentity
from claude_memory.platform.project import birth_of, split_root, still_stands
from claude_memory.store.model import Intention
from claude_memory.store.sql import changes, rows
from claude_memory.store.sql.rows import from_record, kept, kept_record, to_json
from claude_memory.text.quotation import clean

if TYPE_CHECKING:
    from claude_memory.store.sql.backend import Database

_ID_NAME = "id:"  # a name that says which project was merged into this one
_REPOSITORY = ("remote:", "repo:")
_NAME = "INSERT INTO project_aliases (identity, project, place, clock) VALUES (?, ?, ?, ?)"
_KEEP_NAME = f"{_NAME} ON CONFLICT DO NOTHING"
_TAKE_NAME = f"""{_NAME} ON CONFLICT (identity) DO UPDATE
    SET project = excluded.project, place = excluded.place, clock = excluded.clock"""
_KEEP_PATH = "INSERT INTO project_paths (path, project) VALUES (?, ?) ON CONFLICT DO NOTHING"
_BORN = "SELECT identity, project FROM project_aliases WHERE identity LIKE ?"
# 0.1.0 noted a remote without its root commit; a folder of the person's own told both.
_NOTED_APART = """SELECT r.project FROM project_aliases r JOIN project_aliases h ON h.project = r.project
    WHERE r.identity = ?1 AND h.identity LIKE 'repo:%#' || ?2"""
_UNDER = "(cwd = :folder OR substr(cwd, 1, length(:folder) + 1) = :folder || :slash)"
# A conversation that came from another home has messages here, and no events.
_HELD_THERE = f"""SELECT session FROM events WHERE project = :old AND session IS NOT NULL AND {_UNDER}
    UNION SELECT s.number FROM sessions s JOIN conversations c ON c.project = s.project
        AND s.id IN (c.session, c.parent) WHERE c.project = :old AND {_UNDER}"""
_TWIN = "SELECT number FROM sessions WHERE project = ? AND id = (SELECT id FROM sessions WHERE number = ?)"


def lookup(db: Database, identity: ProjectIdentity) -> int | None:
    """The number of the project that a folder belongs to.

    Where it was known to stand comes first: what a person merged or split stays so.
    """
    proven = [name for name in identity.identities if not name.startswith("remote:") or split_root(name)[1]]
    names = sorted(proven, key=lambda name: not birth_of(name, exact=False))
    for name in names:
        found = db.execute("SELECT project FROM project_aliases WHERE identity = ?", (clean(name),)).get
        # A template's root commit at a path that was known says little: another remote, another project.
        by_root = name.startswith("repo:") and split_root(name)[1]
        if found is not None and not (by_root and _other_remote(db, found, identity)):
            return int(found)
    if not any(name.startswith(_REPOSITORY) for name in names):
        return _by_path(db, identity.path)
    if identity.partial:  # the rest wants to know the root commit
        return None
    return _noted_apart(db, identity) or _moved(db, identity) or _at_known_path(db, identity)


def is_complete(db: Database, number: int, identity: ProjectIdentity) -> bool:
    """Whether nothing about this folder is left to write down."""
    names = {clean(name) for name in identity.identities}
    noted = "SELECT count(*) FROM project_aliases WHERE identity IN (SELECT value FROM json_each(?))"
    path = db.execute("SELECT project FROM project_paths WHERE path = ?", (clean(identity.path),)).get
    return bool(path == number and db.execute(noted, (to_json(list(names)),)).get == len(names))


def join(db: Database, identity: ProjectIdentity) -> Project:
    """Find or make the project, and write down every name and path it is seen with."""
    number = lookup(db, identity)
    if number is None:
        number = ensure(db, _new(db, identity))
    _note(db, identity, number, _KEEP_NAME, 0)
    return load(db, number)


def claim(db: Database, identity: ProjectIdentity, number: int) -> None:
    """Give a folder's own names to a project, whoever had them; a remote's name is not the folder's alone."""
    own = tuple(name for name in identity.identities if not name.startswith("remote:"))
    _note(db, replace(identity, identities=own), number, _TAKE_NAME, changes.tick(db))


def separate(db: Database, identity: ProjectIdentity) -> Project:
    """A new project for a folder that belonged to another."""
    import os

    made = provisional(replace(identity, identities=(f"split:{os.urandom(16).hex()}",)), digest_size=16)
    number = ensure(db, made)
    claim(db, identity, number)
    return load(db, number)


def _note(db: Database, identity: ProjectIdentity, number: int, statement: str, clock: int) -> None:
    """Write names and path down; `clock` is when a person said so, 0 if nobody did."""
    place = db.execute("SELECT count(*) FROM project_aliases WHERE project = ?", (number,)).get
    for offset, name in enumerate(identity.identities):
        db.execute(statement, (kept(name), number, place + offset, clock))
    db.execute(
        """INSERT INTO project_paths (path, project) VALUES (?, ?)
           ON CONFLICT (path) DO UPDATE SET project = excluded.project""",
        (kept(identity.path), number),
    )


def _new(db: Database, identity: ProjectIdentity) -> Project:
    """A project under an id that no other has: a short one could be aimed at."""
    made = provisional(identity)
    known = "SELECT 1 FROM projects WHERE id = ? AND path <> ''"
    return provisional(identity, digest_size=16) if db.execute(known, (made.id,)).get else made


def provisional(identity: ProjectIdentity, *, digest_size: int = 5) -> Project:
    """The project as it would be made; used unsaved while the store cannot be written."""
    import hashlib
    import re

    slug = re.sub(r"[^a-z0-9]+", "-", kept(identity.name).lower()).strip("-")[:40] or "project"
    strongest = identity.identities[0].encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(strongest, digest_size=digest_size).hexdigest()
    return Project(ProjectId(f"{slug}-{digest}"), identity.name, identity.path, identity.identities)


def ensure(db: Database, project: Project) -> int:
    """The project's number; a project known by its id alone gets its name and path now."""
    db.execute(
        """INSERT INTO projects (id, name, path) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE
           SET name = excluded.name, path = excluded.path WHERE projects.path = ''""",
        (project.id, kept(project.name), kept(project.path)),
    )
    return int(db.execute("SELECT number FROM projects WHERE id = ?", (project.id,)).get)


def number_of(db: Database, id_: ProjectId) -> int:
    """The number of a project named in a row; one that was merged is the one it went into, an unknown one
    is taken in by its id."""
    found = db.execute("SELECT number FROM projects WHERE id = ?", (id_,)).get
    if found is None:
        found = db.execute(
            "SELECT project FROM project_aliases WHERE identity = ?", (f"{_ID_NAME}{id_}",)
        ).get
    return int(found) if found is not None else ensure(db, Project(id_, id_, "", ()))


def load(db: Database, number: int) -> Project:
    """One project with all its names, strongest first."""
    id_, name, path = next(db.execute("SELECT id, name, path FROM projects WHERE number = ?", (number,)))
    names = db.execute("SELECT identity FROM project_aliases WHERE project = ? ORDER BY place", (number,))
    return Project(ProjectId(id_), name, path, tuple(identity for (identity,) in names))


def all_projects(db: Database) -> list[Project]:
    """Every project, by name."""
    numbers = rows.fetch(db, "SELECT number FROM projects ORDER BY name, id")
    return [load(db, number) for (number,) in numbers]


def _noted_apart(db: Database, identity: ProjectIdentity) -> int | None:
    for name in identity.identities:
        remote, root = split_root(name)
        if root and remote.startswith("remote:"):
            found = db.execute(_NOTED_APART, (clean(remote), root)).get
            if found is not None:
                return int(found)
    return None


def _moved(db: Database, identity: ProjectIdentity) -> int | None:
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


def _at_known_path(db: Database, identity: ProjectIdentity) -> int | None:
    """The project that stood here before, unless the two name different remotes."""
    path = clean(identity.path)
    number = db.execute("SELECT project FROM project_paths WHERE path = ?", (path,)).get
    return None if number is None or _other_remote(db, number, identity) else int(number)


def _other_remote(db: Database, number: int, identity: ProjectIdentity) -> bool:
    names = {split_root(name)[0] for name in load(db, number).identities}
    remotes = {name for name in names if name.startswith("remote:")}
    return bool(identity.remote and remotes and clean(f"remote:{identity.remote}") not in remotes)


def _by_path(db: Database, path: str) -> int | None:
    """A folder that is gone has only its path left; a known repository above it claims it.

    A plain folder claims nothing below itself: else work in the home folder would swallow all others.
    """
    for place, folder in enumerate((PurePath(path), *PurePath(path).parents)):
        number = db.execute("SELECT project FROM project_paths WHERE path = ?", (clean(str(folder)),)).get
        if number is not None and (place == 0 or _has_repository(db, number)):
            return int(number)
    return None


def _has_repository(db: Database, number: int) -> bool:
    return any(name.startswith(_REPOSITORY) for name in load(db, number).identities)


def meet(db: Database, told: Project, clocks: Mapping[str, int]) -> bool:
    """Take in a project of another home of the person; returns whether anything is different now.

    Those that share a name that nobody gave away are one, whose id is the least of all: so it comes out the
    same in every home. Of a name that a person gave to a project, the later word holds.
    """
    before = {number: load(db, number) for number in _kin(db, told, clocks)}
    ids = [told.id, *(project.id for project in before.values())]
    own = min(before.values(), key=lambda project: project.id) if before else told
    number = ensure(db, told if min(ids) == told.id else own)
    if not before.get(number, told).path:
        ensure(db, replace(told, id=load(db, number).id))
    for other in before:
        if other != number:
            merge(db, load(db, other).id, min(ids), clock=0)
    if min(ids) != told.id:
        clocks = {f"{_ID_NAME}{told.id}": 0, **clocks}
    for place, (name, clock) in enumerate(clocks.items()):
        _give_name(db, name, number, place, clock)
    if told.path:
        db.execute(_KEEP_PATH, (kept(told.path), number))
    now = load(db, number)
    if now == before.get(number):
        return False
    changes.record_project(db, now)
    return True


def _kin(db: Database, told: Project, clocks: Mapping[str, int]) -> set[int]:
    """The projects here that are the one that is told of."""
    found = set()
    remotes = {split_root(name)[0] for name in clocks if name.startswith("remote:")}
    for name, clock in {f"{_ID_NAME}{told.id}": 0, **clocks}.items():
        if name.startswith(_ID_NAME):
            id_ = name.removeprefix(_ID_NAME)
            found.add(db.execute("SELECT number FROM projects WHERE id = ?", (id_,)).get)
            found.add(db.execute("SELECT project FROM project_aliases WHERE identity = ?", (name,)).get)
            continue
        row = next(db.execute("SELECT project, clock FROM project_aliases WHERE identity = ?", (name,)), None)
        if row is None or clock or row[1] or (name.startswith("remote:") and not split_root(name)[1]):
            continue
        known = {split_root(one)[0] for one in load(db, row[0]).identities if one.startswith("remote:")}
        if not (remotes and known and remotes.isdisjoint(known)):
            found.add(row[0])
    return {int(number) for number in found if number is not None}


def _give_name(db: Database, name: str, number: int, place: int, clock: int) -> None:
    row = next(db.execute("SELECT project, clock FROM project_aliases WHERE identity = ?", (name,)), None)
    if row is None or (clock, row[0] != number) > (row[1], True):
        db.execute(_TAKE_NAME, (kept(name), number, place, clock))


def alias_clocks(db: Database, id_: str) -> dict[str, int]:
    """A project's names, strongest first, and when a person gave them; 0 where nobody did."""
    statement = """SELECT a.identity, a.clock FROM project_aliases a JOIN projects p ON p.number = a.project
        WHERE p.id = ? ORDER BY a.place, a.identity"""
    return {str(name): int(clock) for name, clock in db.execute(statement, (id_,))}


def merge(db: Database, source: ProjectId, target: ProjectId, *, clock: int | None = None) -> Project:
    """Let all of one project belong to another, which keeps its id; the first is gone but for its names.

    `clock` is 0 where no person said so.
    """
    old, new = number_of(db, source), number_of(db, target)
    held = rows.fetch(db, "SELECT number FROM sessions WHERE project = ?", (old,))
    _move_sessions(db, [number for (number,) in held], new)
    _move_memories(db, old, target, None)
    for table in ("events", "conversations", "consolidations"):
        db.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (new, old))
    _move_intentions(db, old, target)
    _absorb(db, old, new, source, changes.tick(db) if clock is None else clock)
    merged = load(db, new)
    changes.record_project(db, merged, merged=[source])
    return merged


def replay(db: Database, project: Project, merged: Sequence[str]) -> None:
    """Bring a project to what a mirror's record tells; later lines tell who has a name by now."""
    number = ensure(db, project)
    for place, identity in enumerate(project.identities):
        db.execute(_TAKE_NAME, (identity, number, place, 0))
    if project.path:
        db.execute(_KEEP_PATH, (project.path, number))
    for source in merged:
        old = db.execute("SELECT number FROM projects WHERE id = ?", (source,)).get
        if old is not None and old != number:
            _absorb(db, int(old), number, ProjectId(source), 0)


def split(db: Database, identity: ProjectIdentity) -> Project:
    """Make a folder a project of its own, with its sessions and what they left."""
    old = lookup(db, identity)
    made = separate(db, identity)
    new = number_of(db, made.id)
    if old is not None and old != new:
        slash = "\\" if "\\" in identity.path else "/"
        where = {"folder": clean(identity.path), "slash": slash, "old": old, "new": new}
        held = {name: where[name] for name in ("folder", "slash", "old")}
        sessions = [number for (number,) in rows.fetch(db, _HELD_THERE, held)]
        _move_sessions(db, sessions, new)
        listed = rows.id_list(sessions)
        moved = "UPDATE events SET project = ? WHERE session IN (SELECT +value FROM json_each(?))"
        db.execute(moved, (new, listed))
        where["clock"] = changes.tick(db)
        moved = f"UPDATE conversations SET project = :new, moved = :clock WHERE project = :old AND {_UNDER}"
        db.execute(moved, where)
        _move_memories(db, old, made.id, listed)
        changes.record_project(db, load(db, old))
    done = load(db, new)
    changes.record_project(db, done)
    return done


def attach(db: Database, identity: ProjectIdentity, target: ProjectId) -> Project:
    """Let a folder belong to a project from now on; what it left elsewhere stays there."""
    number = number_of(db, target)
    claim(db, identity, number)
    joined = load(db, number)
    changes.record_project(db, joined)
    return joined


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


def _move_intentions(db: Database, old: int, target: ProjectId) -> None:
    from claude_memory.store.sql import lifecycle

    for (record,) in rows.fetch(db, "SELECT record FROM intentions WHERE project = ?", (old,)):
        moved = from_record(Intention, json.loads(record))._replace(project=target)
        kept_as = rows.fetch(db, "SELECT clock, home FROM intentions WHERE id = ?", (moved.id,))
        db.execute("DELETE FROM intentions WHERE id = ?", (moved.id,))
        lifecycle.put_intention(db, moved, *kept_as[0])
        changes.record(db, [changes.line("intention", intention=kept_record(moved))])


def _absorb(db: Database, old: int, new: int, source: ProjectId, clock: int) -> None:
    place = db.execute("SELECT count(*) FROM project_aliases WHERE project = ?", (new,)).get
    db.execute(
        "UPDATE project_aliases SET project = ?, place = place + ? WHERE project = ?", (new, place, old)
    )
    db.execute("UPDATE project_paths SET project = ? WHERE project = ?", (new, old))
    db.execute(_TAKE_NAME, (f"{_ID_NAME}{source}", new, place + 1_000, clock))
    used = ("sessions", "events", "memories", "conversations", "intentions", "entities", "consolidations")
    if not any(db.execute(f"SELECT 1 FROM {table} WHERE project = ? LIMIT 1", (old,)).get for table in used):
        db.execute("DELETE FROM projects WHERE number = ?", (old,))
