"""Everything that carries a home elsewhere: the mirror `memories.jsonl`, archives, pushes to places, sync.

Belongs here: formats of archives and packs, what is trusted of them, folders, S3 and git, the swap of homes.
Does not: rows and tables (store), the commands that call it (surfaces).
"""
