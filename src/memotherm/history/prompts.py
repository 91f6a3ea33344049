"""Texts that programs write where users write, around and instead of what the user typed."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

#: What Claude Code writes when the user stops it.
INTERRUPTED = "[Request interrupted by user"


@cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<({'|'.join(names)})(?:\s[^<>]{{0,500}})?>")


def without_elements(text: str, names: tuple[str, ...]) -> str:
    """Return a text without the elements of some names, such as <ide_selection>…</ide_selection>, with their contents.

    A name is a regular expression. An element that is never closed stays.
    """
    if "<" not in text:
        return text
    kept, place, unclosed = [], 0, set[str]()
    for tag in _tags(names).finditer(text):
        if tag.start() < place or tag[1] in unclosed:
            continue
        closing = f"</{tag[1]}>"
        end = text.find(closing, tag.end())
        if end < 0:
            unclosed.add(tag[1])
            continue
        kept.append(text[place : tag.start()])
        place = end + len(closing)
    return "".join((*kept, text[place:])).strip() if place else text


def element(text: str, name: str) -> str:
    """Return the content of the first element of a name, or ""."""
    tag = _tags((name,)).search(text)
    end = text.find(f"</{name}>", tag.end()) if tag else -1
    return text[tag.end() : end].strip() if tag and end >= 0 else ""


def typed(text: str, prefixes: tuple[str, ...], elements: Collection[str] = ()) -> str:
    """Return the part of a text that a user typed: "" if the text begins as those of the program do."""
    text = without_elements(text, tuple(elements)).strip() if elements else text.strip()
    return "" if text.startswith((INTERRUPTED, *prefixes)) else text
