"""Which project a folder belongs to, found from the files of its repository.

Reads `.git` itself instead of running git: a search must not wait for a process, and git may be
absent. Only the root commit, needed for repositories without a remote, asks git.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from claude_memory.model import ProjectIdentity

_SCP_LIKE = re.compile(r"^(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)$")
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^@/]*@)?([^/:]+)(?::\d+)?/(.+)$", re.IGNORECASE)
_SECTION = re.compile(r'^\[remote\s+"(.+)"\]$')


def identify(folder: Path | str) -> ProjectIdentity:
    """Names of the project a folder is in, strongest first: remote, repository, path."""
    start = Path(os.path.realpath(folder))
    repository = _repository(start)
    if repository is None:
        return ProjectIdentity((f"path:{start}",), start.name or str(start), str(start))
    top, common = repository
    main = common.parent if common.name == ".git" else common
    names = []
    remote = _remote(common)
    if remote:
        names.append(f"remote:{remote}")
    names.append(f"repo:{main}#{_root_commit(str(common))}")
    label = remote.rsplit("/", 1)[-1] if remote else main.name
    return ProjectIdentity(tuple(names), label or str(main), str(top))


def root_of(folder: Path | str) -> Path:
    """The folder that holds the project's own files: the repository's top, else the folder itself."""
    return Path(identify(folder).path)


def normalise_remote(url: str) -> str | None:
    """host/path without credentials, port, `.git` and letter case of the host; None if it is a local path."""
    url = url.strip()
    match = _URL.match(url) or (_SCP_LIKE.match(url) if not re.match(r"^[A-Za-z]:[\\/]", url) else None)
    if match is None or url.lower().startswith("file:"):
        return None
    path = match.group(2).strip("/")
    path = path.removesuffix(".git")
    return f"{match.group(1).lower()}/{path.rstrip('/')}" if path else None


def _repository(start: Path) -> tuple[Path, Path] | None:
    """The work tree's top and the folder shared by all work trees of the repository."""
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        try:
            if dot_git.is_dir():
                return (folder, dot_git) if (dot_git / "HEAD").exists() else None
            if dot_git.is_file():
                return folder, _common_folder(folder, dot_git.read_text("utf-8", "replace"))
        except OSError:
            continue
    return None


def _common_folder(folder: Path, pointer: str) -> Path:
    target = Path(os.path.normpath(folder / pointer.removeprefix("gitdir:").strip()))
    try:
        shared = (target / "commondir").read_text("utf-8", "replace").strip()
    except OSError:
        return target
    return Path(os.path.realpath(target / shared))


def _remote(common: Path) -> str | None:
    try:
        lines = (common / "config").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    remotes: dict[str, str] = {}
    section = None
    for line in (raw.strip() for raw in lines):
        if line.startswith("["):
            found = _SECTION.match(line)
            section = found.group(1) if found else None
        elif section and line.replace(" ", "").startswith("url="):
            normal = normalise_remote(line.split("=", 1)[1])
            if normal:
                remotes.setdefault(section, normal)
    return remotes.get("origin") or next(iter(remotes.values()), None)


@lru_cache(maxsize=256)
def _root_commit(common: str) -> str:
    # --git-dir keeps git from wandering into a surrounding repository.
    command = ["git", f"--git-dir={common}", "rev-list", "--max-parents=0", "--all"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    roots = sorted(done.stdout.decode("ascii", "replace").split())
    return roots[0] if roots else ""
