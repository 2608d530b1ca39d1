"""What a sub-agent is told when it starts: what matches its prompt, and the commands it can use.

SubagentStart carries no prompt, so the PreToolUse before it leaves it as a marker. When several
sub-agents start at once nobody can tell which prompt is whose: then only the common part is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_memory.context.budget import tokens
from claude_memory.context.builder import Context
from claude_memory.context.moments import SUBAGENT_MEMORIES, SUBAGENT_TOKENS, for_question
from claude_memory.recall.relevance import INJECTION_THRESHOLD

if TYPE_CHECKING:
    from claude_memory.surfaces.hooks import Moment

COMMANDS = (
    'Memory commands that work in this shell: `claude-memory search "…"` finds what is known, '
    '`claude-memory show ID` opens it, `claude-memory remember "…" --kind decision` keeps a finding.'
)


def subagent_context(moment: Moment) -> Context:
    """The memories that match the sub-agent's prompt, then the commands."""
    prompt = moment.state.started_agent()
    found = _matching(moment, prompt) if prompt else Context("", 0, (), ())
    parts = [found.text, COMMANDS]
    text = "\n".join(part for part in parts if part)
    return Context(text, tokens(text), found.memories, ())


def _matching(moment: Moment, prompt: str) -> Context:
    memory = moment.memory
    return for_question(
        memory.store,
        moment.embedder,
        memory.project,
        prompt[:4_000],
        session=None,
        given=(),
        now=moment.now,
        limit=SUBAGENT_MEMORIES,
        max_tokens=SUBAGENT_TOKENS,
        min_relevance=INJECTION_THRESHOLD,
    )
