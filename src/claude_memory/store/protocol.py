"""What a store must do, in four parts. Every backend keeps the same promises, and one test suite proves it.

A store keeps rows and finds candidates; it never ranks, judges, redacts or reads files. Each call is one
transaction; every query is scoped to projects. What a method promises is said here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from claude_memory.model import (
        Event,
        MemoryFilter,
        MemoryId,
        Passage,
        PassageId,
        PersonId,
        Project,
        ProjectId,
        ProjectIdentity,
        SearchScope,
        StoredMemory,
    )
    from claude_memory.redact.erasure import Holder
    from claude_memory.store.feed_model import FeedBatch, Sender, Taken
    from claude_memory.store.model import (
        Added,
        Archived,
        Change,
        Conversation,
        ConversationFilter,
        Entity,
        Erased,
        EventFilter,
        FileState,
        ImportFile,
        Integrity,
        Intention,
        MadeRoom,
        Mention,
        Message,
        NewMessage,
        Relation,
        Review,
        Step,
        StoreStats,
        Strength,
        TermStatistics,
        Understood,
        VectorScan,
        WaitingCompactions,
    )


class Memories(Protocol):
    """What is worth recalling, with its passages, words and vectors."""

    def add(self, memories: Sequence[StoredMemory]) -> Added:
        """Store a batch with its text entries; known ids and erased content are passed over.

        One that says what it supersedes lets that one sink, within the project. A memory of scope `user`
        belongs to the person it names, else to the person of this store.
        """

    def update(self, memory: StoredMemory) -> None:
        """Replace a memory, and its passages if title or body changed. NotFound if there is none."""

    def erase(self, ids: Sequence[MemoryId], *, texts: Sequence[str] | None = None) -> Erased:
        """Remove memories, the events they came from, text, vectors and file pages; leave tombstones.

        The sentences `texts`, by default what the memories say, are taken out of everything else, too, in
        every project.
        """

    def apply_tombstones(self) -> Erased:
        """Remove what tombstones name that came from elsewhere, as `erase` would have."""

    def erased_sentences(self, project: ProjectId | None = None) -> Holder:
        """What was erased from a project, or from any, by its hashes: tells which texts hold it."""

    def find(
        self,
        scope: SearchScope,
        filter_: MemoryFilter,
        *,
        ids: Sequence[MemoryId] | None = None,
        limit: int | None = None,
        newest_first: bool = True,
    ) -> list[StoredMemory]:
        """The memories that fit, by time; with `ids`, only those, in that order."""

    def complete_id(self, scope: SearchScope, prefix: str) -> list[MemoryId]:
        """Ids that begin with what a person typed, at most 20; nothing typed names nothing."""

    def term_statistics(self, scope: SearchScope, terms: Iterable[str]) -> TermStatistics:
        """How many passages there are, how long they are, and how many hold each term."""

    def text_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, terms: Mapping[str, float], limit: int
    ) -> list[PassageId]:
        """Passages that hold at least one term, likeliest first. Never fails, whatever the terms."""

    def vector_candidates(
        self, scope: SearchScope, filter_: MemoryFilter, near: bytes | PassageId, model: str, limit: int
    ) -> VectorScan:
        """The nearest passages to a vector, or to a passage, by exact cosine over vectors of this model.

        The figures are of all vectors in scope, the candidates pass the filter.
        """

    def cosines(
        self, near: bytes | PassageId, model: str, ids: Sequence[PassageId]
    ) -> Mapping[PassageId, float]:
        """How near passages are to a vector, or to a passage; those without a vector are left out."""

    def passages(self, ids: Sequence[PassageId]) -> list[Passage]:
        """Whole passages in the order asked for; one that is gone is left out."""

    def unembedded(self, model: str, limit: int, *, project: ProjectId | None = None) -> list[Passage]:
        """Passages that have no vector of this model yet, newest memories first."""

    def coverage(self, model: str) -> tuple[int, int]:
        """How many passages there are, and how many have no vector of this model."""

    def add_vectors(self, model: str, vectors: Sequence[tuple[PassageId, bytes]]) -> int:
        """Attach vectors; a passage that is gone by now, or has one, is passed over."""

    def drop_vectors(self, *, keep: str | None) -> int:
        """Remove vectors of every other model (after a change of model)."""

    def rebuild_index(self) -> int:
        """Make passages and text entries anew from the memories; returns the passages there are."""


class Archive(Protocol):
    """What happened: events, and whole conversations, which outlive the agents' own files."""

    def add(
        self,
        messages: Sequence[NewMessage] = (),
        projects: Mapping[str, ProjectId] | None = None,
        files: Sequence[ImportFile] = (),
        events: Sequence[Event] = (),
    ) -> Archived:
        """Keep what is new, the events, and how far files were read: all or nothing.

        `projects` names the project of every folder that a message is from. What was erased stays away.
        """

    def events(
        self, scope: SearchScope, filter_: EventFilter, *, limit: int, newest_first: bool = True
    ) -> list[Event]:
        """The events that fit, by time."""

    def prune(self, events_before: datetime | None) -> int:
        """Retention: drop old events; and bring erasures to their end that a reader held up."""

    def make_room(self, most_bytes: int) -> MadeRoom:
        """Take out the oldest tool output, then messages, then exchanges, until the rest takes no more."""

    def file(self, path: str) -> ImportFile | None:
        """How far a source was read."""

    def files(self) -> list[ImportFile]:
        """Every source that was read."""

    def conversations(
        self,
        scope: SearchScope,
        within: ConversationFilter = ...,
        *,
        prefix: str = "",
        limit: int | None = None,
    ) -> list[Conversation]:
        """The conversations that fit and whose id begins so, newest first."""

    def session_ids(self, scope: SearchScope, prefix: str) -> list[str]:
        """Ids of sessions that begin so, of events and memories as well as of conversations; at most 20."""

    def by_sessions(self, scope: SearchScope, sessions: Sequence[str]) -> list[Conversation]:
        """Conversations by their agents' own ids, newest first."""

    def by_numbers(self, numbers: Sequence[int]) -> list[Conversation]:
        """Conversations by their numbers, in that order."""

    def messages(
        self, conversation: int, *, first: int = 1, last: int | None = None, failed_only: bool = False
    ) -> list[Message]:
        """A conversation's messages in order, or a range of them."""

    def candidates(
        self, scope: SearchScope, words: Sequence[str], limit: int, within: ConversationFilter = ...
    ) -> list[Message]:
        """Messages of all roles that hold the rarest of the words together, newest first."""

    def matching(
        self,
        scope: SearchScope,
        words: Sequence[str],
        within: ConversationFilter,
        accept: Callable[[str], bool],
        *,
        limit: int,
        depth: int,
    ) -> list[Message]:
        """Messages with all the words whose text is accepted, newest first; `depth` are looked at at most."""

    def of_events(self, events: Sequence[str]) -> list[Message]:
        """The messages that left these events."""

    def word_counts(self, words: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """About how many messages there are, and in how many of them each word stands."""

    def words_beginning(self, start: str, limit: int) -> list[str]:
        """Words of messages that begin so, the most common first."""

    def upgrade_stage(self) -> int:
        """1 while events of an earlier release wait to be messages, 2 until all is understood, else 0."""

    def reach_upgrade_stage(self, stage: int) -> None:
        """Note how far the upgrade is; 0 when it is done."""

    def waiting(self, limit: int) -> list[Conversation]:
        """Conversations with messages that were not understood yet, oldest first."""

    def understood(
        self,
        conversation: int,
        through: int,
        exchanges: Sequence[Understood],
        *,
        since: int = 1,
        record: Mapping[str, Any] | None = None,
        memories: Sequence[StoredMemory] = (),
    ) -> int:
        """Keep what was understood of messages from `since` to `through`; returns how many memories are new.

        Exchanges that were known from `since` on and are not among these are gone. What a person did to a
        memory (worded, pinned, forgot, rejected, used it) stays.
        """

    def exchanges(self, conversation: int) -> list[tuple[MemoryId, int, int, Mapping[str, Any]]]:
        """A conversation's exchanges in order: memory, first and last message, parts."""

    def exchanges_at(
        self, places: Sequence[tuple[int, int]]
    ) -> list[tuple[MemoryId, int, int, int, Mapping[str, Any]] | None]:
        """For each conversation and message the visible exchange that holds it: memory, conversation, first,
        last, parts."""

    def exchange_parts(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Mapping[str, Any]]:
        """The parts of those memories that are exchanges."""

    def session_records(self, scope: SearchScope, limit: int) -> list[tuple[Conversation, Mapping[str, Any]]]:
        """The records of sessions, newest first."""

    def unasked(self, *, before: datetime, limit: int) -> list[Conversation]:
        """Sessions, silent since `before`, that no model was asked about since they grew; newest first."""

    def asked(self, conversation: int, through: int) -> None:
        """A language model was asked about so many messages of a conversation."""

    def waiting_compactions(self, limit: int) -> list[WaitingCompactions]:
        """Sessions with reports that came in since the last `summed_up`; the latest first."""

    def summed_up(self, waiting: WaitingCompactions) -> None:
        """These need no more look, until another report of the session comes in."""

    def agents(self) -> list[str]:
        """Whose conversations are kept."""

    def totals(self) -> Mapping[str, int]:
        """How many `conversations`, `messages` and `files` read there are."""


class Graph(Protocol):
    """What memories mention, one project at a time, walked in bounded steps."""

    def put(self, mentions: Mapping[MemoryId, Sequence[Mention]]) -> None:
        """Replace what memories mention; an empty list notes that they were looked at."""

    def unread(self, project: ProjectId, limit: int) -> list[StoredMemory]:
        """Memories not looked at yet, or changed since, oldest first."""

    def find(self, project: ProjectId, name: str, *, limit: int = 20) -> list[Entity]:
        """Things by their name, or a path by its end."""

    def of_memories(self, ids: Sequence[MemoryId], *, limit: int) -> list[Mention]:
        """What memories mention."""

    def of_entities(
        self, project: ProjectId, entities: Sequence[Entity], *, each: int
    ) -> list[tuple[Mention, int]]:
        """Visible memories that mention things, the newest of each, and how many mention it in all."""

    def common(self, project: ProjectId, kinds: Sequence[str], *, limit: int) -> list[tuple[Entity, int]]:
        """What is mentioned most, and by how many memories."""


class Lifecycle(Protocol):
    """What memories are worth and how they hang together; what a person wants to be reminded of."""

    def put_intention(self, intention: Intention) -> None:
        """Keep a new one or the new state of a known one; Conflict if what it says was erased."""

    def intentions(self, project: Project, *, open_only: bool = True) -> list[Intention]:
        """Those of the project, and those of anywhere that name its codebase; oldest first."""

    def has_open_intentions(self) -> bool:
        """Whether any reminder waits, of whatever project; cheap, because every prompt asks."""

    def strengths(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Strength]:
        """Known states; a memory that was never reviewed has none."""

    def put_strengths(self, strengths: Mapping[MemoryId, Strength], reviews: Sequence[Review] = ()) -> None:
        """Keep states and the reviews that led to them; an older state changes nothing."""

    def reviews(self, memory: MemoryId) -> list[Review]:
        """Every use of one memory, oldest first."""

    def arrivals(self, ids: Sequence[MemoryId]) -> Mapping[MemoryId, datetime]:
        """When memories came to this store, of those that were made long before."""

    def unjudged(self, limit: int) -> list[StoredMemory]:
        """Memories that have not met their neighbours yet, of any project, oldest first."""

    def judged(self, ids: Sequence[MemoryId]) -> None:
        """These have met their neighbours."""

    def relate(self, relations: Sequence[Relation]) -> int:
        """Keep relations between memories of one project; returns how many are new."""

    def relations(self, ids: Sequence[MemoryId], *, kinds: Sequence[str] = ()) -> list[Relation]:
        """Those that begin or end at one of the memories, oldest first."""

    def unrelate(self, source: MemoryId, target: MemoryId, kind: str) -> None:
        """Take a relation back."""

    def archive(self, ids: Sequence[MemoryId]) -> int:
        """Let active memories rest; nothing else of them changes."""

    def unarchive(self, ids: Sequence[MemoryId]) -> int:
        """Bring archived memories back as they were."""

    def reject(self, ids: Sequence[MemoryId]) -> int:
        """Take proposals out for good: what rules find again is not proposed again."""

    def put_file_states(self, states: Sequence[FileState]) -> None:
        """Keep what files held, or how they differ by now."""

    def file_states(self, scope: SearchScope, ids: Sequence[MemoryId] | None = None) -> list[FileState]:
        """Files that memories of the scope are tied to."""

    def consolidated(self, project: ProjectId, at: datetime, steps: Sequence[Step]) -> int:
        """Note a run and its steps; returns its number."""

    def steps(self, run: int) -> list[Step]:
        """What a run did, in order."""

    def last_run(self, project: ProjectId) -> tuple[int, datetime, int] | None:
        """Number and time of the last run that stands, and how many memories came since."""

    def undone(self, run: int) -> None:
        """This run was taken back."""


class Feed(Protocol):
    """What changed, numbered, for other homes; and what they send. A team's hub implements it, too."""

    def replica(self, token: str) -> str:
        """The name of this very copy, whose numbers count on. It is a new one unless `token`, which lies
        beside the store and in no backup of it, is the one given last."""

    def changes(self, stream: str, since: int, limit: int) -> FeedBatch:
        """What stands in a stream after a number, oldest first; what changed twice stands there once."""

    def apply(self, batch: FeedBatch, sender: Sender) -> Taken:
        """Take in what another home sent, and note how far that is, all or nothing.

        Messages are a union by their keys; of a memory the later change stands; hiding and erasing win over
        it; projects meet by identity. Any order and repetition ends in the same state. What was erased
        elsewhere is kept away from now on, and swept by `Memories.apply_tombstones`.
        """

    def through(self, replica: str, stream: str) -> int:
        """How far a stream of another home was taken in."""

    def forget_peers(self) -> None:
        """Begin with every other home anew, such as after one of them was paired."""

    def is_unswept(self) -> bool:
        """Whether tombstones came that were not carried out to the end yet."""

    def swept(self) -> None:
        """They were."""

    def erasures(self) -> int:
        """How many tombstones there are: what was written down elsewhere before the last one may hold it."""


class Store(Protocol):
    """The persistent half of the memory; safe to use from several threads and processes."""

    @property
    def memories(self) -> Memories: ...

    @property
    def archive(self) -> Archive: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def lifecycle(self) -> Lifecycle: ...

    @property
    def feed(self) -> Feed: ...

    @property
    def person(self) -> PersonId:
        """Who owns what has scope `user` here, unless it says otherwise."""

    def project_for(self, identity: ProjectIdentity) -> Project:
        """Find, join by alias, or create the project of a folder; a partial identity makes none: NotFound."""

    def projects(self) -> list[Project]:
        """Every project, by name."""

    def merge_projects(self, source: ProjectId, target: ProjectId) -> Project:
        """Let all of one project belong to another, which is given back; only its names are left."""

    def split_project(self, identity: ProjectIdentity) -> Project:
        """Make a folder a project of its own, with the sessions that were held in it."""

    def move_folder(self, identity: ProjectIdentity, target: ProjectId) -> Project:
        """Let a folder belong to a known project from now on."""

    def changes_since(self, mirror: str, limit: int) -> list[Change]:
        """The oldest changes that a mirror has not taken yet; a new one begins with the oldest there is."""

    def changes_taken(self, mirror: str, through: int) -> None:
        """A mirror has all changes up to this number; those that every mirror has may go."""

    def replay(self, records: Iterable[Mapping[str, Any]]) -> Added:
        """Bring memories to the last state that a mirror's records tell; what was erased stays away."""

    def after_write(self, notify: Callable[[], None]) -> None:
        """Call `notify` after every commit of this process, outside the transaction."""

    def hurried(self, patience_ms: int) -> AbstractContextManager[None]:
        """Wait no longer than this for another writer, in this thread, for as long as it is open."""

    def check(self) -> Integrity:
        """Verify everything that can be verified; takes seconds on a large store."""

    def stats(self, project: ProjectId | None = None) -> StoreStats:
        """Counts, of one project or of all."""

    def export(self, target: Path) -> int:
        """Write a consistent copy while others read and write, which can be opened as a store.

        Returns the version of its schema.
        """

    def close(self) -> None:
        """Let go of the store, in all threads."""
