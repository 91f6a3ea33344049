"""Filler, questions and the kinds of statements, in all supported languages."""

from __future__ import annotations

import pytest

from memotherm import Memotherm
from memotherm.statements.kinds import Kind, kind_of
from memotherm.text.language import FUNCTION_WORDS, WORD_LISTS
from memotherm.text.phrases import is_filler, is_self_contained, statements

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
    "And I don't like long comments.",
    "I like long comments",
    "No comments in the code",
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

KINDS = {
    "preference": [
        "I prefer tabs over spaces",
        "And I don't like long comments.",
        "Ich mag kurze Antworten",
        "Je préfère les réponses courtes",
        "Prefiero respuestas cortas",
        "Me gusta el modo oscuro",
        "Preferisco risposte brevi",
        "Prefiro respostas curtas",
        "Я предпочитаю короткие ответы",
        "我喜欢简短的回答",
        "我更喜欢深色主题",
        "短い回答が好きです",
        "저는 짧은 답변을 선호합니다",
        "أفضل الإجابات القصيرة",
        "Wolę krótkie odpowiedzi",
        "Ik heb liever korte antwoorden",
        "Kısa cevapları tercih ederim",
    ],
    "rule": [
        "From now on, answer in German",
        "please always use uv",
        "Ab jetzt bitte auf Deutsch antworten",
        "以后请用中文回答",
        "今後は日本語で答えてください",
    ],
    "fact about the user": [
        "My name is Ana",
        "I'm a nurse and I work in Lyon",
        "Ich heiße Jonas und wohne in Köln",
        "Ich bin allergisch gegen Nüsse",
        "Me llamo Lucía",
        "Je m'appelle Paul",
        "我叫李雷",
        "我对花生过敏",
        "我住在杭州",
        "私の名前は田中です",
        "제 이름은 민수입니다",
        "Меня зовут Иван",
        "У меня аллергия на орехи",
        "اسمي سارة",
    ],
    "decision": [
        "We decided to use Postgres",
        "Let's go with SQLite",
        "Decision: bookings get UUIDv7",
        "Wir nehmen Postgres",
        "Entscheidung: wir bleiben bei Go",
        "Wir haben uns für Vue entschieden",
        "我们决定用 Postgres",
        "就用 SQLite 吧",
        "Hemos decidido usar Postgres",
        "Vamos con la opción B",
        "Nous avons décidé de garder Go",
        "On part sur Postgres",
        "Abbiamo deciso di usare Go",
        "Decidimos usar Postgres",
        "Мы решили использовать Postgres",
        "Postgresを使うことにしました",
        "Postgres를 사용하기로 했습니다",
        "قررنا استخدام بوستجرس",
        "From now on we deploy on Tuesdays",
        "Zdecydowaliśmy się na Go",
    ],
    "task": [
        "We promised them a demo until Friday",
        "The report is due 3 March",
        "Remind me to renew the certificate",
        "Der Bericht muss bis Freitag fertig sein",
        "Erinnere mich an den Vertrag",
        "周五之前要提交报告",
        "提醒我续签证书",
        "截止日期是3月3日",
        "Hay que entregar el informe antes del viernes",
        "Recuérdame llamar a Ana",
        "Le rapport est à rendre avant vendredi",
        "レポートは金曜日までに提出",
        "보고서는 금요일까지 제출해야 합니다",
        "Отчёт нужно сдать до пятницы",
        "Consegnare il report entro venerdì",
        "Submit the invoice by 2026-03-05",
    ],
    "correction": [
        "Changed my mind: four spaces",
        "Actually it's port 6000",
        "The port is now 5544",
        "Meinung geändert: wir nutzen vier Leerzeichen",
        "Der Port ist jetzt 5544",
        "端口改成 6000",
        "会议改到周四",
        "Ahora es el puerto 6000",
        "Ya no usamos Heroku",
        "Le port est maintenant 6000",
        "Теперь порт 6000",
        "ポートは6000に変更しました",
        "포트가 6000으로 변경되었습니다",
        "Ora è la porta 6000",
        "Agora é a porta 6000",
    ],
    "nothing": [
        "The staging port is 5433",
        "Rename the function my_name and run it",
        "The server should never use HTTP",
        "Der Staging-Port ist 5433",
        "端口是5433",
        "El puerto es 5433",
        "Anna owns billing",
        "Deploys run on Tuesdays",
        "Die Tests brauchen Redis",
        "服务器在法兰克福",
        "The CI takes 14 minutes",
        "Run the terminal",
        "Let me do that today",
        "The build works by the way",
        "テストでRedisを使っています",
        "Сервер во Франкфурте",
    ],
}


def test_every_language_has_its_lists() -> None:
    """Filler, instructions, offers and the words that begin a question."""
    languages = {*FUNCTION_WORDS, *WORD_LISTS["script_function_words"], *WORD_LISTS["small_talk"]}
    assert set(FILLER) == languages == set(WORD_LISTS["filler"]) == set(WORD_LISTS["instructions"])
    assert set(WORD_LISTS["phrases"]) == languages


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


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in KINDS.items() for text in texts])
def test_statements_are_recognised_by_their_kind(name: str, text: str) -> None:
    """Preferences, facts about the user, decisions, tasks and corrections, in many languages."""
    kind = kind_of(text)
    if name == "nothing":
        assert kind is None
    elif name == "correction":
        assert kind == Kind("fact", correction=True)
    else:
        assert kind is not None
        assert name.startswith(kind.name)
        assert kind.about_user == (name in ("preference", "fact about the user"))


@pytest.mark.parametrize(
    ("first", "again", "status"),
    [
        ("The staging port is 5433.", "the staging ports is 5433", "duplicate"),
        ("Wir nehmen Postgres für die Rechnungen", "Wir nehmen Postgres für Rechnungen!", "duplicate"),
        ("数据库端口是5433。", "数据库端口是5433！", "duplicate"),
        ("The staging port is 5433.", "The staging port is 5544.", "stored"),
        ("We use Redis for the cache", "We don't use Redis for the cache", "stored"),
        ("Anna takes over from Tobias", "Tobias takes over from Anna", "stored"),
    ],
)
def test_a_repetition_is_a_use_of_what_is_stored(mem: Memotherm, first: str, again: str, status: str) -> None:
    """Case, punctuation, articles and inflection do not matter; numbers, negations and the order do."""
    stored = mem.capture(first).memory
    repeated = mem.capture(again, kind="fact")
    assert stored is not None
    assert repeated.memory is not None
    assert repeated.status == status
    assert (repeated.memory.id == stored.id) == (status == "duplicate")
    assert mem.get(stored.id).access_count == (1 if status == "duplicate" else 0)
    assert mem.scoped(user="ana").capture(first).status == "stored"


@pytest.mark.parametrize(
    ("prompt", "needs_nothing"),
    [
        ("What is 384 divided by 12?", True),
        ("17 * 23", True),
        ("Was ist 23 mal 19?", True),
        ("125 乘以 16 等于多少？", True),
        ("сколько будет 12 умножить на 5?", True),
        ("Translate into French: the weather is lovely", True),
        ("Übersetze ins Englische: Der Zug hat Verspätung.", True),
        ("把这句话翻译成英文：今天的天气真好。", True),
        ("translate the README", False),
        ("what changed between 3.12 and 3.13?", False),
        ("Is it 250 or 100 requests per minute?", False),
        ("When is the meeting on 12 May at 10?", False),
        ("", False),
    ],
)
def test_a_sum_and_a_text_to_translate_need_no_memory(prompt: str, needs_nothing: bool) -> None:
    """They bring all that they need; what names anything else may need a memory."""
    assert is_self_contained(prompt) is needs_nothing


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("you're a star", False),
        ("hello, back after a month", False),
        ("lunch break, see you in a bit", False),
        ("so, bin wieder da, wo waren wir", False),
        ("perdona, ya estoy aquí otra vez", False),
        ("我先去开个会，回头再说", False),
        ("すみません、また後でお願いします", False),
        ("The logo is green", True),
        ("We use tabs", True),
        ("I prefer tabs", True),
        ("Deploy via Fly", True),
        ("see you at port 5544", True),
        ("王芳喜欢茶", True),
        ("咖啡机在二楼", True),
        ("Die Kaffeemaschine steht im Keller", True),
        ("La cafetera está en la cocina", True),
    ],
)
def test_a_remark_is_filler_whatever_its_words(mem: Memotherm, text: str, stored: bool) -> None:
    """What something is, what we do, a name and a number say something; being away or back does not."""
    assert (mem.capture(text).status == "stored") is stored


def test_an_assistant_greets_by_name(mem: Memotherm) -> None:
    """A name that a user says is kept."""
    assert mem.capture("Hello Lena, nice to see you", metadata={"role": "assistant"}).status == "skipped"
    assert mem.capture("Hello Lena, nice to see you", metadata={"role": "user"}).status == "stored"
