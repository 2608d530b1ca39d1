"""What every set is turned into: memories to keep and questions with the memories that answer them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Unit:
    """One memory to be."""

    key: str
    text: str
    session: str | None = None
    when: datetime | None = None
    title: str | None = None


@dataclass(frozen=True)
class Question:
    """One question and the keys of the units that answer it; `stale` answered it once."""

    text: str
    gold: frozenset[str]
    kind: str
    stale: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True)
class Corpus:
    """One store's worth."""

    name: str
    units: tuple[Unit, ...]
    questions: tuple[Question, ...]
