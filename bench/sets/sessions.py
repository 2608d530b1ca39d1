"""Real coding sessions as a set: the sessions of a repository, its commits, and copies fit to be searched.

Reads a folder `<repository>/<agent>/<session>.jsonl` with a list of commits, or a git directory whose branch
`entire/checkpoints/v1` keeps the sessions behind its commits. Copies lack the calls that committed: the
commit's own words would answer the question.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BRANCH = "entire/checkpoints/v1"
CUT = "(cut)"
# The folder's name of an agent, where it is not the agent's own; and how checkpoints call agents.
AGENTS = {
    "agent": "claude-code",
    "claude code": "claude-code",
    "gemini cli": "gemini-cli",
}
_NUMBER = re.compile(r" \(#\d+\)$")  # a merged pull request adds it to the subject
_COMMITS = re.compile(r"\bgit\b[^\n|;&]*\bcommit\b|\bgh\s+pr\s+create\b")
_TRAILER = re.compile(r"^Entire-Checkpoint: *([0-9a-zA-Z]{12,32})\s*$", re.MULTILINE)
_GIVEN = frozenset(("command", "cmd", "script", "arguments", "args", "input", "parsed_cmd", "description"))
_IDS = ("id", "tool_use_id", "call_id", "callID", "toolCallId", "tool_call_id", "callId")
_TOLD = frozenset(
    """output stdout stderr aggregated_output formatted_output content result resultDisplay response
    toolUseResult detailedContent metadata text""".split()
)


@dataclass(frozen=True)
class Made:
    """A commit and the sessions it came from."""

    subject: str
    sessions: frozenset[str]
    at: str = ""


@dataclass
class Repository:
    """The sessions of one repository, by agent, and its commits."""

    name: str
    files: list[tuple[str, Path]] = field(default_factory=list)  # agent, transcript
    commits: list[Made] = field(default_factory=list)


def from_folder(folder: Path, commits: Path | None = None) -> list[Repository]:
    """Every repository below a folder."""
    made: dict[str, Repository] = {}
    for path in sorted(folder.glob("*/*/*.jsonl")):
        name = path.parent.parent.name
        agent = AGENTS.get(path.parent.name, path.parent.name)
        made.setdefault(name, Repository(name)).files.append((agent, path))
    for line in commits.read_text("utf-8").splitlines() if commits is not None else ():
        told = json.loads(line)
        if told["repo"] in made:
            made[told["repo"]].commits.append(
                Made(_NUMBER.sub("", told["subject"]), frozenset(told["sessions"]), told.get("at", ""))
            )
    return list(made.values())


def from_git(directory: Path, scratch: Path) -> Repository:
    """The sessions that a repository keeps on its branch of checkpoints, and the commits that name them.

    A checkpoint's folder is its id after the first two characters: `ab/cdef…/metadata.json`, and one
    numbered folder a session with `metadata.json` and `full.jsonl` (continued in `full.jsonl.001`). A later
    checkpoint holds the session from its beginning, so the longest transcript of each is taken.
    """
    name = directory.resolve().name.removesuffix(".git")
    tree = next(
        (ref for ref in (BRANCH, f"origin/{BRANCH}") if _git(directory, "rev-parse", "-q", "--verify", ref)),
        "",
    )
    if not tree:
        raise SystemExit(f"{directory} has no branch {BRANCH}")
    found = Repository(name)
    longest: dict[str, tuple[str, str]] = {}
    of_checkpoint: defaultdict[str, set[str]] = defaultdict(set)
    paths = _git(directory, "ls-tree", "-r", "--name-only", tree).splitlines()
    for path in paths:
        parts = path.split("/")
        if len(parts) != 4 or parts[3] != "metadata.json":
            continue
        told = json.loads(_git(directory, "show", f"{tree}:{path}"))
        stem = path.removesuffix("metadata.json") + "full.jsonl"
        pieces = sorted(one for one in paths if one == stem or one.startswith(stem + "."))
        text = "\n".join(_git(directory, "show", f"{tree}:{piece}").rstrip("\n") for piece in pieces)
        session = str(told.get("session_id") or "")
        if not session or not text:
            continue
        of_checkpoint[parts[0] + parts[1]].add(session)
        if len(text) > len(longest.get(session, ("", ""))[1]):
            agent = str(told.get("agent") or "claude-code").lower()
            longest[session] = (AGENTS.get(agent, agent.replace(" ", "-")), text)
    for session, (agent, text) in longest.items():
        path = scratch / name / agent / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", "utf-8")
        found.files.append((agent, path))
    log = _git(
        directory, "log", "--branches", "--remotes", f"--exclude={BRANCH}", "--format=%x1e%s%x1f%cI%x1f%B"
    )
    for entry in log.split("\x1e")[1:]:
        subject, at, body = entry.split("\x1f", 2)
        sessions = {one for id_ in _TRAILER.findall(body) for one in of_checkpoint.get(id_, ())}
        if sessions:
            found.commits.append(Made(_NUMBER.sub("", subject), frozenset(sessions), at))
    return found


def _git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


# --- copies without what committed


def copied(repository: Repository, target: Path) -> int:
    """Write copies of the sessions without the calls that committed; returns how many calls were cut."""
    cut = 0
    for agent, path in repository.files:
        place = target / agent / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        documents = list(_documents(path))
        ids = {id_ for document in documents for id_ in _committing(document)}
        cut += len(ids)
        cleaned = (_without(document, ids) for document in documents)
        place.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in cleaned), "utf-8")
    return cut


def _documents(path: Path) -> Iterator[Any]:
    """Lines of JSON, or one document over many lines."""
    text = path.read_text("utf-8", "replace")
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _committing(value: Any) -> Iterator[str]:
    """The ids of calls that ran `git commit` or `gh pr create`."""
    if isinstance(value, dict):
        if any(_COMMITS.search(_text(value[key])) for key in _GIVEN & value.keys()):
            yield from (str(value[key]) for key in _IDS if value.get(key))
        inner: Iterable[Any] = value.values()
    else:
        inner = value if isinstance(value, list) else ()
    for one in inner:
        yield from _committing(one)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _without(value: Any, ids: set[str]) -> Any:
    if isinstance(value, list):
        return [_without(one, ids) for one in value]
    if not isinstance(value, dict):
        return value
    if any(isinstance(value.get(key), str) and value[key] in ids for key in _IDS):
        return {
            key: _emptied(one) if key in _GIVEN | _TOLD else _without(one, ids) for key, one in value.items()
        }
    if any(_refers(one, ids) for one in _blocks(value)):  # what stands beside the result repeats it
        value = {key: CUT if key == "toolUseResult" else one for key, one in value.items()}
    return {key: _without(one, ids) for key, one in value.items()}


def _blocks(value: dict[str, Any]) -> list[Any]:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _refers(block: Any, ids: set[str]) -> bool:
    return isinstance(block, dict) and block.get("tool_use_id") in ids


def _emptied(value: Any) -> Any:
    """The same shape without a word."""
    if isinstance(value, str):
        return json.dumps({"command": "true"}) if value.lstrip().startswith("{") else "true"
    if isinstance(value, dict):
        return {key: _emptied(one) for key, one in value.items()}
    return [_emptied(one) for one in value] if isinstance(value, list) else value
