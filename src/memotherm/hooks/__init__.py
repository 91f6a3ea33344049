"""Hooks of coding agents: recall memories before a turn, and capture the conversation after it.

`entry` and `events` import the standard library only, because the host waits for them; `recall` and `capture` open the
store.
"""
