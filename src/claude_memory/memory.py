"""`Memory`: one open home and project, and a verb for everything a surface or a program can ask.

Each verb is short: it looks up, calls the part that does the work, and returns values of `model`. What is
below a matter hangs on it: `memory.tasks`, `.notes`, `.summaries`, `.projects`, `.intentions`, `.upkeep` …
Ranking, SQL and file formats live elsewhere. Questions write nothing; `catch_up` brings in what waits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from claude_memory.errors import Conflict, InvalidInput, NotFound, StoreFault
from claude_memory.lifecycle import drafting
from claude_memory.lifecycle.drafting import clean
from claude_memory.model import Hit, Kind, MemoryFilter, MemoryId, NewMemory, Status, StoredMemory, Trust
from claude_memory.opening import Opened
from claude_memory.platform import agents
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.store.model import ANY_CONVERSATION, ConversationFilter

if TYPE_CHECKING:
    from claude_memory.backup.backups import Backups
    from claude_memory.backup.sync import Homes
    from claude_memory.backup.team import Team
    from claude_memory.capture.drain import Drained
    from claude_memory.graph.knowledge import Knowledge
    from claude_memory.graph.walk import ProjectGraph
    from claude_memory.imports.importer import Imported
    from claude_memory.lifecycle.consolidate import Admission
    from claude_memory.lifecycle.intentions import IntentionBook
    from claude_memory.lifecycle.strength import Given, LedgerLine, Life
    from claude_memory.notes.notes_book import NotesBook
    from claude_memory.search.conversations import ConversationBook, Recalled
    from claude_memory.search.past_work import TimelineEntry, WorkBook
    from claude_memory.search.search import Explanation
    from claude_memory.store.model import Erased, StoreStats
    from claude_memory.store.sql.projects import ProjectBook
    from claude_memory.summaries.summary_book import SummaryBook
    from claude_memory.tasks.api import MemoryAPI
    from claude_memory.upkeep import Reindexed, Upkeep
    from claude_memory.vector_work import Watch

__all__ = ["ConversationFilter", "Memory"]


class Memory(Opened):
    """A memory of one project, in one home. Use as a context manager."""

    # Whether an agent speaks through this, whoever started the process; None: told by the caller.
    serves_agent: bool | None = None
    # What the write gate made of the memories of the last `remember` or `remember_many`.
    verdicts: Mapping[MemoryId, Admission] = MappingProxyType({})
    _last_question: str | None = None

    # --- parts

    @cached_property
    def upkeep(self) -> Upkeep:
        """Bringing in, keeping up, letting go."""
        from claude_memory.upkeep import Upkeep

        return Upkeep(self)

    @property
    def notes(self) -> NotesBook:
        return self.upkeep.notes

    @property
    def tasks(self) -> MemoryAPI:
        """The project's work in three phases, its sessions, and what a sub-agent is told of them."""
        from claude_memory.tasks.api import MemoryAPI
        from claude_memory.tasks.documents import storage_for

        storage = storage_for(self.folder, home=self.home)
        return MemoryAPI(storage=storage, by="agent" if self.serves_agent else None)

    @property
    def summaries(self) -> SummaryBook:
        from claude_memory.summaries.summary_book import SummaryBook

        return SummaryBook(self.home, self.store, self.settings, self.project)

    @property
    def lifecycle(self) -> Life:
        """What memories are worth and how they hang together."""
        from claude_memory.lifecycle.strength import Life

        return Life(self.store)

    @property
    def conversations(self) -> ConversationBook:
        from claude_memory.search.conversations import ConversationBook

        return ConversationBook(self.archive)

    @property
    def graph(self) -> ProjectGraph:
        """How memories hang together through what they mention."""
        from claude_memory.graph.walk import ProjectGraph

        return ProjectGraph(self.store, self.project, find=self.find, session_id=self.session_id)

    @property
    def intentions(self) -> IntentionBook:
        """What is to be done later in this project: set, check, list, complete, snooze, cancel."""
        from claude_memory.lifecycle.intentions import IntentionBook

        return IntentionBook(
            self.store.lifecycle, self.project, codebase_of=lambda name: self.projects.named(name).id
        )

    @property
    def backups(self) -> Backups:
        from claude_memory.backup.backups import Backups

        return Backups(self.home, self.settings)

    @property
    def homes(self) -> Homes:
        """This home and others of the person: exchange what changed, take in a backup."""
        from claude_memory.backup.sync import Homes, LocalHome

        return Homes(LocalHome(self.store, str(self.home), self.home), self.settings)

    @property
    def team(self) -> Team:
        from claude_memory.backup.team import Team

        return Team(self.home, self.settings)

    @property
    def projects(self) -> ProjectBook:
        """Every project of the home, and what a person says belongs together."""
        from claude_memory.store.sql.projects import ProjectBook

        return ProjectBook(self.home, self.store, self.project)

    # --- writing: the store tells of every commit, and `mirror` takes it to memories.jsonl

    def remember(self, new: NewMemory, *, embed: bool = True) -> StoredMemory:
        """Keep one memory and return it as it stands."""
        return self.find(self.remember_many([new], embed=embed))[0]

    def remember_many(self, new: Sequence[NewMemory], *, embed: bool = True) -> list[MemoryId]:
        """Keep memories in one transaction; with `embed`, they are searchable by meaning on return."""
        from claude_memory.lifecycle.consolidate import admit_new

        now, memories = datetime.now(UTC), []
        for item in new:
            old = self.find([item.supersedes])[0] if item.supersedes else None
            trust = self._trust_of(item.trust)
            memory = drafting.drafted(item, self.project, trust=trust, old=old, now=now)
            if memory.kind is Kind.REFLECTION:
                from claude_memory.notes.person_files import reflected

                memory = reflected(self.home, memory)  # its file is the truth of it
            memories.append(memory)
        added = self.store.memories.add(memories)
        if added.tombstoned:
            raise Conflict(f"{added.tombstoned} of {len(memories)} were erased for good and stay so")
        if embed:
            self.upkeep.vectors.of({memory.id for memory in memories})
        hasty = not embed and self.settings.embedder != "none"
        model = None if hasty or self._embedder is None else self._embedder.model  # none is loaded for this
        verdicts = admit_new(self.store, memories, self.project_root, model)
        self.verdicts = {verdict.memory: verdict for verdict in verdicts}
        return [memory.id for memory in memories]

    def supersede(self, id_: str, new: NewMemory) -> StoredMemory:
        """Put a new memory in the place of an old one; both stay, linked, and the old one sinks."""
        return self.remember(replace(new, supersedes=self.find([id_])[0].id))

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
        [old] = self.find([id_])
        speaker = self._trust_of(trust)
        if body is not None and not body.strip():
            raise InvalidInput("a memory needs a text; to remove it, use forget")
        changes = drafting.changes_of(
            body=body, title=title, kind=kind, topics=topics, files=files, pinned=pinned
        )
        if old.trust is Trust.USER and speaker is not Trust.USER:
            if body is not None or title is not None:
                return self.remember(drafting.proposed_beside(old, changes, reason, speaker), embed=False)
            if changes != {"pinned": True}:
                self._check_owner([old], "change")
        return self._updated(drafting.revised(old, changes, reason, speaker))

    def newest(
        self, wanted: MemoryFilter, *, limit: int | None = None, all_projects: bool = False
    ) -> list[StoredMemory]:
        return self.store.memories.find(self.scope(all_projects=all_projects), wanted, limit=limit)

    def inbox(self, *, limit: int | None = None, all_projects: bool = False) -> list[StoredMemory]:
        """What rules or agents propose and nobody has confirmed, newest first."""
        return self.newest(MemoryFilter(statuses=(Status.PROPOSED,)), limit=limit, all_projects=all_projects)

    def accept(
        self, ids: Sequence[str], *, body: str | None = None, kind: Kind | str | None = None
    ) -> list[StoredMemory]:
        """Make proposals, or what an agent, a tool or a file said, a person's own word; for a person alone.

        With `body`, in the person's own wording.
        """
        self._require_person("accepting a memory")
        return [
            self._updated(drafting.accepted(old, body, kind)) for old in self.find(ids, all_projects=True)
        ]

    def reject(self, ids: Sequence[str]) -> int:
        """Refuse proposals: they are gone and never come back."""
        self._require_person("rejecting a proposal")
        proposals = self.find(ids, all_projects=True)
        drafting.check_status(proposals, Status.PROPOSED, "no proposal")
        return self.store.lifecycle.reject([memory.id for memory in proposals])

    def forget(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Hide memories; `restore` brings them back until the undo time is over."""
        now = datetime.now(UTC)
        memories = self.find(ids)
        self._check_owner(memories, "forget")
        return [self._updated(replace(item, status=Status.FORGOTTEN, forgotten_at=now)) for item in memories]

    def restore(self, ids: Sequence[str]) -> list[StoredMemory]:
        memories = self.find(ids)
        drafting.check_status(memories, Status.FORGOTTEN, "not forgotten")
        self._check_owner(memories, "restore")
        before = {item.id: Status.SUPERSEDED if item.superseded_by else Status.ACTIVE for item in memories}
        return [self._updated(replace(item, status=before[item.id], forgotten_at=None)) for item in memories]

    def reinstate(self, id_: str) -> StoredMemory:
        """Undo a supersession: the old memory stands again, the new one stays, the link between them goes."""
        [old] = self.find([id_])
        drafting.check_status([old], Status.SUPERSEDED, "not superseded")
        self._check_owner([old], "restore")
        if old.superseded_by:
            self._updated(replace(self.find([old.superseded_by])[0], supersedes=None))
        return self._updated(replace(old, status=Status.ACTIVE, superseded_by=None))

    def erase(self, ids: Sequence[str]) -> Erased:
        """Remove memories for good: rows, index, vectors, events, mirror, file pages; a tombstone stays."""
        self._require_person("erasing for good")
        return self.upkeep.erase(ids)

    # --- asking: nothing is written, but that a memory was opened

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
        agent: str | None = None,
        branch: str | None = None,
        command: str | None = None,
        commit: str | None = None,
        failed: bool = False,
        min_relevance: float | None = None,
        all_projects: bool = False,
    ) -> list[Hit]:
        """The best answers among what is stored, most relevant first."""
        from claude_memory.search.search import search

        if min_relevance is not None and not 0.0 <= min_relevance <= 1.0:
            raise InvalidInput(f"a relevance is between 0 and 1, not {min_relevance}")
        self.warm_up()
        wanted = MemoryFilter(
            kinds=tuple(drafting.kind_of(kind) for kind in kinds),
            topics=tuple(topics),
            files=tuple(files),
            task=task,
            session=self.session_id(session, all_projects=all_projects) if session else None,
            since=since,
            until=until,
            agent=agent,
            branch=branch,
            failed=failed and command is None,
        )
        if command or commit:
            work = self.work(all_projects=all_projects)
            wanted = replace(wanted, among=work.among(command, commit, failed=failed))
        self._last_question, activation = query, self.settings.activation
        return search(
            self.store,
            self.watched_embedder(),
            self.scope(all_projects=all_projects),
            query,
            filter_=wanted,
            limit=self.settings.search_limit if limit is None else limit,
            min_relevance=(self.settings.min_relevance or None) if min_relevance is None else min_relevance,
            now=datetime.now(UTC),
            boosts=self.graph.boosts(query, files, activation) if activation else None,
            stale=self.stale,
        )

    def work(self, *, all_projects: bool = False) -> WorkBook:
        """What was done: who shaped a file, what followed an error, which commands worked."""
        from claude_memory.search.past_work import WorkBook

        return WorkBook(self.store, self.scope(all_projects=all_projects))

    def why(self, id_: str, query: str | None = None) -> Explanation:
        """Why a memory answers a question (default: the last one asked here), in numbers and words."""
        from claude_memory.search.search import explain

        [memory], now = self.find([id_]), datetime.now(UTC)
        if query is None and (query := self._last_question) is None:
            try:
                query = self._question_file.read_text("utf-8")
            except OSError:
                fault = "nothing was searched here yet: give the question with --query"
                raise InvalidInput(fault) from None
        scope = self.scope(all_projects=memory.project != self.project.id)
        explanation = explain(self.store, self.embedder, scope, query, memory.id, now=now)
        return explanation._replace(words=(*explanation.words, *self.lifecycle.told(memory, now=now)))

    def stale(self, memory: StoredMemory) -> str:
        """What of a memory the working tree no longer bears out, in words: of its claims, else of its files.

        What was said and done at its time is no claim.
        """
        from claude_memory.lifecycle.staleness import STALE, checked

        own = memory.project in (self.scope().projects or ())
        is_claim = own and memory.kind not in (Kind.OBSERVATION, Kind.SUMMARY)
        words = checked(memory.body, self.project_root) if is_claim else ""
        return words or str(memory.provenance.get(STALE) or "")

    def show(self, ids: Sequence[str]) -> list[StoredMemory]:
        """Whole memories by id or unique beginning of one; being opened keeps them strong."""
        memories = self.find(ids)
        with contextlib.suppress(StoreFault, OSError):  # a busy or read-only store still answers
            self.lifecycle.review(memories, "opened")
        return memories

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
        if around is None and query is not None:
            hits = self.search(query, limit=1, session=session)
            if not hits:
                raise NotFound(f"nothing found for {query!r} to draw a timeline around")
            around = hits[0].id
        anchor = self.find([around])[0] if around else None
        wanted = self.session_id(session) if session else None
        return self.work().around(anchor, before=before, after=after, session=wanted)

    def recall(
        self,
        query: str,
        *,
        within: ConversationFilter = ANY_CONVERSATION,
        here: bool = False,
        limit: int | None = None,
        own_first: bool = True,
        quick: bool = False,
    ) -> list[Recalled]:
        """Archived conversations that answer a question, or the newest; of this project only with `here`.

        A `quick` answer is by words alone and from newer messages where many share the words.
        """
        from claude_memory.search.conversations import recall

        return recall(
            self.store,
            None if quick else self.embedder,
            self.scope(all_projects=not here),
            query,
            within=within,
            limit=self.settings.search_limit if limit is None else limit,
            now=datetime.now(UTC),
            own=self.project.id if own_first else None,
            thorough=not quick,
        )

    def knowledge(self, topic: str | None = None) -> Knowledge:
        """Decisions with their reasons, and rules with how often and since when they came up."""
        from claude_memory.graph.knowledge import knowledge

        return knowledge(self.store, self.project, topic)

    def given(self, id_: str) -> list[Given]:
        """When and where hooks handed a memory to an agent, newest first."""
        from claude_memory.lifecycle.strength import given

        return given(self.store, self.scope(), self.find([id_])[0].id)

    def ledger(self, *, since: datetime | None = None) -> list[LedgerLine]:
        from claude_memory.lifecycle.strength import ledger

        return ledger(self.store, self.scope(), since=since)

    def stats(self, *, all_projects: bool = False) -> StoreStats:
        return self.store.stats(None if all_projects else self.project.id)

    # --- bringing in

    def catch_up(self, *, graph: bool = False) -> None:
        """Bring in what waits, as whoever is about to ask wants it; never fails. `graph`: mentions, too."""
        self.upkeep.catch_up(graph=graph)

    def drain(self, *, budget_seconds: float | None = None) -> Drained:
        """Store what hooks have captured; text first, vectors follow by `embed_pending`."""
        return self.upkeep.drain(budget_seconds=budget_seconds)

    def embed_pending(self, *, budget_seconds: float | None = None) -> int:
        """Make vectors for passages that lack one; returns how many were made."""
        return self.upkeep.vectors.some(budget_seconds=budget_seconds)

    def reindex(self, *, from_files: bool = False, progress: Watch | None = None) -> Reindexed:
        """Make text index and vectors anew; with `from_files`, the memories too, from memories.jsonl."""
        return self.upkeep.reindex(from_files=from_files, progress=progress)

    def import_history(self, paths: Sequence[Path] = (), **wanted: Any) -> Imported:
        """Read agents' own histories, what is new since last time; `wanted` as in `Upkeep.import_history`."""
        return self.upkeep.import_history(paths, **wanted)

    def note_question(self) -> None:
        """Keep the last question for a `why` that another process asks; a full disk only misses that."""
        if self._last_question is not None:
            with contextlib.suppress(OSError, StoreFault):
                private_folder(self.home / "cache")
                write_atomically(
                    self._question_file, clean(self._last_question[:2000]).encode("utf-8", "replace")
                )

    # --- how the verbs do it

    @property
    def _is_agent(self) -> bool:
        """Whether an agent is at work, who changes nothing of what a person said."""
        return bool(agents.inside_agent()) if self.serves_agent is None else self.serves_agent

    def _require_person(self, verb: str) -> None:
        if self._is_agent:
            agents.require_person(verb)
            raise Conflict(f"{verb} is for a person: run it in a terminal of your own")

    def _trust_of(self, claimed: Trust | str | None) -> Trust:
        """What a new statement is worth: a person says that it is theirs, and an agent cannot."""
        trust = Trust.AGENT if claimed is None else drafting.choice(Trust, claimed, "trust")
        if trust is Trust.USER:
            self._require_person("speaking as the user")
        return trust

    def _check_owner(self, memories: Sequence[StoredMemory], verb: str) -> None:
        """An agent neither changes, hides nor brings back what a person said."""
        theirs = next((memory for memory in memories if memory.trust is Trust.USER), None)
        if theirs is not None and self._is_agent:
            command = {"restore": "forget --undo", "change": "revise"}.get(verb, verb)
            raise Conflict(
                f"{theirs.id} is the user's own word, and only they can {verb} it: "
                f"`claude-memory {command} {theirs.id}` in a terminal of their own"
            )

    def _updated(self, memory: StoredMemory) -> StoredMemory:
        changed = replace(memory, updated_at=datetime.now(UTC))
        self.store.memories.update(changed)
        return changed

    @property
    def _question_file(self) -> Path:
        return self.home / "cache" / f"last-search-{self.project.id}.txt"
