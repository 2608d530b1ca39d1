"""What readers promise: who speaks, in what order, whatever else stands in the file."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration import histories
from tests.integration.histories import ClaudeSession

from claude_memory.transcripts import sources
from claude_memory.transcripts.claude import ClaudeReader, summary_text
from claude_memory.transcripts.model import Role, SourceFile, Turn
from claude_memory.transcripts.readers import READERS


def turns(agent: str, records: Iterable[Mapping[str, Any]], path: str = "/x/s.jsonl") -> list[Turn]:
    reader = READERS[agent](SourceFile(agent, Path(path), modified_ns=1_790_000_000_000_000_000), {})
    found = [turn for record in records for turn in reader.feed(record)]
    return found + reader.finish()


def spoken(found: Iterable[Turn]) -> list[tuple[str, str]]:
    return [(turn.role.value, turn.text or turn.tool) for turn in found]


# --- lines


def read(content: bytes, start: int = 0, cap: int = 100) -> list[tuple[int, bytes | None, bool]]:
    return [
        (line.end, line.raw, line.complete) for line in sources.lines(io.BytesIO(content), start, cap=cap)
    ]


def test_every_line_says_where_it_ends() -> None:
    assert read(b"ab\n\ncd\n") == [(3, b"ab", True), (4, b"", True), (7, b"cd", True)]
    assert read(b"ab\n\ncd\n", start=4) == [(7, b"cd", True)]


def test_a_line_still_being_written_is_told_apart() -> None:
    assert read(b"ab\ncd") == [(3, b"ab", True), (5, b"cd", False)]


def test_a_line_beyond_the_cap_is_counted_but_never_held() -> None:
    content = b"a\n" + b"x" * 3_000_000 + b"\nb\n"
    assert read(content) == [(2, b"a", True), (3_000_003, None, True), (3_000_005, b"b", True)]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
        (b'{"a": NaN}', {"a": pytest.approx(float("nan"), nan_ok=True)}),
        (b'{"a": "\xff"}', {"a": "\ufffd"}),
        (b"[1]", None),
        (b"{", None),
        (b'{"a":' * 5000, None),
        (b"\xef\xbb\xbf{}", {}),
    ],
)
def test_a_line_is_an_object_or_nothing(raw: bytes, found: dict[str, Any] | None) -> None:
    assert sources.json_object(raw) == found


# --- Claude Code


def test_a_session_reads_as_it_was_spoken() -> None:
    found = turns("claude-code", histories.ordinary().lines)
    assert [turn.role.value for turn in found] == (
        "user assistant call result call result assistant user call result assistant".split()
    )
    assert [turn.text for turn in found if turn.final] == [
        "The one cart has no coupon key when it is empty; total() must ask for it with get.",
        "Changed: every lookup of the one coupon has a default of zero now.",
    ]
    assert found[0].cwd == "/home/dev/shop"
    assert found[0].branch == "main"


def test_a_reply_belongs_to_its_prompt() -> None:
    session = histories.ordinary()
    found = turns("claude-code", session.lines)
    prompts = [turn.prompt for turn in found if turn.role is Role.USER]
    assert [turn.prompt for turn in found if turn.final] == prompts


def test_a_word_before_a_tool_is_no_reply_even_at_the_end_of_the_file() -> None:
    session = ClaudeSession().prompt("Run it").says("I will run the tests.", "tool_use")
    assert not any(turn.final for turn in turns("claude-code", session.lines))
    older = ClaudeSession().prompt("Run it").says("All tests pass.", None)
    assert turns("claude-code", older.lines)[-1].final


def test_bookkeeping_is_told_from_its_first_bytes() -> None:
    told = [ClaudeReader.is_bookkeeping(json.dumps(line).encode()) for line in histories.ordinary().lines]
    assert told == [
        "message" not in line or line["type"].startswith("api") for line in histories.ordinary().lines
    ]
    quoting = (
        ClaudeSession().prompt('why is there "attachment":{"type":"hook_success"} in {"type":"mode"}?').lines
    )
    assert not ClaudeReader.is_bookkeeping(json.dumps(quoting[0]).encode())


def test_what_hooks_injected_is_no_conversation() -> None:
    assert "staging-7" not in " ".join(turn.text for turn in turns("claude-code", histories.ordinary().lines))


def test_meta_lines_reminders_and_thoughts_are_left_out() -> None:
    session = ClaudeSession().prompt("Caveat: the messages below", isMeta=True)
    session.assistant({"type": "thinking", "thinking": "hm", "signature": "x"}, None)
    reminder = [
        {"type": "text", "text": "<system-reminder>x</system-reminder>"},
        {"type": "text", "text": "Go on"},
    ]
    session.line(type="user", message={"role": "user", "content": reminder})
    assert spoken(turns("claude-code", session.lines)) == [("user", "Go on")]


def test_a_compaction_leaves_its_boundary_and_its_summary() -> None:
    session = ClaudeSession().prompt("Start").says("Started.")
    session.line(
        type="system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9}
    )
    text = (
        "This session is being continued from a previous conversation that ran out of context. The summary "
        "below covers the earlier portion of the conversation.\n\n<system-reminder>\n<tools>Bash</tools>\n"
        "</system-reminder>\nThe coupon was fixed.\n\nIf you need specific details from before, read x.jsonl"
    )
    session.prompt(text, isCompactSummary=True)
    found = turns("claude-code", session.lines)
    assert spoken(found)[2:] == [("note", "compacted (auto)"), ("summary", "The coupon was fixed.")]
    assert found[1].final
    assert summary_text("Nothing around it") == "Nothing around it"


def test_a_sub_agent_is_a_conversation_of_its_own() -> None:
    session = ClaudeSession(agent="a03e").prompt("Count the files").says("There are nine.")
    [task, answer] = turns("claude-code", session.lines)
    assert (task.role, task.session, task.parent) == (Role.TASK, "agent-a03e", session.id)
    assert answer.final
    assert answer.subagent == "a03e"


def test_large_outputs_are_read_from_their_own_file(tmp_path: Path) -> None:
    session = ClaudeSession().prompt("List").tool("Bash", {"command": "ls"}, "see /y/tool-results/b1.txt")
    path = session.write(tmp_path)
    spilled = path.parent / session.id / "tool-results" / "b1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text("the whole listing")
    found = turns("claude-code", session.lines, str(path))
    assert found[-1].text == "the whole listing"


def test_a_prompt_queued_while_the_agent_worked_is_a_prompt() -> None:
    session = ClaudeSession().line(
        type="attachment", attachment={"type": "queued_command", "prompt": "And lint it"}
    )
    assert not ClaudeReader.is_bookkeeping(json.dumps(session.lines[0]).encode())
    assert spoken(turns("claude-code", session.lines)) == [("user", "And lint it")]


def test_reading_may_pause_wherever_nothing_is_held_back() -> None:
    records = histories.ordinary().lines
    whole = turns("claude-code", records)
    source = SourceFile("claude-code", Path("/x/s.jsonl"))
    found: list[Turn] = []
    reader = READERS["claude-code"](source, {})
    for record in records:
        found += reader.feed(record)
        if reader.settled:
            reader = READERS["claude-code"](source, json.loads(json.dumps(reader.state())))
    assert [(turn.text, turn.prompt, turn.final) for turn in found + reader.finish()] == [
        (turn.text, turn.prompt, turn.final) for turn in whole
    ]


# --- the others


def test_codex_without_its_preambles() -> None:
    found = turns("codex", histories.codex_lines())
    assert spoken(found) == [
        ("user", "Make the exporter write semicolons instead of commas"),
        ("call", "shell"),
        ("result", "src/export.py:9"),
        ("call", "apply_patch"),
        ("result", "cannot apply"),
        ("assistant", "The exporter now separates its columns by semicolons."),
        ("summary", "Exporter was changed to semicolons."),
    ]
    assert found[1].given["command"] == "rg delimiter src"
    assert [turn.failed for turn in found if turn.role is Role.RESULT] == [False, True]
    assert {turn.session for turn in found} == {"0199-codex"}
    assert found[5].final


def test_codex_wrote_bare_items_once() -> None:
    old = [{"id": "old-1", "timestamp": "2025-05-01T08:00:00Z", "instructions": None}]
    old += [line["payload"] for line in histories.codex_lines() if line["type"] == "response_item"]
    found = turns("codex", old)
    assert found[0].session == "old-1"
    assert len(found) == 6


def test_a_fork_of_codex_names_its_turns_as_its_origin_does() -> None:
    origin = turns("codex", histories.codex_lines("first"))
    fork = turns("codex", histories.codex_lines("second", fork_of="first"))
    stranger = turns("codex", histories.codex_lines("third"))
    assert [turn.anchors for turn in fork] == [turn.anchors for turn in origin]
    assert origin[0].anchors != stranger[0].anchors


def test_gemini_records_that_grow_are_one_turn_each() -> None:
    found = turns("gemini-cli", histories.gemini_lines())
    assert spoken(found) == [
        ("user", "Why do no mails leave the server?"),
        ("assistant", "The mailer uses port 25, blocked here."),
        ("call", "read_file"),
        ("result", "SMTP_PORT = 25"),
        ("note", "rewound"),
    ]


def test_an_older_gemini_chat_is_one_document(tmp_path: Path) -> None:
    records = [line for line in histories.gemini_lines() if "type" in line]
    path = histories.write_json(
        tmp_path / "chats" / "session-1.json", {"sessionId": "old", "messages": records}
    )
    source = SourceFile("gemini-cli", path)
    assert sources.is_whole(source)
    found = turns("gemini-cli", sources.whole(source), str(path))
    assert {turn.session for turn in found} == {"old"}
    assert len(found) == 4


@pytest.mark.parametrize("kind", ["tree", "database"])
def test_opencode_from_its_database_and_its_tree(tmp_path: Path, kind: str) -> None:
    path = (
        histories.write_opencode_tree(tmp_path / "storage")
        if kind == "tree"
        else histories.write_opencode_database(tmp_path / "opencode.db")
    )
    found = turns("opencode", sources.whole(SourceFile("opencode", path)), str(path))
    assert spoken(found) == [
        ("user", "Why do two workers take the same lock?"),
        ("call", "bash"),
        ("result", "flock: permission denied"),
        ("assistant", "The lock file lies on a share that ignores locks."),
    ]
    assert found[2].failed
    assert found[3].final
    assert found[0].cwd == "/home/dev/shop"


def test_a_tool_of_opencode_has_its_own_time() -> None:
    call = {"callID": "c1", "tool": "bash", "type": "tool"}
    state = {
        "status": "completed",
        "input": {"command": "ls"},
        "output": "a",
        "time": {"start": 1_700_000_009_000},
    }
    told = {"type": "text", "text": "Let me look.", "time": {"start": 1_700_000_005_000}}
    message = {"info": {"role": "assistant", "time": {"created": 1_700_000_000_000}}}
    parts = [told, {**call, "state": state}]
    found = turns("opencode", [{"info": {"id": "s1"}, "messages": [{**message, "parts": parts}]}])
    assert [
        turn.role.value for turn in sorted(found, key=lambda turn: turn.at)
    ] == "assistant call result".split()


def test_factory_and_cursor() -> None:
    factory = turns("factory", histories.factory_lines())
    assert spoken(factory)[0] == ("user", "Thumbnails come out upside down, please find out why")
    assert [turn.role.value for turn in factory] == "user assistant call result assistant".split()
    assert factory[-1].final
    path = "/u/.cursor/projects/home-dev-shop/agent-transcripts/c/c.jsonl"
    cursor = turns("cursor", histories.cursor_lines(), path)
    assert spoken(cursor)[0] == ("user", "Rename the billing module to invoicing everywhere")
    assert len({turn.anchors for turn in cursor}) == len(cursor)


# --- places


def test_every_agent_is_found_where_it_keeps_its_conversations(tmp_path: Path) -> None:
    histories.write_all_agents(tmp_path)
    found = {source.agent for source in sources.discover(tmp_path, {})}
    assert found == set(sources.AGENTS)
    assert {source.agent for source in sources.discover(tmp_path, {}, ["codex"])} == {"codex"}


def test_variables_move_the_places(tmp_path: Path) -> None:
    histories.write_all_agents(tmp_path / "a")
    moved = {"CLAUDE_CONFIG_DIR": str(tmp_path / "a/.claude"), "CODEX_HOME": str(tmp_path / "a/.codex")}
    assert {source.agent for source in sources.discover(tmp_path, moved)} == {"claude-code", "codex"}


def test_whose_a_file_is_shows_in_its_name_or_its_lines(tmp_path: Path) -> None:
    samples = {
        "claude-code": histories.ordinary().lines,
        "codex": histories.codex_lines(),
        "factory": histories.factory_lines(),
        "cursor": histories.cursor_lines(),
        "gemini-cli": histories.gemini_lines(),
    }
    for agent, records in samples.items():
        path = histories.write_lines(tmp_path / f"{agent}-copy.jsonl", records)
        assert sources.owner_of(path) == agent
    (tmp_path / "notes.jsonl").write_text('{"hello": 1}\n')
    assert sources.owner_of(tmp_path / "notes.jsonl") is None


def test_compressed_rollouts_are_read_like_plain_ones(tmp_path: Path) -> None:
    from backports import zstd

    plain = histories.write_lines(tmp_path / "rollout-1.jsonl", histories.codex_lines())
    packed = tmp_path / "rollout-1.jsonl.zst"
    packed.write_bytes(zstd.compress(plain.read_bytes()))
    with sources.open_stream(plain) as one, sources.open_stream(packed) as other:
        assert list(sources.lines(one)) == list(sources.lines(other))
    assert sources.owner_of(packed) == "codex"
