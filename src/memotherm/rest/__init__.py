"""The HTTP server: a REST API with API keys, rate limits and metrics, and MCP at /mcp.

The server needs the extra `server`; importing this package does not.
"""
