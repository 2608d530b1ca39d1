"""How an agent asks: the MCP server."""
