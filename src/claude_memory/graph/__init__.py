"""The knowledge graph: what memories speak of, how that hangs together, and what is known of it."""
