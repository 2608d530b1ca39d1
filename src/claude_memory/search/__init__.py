"""From a question to ranked hits, and why each is one.

Belongs here: scores, fusion, priors, relevance, snippets, the timeline, whole conversations, past work.
Does not: SQL and vectors (store, embed), what agents are given unasked (context).
"""
