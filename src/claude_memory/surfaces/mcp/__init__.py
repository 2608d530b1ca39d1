"""The MCP server: ten tools, resources and prompts for agents, over stdio or HTTP.

Belongs here: names, descriptions and schemas of the tools, what they give back, the server's life.
Does not: searching, storing, judging (memory and its parts); what hooks print (surfaces/hooks).
"""
