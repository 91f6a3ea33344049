"""Small words around a question change neither its confidence nor what is found."""

from __future__ import annotations

import pytest

from memotherm.text.framing import without_framing
from memotherm.text.words import plain_text
from tests.helpers import opened

#: Prompts, and the questions in them. The word lists were written with these in view.
_KNOWN = [
    ("which port does staging use again?", "which port does staging use?"),
    ("Remind me which port staging uses", "which port staging uses"),
    ("by the way, who owns the billing service?", "who owns the billing service?"),
    ("Can you tell me where Anna lives?", "where Anna lives?"),
    ("hey, quick question: what is the wifi password policy?", "what is the wifi password policy?"),
    ("Sorry to bother you, but when is the release?", "when is the release?"),
    ("please tell me what my dog is called", "what my dog is called"),
    ("I forgot, who is my dentist?", "who is my dentist?"),
    ("what was the name of that restaurant, do you remember?", "what was the name of that restaurant?"),
    ("Übrigens, auf welchem Port läuft die Datenbank?", "auf welchem Port läuft die Datenbank?"),
    ("Kannst du mir sagen, wo Anna wohnt?", "wo Anna wohnt?"),
    ("wie heißt mein Zahnarzt nochmal?", "wie heißt mein Zahnarzt?"),
    ("Au fait, où habite Anna ?", "où habite Anna ?"),
    ("Peux-tu me rappeler quel port utilise la base ?", "quel port utilise la base ?"),
    ("Por cierto, ¿dónde vive Anna?", "¿dónde vive Anna?"),
    ("Recuérdame qué puerto usa la base de datos", "qué puerto usa la base de datos"),
    ("A proposito, dove abita Anna?", "dove abita Anna?"),
    ("Você pode me dizer onde a Anna mora?", "onde a Anna mora?"),
    ("Trouwens, waar woont Anna?", "waar woont Anna?"),
    ("Swoją drogą, gdzie mieszka Anna?", "gdzie mieszka Anna?"),
    ("Bu arada, Anna nerede yaşıyor?", "Anna nerede yaşıyor?"),
    ("Кстати, где живёт Анна?", "где живёт Анна?"),
    ("До речі, де живе Анна?", "де живе Анна?"),
    ("بالمناسبة، أين تعيش آنا؟", "أين تعيش آنا؟"),
    ("वैसे, आना कहाँ रहती है?", "आना कहाँ रहती है?"),
    ("顺便问一下，安娜住在哪里？", "安娜住在哪里？"),
    ("ところで、アンナはどこに住んでいますか？", "アンナはどこに住んでいますか？"),
    ("그런데, 안나는 어디에 살아요?", "안나는 어디에 살아요?"),
    ("Förresten, var bor Anna?", "var bor Anna?"),
    ("Muuten, missä Anna asuu?", "missä Anna asuu?"),
]
#: The same, not read while the word lists were written.
_OTHER = [
    ("who signs the invoices again, please?", "who signs the invoices?"),
    ("Could you please remind me how we deploy the shop?", "how we deploy the shop?"),
    ("btw what's the retention of the logs?", "what's the retention of the logs?"),
    ("Do you happen to know when Arjun gets married?", "when Arjun gets married?"),
    ("Hi there! What is the address of the warehouse?", "What is the address of the warehouse?"),
    ("one more thing: which shift does Priya work?", "which shift does Priya work?"),
    ("I can't remember, which airline did we book?", "which airline did we book?"),
    ("where did we put the keys, thanks", "where did we put the keys"),
    ("out of curiosity, who chose the vendor?", "who chose the vendor?"),
    ("Erinnere mich bitte, wann die Miete fällig ist", "wann die Miete fällig ist"),
    ("Weißt du noch, wie der Hund heißt?", "wie der Hund heißt?"),
    ("Eine kurze Frage: wer ist der Ansprechpartner?", "wer ist der Ansprechpartner?"),
    ("Dis-moi, qui gère les factures ?", "qui gère les factures ?"),
    ("c'était quoi le nom du restaurant déjà ?", "c'était quoi le nom du restaurant ?"),
    ("¿Me puedes decir cuándo vence el alquiler?", "cuándo vence el alquiler?"),
    ("Perdona, ¿quién lleva las facturas?", "¿quién lleva las facturas?"),
    ("Puoi ricordarmi chi gestisce le fatture?", "chi gestisce le fatture?"),
    ("Aliás, quem cuida das faturas?", "quem cuida das faturas?"),
    ("Kun je me vertellen wie de facturen doet?", "wie de facturen doet?"),
    ("Przypomnij mi, kto robi faktury", "kto robi faktury"),
    ("Hatırlatır mısın, kira ne zaman?", "kira ne zaman?"),
    ("Напомни, пожалуйста, когда платить за аренду", "когда платить за аренду"),
    ("Підкажи, будь ласка, хто робить рахунки?", "хто робить рахунки?"),
    ("هل يمكنك أن تخبرني متى موعد الإيجار؟", "متى موعد الإيجار؟"),
    ("कृपया बताओ किराया कब देना है?", "किराया कब देना है?"),
    ("请问房租什么时候交？", "房租什么时候交？"),
    ("すみません、家賃はいつ払いますか？", "家賃はいつ払いますか？"),
    ("혹시 월세는 언제 내요?", "월세는 언제 내요?"),
    ("Kan du minde mig om hvem der laver fakturaerne?", "hvem der laver fakturaerne?"),
    ("Mimochodem, kdo dělá faktury?", "kdo dělá faktury?"),
]
_FACTS = [
    "Staging listens on port 5544",
    "Priya works as a paediatric nurse on night shifts",
    "She prefers tea over coffee, especially Assam",
    "The rent is due on the third of each month",
    "Her dog is called Biscuit",
]


@pytest.mark.parametrize(("prompt", "question"), [*_KNOWN, *_OTHER])
def test_the_question_is_what_is_left_of_a_prompt(prompt: str, question: str) -> None:
    """Openings and endings are removed in all languages of the word lists."""
    assert plain_text(without_framing(prompt).text) == plain_text(question)
    assert without_framing(prompt).asks


@pytest.mark.parametrize("prompt", ["again?", "thanks", "please", "ok thanks!", "remind me", "hello there", "请问", ""])
def test_a_prompt_of_framing_alone_stays_as_it_is(prompt: str) -> None:
    """Something must be searched for."""
    assert without_framing(prompt).text == prompt


@pytest.mark.parametrize(
    "prompt",
    ["请假流程是什么？", "hai un cane?", "what the port is", "dogs again and again in a row", "Dimes and pennies"],
)
def test_words_that_only_look_like_framing_are_kept(prompt: str) -> None:
    """A phrase is matched as whole words at either end."""
    assert without_framing(prompt).text == prompt


def test_small_words_do_not_change_a_recall() -> None:
    """Confidence, order and scores are those of the bare question."""
    with opened(embedder="local") as mem:
        mem.remember_many([{"content": fact} for fact in _FACTS])
        bare = mem.recall("which port does staging use?", track=False)
        for prompt in (
            "which port does staging use again?",
            "by the way, which port does staging use?",
            "Sorry to bother you, but can you tell me which port does staging use, please?",
            "Hi! Which port does staging use, do you remember?",
        ):
            found = mem.recall(prompt, track=False)
            assert found.query == prompt
            assert found.confidence == pytest.approx(bare.confidence, abs=0.01)
            assert [hit.memory.id for hit in found] == [hit.memory.id for hit in bare]


@pytest.mark.parametrize(
    "prompt", ["suggest a drink for the morning", "Empfiehl mir ein Getränk", "推荐一种饮料", "Recomiéndame una bebida"]
)
def test_a_request_that_a_preference_answers_is_a_question(prompt: str) -> None:
    """It counts as if it had a question mark."""
    assert without_framing(prompt).asks


def test_a_suggestion_gets_the_preference() -> None:
    """A context for "suggest a …" has what the person prefers."""
    with opened(embedder="local") as mem:
        mem.remember_many([{"content": fact} for fact in _FACTS])
        assert "Assam" in mem.context("suggest a drink for the morning", budget=400).text


@pytest.mark.parametrize("prompt", ["run the tests", "commit this please", "thanks, looks good", "rename the variable"])
def test_an_instruction_is_no_question(prompt: str) -> None:
    """Only what asks to be told something counts as one."""
    assert not without_framing(prompt).asks
