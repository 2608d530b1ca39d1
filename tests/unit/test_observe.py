"""An event leaves one memory if it says something, and none if it does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_memory.distil.observe import files_in, observe, title_of
from claude_memory.model import (
    Event,
    EventId,
    EventKind,
    Kind,
    ProjectId,
    SessionId,
    StoredMemory,
    Trust,
    memory_id,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def event(kind: EventKind, **payload: Any) -> Event:
    return Event(
        EventId(f"{kind}:1"), kind, "claude-code", SessionId("s1"), ProjectId("p1"), "/shop", NOW, payload
    )


def memory(kind: EventKind, **payload: Any) -> StoredMemory:
    [found] = observe(event(kind, **payload))
    return found


def test_a_prompt_is_remembered_as_the_persons_own_words() -> None:
    found = memory(EventKind.PROMPT, prompt="Keep prices as integers in src/cart.py, never as floats.\n")
    assert found.id == memory_id("event:prompt:1")
    assert (found.kind, found.trust) == (Kind.OBSERVATION, Trust.USER)
    assert found.body == "Keep prices as integers in src/cart.py, never as floats."
    assert (found.session, found.project, found.created_at) == ("s1", "p1", NOW)
    assert found.files == ("src/cart.py",)
    assert found.provenance == {"source": "hook", "event": "prompt:1"}


@pytest.mark.parametrize(
    ("kind", "key", "wanted"),
    [
        (EventKind.REPLY, "last_assistant_message", Kind.OBSERVATION),
        (EventKind.SUBAGENT_RESULT, "last_assistant_message", Kind.OBSERVATION),
        (EventKind.COMPACTION, "compact_summary", Kind.SUMMARY),
    ],
)
def test_what_an_agent_says_has_an_agents_trust(kind: EventKind, key: str, wanted: Kind) -> None:
    found = memory(kind, **{key: "The cart rounds each line before the sum."})
    assert (found.kind, found.trust) == (wanted, Trust.AGENT)


def test_a_failure_keeps_command_error_and_files() -> None:
    found = memory(
        EventKind.TOOL_FAILURE,
        tool_name="Bash",
        tool_input={"command": "pytest tests/test_cart.py"},
        error="Exit code 1\nE   KeyError: 'total' in src/cart.py:12",
    )
    assert found.trust is Trust.TOOL
    assert found.title == "Bash failed: pytest tests/test_cart.py"
    assert "KeyError" in found.body
    assert found.files == ("tests/test_cart.py", "src/cart.py")


def test_a_failed_edit_names_its_file_relative_to_the_project() -> None:
    found = memory(
        EventKind.TOOL_FAILURE,
        tool_name="Edit",
        tool_input={"file_path": "/shop/a/b.py"},
        error="not found there",
    )
    assert found.files == ("a/b.py",)


def test_an_interrupt_is_no_failure() -> None:
    failed = event(
        EventKind.TOOL_FAILURE, tool_name="Bash", tool_input={}, error="stopped it", is_interrupt=True
    )
    assert observe(failed) == []


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "continue", "", "  ", "ok thanks", "Yes, please go ahead.", "looks good", "/compact"),
        *(
            "/review the open changes",
            "<command-name>/clear</command-name> x y",
            "👍",
            "thank you so much",
            "1 2",
        ),
        *("<local-command-stdout>some words here</local-command-stdout>", "[Request interrupted by user]"),
    ],
)
def test_what_carries_nothing_leaves_nothing(text: str) -> None:
    assert observe(event(EventKind.PROMPT, prompt=text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "fix the login",
        "/usr/bin/python is missing here",
        "为什么我们选择这个",
        "no, use tabs instead",
        "go with Postgres",
    ],
)
def test_short_but_telling_words_are_kept(text: str) -> None:
    assert memory(EventKind.PROMPT, prompt=text).body == text


@pytest.mark.parametrize(
    "kind", [EventKind.TOOL_USE, EventKind.TOOL_CALL, EventKind.SESSION_START, EventKind.OTHER]
)
def test_tool_uses_and_the_rest_are_no_memories(kind: EventKind) -> None:
    assert observe(event(kind, tool_input={"file_path": "/shop/a.py"}, prompt="some words here now")) == []


@pytest.mark.parametrize("value", [None, 3, ["a", "b"], {"text": "some words here"}])
def test_a_field_of_another_shape_is_no_fault(value: object) -> None:
    assert observe(event(EventKind.PROMPT, prompt=value)) == []
    assert observe(event(EventKind.TOOL_FAILURE, tool_input=value, error=value)) == []


def test_the_title_is_the_first_line_that_says_something() -> None:
    assert title_of("\n```py\nx = 1\n```\n\n## **Why the cart rounds**\nmore") == "Why the cart rounds"
    assert title_of("```\nonly code here\n```") == "only code here"


def test_a_long_title_ends_at_a_word() -> None:
    title = title_of("word " * 60)
    assert len(title) <= 80
    assert title.endswith("word…")


def test_files_are_found_and_addresses_are_not() -> None:
    text = (
        "see src/a.py, `./b/c.ts`, /shop/d.go:12, https://x.org/e.py, e.g. version 2.1 and Dockerfile, d.go"
    )
    assert files_in(text, "/shop") == ("src/a.py", "b/c.ts", "d.go")


@given(st.text())
def test_any_text_is_safe(text: str) -> None:
    for found in observe(event(EventKind.PROMPT, prompt=text)):
        assert 0 < len(found.title) <= 80
        assert "\n" not in found.title
