"""The table of vectors: adding, dropping, and the nearest passages by exact cosine.

numpy is loaded with the first scan, not with the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import apsw

from claude_memory.errors import InvalidInput
from claude_memory.model import MemoryFilter, PassageId, SearchScope
from claude_memory.store.protocol import VectorScan
from claude_memory.store.sqlite import rows, visible

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from claude_memory.store.sqlite.matrices import Matrices

Floats: TypeAlias = "npt.NDArray[np.float32]"
Ids: TypeAlias = "npt.NDArray[np.int64]"

_INSERT = """INSERT INTO vectors (passage, model, space, vector) SELECT id, :model, space, :vector
    FROM passages WHERE id = :passage ON CONFLICT (passage, model) DO NOTHING"""
_FIRST_MISSING = """SELECT min(id) FROM (SELECT q.id FROM passages q WHERE q.id > :through AND NOT EXISTS
    (SELECT 1 FROM vectors v WHERE v.passage = q.id AND v.model = :model) ORDER BY q.id LIMIT 1)"""


def add(db: apsw.Connection, model: str, vectors: Sequence[tuple[PassageId, bytes]]) -> int:
    """Attach vectors of one model; passages that are gone, or have theirs, are passed over."""
    db.execute("INSERT INTO models (id) VALUES (?) ON CONFLICT DO NOTHING", (model,))
    number, through = next(db.execute("SELECT number, complete_through FROM models WHERE id = ?", (model,)))
    usual = db.execute("SELECT length(vector) FROM vectors WHERE model = ? LIMIT 1", (number,)).get
    if len({len(vector) for _, vector in vectors} | {usual or len(vectors[0][1])}) > 1 or not vectors[0][1]:
        raise InvalidInput(f"vectors of {model} must all have the same length")
    before = db.total_changes()
    db.executemany(
        _INSERT,
        ({"model": number, "vector": vector, "passage": passage} for passage, vector in vectors),
    )
    stored = db.total_changes() - before
    _note_completeness(db, number, through)
    return stored


def _note_completeness(db: apsw.Connection, model: int, through: int) -> None:
    """Remember up to which passage all have their vector, so that looking for gaps stays cheap."""
    missing = db.execute(_FIRST_MISSING, {"through": through, "model": model}).get
    if missing is None:
        missing = int(db.execute("SELECT coalesce(max(id), 0) FROM passages").get) + 1
    if missing - 1 > through:
        db.execute("UPDATE models SET complete_through = ? WHERE number = ?", (missing - 1, model))


def drop(db: apsw.Connection, keep: str | None) -> int:
    """Remove every model but one, with its vectors."""
    others = "model IN (SELECT number FROM models WHERE id IS NOT ?)"
    db.execute(f"DELETE FROM vectors WHERE {others}", (keep,))
    dropped = db.changes()
    db.execute(f"DELETE FROM dead_vectors WHERE {others}", (keep,))
    db.execute("DELETE FROM models WHERE id IS NOT ?", (keep,))
    return dropped


def _joined(scores: list[Floats], passages: list[Ids]) -> tuple[Floats, Ids]:
    """All spaces in a row; the usual single one is not copied, which at a million rows costs as much."""
    import numpy as np

    if len(scores) == 1:
        return scores[0], passages[0]
    return np.concatenate(scores), np.concatenate(passages)


def candidates(
    db: apsw.Connection,
    matrices: Matrices,
    scope: SearchScope,
    filter_: MemoryFilter,
    vector: bytes,
    model: str,
    limit: int,
) -> VectorScan:
    """Scan all vectors of the model in scope; the figures are of all, the candidates pass the filter."""
    import numpy as np

    from claude_memory.store.sqlite.matrices import Source, scores_of

    query = np.frombuffer(vector, np.int8)
    number = db.execute("SELECT number FROM models WHERE id = ?", (model,)).get
    if number is None or not query.any():
        return VectorScan((), 0, 0.0, 0.0, 0.0)
    spaces = rows.spaces_of(db, scope)
    sources = [Source(db, space, model, number, len(vector)) for space in spaces]
    held = [snapshot for snapshot in map(matrices.snapshot, sources) if snapshot.size]
    if not held:
        return VectorScan((), 0, 0.0, 0.0, 0.0)
    scores, passages = _joined(
        [scores_of(snapshot, query) for snapshot in held],
        [snapshot.passages for snapshot in held],
    )
    if any(snapshot.dead for snapshot in held):
        living = ~np.isnan(scores)
        scores, passages = scores[living], passages[living]
    best = visible.best_of(db, spaces, filter_, passages, scores, limit)
    return VectorScan(
        tuple(best),
        len(scores),
        float(scores.min()) if len(scores) else 0.0,
        float(scores.mean()) if len(scores) else 0.0,
        float(scores.std()) if len(scores) else 0.0,
    )
