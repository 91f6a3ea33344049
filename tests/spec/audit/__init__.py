"""An audit from outside: every line of the source documents, asked of a running Memotherm.

A check gets the interfaces that it names as parameters and nothing else: `rest` and `tight` (HTTP servers, the second
one with small limits), `mcp` (a client over stdio), `cli` and `hook` (processes), `notes` (MCP with a folder of notes),
and `python` (the package). `python -m tests.spec.audit` runs all of them and prints the table.
"""
