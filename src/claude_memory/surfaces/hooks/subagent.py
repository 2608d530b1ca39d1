"""What a sub-agent is told when it starts: what matches its prompt, and the commands it can use.

SubagentStart carries no prompt, so the PreToolUse before it leaves one as a marker. When several
sub-agents start at once and nobody can tell which prompt is whose, only the common part is given.

Clients older than SubagentStart call their tool `Task` and take the context through its prompt. A
client that names the tool `Agent` has SubagentStart; one that says `Task` may have it or not. So for
`Task` the prompt is extended unless SubagentStart was seen in this home lately; and if that comes
after all, it finds the marker of a sub-agent that was told already, and says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_memory.context.session_state import SubagentStarts
from claude_memory.context.task_section import SUBAGENT_TOKENS as TASK_TOKENS
from claude_memory.context.task_section import task_lines
from claude_memory.redact import redact_short
from claude_memory.surfaces.hooks.answers import MAX_QUESTION_CHARACTERS, Answer
from claude_memory.text.tokens import Context, marked, tokens

if TYPE_CHECKING:
    from claude_memory.surfaces.hooks.answers import Moment

COMMANDS = (
    'Memory commands that work in this shell: `claude-memory search "…"` finds what is known, '
    '`claude-memory show ID` opens it, `claude-memory remember "…" --kind decision` keeps a finding.'
)


def before_agent(moment: Moment) -> Answer | None:
    """Leave the prompt for SubagentStart, or extend it where there is none."""
    prompt, kind = moment.tool_input("prompt"), moment.tool_input("subagent_type")
    told = moment.text("tool_name") == "Task" and not SubagentStarts(moment.memory.home).seen()
    moment.state.expect_agent(moment.text("tool_use_id"), kind, _question(prompt), told=told)
    if not told or not prompt:
        return None
    context = _context(moment, prompt)
    inputs = {**moment.payload["tool_input"], "prompt": f"{prompt}\n\n{marked(context).text}"}
    return Answer(context, {"updatedInput": inputs})


def at_start(moment: Moment) -> Answer | None:
    """The context of a sub-agent that starts now, unless its prompt holds it already."""
    SubagentStarts(moment.memory.home).note()
    prompt, told = moment.state.started_agent(moment.text("agent_type"), moment.text("agent_id")) or (
        "",
        False,
    )
    if told:
        return None
    return Answer(_context(moment, prompt))


def _question(prompt: str) -> str:
    """What is looked for later: as much as a search reads, without secrets, for it waits on the disk.

    Cut to length last: half a secret would not be known as one.
    """
    return redact_short(prompt[: 2 * MAX_QUESTION_CHARACTERS])[:MAX_QUESTION_CHARACTERS]


def _context(moment: Moment, prompt: str) -> Context:
    found = _matching(moment, prompt) if prompt else Context("", 0, (), ())
    memory = moment.memory
    under_way = task_lines(
        memory.project_root,
        memory.home,
        session=moment.session,
        max_tokens=TASK_TOKENS,
        commands=True,
    )
    text = "\n".join(part for part in (found.text, *under_way, COMMANDS) if part)
    return Context(text, tokens(text), found.memories, ())


def _matching(moment: Moment, prompt: str) -> Context:
    from claude_memory.context.moments import SUBAGENT_MEMORIES, SUBAGENT_TOKENS, for_question
    from claude_memory.search.relevance import INJECTION_THRESHOLD

    memory = moment.memory
    return for_question(
        memory.store,
        moment.embedder,
        memory.project,
        prompt[:MAX_QUESTION_CHARACTERS],
        session=None,
        given=(),
        now=moment.now,
        limit=SUBAGENT_MEMORIES,
        max_tokens=SUBAGENT_TOKENS,
        min_relevance=INJECTION_THRESHOLD,
    )
