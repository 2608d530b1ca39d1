"""`Memory`: one open home and project, and a verb for everything a surface can ask.

Wiring only: it fills in defaults, calls the part that does the work, and keeps the mirror and the
vectors up with the store. Ranking, SQL and file formats live elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from claude_memory import settings as settings_module
from claude_memory.errors import (
    Conflict,
    EmbedderUnavailable,
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreFault,
)
from claude_memory.files import FILE_MODE, private_folder
from claude_memory.model import (
    Hit,
    Kind,
    MemoryFilter,
    MemoryId,
    NewMemory,
    Project,
    Scope,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
    Trust,
    memory_id,
)
from claude_memory.project import identify, resolve

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder
    from claude_memory.graph.draw import Label
    from claude_memory.graph.knowledge import Knowledge
    from claude_memory.graph.walk import Neighbourhood
    from claude_memory.ingest.claude_mem import Read
    from claude_memory.ingest.drain import Drained
    from claude_memory.ingest.importer import Imported, Progress, Request
    from claude_memory.layers.index import Synced
    from claude_memory.layers.keeping import Keeper
    from claude_memory.ledger import Given, LedgerLine
    from claude_memory.lifecycle.consolidate import Consolidated
    from claude_memory.lifecycle.entry import Verdict
    from claude_memory.lifecycle.intention_book import IntentionBook
    from claude_memory.lifecycle.life import Life
    from claude_memory.recall.conversations import Recalled
    from claude_memory.recall.explain import Explanation
    from claude_memory.settings import Settings
    from claude_memory.store.archive_protocol import Archive, Conversation, ConversationFilter
    from claude_memory.store.protocol import Erased, Pruned, Store, StoreStats
    from claude_memory.timeline import TimelineEntry

TITLE_CHARACTERS = 80
EMBED_BATCH = 32
UPKEEP_SECONDS = 86_400
FILES_SECONDS = 0.5  # a drain in more of a hurry leaves the plain files to the next
ANY_STATUS = tuple(Status)

_Choice = TypeVar("_Choice", Kind, Trust, Scope)


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What `reindex` made anew."""

    memories: int
    passages: int
    vectors: int


class Memory:
    """A memory of one project, in one home. Use as a context manager."""

    def __init__(
        self,
        home: Path,
        folder: Path,
        settings: Settings,
        progress: Callable[[str], None] | None = None,
        patience_ms: int | None = None,
    ) -> None:
        self.home = home
        self.settings = settings
        self._progress = progress
        self._patience_ms = patience_ms
        self._folder = folder
        self._root = Path(identify(folder, quick=True).path)
        self._store: Store | None = None
        self._project: Project | None = None
        self._embedder: Embedder | None = None
        self._words_only: str | None = None
        # What the write gate made of the memories of the last `remember` or `remember_many`.
        self.verdicts: dict[MemoryId, Verdict] = {}

    @classmethod
    def open(
        cls,
        home: Path | str | None = None,
        project: Path | str | None = None,
        *,
        flags: Mapping[str, Any] | None = None,
        progress: Callable[[str], None] | None = None,
        patience_ms: int | None = None,
    ) -> Self:
        """Open the memory of a project folder (default: the current one). Makes the home if needed.

        `progress` is told, in a line, of what takes long, such as the model's first conversion.
        `patience_ms` is how long to wait for another process that writes, where not for seconds.
        """
        root = Path(home).expanduser() if home is not None else settings_module.home()
        folder = Path(project).expanduser() if project is not None else Path.cwd()
        settings = settings_module.load(
            root, project_root=Path(identify(folder, quick=True).path), flags=flags
        )
        return cls(root, folder, settings, progress, patience_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give everything back; the memory may be opened again."""
        if self._store is not None:
            self._store.close()
            self._store = None

    # --- what it stands on

    @property
    def store(self) -> Store:
        """The store, opened on first use, so that a damaged one can still be repaired."""
        if self._store is None:
            from claude_memory.store import open_store

            private_folder(self.home)
            self._store = open_store(self.home, self.settings, patience_ms=self._patience_ms)
        return self._store

    @property
    def archive(self) -> Archive:
        """The conversations kept in the store."""
        from claude_memory.store import archive_of

        return archive_of(self.store)

    @property
    def project(self) -> Project:
        """The project of the folder this was opened for."""
        if self._project is None:
            self._project = resolve(self._folder, self.store.project_for)
        return self._project

    @property
    def project_root(self) -> Path:
        """The folder that holds the project's own files."""
        return self._root

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors, or None: then `search_mode` says why."""
        if self._embedder is None and self._words_only is None:
            from claude_memory.embed import open_embedder

            try:
                found = open_embedder(self.settings, self.home / "cache" / "models", progress=self._progress)
                if found is not None:
                    _ = found.model  # an endpoint or a folder may turn out to be unusable only now
            except EmbedderUnavailable as fault:
                self._words_only = str(fault)
            else:
                self._embedder = found
                self._words_only = None if found else "the setting `embedder` is `none`"
        return self._embedder

    def use_embedder(self, embedder: Embedder) -> None:
        """Let vectors be made by this one, which outlives the memory."""
        self._embedder, self._words_only = embedder, None

    @property
    def search_mode(self) -> str:
        """What a search works with, in words."""
        embedder = self.embedder
        return f"words and meaning ({embedder.model})" if embedder else f"words only: {self._words_only}"

    # --- writing

    def remember(self, new: NewMemory, *, embed: bool = True) -> StoredMemory:
        """Keep one memory and return it as it stands."""
        [kept] = self.remember_many([new], embed=embed)
        return self._one(kept)

    def remember_many(self, new: Sequence[NewMemory], *, embed: bool = True) -> list[MemoryId]:
        """Keep memories in one transaction; with `embed`, they are searchable by meaning on return."""
        now = datetime.now(UTC)
        memories = [self._completed(item, now) for item in new]
        added = self.store.add([], memories)
        if added.tombstoned:
            raise Conflict(f"{added.tombstoned} of {len(memories)} were erased for good and stay so")
        self._mirror()
        if embed:
            self.embed_pending()
        self._admit(memories)
        return [memory.id for memory in memories]

    def _admit(self, memories: Sequence[StoredMemory]) -> None:
        """Let new memories meet their neighbours; what they say stays kept whatever comes of it."""
        from claude_memory.lifecycle.derive import derive
        from claude_memory.lifecycle.entry import admit
        from claude_memory.lifecycle.staleness import tied
        from claude_memory.store.lifecycle_protocol import lifecycle_of

        model = self._embedder.model if self._embedder is not None else None  # never loaded for this
        derive(self.store, memories)
        if any(memory.files for memory in memories):
            lifecycle_of(self.store).put_file_states(tied(memories, self.project_root))
        verdicts = admit(self.store, memories, model)
        self.verdicts = {verdict.memory: verdict for verdict in verdicts}
        if any(verdict.other for verdict in verdicts):
            self._mirror()

    def revise(
        self,
        id_: str,
        *,
        body: str | None = None,
        title: str | None = None,
        kind: Kind | str | None = None,
        topics: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        pinned: bool | None = None,
        reason: str | None = None,
    ) -> StoredMemory:
        """Change what is given of one memory; the change and its reason are kept in the mirror."""
        old = self._one(id_)
        if body is not None and not body.strip():
            raise InvalidInput("a memory needs a text; to remove it, use forget")
        fresh_title = title if title is not None else (_title(body) if _is_derived(old) and body else None)
        changed = replace(
            old,
            body=_clean(body) if body is not None else old.body,
            title=_clean(fresh_title)[:200] if fresh_title is not None else old.title,
            kind=_kind(kind) if kind is not None else old.kind,
            topics=tuple(topics) if topics is not None else old.topics,
            files=tuple(files) if files is not None else old.files,
            pinned=pinned if pinned is not None else old.pinned,
            provenance={**old.provenance, **({"revised": _clean(reason)} if reason else {})},
        )
        return self._updated(changed)

    def supersede(self, id_: str, new: NewMemory) -> StoredMemory:
        """Put a new memory in the place of an old one; both stay, linked, and the old one sinks."""
        return self.remember(replace(new, supersedes=self._one(id_).id))

    def forget(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Hide memories; `restore` brings them back until the undo time is over."""
        now = datetime.now(UTC)
        found = [self._one(id_) for id_ in ids]
        return [self._updated(replace(item, status=Status.FORGOTTEN, forgotten_at=now)) for item in found]

    def restore(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Undo `forget`."""
        found = [self._one(id_) for id_ in ids]
        for item in found:
            if item.status is not Status.FORGOTTEN:
                raise Conflict(f"{item.id} is not forgotten")
        return [
            self._updated(
                replace(
                    item,
                    status=Status.SUPERSEDED if item.superseded_by else Status.ACTIVE,
                    forgotten_at=None,
                )
            )
            for item in found
        ]

    def reinstate(self, id_: str) -> StoredMemory:
        """Undo a supersession: the old memory stands again, the new one stays, the link between them goes."""
        old = self._one(id_)
        if old.status is not Status.SUPERSEDED:
            raise Conflict(f"{old.id} is not superseded")
        if old.superseded_by:
            self._updated(replace(self._one(old.superseded_by), supersedes=None))
        return self._updated(replace(old, status=Status.ACTIVE, superseded_by=None))

    def erase(self, ids: Sequence[str]) -> Erased:
        """Remove memories for good: rows, index, vectors, events, mirror, file pages; a tombstone stays."""
        from claude_memory.ingest.distilling import kin

        asked = [self._one(id_) for id_ in ids]
        # What else was made from the same events goes with them: it may say the same in other words.
        erased = self._erase([one.id for one in [*asked, *kin(self.store, asked)]])
        self._last_search().unlink(missing_ok=True)
        return erased

    # --- asking

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        kinds: Sequence[Kind | str] = (),
        topics: Sequence[str] = (),
        files: Sequence[str] = (),
        task: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        min_relevance: float | None = None,
        all_projects: bool = False,
    ) -> list[Hit]:
        """The best answers, most relevant first, from what is stored and what still waits in the spool."""
        from claude_memory.recall.search import search

        filter_ = MemoryFilter(
            kinds=tuple(_kind(kind) for kind in kinds),
            topics=tuple(topics),
            files=tuple(files),
            task=task,
            session=SessionId(session) if session else None,
            since=since,
            until=until,
        )
        self._catch_up()
        hits = search(
            self.store,
            self.embedder,
            self._scope(all_projects=all_projects),
            query,
            filter_=filter_,
            limit=self.settings.search_limit if limit is None else limit,
            min_relevance=self.settings.min_relevance if min_relevance is None else min_relevance,
            now=datetime.now(UTC),
        )
        self._note_search(query)
        return hits

    def why(self, id_: str, query: str | None = None) -> Explanation:
        """Why a memory answers a question (default: the last one asked here), in numbers and words."""
        from claude_memory.recall.explain import explain

        memory = self._one(id_)
        asked = query if query is not None else self._noted_search()
        found = explain(
            self.store,
            self.embedder,
            self._scope(all_projects=memory.project != self.project.id),
            asked,
            memory.id,
            now=datetime.now(UTC),
        )
        return replace(found, words=(*found.words, *self.lifecycle.told(memory, now=datetime.now(UTC))))

    def given(self, id_: str) -> list[Given]:
        """When and where hooks handed a memory to an agent, newest first."""
        from claude_memory.ledger import given

        self._catch_up()
        return given(self.store, self._scope(), self._one(id_).id)

    def show(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Whole memories by id or unique beginning of one; being opened keeps them strong."""
        found = [self._one(id_) for id_ in ids]
        with contextlib.suppress(StoreFault, OSError):  # a busy or read-only store still answers
            self.lifecycle.review(found, "opened")
        return found

    def find(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Memories by id or unique beginning of one, without counting as a use."""
        return [self._one(id_) for id_ in ids]

    def graph(self, start: str, *, hops: int = 2) -> tuple[Neighbourhood, Label]:
        """What is around a memory, a file, a topic; and how its nodes are called."""
        from claude_memory.graph.neighbourhood import around

        return around(self.store, self.project, start, hops=hops)

    def knowledge(self, topic: str | None = None) -> Knowledge:
        """Decisions with their reasons, and rules with how often and since when they came up."""
        from claude_memory.graph.knowledge import knowledge
        from claude_memory.lifecycle.derive import derive_pending

        self._catch_up()
        derive_pending(self.store, self.project.id)
        return knowledge(self.store, self.project, topic)

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

    @property
    def lifecycle(self) -> Life:
        """What memories are worth and how they hang together."""
        from claude_memory.lifecycle.life import Life

        return Life(self.store, self.project)

    def conversation(self, id_: str) -> Conversation:
        """An archived conversation of any project, by its id or the unique beginning of one."""
        from claude_memory.conversations import find

        return find(self.archive, id_)

    def recall(
        self,
        query: str,
        *,
        within: ConversationFilter | None = None,
        here: bool = False,
        limit: int | None = None,
        own_first: bool = True,
        quick: bool = False,
    ) -> list[Recalled]:
        """Archived conversations that answer a question, or the newest; of this project only with `here`.

        A `quick` answer is by words alone and from newer messages where many share the words.
        """
        from claude_memory.recall.conversations import recall
        from claude_memory.store.archive_protocol import ANY_CONVERSATION

        return recall(
            self.archive,
            self.store,
            None if quick else self.embedder,
            self._scope(all_projects=not here),
            query,
            within=within or ANY_CONVERSATION,
            limit=self.settings.search_limit if limit is None else limit,
            now=datetime.now(UTC),
            own=self.project.id if own_first else None,
            thorough=not quick,
        )

    def timeline(
        self,
        *,
        around: str | None = None,
        query: str | None = None,
        before: int = 5,
        after: int = 5,
        session: str | None = None,
    ) -> list[TimelineEntry]:
        """What happened around a memory, around a question's best hit, or most recently."""
        from claude_memory.timeline import entries_around

        self._catch_up()
        anchor = self._one(around) if around else None
        if anchor is None and query is not None:
            hits = self.search(query, limit=1, session=session)
            if not hits:
                raise NotFound(f"nothing found for {query!r} to draw a timeline around")
            anchor = self._one(hits[0].id)
        return entries_around(
            self.store,
            self._scope(),
            anchor,
            before=before,
            after=after,
            session=SessionId(session) if session else None,
        )

    @property
    def intentions(self) -> IntentionBook:
        """What is to be done later in this project: set, check, list, complete, snooze, cancel."""
        from claude_memory.lifecycle.intention_book import IntentionBook
        from claude_memory.store.lifecycle_protocol import lifecycle_of

        return IntentionBook(lifecycle_of(self.store), self.project, clean=_clean)

    # --- upkeep

    def drain(self, *, budget_seconds: float | None = None) -> Drained:
        """Store what hooks have captured; text first, vectors follow by `embed_pending`."""
        from claude_memory.ingest.drain import drain

        # The drain adds what each event's own project excludes; this project's say ends with its events.
        own = replace(self.settings, exclude=settings_module.load(self.home).exclude)
        done = drain(self.home, self.store, own, now=datetime.now(UTC), budget_seconds=budget_seconds)
        if done.events or done.memories:
            self._mirror()
        if budget_seconds is None or budget_seconds >= FILES_SECONDS:
            self._keep_files(budget_seconds)
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
        from claude_memory.layers.keeping import Keeper

        return Keeper(self.home, self.store, self.settings, _clean)

    def upkeep(self) -> Pruned:
        """Enforce retention, at most once a day: old events go, and what was forgotten long enough ago."""
        from claude_memory.store.protocol import Pruned

        marker = private_folder(self.home / "cache") / "upkeep"
        now = datetime.now(UTC)
        if marker.exists() and now.timestamp() - marker.stat().st_mtime < UPKEEP_SECONDS:
            return Pruned()
        marker.touch(mode=0o600)
        days = self.settings.keep_events_days
        events = (
            self.store.prune(events_before=now - timedelta(days=days), forgotten_before=None)
            if days
            else Pruned()
        )
        undo_until = now - timedelta(days=self.settings.forget_undo_days)
        hidden = self.store.memories(SearchScope(None), MemoryFilter(statuses=(Status.FORGOTTEN,)))
        past = [item.id for item in hidden if item.forgotten_at and item.forgotten_at < undo_until]
        return Pruned(events.events, self._erase(past).memories if past else 0)

    def import_history(
        self, request: Request, *, progress: Callable[[Progress], None] | None = None
    ) -> Imported:
        """Read agents' own histories: what is new since last time. Vectors follow by `embed_pending`."""
        from functools import partial

        from claude_memory.ingest.distilling import of_conversation
        from claude_memory.ingest.importer import import_history

        try:
            return import_history(
                self.home,
                self.store,
                self.archive,
                self.settings,
                request,
                progress=progress,
                distil=partial(of_conversation, self.store),
            )
        finally:
            self._mirror()

    def import_in_slack(self) -> Imported | None:
        """Read on in agents' histories for a while, if a person once asked for them."""
        from claude_memory.ingest.importer import Request

        seconds = self.settings.import_in_drain_seconds
        if not seconds or not self.archive.totals()["files"]:
            return None
        try:
            return self.import_history(Request(budget_seconds=seconds, workers=0))
        except (Conflict, StoreBusy):  # another one is at it
            return None

    def import_memories(self, kind: str, paths: Sequence[Path]) -> Read:
        """Read another memory's databases; `claude-mem` is the one that is known."""
        from claude_memory.ingest.claude_mem import import_databases

        if kind != "claude-mem":
            raise InvalidInput(f"cannot read from {kind!r}: only claude-mem is known")
        done = import_databases(self.store, paths)
        self._mirror()
        return done

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
            self._embedder, self._words_only = None, str(fault)
        return made

    def reindex(
        self, *, from_files: bool = False, progress: Callable[[int], None] | None = None
    ) -> Reindexed:
        """Make text index and vectors anew; with `from_files`, the memories too, from memories.jsonl."""
        from claude_memory.layers import index

        memories = 0
        if from_files:
            from claude_memory.transfer import mirror

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

    def stats(self, *, all_projects: bool = False) -> StoreStats:
        """Counts and sizes."""
        return self.store.stats(None if all_projects else self.project.id)

    def ledger(self, *, since: datetime | None = None) -> list[LedgerLine]:
        """What hooks gave to agents in this project."""
        from claude_memory.ledger import ledger

        self._catch_up()
        return ledger(self.store, self._scope(), since=since)

    # --- inside

    def _keep_files(self, budget_seconds: float | None) -> None:
        """Write down ended sessions, read what people wrote; no fault of a file spoils the drain."""
        try:
            self.keeper.end_sessions(now=datetime.now(UTC))
            self.sync_files(budget_seconds=budget_seconds)
        except (Conflict, InvalidInput, StoreBusy, OSError) as fault:
            from claude_memory import logs

            logs.logger("files").warning("plain files wait for the next drain: %s", type(fault).__name__)

    def _completed(self, new: NewMemory, now: datetime) -> StoredMemory:
        body = _clean(new.body)
        if not body.strip():
            raise InvalidInput("a memory needs a text")
        created = new.created_at or now
        origin = f"origin:{self.project.id}:{new.origin}" if new.origin else f"new:{os.urandom(16).hex()}"
        return StoredMemory(
            id=memory_id(origin),
            project=self.project.id,
            kind=_kind(new.kind),
            title=_clean(new.title).strip()[:200] if new.title and new.title.strip() else _title(body),
            body=body,
            created_at=created if created.tzinfo else created.replace(tzinfo=UTC),
            updated_at=now,
            trust=_choice(Trust, new.trust, "trust"),
            scope=_choice(Scope, new.scope, "scope"),
            session=SessionId(new.session) if new.session else None,
            task=new.task,
            topics=tuple(dict.fromkeys(topic.strip() for topic in new.topics if topic.strip())),
            files=tuple(dict.fromkeys(new.files)),
            provenance={"source": "remember", **new.provenance},
            supersedes=self._one(new.supersedes).id if new.supersedes else None,
        )

    def _erase(self, ids: Sequence[MemoryId]) -> Erased:
        from claude_memory.transfer import mirror

        # Before, so that a mirror held by another process stops it while the ids are still known;
        # after, for what was mirrored in between.
        mirror.purge(self.home, ids)
        erased = self.store.erase(ids)
        mirror.purge(self.home, ids)
        self._mirror()
        return erased

    def _one(self, id_: str) -> StoredMemory:
        scope = self._scope()
        matches = self.store.complete_id(scope, id_.strip()) if id_.strip() else []
        if not matches:
            raise NotFound(f"no memory {id_!r} in this project")
        if len(matches) > 1 and id_ not in matches:
            raise InvalidInput(f"{id_!r} could be {', '.join(matches[:4])}: give more of the id")
        wanted = MemoryId(id_) if id_ in matches else matches[0]
        found = self.store.memories(scope, MemoryFilter(statuses=ANY_STATUS), ids=[wanted])
        if not found:
            raise NotFound(f"no memory {id_!r} in this project")
        return found[0]

    def _updated(self, memory: StoredMemory) -> StoredMemory:
        changed = replace(memory, updated_at=datetime.now(UTC))
        self.store.update(changed)
        self._mirror()
        return changed

    def _scope(self, *, all_projects: bool = False) -> SearchScope:
        if all_projects:
            return SearchScope(None)
        try:
            return SearchScope((self.project.id,))
        except StoreBusy:
            # A project not yet known has nothing to find; a person's own memories are still visible.
            return SearchScope(())

    def _catch_up(self) -> None:
        """Bring in what waits, without ever making a question fail: the store may be busy or read-only."""
        try:
            self.drain(budget_seconds=1.0)
            self._index_tasks()
            self.embed_pending(budget_seconds=self.settings.embed_in_drain_ms / 1000)
            self.upkeep()
        except (StoreBusy, OSError):
            return

    def _index_tasks(self) -> None:
        """Let search find what stands in this project's task files; texts that changed are revised."""
        from claude_memory.tasks.places import storage_for

        storage = storage_for(self.project_root, home=self.home)
        if not any((folder / "sessions").is_dir() for folder in storage.folders):
            return
        from claude_memory.tasks.index import documents

        now = datetime.now(UTC)
        marker = private_folder(self.home / "cache") / f"tasks-{self.project.id}"
        since = datetime.fromtimestamp(marker.stat().st_mtime, UTC) if marker.exists() else None
        texts = {
            text.id_in(self.project.id): text for text in documents(storage, since=since) if text.body.strip()
        }
        known = self.store.memories(self._scope(), MemoryFilter(statuses=ANY_STATUS), ids=list(texts))
        for old in known:
            new = self._completed(texts[old.id].memory(), now)
            if new.body != old.body:
                self.store.update(
                    replace(old, body=new.body, title=new.title, files=new.files, updated_at=now)
                )
        missing = texts.keys() - {old.id for old in known}
        self.store.add([], [self._completed(texts[id_].memory(), now) for id_ in texts if id_ in missing])
        marker.touch(mode=FILE_MODE)
        os.utime(marker, (now.timestamp(), now.timestamp()))
        if texts:
            self._mirror()

    def _mirror(self) -> None:
        """Bring memories.jsonl up to date. What cannot be written now waits in the store; doctor says so."""
        from claude_memory import logs
        from claude_memory.transfer import mirror

        try:
            mirror.flush(self.home, self.store)
        except StoreFault as fault:
            logs.logger("mirror").warning("changes wait for the mirror: %s", fault)

    def _last_search(self) -> Path:
        return self.home / "cache" / f"last-search-{self.project.id}.txt"

    def _note_search(self, query: str) -> None:
        try:
            path = private_folder(self.home / "cache") / self._last_search().name
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(os.open(path, flags, FILE_MODE), "wb") as handle:
                handle.write(_clean(query[:2000]).encode("utf-8", "replace"))
        except (OSError, StoreBusy):  # only `why` without a question misses it
            return

    def _noted_search(self) -> str:
        try:
            return self._last_search().read_text("utf-8")
        except OSError:
            raise InvalidInput("nothing was searched here yet: give the question with --query") from None


def _clean(text: str | None) -> str:
    """The text without secrets and private parts: what leaves here may reach disk."""
    from claude_memory.ingest.redact import redact

    return redact(text).text if text else ""


def _title(body: str) -> str:
    line = next((line.strip() for line in body.splitlines() if line.strip()), "")
    if len(line) <= TITLE_CHARACTERS:
        return line
    return line[: TITLE_CHARACTERS - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _is_derived(memory: StoredMemory) -> bool:
    return memory.title == _title(memory.body)


def _kind(kind: Kind | str) -> Kind:
    return _choice(Kind, kind, "kind")


def _choice(values: type[_Choice], value: _Choice | str, name: str) -> _Choice:
    try:
        return values(value)
    except ValueError:
        raise InvalidInput(f"unknown {name} {value!r}: one of {', '.join(values)}") from None
