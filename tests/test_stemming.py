"""The faster search in the tables of Snowball's stemmers."""

from __future__ import annotations

import pytest
import snowballstemmer

from memotherm.text.stemming import stem_function

WORDS = """running flies generously internationally skis dying happiest relational conformabli proceed a
    häuser bücher freundlichkeiten gingen aufeinanderfolgenden nationalités chevaux finissions mangeâmes
    rápidamente canciones hablábamos città andavamo книгами красивейшая бегущий талисман
    kitaplarımızdan evlerinizden tekrarlanabilir barátságtalanság tiistaina kirjoittamattomuus
    கதைகள் மரங்களில் किताबों लड़कियाँ βιβλία τρέχοντας المدرسة والكتابة""".split()  # noqa: SIM905


@pytest.mark.parametrize("language", snowballstemmer.algorithms())
def test_stems_are_those_of_snowball(language: str) -> None:
    """Every stemmer returns the same stems as without the faster search, also of words of other languages."""
    stem, snowball = stem_function(language), snowballstemmer.stemmer(language).stemWord
    assert stem is not None
    assert [stem(word) for word in WORDS] == [snowball(word) for word in WORDS]
