"""Texts in languages that the bundled model does not know have useful vectors in the same space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import memotherm
from memotherm.embed.calibration import BUNDLED_CALIBRATION
from memotherm.embed.local import BUNDLED, LocalEmbedder

ENGLISH = [
    "Anna lives in Moscow with two cats.",
    "The database listens on port 5433.",
    "She booked a table at the restaurant for Friday.",
]
RUSSIAN = ["Анна живёт в Москве с двумя кошками.", "База данных слушает порт 5433.", "Она заказала столик в ресторане."]
GERMAN = [
    "Anna wohnt in Moskau mit zwei Katzen.",
    "Die Datenbank lauscht auf Port 5433.",
    "Sie hat im Restaurant reserviert.",
]
CHINESE = ["安娜和两只猫住在莫斯科。", "数据库监听5433端口。", "她在餐厅订了一张桌子。"]
ARABIC = ["تعيش آنا في موسكو مع قطتين.", "تستمع قاعدة البيانات إلى المنفذ 5433.", "حجزت طاولة في المطعم."]


def test_vectors_of_english_texts_are_those_of_the_model(local: LocalEmbedder) -> None:
    """A name with an accent or a borrowed word does not change that."""
    texts = [*ENGLISH, "Zoë had a crème brûlée at the Café de Flore.", "He said 你好 to everyone in the room."]
    model = LocalEmbedder(BUNDLED)
    assert np.allclose(local.embed(texts), model.embed(texts), atol=1e-6)
    assert np.allclose(local.embed_query(ENGLISH[0]), model.embed_query(ENGLISH[0]), atol=1e-6)
    assert local.query_weight("what is the pet called?") == model.query_weight("который час?") == 1


@pytest.mark.parametrize(
    ("texts", "questions"),
    [
        pytest.param(RUSSIAN, ["В каком городе живёт Анна?", "какой порт у базы", "ресторан"], id="russian"),
        pytest.param(GERMAN, ["In welcher Stadt wohnt die Anna?", "Port der Datenbank", "Restaurant"], id="german"),
        pytest.param(CHINESE, ["安娜住在哪个城市？", "数据库端口", "餐厅"], id="chinese"),
        pytest.param(ARABIC, ["في أي مدينة تعيش آنا؟", "منفذ قاعدة البيانات", "مطعم"], id="arabic"),
        pytest.param(RUSSIAN, ["安娜住在哪里？", "数据库监听哪个端口", "餐厅"], id="chinese questions, russian texts"),
        pytest.param(ENGLISH, ["Wo wohnt die Anna?", "Auf welchem Port ist die Datenbank?"], id="german, english"),
    ],
)
def test_a_question_finds_the_text_that_answers_it(
    local: LocalEmbedder, texts: list[str], questions: list[str]
) -> None:
    """The closest text is the one that a reader of the language would choose."""
    vectors = local.embed(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert [int(np.argmax(vectors @ local.embed_query(question))) for question in questions] == [*range(len(questions))]


def test_a_text_that_the_model_does_not_know_is_as_close_as_an_unrelated_one(local: LocalEmbedder) -> None:
    """Nothing is known about a question and a text of different kinds, so neither is preferred nor rejected."""
    foreign = local.embed([*RUSSIAN, *CHINESE, *ARABIC]) @ local.embed_query("Where does Anna live?")
    assert np.all(np.abs(foreign - BUNDLED_CALIBRATION.usual) < BUNDLED_CALIBRATION.spread)


def test_cosines_count_less_the_less_of_a_question_is_known(local: LocalEmbedder) -> None:
    """A language of the same script is known better than another script."""
    german = local.query_weight("In welcher Stadt wohnt die Anna?")
    assert 0 < local.query_weight("В каком городе живёт Анна?") < german < 1


def test_words_of_similar_meaning_are_similar(local: LocalEmbedder) -> None:
    """The most similar word of a text counts, in every language; unrelated words are not similar at all."""
    words, texts = ["arztin", "поезд", "医生"], ["besuch arzt montag", "состав казан", "火车 医院", "", "arztin"]
    similar = local.word_similarity(words, texts)

    assert similar.shape == (5, 3)
    assert similar[4, 0] == pytest.approx(1.0, abs=1e-5)
    assert similar[0, 0] > 0.3 > similar[2, 0]
    assert similar[2, 2] > 0.3
    assert not similar[3].any()
    assert (similar >= 0).all()
    assert local.word_similarity([], texts).shape == (5, 0)
    assert local.word_similarity(words, []).shape == (0, 3)


def test_similarities_do_not_depend_on_what_was_compared_before(local: LocalEmbedder) -> None:
    """They are the same after so many other words that their vectors are no longer remembered."""
    words, texts = ["arztin", "zug"], ["besuch arzt montag", "bahn abfahrt"]
    before = local.word_similarity(words, texts)
    for start in range(0, 40_000, 10_000):
        local.word_similarity(words, [" ".join(f"w{number}" for number in range(start, start + 10_000))])
    assert np.array_equal(local.word_similarity(words, texts), before)


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        pytest.param(
            "Wann kommt die Ärztin?",
            "Der Besuch des Arztes ist am Montag",
            ["Die Lieferung kommt am Dienstag", "Wann kommt der Zug? Um acht"],
            id="german",
        ),
        pytest.param(
            "Когда отправляется поезд в Казань?",
            "Отправление состава на Казань в 14:30",
            ["Когда приезжает Ольга из Казани, она звонит", "Автобус в Казань отменили"],
            id="russian",
        ),
    ],
)
def test_a_memory_with_a_similar_word_comes_before_one_with_fewer_words(
    local: LocalEmbedder, question: str, answer: str, others: list[str]
) -> None:
    """A question in a language that the model hardly knows finds its answer in other words."""
    with memotherm.open(":memory:", embedder=local) as mem:
        mem.remember_many([{"content": content} for content in (*others, answer)])
        assert mem.recall(question)[0].memory.content == answer


def test_a_recall_does_not_fail_with_the_similarity_of_words() -> None:
    """It says what was not looked for; a question that the embedder knows does not ask for it."""

    class Partial(LocalEmbedder):
        def word_similarity(self, words: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
            raise RuntimeError("no table")

    with memotherm.open(":memory:", embedder=Partial()) as mem:
        mem.remember("Анна живёт в Москве")
        russian, english = mem.recall("Где живёт Анна?"), mem.recall("Where does Anna live?")
    assert "no table" in russian.degraded[0]
    assert len(russian) == 1
    assert not english.degraded


@pytest.mark.parametrize("text", ["👍👍", "ᚠᚢᚦᚨᚱᚲ", "ꓙꓳ ꓡꓲ", "\u0600\u0601"], ids=ascii)
def test_signs_without_a_static_vector_have_a_vector(local: LocalEmbedder, text: str) -> None:
    """Every text can be stored and asked."""
    for vector in (local.embed([text])[0], local.embed_query(text)):
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
