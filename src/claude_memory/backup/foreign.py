"""What a backup would change beside the memories in it: programs, settings, texts that agents are given.

A backup may come from anyone. Programs are never restored, they come with the package. Of the settings
only those that can do no harm are taken over without asking: none that sends text away, changes whom we
trust, names a command or a place, or lets things be deleted sooner.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from claude_memory import settings
from claude_memory.backup.archives import RestoreChange
from claude_memory.backup.manifest import DATABASE, BackupManifest, is_program
from claude_memory.errors import StoreCorrupt
from claude_memory.store.sqlite.inspection import own_words

CONFIG = "config.toml"
# Whether the person wants the settings of a backup: said before, or asked once they are known.
Agreement = bool | Callable[[Sequence[RestoreChange]], bool]
# All others are asked for: a setting that is added later is guarded until somebody thought about it.
HARMLESS = frozenset(
    "activation context_tokens context_window danger_zone_percent embed_in_drain_ms event_max_kb "
    "import_in_drain_seconds keep_backups layout log_max_mb min_relevance search_limit spool_cap_mb "
    "store_cap_mb".split()
)
_MOST_CONFIG_BYTES = 1 << 20
_MOST_SHOWN = 200
_HEADS = (b"#!", b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_TEXTS = (".md", ".json", ".jsonl", ".toml", ".txt", ".reason")


@dataclass(frozen=True, slots=True)
class Plan:
    """What of a backup is put where; `config` is the text of the settings file, None for none."""

    changes: tuple[RestoreChange, ...]
    left_out: frozenset[str]
    config: bytes | None


def examine(folder: Path, manifest: BackupManifest, home: Path, *, with_settings: Agreement = False) -> Plan:
    """What an unpacked backup would change in a home; see `Agreement` for its settings."""
    names = {entry.path: entry for entry in manifest.files}
    programs = [name for name in names if _is_program(folder, name)]
    if CONFIG in names and names[CONFIG].size > _MOST_CONFIG_BYTES:
        raise StoreCorrupt(f"it is no backup of ours: its settings take {names[CONFIG].size} bytes")
    content = (folder / CONFIG).read_bytes() if CONFIG in names else b""
    changed, config = _settings(content, home, with_settings)
    changes = [
        *(
            RestoreChange("program", name, after="left out: programs come with the package")
            for name in programs
        ),
        *changed,
        *_texts(names, home),
    ]
    own, everywhere = own_words(folder / DATABASE)
    if own:
        told = f"{own} count as the person's own words, {everywhere} of them in every project"
        changes.append(RestoreChange("memories", DATABASE, after=told, taken=True))
    return Plan(tuple(changes), frozenset([*programs, CONFIG]), config)


def _is_program(folder: Path, name: str) -> bool:
    if is_program(name):
        return True
    if PurePosixPath(name).suffix.lower() in _TEXTS:
        return False
    with (folder / name).open("rb") as content:
        return content.read(4).startswith(_HEADS)


def _texts(names: Collection[str], home: Path) -> list[RestoreChange]:
    changes = []
    if "MEMORY.md" in names:
        before = "there is one" if (home / "MEMORY.md").is_file() else "there is none"
        changes.append(
            RestoreChange("identity", "MEMORY.md", before, "told to agents at every start", taken=True)
        )
    waiting = sum(name.startswith("spool/new/") for name in names)
    if waiting:
        changes.append(
            RestoreChange("events", "spool/new", after=f"{waiting} captured events to be stored", taken=True)
        )
    return changes


def _settings(
    content: bytes, home: Path, with_settings: Agreement
) -> tuple[list[RestoreChange], bytes | None]:
    """Which guarded settings differ, and the file as it is to be written."""
    wanted, present = _document(content), _document(_present(home))
    if wanted is None:
        unread = RestoreChange("setting", CONFIG, after="left out: it cannot be read")
        return [unread], _present(home) or None
    present = present or {}
    keys = sorted((wanted.keys() | present.keys()) - HARMLESS)
    differing = [key for key in keys if _value(wanted, key) != _value(present, key)]
    changes = [RestoreChange("setting", key, _shown(present, key), _shown(wanted, key)) for key in differing]
    agreed = with_settings(changes) if callable(with_settings) and changes else with_settings is True
    changes = [replace(change, taken=agreed) for change in changes]
    if agreed or not differing:
        return changes, content or None
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    own = {key: present[key] for key in differing if key in present}
    try:
        merged: dict[str, Any] = tomlkit.parse(content.decode("utf-8-sig"))  # with its comments
        for key in differing:
            merged.pop(key, None)
    except (TOMLKitError, ValueError, RecursionError):
        merged = {key: value for key, value in wanted.items() if key not in differing}
    merged.update(own)
    return changes, tomlkit.dumps(merged).encode("utf-8")


def _present(home: Path) -> bytes:
    try:
        return settings.config_path(home).read_bytes()[: _MOST_CONFIG_BYTES + 1]
    except OSError:
        return b""


def _document(content: bytes) -> dict[str, Any] | None:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _value(document: Mapping[str, Any], key: str) -> Any:
    """What a document makes of a setting: absent is the same as the default."""
    value = document.get(key)
    if value is None and key in settings.KEYS:
        value = getattr(settings.Settings(), key)
    return list(value) if isinstance(value, tuple) else value


def _shown(document: Mapping[str, Any], key: str) -> str:
    return repr(_value(document, key))[:_MOST_SHOWN]
