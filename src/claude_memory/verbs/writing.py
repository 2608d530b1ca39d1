"""Verbs that change memories: remember, revise, supersede, forget, restore, erase, intend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from claude_memory.errors import Conflict, InvalidInput
from claude_memory.model import (
    BY_HAND,
    Kind,
    MemoryFilter,
    MemoryId,
    NewMemory,
    Scope,
    Status,
    StoredMemory,
    Trust,
)
from claude_memory.platform.layout import FOLDER
from claude_memory.redact.erasure import SHORTEST
from claude_memory.verbs.fields import clean, has_derived_title, kind_of, title_of
from claude_memory.verbs.upkeep import Upkeep

if TYPE_CHECKING:
    from claude_memory.lifecycle.intention_book import IntentionBook
    from claude_memory.store.protocol import Erased
    from claude_memory.verbs.project_book import ProjectBook


class Writing(Upkeep):
    """Every change is mirrored to memories.jsonl."""

    def remember(self, new: NewMemory, *, embed: bool = True) -> StoredMemory:
        """Keep one memory and return it as it stands."""
        [kept] = self.remember_many([new], embed=embed)
        return self._one(kept)

    def remember_many(self, new: Sequence[NewMemory], *, embed: bool = True) -> list[MemoryId]:
        """Keep memories in one transaction; with `embed`, they are searchable by meaning on return."""
        now = datetime.now(UTC)
        memories = [self._reflected(self._completed(item, now)) for item in new]
        added = self.store.add([], memories)
        if added.tombstoned:
            raise Conflict(f"{added.tombstoned} of {len(memories)} were erased for good and stay so")
        self._mirror()
        if embed:
            self.embed_pending()
        self._link_proposals(memories, now)
        self._admit(memories, hasty=not embed and self.settings.embedder != "none")
        return [memory.id for memory in memories]

    def _reflected(self, memory: StoredMemory) -> StoredMemory:
        """A reflection is written to its file, which is the truth of it: a person's goes with the person."""
        from claude_memory.notes import reflections

        if memory.kind is not Kind.REFLECTION:
            return memory
        by_agent = memory.trust is not Trust.USER
        made = reflections.add(
            self.home,
            memory.kind.value,
            memory.body,
            project=self.project.id,
            now=memory.created_at.astimezone(),
            by_agent=by_agent,
        )
        scope = Scope.PROJECT if by_agent else Scope.USER
        return replace(memory, id=reflections.memory_of(self.home, made), body=made.content, scope=scope)

    def _link_proposals(self, memories: Sequence[StoredMemory], now: datetime) -> None:
        """Tie what an agent would put in a person's place to what it speaks against."""
        from claude_memory.store.lifecycle_protocol import Relation, lifecycle_of

        proposed = {memory.id: memory.provenance.get("proposed_for") for memory in memories}
        relations = [
            Relation(id_, MemoryId(other), "contradicts", "proposed in its place", now)
            for id_, other in proposed.items()
            if isinstance(other, str)
        ]
        if relations:
            lifecycle_of(self.store).relate(relations)

    def _admit(self, memories: Sequence[StoredMemory], *, hasty: bool) -> None:
        """Let new memories meet their neighbours; what they say stays kept whatever comes of it."""
        from claude_memory.lifecycle.derive import derive
        from claude_memory.lifecycle.entry import admit
        from claude_memory.lifecycle.staleness import tied
        from claude_memory.store.lifecycle_protocol import lifecycle_of

        model = self._embedder.model if self._embedder is not None else None  # never loaded for this
        derive(self.store, memories)
        if any(memory.files for memory in memories):
            lifecycle_of(self.store).put_file_states(tied(memories, self.project_root))
        verdicts = admit(self.store, memories, None if hasty else model)
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
        trust: Trust | str | None = None,
    ) -> StoredMemory:
        """Change what is given of one memory; the change and its reason are kept in the mirror.

        `trust`: `user` if a person makes the change. What a person said is changed by nobody else: the
        new text is then kept as a memory of its own, linked to it.
        """
        old = self._one(id_)
        speaker = self._trust(trust)
        if body is not None and not body.strip():
            raise InvalidInput("a memory needs a text; to remove it, use forget")
        if old.trust is Trust.USER and speaker is not Trust.USER:
            if body is not None or title is not None:
                why = {"reason": clean(reason)} if reason else {}
                return self.remember(
                    NewMemory(
                        body=body if body is not None else old.body,
                        title=title,
                        kind=kind if kind is not None else old.kind,
                        topics=topics if topics is not None else old.topics,
                        files=files if files is not None else old.files,
                        trust=speaker,
                        scope=old.scope,
                        supersedes=old.id,
                        provenance=why,
                    ),
                    embed=False,
                )
            if self._by_agent() and (kind, topics, files, pinned) != (None, None, None, True):
                raise _persons(old, "change")
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
            provenance={**old.provenance, BY_HAND: True, **({"revised": clean(reason)} if reason else {})},
            trust=speaker if body is not None and speaker is Trust.USER else old.trust,
        )
        return self._updated(changed)

    def inbox(self, *, limit: int | None = None) -> list[StoredMemory]:
        """What rules or agents propose and nobody has confirmed, newest first."""
        wanted = MemoryFilter(statuses=(Status.PROPOSED,))
        return self.store.memories(self._scope(), wanted, limit=limit)

    def reject(self, ids: Sequence[str]) -> int:
        """Refuse proposals: they are gone and never come back."""
        from claude_memory.store.lifecycle_protocol import lifecycle_of

        self._require_person("rejecting a proposal")
        gone = lifecycle_of(self.store).reject([self._proposed(id_).id for id_ in ids])
        self._mirror()
        return gone

    def _proposed(self, id_: str) -> StoredMemory:
        found = self._one(id_)
        if found.status is not Status.PROPOSED:
            raise Conflict(f"{found.id} is no proposal: it is {found.status}")
        return found

    def supersede(self, id_: str, new: NewMemory) -> StoredMemory:
        """Put a new memory in the place of an old one; both stay, linked, and the old one sinks."""
        return self.remember(replace(new, supersedes=self._one(id_).id))

    def accept(
        self, ids: Sequence[str], *, body: str | None = None, kind: Kind | str | None = None
    ) -> list[StoredMemory]:
        """Make proposals, or what an agent, a tool or a file said, a person's own word; for a person alone.

        With `body`, in the person's own wording.
        """
        self._require_person("accepting a memory")
        return [self._accepted(self._one(id_), body, kind) for id_ in ids]

    def _accepted(self, old: StoredMemory, body: str | None, kind: Kind | str | None) -> StoredMemory:
        text = clean(body) if body is not None and body.strip() else old.body
        return self._updated(
            replace(
                old,
                body=text,
                title=title_of(text) if text != old.body else old.title,
                kind=kind_of(kind) if kind is not None else old.kind,
                status=Status.ACTIVE if old.status is Status.PROPOSED else old.status,
                trust=Trust.USER,
                provenance={**old.provenance, "accepted": True, BY_HAND: True},
            )
        )

    def forget(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Hide memories; `restore` brings them back until the undo time is over."""
        now = datetime.now(UTC)
        found = [self._one(id_) for id_ in ids]
        self._check_status_change(found, "forget")
        return [self._updated(replace(item, status=Status.FORGOTTEN, forgotten_at=now)) for item in found]

    def restore(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Undo `forget`."""
        found = [self._one(id_) for id_ in ids]
        for item in found:
            if item.status is not Status.FORGOTTEN:
                raise Conflict(f"{item.id} is not forgotten")
        self._check_status_change(found, "restore")
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
        self._check_status_change([old], "restore")
        if old.superseded_by:
            self._updated(replace(self._one(old.superseded_by), supersedes=None))
        return self._updated(replace(old, status=Status.ACTIVE, superseded_by=None))

    def erase(self, ids: Sequence[str]) -> Erased:
        """Remove memories for good: rows, index, vectors, events, mirror, file pages; a tombstone stays."""
        self._require_person("erasing for good")
        from claude_memory.capture.understanding import kin
        from claude_memory.notes import erasing
        from claude_memory.redact.erasure import Sentences
        from claude_memory.summaries.shelf import Shelf

        self._drain_events(None)  # what waits in the spool may say it, too
        asked = [self._one(id_) for id_ in ids]
        # What else was made from the same events goes with them: it may say the same in other words.
        gone = [*asked, *kin(self.store, asked)]
        texts = [one.body.strip() for one in asked if len(one.body.strip()) >= SHORTEST]
        sentences, made_from_it = Sentences(texts), Sentences(one.body for one in gone)
        own, others = self._files_outside(gone)
        # Files first: a process that ends in between leaves the memory, and so the way to ask again.
        erasing.purge(self.home, made_from_it, own)
        erased = self._erase([one.id for one in gone], texts)
        self._drain_events(None)  # exchanges and records of sessions are made anew from what is left
        Shelf(self.home).erase(made_from_it, {one.session for one in gone if one.session})
        erasing.purge(self.home, made_from_it, own)
        for asked_for in (self.home / "cache").glob("last-search-*"):
            asked_for.unlink(missing_ok=True)  # a question may have had a word of it
        left = erasing.places_in_home(self.home, sentences, texts)
        left += erasing.places([*own, *others, *map(Path, erased.transcripts)], sentences)
        return replace(erased, left=tuple(dict.fromkeys(left)))

    def _files_outside(self, gone: Sequence[StoredMemory]) -> tuple[list[Path], list[Path]]:
        """Places outside the home that may say it: those with our blocks in them, and those we only read."""
        own, others = [], []
        for project in {
            self.project.id: self.project,
            **{one.id: one for one in self.store.projects()},
        }.values():
            root = self.project_root if project.id == self.project.id else Path(project.path)
            files = self.keeper.files_of(project.id, root)
            outside = [path for path in files.all() if not path.is_relative_to(self.home)]
            approved = [path for path in outside if path.is_relative_to(files.base)]
            own += approved
            others += [path for path in outside if path not in approved]
            folder = root / FOLDER
            others += [folder] if folder.is_dir() and not folder.is_symlink() else []
        others += self.keeper.knowledge_folders()
        others += [Path(str(one.provenance["file"])) for one in gone if one.provenance.get("file")]
        return own, others

    def _check_status_change(self, memories: Sequence[StoredMemory], verb: str) -> None:
        """An agent neither hides nor brings back what a person said."""
        theirs = [memory for memory in memories if memory.trust is Trust.USER]
        if theirs and self._by_agent():
            raise _persons(theirs[0], verb)

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

        return IntentionBook(
            lifecycle_of(self.store),
            self.project,
            clean=clean,
            codebase_of=lambda name: self.projects.named(name).id,
        )

    @property
    def projects(self) -> ProjectBook:
        """Every project of the home, and what a person says belongs together."""
        from claude_memory.verbs.project_book import ProjectBook

        return ProjectBook(self.home, self.store, self.project, self._mirror)


def _persons(memory: StoredMemory, verb: str) -> Conflict:
    command = {"restore": "forget --undo", "change": "revise"}.get(verb, verb)
    return Conflict(
        f"{memory.id} is the user's own word, and only they can {verb} it: "
        f"`claude-memory {command} {memory.id}` in a terminal of their own"
    )
