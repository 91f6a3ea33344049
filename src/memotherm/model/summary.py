"""Summaries of sessions, in the words of what was said, and the metadata that name what they were made from."""

from __future__ import annotations

from collections.abc import Iterable

from memotherm.model.memory import Memory
from memotherm.text.content import first_characters
from memotherm.text.phrases import is_question, sentences
from memotherm.text.tokens import count_tokens

#: The metadata key of a derived memory: the ids of its sources, with the version of each.
DERIVED_FROM = "derived_from"
#: The keys of summaries begin so, which an index knows.
SUMMARY_KEYS = "session/"
_SUMMARY_TOKENS = 110
#: The most characters of each sentence in a summary.
_SUMMARY_CHARS = 120
_SUMMARIZED = {"task": "Open", "decision": "Decided"}


def sources(memories: Iterable[Memory]) -> dict[str, dict[str, int]]:
    """Return the metadata that name what a memory was made from."""
    return {DERIVED_FROM: {memory.id: memory.version for memory in memories}}


def summary_of(memories: Iterable[Memory], tokenizer: str) -> str:
    """Return what was asked, decided, changed and left open in a session, in its own words; empty if nothing was."""
    named: dict[str, list[str]] = {name: [] for name in ("Open", "Decided", "Changed", "Asked", "Said")}
    for memory in memories:
        said = memory.content.partition("\n")[0]
        if memory.kind in _SUMMARIZED:
            name = _SUMMARIZED[memory.kind]
        elif "correction" in memory.tags:
            name = "Changed"
        else:
            name = "Asked" if any(map(is_question, sentences(said))) else "Said"
        named[name].append(shortened(said))
    chosen: dict[str, list[str]] = {name: [] for name in named}
    text = ""
    for name, items in named.items():
        for item in items:
            chosen[name].append(item)
            longer = "\n".join(f"{name}: {'; '.join(kept)}" for name, kept in chosen.items() if kept)
            if count_tokens(longer, tokenizer) > _SUMMARY_TOKENS:
                chosen[name].pop()
            else:
                text = longer
    return text


def shortened(said: str) -> str:
    """Return a line as a summary tells it."""
    short = said if len(said) <= _SUMMARY_CHARS else f"{first_characters(said, _SUMMARY_CHARS)}…"
    return short.rstrip(".。;")
