"""Text that is safe to print: in any encoding, without control sequences of terminals."""

from __future__ import annotations

import codecs
import sys

__all__ = ["accept_any_text", "printable"]

_ERRORS = "memotherm.escape"
#: Control characters as their pictures, except tab and line feed; C1 controls and DEL have none.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


def printable(text: str) -> str:
    """Return a text whose control characters are replaced by visible ones, which terminals do not interpret."""
    return text.translate(_PICTURES)


def accept_any_text() -> None:
    """Let standard output and error print what their encoding lacks as the escapes that JSON has."""
    codecs.register_error(_ERRORS, _escaped)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_ERRORS)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)), error.end
