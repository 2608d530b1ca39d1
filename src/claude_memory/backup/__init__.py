"""Everything that carries a home elsewhere: the mirror `memories.jsonl`, archives, restoring them.

Belongs here: formats of archives and what is trusted of them, the swap of an old home for a new one.
Does not: rows and tables (store), the commands that call it (surfaces).
"""
