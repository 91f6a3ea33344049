"""Static vectors for languages that the bundled model does not know, in the same space as its own vectors.

The model was trained on English. It reads other scripts letter by letter, and other languages in short pieces: the
number of letters per piece shows how much of a text it knows. For the rest, the text's static vector is added: the
mean of its word pieces, from potion-multilingual (4-bit numbers with one scale per row; see `weights/NOTICE`). The
model's vectors lie around a common mean and hardly use some dimensions, so a static vector is mapped into those
dimensions around the same mean. The product of two vectors is

    usual cosine + known * (model's cosine - usual cosine) + (1 - known) * a share of the static cosine

if both texts are known to the same degree. A known and an unknown text have the usual cosine, which says nothing.
Vectors of English texts are the model's own.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from memotherm.embed.wordpiece import WordPiece, words
from memotherm.text.patterns import lazy_pattern
from memotherm.text.words import is_english

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Vector = NDArray[np.float32]

#: Prefix of pieces that begin a word.
_BEGINNING = "\u2581"
#: Entries in the cache of words.
_REMEMBERED_WORDS = 32_768
#: Maximum lengths of a piece and of a word, in characters.
_LONGEST_PIECE = 16
_LONGEST_WORD = 100
#: Offset of the 4-bit numbers, packed two per byte.
_ZERO = 8


class StaticVectors:
    """The static vectors of word pieces, loaded from a folder on first use, once in a process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pieces = lru_cache(maxsize=_REMEMBERED_WORDS)(self._match)

    def embed(self, text: str) -> NDArray[np.float32] | None:
        """Return the unit vector of a text, or None if no piece of it is in the table."""
        return self.embed_with_information(text)[0]

    def embed_with_information(self, text: str) -> tuple[NDArray[np.float32] | None, float]:
        """Return the unit vector of a text, and the sum of the lengths of its pieces: rare pieces are longer."""
        import numpy as np

        words = unicodedata.normalize("NFKC", text).split()
        rows = [row for word in words for row in self._pieces(word[:_LONGEST_WORD])]
        if not rows:
            return None, 0.0
        scales, numbers = self._table.scales[rows].astype(np.float32), self._numbers(rows)
        total = scales @ numbers
        length = float(np.linalg.norm(total))
        information = float(scales @ np.linalg.norm(numbers, axis=1))
        return (np.asarray(total / length, np.float32) if length else None), information

    def rows(self, text: str, most: int) -> tuple[list[int], list[tuple[bool, bool]]]:
        """Return the rows of the first pieces of a text, and of each whether its word is capitalised or has a digit.

        The first word has a capital letter in most texts, which is not counted.
        """
        rows, marks = list[int](), list[tuple[bool, bool]]()
        for place, word in enumerate(unicodedata.normalize("NFKC", text).split()):
            pieces = self._pieces(word.lower()[:_LONGEST_WORD])
            rows += pieces
            marks += [(place > 0 and word[:1].isupper(), any(map(str.isdigit, word)))] * len(pieces)
            if len(rows) >= most:
                break
        return rows[:most], marks[:most]

    def vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of rows."""
        import numpy as np

        return np.asarray(self._table.scales[rows].astype(np.float32)[:, np.newaxis] * self._numbers(rows), np.float32)

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per word; zeros if no piece of it is in the table."""
        import numpy as np

        pieces = [self._pieces(word[:_LONGEST_WORD]) for word in words]
        rows = list(chain.from_iterable(pieces))
        numbers = self.vectors(rows)
        totals = np.zeros((len(words), numbers.shape[1]), np.float32)
        np.add.at(totals, np.repeat(np.arange(len(words)), list(map(len, pieces))), numbers)
        lengths = np.linalg.norm(totals, axis=1, keepdims=True)
        return np.asarray(totals / np.where(lengths > 0, lengths, 1), np.float32)

    def _numbers(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the unscaled numbers of rows."""
        import numpy as np

        packed = self._table.vectors[rows]
        numbers = np.stack((packed >> 4, packed & 15), axis=2).reshape(len(rows), 2 * packed.shape[1])
        return numbers.astype(np.float32) - _ZERO

    def _match(self, word: str) -> tuple[int, ...]:
        """Return the rows of a word's pieces, the longest first; characters without a piece are skipped."""
        rows, index = list[int](), self._table.rows
        word = _BEGINNING + word
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + _LONGEST_PIECE), start, -1):
                row = index.get(word[start:end])
                if row is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                start += 1
        return tuple(rows)

    @property
    def _table(self) -> _Table:
        return _loaded_table(self._folder)


class _Table(NamedTuple):
    """The packed vectors of word pieces, the scale of each, and their rows."""

    vectors: NDArray[np.uint8]
    scales: NDArray[np.float16]
    rows: dict[str, int]


@cache
def _loaded_table(folder: Path) -> _Table:
    import numpy as np

    pieces = (folder / "pieces.txt").read_text(encoding="utf-8").split("\n")
    index = {piece: row for row, piece in enumerate(pieces) if piece}
    return _Table(np.load(folder / "pieces.npy", mmap_mode="r"), np.load(folder / "scales.npy"), index)


#: The table is cleared above this many words and texts: about 32 MB of vectors and 10 MB of texts.
_MAX_WORDS = 32_768
_MAX_TEXTS = 16_384
#: How many words of a text are compared: the best of very many matches by chance.
_WORDS_OF_TEXT = 128
#: Matrix products up to this size use one thread; more threads would wait longer than they compute.
_ONE_THREAD = 262_144


class WordTable:
    """A cache of word vectors, and of the words of texts: a query compares each word with a few thousand others.

    For 100 texts of 40 words it takes 0.5 ms instead of 23.
    """

    def __init__(self, embed_words: Callable[[Sequence[str]], Vectors]) -> None:
        self._embed_words = embed_words
        self._lock = Lock()
        self._rows: dict[str, int] = {}
        self._texts: dict[str, NDArray[np.intp]] = {}
        #: One row per word, with spare rows; None while empty.
        self._vectors: Any = None

    def cosines(self, words: Sequence[str], texts: Sequence[str]) -> Vectors:
        """Return the cosine of each word (columns) and the most similar word of each text (rows).

        The words of a text are separated by spaces.
        """
        import numpy as np

        if not words or not texts:
            return np.zeros((len(texts), len(words)), np.float32)
        with self._lock:
            self._add(words, texts)
            asked, places = [self._rows[word] for word in words], [self._texts[text] for text in texts]
            vectors = self._vectors
        lengths = [len(each) for each in places]
        starts, rows = np.cumsum([0, *lengths[:-1]]), np.concatenate(places)
        # A word that occurs in several texts is compared once.
        places_of = np.full(len(vectors), -1, np.intp)
        places_of[rows] = 0
        different = np.flatnonzero(places_of == 0)
        places_of[different] = np.arange(len(different))
        of_texts, of_words = vectors[different], np.ascontiguousarray(vectors[asked].T)
        cosines = np.empty((len(different), len(words)), np.float32)
        step = max(1, _ONE_THREAD // of_words.size)
        for start in range(0, len(different), step):
            np.matmul(of_texts[start : start + step], of_words, out=cosines[start : start + step])
        return np.asarray(np.maximum.reduceat(cosines[places_of[rows]], starts, axis=0), np.float32)

    def _add(self, words: Sequence[str], texts: Sequence[str]) -> None:
        """Add missing words and texts; a full array is replaced by a larger one, as other threads may still read it."""
        import numpy as np

        if len(self._rows) > _MAX_WORDS or len(self._texts) > _MAX_TEXTS:
            self._rows, self._texts, self._vectors = {}, {}, None
        new = {text: _words(text) for text in texts if text not in self._texts}
        missing = list(dict.fromkeys(word for word in chain(words, *new.values()) if word not in self._rows))
        if missing:
            made, count = self._embed_words(missing), len(self._rows)
            total = count + len(made)
            if self._vectors is None or total > len(self._vectors):
                larger = np.empty((2 * total, made.shape[1]), np.float32)
                if self._vectors is not None:
                    larger[:count] = self._vectors[:count]
                self._vectors = larger
            self._vectors[count:total] = made
            self._rows.update(zip(missing, range(count, total), strict=True))
        self._texts |= {text: np.array([self._rows[word] for word in listed]) for text, listed in new.items()}


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(text.split()))[:_WORDS_OF_TEXT] or [""]


#: Below this known share, only the static vector is used.
UNKNOWN = 0.15
#: Letters per piece in English, and in a language that the model can only spell.
_ENGLISH_PIECE, _LETTER = 4.4, 1.0
#: Up to this share of non-Latin letters, a text is judged by its Latin words.
_FOREIGN = 0.3
#: The length of a static vector along the mean of the model's vectors and across it, for stored texts and for
#: queries, chosen so that unrelated texts have the same usual and rare cosines as in the model. The rest of the
#: length goes into one dimension for stored texts and another for queries, so it adds nothing to their product.
_ALONG = (0.80, 0.66)
_ACROSS = (0.57, 0.65)
#: Two words with a cosine up to this are unrelated.
_UNRELATED_WORDS = 0.4
#: The square root of the weight of a static cosine against the model's: it says less than the words of a text.
_STATIC_WEIGHT = 0.25
_LATIN = lazy_pattern("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
#: How many characters of a text are examined.
_MAX_CHARS = 2_000


class LanguageMixer:
    """Mixes the static vector of a text with the model's own, by how much of the text the model knows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._static = StaticVectors(folder)
        self._words = WordTable(self._static.embed_words)
        self._basis: NDArray[np.float32] | None = None

    def known(self, text: str, tokenizer: WordPiece) -> float:
        """Return how much of a text the model knows, from 0 to 1; 1 for English."""
        text = text[:_MAX_CHARS]
        if not _is_foreign(text):
            return 1.0
        tokens = [word for word in words(text) if word[0].isalpha()]
        letters = sum(map(len, tokens))
        pieces = sum(len(tokenizer.pieces(word)) for word in tokens)
        share = (letters / max(pieces, 1) - _LETTER) / (_ENGLISH_PIECE - _LETTER)
        return min(1.0, max(0.0, share))

    def weight(self, known: float) -> float:
        """Return the weight of a query's cosines, from 0 to 1; 1 for English."""
        return (known + (1 - known) * _STATIC_WEIGHT) ** 2

    def mix(self, own: Vector | None, text: str, known: float, *, query: bool) -> Vector | None:
        """Return the unit vector of both kinds; None if there is neither."""
        import numpy as np

        static = self._static.embed(text) if known < 1 else None
        if static is None:
            return own
        if self._basis is None:
            self._basis = np.load(self._folder / "basis.npy").astype(np.float32)
        # The mean of the model's vectors, the basis of static vectors, and the two dimensions of the rest.
        mean, across, rests = self._basis[:, 0], self._basis[:, 1:-2], self._basis[:, -2:]
        along, length = _ALONG[query], _ACROSS[query]
        rest = math.sqrt(1 - along**2 - length**2)
        foreign = length * (across @ static) + rest * rests[:, int(query)]
        if own is None:
            mixed = along * mean + foreign
        else:
            own_along = float(own @ mean)
            mixed = (known * own_along + (1 - known) * along) * mean
            mixed = mixed + math.sqrt(known) * (own - own_along * mean) + math.sqrt(1 - known) * foreign
        return np.asarray(mixed / np.linalg.norm(mixed), np.float32)

    def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how similar each word (columns) is to the most similar word of each text (rows), from 0 to 1."""
        import numpy as np

        cosines = self._words.cosines(words, texts)
        return np.asarray(np.clip((cosines - _UNRELATED_WORDS) / (1 - _UNRELATED_WORDS), 0, 1), np.float32)


def _is_foreign(text: str) -> bool:
    """Return whether a text is mostly in another script, or in another language than English."""
    if not text.isascii():
        letters = sum(character.isalpha() for character in text)
        if letters - len(_LATIN.findall(text)) > _FOREIGN * letters:
            return True
    return not is_english(text)
