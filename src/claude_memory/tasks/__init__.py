"""Tasks in three phases: a mutable scratchpad, a plan written once, an append-only record.

Public names are `claude_memory.MemoryAPI`, `claude_memory.SessionManager` and
`claude_memory.core.WorkflowEnforcer`; the modules here hold what they are made of.
"""
