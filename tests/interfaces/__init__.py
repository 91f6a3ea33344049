"""Tests of the interfaces: command line, hooks, MCP and REST."""
