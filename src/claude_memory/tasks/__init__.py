"""Tasks in three phases: a mutable scratchpad, a plan written once, an append-only record.

Belongs here: task documents and their seals, sessions, project facts; published as `claude_memory.MemoryAPI`,
`claude_memory.SessionManager` and `claude_memory.core.WorkflowEnforcer`.
Does not: the memory's own notes and files (notes), the commands that call it (surfaces).
"""
