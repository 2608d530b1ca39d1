"""What is handed to an agent, within a token budget: facts, never orders.

Belongs here: which lines are given at a start, a prompt, an edit, a command, to a sub-agent; their order.
Does not: finding by a question (search), reading the hook's input and printing the answer (surfaces/hooks).
"""
