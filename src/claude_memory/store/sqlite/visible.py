"""Which scored passages a filter lets through, best first, without asking about all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from claude_memory.model import MemoryFilter, PassageId
from claude_memory.store.sqlite import rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FIRST_ROUNDS = 2000  # asked about one by one; after that the filter is so narrow that a list is shorter


def passing(db: apsw.Connection, filter_: MemoryFilter, ids: Sequence[int]) -> set[int]:
    """Those of some passages that the filter lets through."""
    condition, values = rows.filter_sql(filter_)
    statement = f"""SELECT q.id FROM json_each(:ids) wanted JOIN passages q ON q.id = wanted.value
        JOIN memories m ON m.number = q.memory WHERE {condition}"""
    return {id_ for (id_,) in db.execute(statement, {**values, "ids": rows.id_list(ids)})}


def all_passing(db: apsw.Connection, spaces: Sequence[int], filter_: MemoryFilter) -> list[int]:
    """Every passage of some spaces that the filter lets through."""
    condition, values = rows.filter_sql(filter_)
    statement = f"""SELECT q.id FROM memories m JOIN passages q ON q.memory = m.number
        WHERE m.space IN (SELECT value FROM json_each(:spaces)) AND {condition}"""
    return [id_ for (id_,) in db.execute(statement, {**values, "spaces": rows.id_list(spaces)})]


def best_of(
    db: apsw.Connection,
    spaces: Sequence[int],
    filter_: MemoryFilter,
    passages: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float32],
    limit: int,
) -> list[tuple[PassageId, float]]:
    """The `limit` best that pass, with their scores; equal scores go to the newer passage."""
    import numpy as np

    size = 2 * limit + 16
    found: list[tuple[PassageId, float]] = []
    while limit > 0:
        top = _top(passages, scores, size)
        through = passing(db, filter_, passages[top].tolist())
        found = [
            (PassageId(id_), score)
            for id_, score in zip(passages[top].tolist(), scores[top].tolist(), strict=True)
            if id_ in through
        ][:limit]
        if len(found) == limit or size >= len(passages):
            break
        size *= 4
        if size > _FIRST_ROUNDS:
            allowed = np.isin(passages, all_passing(db, spaces, filter_))
            passages, scores, size = passages[allowed], scores[allowed], limit
    return found


def _top(passages: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], size: int) -> npt.NDArray[np.intp]:
    """Places of the highest scores, best first."""
    import numpy as np

    top = np.argpartition(-scores, size - 1)[:size] if size < len(scores) else np.arange(len(scores))
    return top[np.lexsort((-passages[top], -scores[top]))]
