"""The plain files: where a project's stand, read in whatever state, changed without losing a byte.

A repository is written only where its person ran `init`, and noted so in the home: a folder of ours that
came with a clone proves nothing. Every other project's files stand under the home. What can be read is read;
the rest is named with its line. One writer at a time replaces whole files; if somebody saved the file
meanwhile, the change is made anew on what they saved.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.notes import blocks
from claude_memory.platform import files

MEMORY, BUFFER = "MEMORY.md", "memory/working-buffer.md"
TODO, LESSONS = "tasks/todo.md", "tasks/lessons.md"
# What we say ourselves at the top of a file that we begin: for people, so no agent is given it.
INVITATIONS = {
    "working-buffer.md": "What is going on right now. Write freely: only the marked blocks are kept up by "
    "claude-memory.",
    "MEMORY.md": "What lasts about this project. Write freely: only the marked blocks are kept up by "
    "claude-memory.",
    "todo.md": "Your own list. The agent's open tasks are kept up in a marked block.",
    "lessons.md": 'What went wrong once and need not again: claude-memory lesson "…"',
}
TITLES = {
    "MEMORY.md": "# Project memory\n",
    "todo.md": "# To do\n",
    "lessons.md": "# Lessons\n",
    "working-buffer.md": f"# Working buffer\n\n{INVITATIONS['working-buffer.md']}\n\n",
}
# Of the agent, beside the home: only ever pointed at, never read, never indexed.
ON_DEMAND = {"setup.md": "how this machine is set up", "credentials.md": "where credentials are kept"}
MOST_LEARNED = 50
TABLE_HEAD = ("| Date | Decision | Rationale |", "|---|---|---|")
_CELL = r"((?:\\\||[^|])*?)"
_ROW = rf"^\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*{_CELL}\s*\|\s*$"
_APPROVED = "approved.txt"
_COPIES = "files"
MAX_BYTES = 4 << 20
WAIT_SECONDS = 10.0
_ATTEMPTS = 5
_ENCODING = ("utf-8", "surrogateescape")  # every byte comes back as it was
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})( |$)")


class FileProblem(NamedTuple):
    path: Path
    line: int
    reason: str


class Lines(NamedTuple):
    """A text file's lines (without line ends, numbered from 1) and what was wrong with it."""

    path: Path
    lines: tuple[tuple[int, str], ...] = ()
    problems: tuple[FileProblem, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.lines)


# --- reading


def read_bytes(path: Path) -> bytes:
    """A regular file's content, at most 4 MB; nothing for what is missing, a link or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as handle:
        return handle.read(MAX_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def read_lines(path: Path, content: bytes | None = None) -> Lines:
    """The lines of a text, conflict markers left out and reported; `content`, if it was read already."""
    content = read_bytes(path) if content is None else content
    lines: list[tuple[int, str]] = []
    problems: list[FileProblem] = []
    raw_lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(raw_lines[:-1] if raw_lines[-1] == b"" else raw_lines, 1):
        raw = line.removesuffix(b"\r")
        text = raw.decode("utf-8", "replace")
        if text.encode() != raw:
            problems.append(FileProblem(path, number, "not UTF-8: read as far as possible"))
        if _CONFLICT.match(text):
            problems.append(FileProblem(path, number, "an unresolved merge conflict: both sides are read"))
        else:
            lines.append((number, text))
    return Lines(path, tuple(lines), tuple(problems))


def records_of(lines: Lines) -> tuple[list[tuple[int, dict[str, Any]]], list[FileProblem]]:
    """The JSON objects of a file of lines, each with its line, and the lines that are none."""
    records: list[tuple[int, dict[str, Any]]] = []
    problems = [problem for problem in lines.problems if "conflict" in problem.reason]
    for number, text in lines.lines:
        try:
            value = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            value = text
        if isinstance(value, dict):
            records.append((number, value))
        elif text.strip():
            problems.append(FileProblem(lines.path, number, "not a JSON object: this line is passed over"))
    return records, problems


# --- writing


def edit(path: Path, change: Callable[[str], str], *, home: Path) -> bool:
    """Rewrite a file by a pure function of its text; returns whether it changed. A missing file is empty.

    Whoever appends without a lock loses nothing: what came to the old file while the new one was made is
    carried over, and who comes later sees that the file is another one (`append`).
    """
    from claude_memory.platform import locks  # who only reads need not load these
    from claude_memory.redact import kept_change

    files.require_writing(f"writing {path.name}")
    # The one lock of a file is kept in the home: no lock file ever stands in a repository.
    name = blocks.short(os.path.realpath(path), 12)
    lock = files.private_folder(home / "cache" / "locks") / f"{name}.lock"
    busy = f"{path} is being written by another process: try again"
    with locks.held(lock, wait_seconds=WAIT_SECONDS, conflict=busy):
        for _ in range(_ATTEMPTS):
            refuse_special(path)
            before_reading = _state(path)
            with path.open("rb") if before_reading else io.BytesIO() as old:
                before = old.read()
                text = before.decode(*_ENCODING)
                after = kept_change(text, change(text)).encode(*_ENCODING)
                if after == before:
                    return False
                files.private_folder(path.parent)
                if _state(path) == before_reading:
                    mode = stat.S_IMODE(before_reading[0]) if before_reading else files.FILE_MODE
                    files.write_atomically(path, after, mode=mode)
                    if late := old.read():
                        append(path, late)
                    return True
    raise Conflict(f"{path} keeps changing: try again")


def append(path: Path, content: bytes, *, title: bytes = b"", sync: bool = True) -> None:
    """Add bytes to a file's end in one go and without a lock; a new file begins with the title.

    Where somebody put a new file in its place meanwhile, the bytes are added to that one, too: twice is
    better than never. A half-written line before them is ended first.
    """
    files.require_writing(f"writing {path.name}")
    files.private_folder(path.parent)
    for _ in range(_ATTEMPTS):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_FOLLOW, files.FILE_MODE)
        with os.fdopen(descriptor, "r+b", buffering=0) as handle:
            size = handle.seek(0, os.SEEK_END)
            before = b"" if size else title
            if size:
                handle.seek(size - 1)
                before = b"" if handle.read(1) == b"\n" else b"\n"
            rest = memoryview(before + content)
            while rest:
                rest = rest[handle.write(rest) or 0 :]
            if sync:
                files.sync_file(handle)
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(descriptor), path.lstat()):
                    return


def with_line(text: str, line: str) -> str:
    """The text with one more line; a half-written one before it is ended first."""
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"


def json_line(record: Mapping[str, Any]) -> str:
    from claude_memory.redact import redact_document

    line = json.dumps(redact_document(dict(record)), ensure_ascii=False)
    return line.encode("utf-8", "replace").decode() + "\n"


def one_line(text: str) -> str:
    return " ".join(text.split())


def refuse_special(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidInput(f"{path} is a link or no file: it is left alone")


def _state(path: Path) -> tuple[int, int, int, int] | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_mode, status.st_mtime_ns, status.st_size, status.st_ino


# --- the files of a project

Change = Callable[[list[str]], Sequence[str]]  # what a block says now, and what it is to say


class ProjectFiles(NamedTuple):
    """The plain files of one project. `imported`: they came from elsewhere and are nobody's word yet.

    Each keeps its entries in marked blocks: a person's own, an agent's, and what was read from sessions. In
    the blocks of lists and tables the newest stands first.
    """

    base: Path
    kept: Path
    imported: tuple[Path, ...] = ()

    @property
    def memory(self) -> Path:
        return self.base / MEMORY

    @property
    def buffer(self) -> Path:
        return self.base / BUFFER

    @property
    def todo(self) -> Path:
        return self.base / TODO

    @property
    def lessons(self) -> Path:
        return self.base / LESSONS

    @property
    def is_shared(self) -> bool:
        """Whether the files stand at the top of a repository, to be committed: then people say when."""
        return self.base.name != files.FOLDER and not self.base.is_relative_to(self.kept)

    def all(self) -> list[Path]:
        """Every file of the project that people read, where it exists."""
        return [path for base in (self.base, *self.imported) for path in files_under(base)]

    def inside(self, path: Path) -> bool:
        """Whether a path really lies here: a link could lead anywhere."""
        bases = (self.base, *self.imported)
        return not path.is_symlink() and any(files.stays_inside(path, base) for base in bases)

    def copy_of(self, path: Path) -> Path | None:
        """Where a file in a repository is copied to, because `git clean` deletes ignored files."""
        if self.base.is_relative_to(self.kept) or not path.is_relative_to(self.base):
            return None
        return self.kept / _COPIES / path.relative_to(self.base)

    def change_block(self, name: str, lines: Change, path: Path | None = None) -> bool:
        """Let a block say what `lines` makes of what it says now; returns whether its file changed."""
        target = path or self.base / next(file for file, names in blocks.IN_FILES.items() if name in names)
        if not self.inside(target):
            raise InvalidInput(f"{target} leads outside the project's own files: it is left alone")
        home = self.kept.parent.parent
        changed = edit(target, lambda text: with_block(text, target, name, lines), home=home)
        copy = self.copy_of(target)
        if changed and copy is not None:
            with contextlib.suppress(OSError):  # a convenience: the file itself is the truth
                files.private_folder(copy.parent)
                files.write_atomically(copy, target.read_bytes())
        return changed

    def set_list(self, name: str, items: Sequence[str]) -> None:
        self.change_block(name, lambda _: [f"- {one_line(item)}" for item in items])

    def log_day(self, day: date, entry: str, mark: str) -> None:
        """Put an entry into a day's log in place of the one that ends in the same mark."""

        def lines(present: list[str]) -> list[str]:
            return sorted([*(line for line in present if not line.endswith(mark)), entry])

        self.change_block(blocks.SESSIONS, lines, self.base / "memory" / f"{day:%Y-%m-%d}.md")

    def add_dated(self, name: str, texts: Sequence[str], day: date) -> None:
        """Add lessons to a list; one that stands there already is not repeated."""

        def lines(present: list[str]) -> list[str]:
            known = {line.partition(": ")[2] for line in present}
            fresh = [f"- {day:%Y-%m-%d}: {text}" for text in map(one_line, texts) if text not in known]
            return [*fresh, *present][: MOST_LEARNED if name == blocks.LEARNED else None]

        self.change_block(name, lines)


def with_block(text: str, path: Path, name: str, lines: Change) -> str:
    """A file's text with a block changed; a new file begins with its title."""
    wanted = lines(blocks.content(text, name))
    if not text and wanted:
        text = TITLES.get(path.name, f"# {path.stem}\n")
    return blocks.updated(text, name, wanted)


def cells_of(line: str) -> tuple[str, str, str] | None:
    """The three cells of a row; None for the head and for anything else."""
    row = re.match(_ROW, line)
    if row is None or set(row[1]) <= {"-", " "} or row[1] in ("Date", "File"):
        return None
    first, second, third = (cell.replace("\\|", "|") for cell in row.groups())
    return first, second, third


def row_of(day: date, *cells: str) -> str:
    return " | ".join([f"| {day:%Y-%m-%d}", *(one_line(cell).replace("|", "\\|") for cell in cells)]) + " |"


def files_under(base: Path) -> list[Path]:
    fixed = [base / MEMORY, base / TODO, base / LESSONS]
    try:
        notes = sorted((base / "memory").glob("*.md"))
    except OSError:
        notes = []
    return [path for path in (*fixed, *notes) if path.is_file() and not path.is_symlink()]


def project_files(home: Path, project_id: str, root: Path) -> ProjectFiles:
    kept = home / "projects" / project_id
    own = root / files.FOLDER
    if own.is_symlink() or not own.is_dir():
        copies = kept / _COPIES
        lost = copies.is_dir() and is_approved(home, project_id, root)
        return ProjectFiles(copies if lost else kept, kept)
    base = root if is_repo_layout(root) else own
    if not all(files.stays_inside(base / name, base) for name in ("memory", "tasks")):
        return ProjectFiles(kept, kept)  # what stands there is another project's, whoever put the link there
    if is_approved(home, project_id, root):
        return ProjectFiles(base, kept)
    return ProjectFiles(kept, kept, (base,))


def is_repo_layout(root: Path) -> bool:
    from claude_memory.settings import of_project

    return bool(of_project(root).get("layout") == "repo")


def is_approved(home: Path, project_id: str, root: Path) -> bool:
    """Whether the person said, by `init`, that this folder's files are theirs."""
    try:
        lines = (home / "projects" / project_id / _APPROVED).read_text("utf-8").splitlines()
    except OSError:
        return False
    return os.path.realpath(root) in lines


def approve(home: Path, project_id: str, root: Path) -> None:
    if not is_approved(home, project_id, root):
        note = files.private_folder(home / "projects" / project_id) / _APPROVED
        before = note.read_text("utf-8") if note.exists() else ""
        content = f"{before}{os.path.realpath(root)}\n".encode("utf-8", "surrogateescape")
        files.write_atomically(note, content)


def bring_back(project: ProjectFiles) -> list[Path]:
    """Put copies in the home back where the project's own files are missing; returns what was restored."""
    copies = project.kept / _COPIES
    restored = []
    for copy in sorted(copies.rglob("*.md")) if project.base != copies else []:
        own = project.base / copy.relative_to(copies)
        if not own.exists() and project.inside(own):
            files.private_folder(own.parent)
            files.write_atomically(own, copy.read_bytes())
            restored.append(own)
    return restored
