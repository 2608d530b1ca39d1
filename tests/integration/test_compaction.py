"""What a compaction takes out of the window is kept: exactly that, once, whatever happens on the way."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from claude_memory.compaction import keeping, store
from claude_memory.compaction.keeping import Keeper
from claude_memory.compaction.schema import faults
from claude_memory.compaction.store import Shelf

from claude_memory import Memory
from claude_memory.errors import InvalidInput, NotFound
from claude_memory.model import Kind
from claude_memory.spool import Spool

SESSION = "5f0c1c1e-7a52-4a1e-9d1e-0b6a3f1f9c01"
START = datetime(2026, 11, 2, 9, tzinfo=UTC)


class Session:
    """A Claude Code transcript that grows line by line, and the hooks that report it."""

    def __init__(self, folder: Path, home: Path, project: Path, id_: str = SESSION) -> None:
        self.id = id_
        self.path = folder / "projects" / "-p" / f"{id_}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.home, self.project, self.count, self.reports = home, project, 0, 0

    def line(self, **values: Any) -> None:
        self.count += 1
        at = START + timedelta(seconds=self.count)
        base = {
            "sessionId": self.id,
            "cwd": str(self.project),
            "uuid": f"{self.id}-u{self.count:04d}",
            "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        with self.path.open("a") as handle:
            handle.write(json.dumps({**base, **values}) + "\n")

    def person(self, text: str) -> None:
        self.line(type="user", promptId=f"{self.id}-p{self.count}", message={"role": "user", "content": text})

    def agent(self, text: str) -> None:
        block = {"type": "text", "text": text}
        message = {"id": f"{self.id}-m{self.count}", "role": "assistant", "content": [block]}
        self.line(type="assistant", message=message)

    def tool(self, name: str, output: str = "done", *, failed: bool = False, **given: Any) -> None:
        call = f"toolu_{self.id}_{self.count:012d}"
        use = {"type": "tool_use", "id": call, "name": name, "input": given}
        message = {"id": f"{self.id}-m{self.count}", "role": "assistant", "content": [use]}
        self.line(type="assistant", message=message)
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
        self.line(type="user", message={"role": "user", "content": [result]})

    def compact(self, trigger: str = "manual", tokens: int | None = 150_000) -> None:
        self.report("PreCompact", trigger=trigger)
        self.boundary(trigger, tokens)

    def boundary(self, trigger: str = "manual", tokens: int | None = 150_000) -> None:
        facts = {"trigger": trigger, **({"preTokens": tokens} if tokens else {})}
        self.line(type="system", subtype="compact_boundary", compactMetadata=facts, content="compacted")
        summary = "This session is being continued from a previous conversation.\n\nThe story so far."
        self.line(type="user", isCompactSummary=True, message={"role": "user", "content": summary})

    def report(self, event: str, **more: Any) -> None:
        payload = {
            "hook_event_name": event,
            "session_id": self.id,
            "cwd": str(self.project),
            "transcript_path": str(self.path),
            "prompt_id": f"{self.id}-p{self.count}",
            **more,
        }
        spooled = Spool(self.home).put(event, json.dumps(payload).encode())
        spooled.rename(spooled.with_name(self._at_our_time(spooled.name)))

    def _at_our_time(self, name: str) -> str:
        """A spooled file's name with the time of the transcript: right behind its last line."""
        version, _, rest = name.split("-", 2)
        self.reports += 1  # no two at the same time, so that their order is certain
        now = START + timedelta(seconds=self.count, milliseconds=500 + self.reports)
        return f"{version}-{int(now.timestamp() * 1e9)}-{rest}"


def first_part(session: Session) -> None:
    session.person("the export of invoices times out, move it out of the request please")
    session.agent("Options: Celery with Redis or RQ. I'd go with Celery, it has retries built in.")
    session.person("ok celery then")
    session.tool("Write", "File created successfully at: x", file_path=f"{session.project}/app/tasks.py",
                 content="def export_month():\n    return zip_all()\n")  # fmt: skip
    session.tool("Bash", "redis.exceptions.ResponseError: OOM command not allowed", failed=True,
                 command="celery -A app worker")  # fmt: skip
    session.agent(
        "Redis has 64 MB only. We drop Celery and use Procrastinate instead: the queue is in Postgres."
    )
    session.person("fine, procrastinate, go")
    todos = [
        {"content": "background task", "status": "completed"},
        {"content": "mail with the link", "status": "pending"},
    ]
    session.tool("TodoWrite", "ok", todos=todos)
    session.agent("The export runs in the background now, 62 tests pass.")


def second_part(session: Session) -> None:
    session.person("always write money as Decimal in tests, never floats")
    session.tool("Bash", "", command="git mv app/tasks.py app/jobs.py && rm app/old.py")
    session.agent("Renamed app/tasks.py to app/jobs.py and removed app/old.py.")


def keeper(memory: Memory) -> Keeper:
    memory.drain()
    return Keeper(memory.home, memory.store, memory.archive, memory.settings)


def compacted(memory: Memory) -> list[Any]:
    return keeper(memory).all(now=START + timedelta(minutes=5))


def test_each_compaction_is_summed_up_with_exactly_its_own_messages(memory: Memory, session: Session) -> None:
    first_part(session)
    session.compact("auto", 180_000)
    [one] = compacted(memory)
    second_part(session)
    session.compact("manual", None)
    [two] = compacted(memory)
    assert [kept.number for kept in Shelf(memory.home).of(SESSION)] == [1, 2]
    assert faults(dict(one.document)) == faults(dict(two.document)) == []
    # 12 messages were said before the first boundary; the boundary and what it left are number 13 and 14.
    assert one.document["original_message_range"] == [1, 12]
    assert two.document["original_message_range"] == [15, 18]
    assert one.document["compaction_trigger"] == "auto"
    assert one.document["token_count_before"] == 180_000
    assert two.document["compaction_trigger"] == "manual"
    assert two.document["token_counts"] == "estimated"
    metadata = json.loads((memory.home / f"sessions/session_{SESSION}/metadata.json").read_text())
    assert [line["file"] for line in metadata["summaries"]] == [
        "summaries/compact_001.json",
        "summaries/compact_002.json",
    ]


def test_a_summary_tells_decisions_in_their_final_form_files_tasks_and_fixes(
    memory: Memory, session: Session
) -> None:
    first_part(session)
    session.compact()
    summary = compacted(memory)[0].summary
    [decision] = [one for one in summary["key_decisions"] if "procrastinate" in one["decision"]]
    assert "celery" in decision["reverses"].lower()
    assert not any(one["decision"] == "ok celery then" for one in summary["key_decisions"])
    assert 9 in decision["messages"]
    assert [(one["path"], one["action"]) for one in summary["files_modified"]] == [
        ("app/tasks.py", "created")
    ]
    assert summary["tasks_pending"] == ["mail with the link"]
    assert "background task" in summary["tasks_completed"]
    assert "OOM command not allowed" in summary["error_solutions"][0]["error"]


def test_a_decision_that_the_window_before_had_taken_is_noted_as_taken_back(
    memory: Memory, session: Session
) -> None:
    path = str(session.project / "queue.py")
    session.person("Make the export of the orders faster.")
    session.agent("It blocks the request. A queue would help.")
    session.person("Use a background queue with Redis for the export.")
    session.tool("Write", file_path=path, content="queue = redis.Redis()")
    session.agent("The export goes through a Redis queue now.")
    session.compact()
    session.person("Ops will not run Redis. Use a Postgres table as the queue for the export instead.")
    session.tool("Edit", file_path=path, old_string="redis.Redis()", new_string="postgres.Table()")
    session.agent("The queue is a Postgres table now.")
    session.compact()
    memory.drain()
    _, second = Keeper(memory.home, memory.store, memory.archive, memory.settings).all(now=START)
    [decision] = second.summary["key_decisions"]
    assert "Postgres" in decision["decision"]
    assert "Redis" in decision["reverses"]
    assert decision["reversed_messages"][0] < second.document["original_message_range"][0]


def test_renames_and_removals_in_a_shell_count(memory: Memory, session: Session) -> None:
    second_part(session)
    session.compact()
    summary = compacted(memory)[0].summary
    changes = {(one["path"], one["action"], one.get("from")) for one in summary["files_modified"]}
    assert changes == {("app/jobs.py", "renamed", "app/tasks.py"), ("app/old.py", "deleted", None)}
    assert any("Decimal" in text for text in summary["conventions"])


def test_trying_again_changes_nothing(memory: Memory, session: Session) -> None:
    first_part(session)
    session.compact()
    compacted(memory)
    folder = memory.home / f"sessions/session_{SESSION}"
    before = {path: path.read_bytes() for path in folder.rglob("*.json")}
    count = memory.stats().memories
    (memory.home / "cache" / "compactions.json").unlink()
    assert compacted(memory) == []
    assert {path: path.read_bytes() for path in folder.rglob("*.json")} == before
    assert memory.stats().memories == count


@pytest.mark.parametrize(
    "point", ["before the file", "after the file", "before the memories", "before the mark"]
)
def test_a_kill_at_any_moment_leaves_the_same_files_in_the_end(
    memory: Memory, session: Session, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    first_part(session)
    session.compact()
    second_part(session)
    session.compact()

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    target: Any = {
        "before the file": (store.Shelf, "_write"),
        "after the file": (store.Shelf, "_describe"),
        "before the memories": (keeping.made, "memories"),
        "before the mark": (Keeper, "_settle"),
    }[point]
    with monkeypatch.context() as patch:
        patch.setattr(*target, killed)
        with pytest.raises(KeyboardInterrupt):
            compacted(memory)
    compacted(memory)
    kept = Shelf(memory.home).of(SESSION)
    assert [one.document["original_message_range"] for one in kept] == [[1, 12], [15, 18]]
    assert not list((memory.home / "sessions").rglob("*.tmp"))
    kinds = [one.kind for one in memory.show([hit.id for hit in memory.search("Procrastinate Celery")])]
    assert Kind.DECISION in kinds or Kind.CORRECTION in kinds


def test_a_boundary_that_no_hook_reported_is_found_by_the_import(memory: Memory, session: Session) -> None:
    from claude_memory.ingest.importer import Request

    first_part(session)
    session.compact()
    for spooled in (memory.home / "spool" / "new").iterdir():
        spooled.unlink()
    memory.import_history(Request((session.path,), agent="claude-code"))
    session.path.unlink()  # the agent cleaned up; the archive stands in
    [kept] = compacted(memory)
    assert kept.document["original_message_range"] == [1, 12]


def test_without_a_transcript_the_hooks_own_reports_are_summed_up(memory: Memory, session: Session) -> None:
    session.report("UserPromptSubmit", prompt="we use Postgres for the queue, never Redis")
    session.count += 1
    session.report("PreCompact", trigger="auto")
    [kept] = compacted(memory)
    assert kept.document["source"]["kind"] == "events"
    assert kept.document["original_message_range"] == [1, 1]


def test_a_compaction_whose_boundary_is_not_written_yet_waits(memory: Memory, session: Session) -> None:
    first_part(session)
    session.report("PreCompact", trigger="manual")
    assert compacted(memory) == []
    session.line(
        type="system", subtype="compact_boundary", compactMetadata={"trigger": "manual"}, content="c"
    )
    assert len(compacted(memory)) == 1


def test_writers_at_the_same_time_leave_no_gap_and_nothing_twice(tmp_path: Path) -> None:
    document = keeping_document()

    def write(number: int) -> None:
        Shelf(tmp_path).keep(
            SESSION, f"boundary {number % 5}", lambda: document(f"boundary {number % 5}"), {}
        )

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = Shelf(tmp_path).of(SESSION)
    assert [one.number for one in kept] == [1, 2, 3, 4, 5]
    assert {one.document["source"]["boundary"] for one in kept} == {f"boundary {n}" for n in range(5)}


def keeping_document() -> Any:
    from claude_memory.compaction.model import Stretch
    from claude_memory.distil.turns import Origin, Turn

    from claude_memory.model import ProjectId, SessionId

    turns = [Turn("user", "k", START, "hello there, we use tabs")]
    stretch = Stretch(SessionId(SESSION), "", 1, 1, START)
    material = keeping.Material(stretch, turns, Origin(None, ProjectId("p")), "events")

    def made(boundary: str) -> dict[str, Any]:
        own = replace(material, stretch=replace(stretch, boundary=boundary))
        return keeping.document_of(own, keeping.rules_summary(own))

    return made


def test_no_secret_and_nothing_private_reaches_a_summary(memory: Memory, session: Session) -> None:
    key = "ghp_" + "k7Qw2ZrT9bXc4VnM1LsD8fGh3JpY6aUe0RtB"
    session.person(f"use the key {key} for now, <private>my salary is 90210</private> ok")
    session.agent("I'd put it into the environment.")
    session.person("yes, environment it is")
    session.compact()
    [kept] = compacted(memory)
    text = json.dumps(kept.document)
    assert "k7Qw2ZrT9b" not in text
    assert "90210" not in text


def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    with pytest.raises(InvalidInput):
        shelf.of("../../etc")
    with pytest.raises(InvalidInput):
        shelf.one("no-number")
    with pytest.raises(NotFound):
        shelf.one("gone/001")


def test_what_is_erased_goes_from_the_summaries_too(memory: Memory, session: Session) -> None:
    second_part(session)
    session.compact()
    [kept] = compacted(memory)
    assert "Decimal" in json.dumps(kept.document)
    rules = [hit for hit in memory.search("money as Decimal in tests", limit=20) if "Decimal" in hit.title]
    assert rules
    memory.erase([hit.id for hit in rules])
    [left] = Shelf(memory.home).of(SESSION)
    assert "always write money" not in json.dumps(left.document)
    assert faults(dict(left.document)) == []
    assert any("jobs.py" in json.dumps(entry) for entry in left.document["summary"]["files_modified"])


def test_reindex_gives_vectors_to_summaries_that_have_none(tmp_path: Path, model_cache: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    (home / "cache").mkdir(parents=True)
    (home / "cache" / "models").symlink_to(model_cache)
    with Memory.open(home, project) as opened:
        first_part(talk := Session(tmp_path, home, project))
        talk.compact()
        compacted(opened)
        assert Shelf(home).of(SESSION)[0].document["embeddings"]["model"] is None
        opened.reindex()
        found = Shelf(home).of(SESSION)[0].document["embeddings"]
        assert opened.embedder is not None
        assert found["model"] == opened.embedder.model
        assert len(found["summary_vector"]) == opened.embedder.dimensions
