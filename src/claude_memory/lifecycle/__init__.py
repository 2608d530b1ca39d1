"""What a memory is worth over time: the gate for new ones, strength, staleness, consolidation, intentions.

Belongs here: spaced repetition, links between alike memories, what was of use, reminders that come due.
Does not: deleting or merging what a person wrote, ranking for a question (search).
"""
