"""What the shared parts ask of a backend: run statements, in a transaction, and keep the indexes of words."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from claude_memory.store.sql import rows

if TYPE_CHECKING:
    from claude_memory.store.sql.write import Terms

T = TypeVar("T")
Values = Sequence[Any] | Mapping[str, Any]


class Cursor(Protocol):
    """The rows of one statement."""

    @property
    def get(self) -> Any:
        """The first value, None if there is no row."""

    def __iter__(self) -> Iterator[Any]: ...

    def __next__(self) -> Any: ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""


class Entries(Protocol):
    """The text index of passages while one transaction changes it; nothing counts before `flush`."""

    def put(self, passage: int, space: int, terms: Terms) -> None:
        """Enter a passage that is not in the index."""

    def drop(self, passage: int, space: int, terms: Terms) -> None:
        """Take a passage out of the index; `terms` must be what was put."""

    def drop_vectors(self, memory: int) -> int:
        """Remove the vectors of a memory's passages; returns how many."""

    def erased(self, space: int) -> None:
        """Something of a space is gone for good."""

    def clear(self) -> None:
        """Empty the index, to make it anew."""

    def flush(self) -> None:
        """Write what waits."""


class Database(Protocol):
    """A connection within a transaction."""

    @property
    def user_space(self) -> int:
        """The space of what travels with the person of this store."""

    @property
    def is_shared(self) -> bool:
        """Whether others write here, too."""

    @property
    def settled(self) -> str:
        """A condition on numbered rows that leaves out those which an earlier one may still come before."""

    @property
    def holding(self) -> tuple[str, str, str]:
        """How messages with words are found: tables, the condition on `:question`, the number to order by."""

    def execute(self, statement: str, values: Values = ...) -> Cursor: ...

    def executemany(self, statement: str, values: Iterable[Values]) -> Any: ...

    def changes(self) -> int:
        """How many rows the last statement changed."""

    def entries(self) -> Entries:
        """The text index of passages."""

    def tick(self, at_least: int) -> int:
        """The store's next moment, after all that it gave before and after `at_least`."""

    def count_on(self, latest: int) -> None:
        """Let the numbers of changes go on behind this one."""

    def message_numbers(self, count: int) -> Iterable[int]:
        """Numbers for so many new messages, growing."""

    def body(self, text: str) -> str | bytes:
        """A message's text as it is kept."""

    def put_messages(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], texts: Sequence[tuple[int, str]]
    ) -> None:
        """Keep new messages, and index their words, told by number in the same order."""

    def replace_words(self, message: int, before: str, after: str) -> None:
        """Index a message that has another text now."""

    def question(self, words: Sequence[str]) -> Any:
        """What `holding` binds to find messages with all of some words."""

    def word_counts(self, words: Iterable[str]) -> dict[str, int]:
        """In how many messages each word stands."""

    def message_count(self) -> int:
        """About how many messages there are."""

    def words_beginning(self, start: str, limit: int) -> list[str]:
        """Words of messages that begin so, the most common first."""

    def used_bytes(self) -> int:
        """What the rows take on disk."""

    def compact(self) -> None:
        """Give room back that deleted rows took."""


class Pool(ABC):
    """All connections of this process to one store; gives them out, each for one transaction."""

    def __init__(self) -> None:
        self.after_write: Callable[[], None] | None = None
        self._local = threading.local()

    @abstractmethod
    def reading(self) -> AbstractContextManager[Database]:
        """One consistent view of the store, whoever writes meanwhile."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Database]:
        """One transaction that is committed as a whole or not at all."""

    @contextlib.contextmanager
    def hurried(self, patience_ms: int) -> Iterator[None]:
        """Wait no longer than this for another writer, in this thread."""
        before = self._hurried_ms()
        self._local.patience_ms = patience_ms
        try:
            yield
        finally:
            self._local.patience_ms = before

    def _hurried_ms(self) -> int | None:
        return getattr(self._local, "patience_ms", None)


class StorePart:
    """One part of a store."""

    def __init__(self, connections: Pool) -> None:
        self._connections = connections

    def _read(self, statement: str, values: Values = ()) -> list[Any]:
        """All rows of a statement, in a transaction of its own."""
        with self._connections.reading() as db:
            return db.execute(statement, values).fetchall()

    def _values(self, class_: Callable[..., T], statement: str, values: Values = ()) -> list[T]:
        """All rows of a statement, as values of a class."""
        return [rows.read(class_, row) for row in self._read(statement, values)]

    def _value(self, statement: str, values: Values = ()) -> Any:
        """The first value of the first row; None if there is none."""
        with self._connections.reading() as db:
            return db.execute(statement, values).get

    def _write(self, statement: str, values: Values = ()) -> None:
        with self._connections.writing() as db:
            db.execute(statement, values)
