"""The marks of a memory: the entries of its metadata that have a meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memotherm.model.memory import Memory

#: The entry of a memory's metadata that names the memory which has superseded it.
SUPERSEDED_BY = "superseded_by"
#: The entry of a memory's metadata that names the sentences of it that were superseded, each with the memory that did.
OUTDATED = "outdated"
#: The same for parts that are perhaps outdated; the empty part is all of it.
PERHAPS_OUTDATED = "perhaps-outdated"

#: The entry of a memory's metadata with the condition that ends it: `when` and `place`, or `perhaps` for a guess; and
#: the one with the condition that has ended it.
ENDS, ENDED_BY = "ends", "ended_by"
#: The entry of a memory's metadata with the files that it is about.
ANCHORS = "anchors"
#: What is said about a memory whose files are not what they were.
FILE_MARKS = {"changed": "file changed since", "gone": "file gone since"}
#: The entry of a memory's metadata with the branch that it is about: `name`, `place`, and the `tip` when it was stored.
ON_BRANCH = "on_branch"


def outdated_sentences(memory: Memory) -> Mapping[str, str]:
    """Return the sentences of a memory that were superseded, each with the memory that did."""
    named = memory.metadata.get(OUTDATED)
    return named if isinstance(named, Mapping) else {}


def doubtful_parts(memory: Memory) -> Mapping[str, str]:
    """Return the parts of a memory that are perhaps outdated, each with the memory that replaces it."""
    named = memory.metadata.get(PERHAPS_OUTDATED)
    return named if isinstance(named, Mapping) else {}


def ends_of(memory: Memory) -> Mapping[str, Any]:
    """Return the condition that ends a memory, with what it is checked by; empty if there is none."""
    named = memory.metadata.get(ENDS)
    return named if isinstance(named, Mapping) else {}


def files_about(memory: Memory) -> list[str]:
    """Return the files that a memory is about, each with its first and last line if it is about some lines."""
    named, found = memory.metadata.get(ANCHORS), list[str]()
    for anchor in named if isinstance(named, list) else []:
        if isinstance(anchor, Mapping) and isinstance(anchor.get("path"), str):
            lines = anchor.get("lines")
            found.append(f"{anchor['path']}:{'-'.join(map(str, lines))}" if isinstance(lines, list) else anchor["path"])
    return found


#: The metadata keys of a message's author.
_AUTHOR_KEYS = ("speaker", "author", "role")


def author_of(memory: Memory) -> str:
    """Return who wrote a message, as its metadata name them; empty if they do not."""
    metadata = memory.metadata
    return next((str(metadata[key]) for key in _AUTHOR_KEYS if metadata.get(key)), "")
