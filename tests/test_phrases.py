"""Filler and questions, which are not worth storing, in all supported languages."""

from __future__ import annotations

import pytest

from memotherm import Memotherm
from memotherm.text.language import FUNCTION_WORDS, WORD_LISTS
from memotherm.text.phrases import is_filler, statements

FILLER = {
    "english": [
        "ok",
        "Thanks!",
        "Good morning!",
        "run the tests",
        "commit this",
        "continue",
        "looks good to me",
        "Perfect, commit and push it.",
        "Anything else?",
        "Done. Let me know if you need anything",
        "I've committed and pushed the changes.",
        "All tests pass.",
        "Understood, I'll keep that in mind.",
        "could you summarize that again",
        "show me the diff",
        "what's next",
    ],
    "german": [
        "Verstanden.",
        "mach weiter",
        "Führ die Tests aus",
        "Erledigt.",
        "Gern geschehen! Sag Bescheid, wenn du noch etwas brauchst.",
        "Alles klar, ist notiert.",
        "Schönes Wochenende!",
        "Kannst du das nochmal prüfen?",
        "Alle Tests sind grün.",
    ],
    "french": [
        "Merci beaucoup",
        "D'accord, continue",
        "Lance les tests",
        "C'est noté.",
        "N'hésite pas si tu as d'autres questions.",
    ],
    "spanish": [
        "ejecuta las pruebas",
        "Listo. Avísame si necesitas algo más.",
        "De acuerdo, continúa",
        "Todos los tests pasan.",
    ],
    "italian": [
        "Grazie mille",
        "Va bene, continua",
        "Esegui i test",
        "Fatto.",
        "Fammi sapere se hai bisogno di altro.",
    ],
    "portuguese": ["Obrigado", "Tudo bem, continue", "Rode os testes", "Feito. Me avise se precisar de algo mais."],
    "dutch": ["Bedankt", "Draai de tests", "Ga door"],
    "polish": ["Dziękuję", "Uruchom testy", "Gotowe."],
    "turkish": ["Teşekkürler", "Testleri çalıştır", "devam et"],
    "russian": ["спасибо", "Запусти тесты", "Готово. Дай знать, если нужно что-то ещё.", "Хорошо, продолжай"],
    "ukrainian": ["Дякую", "Запусти тести"],
    "arabic": ["شكرا", "شغل الاختبارات", "تم.", "هل هناك شيء آخر؟"],
    "hindi": ["धन्यवाद", "टेस्ट चलाओ"],
    "greek": ["Ευχαριστώ", "Τρέξε τα τεστ"],
    "hebrew": ["תודה", "תריץ את הטסטים"],
    "chinese": [
        "好的",
        "谢谢",
        "运行测试",
        "把这个提交一下",
        "完成了，还有什么需要帮忙的吗？",
        "不客气，如果还有问题，随时告诉我。",
        "测试通过了",
    ],
    "japanese": [
        "ありがとう",
        "テストを実行してください",
        "了解です",
        "完了しました。他に何かありますか？",
        "変更をコミットしてください",
    ],
    "korean": [
        "감사합니다",
        "테스트를 실행해줘",
        "네, 알겠습니다",
        "완료했습니다. 더 필요한 것이 있으면 말씀해 주세요.",
    ],
    "swedish": ["Tack så mycket", "Kör testerna"],
    "danish": ["Tak", "Kør testene"],
    "norwegian": ["Takk", "Kjør testene"],
    "finnish": ["Kiitos", "Aja testit"],
    "czech": ["Děkuji", "Spusť testy"],
    "hungarian": ["Köszönöm", "Futtasd a teszteket"],
    "romanian": ["Mulțumesc", "Rulează testele"],
    "vietnamese": ["Cảm ơn bạn", "Chạy test đi"],
    "indonesian": ["Terima kasih", "Jalankan tes"],
    "catalan": ["Gràcies", "Executa les proves"],
}
FACTS = [
    "The staging port is 5433.",
    "We use Postgres for invoices",
    "I prefer short answers",
    "Run the tests with uv",
    "Run the tests before you commit",
    "Don't push to main",
    "The server was deleted",
    "Let's go with SQLite",
    "If you need staging access, ask Priya",
    "When the deploy fails, restart the worker",
    "We deploy on Fridays, ok?",
    "Can you remember that the cake is a lie?",
    "Remind me to renew the certificate on Friday",
    "Wir nehmen Postgres",
    "Bis Freitag fertig machen",
    "Bei Fragen zum Vertrag hilft Frau Kern",
    "Wie besprochen, nehmen wir Go",
    "Prefiero respuestas cortas",
    "Cuando falle el despliegue, reinicia el servidor",
    "La réunion est lundi",
    "Preferisco risposte brevi",
    "A porta é 5433",
    "Wij gebruiken Postgres",
    "Używamy Postgresa",
    "Postgres kullanıyoruz",
    "端口是5433",
    "安娜负责账单",
    "我们不用 MongoDB",
    "改成端口 6000",
    "我对花生过敏",
    "ポートは5433です",
    "会議は月曜日です",
    "포트는 5433입니다",
    "회의는 월요일입니다",
    "Порт 5433",
    "Если деплой падает, перезапусти воркер",
    "المنفذ هو 5433",
    "Vi använder Postgres",
    "Käytämme Postgresia",
    "Χρησιμοποιούμε Postgres",
]


def test_every_language_has_its_lists() -> None:
    """Filler, instructions, offers and the words that begin a question."""
    languages = {*FUNCTION_WORDS, *WORD_LISTS["script_function_words"], *WORD_LISTS["small_talk"]}
    assert set(FILLER) == languages == set(WORD_LISTS["filler"]) == set(WORD_LISTS["instructions"])
    assert set(WORD_LISTS["offers"]) == languages


@pytest.mark.parametrize("language", FILLER)
def test_filler_and_questions_are_not_statements(language: str) -> None:
    """Greetings, thanks, bare instructions, closing offers and questions."""
    assert [text for text in FILLER[language] if statements(text)] == []


@pytest.mark.parametrize("text", FACTS)
def test_a_statement_is_kept_word_for_word(text: str) -> None:
    """Also if it is short, begins like a question, or has the words of an instruction."""
    assert statements(text) == text


def test_the_rest_of_a_text_is_kept_as_it_is() -> None:
    """Sentences that say something stay, in their order."""
    text = "Hi! The port is 5433.\n- run the tests\n- deploys need Ana\nCan you check? Thanks."
    assert statements(text) == "The port is 5433.\n- deploys need Ana"
    code = "```\n# run the tests\nport = 5433\n```"
    assert statements(code) == code


@pytest.mark.parametrize("text", ["Verstanden, danke dir!", "好的，明白了，谢谢你！", "Спасибо, продолжай."])
def test_capture_skips_filler_of_all_languages(mem: Memotherm, text: str) -> None:
    """As it does in English."""
    assert is_filler(text)
    assert mem.capture(text).status == "skipped"


def test_a_short_fact_in_wide_characters_is_captured(mem: Memotherm) -> None:
    """Seven characters can be a sentence."""
    assert mem.capture("端口是5433").status == "stored"
