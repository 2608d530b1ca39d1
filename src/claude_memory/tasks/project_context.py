"""Project facts with a person's own entries, kept in `project-context.json`.

Published as `MemoryAPI.context_manager`. Facts are looked up each time; entries that a person or a program
added are kept apart from them, and survive.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.redact import kept_document
from claude_memory.tasks import documents
from claude_memory.tasks.detection import Facts, detect
from claude_memory.tasks.storage import Storage

_FILE = "project-context.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Detected facts and custom entries."""

    facts: Facts
    custom: Mapping[str, Any] = field(default_factory=dict)
    root: str = ""
    detected_at: str = ""

    def as_json(self) -> dict[str, Any]:
        """As the file holds it."""
        about = {"format": _FORMAT, "root": self.root, "detected_at": self.detected_at}
        return {**about, **asdict(self.facts), "custom": dict(self.custom)}

    def lines(self) -> list[str]:
        """A few lines of facts, for people and agents alike."""
        facts = self.facts
        folders = [f"{name} ({means})" if means else name for name, means in facts.structure.items()]
        rows = {
            "Project": facts.name,
            "Languages": ", ".join(facts.languages),
            "Frameworks": ", ".join(facts.frameworks),
            "Package managers": ", ".join(facts.package_managers),
            **{kind.capitalize(): "; ".join(commands) for kind, commands in facts.commands.items()},
            "Entry points": ", ".join(facts.entry_points[:8]),
            "Workspace": ", ".join(facts.workspace),
            "Packages": ", ".join(f"{package.path} ({package.language})" for package in facts.packages[:12]),
            "Folders": ", ".join(folders[:12]),
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
        """The facts as they are now; written down when they changed, or `refresh` asks for it."""
        facts, (before, custom) = detect(self.storage.root), self._document()
        root, at = str(self.storage.root), str(before.get("detected_at", ""))
        context = ProjectContext(facts, custom, root, at)
        same = json.loads(json.dumps(kept_document(context.as_json()))) == before
        return context if same and not refresh else self._written(facts, {})

    def add_custom_context(self, entries: Mapping[str, Any]) -> ProjectContext:
        """Add or replace entries of one's own; None removes one."""
        try:
            json.dumps(dict(entries))
        except (TypeError, ValueError) as fault:
            raise InvalidInput(f"custom context must be plain values: {fault}") from None
        return self._written(detect(self.storage.root), entries)

    def _written(self, facts: Facts, changes: Mapping[str, Any]) -> ProjectContext:
        with self.storage.lock("project-context.lock"):
            wanted = {**self._document()[1], **changes}
            custom = {str(key): value for key, value in wanted.items() if value is not None}
            now = documents.stamp(datetime.now(UTC))
            context = ProjectContext(facts, custom, str(self.storage.root), now)
            content = json.dumps(kept_document(context.as_json()), ensure_ascii=False, indent=2) + "\n"
            self.storage.write(self.storage.folder / _FILE, documents.encoded(content))
        return context

    def _document(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The file, and the entries of one's own in it."""
        document = documents.read_json(self.storage.folder / _FILE)
        custom = document.get("custom")
        return document, custom if isinstance(custom, dict) else {}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
