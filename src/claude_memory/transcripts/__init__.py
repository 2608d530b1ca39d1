"""Reads what agents write about their conversations: one small reader per agent, all giving turns."""
