"""What several tests start from; a test with a start of its own has a fixture of that name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from claude_memory import Memory

if TYPE_CHECKING:
    from tests.integration.test_compaction import Session


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A new store and project, without a model."""
    project = tmp_path / "project"
    project.mkdir()
    with Memory.open(tmp_path / "home", project, flags={"embedder": "none"}) as opened:
        yield opened


@pytest.fixture
def session(tmp_path: Path, memory: Memory) -> Session:
    """A Claude Code transcript that grows line by line."""
    from tests.integration.test_compaction import Session

    return Session(tmp_path, memory.home, memory.project_root)
