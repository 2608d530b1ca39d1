"""`Memory`: one open home and project, and a verb for everything a surface can ask.

Wiring only: the verbs stand in `verbs`, by topic, and each calls the part that does the work. Ranking,
SQL and file formats live elsewhere.
"""

from __future__ import annotations

from claude_memory.verbs.asking import Asking
from claude_memory.verbs.upkeep import Reindexed
from claude_memory.verbs.writing import Writing

__all__ = ["Memory", "Reindexed"]


class Memory(Writing, Asking):
    """A memory of one project, in one home. Use as a context manager."""
