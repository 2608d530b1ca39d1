"""Private files are captured by name only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from claude_memory.capture.withhold import is_private, withhold

CONTENT = "the-very-content"


def call(tool: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tool_name": tool, "tool_use_id": "t1", "tool_input": given, "tool_response": CONTENT, **more}


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        "/shop/.env.production",
        "~/.claude/credentials.md",
        "/home/dev/.claude/setup.md",
        "C:\\Users\\dev\\.claude\\setup.md",
        "server.pem",
        "/home/dev/.ssh/id_rsa",
        "id_ed25519",
        "tls.KEY",
        "~/.ssh/config",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "/home/dev/.kube/config",
        "kubeconfig",
        "~/.aws/credentials",
        "~/.docker/config.json",
    ],
)
def test_private_names(name: str) -> None:
    assert is_private(name)


@pytest.mark.parametrize(
    "name",
    ["src/env.py", "docs/setup.md", ".env.example", "id_rsa.pub", "keyboard.ts", "config", "src/keys.go", ""],
)
def test_ordinary_names(name: str) -> None:
    assert not is_private(name)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "/shop/.env"}),
        ("Write", {"file_path": "/shop/.env", "content": CONTENT}),
        ("Edit", {"file_path": "/shop/.env", "old_string": CONTENT, "new_string": CONTENT}),
        ("MultiEdit", {"file_path": "/shop/.env", "edits": [{"new_string": CONTENT}]}),
        ("Grep", {"path": "/shop/.env", "pattern": "KEY"}),
        ("Bash", {"command": "cat .env"}),
        ("Bash", {"command": "cd /shop && head -3 '.env'|sort"}),
        ("Bash", {"command": f"echo {CONTENT} >> .env"}),
        ("Bash", {"command": f"cat > .env <<EOF\nA={CONTENT}\nEOF"}),
    ],
)
def test_the_name_stays_and_the_content_goes(tool: str, given: dict[str, Any]) -> None:
    kept = withhold(call(tool, given, error=CONTENT))
    assert CONTENT not in json.dumps(kept)
    assert kept["tool_use_id"] == "t1"
    if "file_path" in given:
        assert kept["tool_input"]["file_path"] == "/shop/.env"


def test_other_files_keep_their_content() -> None:
    ordinary = call("Read", {"file_path": "/shop/src/app.py"})
    assert withhold(ordinary) == ordinary


def test_each_call_of_a_batch_is_judged_by_itself() -> None:
    batch = {"tool_calls": [call("Read", {"file_path": ".env"}), call("Read", {"file_path": "a.py"})]}
    first, second = withhold(batch)["tool_calls"]
    assert "tool_response" not in first
    assert second["tool_response"] == CONTENT


@pytest.mark.parametrize("pattern", ["secret", "/shop/secret", "/shop/secret/*", "secret/**", "*.sql"])
def test_excluded_files_are_captured_by_name(pattern: str) -> None:
    kept = withhold(call("Read", {"file_path": "/shop/secret/dump.sql"}), [pattern])
    assert CONTENT not in json.dumps(kept)
    assert withhold(call("Read", {"file_path": "/shop/open/x.py"}), [pattern])["tool_response"] == CONTENT


def test_nothing_said_in_an_excluded_folder_is_kept() -> None:
    kept = withhold({"cwd": "/srv/client/app", "session_id": "s", "prompt": CONTENT}, ["/srv/client"])
    assert kept == {"cwd": "/srv/client/app", "session_id": "s"}


def test_what_our_own_tools_answered_is_not_stored_again() -> None:
    for own in (
        call("mcp__plugin_claude-memory_memory__search_memory", {"query": "jwt"}),
        call("Bash", {"command": "claude-memory search jwt"}),
    ):
        kept = withhold(own)
        assert "tool_response" not in kept
        assert kept["tool_input"] == own["tool_input"]


@pytest.mark.parametrize(
    "command",
    [
        "cat .env*",
        "cat .e??",
        "cat ~/.ss*/id_*",
        "cat config/{.env,readme}.local",
        "cat .{env,npmrc}",
        "cat id_{rsa,ed25519}",
        "head -3 *.pem",
        'cat .e""nv',
        "cat .e\\nv",
        "cat '.e'nv",
        "cat /proc/self/environ",
        "sudo cat /etc/shadow",
        "cat ~/.config/gcloud/application_default_credentials.json",
        "ls ~/.azure && cat ~/.azure/msal_token_cache.json",
    ],
)
def test_a_command_reaches_no_private_file_by_another_spelling(command: str) -> None:
    assert CONTENT not in json.dumps(withhold(call("Bash", {"command": command})))
    assert CONTENT not in json.dumps(withhold(call("shell", {"command": ["bash", "-lc", command]})))


@pytest.mark.parametrize(
    "given",
    [
        {"target_file": ".env"},
        {"absolutePath": "/home/dev/.ssh/id_rsa"},
        {"paths": ["README.md", "/home/dev/.aws/credentials"]},
        {"uri": "file:///shop/.env"},
        {"files": [{"path": ".npmrc"}]},
        {"requests": [{"file_path": ".env.local", "old": "a"}]},
        {"source": "~/.vault-token", "destination": "/tmp/x"},
        {"args": ["-n", ".pgpass"]},
    ],
)
def test_other_tools_name_their_files_otherwise(given: dict[str, Any]) -> None:
    assert CONTENT not in json.dumps(withhold(call("read_many", given)))


@pytest.mark.parametrize(
    "command",
    [
        "cat *",
        "ls *.py src/**/*.ts",
        "cat {a,b}.md",
        "git log --format='%an'",
        "npm run clear_history",
        "rm -rf build/*",
    ],
)
def test_ordinary_patterns_withhold_nothing(command: str) -> None:
    assert CONTENT in json.dumps(withhold(call("Bash", {"command": command})))


def test_braces_without_end_cost_no_time() -> None:
    command = "cat " + "{" * 3_000 + "a,b" + "}" * 3_000 + " {" + ",".join("ab" for _ in range(60)) + "}" * 9
    assert CONTENT in json.dumps(withhold(call("Bash", {"command": command})))
