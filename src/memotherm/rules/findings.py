"""What is wrong with a policy file, in one place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memotherm.model.value import Value

__all__ = ["Finding", "suggestion"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Finding(Value):
    """An error or warning about a policy file."""

    #: A stable code, such as P001.
    code: str
    #: What is wrong and what to do.
    message: str
    #: Where: keys and positions from the top of the file, such as ("rule", 0, "when", "idle").
    path: tuple[str | int, ...] = ()
    #: The line in the file; None when it is not known.
    line: int | None = None
    #: Whether the policy can be used as it is.
    warning: bool = False

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        return f"{where}{self.code} {self.message}"


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the known word that is closest, as the end of a message, or list them all."""
    # Imported here, because it takes time and is used only when something is wrong.
    import difflib

    words = list(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"use one of {', '.join(words)}"
