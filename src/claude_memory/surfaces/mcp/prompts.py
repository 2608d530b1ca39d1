"""Prompts a person may pick in their client: recall a subject, hand over to the next session."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

RECALL = """\
Find out what is known here about: {subject}

1. search_memory with the question in your own words; try other words once if the hits are weak.
2. timeline around the best hit if the order of events matters; get_memories for the two or three that count.
3. Answer from what you found, name the ids, and say what is superseded, contradicted or missing."""

HANDOVER = """\
Hand this session's work over to whoever continues it{about}.

1. remember each decision, correction, fix and convention of this session that is not stored yet, one at a
   time, with topics and files; supersede what no longer holds.
2. intention set for what is left to do, tied to its files or a time; intention complete for what is done.
3. If a task is under way, task append where it stands.
4. End with a short note: what was done, what is open, where to begin."""


def register(server: MCPServer) -> None:
    """Offer them to the client."""
    server.prompt(title="Recall", description="Find what is known about a subject.")(recall)
    server.prompt(title="Hand over", description="Leave this session's work to the next.")(handover)


def recall(subject: str) -> str:
    """Find what is known about a subject."""
    return RECALL.format(subject=subject)


def handover(focus: str = "") -> str:
    """Leave this session's work to the next."""
    return HANDOVER.format(about=f", above all {focus}" if focus else "")
