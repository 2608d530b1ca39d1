"""Project facts kept in `project-context.json`, refreshed when a manifest changes.

Published as `MemoryAPI.context_manager`. Entries that a person or a program added are kept apart
from what is detected, and survive every refresh.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.redact import kept_document
from claude_memory.tasks import documents, mirror
from claude_memory.tasks.detection import Facts, Package, detect
from claude_memory.tasks.places import Storage, held

_FILE = "project-context.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Detected facts and custom entries."""

    facts: Facts
    custom: Mapping[str, Any] = field(default_factory=dict)
    root: str = ""
    detected_at: str = ""
    fingerprint: str = ""

    def as_json(self) -> dict[str, Any]:
        """As the file holds it."""
        return {
            "format": _FORMAT,
            "root": self.root,
            "detected_at": self.detected_at,
            "fingerprint": self.fingerprint,
            **asdict(self.facts),
            "custom": dict(self.custom),
        }

    def lines(self) -> list[str]:
        """A few lines of facts, for people and agents alike."""
        facts = self.facts
        rows = {
            "Project": facts.name,
            "Languages": ", ".join(facts.languages),
            "Frameworks": ", ".join(facts.frameworks),
            "Package managers": ", ".join(facts.package_managers),
            **{kind.capitalize(): "; ".join(commands) for kind, commands in facts.commands.items()},
            "Entry points": ", ".join(facts.entry_points[:8]),
            "Workspace": ", ".join(facts.workspace),
            "Packages": ", ".join(f"{p.path} ({p.language})" for p in facts.packages[:12]),
            "Folders": ", ".join(f"{n} ({m})" if m else n for n, m in list(facts.structure.items())[:12]),
            "CI": ", ".join(facts.ci),
            "Services": ", ".join(facts.services),
            **{str(key): _shown(value) for key, value in self.custom.items()},
        }
        return [f"{label}: {value}" for label, value in rows.items() if value]


class ContextKeeper:
    """The context of one project."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def get_context(self, *, refresh: bool = False) -> ProjectContext:
        """The facts; looked up anew when asked to, or when a manifest was changed, added or removed."""
        kept = self._kept()
        if (
            kept is not None
            and not refresh
            and kept.fingerprint == _fingerprint(self.storage.root, kept.facts)
        ):
            return kept
        return self._refreshed({})

    def add_custom_context(self, entries: Mapping[str, Any]) -> ProjectContext:
        """Add or replace entries of one's own; None removes one."""
        try:
            json.dumps(dict(entries))
        except (TypeError, ValueError) as fault:
            raise InvalidInput(f"custom context must be plain values: {fault}") from None
        return self._refreshed(entries)

    def _refreshed(self, changes: Mapping[str, Any]) -> ProjectContext:
        target = self.storage.inside(self.storage.ensure() / _FILE)
        with held(self.storage.inside(self.storage.folder / ".locks" / "project-context.lock")):
            kept = self._kept()
            custom = {**(kept.custom if kept else {}), **{str(key): value for key, value in changes.items()}}
            custom = {key: value for key, value in custom.items() if value is not None}
            facts = detect(self.storage.root)
            now = documents.stamp(datetime.now(UTC))
            mark = _fingerprint(self.storage.root, facts)
            found = ProjectContext(facts, custom, str(self.storage.root), now, mark)
            content = json.dumps(kept_document(found.as_json()), ensure_ascii=False, indent=2) + "\n"
            documents.write(target, documents.encoded(content))
        mirror.copy(self.storage, target)
        return found

    def _kept(self) -> ProjectContext | None:
        try:
            data = json.loads(documents.read_if_there(self.storage.folder / _FILE) or b"")
            custom = dict(data.get("custom") or {})
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None
        try:
            facts = _facts(data)
        except (KeyError, TypeError, ValueError, AttributeError):
            return ProjectContext(Facts(""), custom)  # of another version, or edited: only its entries count
        return ProjectContext(facts, custom, data["root"], data["detected_at"], data["fingerprint"])


def _facts(data: Mapping[str, Any]) -> Facts:
    if data["format"] != _FORMAT:
        raise ValueError
    values: dict[str, Any] = {key: data[key] for key in Facts.__dataclass_fields__}
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    values["packages"] = tuple(Package(**package) for package in values["packages"])
    values["commands"] = {kind: tuple(commands) for kind, commands in values["commands"].items()}
    return Facts(**values)


def _fingerprint(root: Path, facts: Facts) -> str:
    """Changes with a manifest, or when the top or a folder of packages gains or loses something."""
    marks = [str(root)]
    for path in facts.manifests:
        try:
            status = (root / path).stat()
            marks.append(f"{path} {status.st_mtime_ns} {status.st_size}")
        except OSError:
            marks.append(f"{path} gone")
    for folder in sorted({"", *(package.path.rpartition("/")[0] for package in facts.packages)}):
        try:
            marks += sorted(path.name for path in (root / folder).iterdir())
        except OSError:
            marks.append(f"{folder} gone")
    return hashlib.sha256("\n".join(marks).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
