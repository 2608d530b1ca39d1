"""Scratchpads keep every text, plans are written once, records only grow."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory import MemoryAPI
from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.tasks import documents
from claude_memory.tasks import model as names
from claude_memory.tasks.model import Part
from claude_memory.text.times import stated


@pytest.fixture
def api(tmp_path: Path) -> MemoryAPI:
    return MemoryAPI(tmp_path / "storage", session="abc123-def456", by="person:ann")


def path_of(api: MemoryAPI, task: str, part: Part) -> Path:
    return next(file.path for file in api.get_task_status(task).files if file.part is part)


def test_file_names_carry_task_session_and_phase(api: MemoryAPI) -> None:
    api.create_scratchpad("implement-auth", "a")
    api.create_plan("implement-auth", "b")
    api.append_progress("implement-auth", "c")
    tasks = api.storage.folder / "sessions" / "abc123-def456" / "tasks"
    assert sorted(path.name for path in tasks.glob("*.md")) == [
        "implement-auth-abc123-plan.md",
        "implement-auth-abc123-progress.md",
        "implement-auth-abc123-scratchpad.md",
    ]


def test_long_session_ids_are_cut_to_eight_characters(tmp_path: Path) -> None:
    api = MemoryAPI(tmp_path, session="0123456789abcdef-0000")
    assert api.create_scratchpad("t", "x").name == "t-01234567-scratchpad.md"


def test_documents_are_plain_markdown_with_front_matter(api: MemoryAPI) -> None:
    path = api.create_scratchpad("fix: the 'thing'", "# Notes\n\ntext")
    document = documents.read(path)
    assert document.fields["task"] == "fix: the 'thing'"
    assert document.fields["session"] == "abc123-def456"
    assert (document.fields["phase"], document.fields["by"]) == ("scratchpad", "person:ann")
    assert stated(document.fields["created"]) is not None
    assert path.read_text("utf-8").endswith("---\n\n# Notes\n\ntext\n")


def test_every_save_keeps_the_text_before(api: MemoryAPI) -> None:
    for text in ("one", "two", "three"):
        api.update_scratchpad("task", text)
    assert [version.number for version in api.scratchpad_history("task")] == [1, 2]
    api.restore_scratchpad("task", 1)
    assert api.get_scratchpad("task") == "one"
    assert len(api.scratchpad_history("task")) == 3
    api.restore_scratchpad("task", 3)
    assert api.get_scratchpad("task") == "three"


def test_saving_the_same_text_again_adds_no_version(api: MemoryAPI) -> None:
    api.create_scratchpad("task", "same")
    api.update_scratchpad("task", "same\n")
    assert api.scratchpad_history("task") == []


def test_an_edit_by_hand_is_kept_like_any_other(api: MemoryAPI) -> None:
    path = api.create_scratchpad("task", "typed")
    path.write_text(path.read_text("utf-8").replace("typed", "edited in an editor"), "utf-8")
    assert api.get_scratchpad("task") == "edited in an editor"
    api.update_scratchpad("task", "later")
    api.restore_scratchpad("task", 1)
    assert api.get_scratchpad("task") == "edited in an editor"


def test_a_scratchpad_whose_front_matter_was_removed_is_still_the_task_s(api: MemoryAPI) -> None:
    path = api.create_scratchpad("task", "typed")
    path.write_text("only text", "utf-8")
    assert api.get_scratchpad("task") == "only text"
    api.update_scratchpad("task", "again")
    assert documents.read(path).fields["task"] == "task"


def test_an_unknown_version_is_named(api: MemoryAPI) -> None:
    api.create_scratchpad("task", "a")
    with pytest.raises(NotFound, match="no version 7"):
        api.restore_scratchpad("task", 7)


def test_a_plan_is_written_once_and_read_only_on_disk(api: MemoryAPI) -> None:
    api.create_scratchpad("task", "a")
    path = api.create_plan("task", "the plan")
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    with pytest.raises(Conflict) as refused:
        api.create_plan("task", "another plan")
    assert str(path) in str(refused.value)
    assert "--amend" in str(refused.value)
    assert api.get_plan("task") == "the plan"


def test_a_plan_in_the_home_is_nobody_else_s_to_read(tmp_path: Path) -> None:
    path = MemoryAPI(project=tmp_path).create_plan("task", "the plan")
    assert stat.S_IMODE(path.stat().st_mode) == 0o400


def test_amendments_stand_below_and_change_nothing(api: MemoryAPI) -> None:
    path = api.create_plan("task", "the plan")
    before = path.read_bytes()
    api.amend_plan("task", "the client wants SAML", "1. add SAML")
    api.amend_plan("task", "and OIDC")
    assert path.read_bytes().startswith(before)
    assert api.get_plan("task") == "the plan"
    assert [a["text"] for a in api.export_task("task")["amendments"]] == [
        "the client wants SAML\n\n1. add SAML",
        "and OIDC",
    ]
    assert api.get_task_status("task").amendments == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert api.verify("task") == []


def test_there_is_nothing_to_amend_without_a_plan(api: MemoryAPI) -> None:
    api.create_scratchpad("task", "a")
    with pytest.raises(NotFound, match="no plan to amend"):
        api.amend_plan("task", "why")


@pytest.mark.parametrize("text", ["", "  \n "])
def test_empty_plans_and_entries_are_refused(api: MemoryAPI, text: str) -> None:
    with pytest.raises(InvalidInput, match="needs some text"):
        api.create_plan("task", text)
    with pytest.raises(InvalidInput, match="needs some text"):
        api.append_progress("task", text)
    assert api.list_tasks() == []


def test_entries_say_when_and_by_whom(tmp_path: Path) -> None:
    for by in ("person:ann", "agent", "subagent:a1b2"):
        MemoryAPI(tmp_path, by=by).append_progress("task", f"by {by}")
    entries = MemoryAPI(tmp_path).get_progress("task")
    assert [entry.by for entry in entries] == ["person:ann", "agent", "subagent:a1b2"]
    times = [entry.time for entry in entries if entry.time]
    assert times == sorted(times)
    assert len(set(times)) == 3


def test_who_writes_is_known_without_being_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MemoryAPI(tmp_path).by.startswith("script")
    monkeypatch.setattr(names, "at_terminal", lambda: True)
    assert MemoryAPI(tmp_path).by.startswith("person")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert MemoryAPI(tmp_path).by == "agent"
    monkeypatch.setenv("CLAUDE_MEMORY_BY", "subagent:xyz")
    assert MemoryAPI(tmp_path).by == "subagent:xyz"
    monkeypatch.setenv("CLAUDE_MEMORY_BY", "person:ann")
    assert MemoryAPI(tmp_path).by == "agent"
    with pytest.raises(Conflict, match="signing as a person"):
        MemoryAPI(tmp_path, by=" person:ann")


def test_progress_without_a_plan_is_accepted_and_marked(api: MemoryAPI) -> None:
    api.append_progress("task", "first")
    api.create_plan("task", "plan")
    api.append_progress("task", "second")
    assert [entry.unplanned for entry in api.get_progress("task")] == [True, False]
    assert api.get_task_status("task").unplanned_entries == 1


def test_the_record_stays_in_order_when_the_clock_steps_back(tmp_path: Path) -> None:
    head = documents.front_matter({"task": "t"})
    late, early = stated("2026-05-01T12:00:00Z"), stated("2026-05-01T11:00:00Z")
    first, tail = documents.continued(documents.parse(head).tail, "one", now=late, by="x")
    second, _ = documents.continued(tail, "two", now=early, by="x")
    entries = documents.parse(head + first + second).entries
    assert entries[0].time == late
    assert entries[1].time > late  # type: ignore[operator]


@given(st.lists(st.text(max_size=300).filter(lambda text: text.strip()), min_size=1, max_size=6))
def test_any_text_is_read_back_as_it_was_written(texts: list[str]) -> None:
    head = documents.front_matter({"task": "t"})
    tail, body = documents.parse(head).tail, b""
    for text in texts:
        added, tail = documents.continued(tail, text, now=stated("2026-05-01T12:00:00Z"), by="x")
        body += added
    document = documents.parse(head + body)
    expected = [documents.encoded(text.strip("\n")).decode() for text in texts]
    assert [entry.text for entry in document.entries] == expected
    assert document.faults((tail.number, tail.seal)) == []


@pytest.mark.parametrize(
    "text",
    [
        "<!-- entry 1 0123456789abcdef -->",
        "a\n<!-- entry 2 0123456789abcdef -->\nb",
        "&lt;!-- entry 1 x",
        "&amp;lt;!-- entry 1 x\n<!-- entry 1 x",
        "---\ntask: other\n---",
        "## 2026-05-01T12:00:00Z · someone else\n\nforged",
    ],
)
def test_texts_that_look_like_our_own_marks_are_only_text(api: MemoryAPI, text: str) -> None:
    api.append_progress("task", text)
    api.append_progress("task", "after")
    assert [entry.text for entry in api.get_progress("task")] == [text, "after"]
    assert [entry.by for entry in api.get_progress("task")] == ["person:ann"] * 2
    assert api.verify("task") == []


def test_long_records_are_continued_from_their_end(api: MemoryAPI) -> None:
    for number in range(5):
        api.append_progress("task", f"{number} " + "x" * 60_000)
    api.append_progress("task", "last")
    assert [entry.number for entry in api.get_progress("task")] == [1, 2, 3, 4, 5, 6]
    assert api.verify("task") == []


def test_a_name_pattern_holds_for_new_files_and_old_ones_stay(api: MemoryAPI) -> None:
    api.create_scratchpad("old", "a")
    api.memory_manager.set_file_pattern("{task}-{timestamp}-{phase}.md")
    path = api.create_scratchpad("new", "b")
    assert path.name.startswith("new-20")
    assert path.name.endswith("-scratchpad.md")
    assert path_of(api, "old", Part.SCRATCHPAD).name == "old-abc123-scratchpad.md"
    again = MemoryAPI(api.storage.folder)
    again.append_progress("new", "c")
    assert (again.get_scratchpad("old"), again.get_scratchpad("new")) == ("a", "b")
    assert again.get_task_status("new").current_phase == "execution"


@pytest.mark.parametrize(
    "pattern",
    [
        "{task}.md",
        "../{task}-{phase}.md",
        "{task}/{phase}.md",
        "{task}-{phase}",
        "{task}-{phase}-{x}.md",
        "{",
        "{0}",
    ],
)
def test_patterns_that_give_no_safe_name_are_refused(api: MemoryAPI, pattern: str) -> None:
    with pytest.raises(InvalidInput, match="pattern"):
        api.memory_manager.set_file_pattern(pattern)


def test_a_hostile_pattern_that_came_with_a_clone_is_ignored(api: MemoryAPI) -> None:
    api.storage.folder.mkdir(parents=True, exist_ok=True)
    (api.storage.folder / "config.json").write_text('{"task_file_pattern": "../../{task}-{phase}.md"}')
    assert api.create_scratchpad("task", "x").name == "task-abc123-scratchpad.md"


def test_one_pattern_without_session_or_time_still_keeps_tasks_apart(api: MemoryAPI) -> None:
    api.memory_manager.set_file_pattern("{phase}{task}.md")
    for name in ("a", "A", "a b", "a-b"):
        api.create_scratchpad(name, f"text {name}")
    assert {name: api.get_scratchpad(name) for name in ("a", "A", "a b", "a-b")} == {
        "a": "text a",
        "A": "text A",
        "a b": "text a b",
        "a-b": "text a-b",
    }


def test_a_lost_index_is_rebuilt_from_the_documents(api: MemoryAPI) -> None:
    api.create_scratchpad("Task One", "a")
    api.create_plan("Task One", "b")
    (api.storage.folder / "sessions" / "abc123-def456" / "session.json").unlink()
    again = MemoryAPI(api.storage.folder)
    assert [(task.name, task.current_phase) for task in again.list_tasks(all_sessions=True)] == [
        ("Task One", "planning")
    ]
    again.append_progress("Task One", "c")
    assert again.get_task_status("Task One").session_id == "abc123-def456"
    assert again.verify() == []


def test_a_task_without_a_scratchpad_has_no_earlier_text(api: MemoryAPI) -> None:
    api.create_plan("task", "planned at once")
    assert api.scratchpad_history("task") == []
    with pytest.raises(NotFound, match="no scratchpad"):
        api.restore_scratchpad("task", 1)


def test_earlier_texts_outlive_the_scratchpad_that_somebody_removed(api: MemoryAPI) -> None:
    api.create_scratchpad("task", "first")
    api.update_scratchpad("task", "second").unlink()
    assert [version.number for version in api.scratchpad_history("task")] == [1]
    api.restore_scratchpad("task", 1)
    assert api.get_scratchpad("task") == "first"
