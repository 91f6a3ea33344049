"""What a person has purged stays away in every encoding that a reader, a program or a model reads as the same text."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm
from memotherm.errors import Forbidden
from memotherm.rest.app import application
from memotherm.text.spelling import decoded
from memotherm.tools import call
from tests.helpers import is_linear

PHONE = "Ana's phone number is 650-555-0177"
PASSWORD = "heron-Tr0ub4dor&3"
PAGE = "The ferry to Capri leaves at nine"
#: Of a text without a character of its own that an encoding uses.
ENCODINGS: dict[str, Callable[[str], str]] = {
    "kanji digits": lambda text: text.translate(str.maketrans("0123456789", "〇一二三四五六七八九")),
    "formal kanji digits": lambda text: text.translate(str.maketrans("123456789", "壹贰叁肆伍陆柒捌玖")),
    "decimal entities": lambda text: "".join(f"&#{ord(each)};" if each.isalnum() else each for each in text),
    "hexadecimal entities": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
    "one entity": lambda text: text.replace("0", "&#48;", 1).replace("n", "&#110;", 1),
    "named entities": lambda text: text.replace("&", "&amp;").replace("'", "&apos;").replace("-", "&hyphen;"),
    "entities of entities": lambda text: "".join(f"&amp;#{ord(each)};" for each in text),
    "a mail": lambda text: text.replace("0", "=30").replace(" ", "=20").replace("-", "=2D"),
    "percent": lambda text: "".join(f"%{ord(each):02x}" for each in text),
    "a URL": lambda text: f"https://example.org/?q={quote(text)}",
    "percent twice": lambda text: quote(quote(text.replace("0", "%30"))),
    "escapes of JSON": lambda text: "".join(f"\\u{ord(each):04x}" if each.isalnum() else each for each in text),
    "some escapes": lambda text: text.replace("0", "\\u0030").replace("o", "\\x6f"),
    "escapes with braces": lambda text: "".join(f"\\u{{{ord(each):x}}}" for each in text),
    "a line break of JSON": lambda text: f"Hello\\n{text}\\tsays Ben",
    "bold in words": lambda text: text.replace("on", "o**n**").replace("01", "0**1**"),
    "tags in words": lambda text: text.replace("on", "o<b>n</b>").replace("01", "0<span class='x'>1</span>"),
    "comments in words": lambda text: text.replace("on", "o<!-- x -->n").replace("01", "0<!---->1"),
    "links in words": lambda text: text.replace("on", "[o](https://example.org)n"),
    "zero width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "full width": lambda text: "".join(chr(ord(each) + 0xFEE0) if each.isalnum() else each for each in text),
}  # fmt: skip
Write = Callable[[Memotherm, str, Path], object]


def imported(mem: Memotherm, text: str, folder: Path) -> object:
    """Import an entry of another program."""
    (folder / "other.jsonl").write_text(json.dumps({"content": text}))
    return mem.store.import_("jsonl", folder / "other.jsonl")


def noted(mem: Memotherm, text: str, folder: Path) -> object:
    """Write a note."""
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "notes" / "MEMORY.md").write_text(f"- {text}\n- {PAGE}\n")
    return mem.notes(folder / "notes").sync()


def sent(mem: Memotherm, text: str, _: Path) -> object:
    """Send a request."""
    answer = TestClient(application(mem), base_url="http://127.0.0.1:8077").post("/memories", json={"content": text})
    assert answer.status_code == 403, answer.text
    raise Forbidden(answer.text)


def stored(mem: Memotherm, text: str, _: Path) -> object:
    """Call a tool, which answers why it has stored nothing."""
    answer = call(mem, "store_memory", {"content": text})
    if "only a person" in str(answer):
        raise Forbidden(str(answer))
    return answer


#: What refuses the text, and what leaves it out.
REFUSING: dict[str, Write] = {
    "remember": lambda mem, text, _: mem.remember(text),
    "update": lambda mem, text, _: mem.update(mem.remember(PAGE).id, content=text),
    "update of metadata": lambda mem, text, _: mem.update(mem.remember(PAGE).id, metadata={"a": [text]}),
    "amend": lambda mem, text, _: mem.amend(mem.remember(PAGE).id, text),
    "a reason": lambda mem, text, _: mem.archive(mem.remember(PAGE).id, why=f"{text} is old"),
    "a request": sent,
    "a tool": stored,
}
CLEANING: dict[str, Write] = {
    "capture": lambda mem, text, _: mem.capture(f"She said: {text}. {PAGE}."),
    "import": imported,
    "notes": noted,
    "edit of a note": lambda mem, text, folder: (noted(mem, "Tea", folder), noted(mem, text, folder)),
}


@pytest.fixture
def purged(mem: Memotherm) -> Memotherm:
    """Return a memory whose phone number and password a person has purged."""
    person = mem.by("person")
    for text in (PHONE, f"the password is {PASSWORD}"):
        person.purge(person.remember(text).id)
    return mem


@pytest.mark.parametrize("text", [PHONE, PASSWORD], ids=["text", "secret"])
@pytest.mark.parametrize("door", REFUSING)
def test_a_purged_text_is_refused_in_every_encoding(door: str, text: str, purged: Memotherm, tmp_path: Path) -> None:
    """Through every door; nothing of it is stored, and the ledger does not say it."""
    accepted = []
    for encoding, encode in ENCODINGS.items():
        with contextlib.suppress(Forbidden):
            accepted.append((encoding, REFUSING[door](purged, encode(text), tmp_path)))
        shown = f"{[each.content for each in purged.find()]} {purged.events()}"
        assert encode(text) not in shown, encoding
    assert accepted == []


@pytest.mark.parametrize("text", [PHONE, PASSWORD], ids=["text", "secret"])
@pytest.mark.parametrize("door", CLEANING)
def test_a_purged_text_is_left_out_in_every_encoding(door: str, text: str, purged: Memotherm, tmp_path: Path) -> None:
    """A mark stands for it, and the rest is stored."""
    for encoding, encode in ENCODINGS.items():
        CLEANING[door](purged, encode(text), tmp_path)
        shown = [each.content for each in purged.find()]
        if "note" in door:
            shown += [hit.snippet for hit in purged.notes(tmp_path / "notes").search(PAGE)]
        assert not any(encode(text) in each for each in shown), (encoding, shown)
        assert door == "import" or any(PAGE in each for each in shown), encoding


def test_a_text_that_was_purged_in_an_encoding_does_not_come_back_without_it(mem: Memotherm) -> None:
    """Nor in another one."""
    person = mem.by("person")
    enclosing = {"a URL", "a line break of JSON"}
    for number, encoding in enumerate(ENCODINGS.keys() - enclosing):
        encode = ENCODINGS[encoding]
        said = f"{PHONE}{number}"
        person.purge(person.remember(encode(said)).id)
        for again in (said, ENCODINGS["percent"](said), ENCODINGS["kanji digits"](said)):
            with contextlib.suppress(Forbidden):
                pytest.fail(f"{encoding}: {mem.remember(f'Note: {again}')}")


@pytest.mark.parametrize(
    ("purged", "again"),
    [
        ("アナは八十四歳で、東京に住んでいます", "アナは84歳で、東京に住んでいます"),
        ("The rent is 35000 yen a month, says Ben", "The rent is 三万五千 yen a month, says Ben"),
        ("年份是二〇二六年，房租是每月四十二元", "年份是2026年，房租是每月42元"),
        ("The code of the safe is 3108 4415", "The code of the safe is 三千百八 四千四百十五"),
    ],
)
def test_numbers_in_kanji_are_the_same_as_in_digits(purged: str, again: str, mem: Memotherm) -> None:
    """Digit by digit, and with the names of powers of ten."""
    person = mem.by("person")
    person.purge(person.remember(purged).id)
    for text in (again, purged):
        with pytest.raises(Forbidden, match="only a person"):
            mem.remember(text)


def test_a_person_stores_an_encoded_text_again(purged: Memotherm) -> None:
    """Then an agent may say it, as without an encoding."""
    encoded = ENCODINGS["one entity"](PHONE)
    purged.by("person").remember(encoded)
    assert purged.remember(PHONE)


@pytest.mark.parametrize(
    "text",
    ["", "The port is 5433", "I like **tea**, not `coffee`", "50% of 3 & 4 < 8", "a_b * c", "C:/temp", "東京に住む"],
)
def test_an_ordinary_text_has_no_second_reading(text: str) -> None:
    """So it costs nothing."""
    assert decoded(text) is None


@pytest.mark.parametrize(
    "unit",
    ["&", "&#4", "&amp;", "%", "%2", "%25", "\\u", "\\u00", "<a", "<b>", "](", "](a", "一", "十", "9百", "\u200b"],
)
def test_a_text_is_decoded_in_linear_time(unit: str) -> None:
    """8 times the text takes at most 12 times as long, whatever it repeats."""

    def cost(size: int) -> float:
        text = (unit * size)[:size]
        times = []
        for _ in range(7):
            began = time.thread_time()
            decoded(text)
            times.append(time.thread_time() - began)
        return min(times)

    assert is_linear(cost, 1100)
