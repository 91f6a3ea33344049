"""Credentials and private passages: what is found, what is left alone, and where nothing is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memotherm import Memotherm, Scope, tools
from memotherm.errors import MemothermError, SettingsError
from memotherm.text.redaction import MARK, Redactor
from memotherm.tools.results import everything_json

#: Credentials in texts; the part that must not be kept is in the second place.
SECRETS = [
    ("use {} here", "sk-proj-abcDEF1234567890abcdef12"),
    ("export TOKEN={}", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
    ("({})", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"),
    ("id {}", "AKIAIOSFODNN7EXAMPLE"),
    ("id {}.", "ASIAIOSFODNN7EXAMPLE"),
    ("slack {}", "xoxb-123456789012-abcdefghij"),
    ("maps {}", "AIzaSyA1234567890abcdefghijklmnopqrstu"),
    ("{}", "glpat-abcdefghij1234567890"),
    ("{}", "npm_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("{}", "pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAw"),
    ("{}", "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"),
    ("{}", "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf09kqeF8tAmbihYzrnopKc"),
    ("{}", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"),
    ("{}", "rk_live_4eC39HqLyjWDarjtT1zdp7dc"),
    ("{}", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.dozjgNryP4J3jVmNHl0w5N"),
    ("{}", "mtk_abcdefghijklmnopqrstuvwxyz012345"),
    ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY----- and so on", "MIIEpAIBAAKCAQEA0Z3VS5JJcds3"),
    ("cut: -----BEGIN PRIVATE KEY-----\\n{}", "MIIEpAIBAAKCAQEA0Z3VS5JJcds3"),
    ("postgresql://ana:{}@db.example.org/shop", "s3cret"),
    ("postgres://ana:{}@db.example.org/shop?a=b@c", "p@ss@w0rd"),
    ("curl -u 'ana:{}' https://example.org", "Sup3rS3cret!"),
    ("curl https://example.org --user ana:{}", "Sup3rS3cret!"),
    ("AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net", "Zx81kQpa77LmV2nB0c9d8e7f6a5b4c3d=="),
    ("SharedAccessKey={}", "Zx81kQpa77LmV2nB0c9d8e7f6a5b4c3d="),
    ("{}", "AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQY"),
    ("{}", "SK0123456789abcdef0123456789abcdef"),
    ("Authorization: Basic {}", "dXNlcjpwYXNzd29yZA=="),
    ('{{"authorization": "Bearer {}"}}', "abcdefgh-1234"),
    ("curl -H 'X-Api-Key: {}'", "9f8a7b6c5d4e3f2a1b0c"),
    ("the password is {}, do not tell", "hunter2"),
    ("Passwort: {}", "Geheim!2026"),
    ("DB_PASSWORD={}", "Tr0ub4dor"),
    ('client_secret = "{}"', "Zx81kQpa77LmV2nB"),
    ("note <private>{}</private> end", "we meet at noon"),
    ("note < PRIVATE >{}", "never closed"),
]
ORDINARY = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it",
    "request 550e8400-e29b-41d4-a716-446655440000 failed",
    "![logo](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4)",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "Donaudampfschifffahrtsgesellschaftskapitän, Kennwort: vergessen",
    "max_tokens=4096, token_count: 12345, tokenizer: o200k_base",
    "The password must be rotated every 90 days; password is required",
    "password=${DB_PASSWORD} token: <your-token> secret: xxxxxxxxxxxxxxxx",
    "def login(user: str, password: str) -> None: token = get_token(user)",
    "https://example.org:8080/a@b and git@github.com:org/repo.git and postgres://localhost:5432/app",
    "curl -u ana https://example.org, docker run -u 1000:1000 image, curl --user-agent a:b",
    "sk-learn-is-a-library-for-machine-learning and pypi-package-names-may-be-very-long-indeed",
    "Bearer of bad news: authorization: required by the new policy of 2026",
    "密码是什么? Пароль забыт. La contraseña es necesaria.",
    "a private matter, and </private> alone",
    "The token is invalid or expired",
]

texts = st.lists(
    st.one_of(st.sampled_from([form.format(secret) for form, secret in SECRETS]), st.text(max_size=20)), max_size=6
).map(" ".join)


@pytest.mark.parametrize(("form", "secret"), SECRETS)
def test_a_credential_is_replaced_and_the_rest_stays(form: str, secret: str) -> None:
    """The mark stands where it was, and what it looked like is named."""
    redactor = Redactor()
    redacted = redactor.redact(form.format(secret))
    assert secret not in redacted.text
    assert MARK in redacted.text
    assert redacted.replaced == 1
    assert len(redactor.find(form.format(secret))) >= 1


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\xad", "\ufeff", "\U000e0041"])
def test_characters_that_are_not_shown_hide_no_credential(hidden: str) -> None:
    """Inside a credential or before it; what is replaced ends with the credential, and the others stay."""
    key = "sk-proj-abcDEF1234567890abcdef12"
    split = hidden.join(key)

    assert Redactor().redact(f"use{hidden} {split} {hidden}here") == (f"use{hidden} {MARK} {hidden}here", 1)
    assert Redactor().text(f"use{hidden}{key} here") == f"use{hidden}{MARK} here"
    assert Redactor(patterns=["Projekt [A-Z]+"]).text(f"Pro{hidden}jekt ADLER") == MARK
    assert Redactor().text(f"a s{hidden}ki trip") == f"a s{hidden}ki trip"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    """Hashes, identifiers, images, code and prose in several languages are not credentials."""
    assert Redactor().redact(text) == (text, 0)


@settings(max_examples=60)
@given(texts, st.sampled_from([(), ("[a-z]{3}",), ("ACME-\\d+", ".")]))
def test_redaction_is_idempotent_and_bounded(text: str, patterns: tuple[str, ...]) -> None:
    """A second time changes nothing, and a text grows by at most one mark for each replacement."""
    redactor = Redactor(patterns=patterns)
    once = redactor.redact(text)
    assert redactor.redact(once.text) == (once.text, 0)
    assert len(once.text) <= len(text) + once.replaced * len(MARK)


@pytest.mark.parametrize("pattern", ["(a+)+b", "a|b", "a{1,9999}", "x*", "", "[z-a]", "a" * 201, "a{3", "(?=a)"])
def test_a_pattern_that_could_be_slow_or_is_none_is_refused(pattern: str) -> None:
    """The error says what a pattern may be."""
    with pytest.raises(SettingsError, match="redact_patterns"):
        Redactor(patterns=[pattern])


def test_patterns_of_the_user_are_redacted(open_mem: Callable[..., Memotherm], store_kind: str) -> None:
    """A repeat takes what it can, and hostile texts take no longer than others."""
    mem = open_mem(settings={"redact_patterns": ["ACME-[A-Z0-9]{4,16}", "a*a*a*a*b"]})
    captured = mem.capture("the licence is ACME-12AB34CD for all machines" + " " + "a" * 20_000)
    assert captured.memory is not None
    assert captured.memory.content.startswith(f"the licence is {MARK} for all")
    assert captured.redacted == 1


def test_capture_keeps_no_secret_and_says_how_many(open_mem: Callable[..., Memotherm]) -> None:
    """Content and metadata are redacted before anything is written; a text of nothing else is not stored."""
    mem = open_mem(scope=Scope(project="shop"))
    captured = mem.capture("deploy with password: hunter2 please", metadata={"env": ["AKIAIOSFODNN7EXAMPLE", 1]})
    assert captured.memory is not None
    assert (captured.redacted, captured.memory.content) == (2, f"deploy with password: {MARK} please")
    assert captured.memory.metadata == {"env": [MARK, 1]}
    assert mem.capture("<private>all of this").status == "skipped"
    assert mem.capture("Blue is the colour of the shop").redacted == 0
    kept = mem.remember("the password is hunter2")
    assert (kept.content, mem.inspect.secrets_in(kept.content)) == ("the password is hunter2", ("a password",))


def test_redaction_can_be_switched_off_and_projects_excluded(open_mem: Callable[..., Memotherm]) -> None:
    """Without redaction a text is stored as it is; a project that is excluded captures nothing."""
    mem = open_mem(settings={"redact": False, "capture_exclude": ["client-*"]})
    captured = mem.capture("the password is hunter2, as before")
    assert captured.memory is not None
    assert "hunter2" in captured.memory.content
    assert mem.scoped(project="client-x").capture("the harbour opens at dawn").status == "skipped"
    assert mem.scoped(project="my-client-x").capture("the harbour opens at dawn").status == "stored"


def test_logged_queries_have_no_secrets(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Neither the recall log nor a receipt repeats a credential of a prompt."""
    mem = open_mem(tmp_path / "q.db")
    mem.remember("The staging database is called heron", tier="hot")
    mem.context("staging database with password: hunter2")
    mem.recall("staging database with password: hunter2")
    (receipt,) = mem.receipts.list()
    assert receipt.query == f"staging database with password: {MARK}"
    assert not [path for path in tmp_path.iterdir() if path.is_file() and b"hunter2" in path.read_bytes()]


def test_imports_are_redacted_but_not_our_own_exports(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """What another program has kept by itself is redacted; what was stored here on purpose comes back whole."""
    mem = open_mem()
    foreign, own = tmp_path / "mem0.json", tmp_path / "own.jsonl"
    foreign.write_text(json.dumps([{"memory": "the password is hunter2", "metadata": {"k": "AKIAIOSFODNN7EXAMPLE"}}]))
    own.write_text(json.dumps({"content": "the password is hunter3"}))
    assert mem.store.import_("mem0", foreign).redacted == 2
    assert mem.store.import_("jsonl", own).redacted == 0
    contents = [memory.content for memory in mem.find()]
    assert contents == ["the password is hunter3", f"the password is {MARK}"]
    assert "AKIA" not in str([memory.metadata for memory in mem.find()])


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("store_memory", {}),
        ("memory_put_key", {"key": "staging"}),
        ("memory_add", {"sessionId": "s", "type": "message"}),
    ],
)
def test_tools_replace_secrets_and_keep_them_by_choice(
    open_mem: Callable[..., Memotherm], tool: str, more: dict[str, str]
) -> None:
    """In content and metadata, and the answer says so; no context injects what was replaced."""
    mem = open_mem()
    arguments = {
        "content": "the staging key is AKIAIOSFODNN7EXAMPLE",
        "metadata": {"k": "AKIAIOSFODNN7EXAMPLE"},
        **more,
    }
    stored = tools.call(mem, tool, arguments)
    assert (stored["content"], stored["metadata"]["k"]) == (f"the staging key is {MARK}", MARK)
    (warning,) = stored["warnings"]
    assert "2 secrets replaced by" in warning
    assert "an AWS access key" in warning
    assert "AKIA" not in mem.session("s").memory.context("which staging key?").text

    kept = tools.call(mem, tool, {**arguments, "keepSecrets": True})
    assert "AKIA" in kept["content"]
    assert kept["metadata"]["k"] == "AKIAIOSFODNN7EXAMPLE"
    assert "was stored as it is" in kept["warnings"][0]
    assert tools.call(mem, "store_memory", {"content": "Blue is the colour of the shop"})["warnings"] == []


_KEY = "AKIAIOSFODNN7EXAMPLE"


def _example(parameter: tools.Parameter, text: str, memory_id: str) -> object:
    """Return an argument: one that selects a memory, or a text."""
    if parameter.selects:
        named = {"memory_id": memory_id, "ids": [memory_id], "over": [memory_id], "part": "the harbour opens at dawn"}
        return named.get(parameter.name, "s")
    if parameter.choices:
        return parameter.choices[0]
    kinds = {int: 1, float: 1.0, bool: False, dict: {text: [text]}, str: text}
    return kinds.get(get_origin(parameter.type) or parameter.type, [text])


@pytest.mark.parametrize("name", [tool.name for tool in tools.TOOLS.values() if tool.stored])
def test_no_tool_stores_a_secret_in_any_of_its_texts(
    name: str, open_mem: Callable[..., Memotherm], store_kind: str
) -> None:
    """Every tool that writes is called with a secret in each of its texts, names of metadata included."""
    mem = open_mem()
    tool = tools.TOOLS[name]
    for parameter in tool.parameters:
        if parameter.name not in tool.stored:
            continue
        mem.session("s").add("the harbour opens at dawn")
        memory_id = mem.remember(f"the harbour opens at dawn and closes at dusk: {parameter.name}").id
        needed = {each.name: _example(each, "blue boats", memory_id) for each in tool.parameters if each.required}
        selecting = {"ids": [memory_id]} if any(each.name == "ids" for each in tool.parameters) else {}
        dry = {"dryRun": False} if any(each.name == "dryRun" for each in tool.parameters) else {}
        given = {**needed, **selecting, **dry, parameter.name: _example(parameter, f"see {_KEY} there", memory_id)}
        try:
            result = tools.call(mem, name, given)
        except MemothermError as error:  # such as a kind, which is one word
            result = {"error": str(error)}
        assert _KEY not in json.dumps(result), parameter.name
    assert _KEY not in json.dumps(list(everything_json(mem.inspect.everything())))


def test_a_tool_says_what_it_has_replaced(open_mem: Callable[..., Memotherm]) -> None:
    """Also one that has no parameter to keep it; what selects memories is not changed."""
    mem = open_mem()
    kept = mem.remember(f"the id of the bucket is {_KEY}")
    (warning,) = tools.call(mem, "memory_update", {"memory_id": kept.id, "tags": [_KEY, "aws"]})["warnings"]
    assert warning == f"1 secret replaced by {MARK} (an AWS access key)"
    assert set(mem.get(kept.id).tags) == {MARK, "aws"}
    found = tools.call(mem, "memory_forget_many", {"mentions": [_KEY], "why": f"has {_KEY}", "dryRun": False})
    assert [memory["id"] for memory in found["memories"]] == [kept.id]
    assert mem.history(kept.id)[-1].why == f"has {MARK}"


def test_the_name_of_a_value_announces_a_secret(open_mem: Callable[..., Memotherm]) -> None:
    """In metadata, a password is known by its name; names with secrets stay different."""
    mem = open_mem()
    metadata = {"db": {"password": "hunter2", "port": 5432, "PIN": 4821}, f"a {_KEY}": 1, "a ASIAIOSFODNN7EXAMPLE": 2}
    captured = mem.capture("The harbour database has moved to heron", metadata=metadata)
    assert captured.memory is not None
    assert captured.memory.metadata == {
        "db": {"password": MARK, "port": 5432, "PIN": MARK},
        f"a {MARK}": 1,
        f"a {MARK} 3": 2,
    }


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("for ssh on bastion use deploy / Wm#4471Zt", "Wm#4471Zt"),
        ("unlock the keychain with Zebra!7Quilt", "Zebra!7Quilt"),
        ("the demo user can get in with Vv5!sorrel", "Vv5!sorrel"),
        ("Melde dich mit ana und Pilz$Laub3 an", "Pilz$Laub3"),
        ("connecte-toi avec admin / Pluie$Route8", "Pluie$Route8"),
        ("accedi con admin/Ponte$Neve4", "Ponte$Neve4"),
        ("inicia sesión con ana / Flor!Mar22", "Flor!Mar22"),
        ("2FA backup code 8842-1190-5527", "8842-1190-5527"),
        ("Der Tresor-Code ist 480213", "480213"),
        ("the zip is encrypted with the password dune-lamp-44", "dune-lamp-44"),
        (
            "vault unseal key 1: p9Kx2mVq8ZtR4wLb7NcY1dHs6FgJ3eUa0ToXiQ5zCnE=",
            "p9Kx2mVq8ZtR4wLb7NcY1dHs6FgJ3eUa0ToXiQ5zCnE=",
        ),
        (
            "AZURE_STORAGE_KEY: kJ8s7D6fG5hJ4kL3zX2cV1bN0mQ9wE8rT7yU6iO5pA4=",
            "kJ8s7D6fG5hJ4kL3zX2cV1bN0mQ9wE8rT7yU6iO5pA4=",
        ),
        ("openssl enc -aes-256-cbc -k Oo2#quartz -in a", "Oo2#quartz"),
        ("keytool -list -keystore app.jks -storepass Ss3#willow", "Ss3#willow"),
        ("htpasswd -cb .htpasswd ana Ii9!saffron", "Ii9!saffron"),
    ],
)
def test_a_secret_after_other_words_for_getting_in(text: str, secret: str) -> None:
    """What people write when they log in, unlock something or note a code, and options of commands."""
    assert Redactor().text(text) == text.replace(secret, MARK)


@pytest.mark.parametrize(
    "text",
    [
        "security question: which port does api-2 use",
        "ssh to web-04 and restart nginx-1.27",
        "unlock level 42 in the demo game",
        "Accede al panel en http://10.0.0.5:8080/admin",
        "connecte-toi à 14h30 pour la démo v3.2",
        "accedi alla pagina v2/ordini entro il 31/12",
        "backup code paths live in src/backup2/",
        "order 650-555-0177 has no password",
        "storage key format is tenant/2026/11/file.json",
        "openssl version is 3.0.13, and -k is deprecated",
    ],
)
def test_words_for_getting_in_without_a_secret(text: str) -> None:
    """Ports, hosts, versions, paths and phone numbers beside the same words stay."""
    assert Redactor().text(text) == text
