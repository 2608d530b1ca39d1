"""Reads what agents write about their conversations: one small reader per agent, all giving turns.

Belongs here: where each agent keeps its files, their formats and fields.
Does not: redacting, storing (imports), telling what a turn means (understand).
"""
