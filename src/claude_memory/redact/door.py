"""The door that every text passes before it reaches a disk outside the spool, whatever field it stands in.

Cuts `<private>…</private>` (nested, unclosed, running across strings) and secrets, from a text or from every
string and key of a JSON document. Most of what comes by was cut already. Passing twice changes nothing, so
whoever is not sure passes its text once more.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from claude_memory.redact.engine import RE2, STANDARD, Engine, cut_secrets, find, replaced, shadow_of

MARK = "[private]"

# Privacy wins over convenience: whatever reads as an opening tag opens a span, in backticks, in code or
# self-closing too, and a span that nobody closes runs to the end of the document. `&lt;private&gt;` is text
# about the tag and stays. A closing tag without an opening one stays as it is.
# Every repetition is bounded or excludes what may follow it, so matching stays linear. A mark inside a
# would-be tag is never an attribute: otherwise a second pass could see a tag that the first one made.
_TAG = re.compile(
    r"(?:<|\\+u003c|\\+x3c)\s{0,8}(?P<close>/|\\+/)?\s{0,8}private"
    r"(?:[\s/](?:[^<>\[\\]|\[(?!private\]|secret:)|\\(?!u003[ce]|x3[ce])){0,200})?"
    r"(?:>|\\+u003e|\\+x3e)",
    re.IGNORECASE,
)


class PrivateSpans:
    """Follows the tags through the strings of one document, in order."""

    def __init__(self) -> None:
        self.depth = 0

    def cut(self, text: str) -> str:
        """The string without its private parts; each part leaves one mark."""
        if self.depth == 0 and "private" not in text.lower():
            return text
        kept: list[str] = []
        place = 0
        if self.depth and text:
            kept.append(MARK)
        for tag in _TAG.finditer(text):
            if self.depth == 0:
                if tag["close"]:
                    continue
                kept += (text[place : tag.start()], MARK)
            self.depth += -1 if tag["close"] else 1
            place = tag.end()
        if self.depth == 0:
            kept.append(text[place:])
        return "".join(kept)


# Names and ids that the agent itself writes at the top of an event. An unclosed tag in a tool's input must
# not take the identity of the event with it; everything a person or a tool said is cut all the same.
ENVELOPE_IDS = frozenset(
    """session_id hook_event_name tool_use_id tool_name prompt_id agent_id agent_type uuid parentUuid
    sessionId type timestamp version source trigger permission_mode""".split()
)
ENVELOPE_NAMES = ENVELOPE_IDS | frozenset(
    """cwd transcript_path prompt tool_input tool_response tool_result message content error reason
    stop_hook_active custom_instructions last_assistant_message""".split()
)
_CONTEXT_LIMIT = 64
# `{"name": "DB_PASSWORD", "value": …}`, `{"password": {"value": …}}`, `{"Password": {"S": …}}`
_NAMING_KEYS = ("name", "key", "field", "label", "header", "id", "title", "Name", "Key", "Label", "Field")
_VALUE_KEYS = frozenset(
    """value Value val content text data stringValue string_value plainText plain raw default v S s""".split()
)
_JWK_SECRETS = frozenset("d p q dp dq qi k".split())
_ARGUMENT_CHARACTERS = 8_000
_FLAG = re.compile(r"--?[A-Za-z][\w-]*|[A-Za-z][\w.-]*:?")


def redact(text: str, *, using: Engine = RE2) -> str:
    """One text without its private spans and secrets; each leaves a mark that says what it was."""
    return cut_secrets(PrivateSpans().cut(text), using=using)


def redact_document(value: Any) -> Any:
    """A JSON value without its private spans and secrets, of the same structure.

    A span may open in one string and close in a later one. Inside it every key and every value but the
    agent's own ids is replaced; numbers too. A key gives its value context: `{"password": "…"}`.
    """
    spans = PrivateSpans()
    # Containers are rebuilt as they are met, so order is document order; without recursion, so that no depth
    # of nesting can exhaust the stack.
    unfinished: list[tuple[Iterator[Any], Any]] = []

    def secrets_cut(text: str, name: str) -> str:
        return cut_secrets(text, name if len(name) <= _CONTEXT_LIMIT else "")

    def cut(value: Any, name: str) -> Any:
        if isinstance(value, str):
            return secrets_cut(spans.cut(value), name)
        if isinstance(value, dict):
            unfinished.append((_members(value, name), {}))
        elif isinstance(value, list | tuple):
            unfinished.append((_elements(_arguments(value), name), []))
        else:
            return value if spans.depth == 0 or value is None else MARK
        return unfinished[-1][1]

    result = cut(value, "")
    while unfinished:
        items, target = unfinished[-1]
        item = next(items, None)
        if item is None:
            unfinished.pop()
        elif isinstance(target, list):
            name, element = item
            target.append(cut(element, name))
        else:
            key, member, name = item
            known = len(unfinished) == 1 and isinstance(key, str) and key in ENVELOPE_NAMES
            kept = key if known else _unused(cut(key, ""), target)
            if known and key in ENVELOPE_IDS and spans.depth:
                target[kept] = secrets_cut(member, "") if isinstance(member, str) else member
            else:
                target[kept] = cut(member, name or (key if isinstance(key, str) else ""))
    return result


def _arguments(value: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    """A command given word by word, without what its flags say is secret; other lists as they are."""
    is_command = all(isinstance(word, str) for word in value) and any(word.startswith("-") for word in value)
    if not is_command or sum(map(len, value)) > _ARGUMENT_CHARACTERS:
        return value
    spans = find(" ".join(value))
    kept, place = [], 0
    for word in value:
        within = [
            s._replace(start=max(s.start - place, 0), end=min(s.end - place, len(word)))
            for s in spans
            if s.start < place + len(word) and s.end > place
        ]
        kept.append(replaced(word, within))
        place += len(word) + 1
    return kept


def _members(value: dict[Any, Any], name: str) -> Iterator[tuple[Any, Any, str]]:
    """Key, value and, where the key says nothing of it, the name that the value goes by."""
    named = next((value[key] for key in _NAMING_KEYS if isinstance(value.get(key), str)), name)
    is_key = "kty" in value
    for key, member in value.items():
        if is_key and key in _JWK_SECRETS:
            yield key, member, "secret_key"
        else:
            yield key, member, named if key in _VALUE_KEYS else ""


def _elements(value: list[Any] | tuple[Any, ...], name: str) -> Iterator[tuple[str, Any]]:
    """Each element with the name it goes by: the flag or header before it, else the list's own."""
    before = ""
    for element in value:
        yield before or name, element
        is_name = isinstance(element, str) and len(element) <= _CONTEXT_LIMIT and _FLAG.fullmatch(element)
        before = str(element).rstrip(":") if is_name else ""


def _unused(key: Any, target: dict[Any, Any]) -> Any:
    """Two keys may become one text when cut; no member may be lost by that."""
    others = (f"{key}#{count}" for count in itertools.count(2))
    return next(other for other in itertools.chain([key], others) if other not in target)


_SHORT = 300  # characters of a name, a path or an id, which are remembered
_BY_HAND = 8_000  # characters that the standard library's engine is given
_FIRST = 32  # texts: who keeps more than these is no hook, and re2 pays for its loading
_seen = 0


def kept(text: str) -> str:
    """The text without secrets and private parts: what leaves here may be stored."""
    return _remembered(text) if len(text) <= _SHORT else redact(text, using=_engine(text))


def kept_mapping(value: Mapping[str, Any]) -> dict[str, Any]:
    members = dict(value)
    return members if is_plain(members) else {**redact_document(members)}


def is_plain(values: Mapping[str, Any]) -> bool:
    """Whether nothing in these strings, by their names, calls for any rule: one look for most rows.

    False also where a value is neither text nor a plain figure: then each part has to be looked at.
    """
    shown = "\n".join([f'{name}="{value}"' for name, value in values.items() if isinstance(value, str)])
    flat = all(isinstance(value, str | int | float | None) for value in values.values())
    if not flat or "private" in shown.lower():
        return False
    return not _engine(shown).wanted(shadow_of(shown)) if shown else True


def kept_change(before: str, after: str) -> str:
    """A changed text in which what is new was passed through; what stood there is its writer's own."""
    old, new = before.split("\n"), after.split("\n")
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    end = len(new) - tail
    fresh = kept("\n".join(new[head:end])).split("\n") if end > head else []
    return "\n".join([*new[:head], *fresh, *new[end:]])


@lru_cache(maxsize=8192)
def _remembered(text: str) -> str:
    return redact(text, using=_engine(text))


def _engine(text: str) -> Engine:
    global _seen  # noqa: PLW0603 - one process, one count
    _seen += 1
    light = len(text) <= _BY_HAND and _seen <= _FIRST and "re2" not in sys.modules
    return STANDARD if light else RE2
