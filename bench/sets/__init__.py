"""Readers of the public retrieval sets. Each gives `Corpus` values; nothing of the data is kept here."""
