"""Standing instructions of a person: how they are recognised, whose they are, and when they are given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memotherm import Memotherm, Scope
from memotherm.statements.kinds import classified
from memotherm.text.language import WORD_LISTS

Open = Callable[..., Memotherm]

#: Something to do always, something to do never, and something not to do without something else.
RULES = {
    "english": ["Always use uv instead of pip", "Never commit directly to main", "Don't deploy without asking me"],
    "german": ["Immer uv statt pip verwenden", "Committe nie direkt auf main", "Deploye nicht ohne Rückfrage"],
    "french": ["Utilise toujours uv", "Ne pousse jamais sur main", "Ne déploie pas sans me demander"],
    "spanish": ["Usa siempre uv", "Nunca hagas commit en main", "No hagas deploy sin preguntarme"],
    "italian": ["Usa sempre uv", "Non usare mai pip", "Non fare deploy senza chiedermi"],
    "portuguese": ["Use sempre uv", "Nunca faça commit na main", "Não faça deploy sem me perguntar"],
    "dutch": ["Gebruik altijd uv", "Push nooit naar main", "Deploy niet zonder te vragen"],
    "polish": ["Zawsze używaj uv", "Nigdy nie commituj na main", "Nie wdrażaj bez mojej zgody"],
    "turkish": ["Her zaman uv kullan", "Asla main dalına commit atma", "Sakın bana sormadan deploy etme"],
    "russian": ["Всегда используй uv", "Никогда не пушь в main", "Не деплой без моего согласия"],
    "ukrainian": ["Завжди використовуй uv", "Ніколи не пуш у main", "Не деплой без моєї згоди"],
    "arabic": ["استخدم دائما uv", "لا تستخدم أبدا pip", "لا تنشر بدون موافقتي"],
    "hindi": ["हमेशा uv का उपयोग करें", "कभी मत pip चलाना", "बिना पूछे deploy मत करना"],
    "chinese": ["始终使用 uv", "永远不要直接提交到 main", "未经我同意不要部署"],
    "japanese": ["必ずuvを使ってください", "絶対にmainへ直接プッシュしないで", "確認なしにデプロイしないで"],
    "korean": ["항상 uv를 사용하세요", "절대 main에 직접 커밋하지 마세요", "묻지 않고 배포하지 마"],
    "swedish": ["Använd alltid uv", "Pusha aldrig till main", "Pusha inte utan att fråga"],
    "danish": ["Brug altid uv", "Push aldrig til main", "Push ikke uden at spørge"],
    "norwegian": ["Bruk alltid uv", "Push aldri til main", "Push ikke uten å spørre"],
    "finnish": ["Käytä aina uv:tä", "Älä koskaan pushaa mainiin", "Älä julkaise ilman lupaani"],
    "czech": ["Vždy používej uv", "Nikdy necommituj do main", "Nenasazuj bez mého souhlasu"],
    "hungarian": ["Mindig uv-t használj", "Soha ne pusholj a mainre", "Ne telepíts anélkül, hogy megkérdeznél"],
    "romanian": ["Folosește întotdeauna uv", "Nu folosi niciodată pip", "Nu publica fără să mă întrebi"],
    "vietnamese": ["Luôn dùng uv", "Đừng bao giờ commit vào main", "Đừng triển khai mà không hỏi tôi"],
    "indonesian": ["Selalu gunakan uv", "Jangan pernah commit ke main", "Jangan deploy tanpa bertanya"],
    "catalan": ["Fes servir sempre uv", "No utilitzis mai pip", "No despleguis sense preguntar-me"],
    "greek": ["Πάντα να χρησιμοποιείς uv", "Ποτέ μην κάνεις commit στο main", "Μην κάνεις deploy χωρίς να ρωτήσεις"],
    "hebrew": ["תמיד תשתמש ב-uv", "לעולם אל תדחוף ל-main", "אל תפרוס בלי לשאול אותי"],
}


@pytest.mark.parametrize("language", WORD_LISTS["phrases"])
def test_standing_instructions_are_rules_in_every_language(language: str) -> None:
    """What is to be done always, never, or not without something else."""
    assert {text: classified(text).name for text in RULES[language]} == dict.fromkeys(RULES[language], "rule")


@pytest.mark.parametrize(
    "text",
    [
        "In this repo, never use print",
        "When you write tests, always use plain pytest functions",
        "remember that the VPN is required",
        "Keep in mind that staging resets at midnight",
        "From now on answer in German",
        "never run migrations against staging without asking me first",
        "Ok, never push on Fridays",
        "Can you remember that the VPN is required?",
    ],
)
def test_a_rule_may_begin_with_its_condition_or_a_request_to_remember(text: str) -> None:
    """Where it applies, when it applies, and from when on."""
    assert classified(text).name == "rule"


@pytest.mark.parametrize(
    ("text", "for_all_projects"),
    [
        ("keep your answers short pls, everywhere, I don't read essays", True),
        ("please write dates as 7 Sep and not the american way, in everything you do for me", True),
        ("never push straight to main. goes for all my projects", True),
        ("Keep commit messages short. That applies to all my repos.", True),
        ("when you write sql for me, uppercase keywords, everywhere", True),
        ("in this repo we write docstrings in google style", False),
        ("commit messages always in English", False),
        ("duz mich übrigens, gilt überall", True),
        ("spring nie ohne backup auf die live-db", False),
        ("Commit-Nachrichten in diesem Repo bitte immer auf Deutsch", False),
        ("commite jamais sans lancer les tests avant", False),
        ("dans ce dépôt on utilise pnpm, toujours", False),
        ("les messages de commit en anglais stp, sur tous mes projets", True),
        ("a los clientes mayores siempre de usted", False),
        ("cuando me resumas algo, tres líneas como mucho, en cualquier proyecto", True),
        ("responde sempre em listas, isso vale pra todos os projetos", True),
        ("回答尽量简短，所有项目都这样", True),
        ("Rapporten altijd in het Nederlands", False),
        ("Отчёты всегда в PDF", False),
        ("Odpowiadaj krótko, dotyczy wszystkich projektów", True),
        ("don't touch the legacy folder unless I say so", False),
        ("please use british spelling in everything you write", True),
        ("no force pushes please, ever", False),
        ("reply in English even if I write in Polish, always", False),
        ("make sure every PR has a changelog entry", False),
        ("keine deploys am freitag bitte", False),
        ("on ne déploie jamais le vendredi", False),
        ("no mandes nada a los clientes sin que yo lo vea", False),
        ("não mexa na pasta antiga sem me avisar", False),
        ("上线之前一定要先跑测试", False),
    ],
)
def test_rules_are_recognised_in_everyday_words(text: str, for_all_projects: bool) -> None:
    """As wishes, fragments and prohibitions; a sentence or clause that only gives the scope belongs to the rule."""
    kind = classified(text)
    assert (kind.name, kind.about_user) == ("rule", for_all_projects)


@pytest.mark.parametrize(
    "text",
    [
        "never mind",
        "Never mind, it works",
        "it never works",
        "Always fails on CI",
        "It always fails on CI",
        "Never seen that before",
        "Always a pleasure",
        "The server should never use HTTP",
        "He tried it, never got it to work",
        "Klappt nie",
        "Noch nie gesehen",
        "Läuft ohne Redis nicht",
        "No funciona sin Redis",
        "Не работает без Redis",
        "Non funziona senza Redis",
        "Não funciona sem Redis",
        "Nie działa bez Redisa",
        "Next step works without Redis",
        "I remember that the VPN was required",
        "我记得端口是5433",
        "Should we always use uv?",
        "The tests always need Redis and never Postgres",
        "Marcus left the db group, Ines reviews the migrations from now on",
        "ab jetzt macht Herr Demir die Bestellungen",
        "you can forget the short answers thing, explain properly again",
        "commits darfst du ab jetzt auch auf englisch schreiben, die regel ist weg",
        "there are bugs everywhere",
        "my family is always in my heart",
        "ça marche jamais le lundi ce truc",
        "He is always on time",
    ],
)
def test_reports_are_no_rules(text: str) -> None:
    """What always or never happens, and what does not work without something."""
    assert classified(text).name != "rule"


@pytest.mark.parametrize(
    ("text", "kind", "for_all_projects"),
    [
        ("Always use uv instead of pip in this repo", "rule", False),
        ("Always use uv instead of pip", "rule", False),
        ("Always use uv in all my projects", "rule", True),
        ("In allen meinen Projekten immer uv verwenden", "rule", True),
        ("我的所有项目始终使用 uv", "rule", True),
        ("I prefer tabs", "preference", True),
        ("I prefer tabs in this repo", "preference", False),
        ("My name is Ana and I work at Acme", "fact", True),
        ("We decided to use Postgres", "decision", False),
    ],
)
def test_the_words_of_a_statement_say_for_which_projects_it_is(
    mem: Memotherm, text: str, kind: str, for_all_projects: bool
) -> None:
    """Captured in one project, it is seen in another one of the user only if it is about the user or says so."""
    shop, bank = (mem.scoped(user="ana", project=project).by("person") for project in ("shop", "bank"))
    captured = shop.capture(text)

    assert captured.memory is not None
    assert captured.memory.kind == kind
    assert captured.memory.scope == Scope(user="ana", project=None if for_all_projects else "shop")
    assert [memory.content for memory in bank.find()] == ([text] if for_all_projects else [])


@pytest.mark.parametrize(
    ("text", "role", "kind"),
    [
        ("Which port does staging use?", "user", None),
        ("Ok. Which port does staging use? Thanks!", "user", None),
        ("怎么部署到生产环境？", "user", None),
        ("Never commit to main", "assistant", "message"),
        ("Never commit to main", "user", "rule"),
        ("The report is due on 3 March", "user", "task"),
        ("The staging port is 5433. Which one has production?", "user", "message"),
    ],
)
def test_capture_classifies_like_the_hooks(mem: Memotherm, text: str, role: str, kind: str | None) -> None:
    """Questions are not stored, everything else has the kind that its words say; only users give rules."""
    captured = mem.capture(text, metadata={"role": role})

    assert captured.status == ("skipped" if kind is None else "stored")
    assert (captured.memory and captured.memory.kind) == kind
    assert mem.capture(text, kind="message").memory is not None


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("keep your answers short pls, everywhere", "you can forget the short answers thing, explain properly again"),
        (
            "Commit-Nachrichten in diesem Repo bitte immer auf Deutsch",
            "commits darfst du ab jetzt auch auf englisch schreiben, die regel ist weg",
        ),
        ("Never push on Fridays", "the rule about Fridays is gone, the rule is gone"),
        ("commite jamais sans lancer les tests avant", "oublie la règle des tests"),
        ("Nunca des citas sin confirmar", "olvida lo de confirmar las citas"),
    ],
)
def test_a_rule_that_is_taken_back_ends(mem: Memotherm, rule: str, said: str) -> None:
    """It is not at the start any more, the ledger has the words, and undo brings it back; other rules stay."""
    shop = mem.scoped(user="ana", project="shop").by("person")
    other = "Never store card numbers in logs"
    for text in (rule, other, said):
        shop.capture(text)

    start = shop.session("s1").session_start().text
    assert rule not in start
    assert other in start
    (memory,) = (each for each in shop.find(kind="rule") if each.content == rule)
    event = shop.history(memory.id)[-1]
    assert event.why == f"said: {said}"
    (shop if memory.scope.project else shop.for_user()).undo(event.seq)
    assert rule in shop.session("s2").session_start().text


@pytest.mark.parametrize(
    "said",
    [
        "no need to run the tests now",
        "forget it",
        "you can forget the lunch",
        "the rule is gone",
        "you make the struggles with card payments more bearable",
    ],
)
def test_nothing_else_ends_a_rule(mem: Memotherm, said: str) -> None:
    """An exception, another thing, and a rule that is not named."""
    person = mem.by("person")
    rules = ["Always run the tests before you push", "Never store card numbers in logs"]
    for text in (*rules, said):
        person.capture(text)

    assert all(rule in person.session("s1").session_start().text for rule in rules)
