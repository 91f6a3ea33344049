"""What a session starts with: the rules of a person, the profile of the user, open tasks, the last summary."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memotherm import Memotherm
from memotherm.statements.kinds import classified
from memotherm.text.language import WORD_LISTS
from memotherm.text.phrases import asks_about_user, asks_for_rules, phrases_of

Open = Callable[..., Memotherm]

RULE = "Never run migrations against staging without asking me first"
PREFERENCE = "I prefer plain pytest functions"
NAME = "My name is Ana and I work at Acme"
TASK = "The VAT report is due on 3 March"


def told(mem: Memotherm) -> Memotherm:
    """Return the memory of Ana's project shop after she has said a few things."""
    shop = mem.scoped(user="ana", project="shop").by("person")
    for text in (NAME, PREFERENCE, TASK, "The logo of the shop is green", RULE):
        assert shop.capture(text).status == "stored"
    return shop


def test_rules_come_first_then_the_profile_then_open_tasks(mem: Memotherm) -> None:
    """None of them is hot or pinned; what was said about other things is not there."""
    shop = told(mem)
    shop.remember("Session of 2026-01-05\nSaid: the logo", "summary", key="session/s0/summary", index=False)
    shop.remember("The office moves next week", tier="hot")
    context = shop.session("s1").session_start()

    assert [entry.memory.content.partition("\n")[0] for entry in context.included] == [
        RULE, PREFERENCE, NAME, TASK, "Session of 2026-01-05", "The office moves next week",
    ]  # fmt: skip
    assert context.included[0].reason == "a rule"


def test_rules_of_one_project_are_not_given_in_another(mem: Memotherm) -> None:
    """The profile is that of the user in all projects."""
    shop = told(mem)
    shop.capture("Always answer in French in all my projects")
    bank = mem.scoped(user="ana", project="bank").by("person")

    text = bank.session("s2").session_start().text
    assert RULE not in text
    assert TASK not in text
    assert "Always answer in French" in text
    assert PREFERENCE in text
    assert mem.scoped(user="bob", project="bank").session("s3").session_start().text == ""


def test_a_rule_of_an_agent_is_recalled_and_not_given_at_the_start(mem: Memotherm) -> None:
    """Only a person gives standing instructions."""
    mem.remember("Always deploy with Fly", kind="rule")

    assert mem.session("s1").session_start().text == ""
    assert [hit.memory.kind for hit in mem.recall("how do we deploy?")] == ["rule"]


def test_the_start_is_small_and_the_receipt_names_the_rest(mem: Memotherm) -> None:
    """At most 600 tokens, however many rules there are; what no longer fits is left out with its reason."""
    person = mem.by("person")
    for number in range(45):
        person.capture(f"Never touch the table customers_{number} without a backup of the database")
    context = person.session("s1").session_start(budget=2000)

    assert 400 < context.tokens <= 600
    assert len(context.included) + len(context.left_out) == 45
    assert {entry.rule for entry in context.left_out} == {"hot_max_tokens"}
    assert {entry.memory.kind for entry in context.included} == {"rule"}
    (said,) = person.status().degraded
    assert said == f"{len(context.left_out)} rules left out at the start of a session, which has 600 tokens"


def test_the_rules_are_there_again_after_the_host_compacted_the_conversation(mem: Memotherm) -> None:
    """With the next start, or with the next prompt, whatever it is about; and in between they are not repeated."""
    session = told(mem).session("s1")
    assert RULE in session.session_start().text
    assert RULE not in session.before_turn("what colour has the logo?").text
    session.context_compacted()
    assert RULE in session.before_turn("what colour has the logo?").text
    session.context_compacted()
    assert RULE in session.session_start().text


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What do you know about me?", {PREFERENCE, NAME}),
        ("who am i", {PREFERENCE, NAME}),
        ("Was weißt du über mich?", {PREFERENCE, NAME}),
        ("你对我了解多少？", {PREFERENCE, NAME}),
        ("What are the rules here?", {RULE}),
        ("Quelles sont les règles ?", {RULE}),
        ("ここのルールは何ですか？", {RULE}),
    ],
)
def test_questions_about_the_user_and_the_rules_are_answered(mem: Memotherm, question: str, expected: set[str]) -> None:
    """Although no memory has a word of the question."""
    shop = told(mem)

    assert expected <= {entry.memory.content for entry in shop.context(question).included}
    assert {hit.memory.content for hit in shop.recall(question, limit=len(expected))} == expected


@pytest.mark.parametrize("language", WORD_LISTS["phrases"])
def test_every_language_asks_for_the_profile_and_the_rules(language: str) -> None:
    """With the first phrase of its list, as a question."""
    assert asks_about_user(f"{phrases_of(language, 'about_me')[0].capitalize()}?")
    assert asks_for_rules(f"{phrases_of(language, 'rules')[0].capitalize()}?")


@pytest.mark.parametrize(
    "text",
    [
        "I'm Priya, backend dev at Parcelio, based in Leeds",
        "Hello! Dana here, office manager.",
        "Hi, this is Tom from sales",
        "hi im ben, product manager",
        "moin, ich bin Jonas, mach die IT beim Radwerk in Freiburg",
        "salut, moi c'est Élodie, développeuse freelance à Nantes",
        "hola! soy Lucía, llevo la recepción de la clínica, en Valencia",
        "oi, aqui é o Rafael, coordenador da escola, moro no Porto",
        "你好，我叫小林，在成都做后端",
        "Привет, я Олег, бэкендер",
        "Cześć, jestem Marta z Krakowa",
        "Szia, Péter vagyok, fejlesztő",
    ],
)
def test_who_the_user_is_may_be_said_in_passing(mem: Memotherm, text: str) -> None:
    """A name, a job and a place in an introduction are there at the next start, in every project."""
    shop, bank = (mem.scoped(user="ana", project=project).by("person") for project in ("shop", "bank"))
    shop.capture(text)

    assert text in bank.session("s1").session_start().text


@pytest.mark.parametrize("text", ["This is Python, not Ruby", "It's Kong, not Traefik", "I'm in London next week"])
def test_a_capital_letter_is_no_introduction(text: str) -> None:
    """What is called by a name is not the user."""
    assert not classified(text).about_user


def test_the_summary_does_not_repeat_the_lines_above_it(mem: Memotherm) -> None:
    """An open task is a line of its own, and what is left of the summary is still there."""
    shop = told(mem)
    text = f"Session of 2026-01-05\nOpen: {TASK}\nSaid: the logo is green; {NAME}"
    shop.remember(text, "summary", key="session/s0/summary", index=False)

    start = shop.session("s1").session_start().text
    assert (start.count(TASK), start.count(NAME), start.count("the logo is green")) == (1, 1, 1)


def test_the_start_of_a_scope_is_shown_without_a_session(mem: Memotherm) -> None:
    """It is what a session would start with, from wider scopes and not from narrower ones; nothing is recorded."""
    mem.by("person").remember(RULE, kind="rule")
    ana = mem.scoped(project="shop", user="ana")
    ana.remember("The migration of the shop is under way", tier="hot")
    mem.scoped(project="shop", user="ana", agent="coder").remember("Only of the coder", tier="hot")
    mem.scoped(project="other").remember("Only of another project", tier="hot")

    shown = ana.inspect.start()
    assert len(mem.receipts.list()) == 0
    assert shown.text == ana.session("s1").session_start().text
    assert [entry.reason for entry in shown.included] == ["a rule", "current work"]


@pytest.mark.parametrize(
    "text",
    [
        "I run the bakery on Mill Lane together with my sister",
        "bin farbenblind, rot-grün",
        "j'ai deux filles, Jade et Manon",
    ],
)
def test_facts_about_the_user_that_no_phrase_marks_are_at_the_start(mem: Memotherm, text: str) -> None:
    """They are marked when they are stored, so that they can be listed."""
    shop, bank = (mem.scoped(user="ana", project=project).by("person") for project in ("shop", "bank"))
    shop.capture(text)

    assert text in bank.session("s1").session_start().text
    assert [memory.content for memory in bank.find(tags=["profile"])] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "who reviews db changes here",
        "wer prüft hier die Migrationen",
        "vem granskar migreringarna här",
        "we also use Grafana for dashboards",
        "the reviews of db changes take long here",
    ],
)
def test_what_may_be_a_rule_is_not_at_the_start(mem: Memotherm, text: str) -> None:
    """A rule without a phrase of rules must be certain."""
    shop = mem.scoped(user="ana", project="shop").by("person")
    shop.capture(text)

    assert text not in shop.session("s1").session_start().text
