"""Install and uninstall: through the client's own plugin command, else by its settings file.

Twice is once. What another person or program wrote stays byte for byte, and uninstalling never touches
memory data. For each file the original is kept, and the hash of what was written: as long as nobody changed
the file since, the original is put back; else only our own entries are taken out.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from claude_memory.errors import ConfigFault, InvalidInput
from claude_memory.install.edits import INSTALLABLE, Edit, edits, has_hooks, without_ours
from claude_memory.install.plugin import (
    HOOK_FILE,
    MARKETPLACE,
    MARKETPLACE_FOLDER,
    PLUGIN,
    config_folder,
    hook_program,
    write_marketplace,
)
from claude_memory.platform.agents import canonical
from claude_memory.platform.files import HOOK_GONE, private_folder, write_atomically

RECORD = "install.json"
_CLIENT_SECONDS = 120
_NAME = f"{PLUGIN}@{MARKETPLACE}"


@dataclass(frozen=True, slots=True)
class InstallStep:
    path: str
    what: str
    changed: bool
    difference: str = field(default="", compare=False)  # foretold: the lines that come and go, or commands


def install(
    home: Path,
    agent: str,
    scope: str,
    project_root: Path,
    *,
    dry_run: bool = False,
    client: str | None = None,
) -> list[InstallStep]:
    if not dry_run:
        private_folder((home / HOOK_GONE).parent)  # a shell that finds nothing else there can still leave it
        (home / HOOK_GONE).unlink(missing_ok=True)
    client, agent = client if client is not None else shutil.which("claude"), canonical(agent)
    if agent == "claude-code" and client:
        return [_install_plugin(home, scope, project_root, client, dry_run=dry_run)]
    record = Record(home)
    wanted = edits(agent, scope, project_root, home)
    # What cannot be done fails before the first change.
    foreseen = [record.change(agent, edit, dry_run=True) for edit in wanted]
    if dry_run:
        return foreseen
    # A copy: settings must not point into a folder that pip may move.
    write_atomically(private_folder(home / "hooks") / HOOK_FILE, hook_program().read_bytes())
    return [record.change(agent, edit) for edit in wanted]


def uninstall(
    home: Path, agent: str | None, project_root: Path, *, client: str | None = None
) -> list[InstallStep]:
    """Take the memory out of one agent, or of all; every file comes back as it was."""
    client = client if client is not None else shutil.which("claude")
    record = Record(home)
    agent = canonical(agent) if agent else None
    # Backwards: a folder made for the first file is empty only when the last one is gone.
    steps = []
    for entry in record.entries[::-1]:
        if agent in (None, entry["agent"]) and not entry.get("by_client"):
            record.undo(entry)
            steps.append(InstallStep(entry["path"], "our entries", True))
    # What no record speaks of: entries of ours whose home was deleted or moved.
    for _, edit, raw in _present([agent] if agent else INSTALLABLE, project_root, home):
        target, cleaned = Path(os.path.realpath(edit.path)), without_ours(raw)
        if cleaned != raw:
            if isinstance(edit.entries, bytes):
                target.unlink()
            else:
                _write_through(target, cleaned)
            steps.append(InstallStep(str(edit.path), "our entries", True))
    if agent in (None, "claude-code") and client and (home / MARKETPLACE_FOLDER).exists():
        steps.append(_uninstall_plugin(home, record, client))
    return steps


def installed(project_root: Path) -> list[tuple[str, Path]]:
    """Where hooks of ours are registered in settings files: (agent, file)."""
    present = _present(INSTALLABLE, project_root, Path())
    return [(agent, edit.path) for agent, edit, raw in present if has_hooks(raw)]


def _present(agents: Iterable[str], project_root: Path, home: Path) -> Iterator[tuple[str, Edit, bytes]]:
    for scope in ("user", "project"):
        for agent in agents:
            for edit in edits(agent, scope, project_root, home):
                with contextlib.suppress(ConfigFault):
                    raw = _read_or_none(edit.path)
                    if raw is not None:
                        yield agent, edit, raw


# --- the client's own plugin command


def _install_plugin(home: Path, scope: str, root: Path, client: str, *, dry_run: bool) -> InstallStep:
    folder = home / MARKETPLACE_FOLDER
    commands = (
        ("plugin", "marketplace", "add", str(folder)),
        ("plugin", "install", _NAME, "--scope", scope),
    )
    foretold = "\n".join(f"$ {shlex.join([client, *command])}" for command in commands)
    step = InstallStep(str(folder), f"plugin {_NAME}, scope {scope}", True, foretold)
    if dry_run:
        return step
    record = Record(home)
    for entry in record.entries[:]:
        if entry["agent"] == "claude-code" and not entry.get("by_client"):
            record.undo(entry)  # the same hook in settings and plugin would run twice
    write_marketplace(home)
    record.keep_for_client(config_folder() / "settings.json")
    if scope == "project":
        record.keep_for_client(root / ".claude" / "settings.json")
    for command in commands:
        _run(client, root, *command)
    return step


def _uninstall_plugin(home: Path, record: Record, client: str) -> InstallStep:
    ours = [entry for entry in record.entries if entry.get("by_client")]
    user = os.path.realpath(config_folder() / "settings.json")
    projects = [Path(entry["path"]).parents[1] for entry in ours if entry["path"] != user]
    for scope, folder in [("user", Path.home()), *(("project", folder) for folder in projects)]:
        _run(client, folder, "plugin", "uninstall", _NAME, "--scope", scope, check=False)
    _run(client, Path.home(), "plugin", "marketplace", "remove", MARKETPLACE, check=False)
    for entry in ours:
        record.undo(entry)
    shutil.rmtree(home / MARKETPLACE_FOLDER, ignore_errors=True)
    return InstallStep(str(home / MARKETPLACE_FOLDER), f"plugin {_NAME}", True)


def _run(client: str, folder: Path, *arguments: str, check: bool = True) -> None:
    try:
        done = subprocess.run(
            [client, *arguments],
            cwd=folder if folder.is_dir() else None,
            capture_output=True,
            text=True,
            timeout=_CLIENT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        failure = (done.stderr or done.stdout).strip() or "no reason given" if done.returncode else ""
    except (OSError, subprocess.SubprocessError) as fault:
        failure = str(fault)
    if check and failure:
        raise ConfigFault(f"`claude {' '.join(arguments[:3])}` failed: {failure.splitlines()[-1]}")


class Record:
    """What was changed where, as `install.json` of one home says."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / RECORD
        raw = _read_or_none(self._path)
        try:
            self.entries: list[dict[str, Any]] = list(json.loads(raw)["files"]) if raw is not None else []
        except (ValueError, KeyError, TypeError):
            raise ConfigFault(f"{self._path} is damaged; move it away to install again") from None

    def change(self, agent: str, edit: Edit, *, dry_run: bool = False) -> InstallStep:
        """Edit a file atomically through any symlink, keeping the original; or only say what would change."""
        target = Path(os.path.realpath(edit.path))
        before = _read_or_none(target)
        clean = self.clean(target, before)
        try:
            after = edit.put_in(clean)
        except InvalidInput as fault:
            raise ConfigFault(f"{edit.path}: {fault}; nothing was changed") from None
        step = InstallStep(str(edit.path), edit.what, after != before)
        if after == before:
            return step
        if dry_run:
            _mode(target)
            # The lines that go and come, no others: what else stands in a person's settings may be secret.
            old, new = (text.decode("utf-8", "replace").splitlines() for text in (before or b"", after))
            lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
            return replace(step, difference="\n".join(line for line in lines if not line.startswith("@@")))
        entry = self._entry(target)
        if entry is not None and entry.get("written") != _digest(before or b""):
            # Changed by somebody since: what stands there without our entries is the new original.
            self.entries.remove(entry)
            entry = None
        entry = entry or self._keep(agent, target, clean)
        # Noted before it is done: a crash in between leaves a note too many, never an entry nobody knows of.
        entry["written"] = _digest(after)
        self._save()
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_through(target, after)
        return step

    def keep_for_client(self, path: Path) -> None:
        """Remember how settings looked before us: the client rewrites them in its own style."""
        target = Path(os.path.realpath(path))
        raw = _read_or_none(target)
        if self._entry(target) is None and PLUGIN.encode() not in (raw or b""):
            self._keep("claude-code", target, raw)["by_client"] = True
            self._save()

    def clean(self, path: Path, now: bytes | None) -> bytes | None:
        """A file without our entries: its original if nobody touched it since, else what is left of it."""
        entry = self._entry(path)
        if entry is not None and ("original" in entry or not entry["existed"]):
            is_as_written = entry.get("written") == _digest(now or b"")
            if entry.get("by_client"):  # which writes in its own style: compared by what it says
                is_as_written = _meaning(now or b"") == _meaning(self._original(entry) or b"{}")
            if is_as_written:
                return self._original(entry)
        return without_ours(now) if now is not None else None

    def undo(self, entry: dict[str, Any]) -> None:
        """Give one file back as it was, or without our entries if it was changed since."""
        target = Path(entry["path"])
        now = _read_or_none(target)
        given = self.clean(target, now) if now is not None else None
        if given is not None and given != now:
            _write_through(target, given)
        elif given is None and now is not None:
            target.unlink()
            with contextlib.suppress(OSError):  # somebody uses the folder by now
                for folder in entry["made"]:
                    Path(folder).rmdir()
        self.entries.remove(entry)
        self._save()

    def _entry(self, target: Path) -> dict[str, Any] | None:
        return next((entry for entry in self.entries if entry["path"] == str(target)), None)

    def _keep(self, agent: str, target: Path, before: bytes | None) -> dict[str, Any]:
        from claude_memory.redact import redact

        entry: dict[str, Any] = {"agent": agent, "path": str(target), "existed": before is not None}
        entry["made"] = [str(folder) for folder in target.parents if not folder.exists()]
        text = (before or b"").decode("utf-8", "replace")
        if before is not None and redact(text) == text:
            # Agents keep keys in their settings: such a file is not copied; our entries are taken out again.
            name = f"{_digest(str(target).encode())[:12]}-{_digest(before)[:12]}.original"
            write_atomically(private_folder(self._home / "install") / name, before)
            entry["original"] = name
        self.entries.append(entry)
        return entry

    def _original(self, entry: dict[str, Any]) -> bytes | None:
        if not entry["existed"]:
            return None
        original = _read_or_none(self._home / "install" / entry["original"])
        if original is None:
            raise ConfigFault(f"the original of {entry['path']} is missing from {self._home / 'install'}")
        return original

    def _save(self) -> None:
        private_folder(self._home)
        if not self.entries:
            self._path.unlink(missing_ok=True)
            return
        write_atomically(self._path, json.dumps({"format": 1, "files": self.entries}, indent=2).encode())


def _read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise ConfigFault(f"cannot read {path}: {fault.strerror}") from None


def _write_through(path: Path, content: bytes) -> None:
    try:
        mode = _mode(path)
        write_atomically(path, content, mode=mode)
        path.chmod(mode)  # the umask may have taken something away
    except OSError as fault:
        raise ConfigFault(f"cannot write {path}: {fault.strerror}") from None


def _mode(path: Path) -> int:
    """The mode to write a file with; a ConfigFault if its owner does not want it written."""
    if not path.exists():
        return 0o600
    mode = path.stat().st_mode & 0o777
    if not os.access(path, os.W_OK) or not mode & 0o200:
        raise ConfigFault(f"{path} is read-only: nothing was changed")
    return mode


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _meaning(raw: bytes) -> Any:
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except ValueError:
        return raw
    if isinstance(document, dict):  # empty tables that the client leaves behind say nothing
        return {key: value for key, value in document.items() if value not in ({}, [])}
    return document
