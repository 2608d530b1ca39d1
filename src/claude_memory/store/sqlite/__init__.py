"""The store in one SQLite file: rows, text index and vectors commit together.

Imports nothing: a hook that takes a quick look into the store must not load all of it.
"""
