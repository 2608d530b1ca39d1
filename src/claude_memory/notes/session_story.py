"""What a session was, read from its events: asked, decided, made, failed and solved, left open. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from claude_memory.model import Event, EventKind
from claude_memory.notes.triggers import scan
from claude_memory.understand.speaker import Speaker, of_event
from claude_memory.understand.titles import says_something, title_of
from claude_memory.understand.tools import DONE, DROPPED, is_list, items

SETTLING = ("decision", "architecture", "correction")
EDITING_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
MAX_DECISIONS = 8
MAX_THREADS = 6
MAX_LESSONS = 5
_WHY = re.compile(r"[,;]?\s*\b(?:because|since|so that|otherwise|—|–)\s+(.{5,200})$", re.IGNORECASE)
_OPEN_HEAD = re.compile(
    r"^[#*\s]*(?:next steps?|remaining|still open|open (?:points|threads|questions|issues)|to ?do|left to do)"
    r"\b[:*\s]*(.*)$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(?:\[ \]\s+)?(.{4,200})$")


@dataclass(frozen=True, slots=True)
class Story:
    """A session in a few words. Empty asked: nothing meaningful happened."""

    asked: tuple[str, ...] = ()
    answered: str = ""
    decisions: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()
    todos: tuple[tuple[str, bool], ...] = ()
    lessons: tuple[str, ...] = ()
    open_threads: tuple[str, ...] = ()

    @property
    def is_meaningful(self) -> bool:
        """Whether the session is worth a line."""
        return bool(self.asked) and bool(self.answered or self.files or self.decisions)

    @property
    def title(self) -> str:
        """What it was about."""
        return title_of(self.asked[0]) if self.asked else ""

    @property
    def summary(self) -> str:
        """What was asked first and last, and how it ended."""
        parts = [title_of(self.asked[0])] if self.asked else []
        if len(self.asked) > 1:
            parts.append(f"later: {title_of(self.asked[-1])}")
        if self.answered:
            parts.append(f"ended with: {title_of(self.answered)}")
        return "; ".join(parts)


def story_of(events: Sequence[Event]) -> Story:
    """The story of events in their order."""
    heard = [of_event(event) for event in events if event.kind is EventKind.PROMPT]
    prompts = [said.words.strip() for said in heard if said.speaker is Speaker.PERSON]
    asked = tuple(text for text in prompts if says_something(text))
    replies = [_text(event, "last_assistant_message") for event in events if event.kind is EventKind.REPLY]
    answered = next((text for text in reversed(replies) if says_something(text)), "")
    todos = _todos(events)
    unfinished = [what for what, done in todos if not done]
    return Story(
        asked=asked,
        answered=answered,
        decisions=tuple(_decisions(prompts))[:MAX_DECISIONS],
        files=tuple(dict.fromkeys(_edited(events))),
        todos=todos,
        lessons=tuple(dict.fromkeys(_lessons(events)))[:MAX_LESSONS],
        open_threads=tuple(dict.fromkeys([*_open(answered), *unfinished]))[:MAX_THREADS],
    )


def _decisions(prompts: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for prompt in prompts:
        for found in scan(prompt):
            text = " ".join(found.text.split())
            if found.label in SETTLING and text not in seen:
                seen.add(text)
                why = _WHY.search(text)
                yield (text[: why.start()], why[1].rstrip(".")) if why else (text, "")


def _edited(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if event.kind is EventKind.TOOL_USE and _text(event, "tool_name") in EDITING_TOOLS:
            given = _input(event)
            name = given.get("file_path") or given.get("notebook_path")
            if isinstance(name, str) and name:
                yield _relative(name, event.cwd)


def _todos(events: Sequence[Event]) -> tuple[tuple[str, bool], ...]:
    """The last list the agent kept; one list replaces the one before."""
    for event in reversed(events):
        if event.kind is EventKind.TOOL_USE and is_list(_text(event, "tool_name")):
            return tuple(
                (text, status in DONE) for text, status in items(_input(event)) if status not in DROPPED
            )
    return ()


def _lessons(events: Sequence[Event]) -> Iterator[str]:
    """A command that failed and later worked: what was changed in between is what helped."""
    failed: dict[str, tuple[int, str]] = {}
    for place, event in enumerate(events):
        command = " ".join(str(_input(event).get("command") or "").split())
        if not command:
            continue
        if event.kind is EventKind.TOOL_FAILURE and event.payload.get("is_interrupt") is not True:
            failed.setdefault(command, (place, _first_line(_text(event, "error"))))
        elif event.kind is EventKind.TOOL_USE and command in failed:
            start, error = failed.pop(command)
            changed = list(dict.fromkeys(_edited(events[start:place])))
            if changed and error:
                names = ", ".join(changed[:4])
                yield f"`{command[:120]}` failed with “{error}”; it worked after a change to {names}"


def _open(reply: str) -> Iterator[str]:
    """What the last reply itself calls open or next."""
    under = False
    for line in reply.splitlines():
        head, item = _OPEN_HEAD.match(line), _ITEM.match(line)
        if head:
            under = True
            if says_something(head[1]):
                yield head[1].strip(" *")[:200]
        elif under and item:
            yield item[1].strip(" *")
        elif line.strip():
            under = False


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [
        line
        for line in lines
        if re.search(r"error|exception|fail|not found|denied|cannot", line, re.IGNORECASE)
    ]
    return (telling or lines or [""])[0][:160]


def _relative(name: str, cwd: str) -> str:
    root = cwd.replace("\\", "/").rstrip("/")
    plain = name.replace("\\", "/")
    return plain[len(root) + 1 :] if root and plain.startswith(root + "/") else plain


def _input(event: Event) -> Mapping[str, Any]:
    given = event.payload.get("tool_input")
    return given if isinstance(given, Mapping) else {}


def _text(event: Event, key: str) -> str:
    value = event.payload.get(key)
    return value if isinstance(value, str) else ""
