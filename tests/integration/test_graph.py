"""The knowledge graph: found by form alone, walked in bounded steps, drawn for people and programs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.errors import NotFound
from claude_memory.graph.extract import named
from claude_memory.graph.knowledge import write_mirrors
from claude_memory.graph.walk import activated
from claude_memory.store.model import Entity

WORDS = {"embedder": "none"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tmp_path, flags=WORDS) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("see src/auth/token.py for it", Entity("file", "src/auth/token.py")),
        ("it raised KeyError again", Entity("error", "KeyError")),
        ("ECONNREFUSED at start", Entity("error", "ECONNREFUSED")),
        ("call refresh_token first", Entity("symbol", "refresh_token")),
        ("the TokenCache is shared", Entity("symbol", "TokenCache")),
        ("run `git rebase main` before", Entity("command", "git rebase main")),
        ("pip install httpx", Entity("package", "httpx")),
        ("pinned to protobuf==4.25", Entity("package", "protobuf")),
    ],
)
def test_things_are_found_by_their_form(text: str, entity: Entity) -> None:
    assert entity in named(text)


def test_plain_prose_names_nothing() -> None:
    assert named("We talked about lunch, and about the weather. It may rain at 9.30 or so.") == []


def test_a_memory_leads_to_others_through_what_both_mention(memory: Memory) -> None:
    [one, other, far] = memory.remember_many(
        [
            NewMemory(
                "Tokens are cached in TokenCache.", kind="decision", topics=["auth"], files=["src/auth.py"]
            ),
            NewMemory("KeyError in src/auth.py because of TokenCache.", kind="fix"),
            NewMemory("The moon is far away."),
        ]
    )
    found = memory.graph.around(one, hops=3)
    names = {node.name for node in found.nodes}
    assert {"src/auth.py", "auth", "TokenCache", other} <= names
    assert far not in names
    relations = {(edge.relation, edge.target.name) for edge in found.edges}
    assert {("touches", "src/auth.py"), ("decides", "auth"), ("fixes", "KeyError")} <= relations
    assert ("caused_by", "TokenCache") in relations
    assert all(edge.evidence in (one, other) for edge in found.edges)
    lines = found.drawn("text").splitlines()
    assert lines[0].endswith("Tokens are cached in TokenCache.")
    assert sum("src/auth.py" in line and "file" in line for line in lines) == 1


def test_a_path_a_topic_and_a_symbol_can_be_asked_for(memory: Memory) -> None:
    memory.remember(NewMemory("uses TokenCache", topics=["Auth"], files=["./src/auth.py"]))
    for start in ("src/auth.py", "auth.py", "Auth", "TokenCache"):
        assert memory.graph.around(start).edges
    with pytest.raises(NotFound):
        memory.graph.around("nowhere.py")


def test_drawings_are_well_formed_whatever_the_names(memory: Memory) -> None:
    kept = memory.remember(NewMemory('<b>"x" & [y]</b>\x07 TokenCache', topics=["a<b>&\"c'"]))
    found = memory.graph.around(kept.id)
    for text in (found.drawn("svg"), found.drawn("graphml")):
        ET.fromstring(text)
    assert found.drawn("mermaid").startswith("graph LR\n")
    assert "<b>" not in found.drawn("svg")


def test_activation_reaches_what_is_two_steps_away_and_less_so(memory: Memory) -> None:
    [near, far, alone] = memory.remember_many(
        [
            NewMemory("first", files=["src/a.py"], topics=["cache"]),
            NewMemory("second", topics=["cache"]),
            NewMemory("third", topics=["tax"]),
        ]
    )
    reached = activated(memory.store.graph, memory.project.id, {Entity("file", "src/a.py"): 1.0})
    assert reached[near] > reached[far] > 0
    assert alone not in reached


def test_nothing_of_another_project_is_walked_into(memory: Memory, tmp_path: Path) -> None:
    memory.remember(NewMemory("mine", files=["src/a.py"]))
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    with Memory.open(tmp_path / "home", other, flags=WORDS) as elsewhere:
        theirs = elsewhere.remember(NewMemory("theirs", files=["src/a.py"]))
        assert theirs.id not in {node.name for node in memory.graph.around("src/a.py").nodes}


def test_what_is_erased_leaves_no_name_behind(memory: Memory) -> None:
    kept = memory.remember(NewMemory("about ZanzibarKeeper", topics=["zanzibar"]))
    memory.erase([kept.id])
    with pytest.raises(NotFound):
        memory.graph.around("ZanzibarKeeper")
    assert memory.store.graph.common(memory.project.id, ("topic", "symbol"), limit=9) == []


def test_knowledge_tells_reasons_what_was_replaced_and_how_often(memory: Memory, tmp_path: Path) -> None:
    old = memory.remember(NewMemory("Background jobs run on Celery.", kind="decision"))
    moved = "We moved background jobs from Celery to Arq because it is async."
    new = memory.remember(NewMemory(moved, kind="decision", supersedes=old.id))
    memory.remember(NewMemory(moved, kind="decision"))  # said twice, told once
    for session in ("s1", "s2", "s3"):
        memory.remember(NewMemory("Scripts are plain sh.", kind="convention", session=session))
    found = memory.knowledge()
    [decision] = found.decisions
    assert (decision.memory.id, decision.replaced) == (new.id, (old.id,))
    assert "because it is async" in decision.reason
    [rule] = found.rules
    assert (rule.sessions, rule.times) == (3, 3)
    assert memory.knowledge("celery").decisions
    assert not memory.knowledge("zebra").decisions
    paths = write_mirrors(memory.home, memory.store, memory.project)
    assert {path.name for path in paths} == {"knowledge_graph.json", "patterns.json", "conventions.json"}
    conventions = json.loads((paths[0].parent / "conventions.json").read_text("utf-8"))
    assert conventions[0]["sessions"] == 3
    assert write_mirrors(memory.home, memory.store, memory.project) == []
