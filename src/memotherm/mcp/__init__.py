"""The MCP server: the tools, resources and prompts by which an agent reaches its memory.

Needs the extra `mcp`; importing this package itself needs nothing.
"""
