"""Putting the memory into agents, and taking it out again without a trace.

Belongs here: which file of which agent gets which entry, the plugin as installed, what uninstalling restores.
Does not: what the hooks then do (hook, surfaces/hooks), the plugin's texts (plugin).
"""
