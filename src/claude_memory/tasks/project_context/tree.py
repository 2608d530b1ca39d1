"""A bounded look at a project's folders and files; links are not followed, big files not read."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_DEPTH = 4
MAX_FOLDERS = 1500
MAX_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder: its path from the root ("" for the root), its files and its sub-folders."""

    path: str
    files: tuple[str, ...]
    folders: tuple[str, ...]

    def matching(self, pattern: str) -> list[str]:
        """Files of this folder by a pattern of one name, letter case counting."""
        return [name for name in self.files if fnmatch.fnmatchcase(name, pattern)]


class Tree:
    """The folders of a project, nearest to the root first."""

    def __init__(self, root: Path, ignored: Collection[str] = ()) -> None:
        self.root = root
        self.folders = list(_walk(root, frozenset(ignored)))
        self._files = [_join(folder.path, name) for folder in self.folders for name in folder.files]

    def text(self, path: str) -> str:
        """A file's text; empty when it cannot be had or is too long to be a manifest."""
        target = self.root / path
        try:
            if target.is_symlink() or target.stat().st_size > MAX_BYTES:
                return ""
            return target.read_text("utf-8", "replace")
        except OSError:
            return ""

    def glob(self, pattern: str, base: str = "") -> list[str]:
        """Files by a pattern below a folder: `*` within one name, `**/` over any number of folders."""
        wanted = pattern.split("/")
        prefix = f"{base}/" if base else ""
        below = (path.removeprefix(prefix) for path in self._files if path.startswith(prefix))
        return [f"{prefix}{path}" for path in below if _matches(path.split("/"), wanted)]


def _walk(root: Path, ignored: frozenset[str]) -> Iterator[Folder]:
    waiting, seen = [""], 0
    while waiting and seen < MAX_FOLDERS:
        path = waiting.pop(0)
        seen += 1
        try:
            entries = sorted(os.scandir(root / path), key=lambda entry: entry.name)
        except OSError:
            continue
        names = tuple(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        yield Folder(path, names, tuple(name for name in inner if not name.startswith(".")))
        if path.count("/") + bool(path) < _depth(path):
            waiting += [_join(path, name) for name in inner if _worth(path, name, ignored)]


def _depth(path: str) -> int:
    # JVM sources hide their entry points deep below: src/main/java/org/example/app
    return MAX_DEPTH + 5 if "/src/main/" in f"/{path}/" else MAX_DEPTH


def _worth(path: str, name: str, ignored: frozenset[str]) -> bool:
    hidden_ci = name in (".github", ".circleci", ".buildkite", ".forgejo") and not path
    return (
        hidden_ci
        or (not name.startswith(".") and name not in ignored)
        or (name == "bin" and path.endswith("src"))
    )


def _matches(path: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not path
    if wanted[0] == "**":
        return any(_matches(path[skip:], wanted[1:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], wanted[0]) and _matches(path[1:], wanted[1:])


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
