"""Every compaction is found, whoever wrote of it, and nothing odd on the way holds the others up."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_compaction import (
    SESSION,
    START,
    Session,
    compacted,
    first_part,
    keeping_document,
    of,
    second_part,
)

from claude_memory import Memory
from claude_memory.capture.drain import Spool
from claude_memory.errors import StoreBusy
from claude_memory.redact.erasure import Sentences
from claude_memory.summaries import summary_book
from claude_memory.summaries.shelf import KeptSummary, Shelf
from claude_memory.summaries.summary_book import SummaryBook
from claude_memory.surfaces.hooks import background
from claude_memory.transcripts.model import SourceFile
from claude_memory.transcripts.readers import CodexReader
from claude_memory.upkeep import Upkeep


def another(session: Session, id_: str) -> Session:
    return Session(session.path.parents[2], session.home, session.project, id_)


def ranges(kept: list[KeptSummary]) -> list[Any]:
    return [one.document["original_message_range"] for one in kept]


# --- what is odd stays by itself


def test_a_session_whose_id_names_no_folder_holds_no_other_up(memory: Memory, session: Session) -> None:
    odd = another(session, "team:42")
    for one in (odd, session):
        second_part(one)
        one.compact()
    assert [kept.session for kept in compacted(memory)] == [SESSION]
    with pytest.MonkeyPatch.context() as patch:  # and it is not tried again
        patch.setattr(SummaryBook, "_session", lambda *_: pytest.fail("nothing waits"))
        assert compacted(memory) == []


def test_a_session_that_cannot_be_written_now_is_tried_again(
    memory: Memory, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = another(session, "blocked")
    for one in (blocked, session):
        second_part(one)
        one.compact()
    write = Shelf._write

    def full_disk(shelf: Shelf, kept: KeptSummary) -> None:
        if kept.session == "blocked":
            raise OSError("no space left")
        write(shelf, kept)

    with monkeypatch.context() as patch:
        patch.setattr(Shelf, "_write", full_disk)
        assert [kept.session for kept in compacted(memory)] == [SESSION]
        assert compacted(memory) == []
    assert [kept.session for kept in compacted(memory)] == ["blocked"]


def test_a_summary_that_lost_its_form_is_as_good_as_unreadable(memory: Memory, session: Session) -> None:
    first_part(session)
    session.compact()
    compacted(memory)
    [file] = (memory.home / f"sessions/session_{SESSION}/summaries").glob("compact_*.json")
    broken = json.dumps({**json.loads(file.read_bytes()), "original_message_range": None})
    file.write_text(broken)
    second_part(session)
    session.compact()
    assert ranges(compacted(memory)) == [[1, 12], [15, 18]]
    assert file.read_text() == broken
    assert [kept.number for kept in Shelf(memory.home).of(SESSION)] == [2, 3]


def test_a_copy_of_a_sessions_folder_is_no_session(memory: Memory, session: Session) -> None:
    second_part(session)
    session.compact()
    compacted(memory)
    folder = memory.home / "sessions" / f"session_{SESSION}"
    shutil.copytree(folder, folder.with_name(f"{folder.name} (copy)"))
    assert Shelf(memory.home).sessions() == [SESSION]
    assert Shelf(memory.home).erase(Sentences(["always write money as Decimal in tests, never floats"])) == 1


def test_a_summariser_that_does_not_exist_costs_no_summary(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with Memory.open(tmp_path / "home", project, flags={"embedder": "none", "summariser": "claud"}) as opened:
        second_part(session := Session(tmp_path, opened.home, project))
        session.compact()
        opened.drain()
        for step in (opened.summaries.sum_up, opened.summaries.upgrade):
            background._tried("not now", step)
        assert [kept.session for kept in Shelf(opened.home).of(SESSION)] == [SESSION]


def test_a_drain_goes_on_when_nothing_can_be_summed_up(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise StoreBusy("another process holds the store")

    went_on: list[bool] = []
    monkeypatch.setattr(SummaryBook, "sum_up", busy)
    monkeypatch.setattr(Upkeep, "import_in_slack", lambda *_, **__: went_on.append(True))
    background.drain_all(str(memory.home))
    assert went_on == [True]


def test_a_compaction_that_another_kept_meanwhile_is_kept_once(tmp_path: Path) -> None:
    document, shelf = keeping_document(), Shelf(tmp_path)
    for boundary in ("a", "b", "c"):
        assert shelf.keep(SESSION, document(boundary), {}, instead_of=of(boundary))[1]
    kept, new = shelf.keep(SESSION, document("c"), {}, instead_of=of("c"))
    assert (new, kept.number) == (False, 3)
    assert [one.document["source"]["boundary"] for one in shelf.of(SESSION)] == ["a", "b", "c"]


# --- every compaction is found


def test_an_older_boundary_does_not_stand_for_the_one_that_was_reported(
    memory: Memory, session: Session
) -> None:
    first_part(session)
    session.boundary()  # before there were hooks
    second_part(session)
    session.report("PreCompact", trigger="auto")
    assert ranges(compacted(memory)) == [[1, 12], [15, 18]]
    session.boundary("auto")
    session.report("PostCompact", compact_summary="The story so far.")
    assert ranges(compacted(memory)) == [[15, 18]]
    assert [kept.number for kept in Shelf(memory.home).of(SESSION)] == [1, 2]


def test_a_compaction_reported_at_both_ends_is_done_when_its_boundary_is_kept(
    memory: Memory, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_part(session)
    session.compact()
    session.report("PostCompact", compact_summary="The story so far.")
    assert ranges(compacted(memory)) == [[1, 12]]
    monkeypatch.setattr(SummaryBook, "_session", lambda *_: pytest.fail("nothing waits"))
    assert compacted(memory) == []


def test_no_number_of_compactions_hides_another(
    memory: Memory, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_book, "AT_ONCE", 5)
    for number in range(9):
        one = another(session, f"s{number}")
        one.count = 100 * number
        second_part(one)
        one.compact()
        one.report("PostCompact", compact_summary=f"Story {number}.")
    assert [kept.session for kept in compacted(memory)] == ["s8", "s7", "s6", "s5", "s4"]
    assert [kept.session for kept in compacted(memory)] == ["s3", "s2", "s1", "s0"]
    assert compacted(memory) == []


CODEX = "019a2b3c-0000-7000-8000-000000000001"


def codex_rollout(folder: Path, cwd: Path, left: str = "The story so far (in short).") -> Path:
    """A rollout that was compacted once, after two messages."""

    def said(second: int, role: str, text: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text}]
        return item(second, "response_item", {"type": "message", "role": role, "content": content})

    def item(second: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": f"2026-11-02T09:00:{second:02d}.000Z", "type": kind, "payload": payload}

    lines = [
        item(0, "session_meta", {"id": CODEX, "cwd": str(cwd)}),
        said(1, "user", "the export of invoices times out, use a queue please"),
        said(2, "assistant", "I used Procrastinate, the queue is in Postgres."),
        item(9, "compacted", {"message": left}),
        said(10, "user", "next please"),
    ]
    path = folder / f"rollout-2026-11-02T09-00-00-{CODEX}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("left", ["The story so far (in short).", ""])
@pytest.mark.parametrize("way", ["reported", "imported"])
def test_a_compaction_of_codex_is_summed_up(memory: Memory, tmp_path: Path, way: str, left: str) -> None:
    path = codex_rollout(tmp_path, memory.project_root, left)
    if way == "imported":
        memory.import_history((path,))
    else:
        report = {"hook_event_name": "PreCompact", "session_id": CODEX, "transcript_path": str(path)}
        spooled = Spool(memory.home).put("PreCompact", json.dumps(report).encode(), agent="codex")
        version, _, rest = spooled.name.split("-", 2)
        at = int(datetime(2026, 11, 2, 9, 0, 5, tzinfo=UTC).timestamp() * 1e9)
        spooled.rename(spooled.with_name(f"{version}-{at}-{rest}"))
    [kept] = compacted(memory)
    assert kept.document["original_message_range"] == [1, 2]
    assert kept.document["compaction_trigger"] == "auto"


@pytest.mark.parametrize("marked", [True, False])
def test_a_compaction_of_opencode_is_summed_up(memory: Memory, tmp_path: Path, marked: bool) -> None:
    root, id_ = tmp_path / "opencode" / "storage", "ses_1"

    def write(place: str, document: dict[str, Any]) -> None:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(json.dumps(document))

    write(f"session/pr/{id_}.json", {"id": id_, "directory": str(memory.project_root)})
    talk: list[tuple[str, dict[str, Any]]] = [
        ("user", {"type": "text", "text": "the export times out, use a queue please"}),
        ("assistant", {"type": "text", "text": "I used Procrastinate, in Postgres."}),
        ("user", {"type": "compaction", "auto": True}),
        ("assistant", {"type": "text", "text": "The story so far."}),
        ("user", {"type": "text", "text": "now mail the link"}),
    ]
    for number, (role, part) in enumerate(talk):
        created = int(START.timestamp() * 1000) + number * 1000
        about = {"id": f"msg_{number}", "sessionID": id_, "role": role, "time": {"created": created}}
        summary = {"summary": True} if marked and number == 3 else {}
        write(f"message/{id_}/msg_{number}.json", {**about, **summary})
        write(f"part/msg_{number}/prt_{number}.json",
              {"id": f"prt_{number}", "messageID": f"msg_{number}", "sessionID": id_, **part})  # fmt: skip
    memory.import_history((root / f"session/pr/{id_}.json",))
    assert ranges(compacted(memory)) == [[1, 2]]


def test_a_line_of_codex_that_tells_only_of_a_compaction_renames_nothing_behind_it(tmp_path: Path) -> None:
    lines = codex_rollout(tmp_path, tmp_path, "").read_bytes().splitlines()
    other = [line for line in lines if b'"compacted"' not in line]

    def last_name(raw: list[bytes]) -> tuple[str, ...]:
        reader = CodexReader(SourceFile("codex", tmp_path), {})
        return [turn for line in raw for turn in reader.turns(json.loads(line))][-1].anchors

    assert last_name(lines) == last_name(other)


def test_an_imported_compaction_has_the_agents_own_figures(memory: Memory, session: Session) -> None:
    first_part(session)
    session.boundary("auto", 180_000)
    memory.import_history((session.path,), agent="claude-code")
    [kept] = compacted(memory)
    assert kept.document["source"]["kind"] == "archive"
    assert (kept.document["token_count_before"], kept.document["token_counts"]) == (180_000, "reported")


# --- and kept once


def test_a_boundary_that_is_found_first_is_not_summed_up_again_for_a_late_report(
    memory: Memory, session: Session
) -> None:
    first_part(session)
    session.boundary()
    memory.import_history((session.path,), agent="claude-code")
    [first] = compacted(memory)
    session.count -= 2  # the hook was as early as ever, only its report is late
    session.report("PreCompact", trigger="manual")
    assert compacted(memory) == []
    assert [kept.id for kept in Shelf(memory.home).of(SESSION)] == [first.id]


def test_what_was_erased_from_an_early_summary_does_not_come_back_with_the_better_one(
    memory: Memory, session: Session
) -> None:
    second_part(session)
    session.report("PreCompact", trigger="auto")
    [early] = compacted(memory)
    assert "Decimal" in json.dumps(early.document)
    Shelf(memory.home).erase(Sentences(["always write money as Decimal in tests, never floats"]))
    session.boundary("auto")
    session.report("PostCompact", compact_summary="always write money as Decimal in tests, never floats")
    assert compacted(memory) == []
    [left] = Shelf(memory.home).of(SESSION)
    assert "Decimal" not in json.dumps(left.document)
