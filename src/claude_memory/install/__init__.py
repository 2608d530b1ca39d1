"""Putting the memory into agents, and taking it out again without a trace."""
