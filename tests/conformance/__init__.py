"""The official MCP inspector and conformance suite against our server; `make conformance` runs them."""
