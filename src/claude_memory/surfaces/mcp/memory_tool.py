"""Anthropic's memory tool (`memory_20250818`) over the plain files of a project.

`/memories` is the folder that `search` reads, too. No path leads out of it: not by `..`, not by a link,
not by an odd name. What is deleted is set aside, and secrets are cut before anything is written.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.platform.files import private_folder, write_atomically

ROOT = "/memories"
MAX_BYTES = 1 << 20
MAX_LINES = 999_999
DEPTH_SHOWN = 2
_NAME = re.compile(r"[^\x00-\x1f\x7f<>:\"\\|?*/]{1,120}")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


class _Standing:
    """What the package `anthropic` would bring: the tool's declaration."""

    def to_dict(self) -> dict[str, Any]:
        """The tool as a request declares it."""
        return {"type": "memory_20250818", "name": "memory"}


class _Command:
    """A command's fields as attributes."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise InvalidInput(f"the command lacks {name!r}") from None


COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


def _base() -> type:
    try:
        found = importlib.import_module("anthropic.tools.memory").BetaAbstractMemoryTool
    except (ImportError, AttributeError):
        return _Standing
    return found if isinstance(found, type) else _Standing


_Base: Any = _base()


class MemoryTool(_Base):  # type: ignore[misc]
    """view, create, str_replace, insert, delete, rename under `/memories`."""

    def __init__(self, folder: Path, set_aside: Path, **options: Any) -> None:
        super().__init__(**options)
        self.folder = private_folder(folder)
        self._set_aside = set_aside

    @classmethod
    def for_project(cls, home: Path | str | None = None, project: Path | str | None = None) -> MemoryTool:
        """The tool over the files of a project (default: the current folder's)."""
        from claude_memory.memory import Memory
        from claude_memory.notes.places import project_files

        with Memory.open(home, project) as memory:
            files = project_files(memory.home, memory.project.id, memory.project_root)
        return cls(files.folder, files.kept / "deleted")

    def call(self, input: object) -> str:  # noqa: A002  the published name
        """Run one command as the model sent it."""
        return self.execute(_Command(input) if isinstance(input, Mapping) else input)

    def execute(self, command: Any) -> str:
        """Hand the command to its method."""
        if command.command not in COMMANDS:
            raise InvalidInput(f"unknown command {command.command!r}: one of {', '.join(COMMANDS)}")
        return str(getattr(self, command.command)(command))

    def view(self, command: Any) -> str:
        """A folder's files with their sizes, or a file's lines with their numbers."""
        path = self._existing(command.path)
        if path.is_dir():
            return "\n".join([f"{command.path.rstrip('/')}/", *self._listed(path)])
        lines = _read(path).split("\n")
        span = getattr(command, "view_range", None) if not isinstance(command, _Command) else _span(command)
        first, last = _bounds(span, len(lines))
        numbered = (f"{at:>6}\t{lines[at - 1]}" for at in range(first, last + 1))
        return "\n".join([f"{command.path}, lines {first} to {last} of {len(lines)}:", *numbered])

    def create(self, command: Any) -> str:
        """Write a new file; one that exists stays as it is."""
        path = self._path(command.path)
        if path.exists():
            raise Conflict(f"{command.path} exists already: change it with str_replace or insert")
        private_folder(path.parent)
        self._write(path, command.file_text)
        return f"created {command.path}"

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs exactly once."""
        path = self._file(command.path)
        text = _read(path)
        count = text.count(command.old_str) if command.old_str else 0
        if count != 1:
            raise InvalidInput(
                f"old_str occurs {count} times in {command.path}: give a text that occurs once, word for word"
            )
        self._write(path, text.replace(command.old_str, _clean(command.new_str or "")), cleaned=True)
        return f"changed {command.path}"

    def insert(self, command: Any) -> str:
        """Insert a text after a line; 0 is the beginning."""
        path = self._file(command.path)
        lines = _read(path).split("\n")
        at = command.insert_line
        if not isinstance(at, int) or not 0 <= at <= len(lines):
            raise InvalidInput(f"insert_line must be 0 to {len(lines)}, the lines of {command.path}")
        lines[at:at] = _clean(command.insert_text).removesuffix("\n").split("\n")
        self._write(path, "\n".join(lines), cleaned=True)
        return f"inserted after line {at} of {command.path}"

    def delete(self, command: Any) -> str:
        """Take a file or folder away; a copy is kept aside."""
        path = self._existing(command.path)
        if path == self.folder:
            raise InvalidInput(f"{ROOT} itself cannot be deleted")
        stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
        shutil.move(path, private_folder(self._set_aside) / f"{stamp}-{path.name}")
        return f"deleted {command.path}"

    def rename(self, command: Any) -> str:
        """Move a file or folder to a name that is free."""
        old, new = self._existing(command.old_path), self._path(command.new_path)
        if old == self.folder:
            raise InvalidInput(f"{ROOT} itself cannot be renamed")
        if new.exists():
            raise Conflict(f"{command.new_path} exists already")
        if new.is_relative_to(old):
            raise InvalidInput(f"{command.new_path} lies inside {command.old_path}")
        private_folder(new.parent)
        os.replace(old, new)
        return f"renamed {command.old_path} to {command.new_path}"

    def _path(self, named: Any) -> Path:
        """The real path, or InvalidInput: whole names only, and never through a link."""
        if not isinstance(named, str) or (named != ROOT and not named.startswith(f"{ROOT}/")):
            raise InvalidInput(f"paths begin with {ROOT}/, such as {ROOT}/notes.md")
        if _clean(named) != named:
            raise InvalidInput("a path must not hold a secret: name the file after what it is about")
        parts = [part for part in named.removeprefix(ROOT).split("/") if part]
        for part in parts:
            if part.startswith(".") or part.rstrip(" .") != part or not _NAME.fullmatch(part):
                raise InvalidInput(
                    f"{part[:60]!r} cannot be part of a path: plain names only, no dots in front"
                )
            if _RESERVED.fullmatch(part):
                raise InvalidInput(f"{part!r} is a name that some systems keep for themselves")
        path = self.folder.joinpath(*parts)
        if Path(os.path.realpath(path)) != Path(os.path.realpath(self.folder)).joinpath(*parts):
            raise InvalidInput(f"{named} leads through a link, out of {ROOT}")
        return path

    def _existing(self, named: Any) -> Path:
        path = self._path(named)
        if not path.exists():
            raise NotFound(f"there is no {named}; view {ROOT} lists what there is")
        return path

    def _file(self, named: Any) -> Path:
        path = self._existing(named)
        if not path.is_file():
            raise InvalidInput(f"{named} is a folder; this command needs a file")
        return path

    def _listed(self, folder: Path) -> list[str]:
        found = []
        for path in sorted(folder.rglob("*")):
            inner = path.relative_to(folder)
            hidden = any(part.startswith(".") for part in inner.parts)
            if len(inner.parts) <= DEPTH_SHOWN and not hidden and not path.is_symlink():
                size = "" if path.is_dir() else f"  {path.stat().st_size} bytes"
                found.append(f"{ROOT}/{path.relative_to(self.folder)}{'/' if path.is_dir() else ''}{size}")
        return found

    def _write(self, path: Path, text: Any, *, cleaned: bool = False) -> None:
        if not isinstance(text, str):
            raise InvalidInput("the text must be a string")
        raw = (text if cleaned else _clean(text)).encode("utf-8", "replace")
        if len(raw) > MAX_BYTES:
            raise InvalidInput(f"a file holds at most {MAX_BYTES // 1024} KB: split it")
        write_atomically(path, raw)


def _read(path: Path) -> str:
    if path.stat().st_size > 4 * MAX_BYTES:
        raise InvalidInput(f"{path.name} is too large to open")
    text = path.read_bytes().decode("utf-8", "replace")
    if text.count("\n") > MAX_LINES:
        raise InvalidInput(f"{path.name} has too many lines to open")
    return text


def _span(command: _Command) -> Any:
    return command._fields.get("view_range")


def _bounds(span: Any, count: int) -> tuple[int, int]:
    if not span:
        return 1, count
    if len(span) != 2 or not all(isinstance(value, int) for value in span):
        raise InvalidInput("view_range takes two line numbers, such as [1, 20]; -1 is the end")
    first, last = max(span[0], 1), count if span[1] == -1 else min(span[1], count)
    if first > last:
        raise InvalidInput(f"view_range {span} is empty: the file has {count} lines")
    return first, last


def _clean(text: str) -> str:
    from claude_memory.redact import redact

    return redact(text).text if text else ""
