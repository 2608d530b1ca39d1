"""What a project knows: decisions with their reasons, rules with how often and since when, common things.

Also the mirrors of it as JSON files, which are derived and may be deleted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from claude_memory.files import private_folder, write_atomically
from claude_memory.model import Kind, MemoryFilter, MemoryId, Project, SearchScope, Status, StoredMemory
from claude_memory.store.graph_protocol import Entity, graph_of
from claude_memory.store.lifecycle_protocol import Relation, lifecycle_of
from claude_memory.store.protocol import Store
from claude_memory.text import query_terms

RULE_KINDS = (Kind.CONVENTION, Kind.PATTERN, Kind.PREFERENCE, Kind.CORRECTION, Kind.LESSON)
_THINGS = ("file", "symbol", "package", "command", "error", "topic")
_MOST = 500
_REASON = re.compile(
    r"[^.;\n]*\b(?:because|so that|since we|in order to|due to|the reason|as we|to avoid|otherwise)\b"
    r"[^.;\n]*",
    re.IGNORECASE,
)
_STATED = re.compile(r"(?<=^Why: ).+", re.MULTILINE)  # as a table of decisions is read


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that stands, why it was made, and what it took the place of."""

    memory: StoredMemory
    reason: str
    replaced: tuple[MemoryId, ...]
    contradicted_by: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, convention, preference or lesson: in how many sessions it came up, how often, since when."""

    memory: StoredMemory
    sessions: int
    times: int
    since: datetime
    contradicted_by: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All of it."""

    decisions: tuple[Decision, ...]
    rules: tuple[Rule, ...]
    things: tuple[tuple[Entity, int], ...]


def knowledge(store: Store, project: Project, topic: str | None = None) -> Knowledge:
    """What is known of a project, or of one topic in it; what came up most often first."""
    scope = SearchScope((project.id,))
    wanted = MemoryFilter(kinds=(Kind.DECISION, *RULE_KINDS), statuses=(Status.ACTIVE,))
    found = [memory for memory in store.memories(scope, wanted, limit=_MOST) if _about(memory, topic)]
    kept = lifecycle_of(store)
    related: dict[MemoryId, list[Relation]] = {}
    for relation in kept.relations([memory.id for memory in found]):
        for end in (relation.source, relation.target):
            related.setdefault(end, []).append(relation)
    repeating = {
        relation.source for all_ in related.values() for relation in all_ if relation.kind == "repeats"
    }
    rules = [
        _rule(store, scope, memory, related.get(memory.id, []))
        for memory in found
        if memory.kind is not Kind.DECISION and memory.id not in repeating
    ]
    things = graph_of(store).common(project.id, _THINGS, limit=20) if topic is None else []
    return Knowledge(
        tuple(
            _decision(memory, related.get(memory.id, [])) for memory in found if memory.kind is Kind.DECISION
        ),
        tuple(sorted(rules, key=lambda rule: (-rule.sessions, -rule.times, rule.since))),
        tuple(things),
    )


def _about(memory: StoredMemory, topic: str | None) -> bool:
    if topic is None:
        return True
    if topic.casefold() in (own.casefold() for own in memory.topics):
        return True
    wanted = set(query_terms(topic))
    return bool(wanted) and wanted <= set(query_terms(f"{memory.title} {memory.body[:2000]}"))


def _decision(memory: StoredMemory, related: Sequence[Relation]) -> Decision:
    replaced = [item.target for item in related if item.kind == "supersedes" and item.source == memory.id]
    if memory.supersedes:
        replaced.append(memory.supersedes)
    reason = _STATED.search(memory.body) or _REASON.search(memory.body)
    return Decision(
        memory,
        " ".join(reason.group().split()) if reason else "",
        tuple(dict.fromkeys(replaced)),
        _against(memory.id, related),
    )


def _rule(store: Store, scope: SearchScope, memory: StoredMemory, related: Sequence[Relation]) -> Rule:
    again = [item.source for item in related if item.kind == "repeats" and item.target == memory.id]
    repeats = store.memories(scope, MemoryFilter(statuses=tuple(Status)), ids=again) if again else []
    sessions = {item.session or item.id for item in (memory, *repeats)}
    since = min(item.created_at for item in (memory, *repeats))
    return Rule(memory, len(sessions), 1 + len(repeats), since, _against(memory.id, related))


def _against(id_: MemoryId, related: Sequence[Relation]) -> tuple[MemoryId, ...]:
    ends = [
        item.source if item.target == id_ else item.target for item in related if item.kind == "contradicts"
    ]
    return tuple(dict.fromkeys(ends))


def write_mirrors(home: Path, store: Store, project: Project) -> list[Path]:
    """Write knowledge_graph.json, patterns.json and conventions.json of a project; unchanged ones stay."""
    found = knowledge(store, project)
    folder = private_folder(private_folder(home / "projects") / project.id)
    patterns = [_rule_record(rule) for rule in found.rules if rule.memory.kind is not Kind.CONVENTION]
    conventions = [_rule_record(rule) for rule in found.rules if rule.memory.kind is Kind.CONVENTION]
    graph = {
        "decisions": [_decision_record(decision) for decision in found.decisions],
        "things": [{"kind": entity.kind, "name": entity.name, "memories": n} for entity, n in found.things],
    }
    written = []
    for name, content in (
        ("knowledge_graph.json", graph),
        ("patterns.json", patterns),
        ("conventions.json", conventions),
    ):
        path = folder / name
        text = json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
        if not path.exists() or path.read_bytes() != text:
            write_atomically(path, text)
            written.append(path)
    return written


def _rule_record(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.memory.id,
        "kind": rule.memory.kind.value,
        "text": rule.memory.body,
        "sessions": rule.sessions,
        "times": rule.times,
        "since": rule.since.date().isoformat(),
    }


def _decision_record(decision: Decision) -> dict[str, Any]:
    return {
        "id": decision.memory.id,
        "text": decision.memory.body,
        "reason": decision.reason,
        "replaced": list(decision.replaced),
        "at": decision.memory.created_at.date().isoformat(),
    }
