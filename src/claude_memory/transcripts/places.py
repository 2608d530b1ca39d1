"""Finds the conversation files of agents, and tells whose a file is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from claude_memory.platform import agents
from claude_memory.transcripts import lines
from claude_memory.transcripts.model import SourceFile

AGENTS = tuple(agent.name for agent in agents.AGENTS)
_MARKS: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    ("codex", lambda line: "payload" in line or line.get("record_type") == "state"),
    ("factory", lambda line: line.get("type") in ("session_start", "message") and "sessionId" not in line),
    ("copilot-cli", lambda line: "data" in line and "." in str(line.get("type"))),
    ("gemini-cli", lambda line: "projectHash" in line or "$set" in line or line.get("type") == "gemini"),
    ("claude-code", lambda line: "sessionId" in line or "leafUuid" in line or "parentUuid" in line),
    ("cursor", lambda line: "role" in line and "message" in line),
)
_SNIFFED_LINES = 20


def discover(
    home: Path, environment: Mapping[str, str] = os.environ, wanted: Iterable[str] = AGENTS
) -> Iterator[SourceFile]:
    """Every conversation file of these agents under a home folder."""
    for place in (agents.BY_NAME[name] for name in agents.BY_NAME if name in set(wanted)):
        named = environment.get(place.variable, "")
        root = Path(named).expanduser() if named else home / place.folder
        found = {path for pattern in place.patterns for path in (root / place.below).glob(pattern)}
        yield from (source for path in sorted(found) if (source := described(place.name, path)))


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
        return "gemini-cli"
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
