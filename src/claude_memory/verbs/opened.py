"""What every verb stands on: the store, the project and the embedder of one home, opened on first use."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from claude_memory import settings as settings_module
from claude_memory.errors import Conflict, EmbedderUnavailable, InvalidInput, NotFound, StoreFault
from claude_memory.model import (
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
from claude_memory.platform.caller import inside_agent, require_person
from claude_memory.platform.files import private_folder
from claude_memory.platform.project import identify, resolve
from claude_memory.text.ids import meant
from claude_memory.verbs.fields import choice, clean, kind_of, title_of

if TYPE_CHECKING:
    from claude_memory.embed.protocol import Embedder
    from claude_memory.lifecycle.entry import Verdict
    from claude_memory.settings import Settings
    from claude_memory.store.archive_protocol import Archive
    from claude_memory.store.protocol import Store

ANY_STATUS = tuple(Status)
RETRY_SECONDS = 60.0  # after which an embedder that failed is tried again


class Opened:
    """One home and the project of one folder."""

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
        self._mirroring = threading.local()
        self._project: Project | None = None
        self._embedder: Embedder | None = None
        self._words_only: str | None = None
        self._again_at = math.inf
        self._lend: Callable[[Embedder], Embedder] | None = None
        # While true, a question writes nothing: whoever set it brings in what waits and notes what was used.
        self.reads_only = False
        self._files_again_at = 0.0
        self._looked = False
        # Whether an agent speaks through this, whoever started the process; None: told by the caller.
        self.serves_agent: bool | None = None
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
        if not root.exists():
            from claude_memory.backup.backup import recover

            recover(root)  # a restore that was killed between its two renames
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

    @property
    def store(self) -> Store:
        """The store, opened on first use, so that a damaged one can still be repaired."""
        if self._store is None:
            from claude_memory.store import open_store

            private_folder(self.home)
            self._store = open_store(self.home, self.settings, patience_ms=self._patience_ms)
            self._store.after_write(self._mirror)
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
        """What makes vectors, or None: then `search_mode` says why; one that failed is tried again later."""
        if self._embedder is None and (self._words_only is None or time.monotonic() >= self._again_at):
            from claude_memory.embed import open_embedder

            try:
                found = open_embedder(self.settings, self.home / "cache" / "models", progress=self._progress)
                if found is not None:
                    _ = found.model  # an endpoint or a folder may turn out to be unusable only now
            except EmbedderUnavailable as fault:
                self._lost(fault)
            else:
                self._embedder = self._lend(found) if found is not None and self._lend else found
                self._words_only = None if found else "the setting `embedder` is `none`"
                self._again_at = math.inf
        return self._embedder

    def lend_embedder(self, lend: Callable[[Embedder], Embedder]) -> None:
        """Let vectors be made by what `lend` gives for the settings' embedder; it outlives the memory."""
        self._embedder, self._words_only, self._lend = None, None, lend

    def _lost(self, fault: EmbedderUnavailable) -> None:
        """Go on with words alone for a while."""
        self._embedder, self._words_only = None, str(fault)
        self._again_at = time.monotonic() + RETRY_SECONDS

    @property
    def search_mode(self) -> str:
        """What a search works with, in words."""
        embedder = self.embedder
        return f"words and meaning ({embedder.model})" if embedder else f"words only: {self._words_only}"

    def close(self) -> None:
        """Give everything back; the memory may be opened again."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _scope(self, *, all_projects: bool = False) -> SearchScope:
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
        from claude_memory.search.lookup import session_named

        return session_named(self.archive, self._scope(all_projects=all_projects), named)

    def _one(self, id_: str) -> StoredMemory:
        scope = self._scope()
        matches = self.store.complete_id(scope, id_.strip()) if id_.strip() else []
        wanted = MemoryId(meant(id_, matches, f"memory {id_!r} in this project"))
        found = self.store.memories(scope, MemoryFilter(statuses=ANY_STATUS), ids=[wanted])
        if not found:
            raise NotFound(f"no memory {id_!r} in this project")
        return found[0]

    def _by_agent(self) -> bool:
        """Whether an agent is at work, who changes nothing of what a person said."""
        return bool(inside_agent()) if self.serves_agent is None else self.serves_agent

    def _require_person(self, verb: str) -> None:
        """Refuse what an agent may not do."""
        if self._by_agent():
            require_person(verb)
            raise Conflict(f"{verb} is for a person: run it in a terminal of your own")

    def _trust(self, claimed: Trust | str | None) -> Trust:
        """What a new statement is worth: a person says that it is theirs, and an agent cannot."""
        trust = Trust.AGENT if claimed is None else choice(Trust, claimed, "trust")
        if trust is Trust.USER:
            self._require_person("speaking as the user")
        return trust

    def _mirror(self) -> None:
        """Bring memories.jsonl up to date. What cannot be written now waits in the store; doctor says so.

        Called after every commit, whoever wrote, so that a crash leaves at most that commit to the next.
        """
        from claude_memory.backup import mirror
        from claude_memory.platform import logs

        if getattr(self._mirroring, "now", False):  # noting what is mirrored is a commit, too
            return
        self._mirroring.now = True
        try:
            mirror.flush(self.home, self.store)
        except StoreFault as fault:
            logs.logger("mirror").warning("changes wait for the mirror: %s", fault)
        finally:
            self._mirroring.now = False

    def _completed(self, new: NewMemory, now: datetime, *, told: Trust | None = None) -> StoredMemory:
        """The memory as it will be stored; `told`: what it is worth, where that is known and not claimed."""
        from claude_memory.redact import kept_mapping

        body = clean(new.body)
        if not body.replace("[private]", "").strip():
            raise InvalidInput("a memory needs a text" if not body.strip() else "all of it is private")
        created = new.created_at or now
        trust, scope = told or self._trust(new.trust), choice(Scope, new.scope, "scope")
        old = self._one(new.supersedes) if new.supersedes else None
        provenance = {"source": "remember", **new.provenance}
        if trust is not Trust.USER and scope is Scope.USER:  # it is shown elsewhere, with where it came from
            provenance["noted_in"] = self.project.name
        if old is not None and old.trust is Trust.USER and trust is not Trust.USER:
            provenance["proposed_for"] = old.id  # a person's word stands until a person replaces it
            old = None
        origin = f"origin:{self.project.id}:{new.origin}" if new.origin else f"new:{os.urandom(16).hex()}"
        return StoredMemory(
            id=memory_id(origin),
            project=self.project.id,
            kind=kind_of(new.kind),
            title=clean(new.title).strip()[:200] if new.title and new.title.strip() else title_of(body),
            body=body,
            created_at=created if created.tzinfo else created.replace(tzinfo=UTC),
            updated_at=now,
            trust=trust,
            scope=scope,
            session=SessionId(clean(new.session)) if new.session else None,
            task=clean(new.task) if new.task else new.task,
            topics=tuple(dict.fromkeys(clean(topic.strip()) for topic in new.topics if topic.strip())),
            files=tuple(dict.fromkeys(map(clean, new.files))),
            provenance=kept_mapping(provenance),
            supersedes=old.id if old is not None else None,
        )

    def _heeded(self) -> Embedder | None:
        """The embedder for a question: if it fails, the question goes on with words, and we keep why."""
        embedder = self.embedder
        return _Heeded(embedder, self._lost) if embedder is not None else None

    def _last_search(self) -> Path:
        return self.home / "cache" / f"last-search-{self.project.id}.txt"


class _Heeded:
    """An embedder whose failures are heard of, though a search passes over them."""

    def __init__(self, embedder: Embedder, lost: Callable[[EmbedderUnavailable], None]) -> None:
        self._embedder = embedder
        self._lost = lost

    @property
    def model(self) -> str:
        """Names weights and pooling."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One int8 vector per text."""
        try:
            return self._embedder.embed(texts, query=query)
        except EmbedderUnavailable as fault:
            self._lost(fault)
            raise
