"""One home and the project of one folder, opened on first use: what hooks, `Memory` and its parts stand on.

Loads little, because a person waits for every hook. It finds and closes; every verb stands in `memory`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from claude_memory import settings as settings_module
from claude_memory.errors import EmbedderUnavailable, NotFound, StoreFault
from claude_memory.model import MemoryFilter, MemoryId, Project, SearchScope, SessionId, Status, StoredMemory
from claude_memory.platform.files import private_folder
from claude_memory.platform.project import identify, resolve
from claude_memory.text.quotation import meant

if TYPE_CHECKING:
    from claude_memory.embed import Embedder
    from claude_memory.embed.local import EmbedderProcess
    from claude_memory.settings import Settings
    from claude_memory.store.base import Store
    from claude_memory.store.sql.archive import Archive

WHATEVER = MemoryFilter(statuses=tuple(Status))  # forgotten ones, too
RETRY_SECONDS = 60.0  # after which an embedder that failed is tried again


class Opened:
    """One home and the project of one folder. Use as a context manager."""

    def __init__(self, home: Path, folder: Path, settings: Settings, root: Path | None = None) -> None:
        self.home, self.folder, self.settings = home, folder, settings
        # The folder that holds the project's own files.
        self.project_root = root or Path(identify(folder, quick=True).path)
        self._progress: Callable[[str], None] | None = None
        self._patience_ms: int | None = None
        self._store: Store | None = None
        self._mirroring = threading.local()
        self._project: Project | None = None
        self._embedder: Embedder | None = None
        self._words_only: str | None = None
        self._again_at = math.inf
        self._processes: list[EmbedderProcess] | None = None

    @classmethod
    def open(
        cls,
        home: Path | str | None = None,
        project: Path | str | None = None,
        *,
        flags: Mapping[str, Any] | None = None,
        progress: Callable[[str], None] | None = None,
        patience_ms: int | None = None,
        for_hook: bool = False,
    ) -> Self:
        """Open the memory of a project folder (default: the current one). Makes the home if needed.

        `progress` is told, in a line, of what takes long, such as the model's first conversion.
        `patience_ms` is how long to wait for another process that writes, where not for seconds. `for_hook`
        looks at the local copy where the store is a server's.
        """
        home = Path(home).expanduser() if home is not None else settings_module.home()
        folder = Path(project).expanduser() if project is not None else Path.cwd()
        if not home.exists():
            from claude_memory.backup.restore import recover

            recover(home)  # a restore that was killed between its two renames
        root = Path(identify(folder, quick=True).path)
        settings = settings_module.load(home, project_root=root, flags=flags)
        if for_hook:
            from claude_memory.store import for_hooks

            settings = for_hooks(settings)
        opened = cls(home, folder, settings, root)
        opened._progress, opened._patience_ms = progress, patience_ms
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def close(self) -> None:
        """Give everything back; the memory may be opened again."""
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def store(self) -> Store:
        """The store, opened on first use, so that a damaged one can still be repaired."""
        if self._store is None:
            from claude_memory.store import open_store

            private_folder(self.home)
            self._store = open_store(self.home, self.settings, patience_ms=self._patience_ms)
            self._store.transactions.after_write = self.mirror
        return self._store

    @property
    def archive(self) -> Archive:
        return self.store.archive

    @property
    def project(self) -> Project:
        if self._project is None:
            self._project = resolve(self.folder, self.store.project_for)
        return self._project

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors, or None: then `search_mode` says why; one that failed is tried again later."""
        if self._embedder is None and (self._words_only is None or time.monotonic() >= self._again_at):
            from claude_memory.embed import open_embedder

            try:
                opened = open_embedder(self.settings, self.home / "cache" / "models", progress=self._progress)
                if opened is not None:
                    _ = opened.model  # an endpoint or a folder may turn out to be unusable only now
            except EmbedderUnavailable as fault:
                self.lose_embedder(fault)
            else:
                if opened is not None and self._processes is not None:
                    from claude_memory.embed.local import EmbedderProcess

                    if not self._processes:
                        self._processes.append(EmbedderProcess(opened, self.home, self.settings.embedder))
                    opened = self._processes[0]
                self._embedder = opened
                self._words_only = None if opened else "the setting `embedder` is `none`"
                self._again_at = math.inf
        return self._embedder

    @property
    def search_mode(self) -> str:
        """What a search works with, in words; also how much of it has no vector yet."""
        embedder = self.embedder
        if embedder is None:
            return f"words only: {self._words_only}"
        passages, missing = self.store.memories.coverage(embedder.model)
        if missing and missing == passages:
            return "words only: no passage has a vector yet"
        behind = f"; {missing:,} of {passages:,} passages by words only, as yet" if missing else ""
        return f"words and meaning ({embedder.model}){behind}"

    def warm_up(self) -> None:
        """Begin to load the model, beside whatever comes before the question."""
        if self.embedder is not None:
            from claude_memory.embed.local import LocalEmbedder

            if isinstance(self.embedder, LocalEmbedder):
                self.embedder.prepare()

    def lend_embedder(self, processes: list[EmbedderProcess]) -> None:
        """Let vectors be made by the one process in the list, which outlives the memory; it is put there."""
        self._embedder, self._words_only, self._processes = None, None, processes

    def lose_embedder(self, fault: EmbedderUnavailable) -> None:
        """Go on with words alone for a while."""
        self._embedder, self._words_only = None, str(fault)
        self._again_at = time.monotonic() + RETRY_SECONDS

    def watched_embedder(self) -> Embedder | None:
        """The embedder for a question: if it fails, the question goes on with words, and we keep why."""
        embedder = self.embedder
        return _Watched(embedder, self.lose_embedder) if embedder is not None else None

    def scope(self, *, all_projects: bool = False) -> SearchScope:
        """What a question may see: this project and what the person takes along, or everything."""
        if all_projects:
            return SearchScope(None)
        try:
            return SearchScope((self.project.id,))
        except StoreFault:
            # Nothing can be written now: a project not yet known has nothing to find; a person's own
            # memories are still visible.
            return SearchScope(())

    def session_id(self, named: str, *, all_projects: bool = False) -> SessionId:
        """A session of this project by its id, or by the unique beginning of one."""
        known = self.archive.session_ids(self.scope(all_projects=all_projects), named.strip())
        return SessionId(meant(named, known, f"session {named!r} here"))

    def find(self, ids: Sequence[str], *, all_projects: bool = False) -> list[StoredMemory]:
        """Memories by id or unique beginning of one, without counting as a use."""
        scope, memories = self.scope(all_projects=all_projects), self.store.memories
        wanted = [MemoryId(id_.strip()) for id_ in ids]
        found = {memory.id: memory for memory in memories.find(scope, WHATEVER, ids=wanted)}
        for place, id_ in enumerate(wanted):
            if id_ not in found:
                begun = memories.complete_id(scope, id_) if id_ else ()
                what = f"memory {id_!r} in this project"
                wanted[place] = MemoryId(meant(id_, begun, what))
                found.update((one.id, one) for one in memories.find(scope, WHATEVER, ids=[wanted[place]]))
                if wanted[place] not in found:
                    raise NotFound(f"no {what}")
        return [found[id_] for id_ in wanted]

    def ids_beginning(self, start: str) -> list[str]:
        return list(self.store.memories.complete_id(self.scope(), start)) if start else []

    def refresh_copy(self) -> None:
        """Of a server's store: carry out what others erased, bring the copy for hooks up to date."""
        from claude_memory.store import is_server, refresh_copy

        if is_server(self.settings.store) and self.store.feed.is_unswept():
            self.store.memories.apply_tombstones()
            self.store.feed.swept()
        refresh_copy(self.home, self.settings, self.store)

    def mirror(self) -> None:
        """Bring memories.jsonl up to date. What cannot be written now waits in the store; doctor says so.

        Called after every commit, whoever wrote, so that a crash leaves at most that commit to the next.
        """
        if getattr(self._mirroring, "now", False):  # noting what is mirrored is a commit, too
            return
        from claude_memory.backup import mirror
        from claude_memory.platform import logs

        self._mirroring.now = True
        try:
            mirror.flush(self.home, self.store)
        except StoreFault as fault:
            logs.logger("mirror").warning("changes wait for the mirror: %s", fault)
        finally:
            self._mirroring.now = False


class _Watched:
    """An embedder whose failures are heard of, though a search passes over them."""

    def __init__(self, embedder: Embedder, lost: Callable[[EmbedderUnavailable], None]) -> None:
        self.model = embedder.model
        self._embedder = embedder
        self._lost = lost

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        try:
            return self._embedder.embed(texts, query=query)
        except EmbedderUnavailable as fault:
            self._lost(fault)
            raise
