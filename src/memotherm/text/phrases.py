"""Stock phrases: small talk, filler and questions.

A prompt of small talk alone ("thanks", "continue", "shorter") asks for no memory. Its words are searched like all
others; only the confidence of a recall ignores them.

Filler says nothing that is worth storing: greetings, thanks, acknowledgements, offers to help, and instructions about
the work at hand that name no subject ("run the tests", "mach weiter"). A sentence is filler only if every word is
listed for one language, so that a sentence with a name, a number or any other word is kept.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from itertools import chain, groupby, pairwise

from memotherm.text.content import sentence_ends
from memotherm.text.language import ENGLISH, FUNCTION_WORDS, WORD_LISTS
from memotherm.text.patterns import lazy_pattern
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.words import each_stemmed_word, is_unspaced, plain_text, stemmed_words, words


@functools.cache
def conversational_words() -> frozenset[str]:
    """Return the stemmed words of small talk; each language is a text, because words are stemmed by language."""
    return frozenset(word for text in WORD_LISTS["small_talk"].values() for word in words(text))


# Filler and questions

_MAX_FILLER_CHARS = 160
#: Shorter texts are not captured.
_MIN_CHARS = 10
#: Longer sentences are looked at anew each time.
_LONGEST_CACHED = 400
#: Longer sentences without a question mark are not taken for questions.
_MAX_QUESTION_CHARS = 120
_QUESTION_END = lazy_pattern(
    "(?:[?？؟\u037e]|[吗呢嘛么][。.!！]?|(?:です|ます|でしょう|ました|ません|のでしょう)か[。.]?"
    "|(?:까요?|나요|인가요|(?:알려|설명해|보여) ?(?:줘|주세요))[.。]?"
    "|教えて(?:ください|下さい)?[。.]?)"
    "[\\s\"'”’」』*_`]*$"
)
#: "…, ok?" asks for no answer.
_AGREED = lazy_pattern(r"[,，]\s*(?:ok|okay|okey|好吗)\s*[?？]\s*$", re.IGNORECASE)
_CLAUSES = lazy_pattern("[,，、:：;；—–]")
#: What a text to translate or to correct follows, or stands in.
_MATERIAL = lazy_pattern('[:：\n"“„«「『]')
_NUMBER = lazy_pattern(r"\d+")
_MAX_SUM_CHARS = 80
#: Code; a run such as a path, up to its last letter, if a digit or a sign such as `/` is before that; Latin letters.
_SPECIFIC = lazy_pattern(
    r"`[^`\n]++`"
    r"|(?<![\w./\\@:#-])(?=(?:[^\W\d_]|[.:-])*+[\d_/\\@#][./\\@:#-]*+\w)[\w./\\@:#-]*\w"
    r"|\d|(?<=[^\x00-\u024f])[A-Za-z]{2,}"
)
_NAME = lazy_pattern(r"[A-Z](?<=[\w,] .)[\w-]+")
#: Languages whose question words may stand anywhere in a question.
_ANYWHERE = ("turkish", "hindi", "chinese")


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, with the white space between them."""
    ends = sentence_ends(text)
    return [text[start:end] for start, end in pairwise((0, *ends, len(text)))] if ends else [text]


def clauses(text: str) -> Iterator[str]:
    """Yield the parts of a text between punctuation marks."""
    yield from (part for sentence in sentences(text) for part in _CLAUSES.split(sentence) if part.strip())


def is_filler(text: str, *, instructions: bool = True) -> bool:
    """Return whether every sentence of a text is filler, such as "ok, thanks" or "run the tests".

    Without `instructions`, the latter is not.
    """
    return all(_is_filler(sentence, instructions=instructions) for sentence in sentences(text))


def filler_reason(text: str, *, instructions: bool = True) -> str:
    """Return why a text says too little to be captured; empty if it does not."""
    # A Chinese character says as much as two letters or more.
    if sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text.strip()[:_MIN_CHARS]) < _MIN_CHARS:
        return f"shorter than {_MIN_CHARS} characters"
    return "nothing but filler words" if is_filler(text, instructions=instructions) else ""


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks to be told something, with a question mark or without."""
    return _recent_is_question(sentence) if len(sentence) <= _LONGEST_CACHED else _is_question(sentence)


def _is_question(sentence: str) -> bool:
    if _AGREED.search(sentence):
        return False
    plain = plain_text(sentence)
    if ("?" in sentence or not sentence.isascii()) and _QUESTION_END.search(sentence):
        # "Can you remember that …?" and "Can you remind me to …?" say something.
        return not _has_any(plain, "reminder") and not _has_any(plain, "remind")
    if len(sentence) > _MAX_QUESTION_CHARS or _CLAUSES.search(sentence.strip()[:-1]):
        return False
    spaced, unspaced = _question_words()
    return spaced.search(f" {plain} ") is not None or (not plain.isascii() and f"{plain} ".startswith(unspaced))


#: What a text is, several functions ask about each of its sentences.
_recent_is_question = functools.lru_cache(maxsize=1000)(_is_question)


def asks_for_tasks(prompt: str) -> bool:
    """Return whether a prompt asks what is coming up or still to be done."""
    return _has_phrase(prompt, "agenda")


def asks_for_rules(prompt: str) -> bool:
    """Return whether a prompt asks which rules there are."""
    return is_question(prompt) and _has_phrase(prompt, "rules")


def asks_about_user(prompt: str) -> bool:
    """Return whether a prompt asks what is known about the user: "who am I?"."""
    return len(prompt) <= _MAX_QUESTION_CHARS and _has_phrase(prompt, "about_me")


def _has_phrase(text: str, name: str) -> bool:
    return listed_pattern(name).search(f" {plain_text(text)} ") is not None


def is_no_answer(sentence: str) -> bool:
    """Return whether a sentence says that the answer is not known."""
    return _has_any(plain_text(sentence), "no_answer")


def _has_any(plain: str, name: str) -> bool:
    return any(map(plain.__contains__, _plain_phrases(name)))


def is_self_contained(prompt: str) -> bool:
    """Return whether a prompt brings all that it needs: a sum to calculate, or a text to translate or to correct."""
    plain = plain_text(prompt)
    if _MATERIAL.search(prompt) and plain.startswith(_plain_phrases("transform")):
        return True
    if len(plain) > _MAX_SUM_CHARS or len(_NUMBER.findall(plain)) < 2:
        return False
    words = stemmed_words(_NUMBER.sub(" ", plain))
    return all(word in _arithmetic() or (is_unspaced(word) and _joined(word, _arithmetic())) for word in words)


@functools.cache
def _arithmetic() -> frozenset[str]:
    lists = (WORD_LISTS["other"]["arithmetic"], *listed_phrases("question"), "x")
    return frozenset(word for text in lists for word in stemmed_words(text))


def statements(text: str) -> str:
    """Return a text without the sentences that are filler or questions; empty if there are no others."""
    parts = sentences(text)
    kept = list(filter(is_statement, parts))
    return text if len(kept) == len(parts) else "".join(kept).strip()


def is_statement(sentence: str) -> bool:
    """Return whether a sentence is neither filler nor a question."""
    return bool(sentence.strip()) and not _is_filler(sentence) and not is_question(sentence)


def _is_filler(sentence: str, *, instructions: bool = True) -> bool:
    return len(sentence) <= _MAX_FILLER_CHARS and _is_short_filler(sentence.strip(), instructions)


@functools.lru_cache(maxsize=1000)  # several functions ask about each sentence of a text
def _is_short_filler(sentence: str, instructions: bool) -> bool:
    return all(_is_filler_clause(clause, instructions) for clause in _CLAUSES.split(sentence))


def _is_filler_clause(clause: str, instructions: bool) -> bool:
    plain = plain_text(clause)
    offered = plain.startswith(_offers().get(plain[:2], ()))
    listed = _listed_words()
    # Most clauses have a word that is not listed near their beginning.
    if not offered and any(word not in listed and not is_unspaced(word) for word in each_stemmed_word(clause)):
        return False
    found = stemmed_words(clause)
    if offered and not any(word.isdecimal() for word in found):
        return True
    if any(word not in listed and not is_unspaced(word) for word in found):
        return False
    return any(_all_listed(found, filler, words if instructions else frozenset()) for filler, words in _vocabularies())


@functools.cache
def _offers() -> dict[str, tuple[str, ...]]:
    """Return the beginnings of offers by their first two characters."""
    phrases = sorted(_plain_phrases("offer"), key=_start)
    return {start: tuple(listed) for start, listed in groupby(phrases, _start)}


def _start(phrase: str) -> str:
    return phrase[:2]


def _all_listed(found: list[str], filler: frozenset[str], instructions: frozenset[str]) -> bool:
    """Return whether all words are listed, and are not a statement about the object of an instruction."""
    instructs = predicates = False
    for word in found:
        if word in filler:
            predicates |= word in _copulas()
        elif word in instructions or (is_unspaced(word) and _joined(word, filler | instructions)):
            instructs = True
        else:
            return False
    return not (instructs and predicates)


def _joined(run: str, listed: frozenset[str]) -> bool:
    """Return whether a run without spaces consists of listed words."""
    reached = {0}
    for end in range(1, len(run) + 1):
        if any(run[start:end] in listed for start in reached):
            reached.add(end)
    return len(run) in reached


@functools.cache
def _vocabularies() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return the filler of each language, and the words of instructions."""
    filler, instructions = WORD_LISTS["filler"], WORD_LISTS["instructions"]
    # English small talk has words that say something, such as "prefer".
    small_talk = {**WORD_LISTS["small_talk"], ENGLISH: ""}
    # English words are used in all languages, but not its function words.
    shared = [frozenset(stemmed_words(words[ENGLISH])) for words in (filler, instructions)]
    own = FUNCTION_WORDS[ENGLISH]
    return tuple(
        (
            frozenset(stemmed_words(f"{filler[language]} {small_talk.get(language, '')}")) | (shared[0] - own),
            frozenset(stemmed_words(instructions[language])) | (shared[1] - own),
        )
        for language in filler
    )


@functools.cache
def _listed_words() -> frozenset[str]:
    """Return the words of all vocabularies; most sentences have another one, and need no look at each."""
    return frozenset[str]().union(*(words for vocabulary in _vocabularies() for words in vocabulary))


def specifics(text: str) -> frozenset[str]:
    """Return the numbers, code and paths of a text, and its Latin words between other letters."""
    return _recent_specifics(text) if len(text) <= _LONGEST_CACHED else _specifics(text)


def _specifics(text: str) -> frozenset[str]:
    return frozenset(_SPECIFIC.findall(text))


_recent_specifics = functools.lru_cache(maxsize=1000)(_specifics)


def has_name(text: str) -> bool:
    """Return whether a word inside a sentence begins with a capital letter."""
    return _NAME.search(text) is not None


@functools.cache
def _copulas() -> frozenset[str]:
    return frozenset(stemmed_words(WORD_LISTS["other"]["copulas"]))


@functools.cache
def listed_phrases(name: str) -> tuple[str, ...]:
    """Return the phrases of all languages that `word_lists.json` lists under a name."""
    return tuple(phrase for language in WORD_LISTS["phrases"] for phrase in phrases_of(language, name))


@functools.cache
def _plain_phrases(name: str) -> tuple[str, ...]:
    return tuple(map(plain_text, listed_phrases(name)))


@functools.cache
def _question_words() -> tuple[PhrasePattern, tuple[str, ...]]:
    """Return a pattern for what questions have, and what they begin with in scripts without spaces, as words."""
    phrases = listed_phrases("question")
    first = (f"^{phrase}" for phrase in phrases if not is_unspaced(phrase))
    anywhere = (phrase for language in _ANYWHERE for phrase in phrases_of(language, "question"))
    return PhrasePattern(chain(first, anywhere)), tuple(f"{plain_text(each)} " for each in phrases if is_unspaced(each))


def phrases_of(language: str, name: str) -> list[str]:
    """Return the phrases of one language."""
    entries = _entries(language)
    return entries[name].split(", ") if name in entries else []


@functools.cache
def _entries(language: str) -> dict[str, str]:
    return dict(entry.split(": ") for entry in WORD_LISTS["phrases"][language].split("; "))


@functools.cache
def listed_pattern(name: str) -> PhrasePattern:
    """Return a pattern for the phrases of all languages that are listed under a name."""
    return PhrasePattern(listed_phrases(name))
