"""Which reader reads which agent's conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from claude_memory.transcripts import claude
from claude_memory.transcripts.blocks import CursorReader, FactoryReader
from claude_memory.transcripts.claude import ClaudeReader
from claude_memory.transcripts.codex import CodexReader
from claude_memory.transcripts.copilot import CopilotReader
from claude_memory.transcripts.gemini import GeminiReader
from claude_memory.transcripts.opencode import OpenCodeReader
from claude_memory.transcripts.plain import Reader

READERS: Mapping[str, type[Reader]] = {
    "claude-code": ClaudeReader,
    "codex": CodexReader,
    "gemini-cli": GeminiReader,
    "opencode": OpenCodeReader,
    "factory": FactoryReader,
    "cursor": CursorReader,
    "copilot-cli": CopilotReader,
}


def is_bookkeeping(agent: str) -> Callable[[bytes], bool]:
    """What tells, from a line's first bytes, that it is no conversation."""
    return claude.is_bookkeeping if agent == "claude-code" else lambda _: False
