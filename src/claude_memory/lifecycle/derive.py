"""What can be told of a memory from its text alone, noted when it is written: subject keys."""

from __future__ import annotations

from collections.abc import Sequence

from claude_memory.lifecycle.subject import subjects
from claude_memory.model import Kind, StoredMemory, Trust
from claude_memory.store.lifecycle_protocol import lifecycle_of
from claude_memory.store.protocol import Store


def derive(store: Store, memories: Sequence[StoredMemory]) -> None:
    """Note what new memories lay down something about."""
    found = {memory.id: subjects(memory.body) for memory in memories if _may_rule(memory)}
    lifecycle_of(store).put_subjects({id_: keys for id_, keys in found.items() if keys})


def _may_rule(memory: StoredMemory) -> bool:
    """A tool's output lays nothing down, nor does what merely happened."""
    return memory.trust is not Trust.TOOL and memory.kind is not Kind.SUMMARY
