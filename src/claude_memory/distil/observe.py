"""From an event to at most one memory of it: what a person asked, an agent answered, a tool failed at.

Pure. Leaves out what carries nothing (slash commands, acknowledgements); never sums up or judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from claude_memory.model import Event, EventKind, Kind, StoredMemory, Trust, memory_id
from claude_memory.understand.speaker import Manner, Speaker, Verdict, of_hook, of_prompt

TITLE_CHARACTERS = 80
ERROR_CHARACTERS = 2000
COMMAND_CHARACTERS = 1000
MAX_FILES = 20

_SOURCES = {
    EventKind.PROMPT: ("prompt", Kind.OBSERVATION, Trust.USER),
    EventKind.REPLY: ("last_assistant_message", Kind.OBSERVATION, Trust.AGENT),
    EventKind.SUBAGENT_RESULT: ("last_assistant_message", Kind.OBSERVATION, Trust.AGENT),
    EventKind.COMPACTION: ("compact_summary", Kind.SUMMARY, Trust.AGENT),
}
# Where an event that was drawn up from a transcript says who speaks.
SPEAKER, MANNER = "speaker", "manner"
_OTHERS = frozenset(Speaker) - {Speaker.PERSON}
_MANNERS = frozenset(Manner)
_HOOKS = {
    EventKind.PROMPT: "UserPromptSubmit",
    EventKind.REPLY: "Stop",
    EventKind.SUBAGENT_RESULT: "SubagentStop",
    EventKind.COMPACTION: "PostCompact",
    EventKind.TOOL_USE: "PostToolUse",
    EventKind.TOOL_FAILURE: "PostToolUseFailure",
}
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}][^\W{_CJK}'’]*")
_ACKNOWLEDGING = frozenset(
    """yes yeah yep yup no nope ok okay k sure right correct exactly agreed fine good great perfect nice cool
    excellent awesome wonderful thanks thank you thx ty please continue proceed go ahead on do it this that
    that's thats is the a and so then now again looks sounds lgtm works done all ready keep going next
    approved confirmed got understood absolutely certainly just carry resume stop wait i see we can very much
    let's lets me""".split()
)
_FENCE = re.compile(r"\s*(```|~~~)")
_DECORATION = re.compile(r"^[\s#>*_+\-=|`~•]+|[\s*_`#]+$")
_EXTENSIONS = """py pyi ipynb js jsx mjs cjs ts tsx vue svelte go rs java kt kts scala c h cc cpp hpp cs rb
    php swift m sh bash zsh ps1 sql md rst txt json jsonl yaml yml toml ini cfg conf lock xml html css scss
    proto graphql tf gradle lua pl ex exs erl hs dart r jl csv tsv log env mk cmake""".split()
_PATH_KEYS = ("file_path", "notebook_path", "path")


def observe(event: Event) -> list[StoredMemory]:
    """The memory an event leaves, if it says anything."""
    if event.kind is EventKind.TOOL_FAILURE:
        body = _failure(event.payload)
        return [_memory(event, Kind.OBSERVATION, Trust.TOOL, body)] if body else []
    if event.kind not in _SOURCES:
        return []
    key, kind, trust = _SOURCES[event.kind]
    body = _text(event.payload, key).strip()
    if event.kind is EventKind.PROMPT:
        said = of_event(event)
        if said.speaker is Speaker.HARNESS:
            return []  # the archive keeps it; a task's result is observed when it is reported as such
        trust = Trust.USER if said.speaker is Speaker.PERSON else Trust.AGENT
        body = said.words.strip()
    return [_memory(event, kind, trust, body)] if says_something(body) else []


def of_event(event: Event) -> Verdict:
    """Who speaks in an event: what its transcript told, else what its hook's payload tells."""
    heard = of_hook({"hook_event_name": _HOOKS.get(event.kind, ""), **event.payload})
    told, manner = _text(event.payload, SPEAKER), _text(event.payload, MANNER)
    if told in _OTHERS and manner in _MANNERS:
        return heard._replace(speaker=Speaker(told), manner=Manner(manner))
    return heard


def says_something(text: str) -> bool:
    """Whether a text is worth recalling: spoken words, at least three, not just assent."""
    if not is_spoken(text):
        return False
    said = False
    for count, word in enumerate(_WORD.finditer(text[:2000]), 1):
        said = said or word.group().lower().replace("’", "'") not in _ACKNOWLEDGING
        if said and count >= 3:
            return True
    return False


def is_spoken(text: str) -> bool:
    """Whether a person said it, as far as the text alone tells."""
    return of_prompt(text).speaker is Speaker.PERSON


def title_of(text: str) -> str:
    """The first line that says something, without decoration, within 80 characters."""
    line = " ".join(_telling_line(text).split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    head = line[: TITLE_CHARACTERS - 1]
    space = head.rfind(" ", TITLE_CHARACTERS // 2)
    return head[: space if space != -1 else None].rstrip(" ,;:") + "…"


def _telling_line(text: str) -> str:
    outside = (_DECORATION.sub("", line) for line in _outside_fences(text))
    if (line := next(filter(_WORD.search, outside), None)) is not None:
        return line
    fenced = [] if any(True for _ in _outside_fences(text)) else text.splitlines()
    return next(filter(_WORD.search, fenced), text.strip())


def files_in(text: str, cwd: str = "") -> tuple[str, ...]:
    """Files a text names, each once; those under `cwd` relative to it."""
    if "." not in text:
        return ()
    ending, whole = _file_patterns()
    if ending.search(text) is None:  # most texts name none, and the whole pattern is slow to find that out
        return ()
    found = dict.fromkeys(_relative(name, cwd) for name in whole.findall(text))
    return tuple(found)[:MAX_FILES]


def _memory(event: Event, kind: Kind, trust: Trust, body: str) -> StoredMemory:
    return StoredMemory(
        id=memory_id(f"event:{event.id}"),
        project=event.project,
        kind=kind,
        title=title_of(body),
        body=body,
        created_at=event.timestamp,
        updated_at=event.timestamp,
        trust=trust,
        session=event.session,
        files=_files(event, body),
        provenance={"source": "hook", "event": event.id},
    )


def _failure(payload: Mapping[str, Any]) -> str:
    error = _text(payload, "error").strip()
    if not error or payload.get("is_interrupt") is True:
        return ""
    given = payload.get("tool_input")
    given = given if isinstance(given, Mapping) else {}
    subject = _text(given, "command") or next(_named(given), "") or _text(given, "description")
    tool = _text(payload, "tool_name") or "tool"
    return f"{tool} failed: {subject[:COMMAND_CHARACTERS]}\n{error[:ERROR_CHARACTERS]}"


def _files(event: Event, body: str) -> tuple[str, ...]:
    given = event.payload.get("tool_input")
    named = _named(given) if isinstance(given, Mapping) else iter(())
    found = dict.fromkeys([*(_relative(name, event.cwd) for name in named), *files_in(body, event.cwd)])
    return tuple(found)[:MAX_FILES]


def _named(given: Mapping[str, Any]) -> Iterator[str]:
    return (text for key in _PATH_KEYS if (text := _text(given, key)))


@cache
def _file_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The end of a file's name, and the whole of it; slow to compile, and many a text names none."""
    endings = "|".join(sorted(_EXTENSIONS, key=len, reverse=True))
    whole = (
        r"(?<![\w/\\.:@-])((?:~|\.{1,2}|[A-Za-z]:)?[/\\]?(?:[\w.@+-]+[/\\])*[\w.@+-]*\w\.(?:"
        + endings
        + r"))(?![\w/\\-])"
    )
    return re.compile(rf"\.(?:{endings})(?![\w/\\-])"), re.compile(whole)


def _relative(name: str, cwd: str) -> str:
    name, root = name.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    if root and name.startswith(root + "/"):
        return name[len(root) + 1 :]
    return name.removeprefix("./")


def _outside_fences(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield line


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""
