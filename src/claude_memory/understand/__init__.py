"""The one ear: who spoke, what was asked, done and decided, what is unfinished.

Belongs here: pure rules from archived messages to exchanges, session records, statements and proposals.
Does not: reading files, storing, ranking, asking a language model.
"""
