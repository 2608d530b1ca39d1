"""What a compaction takes out of the window is kept: exactly that, once, whatever happens on the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claude_memory import Memory, NewMemory
from claude_memory.capture.drain import Spool
from claude_memory.errors import InvalidInput, NotFound
from claude_memory.model import Kind, MemoryFilter, ProjectId, SearchScope, SessionId
from claude_memory.store.sql.archive import Archive
from claude_memory.summaries import summary_book
from claude_memory.summaries.making import summarise
from claude_memory.summaries.shelf import KeptSummary, Shelf, faults
from claude_memory.summaries.stretches import Material, Stretch, open_material
from claude_memory.summaries.summary_book import SummaryBook

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


def drained(memory: Memory) -> SummaryBook:
    memory.drain()
    return memory.summaries


def compacted(memory: Memory) -> list[KeptSummary]:
    return drained(memory).sum_up()


def test_the_open_end_of_a_transcript_is_summed_up_at_once_and_stores_nothing(
    memory: Memory, session: Session
) -> None:
    first_part(session)
    session.boundary()
    second_part(session)
    document = open_material(session.path, memory.settings).document()
    assert faults(document) == []
    assert document["original_message_range"] == [15, 18]
    assert "always write money as Decimal" in document["summary"]["executive"]
    assert Shelf(memory.home).of(SESSION) == []


def test_a_compaction_that_began_has_its_summary_before_it_is_over(memory: Memory, session: Session) -> None:
    """What a process that PreCompact starts leaves is there for the session that goes on."""
    first_part(session)
    session.report("PreCompact", trigger="auto")
    drained(memory).sum_up()
    [early] = Shelf(memory.home).of(SESSION)
    assert (early.kind, early.document["original_message_range"]) == ("open", [1, 12])
    session.boundary("auto")
    session.report("PostCompact", compact_summary="The story so far.")
    drained(memory).sum_up()
    [late] = Shelf(memory.home).of(SESSION)
    assert (late.id, late.kind) == (early.id, "transcript")


def test_what_was_understood_from_a_stretch_stands_in_its_summary(memory: Memory, session: Session) -> None:
    second_part(session)
    places = [{"conversation": SESSION, "messages": [1]}]
    rule = replace(
        memory.remember(NewMemory(body="Money is Decimal.", kind="convention", session=SESSION)),
        provenance={"source": "understood", "places": places},
    )
    memory.store.memories.update(rule)
    session.compact()
    [kept] = compacted(memory)
    assert kept.summary["conventions"] == ["Money is Decimal."]
    assert kept.summary["sources"]["conventions"] == [[1]]


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


def test_a_summary_tells_what_was_asked_done_and_left_open(memory: Memory, session: Session) -> None:
    first_part(session)
    session.compact()
    summary = compacted(memory)[0].summary
    told = [one for one in summary["important_context"] if "procrastinate" in one.lower()]
    assert told
    assert [(one["path"], one["action"]) for one in summary["files_modified"]] == [
        ("app/tasks.py", "created")
    ]
    assert "mail with the link" in summary["tasks_pending"]
    assert "background task" in summary["tasks_completed"]
    assert "62 tests pass" in summary["executive"]


def test_renames_and_removals_in_a_shell_count(memory: Memory, session: Session) -> None:
    second_part(session)
    session.compact()
    summary = compacted(memory)[0].summary
    changes = {(one["path"], one["action"], one.get("from")) for one in summary["files_modified"]}
    assert changes == {("app/jobs.py", "renamed", "app/tasks.py"), ("app/old.py", "deleted", None)}
    assert any("Decimal" in text for text in summary["important_context"])


def test_trying_again_changes_nothing(memory: Memory, session: Session) -> None:
    first_part(session)
    session.compact()
    compacted(memory)
    folder = memory.home / f"sessions/session_{SESSION}"
    before = {path: path.read_bytes() for path in folder.rglob("*.json")}
    assert not (memory.home / "cache" / "compactions.json").exists()
    count = memory.stats().memories
    assert drained(memory).sum_up() == []
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
        "before the file": (Shelf, "_write"),
        "after the file": (Shelf, "_describe"),
        "before the memories": (summary_book, "_memories"),
        "before the mark": (Archive, "summed_up"),
    }[point]
    with monkeypatch.context() as patch:
        patch.setattr(*target, killed)
        with pytest.raises(KeyboardInterrupt):
            compacted(memory)
    compacted(memory)
    kept = Shelf(memory.home).of(SESSION)
    assert [one.document["original_message_range"] for one in kept] == [[1, 12], [15, 18]]
    assert not list((memory.home / "sessions").rglob("*.tmp"))
    stored = memory.store.memories.find(SearchScope(None), MemoryFilter(kinds=(Kind.SUMMARY,)))
    assert sorted(one.title[:12] for one in stored) == ["Compaction 1", "Compaction 2"]


def test_a_boundary_that_no_hook_reported_is_found_by_the_import(memory: Memory, session: Session) -> None:

    first_part(session)
    session.compact()
    for spooled in (memory.home / "spool" / "new").iterdir():
        spooled.unlink()
    memory.import_history((session.path,), agent="claude-code")
    session.path.unlink()  # the agent cleaned up; the archive stands in
    [kept] = compacted(memory)
    assert kept.document["original_message_range"] == [1, 12]


def story(current: str) -> str:
    """What an agent writes of its session, in the form of Claude Code."""
    return (
        "Summary:\n1. Primary Request and Intent:\n   Move the export out of the request.\n\n"
        "4. Errors and fixes:\n   - **OOM in Redis**: 64 MB are too few. Fixed by dropping Celery.\n"
        '   - **User feedback on tests**: User said "no floats".\n\n'
        f"7. Pending Tasks:\n   - Mail the link\n\n8. Current Work:\n   {current}\n\n"
        "9. Optional Next Step:\n   Write the mail."
    )


def test_a_compaction_is_summed_up_before_it_is_over_and_better_when_it_is(
    memory: Memory, session: Session
) -> None:
    first_part(session)
    session.report("PreCompact", trigger="auto")
    [early] = compacted(memory)
    assert (early.kind, early.document["original_message_range"]) == ("open", [1, 12])
    assert early.document["compaction_trigger"] == "auto"
    assert "mail with the link" in early.summary["tasks_pending"]
    session.boundary("auto")
    session.report("PostCompact", compact_summary="The story so far.")
    [better] = compacted(memory)
    assert (better.id, better.kind) == (early.id, "transcript")
    assert better.document["token_counts"] == "reported"
    assert [kept.number for kept in Shelf(memory.home).of(SESSION)] == [1]


def test_the_report_that_it_is_over_is_proof_enough(memory: Memory, session: Session) -> None:
    first_part(session)
    session.report("PreCompact", trigger="manual")
    [early] = compacted(memory)
    session.report("PostCompact", compact_summary=story("The mail is half written."))
    [better] = compacted(memory)  # no boundary was ever written
    assert better.id == early.id
    assert "half written" in better.executive
    assert better.summary["tasks_pending"][:2] == ["Mail the link", "Next: Write the mail."]
    assert any("OOM" in one["error"] for one in better.summary["error_solutions"])
    stored = memory.store.memories.find(SearchScope(None), MemoryFilter(kinds=(Kind.SUMMARY,)))
    told = [one.body for one in stored if one.title.startswith("Compaction 1")]
    assert ["half written" in body for body in told] == [True]
    assert compacted(memory) == []


def test_one_that_was_called_off_stands_for_the_next(memory: Memory, session: Session) -> None:
    first_part(session)
    session.report("PreCompact", trigger="manual")
    assert len(compacted(memory)) == 1
    second_part(session)
    session.compact("auto")
    [kept] = compacted(memory)
    assert (kept.number, kept.document["original_message_range"]) == (1, [1, 16])


def test_the_agents_own_summary_in_the_transcript_is_taken_in(memory: Memory, session: Session) -> None:
    first_part(session)
    session.report("PreCompact", trigger="auto")
    session.line(type="system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}, content="c")
    text = "This session is being continued from a previous conversation.\n\n" + story("Half way.")
    session.line(type="user", isCompactSummary=True, message={"role": "user", "content": text})
    [kept] = compacted(memory)
    assert kept.document["source"]["agent_summary"] is True
    assert "Half way." in kept.executive
    assert faults(dict(kept.document)) == []


def test_writers_at_the_same_time_leave_no_gap_and_nothing_twice(tmp_path: Path) -> None:
    document = keeping_document()

    def write(number: int) -> None:
        name = f"boundary {number % 5}"
        Shelf(tmp_path).keep(SESSION, document(name), {}, instead_of=of(name))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = Shelf(tmp_path).of(SESSION)
    assert [one.number for one in kept] == [1, 2, 3, 4, 5]
    assert {one.document["source"]["boundary"] for one in kept} == {f"boundary {n}" for n in range(5)}


def keeping_document() -> Any:
    stretch = Stretch(SessionId(SESSION), "", 1, 1, START)
    material = Material(stretch, [], 10, "archive", ProjectId("p"), "", summarise([]))

    def made(boundary: str) -> dict[str, Any]:
        own = replace(material, stretch=replace(stretch, boundary=boundary))
        return own.document()

    return made


def of(boundary: str) -> Callable[[Sequence[KeptSummary]], KeptSummary | None]:
    """Finds the summary of a boundary among those that are known."""
    return lambda known: next((one for one in known if one.boundary == boundary), None)


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
    rule = "always write money as Decimal in tests, never floats"
    memory.erase(memory.remember_many([NewMemory(rule, session=SESSION)]))
    [left] = Shelf(memory.home).of(SESSION)
    assert "always write money" not in json.dumps(left.document)
    assert faults(dict(left.document)) == []
    assert any("jobs.py" in json.dumps(entry) for entry in left.document["summary"]["files_modified"])
