"""The knowledge graph: what memories speak of, how that hangs together, and what a project knows.

Belongs here: finding files, symbols and errors in a text, walking, drawing, decisions and rules as knowledge.
Does not: keeping edges (store), deciding what was settled (understand).
"""
