"""Redaction of a whole JSON document: every string and key, in document order.

Walks without recursion, so that no depth of nesting can exhaust the stack.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from claude_memory.redact.engine import RE2, Engine
from claude_memory.redact.private import MARK, PrivateSpans
from claude_memory.redact.secrets import Redacted, cut_secrets, find, lightest, replaced

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


def redact(text: str, *, using: Engine = RE2) -> Redacted:
    """One text without its private spans and secrets."""
    spans = PrivateSpans()
    result = cut_secrets(spans.cut(text), using=using)
    if not spans.cut_count:
        return result
    return Redacted(result.text, _counted(Counter(result.found), spans))


def redact_short(text: str) -> str:
    """The same for a text of a few thousand characters, where loading re2 costs more than the text does."""
    return redact(text, using=lightest()).text


def redact_document(value: Any) -> tuple[Any, Mapping[str, int]]:
    """A JSON value without its private spans and secrets, of the same structure.

    A span may open in one string and close in a later one. Inside it every key and every value but the
    agent's own ids is replaced; numbers too. A key gives its value context: `{"password": "…"}`.
    """
    walk = _Walk()
    return walk.run(value), _counted(walk.found, walk.spans)


def _counted(found: Counter[str], spans: PrivateSpans) -> Mapping[str, int]:
    if spans.cut_count:
        found["private"] += spans.cut_count
    return dict(found)


class _Walk:
    """One pass over a document; containers are rebuilt as they are met, so order is document order."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.spans = PrivateSpans()
        self.open: list[tuple[Iterator[Any], Any, int]] = []

    def run(self, value: Any) -> Any:
        result = self._value(value, "", 0)
        while self.open:
            items, target, depth = self.open[-1]
            item = next(items, None)
            if item is None:
                self.open.pop()
            elif isinstance(target, dict):
                key, member, name = item
                self._member(target, key, member, name, depth)
            else:
                target.append(self._value(item[1], item[0], depth))
        return result

    def _member(self, target: dict[Any, Any], key: Any, value: Any, name: str, depth: int) -> None:
        if depth == 1 and isinstance(key, str) and key in ENVELOPE_NAMES:
            kept = key
            if key in ENVELOPE_IDS and self.spans.depth:
                target[kept] = self._secrets(value, "") if isinstance(value, str) else value
                return
        else:
            kept = _unused(self._value(key, "", depth), target)
        target[kept] = self._value(value, name or (key if isinstance(key, str) else ""), depth)

    def _value(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, str):
            return self._secrets(self.spans.cut(value), name)
        if isinstance(value, dict):
            return self._enter(_members(value, name), {}, depth)
        if isinstance(value, (list, tuple)):
            return self._enter(_elements(self._arguments(value), name), [], depth)
        return value if self.spans.depth == 0 or value is None else MARK

    def _enter(self, items: Iterator[Any], target: Any, depth: int) -> Any:
        self.open.append((items, target, depth + 1))
        return target

    def _arguments(self, value: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
        """A command given word by word, without what its flags say is secret."""
        if not _are_arguments(value):
            return value
        line = " ".join(value)
        spans = find(line)
        kept, place = [], 0
        for word in value:
            within = [
                s._replace(start=max(s.start - place, 0), end=min(s.end - place, len(word)))
                for s in spans
                if s.start < place + len(word) and s.end > place
            ]
            kept.append(replaced(word, within, self.found) if within else word)
            place += len(word) + 1
        return kept

    def _secrets(self, text: str, name: str) -> str:
        result = cut_secrets(text, name if len(name) <= _CONTEXT_LIMIT else "")
        if result.found:
            self.found.update(result.found)
        return result.text


def _members(value: dict[Any, Any], name: str) -> Iterator[tuple[Any, Any, str]]:
    """Key, value and, where the key says nothing of it, the name that the value goes by."""
    named = next((value[key] for key in _NAMING_KEYS if isinstance(value.get(key), str)), name)
    is_key = "kty" in value
    for key, member in value.items():
        if is_key and key in _JWK_SECRETS:
            yield key, member, "secret_key"
        else:
            yield key, member, named if key in _VALUE_KEYS else ""


def _are_arguments(value: list[Any] | tuple[Any, ...]) -> bool:
    if not any(isinstance(word, str) and word.startswith("-") for word in value):
        return False
    return all(isinstance(word, str) for word in value) and sum(map(len, value)) <= _ARGUMENT_CHARACTERS


def _elements(value: list[Any] | tuple[Any, ...], name: str) -> Iterator[tuple[str, Any]]:
    """Each element with the name it goes by: the flag or header before it, else the list's own."""
    before = ""
    for element in value:
        yield before or name, element
        is_name = isinstance(element, str) and len(element) <= _CONTEXT_LIMIT and _FLAG.fullmatch(element)
        before = str(element).rstrip(":") if is_name else ""


def _unused(key: Any, target: dict[Any, Any]) -> Any:
    """Two keys may become one text when cut; no member may be lost by that."""
    unused = key
    count = 1
    while unused in target:
        count += 1
        unused = f"{key}#{count}"
    return unused
