"""The plain files of the person and of one project, as `memory.notes` gives them.

What is written here is cleaned of secrets first, and read into the store at once; a busy store leaves that to
the next drain.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.errors import StoreFault
from claude_memory.notes import buffer, person_files, places
from claude_memory.notes.index import Synced
from claude_memory.notes.keeping import Keeper, notes_in
from claude_memory.notes.text_files import Lines, Problem, one_line, read_lines
from claude_memory.platform import project as projects

if TYPE_CHECKING:
    from claude_memory.model import Project
    from claude_memory.notes.project_documents import ProjectDocuments, Proposal

SYNC_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class KnowledgeFolder:
    """A folder of notes, and what of it is indexed."""

    folder: Path
    exists: bool
    notes: int
    indexed: int
    pieces: int


@dataclass(frozen=True, slots=True)
class NotesBook:
    """Files that people and agents write, of the person and of one project."""

    keeper: Keeper
    project: Project
    root: Path
    read: Callable[..., Synced]  # brings the store up to what the files say

    @property
    def documents(self) -> ProjectDocuments:
        """The project's documents, to be written."""
        return self.keeper.documents_of(self.project.id, self.root)

    @property
    def files(self) -> places.ProjectFiles:
        """Where the project's files stand."""
        return self.keeper.files_of(self.project.id, self.root)

    def sessions(
        self, days: int, *, all_projects: bool = False
    ) -> tuple[Sequence[person_files.SessionLine], Sequence[Problem]]:
        """The last days of the session log, and lines of it that cannot be read."""
        wanted = None if all_projects else self.project.id
        return person_files.recent_sessions(self.keeper.home, today=_today(), days=days, project=wanted)

    def add_session(
        self,
        text: str,
        *,
        title: str = "",
        decisions: Sequence[str] = (),
        artifacts: Sequence[str] = (),
        open_threads: Sequence[str] = (),
    ) -> tuple[Path, person_files.SessionLine]:
        """Add a line to today's session log."""
        clean, now = self.keeper.clean, datetime.now().astimezone()
        summary = one_line(self.keeper.clean(text))
        line = person_files.SessionLine(
            date=f"{now:%Y-%m-%d}",
            session=clean(title) if title else summary[:80],
            time=f"{now:%H:%M}",
            summary=summary,
            decisions=tuple(map(clean, decisions)),
            artifacts=tuple(map(clean, artifacts)),
            open_threads=tuple(map(clean, open_threads)),
            project=self.project.id,
            session_id=os.environ.get("CLAUDE_MEMORY_SESSION", ""),
        )
        return self._written(person_files.append_session(self.keeper.home, line)), line

    def reflect(self, type_: str, text: str, *, by_agent: bool) -> tuple[Path, person_files.Reflection]:
        """Write down a pattern, a reflection or an idea."""
        home, now = self.keeper.home, datetime.now().astimezone()
        made = person_files.add_reflection(
            home, type_, self.keeper.clean(text), project=self.project.id, by_agent=by_agent, now=now
        )
        return self._written(home / "reflections.jsonl"), made

    def add_lesson(self, text: str, *, by_agent: bool) -> tuple[Path, str]:
        """Add a lesson to tasks/lessons.md."""
        content = self.keeper.clean(text)
        self.documents.add_lesson(content, day=_today(), by_agent=by_agent)
        return self._written(self.files.lessons), content

    def decide(self, text: str, why: str, *, by_agent: bool) -> tuple[Path, str, str]:
        """Add a decision and its reason to the table in the project's MEMORY.md."""
        what, reason = self.keeper.clean(text), self.keeper.clean(why)
        self.documents.add_decision(what, reason, day=_today(), by_agent=by_agent)
        return self._written(self.files.memory), what, reason

    def buffer(self) -> Lines:
        """What stands in the working buffer."""
        return read_lines(self.files.buffer)

    def add_to_buffer(self, text: str, *, by_agent: bool) -> tuple[Path, str]:
        """Add an entry to the working buffer."""
        content = one_line(self.keeper.clean(text))
        session = buffer.session_name(os.environ.get("CLAUDE_MEMORY_SESSION", ""))
        entry = buffer.BufferEntry(datetime.now(UTC), buffer.NOTE, content, session)
        self.documents.add_to_buffer(entry, by_agent=by_agent)
        return self._written(self.files.buffer), content

    def clear_buffer(self) -> bool:
        """Empty our blocks of the working buffer, once what was said there is remembered."""
        self._written(self.files.buffer)
        return self.documents.clear_buffer()

    def propose(self, days: int) -> Proposal:
        """What of the last days' logs belongs into MEMORY.md."""
        return self.documents.propose(since=_today() - timedelta(days=days - 1))

    def apply(self, proposal: Proposal) -> None:
        """Add what was proposed to MEMORY.md."""
        self.documents.apply(proposal)
        self._written(self.files.memory)

    def add_note(self, name: str, text: str, *, by_agent: bool) -> Path:
        """Add to a note of the knowledge base, or begin one."""
        return self._written(self.keeper.add_note(name, text, by_agent=by_agent))

    def sync(self) -> Synced:
        """Bring the files up to the last sessions and the store up to the files, whatever time it takes."""
        self.keeper.keep_up(now=datetime.now(UTC), on_command=True)
        return self.read()

    def knowledge(self) -> list[KnowledgeFolder]:
        """The folders of the knowledge base."""
        known = self.keeper.index.known
        rows = []
        for folder in self.keeper.knowledge_folders():
            there = [str(path) for path in notes_in(folder)] if folder.is_dir() else []
            indexed = [path for path in there if path in known]
            pieces = sum(len(known[path].memories) for path in indexed)
            rows.append(KnowledgeFolder(folder, folder.is_dir(), len(there), len(indexed), pieces))
        return rows

    def unapproved(self, *, repo: bool) -> list[Path]:
        """Files of the project's folder that came with a clone, and that the person never took over."""
        return places.unapproved(self.keeper.home, self.project.id, self.root, repo=repo)

    def prepare(self, layout: str | None) -> tuple[projects.Prepared, list[Path]]:
        """Give the project its own folder; what stands there is the person's word from now on.

        Returns the folder, and files that were brought back into it from their copies in the home.
        """
        done = projects.prepare(self.root, layout)
        places.approve(self.keeper.home, self.project.id, self.root)
        return done, places.bring_back(self.files)

    def _written(self, path: Path) -> Path:
        """Read what was just written; if the store is busy, the next drain does."""
        with contextlib.suppress(StoreFault):
            self.read(budget_seconds=SYNC_SECONDS)
        return path


def _today() -> date:
    return datetime.now().astimezone().date()
