"""Secrets in the sentences, notes, commands and settings of people, in 28 languages, beside harmless ones.

In `sentences/secrets.txt` a secret is between ⟦ and ⟧; a middle dot, which is removed, keeps scanners of repositories
from taking the examples for real keys, and `\\n` is a line break. The rules have seen all of these lines, so the counts
say what they were fitted to, and not how they do on others. Half of the first 300 lines of each, chosen by a hash, were
held out until the rules of plain words were made. Of the later ones, 154 and 181, then 198 and 214, were written before
the rules were read. The last 213 harmless lines, on code and in ten languages, are by the author of the rules of plain
words; 111 of them were written before these rules.

`hard_secrets.txt` and `hard_harmless.txt` have 442 and 421 lines of two other writers who knew no rule; no rule was
made with the secrets. Many of them are plain words that nothing announces: "HBO is on Kyle's account, and the word is".
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from memotherm import Memotherm
from memotherm.text.redaction import MARK, Redactor
from tests.helpers import is_linear

_FOLDER = Path(__file__).with_name("sentences")
_SECRET = re.compile("⟦(.*?)⟧", re.DOTALL)
#: Parts of a secret with this length must not be kept.
_PIECE = 4


def lines(name: str, half: int) -> list[str]:
    """Return a half of the lines of a file."""
    text = (_FOLDER / name).read_text("utf-8").replace("·", "").replace("\\n", "\N{SYMBOL FOR NEWLINE}")
    found = [line.replace("\N{SYMBOL FOR NEWLINE}", "\n") for line in text.splitlines() if line]
    return [line for line in found if crc32(line.encode()) % 2 == half]


def keeps_nothing(line: str) -> bool:
    """Return whether no piece of a secret is left in the redacted line, nor its last character beside the mark."""
    redacted, rest = Redactor().text(_SECRET.sub(r"\1", line)), _SECRET.sub(" ", line)
    for secret in _SECRET.findall(line):
        pieces = [secret[place : place + _PIECE] for place in range(max(1, len(secret) - _PIECE + 1))]
        if any(piece in redacted and piece not in rest for piece in pieces):
            return False
        if f"{MARK}{secret[-1]}" in redacted and secret[-1] not in rest:
            return False
    return True


@pytest.mark.parametrize("half", [0, 1])
def test_secrets_in_sentences_are_redacted(half: int) -> None:
    """At least 95 of 100."""
    secrets = lines("secrets.txt", half)
    assert len(secrets) > 150
    missed = [line for line in secrets if not keeps_nothing(line)]
    assert len(missed) <= 0.05 * len(secrets), "\n".join(missed)


@pytest.mark.parametrize("half", [0, 1])
def test_harmless_sentences_stay_as_they_are(half: int) -> None:
    """At most 2 of 100 are touched, although most of them speak of passwords, tokens and keys."""
    harmless = lines("harmless.txt", half)
    assert len(harmless) > 150
    touched = [redacted for line in harmless if (redacted := Redactor().text(line)) != line]
    assert len(touched) <= 0.02 * len(harmless), "\n".join(touched)


def test_what_no_rule_was_made_with_is_the_measure() -> None:
    """Half of the hardest lines; of the harmless ones beside them, one in a hundred is touched."""
    secrets, harmless = (
        lines(f"hard_{name}.txt", 0) + lines(f"hard_{name}.txt", 1) for name in ("secrets", "harmless")
    )
    assert sum(map(keeps_nothing, secrets)) >= 0.5 * len(secrets)
    touched = [redacted for line in harmless if (redacted := Redactor().text(line)) != line]
    assert len(touched) <= 0.01 * len(harmless), "\n".join(touched)


@pytest.mark.parametrize(
    "text",
    [
        "password for the staging db is heron-Tr0ub4dor&3 , use it for the dump",
        "Das Passwort für die Staging-DB ist heron-Tr0ub4dor&3",
        "ステージングDBのパスワードはheron-Tr0ub4dor&3です",
        "machine api.example.org\n  login ana\n  password heron-Tr0ub4dor&3",
        "| host | password |\n|---|---|\n| heron | heron-Tr0ub4dor&3 |",
    ],
)
def test_no_other_prompt_gets_a_secret_of_a_conversation(
    text: str, open_mem: Callable[..., Memotherm], store_kind: str
) -> None:
    """A captured sentence is recalled without its secret."""
    mem = open_mem()
    captured = mem.capture(text)
    assert captured.redacted == 1
    assert "Tr0ub4dor" not in mem.context("what is the password of the staging database on heron?").text
    assert not [memory for memory in mem.find() if "Tr0ub4dor" in memory.content]


def test_a_purged_password_that_is_a_plain_word_stays_a_word(open_mem: Callable[..., Memotherm]) -> None:
    """Other sentences may contain it."""
    mem = open_mem()
    mem.purge(mem.remember("the password of the staging database is kangaroo").id)
    captured = mem.capture("We saw a kangaroo in the zoo on Sunday")
    assert captured.memory is not None
    assert captured.memory.content == "We saw a kangaroo in the zoo on Sunday"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("DB_PASSWORD=Summer2026!", f"DB_PASSWORD={MARK}"),
        ("the password is hunter2.", f"the password is {MARK}."),
        ("Server=db1;Password=Sq1!S3rver;Encrypt=yes", f"Server=db1;Password={MARK};Encrypt=yes"),
        ("GET /x?user=ana&password=Lg1n!pass&next=home", f"GET /x?user=ana&password={MARK}&next=home"),
        ("log in with ana / Sommer2024! at heron", f"log in with ana / {MARK} at heron"),
        ("<password>Lur3x&Bach</password>", f"<password>{MARK}</password>"),
        ("hunter2 is the password for the demo", f"{MARK} is the password for the demo"),
        ("the password is Passwort123", f"the password is {MARK}"),
        ("postgres://shop:pa/ss-W0rd@db1/shop", f"postgres://shop:{MARK}@db1/shop"),
        ("Cookie: theme=dark; sid=x8k2mq0vz7lb", f"Cookie: theme=dark; sid={MARK}"),
    ],
)
def test_only_the_secret_is_replaced(text: str, redacted: str) -> None:
    """Punctuation, other settings, other parameters and other cookies stay."""
    assert Redactor().text(text) == redacted


#: Beginnings of secrets that never end, repeated.
_HOSTILE = [
    *("-eyJaaaa", "eyJa.", "sk-", "ghp_a", "://a:b/", "://a:b@", "password ", "password a1B", "pass=", "token: a1 "),
    *("cookie: a=", "mysql -p ", "docker login ", "-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA\n"),
    *("a,password\n1,2\n", "seed phrase is abc abc ", "パスワードa1", '"password":"', "a1-", "[redacted]", "p\u200b"),
]


@pytest.mark.parametrize("unit", _HOSTILE)
def test_no_text_takes_more_than_linear_time(unit: str) -> None:
    """Eight times the text takes at most twelve times the processor time."""
    redactor = Redactor()

    def least_time(length: int) -> float:
        text = (unit * length)[:length]
        spent = []
        for _ in range(5):
            before = time.process_time()
            redactor.redact(text)
            spent.append(time.process_time() - before)
        return min(spent)

    least_time(100)  # compiles the patterns
    assert is_linear(least_time, 1000)


def test_a_long_line_after_many_words_for_secrets_takes_linear_time() -> None:
    """What is read around each of the words is bounded, also where their line is not."""
    redactor = Redactor()

    def cost(words: int) -> float:
        text = "a,password=x " * words + "x" * 8_000 * words
        before = time.process_time()
        redactor.redact(text)
        return time.process_time() - before

    assert is_linear(cost, 200)


@pytest.mark.parametrize(
    "text",
    [
        "das WLAN im Vereinsheim heißt inzwischen Sportfreunde24",
        "the guest wifi is called Birkenhof12",
        "my login name is jonas77",
        "the passcode screen got changed to SwiftUI2",
        "the passphrase is stored in the vault of the team",
        "CACHE_KEY=user:v2:profile:settings",
        "our password manager is 1Password7",
        "the wifi channel is 5GHz-ch44 in the hall",
        "error code 1045 from the door sensor",
        "the primary key is User42-Profile-EN",
        "the password is in vault-prod-24",
        "log in with Keycloak-24",
        "password: argon2_v13 column",
    ],
)
def test_names_of_networks_and_accounts_are_no_secrets(text: str) -> None:
    """Nor is what a noun after the word is about."""
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("The passphrase is correct horse battery staple.", f"The passphrase is {MARK}."),
        ('passphrase: "velvet otter crane sunset"', f'passphrase: "{MARK}"'),
        ("when asked for a passphrase type quartz-lemon-72-barge", f"when asked for a passphrase type {MARK}"),
        ("put WEATHER_KEY=b81f2c7730ad4e11958c6a0d there", f"put WEATHER_KEY={MARK} there"),
        ("пароль базы данных теперь Kedr-Volna-61", f"пароль базы данных теперь {MARK}"),
        ("the recovery codes are 8812-4471 and 9920-1734", f"the recovery codes are {MARK} and {MARK}"),
        ("melde dich mit svc-report und Kiefer!8820 an", f"melde dich mit svc-report und {MARK} an"),
        ("password wifi gudang adalah Mangga_71!", f"password wifi gudang adalah {MARK}"),
        ("recovery codes: 8f3k-2mzq, p0vx-77da", f"recovery codes: {MARK}, {MARK}"),
        ("der Code vom Tresor ist 77-41-09, sagt Ute", f"der Code vom Tresor ist {MARK}, sagt Ute"),
        (
            "no, the new one is Gabbiano.21, the old password fails",
            f"no, the new one is {MARK}, the old password fails",
        ),
        ("wifi password? A: Fjordpferd33", f"wifi password? A: {MARK}"),
        ("hasło: bocian_na_dachu1", f"hasło: {MARK}"),
        ("die PIN fürs Lagertor lautet 6642", f"die PIN fürs Lagertor lautet {MARK}"),
    ],
)
def test_passphrases_of_words_and_keys_of_any_service_are_found(text: str, redacted: str) -> None:
    """Four words without grammar, a number among words, and the settings whose names end with KEY."""
    assert Redactor().text(text) == redacted


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("my pin for the door pad: 77319#", True),
        ("Die PIN vom Tresor ist 84-19-52", True),
        ("Le code secret du coffre, c'est 48-17-93X", True),
        ("The root password got changed to Wombat_2026_x", True),
        ("Le mot de passe du wifi a été changé en Wombat_2026_x", True),
        ("The pins 12-15 of the connector are ground", False),
        ("password changed 18-11-2026", False),
        ("The password was changed by heron2 last week", False),
    ],
)
def test_codes_in_groups_and_changed_passwords_are_found(text: str, found: bool) -> None:
    """A code of digits may have groups, a letter or a sign at its end; a date and a range of pins are none."""
    assert (Redactor().text(text) != text) is found


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("the wifi password is bluewhale, ask if it fails", f"the wifi password is {MARK}, ask if it fails"),
        ("my passphrase for the disk is literally marmalade.", f"my passphrase for the disk is literally {MARK}."),
        ("[client]\npassword = butterfly\nport = 5432", f"[client]\npassword = {MARK}\nport = 5432"),
        ("the password for the lab: kiwi and the port is 22", f"the password for the lab: {MARK} and the port is 22"),
        ("coquelicot est le mot de passe", f"{MARK} est le mot de passe"),
        ("is dragonfly still the password?", f"is {MARK} still the password?"),
        ("changed the db password from winter to spring", f"changed the db password from {MARK} to {MARK}"),
        ("I made a new password for grafana. It's lighthouse.", f"I made a new password for grafana. It's {MARK}."),
        ("I set a new one for the NAS. It's Copper_Kettle9.", f"I set a new one for the NAS. It's {MARK}."),
        ('the passphrase is "my dog ate the moon"', f'the passphrase is "{MARK}"'),
        ("passphrase: seven wet badgers on a tram", f"passphrase: {MARK}"),
        ("log in as ana with password moonlight", f"log in as ana with password {MARK}"),
        ("PIN for the company card? 0936", f"PIN for the company card? {MARK}"),
        ("Password\n9vT!aardvark\nThanks", f"Password\n{MARK}\nThanks"),
        ("パスワードはhimawariです", f"パスワードは{MARK}です"),
        ("пароль от почты malina", f"пароль от почты {MARK}"),
    ],
)
def test_a_plain_word_is_a_secret_where_the_sentence_states_it(text: str, redacted: str) -> None:
    """After a sign or "is", before "is the password", in a change, in quotes and in the sentence after the word."""
    assert Redactor().text(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "the password is required, and the old one expired",
        "the password is case-sensitive",
        "what is the password? ask Jonas",
        "password rotation is weekly",
        "a password is lifetime trouble",
        "conn = connect(user=user, password=hashed)",
        "def login(user: str, password: HiddenText | None = None) -> bool: ...",
        "passwordMode: strict",
        "second pass: sanitize the tree",
        "the password changed from week to week",
        "the conclave is over",
        "password:\n  type: string",
        '<label for="pw">Password</label>',
    ],
)
def test_what_people_say_of_passwords_is_no_secret(text: str) -> None:
    """States, types, variables, labels, and statements about any password."""
    assert Redactor().text(text) == text
