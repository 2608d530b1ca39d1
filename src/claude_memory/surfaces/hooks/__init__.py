"""What hooks do beyond capturing: context for the events that want it, and the drain they leave behind.

Belongs here: reading a hook's event, asking `context` for lines, printing them as each agent wants it.
Does not: choosing the lines (context), capturing (hook). Empty on purpose: a hook imports what it needs.
"""
