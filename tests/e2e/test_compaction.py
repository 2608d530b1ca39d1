"""The real client, offline: each /compact leaves one valid summary of exactly its own messages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.e2e.conftest import Machine
from tests.e2e.fake_model import say, use

from claude_memory.summaries.shelf import faults

pytestmark = pytest.mark.e2e
Make = Callable[..., Machine]


def test_compacting_twice_leaves_two_summaries_with_their_own_ranges(machine: Make) -> None:
    made = machine([])
    target = made.project / "invoice.py"
    write = use("Write", file_path=str(target), content="def total():\n    return 1\n")
    made.model.rules.append(("EDITFILE", [say("Writing invoice.py with the total."), write]))
    first = made.say("Invoices are rendered by Typst, never LaTeX. EDITFILE", "--output-format", "json")
    session = json.loads(first.stdout)["session_id"]
    made.say("/compact", "--resume", session)
    made.say("The port of the gateway is 8443 from now on", "--resume", session)
    made.say("/compact", "--resume", session)
    listed = json.loads(made.memory("summaries", "--session", session, "--json"))
    assert [one["number"] for one in listed] == [1, 2]
    folder = made.memory_home / "sessions" / f"session_{session}" / "summaries"
    assert sorted(path.name for path in folder.glob("*.json")) == ["compact_001.json", "compact_002.json"]
    documents = [json.loads((folder / f"compact_00{n}.json").read_text()) for n in (1, 2)]
    assert [faults(document) for document in documents] == [[], []]
    assert [document["compaction_trigger"] for document in documents] == ["manual", "manual"]
    (a, b), (c, d) = (document["original_message_range"] for document in documents)
    assert a == 1 <= b < c <= d
    changed = [(one["path"], one["action"]) for one in documents[0]["summary"]["files_modified"]]
    assert changed == [("invoice.py", "created")]
    assert "Typst" in json.dumps(documents[0]["summary"])
    assert documents[1]["summary"]["files_modified"] == []  # it may say what it went on from, not claim it
    assert "8443" in json.dumps(documents[1]["summary"])
    before = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    made.memory("summaries")
    assert {path.name: path.read_bytes() for path in folder.glob("*.json")}.keys() == before.keys()
