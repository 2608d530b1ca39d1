"""What a sub-agent is told when it starts: what matches its prompt, and the commands it can use.

SubagentStart carries no prompt, so the PreToolUse before it leaves one as a marker. When several
sub-agents start at once and nobody can tell which prompt is whose, only the common part is given.

Clients older than SubagentStart call their tool `Task` and take the context through its prompt. A
client that names the tool `Agent` has SubagentStart; one that says `Task` may have it or not. So for
`Task` the prompt is extended unless SubagentStart was seen in this home lately; and if that comes
after all, it finds the marker of a sub-agent that was told already, and says nothing.
"""

from __future__ import annotations

from claude_memory.context.moments import at_subagent
from claude_memory.context.session_state import SubagentStarts
from claude_memory.surfaces.hooks.answers import MAX_QUESTION_CHARACTERS, Answer
from claude_memory.text.quotation import marked

TYPE_CHECKING = False  # the real one is an import, too
if TYPE_CHECKING:
    from claude_memory.surfaces.hooks.answers import Moment


def before_agent(moment: Moment) -> Answer | None:
    """Leave the prompt for SubagentStart, or extend it where there is none."""
    prompt, kind = moment.tool_input("prompt"), moment.tool_input("subagent_type")
    told = moment.text("tool_name") == "Task" and not SubagentStarts(moment.home).seen()
    moment.state.expect_agent(moment.text("tool_use_id"), kind, _question(prompt), told=told)
    if not told or not prompt or moment.is_off("subagent"):
        return None
    offer = at_subagent(moment.place(), prompt[:MAX_QUESTION_CHARACTERS])
    inputs = {**moment.payload["tool_input"], "prompt": f"{prompt}\n\n{marked(offer.text)}"}
    return Answer(offer, {"updatedInput": inputs})


def at_start(moment: Moment) -> Answer | None:
    """The context of a sub-agent that starts now, unless its prompt holds it already."""
    SubagentStarts(moment.home).note()
    started = moment.state.started_agent(moment.text("agent_type"), moment.text("agent_id"))
    prompt, told = started or ("", False)
    if told or moment.is_off("subagent"):
        return None
    return Answer(at_subagent(moment.place(), prompt))


def _question(prompt: str) -> str:
    """What is looked for later: as much as a search reads, without secrets, for it waits on the disk.

    Cut to length last: half a secret would not be known as one.
    """
    from claude_memory.redact import kept

    return kept(prompt[: 2 * MAX_QUESTION_CHARACTERS])[:MAX_QUESTION_CHARACTERS]
