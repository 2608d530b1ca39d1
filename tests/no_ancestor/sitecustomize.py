"""Read by every Python that a test starts while an agent runs the tests: that agent is not part of the test."""

try:
    from claude_memory.platform import agents as caller
except ImportError:  # another Python, without the package
    pass
else:
    caller.ancestor_agent = lambda: ""  # type: ignore[assignment]
