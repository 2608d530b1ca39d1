"""What a compaction took, what its summary says, and the file that keeps it: values and their JSON form.

Every entry names the messages it came from. The form is published in `summary.schema.json`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from claude_memory.model import SessionId

RULES = "rules"  # who summed up where no language model did
OPEN = "open"  # the kind of a summary that was made before the compaction was over

# Code and logs take more tokens than prose of the same length. Fitted to a tokenizer that was published
# for Claude: over 30 long sessions 4% below it on average, for their summaries 3% above.
_WORD, _DIGIT, _MARK = re.compile(r"[A-Za-z]+"), re.compile(r"[0-9]"), re.compile(r"[!-/:-@\[-`{-~]")
_GAP = re.compile(r"[ \t]{2,}")


def about_tokens(text: str) -> int:
    """About how many tokens a text takes, estimated without a tokenizer."""
    words = _WORD.findall(text)
    odd = 0 if text.isascii() else len(text) - sum(map(str.isascii, text))
    return math.ceil(
        0.6 * len(words)
        + 0.13 * sum(map(len, words))
        + 0.55 * len(_DIGIT.findall(text))
        + 0.45 * len(_MARK.findall(text))
        + 1.5 * text.count("\n")
        + len(_GAP.findall(text))
        + odd
    )


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice: an answer, a plan, a refusal with its reason, a request that was carried out."""

    topic: str
    decision: str
    rationale: str = ""
    files: tuple[str, ...] = ()
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """The net effect on one file."""

    path: str
    action: str
    purpose: str = ""
    renamed_from: str = ""
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code worth keeping in its own words."""

    file: str
    function: str
    code: str
    importance: str = "medium"
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Solution:
    """An error and what was done about it; `verified` if a check passed after it."""

    error: str
    solution: str
    files: tuple[str, ...] = ()
    verified: bool = False
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Remark:
    """Something said that is worth keeping: a convention, a task, a piece of context."""

    text: str
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """What one stretch of a session leaves."""

    executive: str
    key_decisions: tuple[Decision, ...] = ()
    files_modified: tuple[FileChange, ...] = ()
    code_snippets: tuple[Snippet, ...] = ()
    topics: tuple[str, ...] = ()
    tasks_completed: tuple[Remark, ...] = ()
    tasks_pending: tuple[Remark, ...] = ()
    important_context: tuple[Remark, ...] = ()
    error_solutions: tuple[Solution, ...] = ()
    conventions: tuple[Remark, ...] = ()


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


def as_json(summary: Summary) -> dict[str, Any]:
    """The summary in its published form. Texts stand plainly; where they are from stands in `sources`."""
    sources = {
        name: [list(item.messages) for item in getattr(summary, name)]
        for name in ("tasks_completed", "tasks_pending", "important_context", "conventions")
        if getattr(summary, name)
    }
    return {
        "executive": summary.executive,
        "key_decisions": [_decision(item) for item in summary.key_decisions],
        "files_modified": [_file(item) for item in summary.files_modified],
        "code_snippets": [
            {
                "file": item.file,
                "function": item.function,
                "code": item.code,
                "importance": item.importance,
                "messages": list(item.messages),
            }
            for item in summary.code_snippets
        ],
        "topics": list(summary.topics),
        "tasks_completed": [item.text for item in summary.tasks_completed],
        "tasks_pending": [item.text for item in summary.tasks_pending],
        "important_context": [item.text for item in summary.important_context],
        "error_solutions": [_solution(item) for item in summary.error_solutions],
        "conventions": [item.text for item in summary.conventions],
        "sources": sources,
    }


def _decision(item: Decision) -> dict[str, Any]:
    return {
        "topic": item.topic,
        "decision": item.decision,
        "rationale": item.rationale,
        "files": list(item.files),
        "messages": list(item.messages),
    }


def _file(item: FileChange) -> dict[str, Any]:
    found: dict[str, Any] = {"path": item.path, "action": item.action, "purpose": item.purpose}
    if item.renamed_from:
        found["from"] = item.renamed_from
    return {**found, "messages": list(item.messages)}


def _solution(item: Solution) -> dict[str, Any]:
    found: dict[str, Any] = {"error": item.error, "solution": item.solution, "files": list(item.files)}
    if item.verified:
        found["verified"] = True
    return {**found, "messages": list(item.messages)}


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """One summary as its file holds it."""

    session: str
    number: int
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """How a person names it: SESSION/NNN."""
        return f"{self.session}/{self.number:03d}"

    @property
    def summary(self) -> Mapping[str, Any]:
        found = self.document.get("summary")
        return found if isinstance(found, Mapping) else {}

    @property
    def kind(self) -> str:
        """Where the messages were read: transcript, archive, open (before it was over) or agent."""
        source = self.document.get("source")
        return str(source.get("kind") or "") if isinstance(source, Mapping) else ""

    @property
    def boundary(self) -> str:
        """Which compaction it is of."""
        source = self.document.get("source")
        return str(source.get("boundary") or "") if isinstance(source, Mapping) else ""

    @property
    def erased(self) -> bool:
        """Whether something was taken out of it that must not come back."""
        by = self.document.get("summariser")
        return isinstance(by, Mapping) and bool(by.get("erased"))

    @property
    def executive(self) -> str:
        found = self.summary.get("executive")
        return found if isinstance(found, str) else ""
