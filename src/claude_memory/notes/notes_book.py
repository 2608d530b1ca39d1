"""The plain files of the person, of projects and of the knowledge base: which are read, what is written.

What `memory.notes` gives, and what the drain keeps up. What is written here is cleaned of secrets first, and
read into the store at once; a busy store leaves that to the next drain.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from claude_memory.errors import InvalidInput, StoreFault
from claude_memory.lifecycle.drafting import clean
from claude_memory.model import Project, ProjectIdentity, Scope, Trust
from claude_memory.notes import blocks, buffer, index, person_files, plain_files
from claude_memory.notes.index import FileSource
from claude_memory.notes.journal import Journal
from claude_memory.notes.plain_files import ProjectFiles, files_under, one_line, project_files, read_lines
from claude_memory.platform import project as projects
from claude_memory.platform.files import FOLDER, private_folder, write_atomically
from claude_memory.settings import Settings
from claude_memory.store.base import Store

NOTES = (".md", ".markdown", ".mdx")
SYNC_SECONDS = 2.0
MEMORY_TEMPLATE = """
## Project state

<!-- what it is, what works, what is missing -->

## Active Workstreams

<!-- what is being worked on, and how it stands -->

## Architecture decisions

<!-- claude-memory decide "what" --why "why" -->
"""
MOST_PROPOSED = 30
_SKIPPED = ("node_modules", "__pycache__")
_LEAD = re.compile(r"^(?:\s*(?:[-*+]|\d+[.)])\s+)?(?:\d\d:\d\d\s+)?")
_DECIDED = re.compile(r"decided: (.*?)(?= · | \(session |$)")
_LASTING = {"decision", "architecture", "correction", "value"}


class KnowledgeFolder(NamedTuple):
    folder: Path
    exists: bool
    notes: int
    indexed: int
    pieces: int


class Proposal(NamedTuple):
    lines: tuple[str, ...]
    diff: str

    def added(self, present: list[str]) -> list[str]:
        return [*(line for line in self.lines if line not in present), *present]


@dataclass(frozen=True, slots=True)
class NotesBook:
    """Files that people and agents write: of the person, of one project, and of all of a home."""

    home: Path
    store: Store
    settings: Settings
    project: Project
    root: Path

    @property
    def files(self) -> ProjectFiles:
        return project_files(self.home, self.project.id, self.root)

    def sync(self) -> index.Synced:
        """Bring the files up to the last sessions and the store up to the files, whatever time it takes."""
        self.keep_up(on_command=True)
        return self.read_files()

    def keep_up(self, *, on_command: bool = False) -> None:
        """Write down what sessions did; condense those whose window is nearly full; mark what was said."""
        now = datetime.now(UTC)
        journal = Journal(self.home, self.store, on_command)
        journal.keep_up(now)
        journal.watch(self.settings, now)
        for project, root in self._at_work():
            buffer.fold(project_files(self.home, project.id, root))

    def read_files(self, *, budget_seconds: float | None = None) -> index.Synced:
        """Bring the store up to what the files of the person, this project and the knowledge base say."""
        return self._index().sync(self._sources(), budget_seconds)

    def _index(self) -> index.FileIndex:
        return index.FileIndex(self.home, self.settings.store, self.store)

    def knowledge_folders(self) -> list[Path]:
        """The folders of notes, as set; those that are there or not."""
        return [Path(name).expanduser().absolute() for name in self.settings.knowledge]

    def _at_work(self) -> Iterator[tuple[Project, Path]]:
        for project in self.store.projects():
            root = Path(project.path)
            if (self.home / "projects" / project.id).is_dir() or (root / FOLDER).is_dir():
                yield project, root

    def _sources(self) -> list[FileSource]:
        """Which files are read, and whose word they are."""
        sources: list[FileSource] = []
        for project, root in [(self.project, self.root)] if self.root != self.home else self._at_work():
            files = project_files(self.home, project.id, root)
            # Those that came with a clone are nobody's word yet.
            trusts = {files.base: Trust.USER, **dict.fromkeys(files.imported, Trust.IMPORTED)}
            for base, trust in trusts.items() if files.all() else ():
                paths = [path for path in files_under(base) if ProjectFiles(base, base).inside(path)]
                starts = ("MEMORY.md", "memory" + os.sep, "tasks" + os.sep)
                own = tuple(str(base / start) for start in starts)
                sources.append(FileSource(paths, project.id, trust, Scope.PROJECT, own, base, root))
        person = [self.home / "MEMORY.md", self.home / person_files.REFLECTIONS]
        person = [path for path in (*person, *person_files.session_logs(self.home)) if path.is_file()]
        folders = [folder for folder in self.knowledge_folders() if folder.is_dir()]
        if person or folders:
            # What belongs to the person and no project still needs one to stand under.
            path = str(self.home)
            id_ = self.store.project_for(ProjectIdentity((f"path:{path}",), self.home.name, path)).id
            own = tuple(f"{path}{os.sep}{start}" for start in ("MEMORY.md", "reflections.", "sessions/"))
            # A line of these files that names its project belongs there; a name of two is none's.
            every = self.store.projects()
            names = Counter(project.name for project in every)
            called = {project.name: project.id for project in every if names[project.name] == 1}
            called |= {project.id: project.id for project in every}
            sources.append(FileSource(person, id_, Trust.USER, Scope.USER, own, projects=called))
            for folder in folders:
                inside = (str(folder) + os.sep,)
                notes = FileSource(notes_in(folder), id_, Trust.USER, Scope.USER, inside, folder)
                sources.append(notes._replace(shown_from=folder.parent, by_name=False))
        return sources

    # --- what people and agents write on purpose

    def sessions(
        self, days: int, *, all_projects: bool = False
    ) -> tuple[Sequence[person_files.SessionLine], Sequence[plain_files.FileProblem]]:
        """The last days of the session log, and lines of it that cannot be read."""
        wanted = None if all_projects else self.project.id
        return person_files.recent_sessions(self.home, today=_today(), days=days, project=wanted)

    def add_session(
        self, text: str, *, title: str = "", **lists: Sequence[str]
    ) -> tuple[Path, person_files.SessionLine]:
        """Add a line to today's session log; `lists` are decisions, artifacts and open threads."""
        now, summary = datetime.now().astimezone(), one_line(clean(text))
        name = clean(title) if title else summary[:80]
        line = person_files.SessionLine(f"{now:%Y-%m-%d}", name, f"{now:%H:%M}", summary)
        cleaned = {name: tuple(map(clean, texts)) for name, texts in lists.items()}
        session = os.environ.get("CLAUDE_MEMORY_SESSION", "")
        line = line._replace(project=self.project.id, session_id=session, **cleaned)  # type: ignore[arg-type]
        return self._written(person_files.append_session(self.home, line)), line

    def reflect(self, type_: str, text: str, *, by_agent: bool) -> tuple[Path, person_files.Piece]:
        home, now = self.home, datetime.now().astimezone()
        made = person_files.add_reflection(
            home, type_, clean(text), project=self.project.id, by_agent=by_agent, now=now
        )
        return self._written(home / person_files.REFLECTIONS), made

    def add_lesson(self, text: str, *, by_agent: bool) -> tuple[Path, str]:
        content = clean(text)
        if not content.strip():
            raise InvalidInput("a lesson needs a text")
        self.files.add_dated(blocks.AGENT_LESSONS if by_agent else blocks.LESSONS, [content], _today())
        return self._written(self.files.lessons), content

    def decide(self, text: str, why: str, *, by_agent: bool) -> tuple[Path, str, str]:
        """Add a decision and its reason to the table in the project's MEMORY.md, unless it stands there.

        An agent's is shown as a quotation until a person moves the row to the other table.
        """
        what, reason = clean(text), clean(why)

        def rows(present: list[str]) -> list[str]:
            known = {line: cells for line in present if (cells := plain_files.cells_of(line))}
            if one_line(what) in {cells[1] for cells in known.values()}:
                return present
            return [*plain_files.TABLE_HEAD, plain_files.row_of(_today(), what, reason), *known]

        self.files.change_block(blocks.AGENT_DECISIONS if by_agent else blocks.DECISIONS, rows)
        return self._written(self.files.memory), what, reason

    def buffer(self) -> plain_files.Lines:
        return read_lines(self.files.buffer)

    def add_to_buffer(self, text: str, *, by_agent: bool) -> tuple[Path, str]:
        content = one_line(clean(text))
        session = buffer.session_name(os.environ.get("CLAUDE_MEMORY_SESSION", ""))
        entry = buffer.BufferEntry(datetime.now(UTC), buffer.NOTE, content, session)
        name = blocks.AGENT_NOTES if by_agent else blocks.NOTES
        self.files.change_block(name, lambda present: buffer.with_note(present, entry))
        return self._written(self.files.buffer), content

    def clear_buffer(self) -> bool:
        """Empty our blocks of the working buffer, once what was said there is remembered."""
        self._written(self.files.buffer)
        names = blocks.IN_FILES[plain_files.BUFFER]
        changed = [name for name in names if self.files.change_block(name, lambda _: ())]
        return bool(changed)

    def add_note(self, name: str, text: str, *, by_agent: bool) -> Path:
        """Add to a note of the knowledge base, or begin it; what agents add is marked as theirs."""
        folders = self.knowledge_folders()
        title, addition = one_line(clean(name)), clean(text).strip()
        stem = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())[:80]
        if not folders or not stem or not addition:
            raise InvalidInput("a note needs a name, a text and a knowledge folder (setting `knowledge`)")

        def change(before: str) -> str:
            body = before or f"# {title}\n"
            if not by_agent:
                return f"{body.rstrip()}\n\n{addition}\n"
            present = blocks.content(body, blocks.AGENT_NOTES)
            return blocks.updated(body, blocks.AGENT_NOTES, [*present, f"- {one_line(addition)}"])

        path = folders[0] / f"{stem}.md"
        plain_files.edit(path, change, home=self.home)
        return self._written(path)

    def knowledge(self) -> list[KnowledgeFolder]:
        known = self._index().known
        rows = []
        for folder in self.knowledge_folders():
            there = [str(path) for path in notes_in(folder)]
            pieces = [len(known[path].memories) for path in there if path in known]
            rows.append(KnowledgeFolder(folder, folder.is_dir(), len(there), len(pieces), sum(pieces)))
        return rows

    def propose(self, days: int) -> Proposal:
        """What the logs of the last days settled and MEMORY.md does not say yet."""
        import difflib

        files, since = self.files, f"{_today() - timedelta(days=days - 1)}"
        path = files.memory
        before = plain_files.read_bytes(path).decode("utf-8", "surrogateescape")
        known, fresh = _words(before), dict[str, str]()  # each by its words, so that none comes twice
        for log in sorted((files.base / "memory").glob("????-??-??.md")):
            if log.stem >= since and files.inside(log):
                for text in (text for _, line in read_lines(log).lines for text in _lasting(line)):
                    words = _words(text)
                    if words not in known:
                        fresh.setdefault(words, f"- {log.stem}: {text}")
        proposal = Proposal(tuple(fresh.values())[:MOST_PROPOSED], "")
        after = plain_files.with_block(before, path, blocks.DISTILLED, proposal.added)
        names = ("MEMORY.md", "MEMORY.md, with what was distilled")
        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
        return proposal._replace(diff="\n".join(diff))

    def apply(self, proposal: Proposal) -> None:
        """Add what was proposed, to whatever the file says by now."""
        self.files.change_block(blocks.DISTILLED, proposal.added)
        self._written(self.files.memory)

    def unapproved(self, *, repo: bool) -> list[Path]:
        """Files of the project's folder that came with a clone, and that the person never took over."""
        if plain_files.is_approved(self.home, self.project.id, self.root):
            return []
        at_top = files_under(self.root) if repo or plain_files.is_repo_layout(self.root) else []
        return [*files_under(self.root / FOLDER), *at_top]

    def prepare(self, layout: str | None) -> tuple[projects.Prepared, list[Path]]:
        """Give the project its own folder; what stands there is the person's word from now on.

        Returns the folder, and files that were brought back into it from their copies in the home.
        """
        done = projects.prepare(self.root, layout)
        plain_files.approve(self.home, self.project.id, self.root)
        return done, plain_files.bring_back(self.files)

    def put_templates(self) -> list[Path]:
        made = []
        files = self.files
        for path in (files.memory, files.todo, files.lessons):
            if not path.exists() and files.inside(path):
                private_folder(path.parent)
                rest = MEMORY_TEMPLATE if path == files.memory else ""
                text = f"{plain_files.TITLES[path.name]}\n{plain_files.INVITATIONS[path.name]}\n{rest}"
                write_atomically(path, text.encode())
                made.append(path)
        return made

    def _written(self, path: Path) -> Path:
        """Read what was just written; if the store is busy, the next drain does."""
        with contextlib.suppress(StoreFault):
            self.read_files(budget_seconds=SYNC_SECONDS)
        return path


def notes_in(folder: Path) -> Iterator[Path]:
    """Every note below a folder: no hidden folders, no links, nothing huge."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        for name in sorted(names):
            path = Path(place, name)
            is_note = name.lower().endswith(NOTES) and name[0] != "." and name not in plain_files.ON_DEMAND
            if is_note and not path.is_symlink() and path.stat().st_size <= plain_files.MAX_BYTES:
                yield path


def _lasting(line: str) -> Iterator[str]:
    """What a line of a log settles; an entry of a session names its decisions itself."""
    from claude_memory.understand.typed import families

    if decided := _DECIDED.search(line):
        yield from (one_line(part) for part in decided[1].split("; ") if part.strip())
        return
    text = _LEAD.sub("", line).strip()
    if text and not text.startswith(("#", "<!--", "|")) and not _LASTING.isdisjoint(families(text)):
        yield one_line(text)


def _words(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text.lower()).strip()


def _today() -> date:
    return datetime.now().astimezone().date()
