"""A team's store in PostgreSQL with pgvector: connections, schema with row security, indexes, people.

What both backends share stands in `store/sql`. Only this folder imports psycopg, and only when it is used.
"""
