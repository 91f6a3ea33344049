"""Correction: what mentions a name, what a request concerns, a part replaced, names that mean the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm import Memotherm
from memotherm.cli.app import run
from memotherm.errors import InvalidInput, NotFound
from memotherm.testing import HashEmbedder, Vectors
from memotherm.text.mentions import index_words, mention_test, mentioned_names, tokens
from memotherm.text.words import words
from tests.helpers import is_linear


def contents(found: Any) -> set[str]:
    return {getattr(item, "memory", item).content for item in found}


@pytest.fixture
def mem(open_mem: Callable[..., Memotherm], tmp_path: Path) -> Memotherm:
    return open_mem(tmp_path / "memory.db")


# Mentions

SPELLINGS = [
    ("alice@acme.io", ["ALICE@acme.io", '"alice"@acme.io', "alice+news@acme.io", "<alice@acme.io>,"]),
    ("https://www.acme.io/vendor/", ["acme.io/vendor", "http://acme.io/vendor.", "WWW.acme.io/vendor"]),
    ("123-45-6789", ["123456789", "123 45 6789", "１２３-45-6789"]),
    ("(650) 555-0177", ["650-555-0177", "650.555.0177", "+1 650 555 0177", "6505550177"]),
    ("XK7L-9P3Q-2RVA", ["xk7l9p3q2rva", "XK7L.9P3Q.2RVA", "XK7L_9P3Q_2RVA"]),
    ("DE89 3704 0044 0532 0130 00", ["DE89370400440532013000"]),
    ("2025-12-25", ["12/25/2025", "25.12.2025", "December 25, 2025", "25 Dec 2025", "2025/12/25"]),
    ("0000847", ["847", "#847", "00847"]),
    ("TKT-100", ["tkt 100", "TKT100", "#TKT-100", "TKT-0100"]),
    ("@johndoe", ["johndoe", "JohnDoe", "john\u200bdoe"]),
    ("00:1A:2B:3C:4D:5E", ["00-1a-2b-3c-4d-5e"]),
    ("José García", ["jose garcia", "JOSÉ GARCÍA", "José García's"]),
    ("Großmann", ["Grossmann", "GROSSMANN"]),
    ("张伟", ["客户张伟下单了"]),
    ("Иван Петров", ["ИВАН ПЕТРОВ"]),
]
OTHERS = [
    ("alice@acme.io", ["alice.smith@acme.io", "alice@acme.io.br", "alice", "acme.io"]),
    ("acme.io/vendor", ["acme.io/vendors", "acme.io"]),
    ("TKT-100", ["TKT-1000", "TKT-100-B", "100"]),
    ("550e8400", ["550e8400-e29b-41d4-a716-446655440000"]),
    ("847", ["8470", "1847", "847.5"]),
    ("2020", ["2020-01-02"]),
    ("engineering", ["engineering-platform", "engineer"]),
    ("John Smith", ["John Smithson", "John A. Smith", "Smith John"]),
    ("Building A", ["Building B"]),
    ("3.14", ["314"]),
    ("192.168.1.4", ["192.168.1.42", "19.2168.1.4"]),
    ("heron-Tr0ub4dor&3", ["heron-Tr0ub4dor&34", "heron-Tr0ub4dor", "3"]),
    ("C++", ["C", "C#"]),
    ("$100", ["100", "$1000", "100%"]),
]


@pytest.mark.parametrize(("name", "spellings"), SPELLINGS)
def test_all_spellings_of_an_identifier_are_found(mem: Memotherm, name: str, spellings: list[str]) -> None:
    """Each spelling finds all the others, by the index and in the contents; nothing else is found."""
    stored = {f"this is about {spelling} today" for spelling in (name, *spellings)}
    mem.remember_many({"content": content} for content in stored)
    mem.remember("this is about 99 other things")
    for spelling in (name, *(each for each in spellings if name not in each)):
        assert contents(mem.find(mentions=[spelling])) == stored, spelling
        assert contents(mem.recall("what about it?", limit=20, mentions=spelling)) == stored, spelling


@pytest.mark.parametrize(("name", "others"), OTHERS)
def test_a_part_of_another_identifier_is_not_found(mem: Memotherm, name: str, others: list[str]) -> None:
    """Neither a prefix nor a part of a longer identifier or name."""
    mem.remember_many({"content": f"this is about {other} today"} for other in others)
    assert not contents(mem.find(mentions=name))


@given(st.text(alphabet="aB9é-_. @/+张ß\u200b", min_size=1, max_size=20), st.text(max_size=20))
def test_a_text_mentions_what_it_begins_with(name: str, rest: str) -> None:
    """Whatever the characters: a name is found in a text that has it as a whole, and the index has a word of it."""
    found = tokens(name)
    text = f"{name} | {rest}"
    if found and tokens(text)[: len(found)] == found:
        assert mention_test([name])(text)
        assert {*index_words(name)} & {*words(text)}


def test_several_names_are_looked_up_in_a_text_at_once() -> None:
    """Those that it mentions, in the order of the names, in any spelling."""
    text = "Ana Silva called +1 650 555 0177 about TKT 100 and 张伟下单了; Ben was out."
    names = ["ben", "Ana", "Ana Silva", "silva ana", "(650) 555-0177", "650-555-0178", "TKT-100", "TKT-10", "张伟", "!"]
    assert list(mentioned_names(names)(text)) == ["ben", "Ana", "Ana Silva", "(650) 555-0177", "TKT-100", "张伟"]


def test_a_filter_by_mentions_reaches_what_is_hidden_and_what_was(mem: Memotherm) -> None:
    """Archived and deleted memories with `retention`, earlier states with `as_of`, and a purge erases all of it."""
    kept = mem.remember("Order 847 is late")
    mem.archive(mem.remember("Order 0847 was paid").id)
    mem.forget(mem.remember("order #847 was split").id)
    mem.remember("Order 8470 is on time")
    assert contents(mem.find(mentions="847")) == {"Order 847 is late"}
    assert len(mem.find(mentions="847", retention="any").memories) == 3
    assert contents(mem.recall("order", mentions="847", retention="archived")) == {"Order 0847 was paid"}
    before = mem.history(kept.id)[0].at
    assert contents(mem.recall("order", mentions=["847"], as_of=before)) == {"Order 847 is late"}
    assert mem.count(mentions=["847", "8470"]) == 2
    assert len(mem.bulk.purge(mentions="847")) == 3
    assert contents(mem.find(retention="any")) == {"Order 8470 is on time"}


def test_mentions_are_found_in_the_scope_only(mem: Memotherm) -> None:
    """Another user's memory is neither found nor erased."""
    mem.scoped(user="ana").remember("Ana's card is 4111-1111-1111-1111")
    mem.scoped(user="bob").remember("Bob's card is 4111 1111 1111 1111")
    assert contents(mem.scoped(user="bob").find(mentions="4111111111111111")) == {"Bob's card is 4111 1111 1111 1111"}
    mem.scoped(user="bob").bulk.purge(mentions="4111111111111111")
    assert mem.scoped(user="ana").count() == 1
    assert mem.count(mentions="4111111111111111", include_narrower=True) == 1


@pytest.mark.parametrize("wrong", [[""], [3], "  ", ["x" * 1001]])
def test_a_name_that_is_none_is_refused(mem: Memotherm, wrong: Any) -> None:
    """An empty name would otherwise select everything."""
    with pytest.raises(InvalidInput):
        mem.bulk.purge(mentions=wrong)


# Aliases


def test_a_chain_of_aliases_is_followed_in_linear_time(open_mem: Callable[..., Memotherm]) -> None:
    """From one end to the other: each name means the same as the next one."""

    def cost(size: int) -> float:
        mem = open_mem(":memory:")
        for number in reversed(range(size)):
            mem.alias(f"Lutra{number}", f"Lutra{number + 1}")
        mem.remember(f"Lutra{size} swims at night")
        start = time.process_time()
        assert [hit.memory.kind for hit in mem.recall("When does it swim?", mentions="Lutra0", limit=1)] == ["fact"]
        return time.process_time() - start

    assert is_linear(cost, 8)


def test_a_request_with_many_names_reads_each_memory_once(open_mem: Callable[..., Memotherm]) -> None:
    """Not once for each name; a number that is repeated is looked for once."""
    mem = open_mem()
    mem.remember(" ".join(f"Lutra{number} met Otter{number}." for number in range(600)))

    def cost(size: int) -> float:
        start = time.process_time()
        assert len(mem.select(" and ".join(f"Otter{number}" for number in range(size))).matches) == 1
        assert not mem.select("7," * (size * 5)).matches
        return time.process_time() - start

    assert cost(64) < 4 * max(cost(1), 0.01)


def test_an_alias_is_found_like_the_name(mem: Memotherm) -> None:
    """In both directions, over several aliases, in its scope, and until it is forgotten."""
    ana = mem.scoped(user="ana")
    ana.remember("客户张伟下单了")
    ana.remember("Mr. W. Zhang has plan A")
    alias = ana.alias("Zhang Wei", "张伟")
    ana.alias("zhang wei", "W. Zhang")
    said = {"客户张伟下单了", "Mr. W. Zhang has plan A"}
    assert contents(ana.find(mentions="Zhang Wei", kind="fact")) == said
    assert contents(ana.find(mentions="张伟", kind="fact")) == said
    assert not contents(mem.find(mentions="Zhang Wei"))
    ana.forget(alias.id)
    assert contents(ana.find(mentions="Zhang Wei", kind="fact")) == {"Mr. W. Zhang has plan A"}
    with pytest.raises(InvalidInput):
        ana.alias("Zhang Wei", "zhang  WEI")


# Select


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("forget everything about Frank the engineer", {0, 1, 2}),
        ("Frank's phone number", {1}),
        ("the phone number of Frank", {1}),
        ("vergiss alles über Frank", {0, 1, 2}),
        ("+1 650 555 0177", {1}),
        ("the printer in the hall", {3}),
        ("Hallway", set()),
    ],
)
def test_a_request_selects_what_it_names(mem: Memotherm, request_: str, expected: set[int]) -> None:
    """By a name, an identifier or words; each with a reason, and nothing is changed."""
    texts = [
        "Frank works at Notion as a backend engineer",
        "Frank's phone number is (650) 555-0177",
        "Frank's favourite colour is teal",
        "The printer in the hall is out of paper",
        "We had a frank discussion about layoffs",
    ]
    mem.remember_many({"content": text} for text in texts)
    selection = mem.select(request_)
    assert contents(selection) == {texts[place] for place in expected}
    assert all(match.reason and match.why for match in selection)
    assert selection.left_out is None or selection.left_out.memory.content not in contents(selection)
    assert mem.count() == len(texts)
    assert contents(mem.bulk.forget(ids=selection.ids, count=len(expected))) == contents(selection)
    assert mem.count() == len(texts) - len(expected)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("heron-Tr0ub4dor&3", {"The backup password is heron-Tr0ub4dor&3"}),
        ("forget 'heron-Tr0ub4dor&3', please", {"The backup password is heron-Tr0ub4dor&3"}),
        ("owl#7", {"The router is owl#7"}),
        ("Sprint 7", {"Sprint 7 starts on Monday"}),
        ("everything about sprint 7", {"Sprint 7 starts on Monday"}),
        ("ticket 123", {"TICKET-123 is closed"}),
        ("room 170", {"Room 170 is booked"}),
        ("+49 170 5550123", {"The plumber is at +49 (170) 5550123"}),
        ("0170 5550123", {"The plumber is at +49 (170) 5550123"}),
        ("AT&T", {"The AT&T bill is due"}),
        ("key=abc123", {"We set key=abc123"}),
        ("p@ss/w0rd", {"The old login was p@ss/w0rd"}),
        ("$100", {"The fee is $100"}),
        ("abc123", {"We set key=abc123", "abc123 is a build"}),
        ("owl#7 and heron-Tr0ub4dor&3", {"The router is owl#7", "The backup password is heron-Tr0ub4dor&3"}),
        ("7", {"Sprint 7 starts on Monday"}),
        ("3", {"We moved the retry limit to 3"}),
        ("5433", {"The port is 5433"}),
        ("INV-5433-7", {"The invoice INV-5433-7 is paid"}),
        ("/srv/heron/data", {"Dumps go to /srv/heron/data"}),
        ("the password heron-Tr0ub4dor&4", set()),
        ("the password kestrel#9", set()),
        ("the password rotation of the vendors", set()),
    ],
)
def test_a_term_with_punctuation_is_matched_as_a_whole(mem: Memotherm, request_: str, expected: set[str]) -> None:
    """Its numbers are parts of it, and what has only its neighbours is not selected."""
    mem.remember_many(
        {"content": text}
        for text in (
            "The backup password is heron-Tr0ub4dor&3",
            "We moved the retry limit to 3",
            "The router is owl#7",
            "Sprint 7 starts on Monday",
            "TICKET-123 is closed",
            "We counted 123 sheep",
            "The plumber is at +49 (170) 5550123",
            "Room 170 is booked",
            "The AT&T bill is due",
            "At noon we met about the T shirts",
            "We set key=abc123",
            "abc123 is a build",
            "The old login was p@ss/w0rd",
            "The w0rd puzzle is solved",
            "The fee is $100",
            "The hall has room for 100 people",
            "The password policy is strict",
            "The port is 5433",
            "The invoice INV-5433-7 is paid",
            "Dumps go to /srv/heron/data",
            "The data of heron is on srv",
        )
    )
    assert contents(mem.select(request_)) == expected


def test_what_is_only_close_in_meaning_is_proposed_and_not_purged_with_yes(
    open_mem: Callable[..., Memotherm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is listed apart, and a purge without a question leaves it."""
    mem = open_mem(tmp_path / "near.db", embedder="local")
    mem.remember("Dr. Patel prescribed antibiotics for the throat infection")
    mem.remember("The backup runs at noon")
    request = "medication from the doctor"
    selection = mem.select(request)
    assert (selection.ids, [match.reason for match in selection.proposed]) == ([], ["meaning"])
    store = ["--store", str(mem.status().store)]
    assert run(["select", request, "--purge", "--yes", *store]) == 0
    assert "proposed: " in capsys.readouterr().err
    assert run(["select", request, "--purge", "--yes", "--proposed", *store]) == 2
    assert mem.count() == 2
    assert run(["select", request, "--forget", "--yes", "--proposed", *store]) == 0
    assert contents(mem.find()) == {"The backup runs at noon"}


def test_a_name_in_another_script_is_only_proposed(mem: Memotherm) -> None:
    """Transliteration may be wrong, so it never selects."""
    mem.remember_many({"content": text} for text in ("Ivan Petrov is on the premium plan", "Иван Петров купил ноутбук"))
    mem.remember("Ольга Соколова купила телефон")
    selection = mem.select("customer Ivan Petrov")
    assert contents(selection) == {"Ivan Petrov is on the premium plan"}
    assert contents(selection.proposed) == {"Иван Петров купил ноутбук"}


def test_what_a_name_selects_is_listed_newest_first(mem: Memotherm) -> None:
    """Also where an older memory was changed last, on every store."""
    stored = mem.remember_many({"content": f"Frank said number {number}"} for number in range(5))
    mem.update(stored[1].id, content="Frank said number 1 again")
    mem.update(stored[0].id, content="Frank said number 0 again")

    assert [match.memory.id for match in mem.select("everything about Frank")] == [
        memory.id for memory in reversed(stored)
    ]


def test_a_selection_by_nothing_is_empty_and_bad_requests_are_refused(mem: Memotherm) -> None:
    """An empty store, a request without words, and one that is too long."""
    assert not mem.select("everything about Frank").ids
    mem.remember("Frank works at Notion")
    assert not mem.select("the quarterly tax return of the subsidiary").ids
    for wrong in ("", " ", "x" * 1001):
        with pytest.raises(InvalidInput):
            mem.select(wrong)


# Amend


@pytest.mark.parametrize(
    ("content", "part", "new", "expected"),
    [
        (
            "Ana is married to Jamie and works at Google.", None, "Ana joined Anthropic, leaving Google.",
            "Ana is married to Jamie. Ana joined Anthropic, leaving Google.",
        ),
        (
            "Ana is a licensed pilot and enjoys baking bread.", "the pilot licence", "Ana let the licence expire.",
            "Ana enjoys baking bread. Ana let the licence expire.",
        ),
        ("The port is 5544 on staging", "5544", "6000", "The port is 6000 on staging"),
        ("Ana has cats named Pixel and Bit.", None, "Ana has a dog.", "Ana has a dog."),
        (
            "Ana ist mit Kim verheiratet und arbeitet bei Google.", "arbeitet bei Google", "Ana arbeitet bei ACME.",
            "Ana ist mit Kim verheiratet. Ana arbeitet bei ACME.",
        ),
        ("用户住在北京，在谷歌工作。", "在谷歌工作", "用户在百度工作。", "用户住在北京。 用户在百度工作。"),
    ],
)  # fmt: skip
def test_a_part_is_replaced_and_the_rest_stays(
    mem: Memotherm, content: str, part: str | None, new: str, expected: str
) -> None:
    """One event, the same id, and one undo brings all of it back."""
    memory = mem.remember(content)
    events = len(mem.history(memory.id))
    amended = mem.amend(memory.id, new, part, why="corrected")
    assert (amended.id, amended.content) == (memory.id, expected)
    (event,) = mem.history(memory.id)[events:]
    assert (event.action, event.why) == ("amend", "corrected")
    assert mem.undo(event.seq).content == content


def test_an_amended_part_does_not_come_back_by_itself(mem: Memotherm, tmp_path: Path) -> None:
    """Neither by a capture nor by an import of an older export; one undo brings it back."""
    wrong = "Ana is married to Jamie and works at Google."
    memory = mem.remember(wrong)
    (tmp_path / "old.jsonl").write_text(f'{{"content": "{wrong}"}}\n{{"content": "Ana works at Google"}}\n')
    amended = mem.amend(memory.id, "Ana joined Anthropic.", "works at Google")
    assert mem.capture("ANA works at  Google!").status == "skipped"
    assert mem.capture(wrong).memory is None
    assert mem.store.import_("jsonl", tmp_path / "old.jsonl").forgotten == 2
    assert contents(mem.find()) == {amended.content}
    mem.undo(amended.version)
    assert contents(mem.find()) == {wrong}
    assert mem.capture("Ana is happy that the office moved").memory is not None


def test_what_cannot_be_amended_says_why(mem: Memotherm) -> None:
    """An unknown memory, an empty text, and a deleted memory."""
    memory = mem.remember("Ana works at Google")
    with pytest.raises(NotFound):
        mem.amend("mem_unknown", "text")
    for wrong in ("", "  "):
        with pytest.raises(InvalidInput):
            mem.amend(memory.id, wrong)
        with pytest.raises(InvalidInput):
            mem.amend(memory.id, "text", part=wrong)
    mem.forget(memory.id)
    with pytest.raises(InvalidInput):
        mem.amend(memory.id, "Ana works at Anthropic")


def test_a_content_without_a_statement_is_amended_as_a_whole(mem: Memotherm) -> None:
    """Punctuation alone says nothing that could stay."""
    memory = mem.remember("....")
    assert mem.amend(memory.id, "Ana works at Anthropic").content == "Ana works at Anthropic"


def test_a_correction_of_many_statements_stays_small(open_mem: Callable[..., Memotherm]) -> None:
    """Each statement that stays got the subject, so that 200 kB became 768 MB; all statements were embedded."""
    embedder = Counting()
    mem = open_mem(":memory:", embedder=embedder)
    subject = " ".join(["wharf"] * 2000)
    memory = mem.remember(subject + "".join(f" and is blue {number}" for number in range(1000)))
    amended = mem.amend(memory.id, f"{subject} shut", part="is blue 7")
    assert len(amended.content) < 5 * len(memory.content)

    many = mem.remember(". ".join(f"Gate {number} is blue" for number in range(1000)))
    embedder.given = 0
    mem.amend(many.id, "The bridge is blue now")
    assert embedder.given < 200


class Counting(HashEmbedder):
    """An embedder that counts what it is given."""

    given = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.given += len(texts)
        return super().embed(texts)
