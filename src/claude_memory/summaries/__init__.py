"""Compactions: what each took, its summary as a file, and language models that may write a better one.

Belongs here: stretches, summaries made of exchanges, `compact_NNN.json`, providers with cap and ledger.
Does not: telling who spoke, storing memories, building exchanges.
"""
