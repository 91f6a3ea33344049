"""Hooks of coding agents: recall memories before a turn, and capture what was said after it.

`entry`, `options`, `events`, `spool` and `server` import the standard library only, because the host waits for
them; `recalling` and `capture` open the store.
"""
