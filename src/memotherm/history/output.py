"""The lines of a command's output that tell why it failed."""

from __future__ import annotations

import re

#: A long output is looked at from both ends.
_END = 16 * 1024
_MOST_LINES, _MOST_CHARS, _LONGEST_LINE = 12, 2000, 400
_LAST_LINES = 3
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f](?:(?<=\x1b)\[[0-9;?]{0,40}[A-Za-z])?")
#: Words of which one is in nearly every line that names an error; looking for each is faster than one pattern.
_ERROR_WORDS = (
    "error", "exception", "fail", "fatal", "panic", "cannot", "can't", "could not", "unable", "not found", "no such",
    "denied", "refused", "undefined", "unknown", "unexpected", "invalid", "missing", "no module", "unresolved",
    "timed out", "timeout", "conflict", "abort", "assert", "no rule",
)  # fmt: skip
#: A line without spaces that is longer is a key, an address or data.
_LONGEST_WORD = 60


def error_lines(output: str) -> str:
    """Return the lines of a failed command that name an error, or its last ones; whole lines only."""
    if len(output) > 2 * _END:
        output = f"{output[:_END].rpartition(chr(10))[0]}\n{output[-_END:].partition(chr(10))[2]}"
    cleaned = (line.strip() for line in _CONTROL.sub("", output).split("\n"))
    told = [line for line in cleaned if line and len(line) <= _LONGEST_LINE and _is_prose(line)]
    whole = "\n".join(told).lower()
    words = [word for word in _ERROR_WORDS if word in whole]
    named = (line for line in told if any(word in line.lower() for word in words)) if words else iter(())
    found = list(dict.fromkeys(named)) or told[-_LAST_LINES:]
    # The last lines of a trace name the error, the first ones of a compiler.
    half = _MOST_LINES // 2
    chosen, length = [], 0
    for line in found if len(found) <= _MOST_LINES else [*found[:half], *found[-half:]]:
        length += len(line) + 1
        if length > _MOST_CHARS:
            break
        chosen.append(line)
    return "\n".join(chosen)


def _is_prose(line: str) -> bool:
    return " " in line or len(line) <= _LONGEST_WORD
