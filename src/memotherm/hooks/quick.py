"""The beginning of a hook: read its event, and end at once if it is a tool call that concerns no memory.

It imports nothing for other events, which the daemon answers.
"""

from __future__ import annotations

import os

#: A part of the names of all events of tools.
_EVENTS = (b"ToolUse", b"AfterTool")


def concerns_nothing(arguments: list[str]) -> bool:
    """Return whether the event on standard input is a tool call whose names are in no memory.

    Otherwise, standard input has the event again.
    """
    data = bytearray()
    while chunk := os.read(0, 1 << 16):
        data += chunk
    if any(name in data for name in _EVENTS):
        from memotherm.hooks.calls import is_unknown

        try:
            if is_unknown(bytes(data), arguments):
                return True
        except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
            pass  # the hook itself reports what is wrong
    _give_back(bytes(data))
    return False


def _give_back(data: bytes) -> None:
    """Make standard input a file with data that was read from it."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("event")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    while data:
        data = data[os.write(handle, data) :]
    os.lseek(handle, 0, os.SEEK_SET)
    os.dup2(handle, 0)
    os.close(handle)
