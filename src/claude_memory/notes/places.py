"""Where the plain files of a project stand, and which of them may be written.

A repository is written only where its person ran `init`, and noted so in the home: a folder of ours
that came with a clone proves nothing. Every other project's files stand under the home.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import NamedTuple

from claude_memory.platform.files import FOLDER, private_folder, stays_inside, write_atomically

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
# Of the agent, beside the home: only ever pointed at, never read, never indexed.
ON_DEMAND = {"setup.md": "how this machine is set up", "credentials.md": "where credentials are kept"}
_APPROVED = "approved.txt"
_COPIES = "files"


class ProjectFiles(NamedTuple):
    """The plain files of one project. `imported`: they came from elsewhere and are nobody's word yet."""

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

    def daily(self, day: date) -> Path:
        return self.base / "memory" / f"{day:%Y-%m-%d}.md"

    @property
    def is_shared(self) -> bool:
        """Whether the files stand at the top of a repository, to be committed: then people say when."""
        return self.base.name != FOLDER and not self.base.is_relative_to(self.kept)

    def all(self) -> list[Path]:
        """Every file of the project that people read, where it exists."""
        return [path for base in (self.base, *self.imported) for path in files_under(base)]

    def inside(self, path: Path) -> bool:
        """Whether a path really lies here: a link could lead anywhere."""
        bases = (self.base, *self.imported)
        return not path.is_symlink() and any(stays_inside(path, base) for base in bases)

    def copy_of(self, path: Path) -> Path | None:
        """Where a file in a repository is copied to, because `git clean` deletes ignored files."""
        if self.base.is_relative_to(self.kept) or not path.is_relative_to(self.base):
            return None
        return self.kept / _COPIES / path.relative_to(self.base)


def files_under(base: Path) -> list[Path]:
    """The plain files of a project that stand in this folder."""
    fixed = [base / MEMORY, base / TODO, base / LESSONS]
    try:
        notes = sorted((base / "memory").glob("*.md"))
    except OSError:
        notes = []
    return [path for path in (*fixed, *notes) if path.is_file() and not path.is_symlink()]


def project_files(home: Path, project_id: str, root: Path) -> ProjectFiles:
    kept = home / "projects" / project_id
    own = root / FOLDER
    if own.is_symlink() or not own.is_dir():
        copies = kept / _COPIES
        lost = copies.is_dir() and is_approved(home, project_id, root)
        return ProjectFiles(copies if lost else kept, kept)
    base = root if _is_repo_layout(root) else own
    if not all(stays_inside(base / name, base) for name in ("memory", "tasks")):
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
    at_top = files_under(root) if repo or _is_repo_layout(root) else []
    return [*files_under(root / FOLDER), *at_top]


def approve(home: Path, project_id: str, root: Path) -> None:
    """Note that the files under this folder are the person's own."""
    if not is_approved(home, project_id, root):
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
