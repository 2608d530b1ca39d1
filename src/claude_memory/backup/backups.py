"""`memory.backups`: the whole home in one file or at a place, made while others write, checked, brought back.

Also the backup that a conversation's end makes by itself, when the setting `backup_to` names a place: in the
detached drain. One process pushes at a time, not more often than every half minute, and only if something
changed; whoever comes meanwhile leaves it to that one.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changed
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from claude_memory.backup import chunks, home_state
from claude_memory.backup import restore as restoring
from claude_memory.backup.archives import ENDINGS, BackupReport, BackupSource, backup_file, write_archive
from claude_memory.backup.chunks import TIME, ListedBackup, time_in
from claude_memory.backup.home_state import DATABASE, BackupManifest, Skipped
from claude_memory.backup.restore import Agreement, examine
from claude_memory.errors import Conflict, InvalidInput, MemoryFault, NotFound
from claude_memory.platform import files, leftovers, logs
from claude_memory.platform.files import put_in_place, sync_file
from claude_memory.platform.locks import try_lock
from claude_memory.settings import Settings
from claude_memory.store.base import Store

STANDARD_INPUT = "-"
QUIET_SECONDS = 30.0
LOCK = "push.lock"
_PREFIX = "claude-memory-"


@dataclass(frozen=True, slots=True)
class Backups:
    home: Path
    settings: Settings

    def create(
        self, store: Store, target: Path | None = None, *, force: bool = False, keep: int = 0
    ) -> tuple[Path, Sequence[Skipped]]:
        """Write a backup to a file or into a folder, the home's own by default: its path, what it left out.

        The name's ending says how it is packed. A file is replaced only by `force`, and then in one step.
        `keep` leaves that many backups in the folder, and takes away the oldest.
        """
        file = _target(self.home, (target or self.home / "backups").absolute(), force=force, keep=keep)
        with files.disk_faults(f"write the backup {file}"):
            files.private_folder(file.parent)
            with home_state.staged(self.home, store) as (manifest, staging):
                packed = file.with_name(f".{file.name[:100]}.{secrets.token_hex(6)}.tmp")
                with leftovers.noted(self.home, packed):
                    _pack(manifest, staging, packed, file, force=force)
            for old in list_backups(file.parent)[keep:] if keep else ():
                Path(old.id).unlink(missing_ok=True)
        return file, manifest.skipped

    def stream(self, store: Store, sink: BinaryIO) -> None:
        """Write a backup as a `.tar.gz` to something that takes bytes, such as standard output."""
        with (
            files.disk_faults("write the backup"),
            home_state.staged(self.home, store) as (manifest, staging),
        ):
            write_archive(manifest, staging, sink, ".tar.gz")
            sink.flush()

    def verify(self, named: str | None, given: BinaryIO, id_: str | None = None) -> BackupReport:
        """Read every byte of a backup: its report has problems, and what restoring it would change."""
        report = BackupReport(Path(named or self.settings.backup_to))
        with files.disk_faults(f"check {report.path}"):
            try:
                with self._source(named, given, id_) as source, leftovers.temporary_folder() as folder:
                    report = source.report()
                    source.unpack(folder)
                    return with_changed(report, changes=examine(source, folder, self.home)[0])
            except NotFound:
                raise
            except MemoryFault as fault:
                return with_changed(report, problems=(str(fault),))

    def restore(
        self,
        named: str | None,
        given: BinaryIO | None = None,
        id_: str | None = None,
        *,
        replace: bool = False,
        with_settings: Agreement = False,
    ) -> BackupReport:
        """Put a backup in the home's place: from a file, standard input, or a place (there the newest)."""
        with self._source(named, given, id_) as source:
            return restoring.restore(source, self.home, replace=replace, with_settings=with_settings)

    def list(self, named: str | None = None) -> Sequence[ListedBackup]:
        """Those in the home's own folder, or at a place, newest first."""
        if named is None:
            return list_backups(self.home / "backups")
        return [*list_backups(Path(named)), *self._vault(named).listed()]

    def push(
        self, store: Store, named: str | None = None, *, keep: int | None = None, force: bool = False
    ) -> chunks.Pushed:
        files.require_writing("`backup push`")
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
        if files.reads_only() or not self.settings.backup_to:
            return
        # Looked at again after unlocking: what came in while another pushed must not wait for the next drain.
        while (state := home_state.load(self.home)) and (
            (state.place, state.seen) != (self.settings.backup_to, _fingerprint(self.home))
        ):
            with try_lock(files.private_folder(self.home / "cache") / LOCK) as free:
                if not free:
                    return
                passed = time.time() - home_state.load(self.home).pushed_at
                if 0 <= passed < QUIET_SECONDS:  # a clock that was set back must not make anybody wait long
                    time.sleep(QUIET_SECONDS - passed)
                drain()
                if not self._pushed(store):
                    return

    def _pushed(self, store: Store) -> bool:
        log, seen = logs.logger("backup"), _fingerprint(self.home)  # what is written during the copy is new
        try:
            pushed = self.push(store)
        except MemoryFault as fault:
            log.warning("no backup at %s: %s", self.settings.backup_to, fault)
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

    def _vault(self, named: str | None) -> chunks.Vault:
        return chunks.vault_at(named or self.settings.backup_to, self.home, self.settings.backup_key)

    @contextlib.contextmanager
    def _source(self, named: str | None, given: BinaryIO | None, id_: str | None) -> Iterator[BackupSource]:
        if given is not None and named == STANDARD_INPUT:
            with leftovers.temporary_folder() as folder:
                with files.new_file(folder / "standard-input") as handle:
                    shutil.copyfileobj(given, handle, 1 << 20)
                yield backup_file(folder / "standard-input")
        elif named and (named.endswith(ENDINGS) or Path(named).is_file()):
            yield backup_file(Path(named))
        else:
            yield self._vault(named).source(id_)


def list_backups(folder: Path) -> list[ListedBackup]:
    """The backups in a folder that have their time in their names, newest first."""
    listed = []
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{_PREFIX}*"):
            status, created = path.stat(), time_in(path.name.removeprefix(_PREFIX))
            if created.timestamp() and path.name.endswith(ENDINGS):
                backup = ListedBackup(str(path), created, status.st_size, path=path)
                listed.append((created, status.st_mtime_ns, str(path), backup))  # two may be of one second
    return [backup for *_, backup in sorted(listed, reverse=True)]


def _pack(manifest: BackupManifest, staging: Path, packed: Path, target: Path, *, force: bool) -> None:
    """Write the staged files; the name appears only when everything is on the disk."""
    try:
        with files.new_file(packed) as handle:
            write_archive(manifest, staging, handle, next(e for e in ENDINGS if target.name.endswith(e)))
            sync_file(handle)
        put_in_place(packed, target, new=not force)
    except FileExistsError:
        raise Conflict(f"{target} exists already; --force replaces it") from None
    finally:
        packed.unlink(missing_ok=True)


def _target(home: Path, wanted: Path, *, force: bool, keep: int) -> Path:
    if files.stays_inside(wanted, home) and not files.stays_inside(wanted, home / "backups"):
        raise InvalidInput(f"a backup belongs outside {home}, or in its folder backups")
    if wanted.is_dir() or (not wanted.suffix and not wanted.exists()):
        names = (f"{_PREFIX}{datetime.now(UTC):{TIME}}{suffix}.zip" for suffix in ["", *range(-2, -1000, -1)])
        return next(path for name in names if not (path := wanted / name).exists())
    if not wanted.name.endswith(ENDINGS):
        raise InvalidInput("a backup's name ends in .zip, .tar.gz or .tar.zst; or name a folder")
    if keep:
        raise InvalidInput("--keep wants a folder, where backups have their time in their names")
    if wanted.exists() and not force:
        raise Conflict(f"{wanted} exists already; --force replaces it")
    return wanted


def _fingerprint(home: Path) -> str:
    """Sizes and times of everything that a backup would hold."""
    digest = hashlib.sha256()
    for path in [*home_state.lasting_names(home), f"{DATABASE}-wal"]:
        with contextlib.suppress(OSError):
            status = (home / path).lstat()
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "replace"))
    return digest.hexdigest()
