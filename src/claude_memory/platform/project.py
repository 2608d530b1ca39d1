"""Which project a folder belongs to, found from the files of its repository; and the project's own folder.

A name proves what it says: the remote counts together with a root commit that is really there, a
place because nobody else stands at it. What a repository merely claims joins it to nothing. Only the
root commit asks git: a search must not wait for a process, and git may be absent. The project's own folder,
`.claude-memories`, is made on request only and ignored by git; nothing else is written into a repository.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.errors import ConfigFault, InvalidInput, NotFound
from claude_memory.model import Project, ProjectIdentity
from claude_memory.platform import git
from claude_memory.platform.files import FOLDER, private_folder, write_atomically
from claude_memory.settings import of_project

_SCP_LIKE = re.compile(r"^(?:[^/\s]*@)?(\[[^\]\s]+\]|[^:/\s]{2,})(?!:?//|::):(.+)$")  # one letter is a drive
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/]*@)?(\[[^\]/]+\]|[^/:]+)(?::\d*)?/(.+)$", re.IGNORECASE)
_ROOT = re.compile(r"#([0-9a-f]{40}|[0-9a-f]{64})\Z")
_IGNORE_PATH_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org"})


def resolve(
    folder: Path | str, project_for: Callable[[ProjectIdentity], Project], *, thorough: bool = False
) -> Project:
    """The project of a folder; git is asked where the store does not know the folder.

    A thorough caller has the time to ask as well while a known project lacks a name: clones meet by it.
    """
    quick = identify(folder, quick=True)
    try:
        found = project_for(quick)
    except NotFound:
        return project_for(identify(folder))
    if thorough and quick.partial:
        names = {quick.identities[0].rpartition("@")[0], f"remote:{quick.remote}"} - {"remote:"}
        if not names <= {split_root(name)[0] for name in found.identities if split_root(name)[1]}:
            return project_for(identify(folder))
    return found


def resolve_noted(cwd: str, project_for: Callable[[ProjectIdentity], Project], *, thorough: bool) -> Project:
    """The project of a folder that an event or a transcript names: it may be one of another system."""
    if _is_here(cwd):
        return resolve(cwd, project_for, thorough=thorough)
    plain = cwd.replace("\0", "")
    label = re.split(r"[\\/]", plain)[-1] or "unknown"
    return project_for(ProjectIdentity((f"path:{plain}",), label, plain))


def exclusions(cwd: str) -> tuple[str, ...]:
    return tuple(of_project(root_of(cwd)).get("exclude", ())) if _is_here(cwd) else ()


def _is_here(cwd: str) -> bool:
    """Whether a folder's name can be one of this system."""
    return os.path.isabs(cwd) and "\0" not in cwd  # noqa: PTH117


def identify(folder: Path | str, *, quick: bool = False) -> ProjectIdentity:
    """Names of the project a folder is in, strongest first: remote with root commit, repository, path.

    With `quick` no process is run: the root commit is left out where another name can stand for it. Names by
    the repository's place tell its history or its birth; either one joins, so that one may be missing: the
    root commit survives copies, and the birth, which is there before the first commit, stays when that comes.
    """
    start = Path(os.path.realpath(folder))
    repository = git.find(start)
    if repository is None or not repository.proven:  # it could be anybody's: only where it stands is sure
        top = repository.top if repository else start
        return ProjectIdentity((f"path:{os.path.normcase(top)}",), top.name or str(top), str(top))
    remote, birth = _remote(repository.common), _birth(repository.common)
    partial = quick and bool(birth)
    roots = () if partial else _roots(repository, birth)
    place = f"repo:{os.path.normcase(repository.place)}"
    names = [f"remote:{remote}#{root}" for root in roots if remote]
    names += [f"{place}#{root}" for root in roots]
    names += [f"{place}@{birth}"] if birth else []
    label = remote.rsplit("/", 1)[-1] if remote else repository.place.name.removesuffix(".git")
    return ProjectIdentity(
        tuple(names or [f"{place}#"]), label or str(repository.place), str(repository.top), partial, remote
    )


def current_folder() -> Path:
    """The folder we are in; NotFound where someone removed it under us."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("the current folder is gone: go to another one") from None


def root_of(folder: Path | str) -> Path:
    """The folder that holds the project's own files: the repository's top, else the folder itself."""
    start = Path(os.path.realpath(folder))
    repository = git.find(start)
    return repository.top if repository else start


def birth_of(name: str, *, exact: bool = True) -> str:
    """The birth that a repository's name tells; empty if it tells none that can be told from others.

    A time without a fraction was set by an archive or a copy, and all that came out of it share it.
    """
    place, _, birth = name.rpartition("@")
    if not birth.isdecimal() or not place.startswith("repo:") or (exact and birth.endswith("000000")):
        return ""
    return birth


def split_root(name: str) -> tuple[str, str]:
    """A name without its root commit, and that commit; empty if it has none."""
    found = _ROOT.search(name)
    return (name[: found.start()], found[1]) if found else (name, "")


def still_stands(name: str) -> bool:
    """Whether the repository of a name with its birth is still at the place of that name."""
    place, _, birth = name.removeprefix("repo:").rpartition("@")
    return birth in (_birth(Path(place) / ".git"), _birth(Path(place)))


def normalise_remote(url: str) -> str | None:
    """host/path without credentials, port, `.git` and letter case of the host; None if it is a local path."""
    url = url.strip()
    match = _URL.match(url) or (_SCP_LIKE.match(url) if "://" not in url else None)
    if match is None or url.lower().startswith("file:"):
        return None
    host = match.group(1).lower()
    path = match.group(2).strip("/").removesuffix(".git").rstrip("/")
    if host in _IGNORE_PATH_CASE:
        path = path.lower()
    return f"{host}/{path}" if path else None


def _birth(common: Path) -> str:
    """When the repository was made: git writes `description` then, and never again."""
    try:
        return str((common / "description").stat().st_mtime_ns)
    except OSError:
        return ""


def _remote(common: Path) -> str:
    """The remote that the configuration names, `origin` before others; `insteadOf` rules are not applied."""
    remotes: dict[str, str] = {}
    for section, name, key, value in git.settings(common):
        if (section, key) == ("remote", "url") and name and (normal := normalise_remote(value)):
            remotes.setdefault(name, normal)
    return remotes.get("origin") or next(iter(remotes.values()), "")


@lru_cache(maxsize=256)
def _roots(repository: git.Repository, birth: str) -> tuple[str, ...]:  # noqa: ARG001 (another birth, another repository)
    return git.roots(repository)


# --- the project's own folder

LAYOUTS = ("private", "repo")
_IGNORE_ALL = b"# Made by claude-memory: nothing in this folder belongs into version control.\n*\n"


class Prepared(NamedTuple):
    folder: Path
    layout: str
    created: bool
    changed: bool


def prepare(project_root: Path, layout: str | None = None) -> Prepared:
    """Make the folder with its .gitignore and config.json; what stands there already stays."""
    if layout is not None and layout not in LAYOUTS:
        raise InvalidInput(f"unknown layout {layout!r}: one of {', '.join(LAYOUTS)}")
    folder = project_root / FOLDER
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InvalidInput(f"{folder} is not a folder")
    created = not folder.exists()
    private_folder(folder)
    if not (folder / ".gitignore").exists():
        write_atomically(folder / ".gitignore", _IGNORE_ALL)
    config = folder / "config.json"
    if config.is_symlink():
        raise InvalidInput(f"{config} is a link: remove it")
    before: Any = {}
    with contextlib.suppress(FileNotFoundError):
        try:
            before = json.loads(config.read_text("utf-8"))
        except (ValueError, RecursionError):
            before = None
    if not isinstance(before, dict):
        # Somebody wrote something there: overwriting it would lose it.
        raise ConfigFault(f"{config} is not a JSON object: repair or remove it")
    chosen = layout or str(before.get("layout", LAYOUTS[0]))
    after = {**before, "layout": chosen}
    if after != before:
        write_atomically(config, (json.dumps(after, indent=2) + "\n").encode())
    return Prepared(folder, chosen, created, created or after != before)
