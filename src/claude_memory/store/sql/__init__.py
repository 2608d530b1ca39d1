"""The parts of a store in SQL that every backend understands; each backend adds a `Database` and its indexes.

Belongs here: statements and the rules around them. Not here: connections, schemas, text and vector indexes.
Statements are written once, as SQLite takes them; a list is bound as JSON and read by `json_each`, as
`SELECT value` for texts and `SELECT +value` for numbers. Every insert names its columns.
"""
