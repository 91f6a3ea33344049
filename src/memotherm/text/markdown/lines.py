"""Decoding the bytes of a file, and splitting text into lines.

Nothing in a file is an error: bytes that are not UTF-8 are replaced; a byte order mark and carriage
returns are not part of the text. Line n of a file is `split_lines(text)[n - 1]`, as in editors.
"""

from __future__ import annotations

import codecs

__all__ = ["decode", "split_lines"]

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode(data: bytes) -> str:
    """Return the text of a file; undecodable bytes are replaced."""
    if data.startswith(_UTF_16):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\x00", "\ufffd")


def split_lines(text: str) -> list[str]:
    """Return the lines without their line breaks; a final line break does not start another line."""
    if not text:
        return []
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
