"""Histories that agents and other memories keep, brought into the archive: what is new, once.

Belongs here: which files are new, workers that read them, batches with the place where reading goes on.
Does not: the formats of the agents' files (transcripts), redaction (redact).
"""
