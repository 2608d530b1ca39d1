"""Planted secrets on every path that writes: afterwards no byte of the home holds one that the rules know.

Every command of the command line with every option that takes a text, every tool with every field, every
hook, every reader, notes, tasks, backups, logs, caches and what was rejected. A path is as tight as the
rules: what a rule knows is found nowhere, whichever field it was put in.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backup_steps import create
from tests.integration import histories
from tests.integration.mcp_talk import Caller, in_process, words_only
from tests.quality.hostile_secrets import hostile, vendor_tokens
from tests.quality.secret_samples import Sample, samples
from typer.main import get_command

from claude_memory import Memory
from claude_memory.hook.claude_memory_hook import spool
from claude_memory.model import SearchScope
from claude_memory.redact import redact
from claude_memory.surfaces.cli import app, main
from claude_memory.surfaces.hooks.answers import respond
from claude_memory.transcripts import readers

HOSTILE = hostile(values=1)
TELLING = [*vendor_tokens(), *samples()]
PLANTED = [*HOSTILE, *TELLING]
MIN_SHARE = 0.92
ROUNDS = 6
# They serve, ask or install, and write nothing that was given to them.
NOT_RUN = {"mcp", "hook", "recall", "install", "uninstall", "demo", "init", "doctor", "web"}
EVENTS = ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "PostCompact", "SubagentStop")


def known_to_the_rules(sample: Sample) -> bool:
    return sample.secret not in redact(sample.snippet)


KNOWN = [sample for sample in PLANTED if known_to_the_rules(sample)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = words_only(tmp_path / "memory")
    project = tmp_path / "shop"
    project.mkdir()
    with (home / "config.toml").open("a") as config:
        config.write(f'log_level = "debug"\nknowledge = ["{tmp_path / "notes"}"]\n')
    monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(project)
    return home


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every name and every byte outside the spool's waiting files."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if inner.parts[:2] == ("spool", "new"):
            continue
        yield f"name of {inner}", str(inner).encode()
        if path.is_file():
            content = path.read_bytes()
            yield str(inner), content
            if path.suffix == ".zip":
                with zipfile.ZipFile(path) as archive:
                    for name in archive.namelist():
                        if not name.startswith("spool/"):
                            yield f"{inner}!{name}", archive.read(name)


def leaks(folders: list[Path], planted: list[Sample]) -> dict[str, list[str]]:
    secrets = {sample.secret.encode(): sample.format for sample in planted}
    found: dict[str, list[str]] = {}
    for folder in folders:
        for place, content in everything(folder):
            for secret, name in secrets.items():
                if secret in content:
                    found.setdefault(place, []).append(name)
    return found


def settle(home: Path) -> None:
    with Memory.open(home, Path.cwd()) as memory:
        memory.drain()
        memory.upkeep.prune()
        create(home, memory.store)


# --- the paths


def by_hooks(home: Path, planted: list[Sample]) -> None:
    for number, sample in enumerate(planted):
        event = EVENTS[number % len(EVENTS)]
        text = sample.snippet
        payload: dict[str, Any] = {
            "hook_event_name": event,
            "session_id": str(uuid.UUID(int=number)) if number % 5 else f"s {text}"[:180],
            "cwd": str(Path.cwd()) if number % 7 else f"/srv/{text}",
            "prompt_id": f"p{number}",
            "prompt": f"We decided: {text}",
            "tool_use_id": f"t{number}",
            "tool_name": "Bash",
            "tool_input": {"command": text, "description": text, "nested": [{"note": text}]},
            "tool_response": {"stdout": text, "lines": [text]},
            "error": f"Exit code 1\n{text}",
            "last_assistant_message": f"I use PostgreSQL because {text}",
            "compact_summary": f"Summary:\n- {text}",
            "agent_id": f"a{number}",
        }
        raw = json.dumps(payload).encode()
        spool(str(home), event, "claude-code", [raw], sync=False)
        if number % 9 == 0:
            spool(
                str(home),
                event,
                "claude-code",
                [f"no document {text}".encode("utf-8", "replace")],
                sync=False,
            )
        if number % 4 == 0:
            answered(home, number, text)


def answered(home: Path, number: int, text: str) -> None:
    common = {"session_id": f"live-{number % 3}", "cwd": str(Path.cwd())}
    prompt = {
        **common,
        "hook_event_name": "UserPromptSubmit",
        "prompt": f"No, use tabs. We decided on {text}",
    }
    agent = {
        **common,
        "hook_event_name": "PreToolUse",
        "tool_name": "Agent",
        "tool_use_id": f"u{number}",
        "tool_input": {"prompt": f"Look at it: {text}", "subagent_type": "Explore"},
    }
    started = {
        **common,
        "hook_event_name": "SubagentStart",
        "agent_type": "Explore",
        "agent_id": f"x{number}",
    }
    for event in (prompt, agent, started):
        respond(str(event["hook_event_name"]), json.dumps(event).encode(), home)


def by_imports(home: Path, planted: list[Sample]) -> None:
    root = home.parent
    for number, sample in enumerate(planted):
        text, id_ = sample.snippet, str(uuid.UUID(int=1000 + number))
        for write in READERS:
            write(root, id_, text, number)
    run("import")
    with Memory.open(home, Path.cwd()) as memory:
        found = memory.archive.conversations(SearchScope(None), limit=100_000)
        assert {one.agent for one in found} == set(readers.READERS)


def claude_history(root: Path, id_: str, text: str, number: int) -> None:
    shared = {"sessionId": id_, "cwd": str(Path.cwd()), "gitBranch": text[:150], "version": "2.1.0"}
    stamp = f"2026-10-01T09:{number // 60 % 60:02}:{number % 60:02}.000Z"
    lines = [
        {
            "type": "user",
            "uuid": f"{id_}-1",
            "timestamp": stamp,
            "message": {"role": "user", "content": text},
        },
        {
            "type": "assistant",
            "uuid": f"{id_}-2",
            "timestamp": stamp,
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": f"we use {text}"},
                    {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": text}},
                ],
            },
        },
        {
            "type": "user",
            "uuid": f"{id_}-3",
            "timestamp": stamp,
            "message": {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": f"c{number}", "content": text, "is_error": True}
                ],
            },
        },
    ]
    path = root / ".claude" / "projects" / "-shop" / f"{id_}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({**line, **shared}) + "\n" for line in lines), "utf-8")


def codex_history(root: Path, id_: str, text: str, number: int) -> None:
    stamp = f"2026-10-02T09:{number // 60 % 60:02}:{number % 60:02}.000Z"
    items = [
        ("session_meta", {"id": id_, "timestamp": stamp, "cwd": str(Path.cwd()), "cli_version": "1"}),
        (
            "response_item",
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
        ),
        (
            "response_item",
            {
                "type": "function_call",
                "name": "shell",
                "call_id": f"k{number}",
                "arguments": json.dumps({"command": ["bash", "-c", text]}),
            },
        ),
        ("response_item", {"type": "function_call_output", "call_id": f"k{number}", "output": f"ok\n{text}"}),
        (
            "response_item",
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
        ),
    ]
    path = root / ".codex" / "sessions" / "2026" / "10" / "02" / f"rollout-2026-10-02T09-00-00-{id_}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ({"timestamp": stamp, "type": kind, "payload": payload} for kind, payload in items)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def gemini_history(root: Path, id_: str, text: str, number: int) -> None:
    lines = planted_in(histories.gemini_lines(id_), text)
    histories.write_lines(root / f".gemini/tmp/shop/chats/session-{number}.jsonl", lines)


def factory_history(root: Path, id_: str, text: str, number: int) -> None:
    lines = planted_in(histories.factory_lines(id_, str(Path.cwd())), text)
    histories.write_lines(root / f".factory/sessions/-shop/{id_}.jsonl", lines)


def cursor_history(root: Path, id_: str, text: str, number: int) -> None:
    lines = planted_in(histories.cursor_lines(), text)
    histories.write_lines(root / f".cursor/projects/shop/agent-transcripts/{id_}/{id_}.jsonl", lines)


def opencode_history(root: Path, id_: str, text: str, number: int) -> None:
    storage, id_ = root / ".local/share/opencode/storage", f"ses_{id_}"
    session, messages = planted_in(histories.opencode_records(), text)
    histories.write_json(storage / f"session/project1/{id_}.json", {**session, "id": id_})
    for message, parts in messages:
        own = f"{message['id']}-{number}"
        histories.write_json(storage / f"message/{id_}/{own}.json", {**message, "id": own, "sessionID": id_})
        for part in parts:
            histories.write_json(storage / f"part/{own}/{part['id']}-{number}.json", part)


def planted_in(value: Any, text: str, name: str = "") -> Any:
    """A history whose every text is this one."""
    if isinstance(value, dict):
        return {key: planted_in(member, text, key) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [planted_in(member, text, name) for member in value]
    said = isinstance(value, str) and name in (
        "text",
        "content",
        "command",
        "pattern",
        "error",
        "title",
        "output",
    )
    return f"see\n{text}" if said else value


def copilot_history(root: Path, id_: str, text: str, number: int) -> None:
    lines = planted_in(histories.copilot_lines(), text)
    lines[0]["data"]["sessionId"] = id_
    for place, line in enumerate(lines):
        line["id"] = f"{id_}-{place}"
    histories.write_lines(root / f".copilot/session-state/{id_}/events.jsonl", lines)


READERS = (
    *(claude_history, codex_history, gemini_history),
    *(factory_history, cursor_history, opencode_history, copilot_history),
)


def by_notes(home: Path, planted: list[Sample]) -> None:
    notes = home.parent / "notes"
    notes.mkdir(exist_ok=True)
    for number, sample in enumerate(planted):
        (notes / f"n{number}-{len(list(notes.iterdir()))}.md").write_text(
            f"# About {number}\n\n{sample.snippet}\n", "utf-8"
        )


def run(*arguments: str) -> None:
    """One command in this process; how it ends does not matter here, only what it wrote."""
    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with quiet[0], quiet[1], contextlib.suppress(SystemExit):
        main(list(arguments))


def commands() -> Iterator[tuple[str, list[Any]]]:
    root: Any = get_command(app.with_commands())
    for name, command in root.commands.items():
        for inner, one in getattr(command, "commands", {"": command}).items():
            if name not in NOT_RUN:
                yield f"{name} {inner}".strip(), one.params


def calls(texts: Iterator[Sample]) -> Iterator[list[str]]:
    """Every command with a text in each place that takes one, one place after the other and all at once."""
    for name, params in commands():
        arguments = [p for p in params if p.param_type_name == "argument"]
        options = [p for p in params if p.param_type_name == "option" and takes_text(p)]
        for chosen in [[], *([p] for p in options)]:
            words = [next(texts).snippet for _ in arguments]
            given = [word for p in chosen for word in (p.opts[0], next(texts).snippet)]
            yield [*name.split(), *given, "--", *words]


def takes_text(param: Any) -> bool:
    return not param.is_flag and param.type.name in ("text", "str", "path", "directory", "file")


def by_command_line(home: Path, planted: list[Sample]) -> None:
    assert home
    texts = itertools.cycle(planted)
    for number, call in enumerate(calls(texts)):
        run(*call)
        if number % 3 == 0:
            run("remember", next(texts).snippet, "--kind", "decision", "--topic", next(texts).snippet)
            run("scratchpad", next(texts).snippet, "--content", next(texts).snippet)


def by_tools(home: Path, planted: list[Sample]) -> None:
    texts = itertools.cycle(planted)

    async def talk(call: Caller) -> None:
        tools = (await call.session.list_tools()).tools
        for turn, tool in itertools.product(range(ROUNDS), tools):
            known = (await call("remember", text=f"round {turn}: {next(texts).snippet}"))["id"]
            fields = tool.input_schema["properties"]
            needed = tool.input_schema.get("required", ())
            # All at once, then each alone with what is needed, so that one refused field hides no other.
            for names in (list(fields), *(sorted({*needed, name}) for name in fields)):
                given = {name: filled(name, fields[name], texts, turn, known) for name in names}
                with contextlib.suppress(Exception):
                    await call.session.call_tool(tool.name, given)

    in_process(home, Path.cwd(), talk)


def filled(name: str, field: dict[str, Any], texts: Iterator[Sample], turn: int, known: str) -> Any:
    """A text in every place that takes one; what must be valid is, for else nothing would be written."""
    shape = json.dumps(field)
    if name in ("id", "supersedes"):
        return known
    if name in ("kind", "at", "deadline"):
        return {"kind": "decision"}.get(name, "in 2 days") if turn % 2 else next(texts).snippet
    if choices := _enum(field):
        return choices[turn % len(choices)]
    if '"array"' in shape:
        return [next(texts).snippet]
    if '"string"' in shape:
        return next(texts).snippet
    return True if '"boolean"' in shape else 1


def _enum(field: dict[str, Any]) -> list[Any]:
    if "enum" in field:
        return list(field["enum"])
    return next((found for part in field.get("anyOf", ()) if (found := _enum(part))), [])


# Which part of the secrets each path is given; the long test gives all of them to every path.
STEPS = {"hooks": 2, "imports": 9, "notes": 1, "command line": 1, "tools": 1}
PATHS: dict[str, Callable[[Path, list[Sample]], None]] = {
    "hooks": by_hooks,
    "imports": by_imports,
    "notes": by_notes,
    "command line": by_command_line,
    "tools": by_tools,
}


def test_there_are_enough_secrets_and_the_rules_know_enough_of_them() -> None:
    assert len(PLANTED) >= 400
    assert [one.format for one in TELLING if not known_to_the_rules(one)] == []
    assert sum(map(known_to_the_rules, HOSTILE)) >= MIN_SHARE * len(HOSTILE)


@pytest.mark.parametrize("path", PATHS)
def test_no_byte_of_a_known_secret_is_left(path: str, home: Path) -> None:
    PATHS[path](home, KNOWN[:: STEPS[path]])
    settle(home)
    cut = sum(content.count(b"[secret:") for _, content in everything(home))
    assert cut >= 200, "this path brought hardly anything in"
    assert leaks([home, Path.cwd() / ".claude-memories"], KNOWN) == {}


@pytest.mark.soak
def test_every_secret_on_every_path(home: Path) -> None:
    for plant in PATHS.values():
        for start in range(0, len(KNOWN), 60):
            plant(home, KNOWN[start : start + 60])
        settle(home)
    assert leaks([home, Path.cwd() / ".claude-memories"], KNOWN) == {}
