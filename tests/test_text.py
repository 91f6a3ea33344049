"""Words and digests."""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm.errors import ContentTooLarge, InvalidInput
from memotherm.text.content import digest, first_line, pluralize, require_text
from memotherm.text.words import is_english, is_fragment, query_words, words

_ANY_TEXT = st.text(st.characters(), max_size=200)
_SEPARATORS = set(string.punctuation + string.whitespace)


@given(text=_ANY_TEXT)
def test_words_of_any_text_are_whole_tokens_of_the_index(text: str) -> None:
    """No word has anything in it at which SQLite's tokenizer would cut, not even for lone surrogates."""
    for word in words(text) + query_words(text):
        assert word
        assert not _SEPARATORS & set(word)
        assert word.encode()


@given(text=_ANY_TEXT)
def test_every_word_of_a_query_is_a_word_of_the_same_text(text: str) -> None:
    """What is asked in the words of a memory finds it; single characters are asked for as prefixes."""
    stored = words(text)
    for word in query_words(text):
        assert word in stored or (is_fragment(word) and any(each.startswith(word) for each in stored))


@given(text=_ANY_TEXT)
def test_words_do_not_depend_on_the_unicode_form(text: str) -> None:
    """Composed and decomposed characters are the same word."""
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        pytest.param("Deploys are frozen", "deploy", id="english plural"),
        pytest.param("she was running", "runs", id="english verb"),
        pytest.param("Café Müller", "cafe muller", id="accents"),
        pytest.param("STRASSE", "Straße", id="sharp s"),
        pytest.param("ＡＢＣ１２３", "abc123", id="full width"),
        pytest.param("東京都に住んでいます", "東京", id="japanese"),
        pytest.param("我喜欢喝绿茶", "绿茶", id="chinese"),
        pytest.param("我喜欢喝绿茶", "茶", id="one chinese character"),
        pytest.param("서울에서 만나요", "서울", id="korean"),
        pytest.param("ฉันชอบกินข้าวผัด", "ข้าวผัด", id="thai"),
        pytest.param("मुझे हिन्दी पसंद है", "हिन्दी", id="hindi"),
        pytest.param("Я люблю чай", "ЧАЙ", id="cyrillic case"),
        pytest.param("Die Testdatenbanken liegen auf dem Server", "Testdatenbank", id="german plural"),
        pytest.param("los servidores están en la oficina", "¿dónde está el servidor de la oficina?", id="spanish"),
        pytest.param("Мы переносим базы данных", "база данного", id="russian cases"),
        pytest.param("الكتب في المكتبة", "كتب مكتبة", id="arabic article"),
        pytest.param("Οι βάσεις δεδομένων", "βάση δεδομένων", id="greek"),
        pytest.param("error code E1042 in v2", "e1042", id="letters and digits"),
        pytest.param("see RFC-9110", "rfc 9110", id="hyphen"),
    ],
)
def test_what_was_stored_is_found_however_it_is_written(stored: str, asked: str) -> None:
    """Every word of the question is among the words of the content, or begins one of them."""
    found = words(stored)
    asked_words = query_words(asked)
    assert asked_words
    for word in asked_words:
        assert word in found or (is_fragment(word) and any(each.startswith(word) for each in found))


def test_stop_words_are_left_out_unless_there_is_nothing_else() -> None:
    """A question is about its telling words."""
    assert query_words("what is the weather") == words("weather")
    assert query_words("to be or not to be") == ["to", "be", "or", "not"]


def test_words_of_english_texts_are_not_taken_for_those_of_another_language() -> None:
    """Names and borrowed words do not change how the other words are stemmed."""
    for text in ("the war and those who die in it", "the Café de la Paix is closed for the day", "n plus one"):
        assert is_english(text)
    assert not is_english("wie heißt die Datenbank?")
    assert words("the die is cast") == ["the", "die", "is", "cast"]


def test_forms_of_a_word_in_another_language_have_a_stem_in_common() -> None:
    """A singular finds a plural where both texts show their language."""
    for stored, asked in (
        ("die Sicherungen sind auf der Platte", "wo ist die letzte Sicherung"),
        ("los gatos viven en la casa", "dónde vive el gato"),
        ("les chevaux sont dans les champs", "quel est le champ"),
    ):
        assert set(words(stored)) & set(query_words(asked))


def test_function_words_of_other_languages_are_left_out() -> None:
    """A question in another language is about its telling words too."""
    assert query_words("где находится база") == words("находится база")
    assert query_words("wo ist die Datenbank") == query_words("das ist eine Datenbank")


def test_a_query_word_is_asked_once() -> None:
    """Repetition in a question means nothing; in a content it counts."""
    assert query_words("tea, TEA and teas") == ["tea"]
    assert words("tea TEA") == ["tea", "tea"]


def test_a_very_long_word_is_cut_on_both_sides_alike() -> None:
    """A blob of base64 does not bloat the index and is still found."""
    blob = "a1" * 5000
    assert words(blob) == query_words(blob)
    assert len(words(blob)[0]) <= 64


def test_a_question_without_words_asks_for_nothing() -> None:
    """Punctuation and emoji are no words."""
    assert query_words("?! 👍 ...") == []


@given(text=_ANY_TEXT)
def test_digests_ignore_form_and_outer_white_space_only(text: str) -> None:
    """The same words are the same memory."""
    encodable = text.encode("utf-8", "ignore").decode()
    assert digest(f"  {encodable}\n") == digest(encodable)
    assert digest(unicodedata.normalize("NFD", encodable)) == digest(encodable)
    assert digest(f"x{encodable}") != digest(encodable)


@pytest.mark.parametrize("text", [" a\tb\n", "👍", "x" * 100])
def test_a_text_is_accepted_as_it_is(text: str) -> None:
    """Checking does not change what is stored."""
    assert require_text(text, "content", 100) is text


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "empty"),
        (" \n\t\u3000", "empty"),
        ("a\x00b", "NUL"),
        ("a\ud800", "surrogate"),
        (None, "NoneType"),
        (b"a", "bytes"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(value: object, says: str) -> None:
    """The message names the field and the position."""
    with pytest.raises(InvalidInput, match=says):
        require_text(value, "content", 100)


def test_a_text_that_is_too_long_is_refused_with_both_numbers() -> None:
    """The writer learns how long it may be."""
    with pytest.raises(ContentTooLarge, match="101 characters and the limit is 100"):
        require_text("x" * 101, "content", 100)


def test_a_number_has_its_noun() -> None:
    """One of a thing is not many of it."""
    assert [pluralize(number, "memory") for number in (0, 1, 2)] == ["0 memories", "1 memory", "2 memories"]
    assert [pluralize(number, "file") for number in (1, 1234)] == ["1 file", "1,234 files"]
    assert pluralize(2, "fix") == "2 fixes"


@given(text=_ANY_TEXT)
def test_the_first_line_is_the_beginning_of_the_text(text: str) -> None:
    """No letter is lost, and dots stand for what follows."""
    found = first_line(text, 20)
    if found.endswith("…") and found != text.strip():
        assert text.strip().startswith(found[:-1])
    else:
        assert found == text.strip()
    assert "\n" not in found
    assert len(found) <= 21


def test_a_first_line_keeps_markup() -> None:
    """Backticks and underscores are letters of a name."""
    assert first_line("`make_all` in __init__.py\nand more") == "`make_all` in __init__.py…"
    assert first_line("Close them when `delta_t` < 1.5 K, unless it rains", 36) == "Close them when `delta_t` < 1.5 K,…"
