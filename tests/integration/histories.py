"""Small histories, true to the agents' formats, for tests: written line by line, nothing copied."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FIRST = datetime(2026, 10, 1, 9, 0, tzinfo=UTC)


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), "utf-8")
    return path


class ClaudeSession:
    """A Claude Code session under construction; ids and times follow from its name."""

    step = timedelta(seconds=7)

    def __init__(self, name: str = "one", cwd: str = "/home/dev/shop", agent: str = "") -> None:
        self.name, self.cwd, self.agent = name, cwd, agent
        self.id = self.uuid("session")
        self.lines: list[dict[str, Any]] = []
        self.moment = FIRST
        self.prompt_id = ""

    def uuid(self, part: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.name}/{part}"))

    def line(self, **fields: Any) -> ClaudeSession:
        self.moment += self.step
        shared = {
            "uuid": self.uuid(f"line-{len(self.lines)}"),
            "timestamp": self.moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": "2.1.325",
            "gitBranch": "main",
        }
        parent = self.lines[-1].get("uuid") if self.lines else None
        side = {"agentId": self.agent} if self.agent else {}
        self.lines.append({"parentUuid": parent, "isSidechain": bool(self.agent), **side, **fields, **shared})
        return self

    def prompt(self, text: str, **fields: Any) -> ClaudeSession:
        self.prompt_id = self.uuid(f"prompt-{len(self.lines)}")
        message = {"role": "user", "content": text}
        return self.line(promptId=self.prompt_id, type="user", message=message, **fields)

    def assistant(self, block: Mapping[str, Any], stop: str | None, **fields: Any) -> ClaudeSession:
        message = {
            "id": f"msg_{self.uuid(f'message-{len(self.lines)}')[:24]}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": stop,
            "usage": {"input_tokens": 120, "output_tokens": 7},
        }
        return self.line(message=message, type="assistant", **fields)

    def says(self, text: str, stop: str | None = "end_turn") -> ClaudeSession:
        return self.assistant({"type": "text", "text": text}, stop)

    def tool(
        self, name: str, given: Mapping[str, Any], answer: str | None, *, failed: bool = False
    ) -> ClaudeSession:
        call = f"toolu_{self.uuid(f'tool-{len(self.lines)}')[:20]}"
        self.assistant({"type": "tool_use", "id": call, "name": name, "input": given}, "tool_use")
        if answer is None:
            return self
        result = {"tool_use_id": call, "type": "tool_result", "content": answer, "is_error": failed}
        message = {"role": "user", "content": [result]}
        extra = {"stdout": answer, "stderr": "", "interrupted": False}
        return self.line(promptId=self.prompt_id, type="user", message=message, toolUseResult=extra)

    def bookkeeping(self) -> ClaudeSession:
        blob = {"role": "user", "content": [{"type": "text", "text": "bookkeeping repeats every prompt"}]}
        self.lines.append({"type": "api-request-blob", "sessionId": self.id, "hash": "e6f1", "message": blob})
        self.lines.append({"type": "mode", "mode": "normal", "sessionId": self.id})
        context = ["injected context about staging-7"]
        attachment = {"type": "hook_additional_context", "content": context, "hookEvent": "SessionStart"}
        return self.line(attachment=attachment, type="attachment")

    def write(self, home: Path, *, name: str | None = None) -> Path:
        folder = home / ".claude" / "projects" / self.cwd.replace("/", "-")
        if self.agent:
            return write_lines(folder / self.id / "subagents" / f"agent-{self.agent}.jsonl", self.lines)
        return write_lines(folder / f"{name or self.id}.jsonl", self.lines)


def ordinary(name: str = "one", cwd: str = "/home/dev/shop") -> ClaudeSession:
    """Two prompts, a tool that fails and one that works, a last word to each."""
    session = ClaudeSession(name, cwd).bookkeeping()
    session.prompt(f"Why does the {name} checkout crash with a coupon?")
    session.says("I will run the tests first.", "tool_use")
    session.tool("Bash", {"command": f"pytest tests/test_{name}.py"}, "KeyError: 'coupon'", failed=True)
    session.tool("Read", {"file_path": f"{cwd}/src/{name}.py"}, "def total(cart):\n    return cart['coupon']")
    session.says(f"The {name} cart has no coupon key when it is empty; total() must ask for it with get.")
    session.prompt("Good. Decide for get with a default of zero, everywhere.").bookkeeping()
    session.tool("Edit", {"file_path": f"{cwd}/src/{name}.py", "old_string": "a", "new_string": "b"}, "done")
    return session.says(f"Changed: every lookup of the {name} coupon has a default of zero now.")


def codex_lines(
    session: str = "0199-codex", cwd: str = "/home/dev/shop", fork_of: str = ""
) -> list[dict[str, Any]]:
    times = iter(f"2026-10-02T08:00:{second:02d}.000Z" for second in range(60))
    meta = {"id": session, "timestamp": "2026-10-02T08:00:00.000Z", "cwd": cwd, "git": {"branch": "main"}}
    if fork_of:
        meta["forked_from_id"] = fork_of

    def item(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": next(times), "type": "response_item", "payload": {"type": kind, **payload}}

    def said(role: str, text: str) -> dict[str, Any]:
        part = "output_text" if role == "assistant" else "input_text"
        return item("message", role=role, content=[{"type": part, "text": text}])

    return [
        {"timestamp": next(times), "type": "session_meta", "payload": meta},
        said("user", "# AGENTS.md instructions for /home/dev/shop\n\nalways answer in verse"),
        said("user", "<environment_context>\n  <cwd>/home/dev/shop</cwd>\n</environment_context>"),
        said("user", "Make the exporter write semicolons instead of commas"),
        {"timestamp": next(times), "type": "event_msg", "payload": {"type": "agent_reasoning", "text": "hm"}},
        item("reasoning", summary=[{"type": "summary_text", "text": "thinking"}]),
        item("function_call", name="shell", arguments='{"command":["bash","-lc","rg delimiter src"]}', call_id="c1"),
        item("function_call_output", call_id="c1", output='{"output":"src/export.py:9","metadata":{"exit_code":0}}'),
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        item("custom_tool_call_output", call_id="c2", output='{"output":"cannot apply","metadata":{"exit_code":1}}'),
        said("assistant", "The exporter now separates its columns by semicolons."),
        {"timestamp": next(times), "type": "compacted", "payload": {"message": "Exporter was changed to semicolons."}},
    ]  # fmt: skip


def gemini_lines(session: str = "gem-1") -> list[dict[str, Any]]:
    at = "2026-10-03T10:00:0{}.000Z".format
    call = {
        "id": "read-1", "name": "read_file", "args": {"path": "src/mail.py"}, "status": "success",
        "timestamp": at(3),
        "result": [{"functionResponse": {"id": "read-1", "response": {"output": "SMTP_PORT = 25"}}}],
    }  # fmt: skip
    answer = {
        "id": "b",
        "timestamp": at(2),
        "type": "gemini",
        "content": "The mailer uses port 25, blocked here.",
    }
    return [
        {
            "sessionId": session,
            "projectHash": "ab12",
            "startTime": at(0),
            "lastUpdated": at(0),
            "kind": "main",
        },
        {
            "id": "a",
            "timestamp": at(1),
            "type": "user",
            "content": [{"text": "Why do no mails leave the server?"}],
        },
        answer,
        {**answer, "toolCalls": [call]},
        {"$set": {"lastUpdated": at(4), "summary": "mail port"}},
        {"$rewindTo": "a"},
        {"id": "c", "timestamp": at(5), "type": "info", "content": "Update available"},
    ]


def factory_lines(session: str = "fac-1", cwd: str = "/home/dev/shop") -> list[dict[str, Any]]:
    def message(id_: str, role: str, *content: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "message", "id": id_, "timestamp": f"2026-10-04T10:00:0{id_}.000Z",
            "message": {"role": role, "content": list(content)},
        }  # fmt: skip

    return [
        {"type": "session_start", "id": session, "title": "Thumbnails", "owner": "dev", "cwd": cwd},
        message("1", "user", {"type": "text", "text": "<system-reminder>be nice</system-reminder>"},
                {"type": "text", "text": "Thumbnails come out upside down, please find out why"}),
        message("2", "assistant", {"type": "text", "text": "Reading the image code."},
                {"type": "tool_use", "id": "f1", "name": "Execute", "input": {"command": "exiftool a.jpg"}}),
        message("3", "user", {"type": "tool_result", "tool_use_id": "f1", "content": "Orientation: 6"}),
        message("4", "assistant", {"type": "text", "text": "The orientation tag of the camera is ignored."}),
    ]  # fmt: skip


def cursor_lines() -> list[dict[str, Any]]:
    def said(role: str, *content: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "message": {"content": list(content)}}

    query = "<user_query>\nRename the billing module to invoicing everywhere\n</user_query>"
    return [
        said("user", {"type": "text", "text": query}),
        said("assistant", {"type": "text", "text": "I look for its uses."},
             {"type": "tool_use", "name": "Grep", "input": {"pattern": "billing"}}),
        said("assistant", {"type": "text", "text": "Renamed in fourteen files; the imports are right."}),
    ]  # fmt: skip


def opencode_records() -> tuple[dict[str, Any], list[tuple[dict[str, Any], list[dict[str, Any]]]]]:
    """A session, and its messages with their parts."""
    session = {
        "id": "ses_1",
        "directory": "/home/dev/shop",
        "title": "Locks",
        "time": {"created": 1790000000000},
    }
    asked = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1790000001000}}
    answered = {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1790000002000}}
    state = {
        "status": "error",
        "input": {"command": "flock /tmp/x true"},
        "error": "flock: permission denied",
    }
    return session, [
        (asked, [{"id": "prt_1", "type": "text", "text": "Why do two workers take the same lock?"}]),
        (answered, [
            {"id": "prt_2", "type": "step-start"},
            {"id": "prt_3", "type": "tool", "callID": "o1", "tool": "bash", "state": state},
            {"id": "prt_4", "type": "text", "text": "The lock file lies on a share that ignores locks."},
        ]),
    ]  # fmt: skip


def write_opencode_tree(storage: Path) -> Path:
    session, messages = opencode_records()
    for message, parts in messages:
        write_json(storage / "message" / "ses_1" / f"{message['id']}.json", message)
        for part in parts:
            write_json(storage / "part" / message["id"] / f"{part['id']}.json", part)
    return write_json(storage / "session" / "project1" / "ses_1.json", session)


def write_opencode_database(path: Path) -> Path:
    import apsw

    path.parent.mkdir(parents=True, exist_ok=True)
    session, messages = opencode_records()
    db = apsw.Connection(str(path))
    db.execute(
        "CREATE TABLE session (id TEXT, project_id TEXT, parent_id TEXT, directory TEXT, time_created INTEGER)"
    )
    db.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
    db.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
    created = session["time"]["created"]
    db.execute("INSERT INTO session VALUES ('ses_1', 'p', NULL, ?, ?)", (session["directory"], created))
    for message, parts in messages:
        data = json.dumps({"role": message["role"], "time": message["time"]})
        db.execute(
            "INSERT INTO message VALUES (?, 'ses_1', ?, ?)", (message["id"], message["time"]["created"], data)
        )
        for part in parts:
            rest = json.dumps({key: value for key, value in part.items() if key != "id"})
            db.execute("INSERT INTO part VALUES (?, ?, 'ses_1', ?)", (part["id"], message["id"], rest))
    db.close()
    return path


def write_json(path: Path, value: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


def write_all_agents(home: Path) -> None:
    """One conversation of each agent, where each keeps its own."""
    ordinary().write(home)
    write_lines(
        home / ".codex/sessions/2026/10/02/rollout-2026-10-02T08-00-00-0199-codex.jsonl", codex_lines()
    )
    write_lines(home / ".gemini/tmp/shop/chats/session-2026-10-03-gem.jsonl", gemini_lines())
    (home / ".gemini/tmp/shop/.project_root").write_text("/home/dev/shop\n")
    write_opencode_database(home / ".local/share/opencode/opencode.db")
    write_lines(home / ".factory/sessions/-home-dev-shop/fac-1.jsonl", factory_lines())
    write_lines(home / ".cursor/projects/home-dev-shop/agent-transcripts/cur-1/cur-1.jsonl", cursor_lines())
    write_lines(home / ".copilot/session-state/cop-1/events.jsonl", copilot_lines())


def copilot_lines(prompt: str = "Which port does the preview server listen on?") -> list[dict[str, Any]]:
    """A Copilot CLI session: a question, a tool, an answer, and one more word after an interruption."""

    def event(number: int, kind: str, **data: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "data": data,
            "id": f"ev-{number}",
            "timestamp": f"2026-10-07T09:00:{number:02}Z",
        }

    place = {"cwd": "/home/dev/shop", "branch": "main"}
    return [
        event(1, "session.start", sessionId="cop-1", context=place),
        event(2, "hook.start", hookType="userPromptSubmitted", input={"prompt": prompt}),
        event(3, "system.message", role="system", content="You are a terminal assistant."),
        event(4, "user.message", content=prompt, transformedContent=f"<now/>{prompt}"),
        event(5, "assistant.message", content="I look it up.", messageId="m1"),
        event(6, "tool.execution_start", toolCallId="t1", toolName="bash", arguments={"command": "ss -l"}),
        event(7, "tool.execution_complete", toolCallId="t1", success=True, result={"content": "8123"}),
        event(8, "assistant.message", content="It listens on 8123.", messageId="m2"),
        event(9, "user.message", content="Skill body", source="skill-ports"),
        event(10, "abort", reason="user_initiated"),
        event(11, "user.message", content="No, the other server."),
    ]
