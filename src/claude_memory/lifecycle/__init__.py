"""What a memory is worth over time: the gate for new ones, strength, staleness, consolidation, intentions.

Belongs here: drafts, spaced repetition, links between alike memories, reminders that come due, retention.
Does not: deleting or merging what a person wrote, ranking for a question (search).
"""
