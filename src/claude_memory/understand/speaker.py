"""Who speaks, and in which way: the one place that tells. Structure first, the text last.

Hook events and lines of transcripts get the same verdict. Where it cannot be told, it is not a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class Speaker(StrEnum):
    """Whose words they are. Trust `user` follows from PERSON and from nothing else."""

    PERSON = "person"
    AGENT = "agent"
    TOOL = "tool"
    HARNESS = "harness"  # the agent's program: commands, notices, hooks, reminders


class Manner(StrEnum):
    # a person's
    TYPED = "typed"
    QUEUED = "queued"  # typed while the agent worked
    ANSWER = "answer"  # to the agent's question: question and answer
    REJECTION = "rejection"  # the reason in a refused tool call; without one, the harness's
    AFTER_INTERRUPTION = "after_interruption"  # the first prompt after the person stopped the agent
    # the agent's
    CLOSING = "closing"  # its last message of an exchange
    SAID = "said"  # its other messages
    CALL = "call"
    TASK = "task"  # its order to a sub-agent
    PLAN = "plan"  # its own plan, accepted and handed on as a prompt
    CONTINUATION = "continuation"  # what it summed up at a compaction
    # a tool's
    RESULT = "result"
    # the harness's
    COMMAND = "command"  # a slash command or skill, and what it expands to
    NOTIFICATION = "notification"  # tasks, teammates, channels, schedules
    HOOK = "hook"  # a hook's stop or feedback
    SHELL = "shell"  # `!` input and output
    REMINDER = "reminder"  # instructions and context that a program put there, ours among them
    INTERRUPTION = "interruption"  # the mark that the person stopped the agent
    BOUNDARY = "boundary"  # compacted here, rewound there
    TITLE = "title"  # the name that the conversation was given
    PULL_REQUEST = "pull_request"  # the one that came of it


class Verdict(NamedTuple):
    """Who spoke, how, and the words that are theirs, without what the program put around them."""

    speaker: Speaker
    manner: Manner
    words: str


# What the agent's program says of a prompt's origin. Whatever is not named here is not a person.
_PERSONS = {
    "origin": frozenset({"human"}),  # `{kind: …}`
    "turnOrigin": frozenset({"human", "sdk"}),
    "promptSource": frozenset({"typed", "queued", "sdk"}),
    "source": frozenset({"typed", "queued", "user"}),  # in hooks
    "commandMode": frozenset({"prompt"}),  # of a queued command
}
# Tags that programs open a prompt with. A closed one of any other name with a dash is a notice too.
_TAGS = {
    Manner.COMMAND: "command-message command-name command-args skill user-memory-input",
    Manner.SHELL: "bash-input bash-stdout bash-stderr local-command-stdout local-command-stderr "
    "user_shell_command",
    Manner.REMINDER: "system-reminder system_reminder local-command-caveat environment_context "
    "user_instructions INSTRUCTIONS permissions claude-memory collaboration_mode app-context",
    Manner.NOTIFICATION: "task-notification teammate-message channel cross-session-message agent-message "
    "tick system_notification subagent_notification",
    Manner.HOOK: "user-prompt-submit-hook hook_prompt",
    Manner.INTERRUPTION: "turn_aborted",
}
_MANNERS = {tag: manner for manner, tags in _TAGS.items() for tag in tags.split()}
_OPENINGS = (
    (Manner.INTERRUPTION, "[Request interrupted by user"),
    (Manner.CONTINUATION, "This session is being continued from a previous conversation"),
    (Manner.PLAN, "Implement the following plan:"),
    (Manner.COMMAND, "Base directory for this skill:"),
    (Manner.REMINDER, "Caveat: The messages below"),
    (Manner.REMINDER, "# AGENTS.md instructions"),
    (Manner.HOOK, "Operation stopped by hook"),
    (Manner.NOTIFICATION, "[[ ## "),  # a template that a program filled in
)
_NOTICES = "|".join(
    tag
    for manner in (Manner.NOTIFICATION, Manner.REMINDER, Manner.SHELL)
    for tag in _TAGS[manner].split()
    if "-" in tag or "_" in tag
)
# As texts: the module `re` compiles a pattern when it is first needed, and most hooks need none.
_TAG = r"<([A-Za-z][\w-]*)[\s>]"
_COMMAND = r"/[A-Za-z][\w:.-]*(?:\s|$)"
_HOOK = r"[A-Z]\w+ hook (?:feedback|blocking error|error)\b|[A-Z]\w+:\w+ hook "
# What an editor or the program put before the words. It is anybody's, so it lasts to the last closing tag.
_CONTEXT = (
    r"(?s)\s*<(ide_opened_file|ide_selection|ide_diagnostics|system-reminder|system_reminder"
    r"|current_datetime)>.*</\1>"
)
_NOTICE = rf"(?m)^<(?:{_NOTICES}|channel(?= source=))[\s>]"
_NOTE = r"(?s)\n\nNote: The user's next message may contain .*"
_AGENTS = (Manner.CONTINUATION, Manner.PLAN, Manner.TASK)
_CODEX_REQUEST = "## My request for Codex:"
_REFUSED = "The user doesn't want to proceed with this tool use."
_REASON = "the user said:\n"
_CLARIFYING = "The user wants to clarify these questions."  # the program's words, not theirs
_ANSWERED = ("User has answered your questions:", "Your questions have been answered:", "The user answered:")


def of_prompt(text: str, facts: Mapping[str, Any] | None = None) -> Verdict:
    """Who speaks in what an agent was given as a prompt; `facts` are what stands beside it in its record."""
    words = text
    manner = _by_facts(facts or {}, text)
    if manner is None:
        words = _without_context(text)
        manner = _by_text(words) if words.strip() else Manner.REMINDER
    if manner is None:
        words = words.lstrip()
        # A notice that was handed over together with them.
        notice = re.search(_NOTICE, words) if "\n<" in words else None
        return Verdict(Speaker.PERSON, Manner.TYPED, words[: notice.start()].rstrip() if notice else words)
    return Verdict(Speaker.AGENT if manner in _AGENTS else Speaker.HARNESS, manner, text)


def of_texts(texts: Iterable[str], facts: Mapping[str, Any] | None = None) -> Verdict | None:
    """One verdict on a prompt of several texts: a person's words before all else. None if it only reminds."""
    verdicts = [of_prompt(text, facts) for text in texts if text.strip()]
    persons = [verdict for verdict in verdicts if verdict.speaker is Speaker.PERSON]
    said = persons or [verdict for verdict in verdicts if verdict.manner is not Manner.REMINDER]
    return said[0]._replace(words="\n".join(verdict.words for verdict in said)) if said else None


def of_result(tool: str, text: str, facts: Mapping[str, Any] | None = None) -> Verdict:
    """Who speaks in a tool's result: the tool, unless a person answered or refused.

    Where the record does not say who refused, nobody did through a tool from outside (`mcp__…`) or one
    whose call was not seen: such a tool can write what it likes.
    """
    facts = facts or {}
    if tool == "AskUserQuestion":
        result = facts.get("toolUseResult") or facts.get("tool_response")
        given = result.get("answers") if isinstance(result, Mapping) else None
        answers = text if text.startswith(_ANSWERED) else ""
        if isinstance(given, Mapping):  # question and answer, a pair a paragraph
            answers = "\n\n".join(f"{asked}\n→ {answer}" for asked, answer in given.items() if answer)
        if answers:
            return Verdict(Speaker.PERSON, Manner.ANSWER, answers)
    if _is_refusal(tool, text, facts):
        reason = facts.get("userFeedback")
        reason = reason if isinstance(reason, str) else text.partition(_REASON)[2]
        reason = re.sub(_NOTE, "", reason).strip() if reason else ""
        if reason and not reason.startswith(_CLARIFYING):
            return Verdict(Speaker.PERSON, Manner.REJECTION, reason)
        return Verdict(Speaker.HARNESS, Manner.REJECTION, text)
    return Verdict(Speaker.TOOL, Manner.RESULT, text)


def _by_facts(facts: Mapping[str, Any], text: str) -> Manner | None:
    """The manner of what is certainly no person's, told from the record alone; None leaves it open."""
    if facts.get("isCompactSummary") is True:
        return Manner.CONTINUATION
    if facts.get("isSidechain") is True or facts.get("agentId") or facts.get("agent_id"):
        return Manner.TASK
    if facts.get("planContent"):
        return Manner.PLAN
    if facts.get("isMeta") is True:
        return _by_text(text) or Manner.COMMAND
    for name, persons in _PERSONS.items():
        value = facts.get(name)
        value = value.get("kind") if isinstance(value, Mapping) else value
        if value and not (isinstance(value, str) and value in persons):
            return Manner.NOTIFICATION
    return None


def _by_text(text: str) -> Manner | None:
    """The manner that a text's first words give away; None if nothing says that a program put it there."""
    text = text.lstrip()
    for manner, opening in _OPENINGS:
        if text.startswith(opening):
            return manner
    if tag := re.match(_TAG, text):
        closed = ("-" in tag[1] or "_" in tag[1]) and f"</{tag[1]}>" in text
        return _MANNERS.get(tag[1], Manner.NOTIFICATION if closed else None)
    if re.match(_COMMAND, text):
        return Manner.COMMAND
    if re.match(_HOOK, text):
        return Manner.HOOK
    return Manner.SHELL if text[:1] == "!" and text[1:2].isalpha() else None


def _without_context(text: str) -> str:
    """A prompt without what stands before the words themselves."""
    if _CODEX_REQUEST in text and text.lstrip().startswith("# "):
        return text.rpartition(_CODEX_REQUEST)[2]
    while text.lstrip()[:1] == "<" and (found := re.match(_CONTEXT, text)) is not None:
        text = text[found.end() :]
    return text


def _is_refusal(tool: str, text: str, facts: Mapping[str, Any]) -> bool:
    if (kind := facts.get("toolDenialKind")) is not None:
        return bool(kind == "user-rejected")
    decision = facts.get("permissionDecision")
    if isinstance(decision, Mapping):
        return decision.get("decision") == "reject" and text.startswith(_REFUSED)
    known = bool(tool) and not tool.startswith("mcp__")
    return known and facts.get("is_error") is True and text.startswith(_REFUSED)
