"""What was changed where, so that uninstalling gives every file back byte for byte.

For each file the original is kept, and the hash of what was written. As long as nobody changed
the file since, the original is put back; else only our own entries are taken out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claude_memory.errors import ConfigFault
from claude_memory.platform.files import private_folder, write_atomically

RECORD = "install.json"
_FOLDER = "install"


class Record:
    """The install record of one home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / RECORD
        self.entries: list[dict[str, Any]] = self._read()

    def change(
        self,
        agent: str,
        path: Path,
        put_in: Callable[[bytes | None], bytes],
        take_out: Callable[[bytes], bytes],
        **origin: str,
    ) -> bool:
        """Edit a file atomically through any symlink, keeping the original; False if nothing changed.

        `origin` is kept with the entry: whoever undoes it may stand in another folder.
        """
        target = Path(os.path.realpath(path))
        before = read_or_none(target)
        known = self._entry(target)
        clean = self.clean(target, before, take_out)
        after = put_in(clean)
        if after == before:
            return False
        if known is not None and known["written"] != digest(before or b""):
            # Changed by somebody since: what stands there without our entries is the new original.
            self.entries.remove(known)
            known = None
        if known is None:
            known = self._keep(agent, target, clean)
        # Noted before it is done: a crash in between leaves a note too many, never an entry nobody knows of.
        known |= {"written": digest(after), **origin}
        self._save()
        _make_parents(target)
        write_through(target, after)
        return True

    def clean(self, path: Path, now: bytes | None, take_out: Callable[[bytes], bytes]) -> bytes | None:
        """A file without our entries: its original if nobody touched it since, else what is left of it."""
        known = self._entry(Path(os.path.realpath(path)))
        if known is not None and known["written"] == digest(now or b"") and _is_whole(known):
            return self._original(known)
        return take_out(now) if now is not None else None

    def _entry(self, target: Path) -> dict[str, Any] | None:
        return next((entry for entry in self.entries if entry["path"] == str(target)), None)

    def undo(self, entry: dict[str, Any], take_out: Callable[[bytes], bytes]) -> None:
        """Give one file back as it was, or without our entries if it was changed since."""
        target = Path(entry["path"])
        now = read_or_none(target)
        if now is not None and digest(now) == entry["written"] and _is_whole(entry):
            original = self._original(entry)
            if original is None:
                target.unlink()
                _remove_made(entry)
            else:
                write_through(target, original)
        elif now is not None:
            cleaned = take_out(now)
            if cleaned != now:
                write_through(target, cleaned)
        self.entries.remove(entry)
        self._save()

    def _keep(self, agent: str, target: Path, before: bytes | None) -> dict[str, Any]:
        entry: dict[str, Any] = {"agent": agent, "path": str(target), "existed": before is not None}
        entry["made"] = [str(folder) for folder in _missing(target.parent)]
        if before is not None and not holds_secret(before):
            name = f"{digest(str(target).encode())[:12]}-{digest(before)[:12]}.original"
            write_atomically(private_folder(self._home / _FOLDER) / name, before)
            entry["original"] = name
        self.entries.append(entry)
        return entry

    def _original(self, entry: dict[str, Any]) -> bytes | None:
        if not entry["existed"]:
            return None
        kept = read_or_none(self._home / _FOLDER / entry["original"])
        if kept is None:
            raise ConfigFault(f"the original of {entry['path']} is missing from {self._home / _FOLDER}")
        return kept

    def _read(self) -> list[dict[str, Any]]:
        raw = read_or_none(self._path)
        if raw is None:
            return []
        try:
            return list(json.loads(raw)["files"])
        except (ValueError, KeyError, TypeError):
            raise ConfigFault(f"{self._path} is damaged; move it away to install again") from None

    def _save(self) -> None:
        private_folder(self._home)
        if not self.entries:
            self._path.unlink(missing_ok=True)
            return
        write_atomically(self._path, json.dumps({"format": 1, "files": self.entries}, indent=2).encode())


def read_or_none(path: Path) -> bytes | None:
    """A file's bytes, or None if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise ConfigFault(f"cannot read {path}: {fault.strerror}") from None


def write_through(path: Path, content: bytes) -> None:
    """Replace a file's content atomically and keep its mode."""
    try:
        mode = check_writable(path)
        write_atomically(path, content, mode=mode)
        path.chmod(mode)  # the umask may have taken something away
    except OSError as fault:
        raise ConfigFault(f"cannot write {path}: {fault.strerror}") from None


def check_writable(path: Path) -> int:
    """The mode to write a file with; a ConfigFault if its owner does not want it written."""
    if not path.exists():
        return 0o600
    mode = path.stat().st_mode & 0o777
    if not os.access(path, os.W_OK) or not mode & 0o200:
        raise ConfigFault(f"{path} is read-only: nothing was changed")
    return mode


def digest(content: bytes) -> str:
    """A short name of some bytes."""
    return hashlib.sha256(content).hexdigest()


def _missing(folder: Path) -> list[Path]:
    return [place for place in (folder, *folder.parents) if not place.exists()]


def _make_parents(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)


def _remove_made(entry: dict[str, Any]) -> None:
    for folder in entry.get("made", []):
        try:
            Path(folder).rmdir()
        except OSError:  # somebody uses it by now
            return


def holds_secret(content: bytes) -> bool:
    """Agents keep keys in their settings: such a file is not copied; our entries are taken out again."""
    from claude_memory.redact import redact

    text = content.decode("utf-8", "replace")
    return redact(text) != text


def _is_whole(entry: dict[str, Any]) -> bool:
    return not entry["existed"] or "original" in entry
