"""The plain files: identity, logs, reflections, working buffer, knowledge base."""
