"""Where people and programs meet the memory: command line, MCP tools, hooks' answers, the screen.

Belongs here: parsing what is asked, calling one verb of `Memory`, showing the answer.
Does not: rules, ranking, SQL, file formats; whatever two surfaces need stands below them.
"""
