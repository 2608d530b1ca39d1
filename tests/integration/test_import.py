"""What an import promises: everything once, nothing secret, and going on where it was."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.integration import histories
from tests.integration.histories import ClaudeSession, ordinary, write_lines

from claude_memory.capture import understanding
from claude_memory.capture.drain import Spool
from claude_memory.errors import Conflict, InvalidInput, NotFound
from claude_memory.imports.importer import NO_JSON, Imported, Request, Task, Unread, batches, import_history
from claude_memory.memory import Memory
from claude_memory.model import Kind, MemoryFilter, SearchScope, Trust
from claude_memory.platform.files import private_folder
from claude_memory.platform.locks import try_lock
from claude_memory.settings import Settings
from claude_memory.transcripts import sources
from claude_memory.transcripts.model import SourceFile
from claude_memory.understand.calls import command_of, given_of, rendered

EVERYTHING = SearchScope(None)


@pytest.fixture
def memory(scratch_home: Path) -> Iterator[Memory]:
    with Memory.open(scratch_home / "memory", scratch_home, flags={"embedder": "none"}) as opened:
        yield opened


def run(memory: Memory, *paths: Path, **more: Any) -> Imported:
    return memory.import_history(tuple(paths), **more)


def bodies(memory: Memory) -> list[str]:
    """The exchanges; what is made of them has its own tests."""
    found = memory.store.memories.find(EVERYTHING, MemoryFilter(kinds=(Kind.OBSERVATION,)))
    return sorted(item.body for item in found)


def shown(memory: Memory) -> str:
    """All that is kept of exchanges, records and statements."""
    records = memory.archive.session_records(EVERYTHING, 100)
    found = memory.store.memories.find(EVERYTHING, MemoryFilter())
    told = [(item.title, item.body, dict(item.provenance)) for item in found]
    return repr([told, [(known.title, record) for known, record in records]])


def kept(memory: Memory) -> list[tuple[str, str, str]]:
    """Every archived message, as a person would see it."""
    return sorted(
        (found.session, message.role, message.text)
        for found in memory.archive.conversations(EVERYTHING)
        for message in memory.archive.messages(found.number)
    )


def rows(memory: Memory, statement: str) -> list[tuple[Any, ...]]:
    return apsw.Connection(str(memory.home / "memory.db")).execute(statement).fetchall()


# --- finding and reading


def test_all_agents_are_found_and_searchable(memory: Memory, scratch_home: Path) -> None:
    histories.write_all_agents(scratch_home)
    done = run(memory)
    assert done.sessions == len(sources.AGENTS)
    assert (done.duplicates, done.skipped) == (0, 0)
    assert {item.agent for item in memory.archive.conversations(EVERYTHING)} == set(sources.AGENTS)
    for question, answer in {
        "coupon default": "default of zero",
        "semicolons exporter": "semicolons",
        "mails leave the server": "mail",
        "workers same lock": "lock",
        "thumbnails upside down": "Thumbnails",
        "rename billing module": "billing",
    }.items():
        ids = [hit.id for hit in memory.search(question, limit=2, all_projects=True)]
        found = memory.store.memories.find(EVERYTHING, MemoryFilter(), ids=ids)
        assert any(answer in item.body for item in found), question


def test_reading_twice_adds_nothing(memory: Memory, scratch_home: Path) -> None:
    histories.write_all_agents(scratch_home)
    run(memory)
    before = kept(memory), bodies(memory)
    assert run(memory) == Imported()
    for path in scratch_home.rglob("*.jsonl"):  # touched, but the same
        os.utime(path)
    again = run(memory)
    assert (again.messages, again.sessions, again.memories) == (0, 0, 0)
    assert (kept(memory), bodies(memory)) == before


def test_only_what_was_appended_is_read(memory: Memory, scratch_home: Path) -> None:
    session = ordinary()
    path = session.write(scratch_home)
    first = run(memory)
    session.prompt("Now write the changelog line for it.").says(
        "Added a line about coupons to the changelog."
    )
    session.write(scratch_home)
    second = run(memory)
    assert (second.messages, second.duplicates, second.sessions) == (2, 0, 0)
    assert second.read_bytes < path.stat().st_size - first.read_bytes + 10
    assert [item.ordinal for item in memory.archive.messages(1)] == list(range(1, first.messages + 3))


def test_a_line_in_the_making_is_read_when_it_is_whole(memory: Memory, scratch_home: Path) -> None:
    path = ordinary().write(scratch_home)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    first = run(memory)
    assert first.skipped == 0
    path.write_bytes(whole)
    assert run(memory).messages == 1


def test_a_last_line_without_its_end_is_read_if_it_is_whole(memory: Memory, scratch_home: Path) -> None:
    path = ordinary().write(scratch_home)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert run(memory).messages == 11
    with path.open("ab") as handle:
        handle.write(b"\n")
    assert run(memory).messages == 0


@pytest.mark.parametrize("change", ["cut", "rewritten", "replaced", "renamed"])
def test_a_file_that_is_not_what_it_was_is_read_again(
    memory: Memory, scratch_home: Path, change: str
) -> None:
    session = ordinary()
    path = session.write(scratch_home)
    run(memory)
    before = kept(memory)
    if change == "cut":
        path.write_bytes(path.read_bytes()[:3000])
    elif change == "rewritten":
        session.lines[0]["padding"] = "x"
        session.write(scratch_home)
    elif change == "replaced":
        path.unlink()
        session.write(scratch_home)
    else:
        path.rename(path.with_name("archived.jsonl"))
    assert run(memory).messages == 0
    assert kept(memory) == before


def test_bad_lines_are_counted_and_the_rest_is_read(memory: Memory, scratch_home: Path) -> None:
    session = ordinary()
    path = session.write(scratch_home)
    good = path.read_bytes()
    path.write_bytes(b"{broken\n\x00\xff\n[1,2]\n\n" + good.replace(b"\n", b'\n{"type":"from-the-future"}\n'))
    done = run(memory)
    assert (done.messages, done.skipped) == (11, 3)
    assert done.unread == (Unread(str(path), NO_JSON, 3),)


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.mkdir()  # as good as a file without rights, and so for root, too
    [batch] = batches(Task(SourceFile("claude-code", path, 10)), Settings())
    assert batch.unread == {"is a directory": 1}


def test_since_leaves_old_files_alone(memory: Memory, scratch_home: Path) -> None:
    old, new = ordinary("old").write(scratch_home), ordinary("new").write(scratch_home)
    os.utime(old, (1_700_000_000, 1_700_000_000))
    done = run(memory, since=datetime.now(UTC) - timedelta(days=1))
    assert done.sessions == 1
    assert "the new coupon" in memory.conversations.named(new.stem).title


def test_a_conversations_title_is_cut_at_a_word_and_says_so(memory: Memory, scratch_home: Path) -> None:
    asked = (
        "Why does the nightly export of invoices crash whenever a coupon was used by two customers at once?"
    )
    path = ClaudeSession().prompt(asked).says("It shares a row.").write(scratch_home)
    run(memory)
    title = memory.conversations.named(path.stem).title
    assert title == "Why does the nightly export of invoices crash whenever a coupon was used by…"


def test_one_agent_alone(memory: Memory, scratch_home: Path) -> None:
    histories.write_all_agents(scratch_home)
    assert run(memory, agent="codex").sessions == 1
    with pytest.raises(InvalidInput, match="unknown agent"):
        run(memory, agent="nobody")


def test_what_was_not_written_here_is_nobodys_own_words(memory: Memory, tmp_path: Path) -> None:
    ordinary().write(tmp_path)
    assert run(memory, tmp_path).messages == 11
    assert {item.trust for item in memory.store.memories.find(EVERYTHING, MemoryFilter())} == {Trust.IMPORTED}


@pytest.mark.parametrize("indent", [None, 2])
def test_exported_documents_are_read_whatever_their_files_are_called(
    memory: Memory, tmp_path: Path, indent: int | None
) -> None:
    part = {"type": "text", "text": "Sort the carriers by price", "id": "prt_1"}
    message = {"info": {"id": "msg_1", "role": "user", "time": {"created": 1776105641982}}, "parts": [part]}
    exported = {"info": {"id": "ses_1", "directory": "/home/dev/shop"}, "messages": [message]}
    prompt = {
        "id": "g1",
        "timestamp": "2026-04-14T14:15:55Z",
        "type": "user",
        "content": [{"text": "Wrap gifs"}],
    }
    chat = {"sessionId": "914f3c63", "projectHash": "40fc80fd", "messages": [prompt]}
    (tmp_path / "ses_1.jsonl").write_text(json.dumps(exported, indent=indent))
    (tmp_path / "914f3c63.jsonl").write_text(json.dumps(chat, indent=indent))

    done = memory.import_history([tmp_path])

    assert (done.sessions, done.messages, done.unread) == (2, 2, ())
    agents = {talk.agent for talk in memory.archive.conversations(SearchScope(None))}
    assert agents == {"opencode", "gemini-cli"}
    assert memory.import_history([tmp_path]).read_bytes == 0


def test_files_that_nobody_is_known_to_write_are_named(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "numbers.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "empty.jsonl").write_text("")
    [unread] = memory.import_history([tmp_path]).unread
    assert unread.path.endswith("numbers.jsonl")
    assert "no agent" in unread.reason


def test_a_plan_reads_nothing(memory: Memory, scratch_home: Path) -> None:
    histories.write_all_agents(scratch_home)
    planned = memory.upkeep.import_plan()
    assert {file["agent"] for file in planned.files} >= {"claude-code", "codex"}
    assert sum(file["bytes"] for file in planned.files) > 0
    assert not memory.archive.conversations(SearchScope(None))
    memory.import_history()
    assert not memory.upkeep.import_plan().files


def test_a_named_file_that_is_nobodys_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(InvalidInput, match="no agent"):
        run(memory, tmp_path / "x.jsonl")
    with pytest.raises(InvalidInput, match="no such file"):
        run(memory, tmp_path / "gone.jsonl")


# --- copies


def copied(session: ClaudeSession, name: str, **changes: str) -> ClaudeSession:
    """The session as a resume or a fork writes it: the same lines under another session's id."""
    copy = ClaudeSession(name, session.cwd)
    for number, line in enumerate(session.lines):
        new = {key: copy.uuid(f"{key}-{number}") if key in line else None for key in changes}
        if new.get("timestamp"):
            new["timestamp"] = f"2026-11-01T10:00:{number:02d}.000Z"
        copy.lines.append({**line, "sessionId": copy.id, **{k: v for k, v in new.items() if v}})
    copy.moment = session.moment
    return copy


@pytest.mark.parametrize(
    "rewritten", [(), ("uuid",), ("uuid", "promptId"), ("uuid", "parentUuid"), ("timestamp",)]
)
def test_copies_add_neither_messages_nor_memories(
    memory: Memory, scratch_home: Path, rewritten: tuple[str, ...]
) -> None:
    session = ordinary()
    original = session.write(scratch_home)
    shutil.copy(original, original.with_name("copy.jsonl"))
    fork = copied(session, "fork", **dict.fromkeys(rewritten, ""))
    fork.prompt("Try it with a discount instead.").says("With a discount the total is wrong by a cent.")
    os.utime(original, (1_790_000_000, 1_790_000_000))
    fork.write(scratch_home)
    done = run(memory)
    assert done.messages == 13
    assert done.duplicates == 22
    assert len(bodies(memory)) == len(set(bodies(memory))) == 3  # two requests, and the one in the fork
    decided = memory.store.memories.find(EVERYTHING, MemoryFilter(kinds=(Kind.DECISION, Kind.FIX)))
    assert len(decided) == len({item.body for item in decided})
    assert memory.conversations.named(fork.id).continues == session.id
    assert [item.text for item in memory.archive.messages(memory.conversations.named(fork.id).number)] == [
        "Try it with a discount instead.",
        "With a discount the total is wrong by a cent.",
    ]


def test_a_fork_of_codex_adds_what_is_new_in_it(memory: Memory, scratch_home: Path) -> None:
    folder = scratch_home / ".codex/sessions/2026/10/02"
    first = write_lines(folder / "rollout-a.jsonl", histories.codex_lines("first"))
    os.utime(first, (1_790_000_000, 1_790_000_000))
    fork = histories.codex_lines("second", fork_of="first")
    for line in fork:
        line["timestamp"] = line["timestamp"].replace("2026-10-02", "2026-10-05")
    said = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Tabs after all, please"}],
    }
    fork.append({"timestamp": "2026-10-05T09:00:00Z", "type": "response_item", "payload": said})
    write_lines(folder / "rollout-b.jsonl", fork)
    done = run(memory)
    assert (done.messages, done.duplicates) == (8, 7)


# --- hooks and transcripts


def hook(memory: Memory, event: str, **payload: Any) -> None:
    Spool(memory.home).put(event, json.dumps({"hook_event_name": event, **payload}).encode())


@pytest.mark.parametrize("order", ["hooks first", "transcript first"])
def test_what_hooks_captured_meets_its_twin(memory: Memory, scratch_home: Path, order: str) -> None:
    session = ClaudeSession().prompt("Why is the invoice total negative?")
    session.tool("Bash", {"command": "pytest -k total"}, "assert -3 == 3", failed=True)
    call = session.lines[-1]["message"]["content"][0]["tool_use_id"]
    session.says("A refund was counted twice, so the total fell below zero.")
    session.write(scratch_home)
    shared = {"session_id": session.id, "cwd": session.cwd, "prompt_id": session.prompt_id}

    def captured() -> None:
        hook(memory, "UserPromptSubmit", prompt="Why is the invoice total negative?", **shared)
        failed = {"tool_name": "Bash", "tool_input": {"command": "pytest -k total"}, "tool_use_id": call}
        hook(memory, "PostToolUseFailure", error="assert -3 == 3", **failed, **shared)
        last = "A refund was counted twice, so the total fell below zero."
        hook(memory, "Stop", last_assistant_message=last, **shared)
        memory.drain()

    steps = [captured, lambda: run(memory)]
    for step in steps if order == "hooks first" else reversed(steps):
        step()
    assert rows(memory, "SELECT kind FROM events ORDER BY kind") == [
        ("prompt",),
        ("reply",),
        ("tool_failure",),
    ]
    assert len(bodies(memory)) == 1
    assert len(kept(memory)) == 4


def test_a_sub_agents_answer_and_a_summary_meet_their_twins(memory: Memory, scratch_home: Path) -> None:
    main = ClaudeSession().prompt("Summarise it")
    main.prompt(
        "This session is being continued from a previous conversation that ran out of context. The summary "
        "below covers it.\n\nThe coupon bug was fixed by a default of zero.",
        isCompactSummary=True,
    )
    main.write(scratch_home)
    side = ClaudeSession(agent="a1")
    side.prompt("Count the migrations").says("There are fourteen migrations in the folder.")
    side.write(scratch_home)
    hook(memory, "SubagentStop", session_id=side.id, cwd=side.cwd, agent_id="a1", agent_type="Explore",
         last_assistant_message="There are fourteen migrations in the folder.")  # fmt: skip
    hook(memory, "PostCompact", session_id=main.id, cwd=main.cwd, prompt_id=main.prompt_id, trigger="auto",
         compact_summary="The coupon bug was fixed by a default of zero.")  # fmt: skip
    memory.drain()
    run(memory)
    kinds = [kind for (kind,) in rows(memory, "SELECT kind FROM events ORDER BY kind")]
    assert kinds == ["compaction", "prompt", "subagent_result"]
    assert memory.conversations.named("agent-a1").parent == side.id
    told = "The coupon bug was fixed by a default of zero."
    assert [text for _, role, text in kept(memory) if role == "summary"] == [told]
    assert [text for _, role, text in kept(memory) if text.startswith("There are fourteen")] == [
        "There are fourteen migrations in the folder."
    ]


# --- privacy


def test_nothing_secret_or_private_reaches_the_store(memory: Memory, scratch_home: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    far = "x" * 60_000 + "\n"
    session = ClaudeSession().prompt(f"Push with {secret}, and <private>my boss is Ada</private> note it")
    session.tool(
        "Bash", {"command": f"curl -H 'Authorization: Bearer {secret}' x"}, f"{far}{secret}\nok {secret}"
    )
    session.tool("Read", {"file_path": "/home/dev/shop/.env"}, "PLAIN_VALUE=hunter2hunter2")
    session.tool("mcp__claude-memory__search_memory", {"query": "x"}, "recalled words stay out")
    blocks = [{"type": "text", "text": "see <private>"}, {"type": "text", "text": "Ada again"}]
    session.line(type="user", message={"role": "user", "content": blocks}, promptId="p9")
    session.write(scratch_home)
    run(memory)
    memory.store.close()
    stored = b"".join(path.read_bytes() for path in memory.home.rglob("*") if path.is_file())
    with Memory.open(memory.home, scratch_home, flags={"embedder": "none"}) as again:
        shown = " ".join(text for _, _, text in kept(again))
    for word in (secret, "Ada", "hunter2", "recalled words"):
        assert word.encode() not in stored
        assert word not in shown
    assert "[secret:" in shown
    assert "[withheld]" in shown


def test_what_is_erased_stays_away(memory: Memory, scratch_home: Path) -> None:
    path = ordinary().write(scratch_home)
    run(memory)
    [gone] = [
        item
        for item in memory.store.memories.find(EVERYTHING, MemoryFilter(kinds=(Kind.OBSERVATION,)))
        if "Changed: every lookup" in item.body
    ]
    memory.store.memories.erase([gone.id])
    # One exchange with all its messages, and what the session's record told of it; the other one stays.
    assert not [text for _, _, text in kept(memory) if "every lookup" in text]
    assert "every lookup" not in shown(memory)
    assert [text for _, _, text in kept(memory) if "asks" in text or "coupon key" in text]
    assert memory.archive.candidates(EVERYTHING, ["lookup"], 10) == []
    os.utime(path)
    path.write_bytes(b"\n" + path.read_bytes())
    run(memory)
    assert not [text for _, _, text in kept(memory) if "every lookup" in text]
    assert "every lookup" not in shown(memory)
    assert len(bodies(memory)) == 1
    assert memory.conversations.named(path.stem).title


def test_no_byte_of_what_was_erased_is_left(memory: Memory, scratch_home: Path) -> None:
    session = ordinary().prompt("What is the code word?")
    session.says("The code word is quetzalcoatlish, keep it to yourself please.").write(scratch_home)
    run(memory)
    gone = [
        item.id for item in memory.store.memories.find(EVERYTHING, MemoryFilter()) if "quetzal" in item.body
    ]
    assert gone
    memory.store.memories.erase(gone)
    memory.store.close()
    stored = b"".join(path.read_bytes() for path in memory.home.glob("memory.db*"))
    assert b"quetzalcoatl" not in stored
    assert b"checkout" in stored


def test_excluded_folders_are_not_archived(scratch_home: Path) -> None:
    ordinary().write(scratch_home)
    ordinary("secretproject", "/home/dev/clients/acme").write(scratch_home)
    flags = {"embedder": "none", "exclude": ["/home/dev/clients"]}
    with Memory.open(scratch_home / "memory", scratch_home, flags=flags) as memory:
        run(memory)
        assert "acme" not in json.dumps([item.cwd for item in memory.archive.conversations(EVERYTHING)])
        assert len(memory.archive.conversations(EVERYTHING)) == 1


# --- the archive


def test_tool_output_is_found_by_its_words(memory: Memory, scratch_home: Path) -> None:
    for name in ("alpha", "beta", "gamma"):
        ordinary(name).write(scratch_home)
    run(memory)
    [found] = memory.archive.candidates(EVERYTHING, ["KeyError", "coupon", "pytest", "test_beta.py"], 1)
    assert command_of(found.text) == "pytest tests/test_beta.py"
    assert memory.archive.candidates(SearchScope(()), ["coupon"], 5) == []
    assert memory.archive.candidates(EVERYTHING, ['"', "(", "AND", "nowhere", "\0"], 5) == []


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": "src/a.py", "old_string": "a\nb", "new_string": "c: d"},
        {"pattern": "x.*y", "path": "src"},
        {},
    ],
)
def test_a_call_can_be_read_back(given: dict[str, str]) -> None:
    assert given_of(rendered(given)) == given


def test_long_output_keeps_head_and_tail(memory: Memory, scratch_home: Path) -> None:
    output = "first line\n" + "middle\n" * 50_000 + "last line"
    ClaudeSession().prompt("Build it").tool("Bash", {"command": "make"}, output).write(scratch_home)
    run(memory)
    [text] = [text for _, role, text in kept(memory) if role == "result"]
    assert text.startswith("first line")
    assert text.endswith("last line")
    assert len(text) < 10_000


def test_conversations_are_found_by_the_beginning_of_their_id(memory: Memory, scratch_home: Path) -> None:
    session = ordinary()
    session.write(scratch_home)
    run(memory)
    assert memory.conversations.named(session.id[:6]).session == session.id
    with pytest.raises(NotFound):
        memory.conversations.named("zzz")
    ordinary("other").write(scratch_home)
    run(memory)
    with pytest.raises((InvalidInput, NotFound)):
        memory.conversations.named("")


def test_only_a_conversation_that_grew_is_understood_again(memory: Memory, scratch_home: Path) -> None:
    session = ordinary()
    session.write(scratch_home)
    seen: list[list[int]] = []

    def understand(_: Any) -> int:
        waiting = memory.archive.waiting(9)
        seen.append([one.messages for one in waiting])
        return sum(understanding.understand(memory.store, one) for one in waiting)

    def go() -> Imported:
        return import_history(memory.home, memory.store, Settings(), Request(), understand=understand)

    assert go().memories > 0
    assert go().memories == 0
    session.prompt("One more thing about it").write(scratch_home)
    assert go().memories == 1
    assert seen == [[11], [], [12]]


# --- running


def test_progress_comes_to_its_end(memory: Memory, scratch_home: Path) -> None:
    ordinary().write(scratch_home)
    told: list[tuple[int, int]] = []
    memory.import_history(progress=lambda done, total, _: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0


def test_two_imports_do_not_meet(memory: Memory) -> None:
    with try_lock(private_folder(memory.home / "cache") / "import.lock"), pytest.raises(Conflict):
        run(memory)


def test_an_import_out_of_time_goes_on_next_time(memory: Memory, scratch_home: Path) -> None:
    for number in range(5):
        ordinary(f"s{number}").write(scratch_home)
    first = run(memory, budget_seconds=0.0)
    assert not first.complete
    assert first.messages < 55
    assert first.messages + run(memory).messages == 55


def test_workers_read_what_one_process_reads(memory: Memory, scratch_home: Path) -> None:
    for number in range(6):
        ordinary(f"s{number}").write(scratch_home)
    alone = run(memory, workers=0)
    with Memory.open(scratch_home / "other", scratch_home, flags={"embedder": "none"}) as other:
        beside = run(other, workers=2)
        assert replace(beside, read_bytes=0) == replace(alone, read_bytes=0)
        assert kept(other) == kept(memory)
        assert bodies(other) == bodies(memory)


def test_compressed_rollouts_are_read_once(memory: Memory, scratch_home: Path) -> None:
    from backports import zstd

    path = write_lines(scratch_home / ".codex/sessions/2026/rollout-a.jsonl", histories.codex_lines())
    assert run(memory).messages == 7
    packed = path.with_name("rollout-a.jsonl.zst")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    assert run(memory).messages == 0
    assert run(memory) == Imported()
    packed.write_bytes(b"\x28\xb5\x2f\xfdnot really")
    damaged = run(memory)
    assert damaged.skipped == 1
    assert [one.path for one in damaged.unread] == [str(packed)]
    assert damaged.unread[0].reason


def test_the_result_of_a_private_file_is_withheld_however_late_it_comes(
    memory: Memory, scratch_home: Path
) -> None:
    session = ClaudeSession("late")
    session.prompt("look at the settings")
    calls = [("c-env", {"file_path": "/home/dev/shop/.env"})]
    calls += [(f"c{number}", {"file_path": f"/home/dev/shop/a{number}.py"}) for number in range(150)]
    for id_, given in calls:
        session.assistant({"type": "tool_use", "id": id_, "name": "Read", "input": given}, "tool_use")
    content = [{"type": "tool_result", "tool_use_id": "c-env", "content": "the-very-content"}]
    session.line(type="user", message={"role": "user", "content": content})
    path = write_lines(scratch_home / "late.jsonl", session.lines)
    run(memory, path)
    assert not [text for _, _, text in kept(memory) if "the-very-content" in text]
    assert ("result", "[withheld]") in {(role, text) for _, role, text in kept(memory)}
