"""Where the plain files of a person and of a project stand, and which of them may be written.

A repository is written only where its person ran `init`, and noted so in the home: a folder of ours
that came with a clone proves nothing. Every other project's files stand under the home.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import NamedTuple

from claude_memory.platform.files import FOLDER, private_folder, stays_inside, write_atomically

# What we say ourselves at the top of a file that we begin: for people, so no agent is given it.
INVITATIONS = {
    "working-buffer.md": "What is going on right now. Write freely: only the marked blocks are kept up by "
    "claude-memory.",
    "MEMORY.md": "What lasts about this project. Write freely: only the marked blocks are kept up by "
    "claude-memory.",
    "todo.md": "Your own list. The agent's open tasks are kept up in a marked block.",
    "lessons.md": 'What went wrong once and need not again: claude-memory lesson "…"',
}
_APPROVED = "approved.txt"
_COPIES = "files"
_FOLDERS = ("memory", "tasks")
ON_DEMAND = {"setup.md": "how this machine is set up", "credentials.md": "where credentials are kept"}


class PersonFiles(NamedTuple):
    """What belongs to the person, whatever they work on."""

    home: Path

    @property
    def memory(self) -> Path:
        """Who they are, what they want."""
        return self.home / "MEMORY.md"

    @property
    def reflections(self) -> Path:
        """Patterns, reflections, ideas: one a line."""
        return self.home / "reflections.jsonl"

    @property
    def sessions(self) -> Path:
        """The folder of session logs, one file a day."""
        return self.home / "sessions"

    def session_log(self, day: str) -> Path:
        """The session log of one day."""
        return self.sessions / f"{day}.jsonl"

    def session_logs(self) -> list[Path]:
        """Every day's file, oldest first."""
        return sorted(self.sessions.glob("????-??-??.jsonl"))

    def on_demand(self) -> list[tuple[Path, str]]:
        """Files of the agent that are only ever pointed at: never read, never indexed."""
        folder = self.home.parent
        return [(folder / name, purpose) for name, purpose in ON_DEMAND.items() if (folder / name).is_file()]


class ProjectFiles(NamedTuple):
    """The plain files of one project. `imported`: they came from elsewhere and are nobody's word yet."""

    base: Path
    kept: Path
    imported: tuple[Path, ...] = ()

    @property
    def memory(self) -> Path:
        """Project state, workstreams, decisions: what lasts."""
        return self.base / "MEMORY.md"

    @property
    def is_shared(self) -> bool:
        """Whether the files stand at the top of a repository, to be committed: then people say when."""
        return self.base.name != FOLDER and not self.base.is_relative_to(self.kept)

    @property
    def folder(self) -> Path:
        """The folder of working buffer and daily logs."""
        return self.base / "memory"

    @property
    def buffer(self) -> Path:
        """What is going on right now."""
        return self.folder / "working-buffer.md"

    @property
    def todo(self) -> Path:
        """What is to be done."""
        return self.base / "tasks" / "todo.md"

    @property
    def lessons(self) -> Path:
        """What went wrong once and need not again."""
        return self.base / "tasks" / "lessons.md"

    def daily(self, day: date) -> Path:
        """The log of one day."""
        return self.folder / f"{day:%Y-%m-%d}.md"

    def all(self) -> list[Path]:
        """Every file of the project that people read, where it exists."""
        return [path for base in (self.base, *self.imported) for path in _files_under(base)]

    def inside(self, path: Path) -> bool:
        """Whether a path really lies here: a link could lead anywhere."""
        bases = (self.base, *self.imported)
        return not path.is_symlink() and any(stays_inside(path, base) for base in bases)

    def copy_of(self, path: Path) -> Path | None:
        """Where a file in a repository is copied to, because `git clean` deletes ignored files."""
        if self.base.is_relative_to(self.kept) or not path.is_relative_to(self.base):
            return None
        return self.kept / _COPIES / path.relative_to(self.base)


def project_files(home: Path, project_id: str, root: Path) -> ProjectFiles:
    """The files of the project at `root`."""
    kept = home / "projects" / project_id
    own = root / FOLDER
    if own.is_symlink() or not own.is_dir():
        copies = kept / _COPIES
        lost = copies.is_dir() and is_approved(home, project_id, root)
        return ProjectFiles(copies if lost else kept, kept)
    base = root if _is_repo_layout(root) else own
    if not all(stays_inside(base / name, base) for name in _FOLDERS):
        return ProjectFiles(kept, kept)  # what stands there is another project's, whoever put the link there
    if is_approved(home, project_id, root):
        return ProjectFiles(base, kept)
    return ProjectFiles(kept, kept, (base,))


def _is_repo_layout(root: Path) -> bool:
    from claude_memory.settings import of_project

    return bool(of_project(root).get("layout") == "repo")


def is_approved(home: Path, project_id: str, root: Path) -> bool:
    """Whether the person said, by `init`, that this folder's files are theirs."""
    try:
        lines = (home / "projects" / project_id / _APPROVED).read_text("utf-8").splitlines()
    except OSError:
        return False
    return os.path.realpath(root) in lines


def unapproved(home: Path, project_id: str, root: Path, *, repo: bool) -> list[Path]:
    """Files that stand under a project's folder though the person never took it over."""
    if is_approved(home, project_id, root):
        return []
    at_top = repo or _is_repo_layout(root)
    return [path for base in (root / FOLDER, *((root,) if at_top else ())) for path in _files_under(base)]


def approve(home: Path, project_id: str, root: Path) -> None:
    """Note that the files under this folder are the person's own."""
    if is_approved(home, project_id, root):
        return
    note = private_folder(home / "projects" / project_id) / _APPROVED
    before = note.read_text("utf-8") if note.exists() else ""
    write_atomically(note, f"{before}{os.path.realpath(root)}\n".encode("utf-8", "surrogateescape"))


def bring_back(files: ProjectFiles) -> list[Path]:
    """Put copies in the home back where the project's own files are missing; returns what was restored."""
    copies = files.kept / _COPIES
    restored = []
    for copy in sorted(copies.rglob("*.md")) if files.base != copies else []:
        own = files.base / copy.relative_to(copies)
        if not own.exists() and files.inside(own):
            private_folder(own.parent)
            write_atomically(own, copy.read_bytes())
            restored.append(own)
    return restored


def _files_under(base: Path) -> list[Path]:
    fixed = [base / "MEMORY.md", base / "tasks" / "todo.md", base / "tasks" / "lessons.md"]
    try:
        notes = sorted((base / "memory").glob("*.md"))
    except OSError:
        notes = []
    return [path for path in (*fixed, *notes) if path.is_file() and not path.is_symlink()]
