"""Hooks of coding agents: recall memories before a turn, and capture the conversation after it.

`entry`, `options`, `events`, `spool` and `server` import the standard library only, because the host waits for
them; `recalling` and `capture` open the store.
"""
