"""What hooks do beyond capturing: context for the events that want it, and the drain they leave behind.

Empty on purpose: a hook imports `after` from here and must not load what it may not need.
"""
