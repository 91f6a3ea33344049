"""The words of a content and of a query, for the text index.

Unicode words are case-folded and stemmed; runs of scripts without spaces between words are split into
overlapping pairs of characters. Contents and queries use the same function.

A word in Latin letters is stemmed as English, and in a text of another language as a word of that language as
well, because a short query may not show its language. Words in other scripts are stemmed by their script.
"""

from __future__ import annotations

import functools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from memotherm.text.language import (
    ENGLISH,
    FUNCTION_WORDS,
    SCRIPT_FUNCTION_WORDS,
    WORD_LISTS,
    latin_language,
    script_language,
    stemmer,
)
from memotherm.text.patterns import lazy_pattern

#: Changes when the same content gives other words; a store then rebuilds its text indexes.
WORDS_VERSION = 2

#: The most characters of a word in the text index.
LONGEST_WORD = 64
_ACCENTS = lazy_pattern("[\u0300-\u036f]")
_LATIN = lazy_pattern("[a-z\u00df-\u024f\u1e00-\u1eff]")
_ASCII_WORD = lazy_pattern("[a-z0-9]+")
#: Letters and digits, and the marks that some scripts write their vowels with.
_WORD = lazy_pattern(
    "(?:[^\\W_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e4e\u0eb1-\u0ece\u102b-\u103e\u17b4-\u17d3])+"
)
#: What stands around a word and is no part of it.
_AROUND = ".,;:!?…\"'`()[]{}<>*“”‘’„«»、。，！？：；"
_PUNCTUATION = lazy_pattern(r"[^\w\u0300-\u036f\u0900-\u0dff]+")
#: Han, kana, Hangul, Thai, Lao, Khmer and Myanmar: no spaces between words.
_UNSPACED = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)

#: Words that are frequent in questions; they get a lower weight in a search.
_FRAME = frozenset(WORD_LISTS["other"]["questions"].split())
#: Pairs of characters with little meaning: hiragana, which writes particles and endings, and pairs with a Chinese
#: pronoun, particle or question word. They get the weight of words that are frequent in questions.
_FUNCTION_PAIR = lazy_pattern(
    "[\u3040-\u309f]{1,2}|.?[的了是不在有和与就也都很吗呢吧啊么什怎哪谁几为这那我你您他她它们个之其请要会能可]|"
    "[的了是不在有和与就也都很吗呢吧啊么什怎哪谁几为这那我你您他她它们个之其请要会能可]."
)
#: The share of a query word's weight for its stem in the query's language; the rest goes to its English stem, which
#: finds contents whose language was not recognised.
_OWN_STEM = 0.7


def words(text: str) -> list[str]:
    """Return the words of a content, in order, repetitions included."""
    raw = list(_raw(text, ends=True))
    language = latin_language(raw)
    if language == ENGLISH:
        return list(map(folded, raw))
    return [form for word in raw for form in _forms(word, language)]


def is_english(text: str) -> bool:
    """Return whether the Latin words of a text are taken for English."""
    return latin_language(_raw(text, ends=False)) == ENGLISH


def query_words(query: str) -> list[str]:
    """Return the distinct words to search for; stop words only when there is nothing else."""
    return list(weighed_words(query))


def weighed_words(query: str, frame: float = 1.0) -> dict[str, float]:
    """Return the words to search for with their weights: 1, or `frame` for words that are frequent in questions."""
    raw = list(dict.fromkeys(_raw(query, ends=False)))
    language = latin_language(raw)
    stop = FUNCTION_WORDS[language]
    searched = [word for word in raw if word not in stop and word not in SCRIPT_FUNCTION_WORDS] or raw
    weighed: dict[str, float] = {}
    for word in searched:
        frames = word in _FRAME or (not word.isascii() and _FUNCTION_PAIR.fullmatch(word))
        weight = frame if frames else 1.0
        forms = _forms(word, language)
        shares = (1.0,) if len(forms) == 1 else (1 - _OWN_STEM, _OWN_STEM)
        for form, share in zip(forms, shares, strict=True):
            weighed[form] = max(weight * share, weighed.get(form, 0.0))
    return weighed


def content_words(text: str) -> set[str]:
    """Return the content words of a text: numbers, and words of two or more characters that are not function words."""
    return set(ordered_content_words(text))


def ordered_content_words(text: str) -> Iterator[str]:
    """Yield the content words of a text in their order."""
    raw = list(_raw(text, ends=False))
    frequent = _frequent(latin_language(raw))
    return (folded(word) for word in raw if word not in frequent and (len(word) > 1 or word.isdigit()))


@functools.cache
def _frequent(language: str) -> frozenset[str]:
    return FUNCTION_WORDS[language] | SCRIPT_FUNCTION_WORDS | _FRAME


def stemmed_words(text: str) -> list[str]:
    """Return the words of a text, stemmed as English or by their script; unspaced runs are whole."""
    return list(each_stemmed_word(text))


def each_stemmed_word(text: str) -> Iterator[str]:
    """Yield the words that `stemmed_words` returns."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    if plain.isascii():
        return map(folded, _ASCII_WORD.findall(plain))
    return (folded(part) for word in _WORD.findall(plain) for part in _UNSPACED.sub(r" \g<0> ", word).split())


#: The characters of ASCII that are no parts of words, as spaces.
_ASCII_SPACES = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def plain_text(text: str) -> str:
    """Return a text in lower case with single spaces instead of punctuation."""
    if text.isascii():
        # The same in a third of the time.
        return " ".join(text.lower().translate(_ASCII_SPACES).split())
    return _PUNCTUATION.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def as_written(plain: str, text: str) -> list[str]:
    """Return the words of a plain text as another text writes them first: "02:00" for "02" and for "00"."""
    written: dict[str, str] = {}
    for token in unicodedata.normalize("NFKC", text).split():
        shown = token.strip(_AROUND)
        for word in plain_text(shown).split():
            written.setdefault(word, shown)
    found = [written.get(word, word) for word in plain.split()]
    return [each for each, before in zip(found, [None, *found], strict=False) if each != before]


def is_unspaced(word: str) -> bool:
    """Return whether a word is written in a script without spaces between words."""
    return _UNSPACED.match(word) is not None


def is_fragment(word: str) -> bool:
    """Return whether a query word is a single character of an unspaced script, to be searched as a prefix."""
    return len(word) == 1 and is_unspaced(word)


def _raw(text: str, *, ends: bool) -> Iterable[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return [word[:LONGEST_WORD] for word in _ASCII_WORD.findall(folded)]
    return _raw_of_all_scripts(folded, ends=ends)


def _raw_of_all_scripts(folded: str, *, ends: bool) -> Iterator[str]:
    for match in _WORD.finditer(folded):
        word = match[0]
        if word.isascii():
            yield word[:LONGEST_WORD]
        else:
            yield from _mixed(word, ends=ends)


def _mixed(word: str, *, ends: bool) -> Iterator[str]:
    """Yield runs of unspaced scripts as pairs of characters, and the text between them unchanged."""
    position = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > position:
            yield word[position : run.start()][:LONGEST_WORD]
        yield from _pairs(run[0], ends=ends)
        position = run.end()
    if position < len(word):
        yield word[position:][:LONGEST_WORD]


def _pairs(run: str, *, ends: bool) -> Iterator[str]:
    """Yield overlapping pairs, and with `ends` the last character, so that a prefix search finds every character."""
    for start in range(len(run) - 1):
        yield run[start : start + 2]
    if ends or len(run) == 1:
        yield run[-1]


def _forms(word: str, language: str) -> tuple[str, ...]:
    """Return the English stem of a word, and its stem in the language of the text if that is another one."""
    english = folded(word)
    if language == ENGLISH or not word.isalpha():
        return (english,)
    own = _stemmed(word, language)
    return (english,) if own == english else (english, own)


@functools.lru_cache(maxsize=100_000)
def folded(word: str) -> str:
    """Return a word stemmed as English or by its script, without accents, so that "café" matches "cafe"."""
    if word.isascii():
        return stemmer(ENGLISH)(word) if word.isalpha() else word
    language = script_language(word)
    if language is not None:
        return _plain(stemmer(language)(word)) or word
    plain = _plain(word)
    return stemmer(ENGLISH)(plain) if plain.isascii() and plain.isalpha() else plain or word


@functools.lru_cache(maxsize=100_000)
def _stemmed(word: str, language: str) -> str:
    """Return a word stemmed in a language written in Latin letters; other scripts decide for themselves."""
    if not _LATIN.match(word):
        return folded(word)
    return _plain(stemmer(language)(word)) or word


def _plain(word: str) -> str:
    return (
        word if word.isascii() else unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))
    )


#: The minimum share of new words that content and answer have in common: of the shorter of the two if one of them is a
#: number or a name that only this content has, and more of it if a question was answered; else of the content, and so
#: many words. On LoCoMo with the reference answers, ten other turns beside the evidence: precision 98 %, recall 46 %.
_MIN_SHARED = 1 / 3
_MIN_ANSWERED = 1 / 2
_MIN_COMMON = 3
#: A word, and a capitalised word inside a sentence.
_ANY_WORD = lazy_pattern(r"\w+")
_CAPITALISED = lazy_pattern(r"(?<=[\w,] )[A-Z][\w-]+")


def reflected(contents: Sequence[str], query: str, answer: str, *, asks: bool = True) -> list[bool]:
    """Return for each content whether an answer repeats it.

    The answer must contain a word found only in that content that is not in the query. If that is a number or a name,
    a third of the new words must be common; if the query asks a question, half of them; else a third of the content's
    words, and at least three: "Committed to the branch" has a word with many memories in common, and uses none of
    them. This is string matching; no model is involved.
    """
    asked = content_words(query)
    answered = content_words(answer) - asked
    new_words = [content_words(content) - asked for content in contents]
    holders = Counter(word for words in new_words for word in words)
    named = _names(answer)
    return [
        _shares_enough(words, answered, holders, named | _names(content), asks=asks)
        for words, content in zip(new_words, contents, strict=True)
    ]


def _shares_enough(words: set[str], answered: set[str], holders: Counter[str], names: set[str], *, asks: bool) -> bool:
    shared = words & answered
    own = {word for word in shared if holders[word] == 1}
    shorter = min(len(words), len(answered))
    if own & names and len(shared) >= _MIN_SHARED * shorter:
        return True
    if own and asks and len(shared) >= _MIN_ANSWERED * shorter:
        return True
    return bool(own) and len(shared) >= max(_MIN_COMMON, _MIN_SHARED * len(words))


def _names(text: str) -> set[str]:
    """Return the stemmed words of a text that are numbers, or names inside a sentence."""
    numbers = (word for word in _ANY_WORD.findall(text) if any(map(str.isdigit, word)))
    return {word for found in (*numbers, *_CAPITALISED.findall(text)) for word in words(found)}
