"""The plain files: identity, logs, reflections, working buffer, todo, lessons, decisions, knowledge base.

Belongs here: reading each format, writing inside our marks, indexing, writing down what sessions did.
Does not: what a text means (`understand`), what of it an agent is given (`context`).
"""
