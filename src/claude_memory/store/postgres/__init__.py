"""A team's store in PostgreSQL with pgvector: connections, schema with row security, indexes, people.

Belongs here: what only PostgreSQL has; the only user of psycopg, loaded when a team's store is opened.
Does not: statements that every backend shares, and the contract (store/base.py, store/sql).
"""
