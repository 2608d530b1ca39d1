"""The commands about compaction summaries, as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.test_compaction import SESSION, Session, first_part

SUMMARY = {
    "executive": "Moved the export to a queue; the token is ghp_k7Qw2ZrT9bXc4VnM1LsD8fGh3JpY6aUe0RtB.",
    "key_decisions": [
        {"topic": "queue", "decision": "Use Procrastinate", "rationale": "Redis is small", "files": []}
    ],
    "files_modified": [],
    "code_snippets": [],
    "topics": ["export"],
    "tasks_completed": [],
    "tasks_pending": ["mail"],
    "important_context": [],
    "error_solutions": [],
    "conventions": [],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path


def run(place: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(place), "CLAUDE_MEMORY_HOME": str(place / "home")}
    environment.pop("CLAUDE_MEMORY_SESSION", None)
    command = [sys.executable, "-m", "claude_memory", *arguments]
    return subprocess.run(
        command,
        cwd=place / "project",
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_was_compacted_is_listed_and_shown_in_full(place: Path) -> None:
    session = Session(place, place / "home", place / "project")
    first_part(session)
    session.compact()
    [row] = json.loads(run(place, "summaries", "--json").stdout)
    assert row["id"] == f"{SESSION}/001"
    assert SESSION in run(place, "summaries", "--session", SESSION[:6]).stdout
    other = place / "other"
    other.mkdir()
    assert json.loads(run(place, "summaries", "--project", str(other), "--json").stdout) == []
    unknown = run(place, "summaries", "--session", "zzz")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "no session zzz" in unknown.stderr
    elsewhere = run(place, "summaries", "--session", SESSION[:6], "--project", str(other), "--json")
    assert elsewhere.returncode == 1
    assert "--all-projects" in elsewhere.stderr
    assert (
        len(json.loads(run(place, "summaries", "--project", str(other), "--all-projects", "--json").stdout))
        == 1
    )
    document = json.loads(run(place, "summary", f"{SESSION[:8]}/001", "--json").stdout)
    assert document["original_message_range"] == [1, 12]
    shown = run(place, "summary", f"{SESSION}/001").stdout
    assert "procrastinate" in shown
    assert "Files modified" in shown


def test_a_transcript_is_summed_up_without_storing_anything(place: Path) -> None:
    session = Session(place, place / "home", place / "project")
    first_part(session)
    done = run(place, "summarize", str(session.path), "--json")
    assert json.loads(done.stdout)["original_message_range"] == [1, 12], done.stderr
    assert json.loads(run(place, "summaries", "--json").stdout) == []
    assert not (place / "home" / "sessions" / f"session_{SESSION}").exists()


def test_a_model_that_cannot_be_reached_leaves_the_summary_by_rules(place: Path) -> None:
    session = Session(place, place / "home", place / "project")
    first_part(session)
    done = run(place, "summarize", str(session.path), "--provider", "claude:/nowhere/claude", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["summariser"] == {"provider": "rules"}
    assert "rules' summary stands" in done.stderr


def test_an_agents_own_summary_is_checked_cleaned_kept_and_found(place: Path) -> None:
    text = json.dumps(SUMMARY)
    assert run(place, "summary", "save", given=text).returncode == 2
    done = run(place, "summary", "save", "--session", "s1", given=text)
    assert done.stdout.strip() == "saved s1/001", done.stderr
    again = json.dumps({"summary": SUMMARY, "original_message_range": [1, 9]})
    assert (
        "s1/001 says the same already" in run(place, "summary", "save", "--session", "s1", given=again).stdout
    )
    assert "k7Qw2ZrT9b" not in run(place, "summary", "s1/001", "--json").stdout
    assert "Procrastinate" in run(place, "search", "which queue did we choose").stdout


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("not json", "no JSON"),
        ("[]", "a JSON object"),
        ('{"executive": "x"}', "is missing"),
        (
            json.dumps({**SUMMARY, "files_modified": [{"path": "a", "action": "eaten", "purpose": ""}]}),
            "one of created",
        ),
        (
            json.dumps({"summary": SUMMARY, "original_message_range": [40, 1]}),
            "original_message_range [40, 1]",
        ),
        (json.dumps({"summary": SUMMARY, "original_message_range": [0, 3]}), "counted from 1"),
        (json.dumps({"summary": SUMMARY, "timestamp": "yesterday at noon"}), "ISO 8601"),
        (
            json.dumps(
                {"summary": SUMMARY, "embeddings": {"summary_vector": [float("nan")], "topic_vectors": {}}}
            ),
            "NaN is no number",
        ),
        (json.dumps({"summary": SUMMARY, "more": 1}).replace(": 1}", ": 1e999}"), "1e999 is no number"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_in_one_line(place: Path, given: str, reason: str) -> None:
    done = run(place, "summary", "save", "--session", "s1", given=given)
    assert done.returncode == 1
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_name_that_is_none_is_refused_in_one_line(place: Path) -> None:
    for named in ("gone/001", "../../etc/001", f"gone/{'9' * 5000}"):
        done = run(place, "summary", named)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
    assert run(place, "summarize", "/nowhere.jsonl").returncode == 1


@pytest.mark.parametrize("named", ["nothing", "gone/x", "gone/²"])
def test_a_name_that_cannot_be_read_is_wrong_usage(place: Path, named: str) -> None:
    done = run(place, "summary", named)
    assert done.returncode == 2
    assert "say SESSION/NNN" in " ".join(done.stderr.split())


@pytest.mark.parametrize("provider", ["wrong", "endpoint", "endpoint:"])
def test_a_provider_that_is_none_is_wrong_usage_and_told_how_to_say_it(place: Path, provider: str) -> None:
    done = run(place, "summarize", "x.jsonl", "--provider", provider)
    assert done.returncode == 2
    assert "endpoint:URL" in done.stderr


def test_what_cannot_be_read_of_a_transcript_is_said(place: Path) -> None:
    session = Session(place, place / "home", place / "project")
    session.person("we use tabs, not spaces")
    with session.path.open("a") as handle:
        handle.write('{"type": "user", "mess\n')
    session.agent("Tabs it is.")
    done = run(place, "summarize", str(session.path), "--json")
    assert json.loads(done.stdout)["original_message_range"] == [1, 2]
    assert "1 line of" in done.stderr
    assert "could not be read" in done.stderr
    empty = place / "empty.jsonl"
    empty.touch()
    done = run(place, "summarize", str(empty))
    assert done.returncode == 1
    assert "is empty" in done.stderr
