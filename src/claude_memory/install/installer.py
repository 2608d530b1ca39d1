"""Install and uninstall: through the client's own plugin command, else by its settings file.

Twice is once. What another person or program wrote stays byte for byte, and uninstalling never touches
memory data. For each file the original is kept, and the hash of what was written: as long as nobody changed
the file since, the original is put back; else only our own entries are taken out.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_memory.errors import ConfigFault, InvalidInput
from claude_memory.install import settings_text
from claude_memory.install.edits import INSTALLABLE, Edit, InstallPlace, edits, per_file
from claude_memory.install.plugin import (
    HOOK_FILE,
    MARKETPLACE,
    PLUGIN,
    config_folder,
    hook_program,
    marketplace_folder,
    write_marketplace,
)
from claude_memory.platform.agents import canonical
from claude_memory.platform.files import HOOK_GONE, private_folder, write_atomically

RECORD = "install.json"
_CLIENT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class InstallStep:
    """One thing done, or to be done, in words."""

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
    """Give an agent the memory; returns what was changed."""
    place = InstallPlace(scope, Path.home(), project_root, str(home / "hooks" / HOOK_FILE), home)
    if not dry_run:
        private_folder((home / HOOK_GONE).parent)  # a shell that finds nothing else there can still leave it
        (home / HOOK_GONE).unlink(missing_ok=True)
    client, agent = client if client is not None else shutil.which("claude"), canonical(agent)
    if agent == "claude-code" and client:
        return _install_plugin(home, place, client, dry_run=dry_run)
    wanted = per_file(edits(agent, place))
    record = Record(home)
    foreseen = [_would(record, edit) for edit in wanted]  # what cannot be done fails before the first change
    if dry_run:
        return foreseen
    # A copy: settings must not point into a folder that pip may move.
    write_atomically(private_folder(home / "hooks") / HOOK_FILE, hook_program().read_bytes())
    origin = {"scope": scope, "root": str(project_root)}
    return [InstallStep(str(edit.path), edit.what, record.change(agent, edit, origin)) for edit in wanted]


def uninstall(
    home: Path, agent: str | None, project_root: Path, *, client: str | None = None
) -> list[InstallStep]:
    """Take the memory out of one agent, or of all; every file comes back as it was."""
    client = client if client is not None else shutil.which("claude")
    record = Record(home)
    agent = canonical(agent) if agent else None
    # Backwards: a folder made for the first file is empty only when the last one is gone.
    steps = [
        _undone(record, entry, project_root, home)
        for entry in reversed(record.entries[:])
        if agent in (None, canonical(entry["agent"]))
    ]
    steps += _sweep([agent] if agent else INSTALLABLE, project_root)
    if agent in (None, "claude-code") and client and marketplace_folder(home).exists():
        steps += _uninstall_plugin(home, client)
    return steps


def installed(project_root: Path) -> list[tuple[str, Path]]:
    """Where hooks of ours are registered in settings files: (agent, file)."""
    return [
        (agent, edit.path)
        for agent, edit, raw in _present(INSTALLABLE, project_root)
        if edit.what.startswith("hooks") and settings_text.has_hooks(raw)
    ]


def _present(agents: Iterable[str], project_root: Path) -> Iterator[tuple[str, Edit, bytes]]:
    """The agents' files that are there and can be read."""
    for scope in ("user", "project"):
        place = InstallPlace(scope, Path.home(), project_root, "", Path())
        for agent in agents:
            for edit in edits(agent, place):
                try:
                    raw = _read_or_none(edit.path)
                except ConfigFault:
                    continue
                if raw is not None:
                    yield agent, edit, raw


def _install_plugin(home: Path, place: InstallPlace, client: str, *, dry_run: bool) -> list[InstallStep]:
    folder = marketplace_folder(home)
    what = f"plugin {PLUGIN}@{MARKETPLACE}, scope {place.scope}"
    steps = (
        ("plugin", "marketplace", "add", str(folder)),
        ("plugin", "install", f"{PLUGIN}@{MARKETPLACE}", "--scope", place.scope),
    )
    if dry_run:
        commands = "\n".join(f"$ {shlex.join([client, *step])}" for step in steps)
        return [InstallStep(str(folder), what, True, commands)]
    # The same hook in settings and plugin would run twice.
    record = Record(home)
    for entry in [item for item in record.entries if canonical(item["agent"]) == "claude-code"]:
        _undone(record, entry, place.project_root, home)
    write_marketplace(home)
    settings = [config_folder() / "settings.json"]
    if place.in_project:
        settings.append(place.project_root / ".claude" / "settings.json")
    _keep_originals(home, settings)
    for step in steps:
        _run(client, place.project_root, *step)
    return [InstallStep(str(folder), what, True)]


def _uninstall_plugin(home: Path, client: str) -> list[InstallStep]:
    originals = _kept_originals(home)
    user = str(config_folder() / "settings.json")
    projects = [Path(name).parent.parent for name in originals if name != user]
    for scope, folder in [("user", Path.home()), *(("project", folder) for folder in projects)]:
        _run(client, folder, "plugin", "uninstall", f"{PLUGIN}@{MARKETPLACE}", "--scope", scope, check=False)
    _run(client, Path.home(), "plugin", "marketplace", "remove", MARKETPLACE, check=False)
    for name, original in originals.items():
        _give_back(Path(name), original)
    shutil.rmtree(marketplace_folder(home), ignore_errors=True)
    _originals_file(home).unlink(missing_ok=True)
    return [InstallStep(str(marketplace_folder(home)), f"plugin {PLUGIN}@{MARKETPLACE}", True)]


def _keep_originals(home: Path, paths: list[Path]) -> None:
    """The client rewrites its settings in its own style; remember how each looked before us."""
    originals = _kept_originals(home)
    for path in paths:
        raw = _read_or_none(path)
        if PLUGIN.encode() not in (raw or b""):  # else it is ours already, and the first original stands
            text = raw.decode("utf-8", "surrogateescape") if raw is not None else None
            originals.setdefault(str(path), "" if raw is not None and _holds_secret(raw) else text)
    private_folder(_originals_file(home).parent)
    write_atomically(_originals_file(home), json.dumps(originals).encode())


def _kept_originals(home: Path) -> dict[str, str | None]:
    raw = _read_or_none(_originals_file(home))
    return dict(json.loads(raw)) if raw else {}


def _originals_file(home: Path) -> Path:
    return home / "install" / "client-settings.json"


def _give_back(path: Path, original: str | None) -> None:
    """Put the original bytes back if the client's file says the same as it did; else leave it."""
    now = _read_or_none(path)
    if now is None or original == "":  # it held a secret, which is not kept
        return
    if original is None:
        if _meaning(now) in ({}, None):
            path.unlink()
        return
    before = original.encode("utf-8", "surrogateescape")
    if _meaning(now) == _meaning(before):
        _write_through(path, before)


def _meaning(raw: bytes) -> Any:
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except ValueError:
        return raw
    if isinstance(document, dict):  # empty tables that the client leaves behind say nothing
        return {key: value for key, value in document.items() if value not in ({}, [])}
    return document


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
    except (OSError, subprocess.SubprocessError) as fault:
        if check:
            raise ConfigFault(f"`{client} {' '.join(arguments[:3])}` could not run: {fault}") from None
        return
    if check and done.returncode:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise ConfigFault(
            f"`claude {' '.join(arguments[:3])}` failed: {reason[-1] if reason else 'no reason given'}"
        )


def _would(record: Record, edit: Edit) -> InstallStep:
    raw = _read_or_none(edit.path)
    try:
        after = edit.put_in(record.clean(edit, raw))
    except InvalidInput as fault:
        raise ConfigFault(f"{edit.path}: {fault}; nothing was changed") from None
    if after != raw:
        _check_writable(Path(os.path.realpath(edit.path)))
    return InstallStep(str(edit.path), edit.what, after != raw, _difference(raw or b"", after))


def _difference(before: bytes, after: bytes) -> str:
    """The lines that go and come. No others: what else stands in a person's settings may be secret."""
    import difflib

    old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))


def _sweep(agents: Iterable[str], project_root: Path) -> list[InstallStep]:
    """Take out what no record speaks of: entries of ours whose home was deleted or moved."""
    steps: list[InstallStep] = []
    for _, edit, raw in _present(agents, project_root):
        try:
            cleaned = edit.take_out(raw)
        except (InvalidInput, ConfigFault):  # not ours to mend
            continue
        if cleaned == raw:
            continue
        target = Path(os.path.realpath(edit.path))
        if edit.whole:
            target.unlink()
        else:
            _write_through(target, cleaned)
        steps.append(InstallStep(str(edit.path), "our entries", True))
    return steps


def _undone(record: Record, entry: dict[str, Any], project_root: Path, home: Path) -> InstallStep:
    """Give one file back; whoever does so may stand in another folder than whoever installed."""
    root, program = Path(entry.get("root", project_root)), str(home / "hooks" / HOOK_FILE)
    places = [InstallPlace(scope, Path.home(), root, program, home) for scope in ("user", "project")]
    wanted = [edit for place in places for edit in per_file(edits(entry["agent"], place))]
    takes = (edit.take_out for edit in wanted if os.path.realpath(edit.path) == entry["path"])
    record.undo(entry, next(takes, lambda raw: raw))
    return InstallStep(entry["path"], "our entries", True)


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

    def change(self, agent: str, edit: Edit, origin: dict[str, str]) -> bool:
        """Edit a file atomically through any symlink, keeping the original; False if nothing changed."""
        target = Path(os.path.realpath(edit.path))
        before = _read_or_none(target)
        clean = self.clean(edit, before)
        after = edit.put_in(clean)
        if after == before:
            return False
        entry = self._entry(target)
        if entry is not None and entry["written"] != _digest(before or b""):
            # Changed by somebody since: what stands there without our entries is the new original.
            self.entries.remove(entry)
            entry = None
        if entry is None:
            entry = self._keep(agent, target, clean)
        # Noted before it is done: a crash in between leaves a note too many, never an entry nobody knows of.
        entry |= {"written": _digest(after), **origin}
        self._save()
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_through(target, after)
        return True

    def clean(self, edit: Edit, now: bytes | None) -> bytes | None:
        """A file without our entries: its original if nobody touched it since, else what is left of it."""
        entry = self._entry(Path(os.path.realpath(edit.path)))
        if entry is not None and self._is_as_written(entry, now or b""):
            return self._original(entry)
        return edit.take_out(now) if now is not None else None

    def undo(self, entry: dict[str, Any], take_out: Callable[[bytes], bytes]) -> None:
        """Give one file back as it was, or without our entries if it was changed since."""
        target = Path(entry["path"])
        now = _read_or_none(target)
        if now is not None and self._is_as_written(entry, now):
            original = self._original(entry)
            if original is None:
                target.unlink()
                _remove_made(entry)
            else:
                _write_through(target, original)
        elif now is not None:
            cleaned = take_out(now)
            if cleaned != now:
                _write_through(target, cleaned)
        self.entries.remove(entry)
        self._save()

    def _entry(self, target: Path) -> dict[str, Any] | None:
        return next((entry for entry in self.entries if entry["path"] == str(target)), None)

    def _is_as_written(self, entry: dict[str, Any], now: bytes) -> bool:
        return entry["written"] == _digest(now) and (not entry["existed"] or "original" in entry)

    def _keep(self, agent: str, target: Path, before: bytes | None) -> dict[str, Any]:
        entry: dict[str, Any] = {"agent": agent, "path": str(target), "existed": before is not None}
        entry["made"] = [str(folder) for folder in target.parents if not folder.exists()]
        if before is not None and not _holds_secret(before):
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
    """Replace a file's content atomically and keep its mode."""
    try:
        mode = _check_writable(path)
        write_atomically(path, content, mode=mode)
        path.chmod(mode)  # the umask may have taken something away
    except OSError as fault:
        raise ConfigFault(f"cannot write {path}: {fault.strerror}") from None


def _check_writable(path: Path) -> int:
    """The mode to write a file with; a ConfigFault if its owner does not want it written."""
    if not path.exists():
        return 0o600
    mode = path.stat().st_mode & 0o777
    if not os.access(path, os.W_OK) or not mode & 0o200:
        raise ConfigFault(f"{path} is read-only: nothing was changed")
    return mode


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _remove_made(entry: dict[str, Any]) -> None:
    for folder in entry.get("made", []):
        try:
            Path(folder).rmdir()
        except OSError:  # somebody uses it by now
            return


def _holds_secret(content: bytes) -> bool:
    """Agents keep keys in their settings: such a file is not copied; our entries are taken out again."""
    from claude_memory.redact import redact

    text = content.decode("utf-8", "replace")
    return redact(text) != text
