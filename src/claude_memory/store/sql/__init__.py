"""The parts of a store in SQL that every backend understands; each backend adds a `Database` and its indexes.

Belongs here: statements and the rules around them, once for all backends. Every insert names its columns; a
list is bound as JSON and read by `json_each`, as `SELECT value` for texts and `SELECT +value` for numbers.
Does not: connections, schemas and migrations, text and vector indexes (store/sqlite and its like).
"""
