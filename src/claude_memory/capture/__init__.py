"""From a hook's spooled bytes to messages of the archive: spool, drain, parsing, what is withheld.

Belongs here: the format of a spooled event, its bounds, files captured by name only, the drain and
what it has understood.
Does not: reading agents' histories (imports), telling who spoke (understand), the hook itself (hook).
"""
