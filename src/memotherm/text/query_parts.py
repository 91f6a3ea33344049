"""The parts of a long query: a bug report, a plan or a log is searched sentence by sentence.

The words and the vector of a whole report are about everything and close to nothing. Most of its sentences are answered
by no memory; the one that is decides.
"""

from __future__ import annotations

from memotherm.text.phrases import is_filler, sentences

__all__ = ["query_parts"]

#: A shorter query, or one of fewer sentences, is searched as a whole.
_SHORT, _FEWEST = 200, 3
#: Of a longer one, so many characters at the beginning and at the end are searched: between them are logs and code.
_FIRST, _LAST = 2000, 1000
#: A shorter sentence belongs to the next one.
_LEAST = 25
#: The most parts; each costs as much as a query of its own.
_MOST = 8


def query_parts(query: str) -> list[str]:
    """Return the parts of a query that are searched apart; a short query is its only part."""
    if len(query) <= _SHORT:
        return [query]
    ends = [query] if len(query) <= _FIRST + _LAST else [query[:_FIRST], query[-_LAST:]]
    found: list[str] = []
    short = ""
    for sentence in (each.strip() for end in ends for each in sentences(end) if not is_filler(each)):
        short = f"{short} {sentence}".strip()
        if len(short) >= _LEAST:
            found.append(short)
            short = ""
    if len(found) < _FEWEST:
        return [query]
    size = -(-len(found) // _MOST)
    return [" ".join(found[start : start + size]) for start in range(0, len(found), size)]
