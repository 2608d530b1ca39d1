"""Verbs that change memories: remember, revise, supersede, forget, restore, erase, intend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from claude_memory.errors import Conflict, EmbedderUnavailable, InvalidInput
from claude_memory.model import Kind, MemoryId, NewMemory, Status, StoredMemory
from claude_memory.verbs.fields import clean, has_derived_title, kind_of, title_of
from claude_memory.verbs.upkeep import Upkeep

if TYPE_CHECKING:
    from claude_memory.lifecycle.intention_book import IntentionBook
    from claude_memory.store.protocol import Erased


class Writing(Upkeep):
    """Every change is mirrored to memories.jsonl."""

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
        self._admit(memories, hasty=not embed and self.settings.embedder != "none")
        return [memory.id for memory in memories]

    def _admit(self, memories: Sequence[StoredMemory], *, hasty: bool) -> None:
        """Let new memories meet their neighbours; what they say stays kept whatever comes of it."""
        from claude_memory.embed import judge_of
        from claude_memory.lifecycle.derive import derive
        from claude_memory.lifecycle.entry import admit
        from claude_memory.lifecycle.staleness import tied
        from claude_memory.store.lifecycle_protocol import lifecycle_of

        model = self._embedder.model if self._embedder is not None else None  # never loaded for this
        derive(self.store, memories)
        if any(memory.files for memory in memories):
            lifecycle_of(self.store).put_file_states(tied(memories, self.project_root))
        judge = None if hasty else judge_of(self._embedder)
        try:
            verdicts = admit(self.store, memories, model, judge, hasty=hasty)
        except EmbedderUnavailable:  # they wait until it is back
            verdicts = []
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
        fresh_title = (
            title if title is not None else (title_of(body) if has_derived_title(old) and body else None)
        )
        changed = replace(
            old,
            body=clean(body) if body is not None else old.body,
            title=clean(fresh_title)[:200] if fresh_title is not None else old.title,
            kind=kind_of(kind) if kind is not None else old.kind,
            topics=tuple(map(clean, topics)) if topics is not None else old.topics,
            files=tuple(map(clean, files)) if files is not None else old.files,
            pinned=pinned if pinned is not None else old.pinned,
            provenance={**old.provenance, **({"revised": clean(reason)} if reason else {})},
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
        from claude_memory.compaction.erasing import purge
        from claude_memory.ingest.distilling import kin
        from claude_memory.layers.erasing import purge as purge_files
        from claude_memory.layers.places import project_files

        asked = [self._one(id_) for id_ in ids]
        # What else was made from the same events goes with them: it may say the same in other words.
        gone = [*asked, *kin(self.store, asked)]
        erased = self._erase([one.id for one in gone])
        texts = [one.body for one in gone]
        purge(self.home, texts, {one.session for one in gone if one.session})
        files = project_files(self.home, self.project.id, self.project_root)
        self._last_search().unlink(missing_ok=True)
        return replace(erased, left=tuple(purge_files(self.home, files, texts)))

    def _updated(self, memory: StoredMemory) -> StoredMemory:
        changed = replace(memory, updated_at=datetime.now(UTC))
        self.store.update(changed)
        self._mirror()
        return changed

    @property
    def intentions(self) -> IntentionBook:
        """What is to be done later in this project: set, check, list, complete, snooze, cancel."""
        from claude_memory.lifecycle.intention_book import IntentionBook
        from claude_memory.store.lifecycle_protocol import lifecycle_of

        return IntentionBook(lifecycle_of(self.store), self.project, clean=clean)
