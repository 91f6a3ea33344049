"""From the bytes of a file to numbered lines.

Nothing a file can hold is an error: what is no UTF-8 is replaced, a byte order mark and carriage
returns are not part of the text. Line n of a file is `lines_of(text)[n - 1]`, as editors count.
"""

from __future__ import annotations

import codecs

__all__ = ["decoded", "lines_of"]

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decoded(data: bytes) -> str:
    """Return the text of a file, whatever its bytes are."""
    if data.startswith(_WIDE):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\x00", "\ufffd")


def lines_of(text: str) -> list[str]:
    """Return the lines without their ends; a final line end does not begin another line."""
    if not text:
        return []
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
