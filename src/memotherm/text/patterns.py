"""Regular expressions that are compiled when they are first used.

A hook imports modules with 160 patterns and uses 33 of them. Compiling the others as well would take as long as a
recall.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["compile_all", "lazy_pattern"]


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern with the methods of a compiled one; pass it to no function of `re`."""
    made = cast("re.Pattern[str]", _Uncompiled(text, flags))
    _PATTERNS.append(made)
    return made


def compile_all() -> int:
    """Compile the patterns of all modules that are loaded, for the forks of this process; return how many there are."""
    return sum(bool(each.flags) for each in _PATTERNS)


_PATTERNS: list[re.Pattern[str]] = []


class _Uncompiled:
    """A pattern whose attributes are those of the compiled one, which is made for the first of them."""

    def __init__(self, text: str, flags: int) -> None:
        self._arguments = text, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - what a compiled pattern has
        # Called only for what is not in `__dict__` yet.
        if name == "_compiled":
            value: Any = re.compile(*self._arguments)
        else:
            value = getattr(self._compiled, name)
        self.__dict__[name] = value
        return value
