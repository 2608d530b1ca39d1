"""What a project knows: decisions with their reasons, rules, how it is checked, what recurs, common things.

Also the mirrors of it as JSON files, which are derived and may be deleted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from claude_memory.model import (
    Kind,
    MemoryFilter,
    MemoryId,
    Project,
    SearchScope,
    SessionId,
    Status,
    StoredMemory,
)
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.store.base import Store
from claude_memory.store.model import Entity, Relation
from claude_memory.text.words import query_terms

RULE_KINDS = (Kind.CONVENTION, Kind.PATTERN, Kind.PREFERENCE, Kind.CORRECTION, Kind.LESSON)
_THINGS = ("file", "symbol", "package", "command", "error", "topic")
_MOST = 500
_SESSIONS = 200  # the latest; what no longer happens is no longer known
_FILES_A_SESSION = 12
_FEWEST_CHECKS, _MOST_CHECKS = 2, 8
_PATTERN_SESSIONS, _MOST_PAIRS = 3, 10
_SHOWN_SESSIONS = 10
_MOST_EDGES = 2_000
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
class ConventionInUse:
    """A pattern, convention, preference or lesson: in how many sessions it came up, how often, since when."""

    memory: StoredMemory
    sessions: int
    times: int
    since: datetime
    contradicted_by: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True)
class Recurring:
    """What came up in several sessions: a command that checks the work, files that change together."""

    kind: str  # check, together
    text: str
    sessions: tuple[SessionId, ...]  # latest first


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All of it."""

    decisions: tuple[Decision, ...]
    rules: tuple[ConventionInUse, ...]
    things: tuple[tuple[Entity, int], ...]
    recurring: tuple[Recurring, ...] = ()


def knowledge(store: Store, project: Project, topic: str | None = None) -> Knowledge:
    """What is known of a project, or of one topic in it; what came up most often first."""
    scope = SearchScope((project.id,))
    wanted = MemoryFilter(kinds=(Kind.DECISION, *RULE_KINDS), statuses=(Status.ACTIVE,))
    found = [memory for memory in store.memories.find(scope, wanted, limit=_MOST) if _about(memory, topic)]
    kept = store.lifecycle
    related: dict[MemoryId, list[Relation]] = {}
    for relation in kept.relations([memory.id for memory in found]):
        for end in (relation.source, relation.target):
            related.setdefault(end, []).append(relation)
    standing = {memory.id for memory in found}
    repeating = {
        relation.source
        for all_ in related.values()
        for relation in all_
        if relation.kind == "repeats" and relation.target in standing
    }
    rules = [
        _rule(store, scope, memory, related.get(memory.id, []))
        for memory in found
        if memory.kind is not Kind.DECISION and memory.id not in repeating
    ]
    things = store.graph.common(project.id, _THINGS, limit=20) if topic is None else []
    return Knowledge(
        tuple(
            _decision(memory, related.get(memory.id, []))
            for memory in found
            if memory.kind is Kind.DECISION and memory.id not in repeating
        ),
        tuple(sorted(rules, key=lambda rule: (-rule.sessions, -rule.times, rule.since))),
        tuple(things),
        tuple(item for item in recurring(store, scope) if _speaks_of(item.text, topic)),
    )


def recurring(store: Store, scope: SearchScope) -> list[Recurring]:
    """How the project is checked, and which files change together, as its sessions show it."""
    checks: defaultdict[str, list[SessionId]] = defaultdict(list)
    pairs: defaultdict[tuple[str, str], list[SessionId]] = defaultdict(list)
    for conversation, record in store.archive.session_records(scope, _SESSIONS):
        for command in record.get("checks", ()):
            checks[str(command)].append(conversation.session)
        files = [str(path) for path, edits in record.get("files", ()) if edits][:_FILES_A_SESSION]
        for pair in combinations(sorted(files), 2):
            pairs[pair].append(conversation.session)
    found = [Recurring("check", command, tuple(shown)) for command, shown in checks.items()]
    found = [item for item in found if len(item.sessions) >= _FEWEST_CHECKS]
    together = [
        Recurring("together", " and ".join(pair), tuple(shown))
        for pair, shown in pairs.items()
        if len(shown) >= _PATTERN_SESSIONS
    ]
    by_sessions = lambda item: (-len(item.sessions), item.text)  # noqa: E731
    return [*sorted(found, key=by_sessions)[:_MOST_CHECKS], *sorted(together, key=by_sessions)[:_MOST_PAIRS]]


def _speaks_of(text: str, topic: str | None) -> bool:
    return topic is None or set(query_terms(topic)) <= set(query_terms(text))


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


def _rule(
    store: Store, scope: SearchScope, memory: StoredMemory, related: Sequence[Relation]
) -> ConventionInUse:
    again = [item.source for item in related if item.kind == "repeats" and item.target == memory.id]
    repeats = store.memories.find(scope, MemoryFilter(statuses=tuple(Status)), ids=again) if again else []
    sessions = {item.session or item.id for item in (memory, *repeats)} | _shown_in(memory)
    since = min(item.created_at for item in (memory, *repeats))
    times = max(1 + len(repeats), len(sessions))
    return ConventionInUse(memory, len(sessions), times, since, _against(memory.id, related))


def _shown_in(memory: StoredMemory) -> set[str]:
    """The sessions that a statement was found in."""
    places = memory.provenance.get("places", ())
    named = (place.get("conversation") for place in places if isinstance(place, dict))
    return {str(name) for name in named if name}


def _against(id_: MemoryId, related: Sequence[Relation]) -> tuple[MemoryId, ...]:
    ends = [
        item.source if item.target == id_ else item.target for item in related if item.kind == "contradicts"
    ]
    return tuple(dict.fromkeys(ends))


def write_mirrors(home: Path, store: Store, project: Project) -> list[Path]:
    """Write knowledge_graph.json, patterns.json and conventions.json of a project; unchanged ones stay."""
    found = knowledge(store, project)
    folder = private_folder(private_folder(home / "projects") / project.id)
    patterns = [
        *(_rule_record(rule) for rule in found.rules if rule.memory.kind is not Kind.CONVENTION),
        *(_recurring_record(item) for item in found.recurring if item.kind != "check"),
    ]
    conventions = [
        *(_rule_record(rule) for rule in found.rules if rule.memory.kind is Kind.CONVENTION),
        *(_recurring_record(item) for item in found.recurring if item.kind == "check"),
    ]
    graph = {
        "decisions": [_decision_record(decision) for decision in found.decisions],
        "things": [{"kind": entity.kind, "name": entity.name, "memories": n} for entity, n in found.things],
        "edges": _edges(store, found),
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


def _edges(store: Store, found: Knowledge) -> list[dict[str, str]]:
    """What decisions and rules bear on, and how they bear on each other."""
    ids = [decision.memory.id for decision in found.decisions] + [rule.memory.id for rule in found.rules]
    mentions = store.graph.of_memories(ids, limit=_MOST_EDGES) if ids else []
    edges = [
        {"from": item.memory, "relation": item.relation, "to": f"{item.entity.kind}:{item.entity.name}"}
        for item in mentions
    ]
    related = store.lifecycle.relations(ids) if ids else []
    return edges + [{"from": item.source, "relation": item.kind, "to": item.target} for item in related]


def _recurring_record(item: Recurring) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "text": item.text,
        "sessions": len(item.sessions),
        "shown_in": list(item.sessions[:_SHOWN_SESSIONS]),
    }


def _rule_record(rule: ConventionInUse) -> dict[str, Any]:
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
