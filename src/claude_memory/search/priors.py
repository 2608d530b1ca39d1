"""What is known of a memory apart from the question: age, validity, files, kind, trust.

All are weak next to the match itself, and neutral where nothing is known. Time is an argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath

from claude_memory.model import Kind, Status, StoredMemory, Trust

# Tie-breakers by design: together they move a score less than one more shared word does, so that no
# measured set changes by more than its noise (tests/quality, bench/quality.py).
RECENCY_BONUS = 0.02
RECENCY_HALF_LIFE_DAYS = 30.0
FILE_BONUS = 0.08
SUPERSEDED_FACTOR = 0.85
STALE_FACTOR = 0.9  # its files changed a lot since: likely still true, less likely than others
VALIDITY = {Status.SUPERSEDED: SUPERSEDED_FACTOR, Status.ARCHIVED: 0.85, Status.PROPOSED: 0.85}
KIND_BONUS = {Kind.OBSERVATION: -0.02, Kind.SUMMARY: -0.04}  # a summary touches much and answers little
TRUST_BONUS = {Trust.TOOL: -0.01, Trust.IMPORTED: -0.01}


def bonuses(memory: StoredMemory, now: datetime, boost_files: Sequence[str] = ()) -> dict[str, float]:
    """What is added to the fused score, by name; zero entries are left out."""
    found = {
        "recency": recency(memory.created_at, now),
        "files": FILE_BONUS * shares_file(memory.files, boost_files),
        "kind": KIND_BONUS.get(memory.kind, 0.0),
        "trust": TRUST_BONUS.get(memory.trust, 0.0),
    }
    return {name: value for name, value in found.items() if value}


def validity(memory: StoredMemory) -> float:
    """The factor by which a memory that was replaced or has faded sinks."""
    stale = STALE_FACTOR if memory.provenance.get("stale") else 1.0
    return VALIDITY.get(memory.status, 1.0) * stale


def recency(created_at: datetime, now: datetime) -> float:
    """A bonus that halves every month; a memory from the future counts as new."""
    days = max((now - created_at).total_seconds() / 86_400.0, 0.0)
    return RECENCY_BONUS * math.exp2(-days / RECENCY_HALF_LIFE_DAYS)


def shares_file(files: Sequence[str], wanted: Sequence[str]) -> float:
    """1 for the same path, half for the same name elsewhere, 0 otherwise."""
    if not files or not wanted:
        return 0.0
    ours, theirs = {_path(file) for file in files}, {_path(file) for file in wanted}
    if any(_same(one, other) for one in ours for other in theirs):
        return 1.0
    return 0.5 if {path.name for path in ours} & {path.name for path in theirs} else 0.0


def _path(file: str) -> PurePosixPath:
    return PurePosixPath(file.replace("\\", "/"))


def _same(one: PurePosixPath, other: PurePosixPath) -> bool:
    # One may be absolute and the other relative to the project: the shorter ends the longer.
    short, long = sorted((one.parts, other.parts), key=len)
    return len(short) > 0 and long[-len(short) :] == short and (len(short) > 1 or len(long) == 1)
