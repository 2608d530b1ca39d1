"""What a compaction took, what its summary says and the file that keeps it; checked by the published schema.

`faults` loads `jsonschema` when it is called: for what people, agents and models wrote, never in a hook.
`is_readable` is the quick look that every reader takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from claude_memory.errors import InvalidInput
from claude_memory.model import SessionId
from claude_memory.text.quotation import about_tokens

RULES = "rules"  # who summed up where no language model did
OPEN = "open"  # the kind of a summary that was made before the compaction was over
ENTRIES = ("key_decisions", "files_modified", "code_snippets", "error_solutions")
SOURCED = ("tasks_completed", "tasks_pending", "important_context", "conventions")
TEXTS = ("topics", *SOURCED)
NO_VECTORS: Mapping[str, Any] = {"model": None, "summary_vector": [], "topic_vectors": {}}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which messages of a session one compaction took: both ends count, from 1.

    `boundary` names the compaction itself, so that it is summed up once, whoever finds it.
    """

    session: SessionId
    boundary: str
    first: int
    last: int
    at: datetime
    trigger: str = "auto"
    tokens_before: int | None = None  # as the agent reported them
    tokens_after: int | None = None
    agent_summary: str = ""  # what the agent itself wrote of it, where that is there already


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """One summary as its file holds it."""

    session: str
    number: int
    document: Mapping[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> Mapping[str, Any]:
        """A part of the document that is an object; empty where it is none."""
        value = self.document.get(name)
        return value if isinstance(value, Mapping) else {}

    @property
    def id(self) -> str:
        """How a person names it: SESSION/NNN."""
        return f"{self.session}/{self.number:03d}"

    @property
    def summary(self) -> Mapping[str, Any]:
        return self.part("summary")

    @property
    def executive(self) -> str:
        return str(self.summary.get("executive") or "")

    @property
    def kind(self) -> str:
        """Where the messages were read: transcript, archive, open (before it was over) or agent."""
        return str(self.part("source").get("kind") or "")

    @property
    def boundary(self) -> str:
        """Which compaction it is of."""
        return str(self.part("source").get("boundary") or "")

    @property
    def provider(self) -> str:
        """Who summed up: rules, an agent, a model; empty where the file does not say."""
        return str(self.part("summariser").get("provider") or "")

    @property
    def erased(self) -> bool:
        """Whether something was taken out of it that must not come back."""
        return bool(self.part("summariser").get("erased"))


def document_of(body: Any, at: datetime, trigger: str, by: Mapping[str, Any]) -> dict[str, Any]:
    """A document around a summary, of whose messages nothing is known."""
    return {
        "timestamp": written(at),
        "compaction_trigger": trigger,
        "token_count_before": 0,
        "token_count_after": about_tokens(json.dumps(body, ensure_ascii=False)),
        "token_counts": "estimated",
        "summary": body,
        "embeddings": dict(NO_VECTORS),
        "original_message_range": [0, 0],
        "source": {},
        "summariser": dict(by),
    }


def written(at: datetime) -> str:
    """A moment as a document says it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def within(summary: Mapping[str, Any], messages: range) -> dict[str, Any]:
    """A valid summary without the numbers of messages that it cannot rest on."""

    def left(places: Sequence[int]) -> list[int]:
        return [place for place in places if place in messages]

    entries = {
        name: [
            {**entry, "messages": left(entry["messages"])} if "messages" in entry else entry
            for entry in summary.get(name, ())
        ]
        for name in ENTRIES
    }
    sources = summary.get("sources", {})
    places = {name: [left(own) for own in sources[name]] for name in SOURCED if name in sources}
    return {**summary, **entries, "sources": places}


# --- the published schema


@cache
def schema() -> dict[str, Any]:
    """The schema of a whole compact_NNN.json."""
    # Read beside this file: `importlib.resources` takes longer to load than a hook has.
    document: dict[str, Any] = json.loads(Path(__file__).with_name("summary.schema.json").read_bytes())
    return document


def faults(document: Any) -> list[str]:
    """What is wrong with a whole document, each in a line that one can act on; empty if nothing is."""
    return list(_faults(document, schema(), ""))


def summary_faults(summary: Any) -> list[str]:
    """What is wrong with the part that sums up."""
    return list(_faults(summary, schema()["properties"]["summary"], "summary"))


def valid(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document, or InvalidInput that says what is wrong with it."""
    wrong = faults(document)
    if wrong:
        raise InvalidInput(f"the summary does not fit the schema: {'; '.join(wrong[:5])}")
    return dict(document)


def _faults(value: Any, rule: Mapping[str, Any], where: str) -> Iterator[str]:
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(rule).iter_errors(value)
    for error in sorted(errors, key=lambda error: list(map(str, error.path))):
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        place = f"{where}{steps}".lstrip(".")
        # Its own message quotes the value, and what was said belongs into no log.
        if error.validator == "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            yield from (f"{place}.{name} is missing".lstrip(".") for name in missing)
        else:
            yield f"{place or 'the document'} {_wanted(error.validator, error.validator_value)}"


def _wanted(rule: object, value: Any) -> str:
    if rule == "type":
        return f"must be of type {value if isinstance(value, str) else ' or '.join(value)}"
    if rule == "enum":
        return f"must be one of {', '.join(value)}"
    if rule in ("minLength", "pattern"):
        return "must not be empty"
    return f"must not be below {value}" if rule == "minimum" else f"must have {value} items"


def is_readable(document: Any) -> bool:
    """Whether a document has the shape that its readers rely on."""
    summary = document.get("summary") if isinstance(document, dict) else None
    if not isinstance(summary, dict) or not isinstance(summary.get("executive"), str):
        return False
    places = document.get("original_message_range")
    return (
        bool(summary["executive"].strip())
        and isinstance(document.get("timestamp"), str)
        and isinstance(document.get("token_count_before"), int)
        and isinstance(places, list)
        and [type(place) for place in places] == [int, int]
        and all(_holds(summary.get(name, []), dict) for name in ENTRIES)
        and all(_holds(summary.get(name, []), str) for name in TEXTS)
        and isinstance(summary.get("sources", {}), dict)
    )


def _holds(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)
