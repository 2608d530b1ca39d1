"""At a team's server nobody who writes waits for another person's drain, however long that takes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from tests.postgres_server import Server

from claude_memory.errors import StoreFault
from claude_memory.model import (
    Event,
    EventId,
    EventKind,
    Kind,
    MemoryFilter,
    MemoryId,
    ProjectIdentity,
    SearchScope,
    SessionId,
    StoredMemory,
)
from claude_memory.store.model import Entity, Mention, NewMessage, Relation, Review, Strength, Understood
from claude_memory.store.postgres import team_store
from claude_memory.store.postgres.team_store import PostgresStore

NOW = datetime(2026, 3, 1, tzinfo=UTC)
REPOSITORY = ProjectIdentity(
    (f"remote:git.example/app#{'a' * 40}",), "app", "/srv/app", remote="git.example/app"
)
MODEL, PATIENCE_MS = "model", 700
numbers = count(1)


class Writer:
    """One member at the same project as the others, and everything a drain of theirs writes."""

    def __init__(self, url: str) -> None:
        self.store = PostgresStore(url)
        self.project = self.store.project_for(REPOSITORY).id
        self.session = SessionId(f"s{next(numbers)}")
        self.passages = [self._passage() for _ in range(4)]
        self.conversation = 0
        self.messages()

    def _memory(self, **changed: Any) -> StoredMemory:
        number = next(numbers)
        body = f"The zebra service number {number} stripes src/app.py."
        at = {"created_at": NOW, "updated_at": NOW}
        values: dict[str, Any] = {"kind": Kind.DECISION, "title": "", "topics": ("zebra",), **at, **changed}
        return StoredMemory(
            MemoryId(f"m{number}"),
            self.project,
            body=body,
            files=("src/app.py",),
            session=self.session,
            **values,
        )

    def _passage(self) -> int:
        memory = self._memory()
        self.store.memories.add([memory])
        self.memory = memory.id
        return self.store.memories.unembedded(MODEL, 1)[0].id

    def remember(self) -> None:
        self.store.memories.add([self._memory()])

    def replace(self) -> None:
        self.store.memories.add([self._memory(supersedes=self.memory)])

    def messages(self) -> None:
        number = next(numbers)
        event = Event(
            EventId(f"e{number}"), EventKind.PROMPT, "claude-code", self.session, self.project, "/srv/app", NOW,
            {"prompt": "stripe the zebra"},
        )  # fmt: skip
        told = NewMessage(
            self.session, "claude-code", "user", NOW + timedelta(seconds=number), "stripe the zebra", (number,),
            "/srv/app", event=event,
        )  # fmt: skip
        self.store.archive.add([told], {"/srv/app": self.project})
        [found] = self.store.archive.by_sessions(SearchScope(None), [self.session])
        self.conversation = found.number

    def understand(self) -> None:
        memory = self._memory(kind=Kind.OBSERVATION)
        self.store.archive.understood(
            self.conversation, 1, [Understood(memory, 1, 1, {"asked": "stripe"})], memories=[self._memory()]
        )

    def embed(self) -> None:
        self.store.memories.add_vectors(MODEL, [(self.passages.pop(0), bytes([1, 2, 3, 4]))])

    def mention(self) -> None:
        """The same two things, in the other order than anybody before."""
        things = [Entity("file", "src/app.py"), Entity("topic", "zebra")][:: (-1) ** next(numbers)]
        self.store.graph.put({self.memory: [Mention(self.memory, "about", thing) for thing in things]})

    def review(self) -> None:
        state = Strength(12.5, 4.25, NOW, 3, 1, False)
        self.store.lifecycle.put_strengths({self.memory: state}, [Review(self.memory, NOW, "shown")])

    def relate(self) -> None:
        self.store.lifecycle.relate([Relation(self.memory, self._added(), "repeats", "", NOW)])

    def judge(self) -> None:
        self.store.lifecycle.judged([self.memory])

    def _added(self) -> MemoryId:
        return self.store.memories.find(SearchScope(None), MemoryFilter(), limit=1)[0].id

    def consolidate(self) -> None:
        self.store.lifecycle.consolidated(self.project, NOW, ())

    def mirror(self) -> None:
        waiting = self.store.changes_since("memories.jsonl", 10_000)
        self.store.changes_taken("memories.jsonl", waiting[-1].sequence if waiting else 0)

    def forget(self) -> None:
        self.store.memories.erase([self.memory])


DRAIN = "remember replace messages understand embed mention review relate judge consolidate mirror".split()


@contextlib.contextmanager
def held_open(writer: Writer, act: str) -> Iterator[None]:
    """Whoever is in here lives while the other's transaction has written all and has not committed."""
    written, go_on = threading.Event(), threading.Event()
    server: Any = writer.store._server
    writing = server.writing

    @contextlib.contextmanager
    def slow() -> Iterator[Any]:
        with writing() as db:
            yield db
            written.set()
            assert go_on.wait(60)

    failed: list[BaseException] = []

    def run() -> None:
        try:
            getattr(writer, act)()
        except BaseException as fault:  # noqa: BLE001
            failed.append(fault)
            written.set()

    server.writing = slow
    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert written.wait(60)
        yield
    finally:
        server.writing = writing
        go_on.set()
        thread.join()
    assert failed == []


@pytest.fixture
def member(postgres: Server) -> Iterator[Callable[[str], Writer]]:
    team = f"waiting {next(numbers)} {datetime.now(UTC).timestamp()}"
    with contextlib.ExitStack() as opened:

        def made(name: str) -> Writer:
            login = team_store.create_team(postgres.url(), team, name) or team_store.invite(
                postgres.url(), team, name
            )
            writer = Writer(login)
            opened.callback(writer.store.close)
            return writer

        yield made


@pytest.mark.parametrize("held", DRAIN)
def test_no_writer_waits_for_what_another_has_not_committed(
    member: Callable[[str], Writer], held: str
) -> None:
    ann, bob = member("ann"), member("bob")
    ann.embed(), bob.embed(), ann.mention()  # the model and the things are known: they are seldom new
    waits = []
    with held_open(ann, held):
        for act in DRAIN:
            try:
                with bob.store.transactions.hurried(PATIENCE_MS):
                    getattr(bob, act)()
            except StoreFault as fault:
                waits.append((act, str(fault)))
    assert waits == []
