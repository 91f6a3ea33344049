"""Framing: words around a question that say nothing about its subject.

"By the way, can you remind me which port staging uses again?" asks the same as "which port staging uses?". A vector of
the whole sentence is farther from the memory that answers it, and its words are in no memory, so a recall looks at the
sentence without its framing. `word_lists.json` lists the phrases of each language:

    opening   before a question: greetings, thanks, "by the way"
    telling   before what is to be told: "remind me", "can you tell me", "I forgot"
    ending    after a question: "again", "please", "do you remember"
    request   begins a request that a preference answers, and is a part of it: "suggest", "recommend"
"""

from __future__ import annotations

import functools
import unicodedata
from typing import NamedTuple

from memotherm.text.language import WORD_LISTS
from memotherm.text.patterns import lazy_pattern
from memotherm.text.phrases import is_question
from memotherm.text.words import is_unspaced, plain_text

#: How many phrases are removed at either end, and the most words and characters of one.
_MOST_PHRASES = 4
_MOST_WORDS = 8
_MOST_CHARS = 120
_WORD = lazy_pattern(r"[\w\u0300-\u036f\u0900-\u0dff]+")
_MARK = lazy_pattern("[?\u037e\u055e\u061f\u1367\uff1f]")
#: What may stand between a phrase and the question; opening quotation and question marks belong to the question.
_BETWEEN = lazy_pattern(r"[\s,，、:：;；.。…!！—–-]*")
#: A mark at the end of a framed question.
_AFTER = " \t\n\r,，、.。…!！?？;；:：—–-؟"


class Framed(NamedTuple):
    """A prompt without its framing."""

    #: The prompt itself if nothing else is left of it.
    text: str
    #: Whether it asks to be told something, with a question mark or without.
    asks: bool


def without_framing(prompt: str) -> Framed:
    """Return a prompt without the phrases around its question."""
    start, told = _after_openings(prompt)
    end = _before_endings(prompt, start)
    core = prompt[start:end]
    if not _WORD.search(core):
        return Framed(prompt, _MARK.search(prompt) is not None)
    marked = _MARK.search(prompt) is not None
    if marked and not _MARK.search(core):
        core += "?"
    return Framed(core, marked or told or _begins(core, 0, "request") > 0 or is_question(core))


def _after_openings(prompt: str) -> tuple[int, bool]:
    """Return where a prompt begins after its openings, and whether one of them asks to be told something."""
    start, told = 0, False
    for _ in range(_MOST_PHRASES):
        if end := _begins(prompt, start, "telling"):
            told = True
        else:
            end = _begins(prompt, start, "opening")
        if not end:
            break
        match = _BETWEEN.match(prompt, end)
        start = match.end() if match else end
    return start, told


def _before_endings(prompt: str, start: int) -> int:
    """Return where a prompt ends before its endings."""
    end = len(prompt)
    for _ in range(_MOST_PHRASES):
        shorter = _ends(prompt, start, end)
        if shorter == end:
            break
        end = shorter
    return end


def _begins(text: str, start: int, name: str) -> int:
    """Return the end of the longest phrase that begins there, or 0."""
    spaced, unspaced, firsts, _ = _phrases(name)
    part = text[start : start + _MOST_CHARS]
    first = _WORD.search(part)
    if first is None:
        return 0
    if is_unspaced(first[0][:1]):
        longest = max((phrase for phrase in unspaced if part.startswith(phrase, first.start())), key=len, default="")
        return start + first.start() + len(longest) if longest else 0
    if _plain(first[0]) not in firsts:
        return 0
    words = list(_WORD.finditer(part))[:_MOST_WORDS]
    plain = [_plain(word[0]) for word in words]
    counts = range(len(words), 0, -1)
    return next((start + words[n - 1].end() for n in counts if " ".join(plain[:n]) in spaced), 0)


def _ends(text: str, start: int, end: int) -> int:
    """Return the end of a text without the longest ending, and without the punctuation before that."""
    spaced, unspaced, _, lasts = _phrases("ending")
    least = max(start, end - _MOST_CHARS)
    tail = text[least:end].rstrip(_AFTER)
    longest = max((phrase for phrase in unspaced if tail.endswith(phrase)), key=len, default="")
    cut = len(tail) - len(longest)
    if not longest:
        last = _WORD.findall(tail.rpartition(" ")[2])
        if last and _plain(last[-1]) not in lasts:
            return end
        words = list(_WORD.finditer(tail))[-_MOST_WORDS:]
        plain = [_plain(word[0]) for word in words]
        cut = next((word.start() for n, word in enumerate(words) if " ".join(plain[n:]) in spaced), len(tail))
    return end if cut == len(tail) else least + len(tail[:cut].rstrip(_AFTER))


@functools.cache
def _phrases(name: str) -> tuple[frozenset[str], tuple[str, ...], frozenset[str], frozenset[str]]:
    """Return the phrases of all languages under a name: those of words between spaces, and the others.

    Then the first and the last words of the former: most prompts have none of these there.
    """
    found = set[str]()
    for entries in WORD_LISTS["framing"].values():
        found.update(map(plain_text, dict(entry.split(": ") for entry in entries.split("; "))[name].split(", ")))
    unspaced = {phrase for phrase in found if is_unspaced(phrase[:1])}
    words = [phrase.split() for phrase in found - unspaced]
    firsts, lasts = (frozenset(each[place] for each in words) for place in (0, -1))
    return frozenset(found - unspaced), tuple(sorted(unspaced)), firsts, lasts


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()
