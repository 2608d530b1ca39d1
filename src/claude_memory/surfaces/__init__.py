"""Where people and programs meet the memory. A surface parses, calls one verb and renders the answer."""
