"""`memory.backups`: what a surface can ask of backups, whether they lie in a file or at a place.

Also the backup that a conversation's end makes by itself, when the setting `backup_to` names a place: in the
detached drain. One process pushes at a time, not more often than every half minute, and only if something
changed; whoever comes meanwhile leaves it to that one.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from claude_memory.backup import backup, chunks, home_state
from claude_memory.backup import restore as restoring
from claude_memory.backup.archives import ENDINGS, BackupFile, BackupReport
from claude_memory.backup.manifest import DATABASE, Skipped
from claude_memory.backup.restore import Agreement
from claude_memory.errors import MemoryFault
from claude_memory.platform import leftovers, logs
from claude_memory.platform.files import FILE_MODE, private_folder, reads_only, require_writing
from claude_memory.platform.locks import try_lock
from claude_memory.settings import Settings
from claude_memory.store.base import Store

STANDARD_INPUT = "-"
QUIET_SECONDS = 30.0
LOCK = "push.lock"


@dataclass(frozen=True, slots=True)
class Backups:
    """The backups of one home."""

    home: Path
    settings: Settings

    def create(
        self, store: Store, target: Path | None = None, *, force: bool = False, keep: int = 0
    ) -> tuple[Path, Sequence[Skipped]]:
        """Write a backup to a file or into a folder: its path, and what it left out."""
        made = backup.create(self.home, store, target, force=force, keep=keep)
        return made, BackupFile(made).manifest.skipped

    def stream(self, store: Store, sink: BinaryIO) -> None:
        """Write a backup as a `.tar.gz` to something that takes bytes."""
        backup.stream(self.home, store, sink)

    def verify(self, named: str | None, given: BinaryIO, id_: str | None = None) -> BackupReport:
        """Check every byte of a backup in a file, from standard input or at a place."""
        if not _is_file(named):
            return backup.verify(self._vault(named).source(id_), self.home)
        with _file(str(named), given) as path:
            return backup.verify(path, self.home)

    def restore(
        self, named: str, given: BinaryIO, *, replace: bool = False, with_settings: Agreement = False
    ) -> BackupReport:
        """Put the backup in a file, or from standard input, in the home's place."""
        with _file(named, given) as path:
            return restoring.restore(path, self.home, replace=replace, with_settings=with_settings)

    def list(self, named: str | None = None) -> Sequence[backup.StoredBackup | chunks.PlacedBackup]:
        """Those in the home's own folder, or at a place, newest first."""
        if named is None:
            return backup.list_backups(self.home / "backups")
        return [*backup.list_backups(Path(named)), *self._vault(named).listed()]

    def push(
        self,
        store: Store,
        named: str | None = None,
        *,
        keep: int | None = None,
        force: bool = False,
    ) -> chunks.Pushed:
        """Bring a place up to date."""
        require_writing("`backup push`")
        to, key = self.settings.backup_to, self.settings.backup_key
        keep = self.settings.keep_backups if keep is None else keep
        # Two may do so at once: the drain by itself, and a person by command.
        pushed = chunks.at_place(
            named or to, self.home, key, lambda vault: vault.push(self.home, store, keep=keep, force=force)
        )
        if named in (None, to):
            home_state.note(self.home, place=to, fault="", pushed_at=time.time())
        return pushed

    def push_if_changed(self, store: Store, drain: Callable[[], object]) -> None:
        """The backup after each conversation, if the settings name a place.

        Pushes until nothing changed since; a fault is kept for `doctor`, and the next drain tries again.
        """
        if reads_only() or not self.settings.backup_to:
            return
        # Looked at again after unlocking: what came in while another pushed must not wait for the next drain.
        while self._changed():
            with try_lock(private_folder(self.home / "cache") / LOCK) as free:
                if not free:
                    return
                passed = time.time() - home_state.load(self.home).pushed_at
                if 0 <= passed < QUIET_SECONDS:  # a clock that was set back must not make anybody wait long
                    time.sleep(QUIET_SECONDS - passed)
                drain()
                if not self._pushed(store):
                    return

    def _changed(self) -> bool:
        state = home_state.load(self.home)
        return (state.place, state.seen) != (self.settings.backup_to, _fingerprint(self.home))

    def _pushed(self, store: Store) -> bool:
        log, place = logs.logger("backup"), self.settings.backup_to
        seen = _fingerprint(self.home)  # before the copy: what is written during it counts as new
        try:
            pushed = self.push(store)
        except MemoryFault as fault:
            log.warning("no backup at %s: %s", place, fault)
            home_state.note(self.home, fault=str(fault), pushed_at=time.time())
            return False
        log.info("backup %s: %d bytes sent", pushed.id, pushed.sent_bytes)
        home_state.note(self.home, seen=seen)
        return True

    def nothing_to_pull(self, named: str | None = None) -> str:
        """Why a fresh machine has nothing to pull; empty if it has."""
        if restoring.holds_memory(self.home):
            return f"there is a memory in {self.home} already"
        vault = self._vault(named)
        return "" if vault.ids() else f"{vault.place.name} holds no backup yet"

    def pull(
        self,
        named: str | None = None,
        id_: str | None = None,
        *,
        replace: bool = False,
        with_settings: Agreement = False,
    ) -> BackupReport:
        """Put the backup at a place, the newest by default, in the home's place."""
        source = self._vault(named).source(id_)
        return restoring.restore(source, self.home, replace=replace, with_settings=with_settings)

    def _vault(self, named: str | None) -> chunks.Vault:
        return chunks.vault_at(named or self.settings.backup_to, self.home, self.settings.backup_key)


def _is_file(named: str | None) -> bool:
    return named is not None and (named == STANDARD_INPUT or named.endswith(ENDINGS) or Path(named).is_file())


@contextlib.contextmanager
def _file(named: str, given: BinaryIO) -> Iterator[Path]:
    """The file that is meant, which standard input becomes for as long as it is needed."""
    if named != STANDARD_INPUT:
        yield Path(named)
        return
    with tempfile.TemporaryDirectory(prefix=leftovers.VERIFYING) as folder:
        path = Path(folder) / "standard-input"
        path.touch(FILE_MODE)
        with path.open("wb") as handle:
            shutil.copyfileobj(given, handle, 1 << 20)
        yield path


def _fingerprint(home: Path) -> str:
    """Sizes and times of everything that a backup would hold."""
    digest = hashlib.sha256()
    for path in [*backup.lasting_names(home), f"{DATABASE}-wal"]:
        with contextlib.suppress(OSError):
            status = (home / path).lstat()
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "replace"))
    return digest.hexdigest()
