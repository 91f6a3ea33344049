"""BERT's uncased WordPiece: text to the token ids the bundled model was trained on.

A word that is not in the vocabulary becomes [UNK].
`tests/embed/test_wordpiece.py` compares the ids with those of the `tokenizers` package; the one difference is
that "[SEP]" inside a text is ordinary text here, so that a memory cannot forge the model's control tokens.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from memotherm.errors import EmbedderError

#: Longer words are unknown to BERT.
LONGEST_WORD = 100
#: The size of the cache of words; a conversation uses a few thousand.
REMEMBERED_WORDS = 32_768
#: The size of the cache of characters: all of everyday Unicode, and a bound for hostile text.
REMEMBERED_CHARS = 16_384

_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # as in `tokenizers`; BERT's own code begins at 0x2B820
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Turns text into token ids by the greedy longest match in a vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        missing = [token for token in ("[UNK]", "[CLS]", "[SEP]") if token not in vocabulary]
        if missing:
            raise EmbedderError(f"The vocabulary lacks {', '.join(missing)}; use the vocab.txt of a BERT model.")
        self._vocabulary = dict(vocabulary)
        self._longest = max(map(len, self._vocabulary))
        self._unknown = (self._vocabulary["[UNK]"],)
        self._start, self._end = self._vocabulary["[CLS]"], self._vocabulary["[SEP]"]
        self._pieces = lru_cache(maxsize=REMEMBERED_WORDS)(self._match)

    @classmethod
    def from_file(cls, path: Path) -> WordPiece:
        """Read a vocab.txt of one token per line, or the vocabulary inside a tokenizer.json."""
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return cls(json.loads(text)["model"]["vocab"])
        numbers = {token: number for number, token in enumerate(text.split("\n"))}
        numbers.pop("", None)
        return cls(numbers)

    def encode(self, text: str, limit: int = 512) -> list[int]:
        """Return the ids of a text between [CLS] and [SEP], `limit` at most in all."""
        ids: list[int] = [self._start]
        for word in words(text):
            ids += self.pieces(word)
            if len(ids) >= limit:
                break
        del ids[limit - 1 :]
        return [*ids, self._end]

    def count(self, text: str) -> int:
        """Count the tokens of a text, [CLS] and [SEP] not included."""
        return sum(len(self.pieces(word)) for word in words(text))

    def pieces(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word."""
        # Checked before the cache, which should not have a key of a megabyte.
        return self._unknown if len(word) > LONGEST_WORD else self._pieces(word)

    def _match(self, word: str) -> tuple[int, ...]:
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            ids.append(piece)
            start = end
        return tuple(ids)


def words(text: str) -> list[str]:
    """Clean a text and separate it into lower-case words, punctuation and CJK characters."""
    return text.translate(_TREATMENTS).split()


def atoms(run: str) -> list[str]:
    """Split a run without spaces where BERT would, so that the tokens of the parts add up to the whole's."""
    parts: list[str] = []
    start = 0
    for position, character in enumerate(run):
        if _TREATMENTS[ord(character)].startswith(" "):
            parts += [run[start:position], character] if start < position else [character]
            start = position + 1
    return [*parts, run[start:]] if start < len(run) else parts


class _Treatments(dict[int, str]):
    """The replacement of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        if len(self) >= REMEMBERED_CHARS:
            self.clear()
        self[code] = treatment = _treat(chr(code))
        return treatment


_TREATMENTS = _Treatments()


def _treat(character: str) -> str:
    """Return the replacement of one character: nothing, a space, or lower case without accents."""
    if character in " \t\n\r":
        return " "
    category = unicodedata.category(character)
    # Unassigned characters (Cn) stay: they are new to our Unicode tables, not control characters.
    if category in ("Cc", "Cf", "Co", "Cs") or character == "\ufffd":
        return ""
    if category[0] == "Z":
        return " "
    if any(first <= ord(character) <= last for first, last in _CJK):
        character = f" {character} "
    return "".join(map(_plain, unicodedata.normalize("NFD", character)))


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Mn":
        return ""
    ascii_symbol = character.isascii() and character.isprintable() and not character.isalnum() and character != " "
    if ascii_symbol or category[0] == "P":
        return f" {character} "
    return character.lower()
