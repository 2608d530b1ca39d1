"""What a project knows: decisions with their reasons, rules, how it is checked, what recurs, common things.

Also the mirrors of it as JSON files, which are derived and may be deleted.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from claude_memory.model import Kind, MemoryFilter, MemoryId, Project, SearchScope, Status, StoredMemory
from claude_memory.platform.files import private_folder, write_atomically
from claude_memory.store.base import Store
from claude_memory.store.model import Entity
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


Links = defaultdict[tuple[str, MemoryId], list[MemoryId]]  # by kind and memory; `by` the other way round


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
    sessions: tuple[str, ...]  # latest first


@dataclass(frozen=True, slots=True)
class Knowledge:
    decisions: tuple[Decision, ...]
    rules: tuple[ConventionInUse, ...]
    things: tuple[tuple[Entity, int], ...]
    recurring: tuple[Recurring, ...] = ()


def knowledge(store: Store, project: Project, topic: str | None = None) -> Knowledge:
    """What is known of a project, or of one topic in it; what came up most often first."""
    scope = SearchScope((project.id,))
    wanted = MemoryFilter(kinds=(Kind.DECISION, *RULE_KINDS), statuses=(Status.ACTIVE,))
    standing = [item for item in store.memories.find(scope, wanted, limit=_MOST) if _about(item, topic)]
    links: Links = defaultdict(list)
    for relation in store.lifecycle.relations([memory.id for memory in standing]):
        links[relation.kind, relation.source].append(relation.target)
        links[f"{relation.kind} by", relation.target].append(relation.source)
    ids = {memory.id for memory in standing}
    told_once = [memory for memory in standing if ids.isdisjoint(links["repeats", memory.id])]
    rules = [_rule(store, scope, memory, links) for memory in told_once if memory.kind is not Kind.DECISION]
    things = store.graph.common(project.id, _THINGS, limit=20) if topic is None else []
    return Knowledge(
        tuple(_decision(memory, links) for memory in told_once if memory.kind is Kind.DECISION),
        tuple(sorted(rules, key=lambda rule: (-rule.sessions, -rule.times, rule.since))),
        tuple(things),
        tuple(item for item in recurring(store, scope) if _speaks_of(item.text, topic)),
    )


def recurring(store: Store, scope: SearchScope) -> list[Recurring]:
    """How the project is checked, and which files change together, as its sessions show it."""
    shown: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for conversation, record in store.archive.session_records(scope, _SESSIONS):
        files = [str(path) for path, edits in record.get("files", ()) if edits][:_FILES_A_SESSION]
        keys = [("check", str(command)) for command in record.get("checks", ())]
        keys += [("together", " and ".join(pair)) for pair in combinations(sorted(files), 2)]
        for key in keys:
            shown[key].append(conversation.session)
    found = [Recurring(*key, tuple(sessions)) for key, sessions in shown.items()]
    found.sort(key=lambda item: (-len(item.sessions), item.text))
    checks = [item for item in found if item.kind == "check" and len(item.sessions) >= _FEWEST_CHECKS]
    pairs = [item for item in found if item.kind != "check" and len(item.sessions) >= _PATTERN_SESSIONS]
    return [*checks[:_MOST_CHECKS], *pairs[:_MOST_PAIRS]]


def _speaks_of(text: str, topic: str | None) -> bool:
    return topic is None or set(query_terms(topic)) <= set(query_terms(text))


def _about(memory: StoredMemory, topic: str | None) -> bool:
    if topic is None or topic.casefold() in (own.casefold() for own in memory.topics):
        return True
    return bool(query_terms(topic)) and _speaks_of(f"{memory.title} {memory.body[:2000]}", topic)


def _decision(memory: StoredMemory, links: Links) -> Decision:
    replaced = [*links["supersedes", memory.id], *filter(None, [memory.supersedes])]
    reason = _STATED.search(memory.body) or _REASON.search(memory.body)
    words = " ".join(reason.group().split()) if reason else ""
    return Decision(memory, words, tuple(dict.fromkeys(replaced)), _against(memory.id, links))


def _rule(store: Store, scope: SearchScope, memory: StoredMemory, links: Links) -> ConventionInUse:
    again = links["repeats by", memory.id]
    repeats = store.memories.find(scope, MemoryFilter(statuses=tuple(Status)), ids=again) if again else []
    places = (place for place in memory.provenance.get("places", ()) if isinstance(place, dict))
    sessions = {str(item.session or item.id) for item in (memory, *repeats)}
    sessions |= {str(place["conversation"]) for place in places if place.get("conversation")}
    since = min(item.created_at for item in (memory, *repeats))
    times = max(1 + len(repeats), len(sessions))
    return ConventionInUse(memory, len(sessions), times, since, _against(memory.id, links))


def _against(id_: MemoryId, links: Links) -> tuple[MemoryId, ...]:
    return tuple(dict.fromkeys([*links["contradicts", id_], *links["contradicts by", id_]]))


def write_mirrors(home: Path, store: Store, project: Project) -> list[Path]:
    """Write knowledge_graph.json, patterns.json and conventions.json of a project; unchanged ones stay."""
    known = knowledge(store, project)
    rules: dict[bool, list[dict[str, Any]]] = {True: [], False: []}  # conventions, and patterns
    for rule in known.rules:
        record = {"id": rule.memory.id, "kind": rule.memory.kind.value, "text": rule.memory.body}
        counts = {"sessions": rule.sessions, "times": rule.times, "since": rule.since.date().isoformat()}
        rules[rule.memory.kind is Kind.CONVENTION].append({**record, **counts})
    for item in known.recurring:
        record = {"kind": item.kind, "text": item.text}
        shown = {"sessions": len(item.sessions), "shown_in": item.sessions[:_SHOWN_SESSIONS]}
        rules[item.kind == "check"].append({**record, **shown})
    decisions = []
    for decision in known.decisions:
        record = {"id": decision.memory.id, "text": decision.memory.body, "reason": decision.reason}
        at = decision.memory.created_at.date().isoformat()
        decisions.append({**record, "replaced": decision.replaced, "at": at})
    things = [{"kind": item.kind, "name": item.name, "memories": n} for item, n in known.things]
    graph = {"decisions": decisions, "things": things, "edges": _edges(store, known)}
    contents = (("knowledge_graph", graph), ("patterns", rules[False]), ("conventions", rules[True]))
    folder = private_folder(private_folder(home / "projects") / project.id)
    written = []
    for name, content in contents:
        path = folder / f"{name}.json"
        text = json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
        if not path.exists() or path.read_bytes() != text:
            write_atomically(path, text)
            written.append(path)
    return written


def _edges(store: Store, found: Knowledge) -> list[dict[str, str]]:
    """What decisions and rules bear on, and how they bear on each other."""
    ids = [item.memory.id for item in found.decisions] + [item.memory.id for item in found.rules]
    mentions = store.graph.of_memories(ids, limit=_MOST_EDGES)
    ties = [(item.memory, item.relation, f"{item.entity.kind}:{item.entity.name}") for item in mentions]
    ties += [(item.source, item.kind, item.target) for item in store.lifecycle.relations(ids)]
    return [{"from": source, "relation": relation, "to": target} for source, relation, target in ties]
