"""Hooks of coding agents: what is recalled before a turn, and what is kept after it.

`entry`, `options`, `events`, `spool` and `server` know the standard library only, because a host waits for them;
`work` opens the memory, and only when it must.
"""
