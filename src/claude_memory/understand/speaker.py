"""Who speaks, and in which way: the one place that tells. Structure first, the text last.

Hook events and lines of transcripts get the same verdict. Where it cannot be told, it is not a person.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Speaker(StrEnum):
    """Whose words they are. Trust `user` follows from PERSON and from nothing else."""

    PERSON = "person"
    AGENT = "agent"
    TOOL = "tool"
    HARNESS = "harness"  # the agent's program: commands, notices, hooks, reminders


class Manner(StrEnum):
    """How a text came about."""

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


class Verdict(NamedTuple):
    """Who spoke, how, and the words that are theirs, without what the program put around them."""

    speaker: Speaker
    manner: Manner
    words: str
