"""Other agents' hooks: their names for things become ours, and the payload tells who speaks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from claude_memory.capture.parse import parse
from claude_memory.model import Event, EventKind, ProjectId
from claude_memory.settings import Settings

NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)


def event(registered: str, agent: str, **payload: Any) -> Event:
    raw, project = json.dumps(payload).encode(), lambda cwd: ProjectId(f"project of {cwd}")
    found = parse(raw, registered, agent, NOW, Settings(), project)
    assert found is not None
    return found


def test_cursor_speaks_of_conversations_and_workspaces() -> None:
    found = event(
        "UserPromptSubmit",
        "cursor",
        conversation_id="c1",
        generation_id="g1",
        hook_event_name="beforeSubmitPrompt",
        workspace_roots=["/shop", "/other"],
        prompt="Use integers",
    )
    assert (found.kind, found.agent, found.session, found.cwd) == (EventKind.PROMPT, "cursor", "c1", "/shop")
    assert found.payload["prompt_id"] == "g1"
    assert found.project == "project of /shop"


def test_copilot_writes_its_names_in_one_word() -> None:
    arguments = json.dumps({"command": "cat .env"})
    found = event(
        "PostToolUse",
        "copilot-cli",
        sessionId="s9",
        cwd="/shop",
        toolName="bash",
        toolArgs=arguments,
        toolResult={"textResultForLlm": "SECRET=1"},
    )
    assert (found.kind, found.agent, found.session) == (EventKind.TOOL_USE, "copilot-cli", "s9")
    assert found.payload["tool_name"] == "bash"
    assert "SECRET" not in json.dumps(dict(found.payload)), "what a private file holds is withheld here, too"


def test_gemini_names_its_events_otherwise() -> None:
    found = event(
        "Stop",
        "gemini-cli",
        session_id="s3",
        cwd="/shop",
        hook_event_name="AfterAgent",
        prompt="hi",
        prompt_response="Prices are integers.",
    )
    assert found.kind is EventKind.REPLY
    assert found.payload["last_assistant_message"] == "Prices are integers."


@pytest.mark.parametrize(
    ("payload", "speaker"),
    [
        ({"conversation_id": "c", "workspace_roots": ["/w"]}, "cursor"),
        ({"sessionId": "s", "toolName": "view"}, "copilot-cli"),
        ({"session_id": "s", "tool_name": "Read"}, "claude-code"),
    ],
)
def test_who_runs_hooks_that_were_registered_for_another_is_told_by_the_payload(
    payload: dict[str, Any], speaker: str
) -> None:
    assert event("PostToolUse", "claude-code", **payload).agent == speaker


def test_what_an_agent_says_in_our_words_already_stays() -> None:
    found = event("Stop", "cursor", session_id="ours", conversation_id="theirs", last_assistant_message="x")
    assert found.session == "ours"
    assert found.payload["conversation_id"] == "theirs"


@pytest.mark.parametrize("arguments", ["not json", "[1]", '"x"', "{" * 2000])
def test_arguments_that_are_no_object_are_kept_as_text(arguments: str) -> None:
    found = event("PostToolUse", "copilot-cli", sessionId="s", toolName="x", toolArgs=arguments)
    assert found.payload["tool_input"] == {"text": arguments}


def test_what_we_gave_is_an_event_of_its_own_kind() -> None:
    found = event(
        "Injection", "claude-code", hook_event_name="Injection", session_id="s", cwd="/shop", tokens=5
    )
    assert found.kind is EventKind.INJECTION
