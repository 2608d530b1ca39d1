"""Which project a folder belongs to, found from the files of its repository.

Reads `.git` itself instead of running git: a search must not wait for a process, and git may be
absent. Only the root commit asks git, and never where that would take long for nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from claude_memory.errors import NotFound
from claude_memory.model import Project, ProjectIdentity

_SCP_LIKE = re.compile(r"^(?:[^/\s]*@)?(\[[^\]\s]+\]|[^:/\s]{2,})(?!:?//|::):(.+)$")  # one letter is a drive
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/]*@)?(\[[^\]/]+\]|[^/:]+)(?::\d*)?/(.+)$", re.IGNORECASE)
_SECTION = re.compile(r'^\[\s*remote\s+"((?:[^"\\]|\\.)+)"\s*\](.*)$', re.IGNORECASE)
_URL_KEY = re.compile(r"^url\s*=\s*(.*)$", re.IGNORECASE)
_IGNORE_PATH_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org"})
_LARGEST_FILE = 1 << 20
_LARGE_INDEX = 8 << 20  # about 250,000 objects: a walk through the history would be felt
_GIT_SECONDS = 5


def resolve(folder: Path | str, project_for: Callable[[ProjectIdentity], Project]) -> Project:
    """The project of a folder; git is asked only where the store does not know the folder's other names."""
    try:
        return project_for(identify(folder, quick=True))
    except NotFound:
        return project_for(identify(folder))


def identify(folder: Path | str, *, quick: bool = False) -> ProjectIdentity:
    """Names of the project a folder is in, strongest first: remote, repository, path.

    With `quick` no process is run: the root commit is left out where another name can stand for it.
    """
    start = Path(os.path.realpath(folder))
    repository = _repository(start)
    if repository is None:
        return ProjectIdentity((f"path:{_key(start)}",), start.name or str(start), str(start))
    top, common = repository
    main = common.parent if common.name == ".git" else common
    remote = _remote(common)
    names = [f"remote:{remote}"] if remote else []
    birth = _birth(common)
    partial = quick and bool(birth)
    names += _local_names(main, common, birth, with_root=not partial and not (remote and _is_large(common)))
    label = remote.rsplit("/", 1)[-1] if remote else main.name.removesuffix(".git")
    return ProjectIdentity(tuple(names), label or str(main), str(top), partial)


def current_folder() -> Path:
    """The folder we are in; NotFound where someone removed it under us."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("the current folder is gone: go to another one") from None


def root_of(folder: Path | str) -> Path:
    """The folder that holds the project's own files: the repository's top, else the folder itself."""
    start = Path(os.path.realpath(folder))
    repository = _repository(start)
    return repository[0] if repository else start


def birth_of(name: str) -> str:
    """The birth that a repository's name tells; empty if it tells none that can be told from others.

    A time without a fraction was set by an archive or a copy, and all that came out of it share it.
    """
    place, _, birth = name.rpartition("@")
    exact = birth.isdecimal() and not birth.endswith("000000")
    return birth if exact and place.startswith("repo:") else ""


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


def _local_names(main: Path, common: Path, birth: str, *, with_root: bool) -> Iterator[str]:
    """Names by the repository's place and history; either one joins, so that one may be missing.

    The root commit survives copies; the birth, which every repository has before its first commit,
    keeps the project when that commit comes. A new repository in the place of a deleted one has neither.
    """
    place = _key(main)
    root = _root_commit(common, birth) if with_root else ""
    if root:
        yield f"repo:{place}#{root}"
    if birth:
        yield f"repo:{place}@{birth}"
    if not root and not birth:
        yield f"repo:{place}#"


def _key(path: Path) -> str:
    return os.path.normcase(path)


def _birth(common: Path) -> str:
    """When the repository was made: git writes `description` then, and never again."""
    try:
        return str((common / "description").stat().st_mtime_ns)
    except OSError:
        return ""


def _repository(start: Path) -> tuple[Path, Path] | None:
    """The work tree's top and the folder shared by all work trees of the repository."""
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        try:
            if dot_git.is_dir() and _is_git_folder(dot_git):
                return folder, Path(os.path.realpath(dot_git))
            if dot_git.is_file() and (common := _common_folder(folder, _head_of(dot_git))):
                return folder, common
            if _is_git_folder(folder):  # inside .git, or a bare repository
                return (folder.parent if folder.name == ".git" else folder), folder
        except OSError:
            continue
    return None


def _is_git_folder(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _common_folder(folder: Path, pointer: str) -> Path | None:
    """Where a `.git` file leads: the repository of a worktree or a submodule, if it is still there."""
    if not pointer.startswith("gitdir:"):
        return None
    target = Path(os.path.realpath(folder / pointer.removeprefix("gitdir:").strip()))
    with contextlib.suppress(OSError):  # a submodule shares nothing
        target = Path(os.path.realpath(target / _head_of(target / "commondir").strip()))
    return target if _is_git_folder(target) else None


def _head_of(path: Path) -> str:
    with path.open("rb") as handle:
        return handle.read(_LARGEST_FILE).decode("utf-8", "replace")


def _remote(common: Path) -> str | None:
    try:
        text = _head_of(common / "config")
    except OSError:
        return None
    remotes: dict[str, str] = {}
    for name, url in _remote_urls(text):
        normal = normalise_remote(url)
        if normal:
            remotes.setdefault(name, normal)
    return remotes.get("origin") or next(iter(remotes.values()), None)


def _remote_urls(config: str) -> Iterator[tuple[str, str]]:
    """Each remote's name and url, by git's rules for its config; `insteadOf` rules are not applied."""
    section = None
    for raw in config.replace("\\\n", "").splitlines():
        line = raw.strip()
        if line.startswith("["):
            found = _SECTION.match(line)
            section = found.group(1) if found else None
            line = found.group(2).strip() if found else ""
        key = _URL_KEY.match(line) if section else None
        if section and key:
            yield section, _value(key.group(1))


def _value(text: str) -> str:
    """A config value without its quotes, escapes and the comment behind it."""
    result, quoted, characters = [], False, iter(text)
    for character in characters:
        if character == "\\":
            result.append(next(characters, ""))
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            result.append(character)
    return "".join(result).strip()


def _is_large(common: Path) -> bool:
    try:
        return sum(path.stat().st_size for path in (common / "objects" / "pack").glob("*.idx")) > _LARGE_INDEX
    except OSError:
        return False


@lru_cache(maxsize=256)
def _root_commit(common: Path, birth: str) -> str:  # noqa: ARG001 (another birth, another repository)
    """The oldest commit without a parent; empty if there is none, or no git to ask."""
    # --git-dir keeps git from wandering into a surrounding repository.
    lines = _git(f"--git-dir={common}", "rev-list", "--timestamp", "--max-parents=0", "--all").split("\n")
    # The oldest, because a stash or a branch of pages adds roots to the same repository.
    roots = [line.split() for line in lines if line.count(" ") == 1]
    return min(roots, key=_age)[1] if roots else ""


def _age(root: list[str]) -> tuple[int, str]:
    return int(root[0]) if root[0].isdecimal() else 0, root[1]


def _git(*arguments: str) -> str:
    import subprocess  # costs more than all the rest of this module

    # A repository may come from anywhere: git must not fetch what is missing by a command it names.
    quiet = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | quiet
    try:
        done = subprocess.run(
            ["git", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("ascii", "replace")
