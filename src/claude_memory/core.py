"""Names that programs import from `claude_memory.core`."""

from claude_memory.tasks.api import WorkflowEnforcer

__all__ = ["WorkflowEnforcer"]
