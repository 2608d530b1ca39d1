"""A hook's bytes become one event with a lasting name, without secrets, within bounds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.capture.parse import (
    Unreadable,
    bound_document,
    bound_text,
    event_id,
    parse,
    read,
)
from claude_memory.model import Event, EventKind, ProjectId
from claude_memory.settings import Settings

NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def maybe(payload: dict[str, Any], name: str = "Stop", at: datetime = NOW, **settings: Any) -> Event | None:
    raw, project = json.dumps(payload).encode(), lambda cwd: ProjectId(f"project of {cwd}")
    return parse(raw, name, "claude-code", at, Settings(**settings), project)


def event(payload: dict[str, Any], name: str = "Stop", at: datetime = NOW, **settings: Any) -> Event:
    found = maybe(payload, name, at, **settings)
    assert found is not None
    return found


def prompt(**more: Any) -> dict[str, Any]:
    base = {"session_id": "s1", "cwd": "/shop", "hook_event_name": "UserPromptSubmit", "prompt_id": "p1"}
    return {**base, "prompt": "Use integers for prices", **more}


def tool(name: str = "PostToolUse", **more: Any) -> dict[str, Any]:
    base = {"session_id": "s1", "cwd": "/shop", "hook_event_name": name, "tool_name": "Bash"}
    return {**base, "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1", **more}


def test_the_payload_names_kind_session_folder_and_project() -> None:
    found = event(prompt())
    assert (found.kind, found.session, found.cwd) == (EventKind.PROMPT, "s1", "/shop")
    assert (found.project, found.agent, found.timestamp) == ("project of /shop", "claude-code", NOW)
    assert found.payload["prompt"] == "Use integers for prices"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SessionStart", EventKind.SESSION_START),
        ("PreToolUse", EventKind.TOOL_CALL),
        ("PostToolUseFailure", EventKind.TOOL_FAILURE),
        ("SubagentStart", EventKind.SUBAGENT_START),
        ("SubagentStop", EventKind.SUBAGENT_RESULT),
        ("PreCompact", EventKind.COMPACTION_START),
        ("PostCompact", EventKind.COMPACTION),
        ("SessionEnd", EventKind.SESSION_END),
        ("InstructionsLoaded", EventKind.INSTRUCTIONS),
        ("SomethingNobodyKnowsYet", EventKind.OTHER),
    ],
)
def test_every_event_has_its_kind_and_unknown_ones_are_kept(name: str, kind: EventKind) -> None:
    assert event({"hook_event_name": name}).kind is kind
    assert event({"session_id": "s1"}, name).kind is kind


def test_a_forked_session_reports_the_same_event() -> None:
    assert event(prompt()).id == event(prompt(session_id="fork"), at=NOW + timedelta(days=3)).id
    assert event(tool()).id == event(tool(session_id="fork", duration_ms=7), at=NOW + timedelta(days=3)).id


def test_an_import_derives_the_same_id_from_the_agents_own() -> None:
    assert event(prompt()).id == event_id(EventKind.PROMPT, own_id="p1", moment=NOW)
    assert event(tool()).id == event_id(EventKind.TOOL_USE, own_id="toolu_1", moment=NOW)
    reply = {"hook_event_name": "Stop", "prompt_id": "p1", "last_assistant_message": " Done so. \n"}
    assert event(reply).id == event_id(EventKind.REPLY, own_id="p1", content="Done so.", moment=NOW)


def test_call_use_and_failure_of_one_tool_are_three_events() -> None:
    names = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
    assert len({event(tool(name)).id for name in names}) == 3


@pytest.mark.parametrize(
    ("name", "own", "text"),
    [
        ("Stop", "prompt_id", "last_assistant_message"),
        ("SubagentStop", "agent_id", "last_assistant_message"),
        ("PostCompact", "prompt_id", "compact_summary"),
    ],
)
def test_one_prompt_may_report_several_texts_and_none_is_lost(name: str, own: str, text: str) -> None:
    first = {"hook_event_name": name, own: "x1", text: "the first"}
    assert event(first).id == event(first, at=NOW + timedelta(hours=1)).id
    assert event(first).id != event({**first, text: "the second"}).id


@pytest.mark.parametrize(
    "said",
    [
        {"hook_event_name": "UserPromptSubmit", "prompt": "continue"},
        {"hook_event_name": "Stop", "last_assistant_message": "Done."},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make test"}},
        {"hook_event_name": "Notification", "message": "waiting"},
    ],
)
def test_the_same_said_in_two_sessions_at_once_is_two_events(said: dict[str, object]) -> None:
    one, other = (event({**said, "session_id": session}).id for session in ("a", "b"))
    assert one != other
    own = {"prompt_id": "p1", "tool_use_id": "t1"}
    if said["hook_event_name"] != "Notification":  # which has no id of its own
        assert event({**said, **own, "session_id": "a"}).id == event({**said, **own, "session_id": "b"}).id


def test_without_an_own_id_session_content_and_minute_decide() -> None:
    bare = {"hook_event_name": "UserPromptSubmit", "prompt": "hello there you", "session_id": "a"}
    assert event(bare).id == event(bare, at=NOW + timedelta(seconds=20)).id
    assert event(bare).id != event(bare, at=NOW + timedelta(minutes=5)).id
    assert event(bare).id != event({**bare, "prompt": "hello there me"}).id


def test_session_starts_differ_by_session_source_and_time() -> None:
    start = {"hook_event_name": "SessionStart", "session_id": "a", "source": "startup"}
    others = [{**start, "session_id": "b"}, {**start, "source": "resume"}]
    assert len({event(item).id for item in (start, *others)}) == 3


def test_the_workers_of_a_compaction_are_ignored() -> None:
    stop = {
        "hook_event_name": "SubagentStop",
        "agent_id": "a1",
        "agent_type": "",
        "last_assistant_message": "x",
    }
    assert maybe(stop) is None
    assert maybe({**stop, "agent_type": "general-purpose"}) is not None


def test_what_we_injected_does_not_come_back() -> None:
    text = "before <claude-memory-context>old facts</claude-memory-context> after"
    assert event(prompt(prompt=text)).payload["prompt"] == "before  after"


def test_secrets_and_private_spans_are_cut_before_all_else() -> None:
    found = event(prompt(prompt=f"token {TOKEN} <private>my name</private> rest", prompt_id=TOKEN))
    assert TOKEN not in json.dumps(found.payload)
    assert "my name" not in json.dumps(found.payload)
    assert found.payload["prompt"].endswith("rest")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" \n",
        b"{",
        b"\x00\xff\xfe\x80" * 50,
        b"[1]",
        b"null",
        b'"text"',
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a":' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_event_says_why_without_quoting(raw: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        read(raw)
    assert len(str(caught.value)) < 100
    assert "\n" not in str(caught.value)


def test_lone_surrogates_and_endless_numbers_become_storable() -> None:
    found = read(b'{"a\\ud800":"x\\udfff\\u0000","n":NaN,"i":[1e999,-Infinity],"bad":"\xff"}')
    json.dumps(found, ensure_ascii=False, allow_nan=False).encode("utf-8")
    assert found["n"] is None
    assert found["i"] == [None, None]


def test_a_byte_order_mark_is_no_fault() -> None:
    assert read(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


def test_long_texts_keep_head_and_tail_and_say_so() -> None:
    text = "head " + "x" * 200_000 + " tail"
    kept = event(prompt(prompt=text), event_max_kb=2).payload["prompt"]
    assert kept.startswith("head ")
    assert kept.endswith(" tail")
    assert f"{len(text) - 2048:,} characters left out" in kept
    assert len(kept) < 2200


def test_ids_do_not_depend_on_the_bound() -> None:
    reply = {"hook_event_name": "Stop", "prompt_id": "p", "last_assistant_message": "y" * 9000}
    assert event(reply, event_max_kb=1).id == event(reply, event_max_kb=64).id


def test_many_texts_together_are_bounded_too() -> None:
    bounded = bound_document({"list": ["z" * 60_000 for _ in range(500)]}, 65_536)
    assert len(json.dumps(bounded)) < 9 * 65_536
    assert len(bound_document(list(range(100_000)), 1000)) == 2001


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_bounding_keeps_both_ends(text: str, limit: int) -> None:
    kept = bound_text(text, limit)
    if len(text) <= limit:
        assert kept == text
    else:
        assert kept.startswith(text[: limit * 2 // 3])
        assert kept.endswith(text[-(limit - limit * 2 // 3) :])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), values, max_size=6))
def test_any_object_becomes_an_event_with_a_stable_id(payload: dict[str, Any]) -> None:
    if payload.get("agent_type") == "":
        return
    assert event(payload).id == event(payload).id
