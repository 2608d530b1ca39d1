"""A git repository as its files tell it: where it is, which remote it names, where its branches stand.

Runs nothing. Whatever it reads may come from a stranger: a pointer counts only where what it points
to points back, so that no folder can pass itself off as the work tree of somebody else's repository.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_LARGEST_FILE = 1 << 20
_MOST_REFERENCES = 2_000
_BRANCHES = ("refs/heads", "refs/remotes", "refs/tags")
_SECTION = re.compile(r'^\[\s*([a-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$', re.IGNORECASE)
_KEY = re.compile(r"^([a-z][a-z0-9-]*)\s*=\s*(.*)$", re.IGNORECASE)
_OBJECT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")


class Repository(NamedTuple):
    """The work tree's top, the folder with its HEAD and index, and the folder that all work trees share."""

    top: Path
    git_dir: Path
    common: Path
    proven: bool = True  # false where a link or a `.git` file leads out, and nothing there leads back

    @property
    def place(self) -> Path:
        """The folder that stands for all work trees of the repository."""
        return self.common.parent if self.common.name == ".git" else self.common


class Setting(NamedTuple):
    """One line of a git configuration."""

    section: str
    name: str  # of the subsection
    key: str
    value: str


def find(start: Path) -> Repository | None:
    """The repository that a folder, given by its real path, belongs to.

    A bare repository inside a work tree is content of that work tree: anyone can commit one.
    """
    bare = None
    for folder in (start, *start.parents):
        with contextlib.suppress(OSError):
            found = _at(folder)
            if found is not None:
                return found
            if bare is None and folder.name != ".git" and _is_git_folder(folder):
                bare = Repository(folder, folder, folder)
    return bare


def settings(common: Path) -> list[Setting]:
    """The repository's own configuration, by git's rules of writing; includes are not followed."""
    try:
        return list(_settings(read_head(common / "config")))
    except OSError:
        return []


def object_format(common: Path) -> str:
    """`sha1` or `sha256`."""
    named = [
        one.value for one in settings(common) if (one.section, one.key) == ("extensions", "objectformat")
    ]
    return "sha256" if named and named[-1].lower() == "sha256" else "sha1"


def head_commit(repository: Repository) -> str:
    """The commit that HEAD stands at; empty before the first one."""
    reference = _first_line(repository.git_dir / "HEAD")
    for _ in range(5):  # as many steps as git itself goes
        if _OBJECT.match(reference):
            return reference
        name = reference.removeprefix("ref:").strip()
        if not reference.startswith("ref:") or ".." in name or not name.startswith("refs/"):
            return ""
        reference = _first_line(repository.common / name) or dict(_packed(repository.common)).get(name, "")
    return ""


def current_branch(folder: Path) -> str:
    """The branch that is checked out at a folder; empty without a repository, or where HEAD is no branch."""
    found = find(Path(os.path.realpath(folder))) if "\0" not in str(folder) else None
    head = _first_line(found.git_dir / "HEAD") if found else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def tips(repository: Repository) -> list[str]:
    """Where HEAD and all branches and tags stand, as far as they can be read; each once."""
    found = dict.fromkeys([head_commit(repository)])
    for kind in _BRANCHES:  # not what git itself notes: stashes, replacements
        for folder, _, names in os.walk(repository.common / kind):
            found.update(dict.fromkeys(_first_line(Path(folder) / name) for name in names[:_MOST_REFERENCES]))
            if len(found) > _MOST_REFERENCES:
                break
    packed = (commit for name, commit in _packed(repository.common) if name.startswith(_BRANCHES))
    found.update(dict.fromkeys(packed))
    return [commit for commit in found if _OBJECT.match(commit)][:_MOST_REFERENCES]


def holds_its_objects(repository: Repository) -> bool:
    """Whether every object found here stands in the repository itself, not in one that it borrows from."""
    objects = repository.common / "objects"
    try:
        if (objects / "info" / "alternates").exists() or objects.is_symlink():
            return False
        with os.scandir(objects) as entries:
            folders = [entry for entry in entries if not entry.is_file(follow_symlinks=False)]
        packs = objects / "pack"
        packed = list(os.scandir(packs)) if packs.is_dir() else []
    except OSError:
        return False
    return not any(entry.is_symlink() for entry in (*folders, *packed))


def read_head(path: Path) -> str:
    """The beginning of a file, which may be anything."""
    with path.open("rb") as handle:
        return handle.read(_LARGEST_FILE).decode("utf-8", "replace")


def _at(folder: Path) -> Repository | None:
    dot_git = folder / ".git"
    if dot_git.is_file():
        return _pointed(folder, dot_git)
    if not dot_git.is_dir() or not _is_git_folder(dot_git):
        return None
    real = Path(os.path.realpath(dot_git))
    return Repository(folder, real, real, proven=_is_own(real, folder))


def _pointed(folder: Path, dot_git: Path) -> Repository | None:
    """Where a `.git` file leads: the repository of a worktree or a submodule, if it is still there."""
    pointer = read_head(dot_git)
    if not pointer.startswith("gitdir:"):
        return None
    git_dir = Path(os.path.realpath(folder / pointer.removeprefix("gitdir:").strip()))
    common = git_dir
    with contextlib.suppress(OSError):  # a submodule shares nothing
        common = Path(os.path.realpath(git_dir / read_head(git_dir / "commondir").strip()))
    if not _is_git_folder(common):
        return None
    return Repository(folder, git_dir, common, proven=_points_back(folder, git_dir, common))


def _points_back(folder: Path, git_dir: Path, common: Path) -> bool:
    if common != git_dir:  # a linked work tree
        if git_dir.parent != common / "worktrees":
            return False
        with contextlib.suppress(OSError):
            back = git_dir / read_head(git_dir / "gitdir").strip()
            return os.path.realpath(back) == os.path.realpath(folder / ".git")
        return False
    if _is_own(git_dir, folder):
        return True
    named = [one.value for one in settings(common) if (one.section, one.key) == ("core", "worktree")]
    return bool(named) and os.path.realpath(git_dir / named[-1]) == str(folder)


def _is_own(git_dir: Path, folder: Path) -> bool:
    """Whether it lies in the folder, and is not that of another work tree in there."""
    return git_dir == folder / ".git" or (git_dir.is_relative_to(folder) and git_dir.name != ".git")


def _is_git_folder(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _first_line(path: Path) -> str:
    try:
        return read_head(path).partition("\n")[0].strip() if path.is_file() else ""
    except OSError:
        return ""


def _packed(common: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = read_head(common / "packed-refs").splitlines()
    except OSError:
        return
    for line in lines:
        commit, _, name = line.partition(" ")
        if _OBJECT.match(commit):
            yield name, commit


def _settings(config: str) -> Iterator[Setting]:
    section = name = ""
    for raw in config.replace("\\\n", "").splitlines():
        line = raw.strip()
        if line.startswith("["):
            found = _SECTION.match(line)
            section, name = (found[1].lower(), found[2] or "") if found else ("", "")
            line = found[3].strip() if found else ""
        key = _KEY.match(line) if section else None
        if key:
            yield Setting(section, name, key[1].lower(), _value(key[2]))


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
