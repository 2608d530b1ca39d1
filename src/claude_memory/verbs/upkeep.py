"""Verbs that look after what is kept: drain, files, vectors, history, retention, consolidation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory import settings as settings_module
from claude_memory.errors import Conflict, EmbedderUnavailable, InvalidInput, StoreBusy
from claude_memory.model import MemoryFilter, MemoryId, SearchScope, Status
from claude_memory.platform import leftovers
from claude_memory.platform.files import FILE_MODE, private_folder
from claude_memory.store.protocol import EventFilter
from claude_memory.verbs.fields import clean
from claude_memory.verbs.opened import ANY_STATUS, Opened

if TYPE_CHECKING:
    from claude_memory.capture.drain import Drained
    from claude_memory.imports.claude_mem import Read
    from claude_memory.imports.importer import Imported, Progress, Request
    from claude_memory.lifecycle.consolidate import Consolidated
    from claude_memory.notes.index import Synced
    from claude_memory.notes.keeping import Keeper
    from claude_memory.store.protocol import Erased, Pruned

EMBED_BATCH = 32
FILES_SECONDS = 0.5  # a drain in more of a hurry leaves the plain files to the next
CATCH_UP_SHARE = 10  # where it takes long, at most a tenth of the time goes into looking at plain files
QUICK_SECONDS = 0.1
QUESTION_PATIENCE_MS = 500  # with another writer, before a question is answered without what waits


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What `reindex` made anew."""

    memories: int
    passages: int
    vectors: int


class Upkeep(Opened):
    """Bringing in, keeping up, letting go."""

    def drain(self, *, budget_seconds: float | None = None) -> Drained:
        """Store what hooks have captured; text first, vectors follow by `embed_pending`."""
        done = self._drain_events(budget_seconds)
        if budget_seconds is None or budget_seconds >= FILES_SECONDS:
            leftovers.sweep(self.home, self._root if self._root != self.home else None)
            self._keep_files(budget_seconds)
        return done

    def _drain_events(self, budget_seconds: float | None) -> Drained:
        from claude_memory.capture.drain import drain

        # The drain adds what each event's own project excludes; this project's say ends with its events.
        own = replace(self.settings, exclude=settings_module.load(self.home).exclude)
        done = drain(self.home, self.store, own, now=datetime.now(UTC), budget_seconds=budget_seconds)
        self._mirror()  # also what a process left that was killed between a commit and its mirror
        return done

    def sync_files(
        self, *, budget_seconds: float | None = None, progress: Callable[[int], None] | None = None
    ) -> Synced:
        """Bring the store up to what the plain files say: of the person, this project, the knowledge base."""
        # A drain that runs for nobody in particular is opened on the home itself, which is no project.
        project = None if self._root == self.home else self.project
        done = self.keeper.sync(
            project, self._root, now=datetime.now(UTC), budget_seconds=budget_seconds, progress=progress
        )
        if done.added or done.changed or done.hidden:
            self._mirror()
        return done

    @property
    def keeper(self) -> Keeper:
        """What keeps store and plain files together."""
        from claude_memory.notes.keeping import Keeper

        return Keeper(self.home, self.store, self.settings, clean)

    def upkeep(self, *, now: datetime | None = None) -> Pruned:
        """Enforce retention, at most once a day: old events go, and what was forgotten long enough ago.

        What goes was named a day before, and the clock ran on since then without a jump.
        """
        from claude_memory.store.protocol import Pruned
        from claude_memory.verbs import retention

        moment = now or datetime.now(UTC)
        before = retention.load(self.home)
        state = before.looked(moment) if before is not None else retention.Retention(moment.timestamp())
        if state is None:
            return Pruned()
        if before is None or state.jumped_from is not None:
            retention.save(self.home, state)
            return Pruned()
        hidden = self.store.memories(SearchScope(None), MemoryFilter(statuses=(Status.FORGOTTEN,)))
        state = state.seen_forgotten([item.id for item in hidden])
        due = state.events_before if self.settings.keep_events_days else None
        retention.save(self.home, replace(state, events_before=self._events_to_go(moment)))
        events = Pruned()
        if due is not None:
            events = self.store.prune(events_before=datetime.fromtimestamp(due, UTC), forgotten_before=None)
        undo_until = moment - timedelta(days=self.settings.forget_undo_days)
        past_undoing = set(state.past_undoing(self.settings.forget_undo_days))
        past = [
            item.id
            for item in hidden
            if item.id in past_undoing and item.forgotten_at and item.forgotten_at < undo_until
        ]
        return Pruned(events.events, self._erase(past).memories if past else 0)

    def _events_to_go(self, now: datetime) -> float | None:
        """Events from before this moment are too old, by the newest that is stored and not by the clock."""
        newest = self.store.events(SearchScope(None), EventFilter(), limit=1)
        if not self.settings.keep_events_days or not newest:
            return None
        reference = min(now, newest[0].timestamp)
        return (reference - timedelta(days=self.settings.keep_events_days)).timestamp()

    def embed_pending(
        self, *, budget_seconds: float | None = None, progress: Callable[[int], None] | None = None
    ) -> int:
        """Make vectors for passages that lack one; returns how many were made."""
        embedder = self.embedder
        if embedder is None:
            return 0
        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        made = 0
        try:
            while waiting := self.store.unembedded(embedder.model, EMBED_BATCH):
                vectors = embedder.embed([passage.text for passage in waiting])
                pairs = [(passage.id, vector) for passage, vector in zip(waiting, vectors, strict=True)]
                made += self.store.add_vectors(embedder.model, pairs)
                if progress is not None:
                    progress(made)
                if deadline is not None and time.monotonic() > deadline:
                    break
        except EmbedderUnavailable as fault:
            self._lost(fault)
        return made

    def judge_pending(self, *, budget_seconds: float | None = None) -> int:
        """Let memories meet their neighbours that came while no model was at hand; returns how many acted.

        What comes in by the command line, from a captured session or by an import waits for this.
        """
        from claude_memory.lifecycle.entry import admit_waiting

        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        self.embed_pending(budget_seconds=budget_seconds)  # neighbours are found by their vectors, too
        embedder = self.embedder
        model = embedder.model if embedder is not None else None

        def out_of_time() -> bool:
            return deadline is not None and time.monotonic() > deadline

        verdicts = admit_waiting(self.store, model, out_of_time)
        acted = sum(verdict.other is not None for verdict in verdicts)
        if acted:
            self._mirror()
        return acted

    def reindex(
        self, *, from_files: bool = False, progress: Callable[[int], None] | None = None
    ) -> Reindexed:
        """Make text index and vectors anew; with `from_files`, the memories too, from memories.jsonl."""
        from claude_memory.notes import index

        memories = 0
        if from_files:
            from claude_memory.backup import mirror

            self.close()
            mirror.set_damaged_store_aside(self.home)
            self._mirror()  # a sound store may hold changes that the files lack
            memories = self.store.replay(mirror.read(self.home)).memories
        passages = self.store.rebuild_index()
        index.drop_state(self.home)
        passages += self.sync_files().added
        if self.embedder is not None:
            self.store.drop_vectors(keep=self.embedder.model)
        return Reindexed(memories, passages, self.embed_pending(progress=progress))

    def import_history(
        self, request: Request, *, progress: Callable[[Progress], None] | None = None
    ) -> Imported:
        """Read agents' own histories: what is new since last time. Vectors follow by `embed_pending`."""
        from claude_memory.capture.understanding import understand_waiting
        from claude_memory.imports.importer import import_history

        try:
            return import_history(
                self.home,
                self.store,
                self.archive,
                self.settings,
                request,
                progress=progress,
                understand=lambda late: understand_waiting(self.store, self.archive, late)[0],
            )
        finally:
            self._mirror()

    def import_in_slack(self) -> Imported | None:
        """Read on in agents' histories for a while, if a person once asked for them."""
        from claude_memory.imports.importer import Request

        seconds = self.settings.import_in_drain_seconds
        if not seconds or not self.archive.totals()["files"]:
            return None
        try:
            return self.import_history(Request(budget_seconds=seconds, workers=0))
        except (Conflict, StoreBusy):  # another one is at it
            return None

    def import_memories(self, kind: str, paths: Sequence[Path]) -> Read:
        """Read another memory's databases; `claude-mem` is the one that is known."""
        from claude_memory.imports.claude_mem import import_databases

        if kind != "claude-mem":
            raise InvalidInput(f"cannot read from {kind!r}: only claude-mem is known")
        done = import_databases(self.store, paths)
        self._mirror()
        return done

    def consolidate(self, *, dry_run: bool = False, budget_seconds: float | None = None) -> Consolidated:
        """Link what is alike, archive what faded; `undo_consolidation` takes it back."""
        from claude_memory.graph.knowledge import write_mirrors
        from claude_memory.lifecycle.consolidate import consolidate
        from claude_memory.lifecycle.staleness import refreshed

        if not dry_run:
            refreshed(self.store, self.project, self.project_root)
        done = consolidate(
            self.store, self.project, now=datetime.now(UTC), dry_run=dry_run, budget_seconds=budget_seconds
        )
        if not dry_run:
            self._mirror()
            write_mirrors(self.home, self.store, self.project)
        return done

    def consolidate_in_slack(self) -> None:
        """Tend every project that wants it, for two seconds at most."""
        from claude_memory.graph.knowledge import write_mirrors
        from claude_memory.lifecycle.slack import tend

        for project in tend(self.store, now=datetime.now(UTC)):
            write_mirrors(self.home, self.store, project)
        self._mirror()

    def undo_consolidation(self) -> int:
        """Take back the last consolidation that stands; returns how many steps were undone."""
        from claude_memory.lifecycle.consolidate import undo

        undone = undo(self.store, self.project)
        self._mirror()
        return undone

    def _keep_files(self, budget_seconds: float | None) -> None:
        """Write down what sessions did, read what people wrote; no fault of a file spoils the drain."""
        try:
            self.keeper.keep_up(now=datetime.now(UTC))
            self.sync_files(budget_seconds=budget_seconds)
        except (Conflict, InvalidInput, StoreBusy, OSError) as fault:
            from claude_memory.platform import logs

            logs.logger("files").warning("plain files wait for the next drain: %s", type(fault).__name__)

    def _index_tasks(self) -> None:
        """Let search find what stands in this project's task files; texts that changed are revised."""
        from claude_memory.tasks.storage import storage_for

        storage = storage_for(self.project_root, home=self.home)
        if not any((folder / "sessions").is_dir() for folder in storage.folders):
            return
        from claude_memory.tasks.views import texts as task_texts

        now = datetime.now(UTC)
        marker = private_folder(self.home / "cache") / f"tasks-{self.project.id}"
        since = datetime.fromtimestamp(marker.stat().st_mtime, UTC) if marker.exists() else None
        texts = {
            text.id_in(self.project.id): text
            for text in task_texts(storage, since=since)
            if text.body.strip()
        }
        known = self.store.memories(self._scope(), MemoryFilter(statuses=ANY_STATUS), ids=list(texts))
        for old in known:
            new = self._completed(texts[old.id].memory(), now, told=texts[old.id].trust)
            if (new.body, new.trust) != (old.body, old.trust):
                changed = replace(old, body=new.body, title=new.title, files=new.files, trust=new.trust)
                self.store.update(replace(changed, updated_at=now))
        missing = texts.keys() - {old.id for old in known}
        fresh = [text for id_, text in texts.items() if id_ in missing]
        self.store.add([], [self._completed(text.memory(), now, told=text.trust) for text in fresh])
        marker.touch(mode=FILE_MODE)
        os.utime(marker, (now.timestamp(), now.timestamp()))
        if texts:
            self._mirror()

    def _erase(self, ids: Sequence[MemoryId], texts: Sequence[str] = ()) -> Erased:
        """Remove memories for good, and take the sentences `texts` out of whatever else holds them."""
        from claude_memory.backup import mirror
        from claude_memory.capture.understanding import records_with
        from claude_memory.redact.erasure import Sentences

        told = (*ids, *records_with(self.store, ids))
        # Before, so that a mirror held by another process stops it while the ids are still known;
        # after, for what was mirrored in between.
        mirror.purge(self.home, told)
        erased = self.store.erase(ids, texts=texts)
        sentences = Sentences(texts)
        mirror.purge(self.home, (*erased.ids, *told), (lambda _: sentences) if texts else None)
        self._mirror()
        return erased

    def _catch_up(self) -> None:
        if not self.reads_only:
            self.catch_up()

    def catch_up(self) -> None:
        """Bring in what waits, without ever making a question fail: the store may be busy or read-only."""
        began = time.monotonic()
        try:
            # A question does not wait long for a writer that is stuck.
            with self.store.hurried(QUESTION_PATIENCE_MS):
                if began < self._files_again_at:
                    self._drain_events(1.0)
                else:
                    self.drain(budget_seconds=1.0)
                    self._index_tasks()
                    self.upkeep()
                    self._files_again_at = self._next_look(began, time.monotonic())
                self.embed_pending(budget_seconds=self.settings.embed_in_drain_ms / 1000)
        except (StoreBusy, OSError):
            return

    def _next_look(self, began: float, ended: float) -> float:
        """When to look at the plain files again: at once, unless there are thousands of them."""
        first, self._looked = not self._looked, True
        if first or ended - began < QUICK_SECONDS:  # the first look also loads the code for it
            return ended
        return ended + CATCH_UP_SHARE * (ended - began)
