"""Where each agent keeps its conversations, as data, and how to tell whose a file is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from claude_memory.transcripts import lines
from claude_memory.transcripts.model import SourceFile


@dataclass(frozen=True, slots=True)
class Place:
    """One agent's folder: the variables that may name it, where it is otherwise, and what lies in it."""

    agent: str
    variables: tuple[str, ...]
    default: str
    below: str
    patterns: tuple[str, ...]


PLACES = (
    Place(
        "claude-code",
        ("CLAUDE_CONFIG_DIR",),
        ".claude",
        "projects",
        ("*/*.jsonl", "*/*/subagents/**/*.jsonl", "*/subagents/**/*.jsonl"),
    ),
    Place(
        "codex",
        ("CODEX_HOME",),
        ".codex",
        "",
        tuple(
            f"{folder}/**/rollout-*{ending}"
            for folder in ("sessions", "archived_sessions")
            for ending in (".jsonl", ".jsonl.zst")
        ),
    ),
    Place("gemini", ("GEMINI_CLI_HOME",), "", ".gemini/tmp", ("*/chats/**/session-*.json*",)),
    Place(
        "opencode",
        ("XDG_DATA_HOME",),
        ".local/share",
        "opencode",
        ("opencode.db", "storage/session/*/ses_*.json", "project/*/storage/session/info/ses_*.json"),
    ),
    Place("factory", (), ".factory", "sessions", ("**/*.jsonl",)),
    Place("cursor", (), ".cursor", "projects", ("*/agent-transcripts/**/*.jsonl",)),
    Place("copilot-cli", ("COPILOT_HOME",), ".copilot", "session-state", ("*.jsonl", "*/events.jsonl")),
)
AGENTS = tuple(place.agent for place in PLACES)
_MARKS: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("codex", lambda line: "payload" in line or line.get("record_type") == "state"),
    ("factory", lambda line: line.get("type") in ("session_start", "message") and "sessionId" not in line),
    ("copilot-cli", lambda line: "data" in line and "." in str(line.get("type"))),
    ("gemini", lambda line: "projectHash" in line or "$set" in line or line.get("type") == "gemini"),
    ("claude-code", lambda line: "sessionId" in line or "leafUuid" in line or "parentUuid" in line),
    ("cursor", lambda line: "role" in line and "message" in line),
)
_SNIFFED_LINES = 20


def discover(
    home: Path, environment: Mapping[str, str] = os.environ, agents: Iterable[str] = AGENTS
) -> Iterator[SourceFile]:
    """Every conversation file of these agents under a home folder."""
    wanted = set(agents)
    for place in PLACES:
        if place.agent in wanted:
            named = next((environment[name] for name in place.variables if environment.get(name)), "")
            root = Path(named).expanduser() if named else home / place.default
            yield from _found(place, root / place.below)


def _found(place: Place, root: Path) -> Iterator[SourceFile]:
    seen: set[Path] = set()
    for pattern in place.patterns:
        for path in root.glob(pattern):
            if path not in seen and (source := described(place.agent, path)):
                seen.add(path)
                yield source


def described(agent: str, path: Path) -> SourceFile | None:
    """The file as it is now; None if it is no plain file, or cannot be looked at."""
    try:
        facts = path.stat()
    except OSError:
        return None
    if not path.is_file():
        return None
    return SourceFile(agent, path, facts.st_size, facts.st_mtime_ns, facts.st_ino)


def within(path: Path, agent: str | None = None) -> Iterator[SourceFile]:
    """The conversation files that a person names: one file, or all in a folder."""
    if path.is_dir():
        for below in sorted(path.rglob("*")):
            if below.suffix in (".jsonl", ".zst", ".json", ".db") and "tool-results" not in below.parts:
                yield from _named(below, agent)
        return
    yield from _named(path, agent)


def _named(path: Path, agent: str | None) -> Iterator[SourceFile]:
    owner = agent or owner_of(path)
    source = described(owner, path) if owner else None
    if source is not None:
        yield source


def owner_of(path: Path) -> str | None:
    """Whose conversation a file holds, by its name, else by its first lines; None if nobody's."""
    name = path.name
    if name == "opencode.db" or (name.startswith("ses_") and name.endswith(".json")):
        return "opencode"
    if name.startswith("rollout-") and ".jsonl" in name:
        return "codex"
    if name.startswith("session-") and path.parent.name == "chats":
        return "gemini"
    if "agent-transcripts" in path.parts:
        return "cursor"
    if ".factory" in path.parts:
        return "factory"
    return _sniffed(path) if name.endswith((".jsonl", ".zst")) or name.startswith("session-") else None


def _sniffed(path: Path) -> str | None:
    try:
        with lines.open_stream(path) as handle:
            for line in islice(lines.lines(handle), _SNIFFED_LINES):
                found = lines.document(line.raw) if line.raw else None
                owner = next((agent for agent, mark in _MARKS if mark(found)), None) if found else None
                if owner:
                    return owner
    except (OSError, EOFError, ValueError):
        return None
    return None
