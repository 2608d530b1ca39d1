"""The store in one SQLite file: rows, text index and vectors commit together.

Belongs here: connections, tables and migrations, the text index, the vectors; the only user of apsw.
Does not: statements that every backend shares (store/sql). This file imports nothing: hooks look in.
"""
