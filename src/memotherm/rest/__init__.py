"""The HTTP server: the verbs as a REST API, with keys, limits and metrics, and MCP beside it.

Needs the extra `server`; importing this package itself needs nothing.
"""
