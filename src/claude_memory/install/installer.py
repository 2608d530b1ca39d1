"""Install and uninstall: through the client's own plugin command, else by its settings file.

Twice is once. What another person or program wrote stays byte for byte, and uninstalling never
touches memory data.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
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
from claude_memory.install.record import Record, check_writable, holds_secret, read_or_none, write_through
from claude_memory.platform.agents import canonical
from claude_memory.platform.files import HOOK_GONE, private_folder, write_atomically

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
    _put_hook_program(place)
    origin = {"scope": scope, "root": str(project_root)}
    return [
        InstallStep(
            str(edit.path), edit.what, record.change(agent, edit.path, edit.put_in, edit.take_out, **origin)
        )
        for edit in wanted
    ]


def uninstall(
    home: Path, agent: str | None, project_root: Path, *, client: str | None = None
) -> list[InstallStep]:
    """Take the memory out of one agent, or of all; every file comes back as it was."""
    client = client if client is not None else shutil.which("claude")
    steps: list[InstallStep] = []
    record = Record(home)
    # Backwards: a folder made for the first file is empty only when the last one is gone.
    agent = canonical(agent) if agent else None
    for entry in [item for item in reversed(record.entries) if agent in (None, canonical(item["agent"]))]:
        record.undo(entry, _cleaner(entry, project_root, home))
        steps.append(InstallStep(entry["path"], "our entries", True))
    steps += _sweep([agent] if agent else list(INSTALLABLE), project_root)
    if agent in (None, "claude-code") and client and marketplace_folder(home).exists():
        steps += _uninstall_plugin(home, client)
    return steps


def installed(project_root: Path) -> list[tuple[str, Path]]:
    """Where hooks of ours are registered in settings files: (agent, file)."""
    found = []
    for scope in ("user", "project"):
        place = InstallPlace(scope, Path.home(), project_root, "", Path())
        for agent in INSTALLABLE:
            for edit in edits(agent, place):
                try:
                    raw = read_or_none(edit.path)
                except ConfigFault:
                    continue
                if raw and edit.what.startswith("hooks") and settings_text.has_hooks(raw):
                    found.append((agent, edit.path))
    return found


def _install_plugin(home: Path, place: InstallPlace, client: str, *, dry_run: bool) -> list[InstallStep]:
    folder = marketplace_folder(home)
    scope = place.scope
    what = f"plugin {PLUGIN}@{MARKETPLACE}, scope {scope}"
    steps = (
        ("plugin", "marketplace", "add", str(folder)),
        ("plugin", "install", f"{PLUGIN}@{MARKETPLACE}", "--scope", scope),
    )
    if dry_run:
        return [
            InstallStep(
                str(folder), what, True, "\n".join(f"$ {shlex.join([client, *step])}" for step in steps)
            )
        ]
    # The same hook in settings and plugin would run twice.
    record = Record(home)
    for entry in [item for item in record.entries if canonical(item["agent"]) == "claude-code"]:
        record.undo(entry, _cleaner(entry, place.project_root, home))
    write_marketplace(home)
    settings = _client_settings(place)
    _keep_originals(home, {path: read_or_none(path) for path in settings})
    for step in steps:
        _run(client, place.project_root, *step)
    return [InstallStep(str(folder), what, True)]


def _uninstall_plugin(home: Path, client: str) -> list[InstallStep]:
    kept = _kept_originals(home)
    user = str(config_folder() / "settings.json")
    projects = [Path(name).parent.parent for name in kept if name != user]
    for scope, folder in [("user", Path.home()), *(("project", folder) for folder in projects)]:
        _run(client, folder, "plugin", "uninstall", f"{PLUGIN}@{MARKETPLACE}", "--scope", scope, check=False)
    _run(client, Path.home(), "plugin", "marketplace", "remove", MARKETPLACE, check=False)
    for name, original in kept.items():
        _give_back(Path(name), original)
    shutil.rmtree(marketplace_folder(home), ignore_errors=True)
    _originals_file(home).unlink(missing_ok=True)
    return [InstallStep(str(marketplace_folder(home)), f"plugin {PLUGIN}@{MARKETPLACE}", True)]


def _client_settings(place: InstallPlace) -> list[Path]:
    user = config_folder() / "settings.json"
    return [user, place.project_root / ".claude" / "settings.json"] if place.scope == "project" else [user]


def _keep_originals(home: Path, before: dict[Path, bytes | None]) -> None:
    """The client rewrites its settings in its own style; remember how each looked before us."""
    path = _originals_file(home)
    kept = _kept_originals(home)
    for name, raw in before.items():
        if PLUGIN.encode() not in (raw or b""):  # else it is ours already, and the first original stands
            text = raw.decode("utf-8", "surrogateescape") if raw is not None else None
            kept.setdefault(str(name), "" if raw is not None and holds_secret(raw) else text)
    private_folder(path.parent)
    write_atomically(path, json.dumps(kept).encode())


def _kept_originals(home: Path) -> dict[str, str | None]:
    raw = read_or_none(_originals_file(home))
    return dict(json.loads(raw)) if raw else {}


def _originals_file(home: Path) -> Path:
    return home / "install" / "client-settings.json"


def _give_back(path: Path, original: str | None) -> None:
    """Put the original bytes back if the client's file says the same as it did; else leave it."""
    now = read_or_none(path)
    if now is None or original == "":  # it held a secret, which is not kept
        return
    if original is None:
        if _meaning(now) in ({}, None):
            path.unlink()
        return
    before = original.encode("utf-8", "surrogateescape")
    if _meaning(now) == _meaning(before):
        write_through(path, before)


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


def _put_hook_program(place: InstallPlace) -> None:
    """Copy the hook program into the home: settings must not point into a folder that pip may move."""
    target = Path(place.hook_program)
    private_folder(target.parent)
    write_atomically(target, hook_program().read_bytes())


def _would(record: Record, edit: Edit) -> InstallStep:
    raw = read_or_none(edit.path)
    try:
        after = edit.put_in(record.clean(edit.path, raw, edit.take_out))
    except InvalidInput as fault:
        raise ConfigFault(f"{edit.path}: {fault}; nothing was changed") from None
    if after != raw:
        check_writable(Path(os.path.realpath(edit.path)))
    return InstallStep(str(edit.path), edit.what, after != raw, _difference(raw or b"", after))


def _difference(before: bytes, after: bytes) -> str:
    """The lines that go and come. No others: what else stands in a person's settings may be secret."""
    import difflib

    old, new = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    return "\n".join(line for line in lines if not line.startswith("@@"))


def _sweep(agents: list[str], project_root: Path) -> list[InstallStep]:
    """Take out what no record speaks of: entries of ours whose home was deleted or moved."""
    found: list[InstallStep] = []
    places = [InstallPlace(scope, Path.home(), project_root, "", Path()) for scope in ("user", "project")]
    for edit in [edit for place in places for agent in agents for edit in edits(agent, place)]:
        target = Path(os.path.realpath(edit.path))
        try:
            raw = read_or_none(target)
            cleaned = edit.take_out(raw) if raw is not None else None
        except (InvalidInput, ConfigFault):  # not ours to mend
            continue
        if cleaned is not None and cleaned != raw:
            if edit.whole:
                target.unlink()
            else:
                write_through(target, cleaned)
            found.append(InstallStep(str(edit.path), "our entries", True))
    return found


def _cleaner(entry: dict[str, Any], project_root: Path, home: Path) -> Callable[[bytes], bytes]:
    """What takes every entry of ours out of one file; an agent may have several there."""
    root, program = Path(entry.get("root", project_root)), str(home / "hooks" / HOOK_FILE)
    for scope in ("user", "project"):
        for edit in per_file(edits(entry["agent"], InstallPlace(scope, Path.home(), root, program, home))):
            if os.path.realpath(edit.path) == entry["path"]:
                return edit.take_out
    return lambda raw: raw
