"""Looks after what is kept: brings in, makes vectors, judges, consolidates, lets go, erases.

`memory.upkeep` is it. Questions never call it: whoever opens a memory decides when what waits is brought in.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claude_memory import settings as settings_module
from claude_memory.errors import Conflict, InvalidInput, StoreBusy
from claude_memory.lifecycle import retention
from claude_memory.lifecycle.drafting import drafted
from claude_memory.model import Trust
from claude_memory.opening import WHATEVER, Opened
from claude_memory.platform import leftovers, logs
from claude_memory.platform.files import FILE_MODE, FOLDER, private_folder
from claude_memory.platform.project import identify
from claude_memory.text import times
from claude_memory.vector_work import VectorWork, Watch, is_working, stop

if TYPE_CHECKING:
    from claude_memory.capture.drain import Drained
    from claude_memory.imports.importer import Imported, ImportPlan, Progress
    from claude_memory.lifecycle.consolidate import Consolidated
    from claude_memory.model import MemoryId, StoredMemory
    from claude_memory.notes.notes_book import NotesBook
    from claude_memory.store.model import Erased, MadeRoom, Pruned

FILES_SECONDS = 0.5  # a drain in more of a hurry leaves the plain files to the next
CATCH_UP_SHARE = 10  # where it takes long, at most a tenth of the time goes into looking at plain files
QUICK_SECONDS = 0.1
QUESTION_PATIENCE_MS = 500  # with another writer, before a question is answered without what waits


@dataclass(frozen=True, slots=True)
class Reindexed:
    memories: int
    passages: int
    vectors: int


class Upkeep:
    """Bringing in, judging, letting go, for one open memory."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._files_again_at = 0.0
        self._looked = False

    @property
    def notes(self) -> NotesBook:
        from claude_memory.notes.notes_book import NotesBook
        from claude_memory.store.sql.projects import provisional

        root = self._opened.project_root
        # What runs for nobody in particular is opened on the home itself, which is no project.
        project = self._opened.project if root != self._opened.home else provisional(identify(root))
        return NotesBook(self._opened.home, self._opened.store, self._opened.settings, project, root)

    def catch_up(self, *, graph: bool = False) -> None:
        """Bring in what waits before a question, without ever making it fail; `graph`: what it mentions, too.

        The store may be busy or read-only: then the question is answered without.
        """
        began = time.monotonic()
        try:
            # A question does not wait long for a writer that is stuck.
            with self._opened.store.transactions.hurried(QUESTION_PATIENCE_MS):
                if began < self._files_again_at:
                    self._drain_events(1.0)
                else:
                    self.drain(budget_seconds=1.0)
                    self._index_tasks()
                    self.prune()
                    # Again at once, unless there are thousands of files; the first look also loads the code.
                    took = time.monotonic() - began
                    if self._looked and took >= QUICK_SECONDS:
                        self._files_again_at = time.monotonic() + CATCH_UP_SHARE * took
                    self._looked = True
                # A process in the background takes the newest first, too.
                if not is_working(self._opened.home):
                    self.vectors.some(budget_seconds=self._opened.settings.embed_in_drain_ms / 1000)
                if graph:
                    self.derive_pending()
        except (StoreBusy, OSError):
            return

    def drain(self, *, budget_seconds: float | None = None) -> Drained:
        """Store what hooks have captured; text first, vectors follow by `embed_pending`."""
        done = self._drain_events(budget_seconds)
        if budget_seconds is None or budget_seconds >= FILES_SECONDS:
            leftovers.sweep(
                self._opened.home,
                self._opened.project_root if self._opened.project_root != self._opened.home else None,
            )
            # Write down what sessions did, read what people wrote; no fault of a file spoils the drain.
            try:
                self.notes.keep_up()
                self.notes.read_files(budget_seconds=budget_seconds)
            except (Conflict, InvalidInput, StoreBusy, OSError) as fault:
                logs.logger("files").warning("plain files wait for the next drain: %s", type(fault).__name__)
        return done

    def _drain_events(self, budget_seconds: float | None) -> Drained:
        from claude_memory.capture.drain import drain

        # The drain adds what each event's own project excludes; this project's say ends with its events.
        own = replace(self._opened.settings, exclude=settings_module.load(self._opened.home).exclude)
        done = drain(
            self._opened.home, self._opened.store, own, now=datetime.now(UTC), budget_seconds=budget_seconds
        )
        self._opened.mirror()  # also what a process left that was killed between a commit and its mirror
        return done

    def _index_tasks(self) -> None:
        """Let search find what stands in this project's task files; texts that changed are revised."""
        from claude_memory.tasks.documents import storage_for

        now = datetime.now(UTC)
        storage = storage_for(self._opened.project_root, home=self._opened.home)
        if not any((folder / "sessions").is_dir() for folder in storage.folders):
            return
        from claude_memory.tasks.views import texts

        marker = private_folder(self._opened.home / "cache") / f"tasks-{self._opened.project.id}"
        since = datetime.fromtimestamp(marker.stat().st_mtime, UTC) if marker.exists() else None
        wanted = [text for text in texts(storage, since=since) if text.body.strip()]
        fresh = (
            drafted(text, self._opened.project, trust=Trust(str(text.trust)), old=None, now=now)
            for text in wanted
        )
        memories = {memory.id: memory for memory in fresh}
        for old in self._opened.store.memories.find(self._opened.scope(), WHATEVER, ids=list(memories)):
            new = memories.pop(old.id)
            if (new.body, new.trust) != (old.body, old.trust):
                changed = replace(old, body=new.body, title=new.title, files=new.files, trust=new.trust)
                self._opened.store.memories.update(replace(changed, updated_at=now))
        self._opened.store.memories.add(list(memories.values()))
        marker.touch(mode=FILE_MODE)
        # A file system stamps by a coarser clock: what is written right now must not look older than this.
        seen = now.timestamp() - 1.0
        os.utime(marker, (seen, seen))

    def prune(self, *, now: datetime | None = None) -> Pruned:
        """Let old events go, and what was forgotten long enough ago; at most once a day."""
        moment = now or datetime.now(UTC)
        return retention.prune(
            self._opened.home,
            self._opened.store,
            self._opened.settings,
            moment,
            lambda ids: self._erase(ids).memories,
        )

    def keep_within_cap(self, *, now: datetime | None = None) -> MadeRoom:
        """Let the oldest tool output, messages and exchanges go while the store is over its cap."""
        return retention.keep_within_cap(
            self._opened.home, self._opened.store, self._opened.settings, now or datetime.now(UTC)
        )

    @property
    def vectors(self) -> VectorWork:
        return VectorWork(self._opened)

    def stop_vectors(self) -> None:
        """Let no process make vectors in the background, until the next import or `reindex`."""
        stop(self._opened.home)

    def judge_pending(self, *, budget_seconds: float | None = None) -> int:
        """Let memories meet their neighbours that came while no model was at hand; returns how many acted.

        What comes in by the command line, from a captured session or by an import waits for this.
        """
        from claude_memory.lifecycle.consolidate import admit_waiting

        is_late = times.deadline(budget_seconds)
        self.vectors.rest(budget_seconds=budget_seconds)  # neighbours are found by their vectors, too
        embedder = self._opened.embedder
        return admit_waiting(self._opened.store, embedder.model if embedder else None, is_late)

    @property
    def is_gate_behind(self) -> bool:
        return bool(self._opened.store.lifecycle.unjudged(1))

    def derive_pending(self, *, limit: int = 500) -> int:
        """Note for the graph what new memories of this project mention; returns how many were read."""
        from claude_memory.lifecycle.consolidate import derive_pending

        return derive_pending(self._opened.store, self._opened.project.id, limit=limit)

    def reindex(self, *, from_files: bool = False, progress: Watch | None = None) -> Reindexed:
        """Make text index and vectors anew; with `from_files`, the memories too, from memories.jsonl."""
        from claude_memory.notes.index import STATE

        memories = 0
        if from_files:
            from claude_memory.backup import mirror
            from claude_memory.store import set_damaged_aside

            self._opened.close()
            set_damaged_aside(self._opened.home, self._opened.settings)
            self._opened.mirror()  # a sound store may hold changes that the files lack
            memories = self._opened.store.replay(mirror.read(self._opened.home)).memories
        passages = self._opened.store.memories.rebuild_index()
        (self._opened.home / "cache" / STATE).unlink(missing_ok=True)  # every plain file is read anew
        passages += self.notes.read_files().added
        if self._opened.embedder is not None:
            self._opened.store.memories.drop_vectors(keep=self._opened.embedder.model)
        stop(self._opened.home, stopped=False)
        return Reindexed(memories, passages, self.vectors.all(progress))

    def import_history(
        self, paths: Sequence[Path] = (), *, progress: Progress | None = None, **bounds: Any
    ) -> Imported:
        """Read agents' own histories: what is new since last time. Vectors follow by `embed_pending`.

        `bounds` are those of `imports.importer.Request`: which agent, since when, how long to take or wait.
        """
        from claude_memory.capture.understanding import understand_waiting
        from claude_memory.imports.importer import Request, import_history

        request = Request(tuple(paths), **bounds)
        if not request.budget_seconds:  # a person asks, not a drain in its slack
            stop(self._opened.home, stopped=False)
        return import_history(
            self._opened.home,
            self._opened.store,
            self._opened.settings,
            request,
            progress=progress,
            understand=lambda late: understand_waiting(self._opened.store, late)[0],
        )

    def import_plan(self, paths: Sequence[Path] = (), **bounds: Any) -> ImportPlan:
        from claude_memory.imports.importer import Request, plan_import

        return plan_import(self._opened.store, Request(tuple(paths), **bounds))

    def import_memories(self, kind: str, paths: Sequence[Path]) -> Imported:
        """Read another memory's databases; `claude-mem` is the one that is known."""
        from claude_memory.imports.claude_mem import import_databases

        if kind != "claude-mem":
            raise InvalidInput(f"cannot read from {kind!r}: only claude-mem is known")
        return import_databases(self._opened.store, paths)

    @staticmethod
    def has_histories(paths: Sequence[Path] = (), agent: str | None = None) -> bool:
        """Whether agents left anything that could be read."""
        from claude_memory.imports.importer import Request, wanted_sources

        return any(source.agent for source, _ in wanted_sources(Request(tuple(paths), agent)))

    def import_in_slack(self) -> Imported | None:
        """Read on in agents' histories for a while, if a person once asked for them."""
        seconds = self._opened.settings.import_in_drain_seconds
        if not seconds or not self._opened.archive.totals()["files"]:
            return None
        try:
            return self.import_history(budget_seconds=seconds, workers=0)
        except (Conflict, StoreBusy):  # another one is at it
            return None

    def consolidate(self, *, dry_run: bool = False, budget_seconds: float | None = None) -> Consolidated:
        """Link what is alike, archive what faded; `undo_consolidation` takes it back."""
        from claude_memory.graph.knowledge import write_mirrors
        from claude_memory.lifecycle.consolidate import consolidate
        from claude_memory.lifecycle.staleness import refreshed

        store, project = self._opened.store, self._opened.project
        if not dry_run:
            refreshed(store, project, self._opened.project_root)
        now = datetime.now(UTC)
        done = consolidate(store, project, now=now, dry_run=dry_run, budget_seconds=budget_seconds)
        if not dry_run:
            write_mirrors(self._opened.home, store, project)
        return done

    def consolidate_in_slack(self) -> None:
        """Tend every project that wants it, for two seconds at most."""
        from claude_memory.graph.knowledge import write_mirrors
        from claude_memory.lifecycle.consolidate import tend

        for project in tend(self._opened.store, now=datetime.now(UTC)):
            write_mirrors(self._opened.home, self._opened.store, project)

    def undo_consolidation(self) -> int:
        """Take back the last consolidation that stands; returns how many steps were undone."""
        from claude_memory.lifecycle.consolidate import undo

        return undo(self._opened.store, self._opened.project)

    def erase(self, ids: Sequence[str]) -> Erased:
        """Remove memories for good: rows, index, vectors, events, mirror, file pages; a tombstone stays."""
        from claude_memory.capture.understanding import kin
        from claude_memory.notes import erasing
        from claude_memory.redact.erasure import SHORTEST, Sentences
        from claude_memory.store import refresh_copy
        from claude_memory.summaries.shelf import Shelf

        self._drain_events(None)  # what waits in the spool may say it, too
        asked = self._opened.find(ids)
        # What else was made from the same events goes with them: it may say the same in other words.
        gone = [*asked, *kin(self._opened.store, asked)]
        texts = [memory.body.strip() for memory in asked if len(memory.body.strip()) >= SHORTEST]
        sentences, made_from_it = Sentences(texts), Sentences(memory.body for memory in gone)
        own, others = self._files_outside(gone)
        # Files first: a process that ends in between leaves the memory, and so the way to ask again.
        erasing.purge(self._opened.home, made_from_it, own)
        erased = self._erase([memory.id for memory in gone], texts)
        self._drain_events(None)  # exchanges and records of sessions are made anew from what is left
        Shelf(self._opened.home).erase(made_from_it, {memory.session for memory in gone if memory.session})
        erasing.purge(self._opened.home, made_from_it, own)
        for question in (self._opened.home / "cache").glob("last-search-*"):
            question.unlink(missing_ok=True)  # a question may have had a word of it
        refresh_copy(self._opened.home, self._opened.settings, self._opened.store, at_once=True)
        left = erasing.places_in_home(self._opened.home, sentences, texts)
        left += erasing.places([*own, *others, *map(Path, erased.transcripts)], sentences)
        return replace(erased, left=tuple(dict.fromkeys(left)))

    def _files_outside(self, gone: Sequence[StoredMemory]) -> tuple[list[Path], list[Path]]:
        """Places outside the home that may say it: those with our blocks in them, and those we only read."""
        from claude_memory.notes.plain_files import project_files

        here = self._opened.project
        own, others = [], []
        for project in {here.id: here, **{item.id: item for item in self._opened.store.projects()}}.values():
            root = self._opened.project_root if project.id == here.id else Path(project.path)
            files = project_files(self._opened.home, project.id, root)
            outside = [path for path in files.all() if not path.is_relative_to(self._opened.home)]
            approved = [path for path in outside if path.is_relative_to(files.base)]
            own += approved
            others += [path for path in outside if path not in approved]
            folder = root / FOLDER
            others += [folder] if folder.is_dir() and not folder.is_symlink() else []
        others += self.notes.knowledge_folders()
        others += [Path(str(item.provenance["file"])) for item in gone if item.provenance.get("file")]
        return own, others

    def _erase(self, ids: Sequence[MemoryId], texts: Sequence[str] = ()) -> Erased:
        """Remove memories for good, and take the sentences `texts` out of whatever else holds them."""
        from claude_memory.backup import mirror
        from claude_memory.capture.understanding import records_with
        from claude_memory.redact.erasure import Sentences

        home, store = self._opened.home, self._opened.store
        records = (*ids, *records_with(store, ids))
        # Before, so that a mirror held by another process stops it while the ids are still known;
        # after, for what was mirrored in between.
        mirror.purge(home, records)
        erased = store.memories.erase(ids, texts=texts)
        sentences = Sentences(texts)
        mirror.purge(home, (*erased.ids, *records), (lambda _: sentences) if texts else None)
        self._opened.mirror()
        return erased
