"""Claims: what the sentences of a text state, as small numbers that a store can look up.

A claim is a slot of a sentence with its value (`text/versions.py` says what a slot is). Both are hashes: claims with
the same slot and another value may disagree, which the sentences themselves decide. The whole sentence is a slot as
well, whose value is whether it is denied.

A sentence that says that something has changed may disagree with others that have none of its slots in common. So each
sentence also has an outline or two, without a value unless the sentence denies something or says that it has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from memotherm.text.corrections import corrections, statements
from memotherm.text.phrases import sentences
from memotherm.text.versions import Statement

#: Changes when the same text gives other claims; a store then makes them again.
CLAIMS_VERSION = 2
#: A longer text is a document or a story, of which no claims are kept: each sentence costs eight rows.
MOST_CHARS = 800
_SLOT_BYTES, _VALUE_BYTES = 6, 3


class Claim(NamedTuple):
    """A slot of a sentence, and its value."""

    #: The number of the sentence in its text.
    sentence: int
    #: The hash of the slot; odd for an outline.
    slot: int
    #: The hash of the value, 0 for none.
    value: int


class Claims(NamedTuple):
    """What a text claims, and the numbers of its sentences that correct something."""

    claims: list[Claim]
    corrects: tuple[int, ...]


def claims_of(text: str) -> list[Claim]:
    """Return the claims of a text, each slot of a sentence once."""
    return [
        Claim(number, slot, value)
        for number, statement in enumerate(() if len(text) > MOST_CHARS else statements(text))
        for slot, value in hashed_slots(statement).items()
    ]


def claims_of_many(texts: Iterable[str]) -> dict[str, Claims]:
    """Return what each text claims."""
    return {text: Claims(claims_of(text), _correcting(text)) for text in texts}


def _correcting(text: str) -> tuple[int, ...]:
    return () if len(text) > MOST_CHARS else tuple(each.sentence for each in corrections(text))


def slot_hash(slot: str) -> int:
    """Return the hash of a slot."""
    return _hash(slot, _SLOT_BYTES) & ~1


def is_outline(slot: int) -> bool:
    """Return whether a hash is that of an outline."""
    return bool(slot & 1)


def sentence_of(text: str, number: int) -> str:
    """Return a sentence of a text by its number, without the white space around it."""
    return next((each for place, each in enumerate(sentences(text)) if place == number), "").strip()


def statement_of(text: str, number: int) -> Statement:
    """Return the statement of a sentence of a text."""
    return statements(text)[number]


def hashed_slots(statement: Statement) -> dict[int, int]:
    """Return the hashes of the slots of a statement, each with that of its value."""
    found = {slot_hash(slot): _hash(value, _VALUE_BYTES) if value else 0 for slot, value in statement.values()}
    if found:
        # Two that say that something has changed differ unless they say the same.
        whole = _hash(" ".join(map(str, found)), _VALUE_BYTES) | 1 if statement.changed or statement.denial else 0
        found |= {_hash(" ".join(outline), _SLOT_BYTES) | 1: whole for outline in statement.outlines}
    return found


def _hash(text: str, size: int) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest(), "big")
