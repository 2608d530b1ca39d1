"""A backup made, checked and restored by the parts that commands use, for tests that say it often."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from claude_memory.backup import restore as restoring
from claude_memory.backup.archives import BackupReport, BackupSource, backup_file
from claude_memory.backup.backups import Backups
from claude_memory.settings import Settings
from claude_memory.store.base import Store


def create(home: Path, store: Store, target: Path | None = None, **how: Any) -> Path:
    return Backups(home, Settings()).create(store, target, **how)[0]


def verify(path: Path, home: Path | None = None) -> BackupReport:
    return Backups(home or path.parent / "no-home", Settings()).verify(str(path), io.BytesIO())


def restore(source: BackupSource | Path, home: Path, **how: Any) -> BackupReport:
    return restoring.restore(backup_file(source) if isinstance(source, Path) else source, home, **how)
