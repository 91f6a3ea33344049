"""WordPiece gives the ids of the `tokenizers` package, which trained the model."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from memotherm.embed.local import BUNDLED
from memotherm.embed.wordpiece import WordPiece, atoms
from memotherm.errors import EmbedderError
from tests.helpers import examples

ORACLE = BertWordPieceTokenizer(str(BUNDLED / "vocab.txt"), lowercase=True)
OURS = WordPiece.from_file(BUNDLED / "vocab.txt")

#: Newer characters differ between the Unicode tables of Python and of `tokenizers`;
#: two old ones changed their category, and U+FFFD stands for what cannot be decoded.
CHANGED = "\u166d\u1734"


def is_settled(character: str) -> bool:
    return unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs") and character not in CHANGED


settled = st.text(st.characters(exclude_categories=["Cs"]).filter(is_settled), max_size=80)
latin = st.text(st.sampled_from("abcdefg ABC'-_,.;!?0129éÉñüßİıΣς\n\t\u0301"), max_size=200)

EXAMPLES = [
    "",
    "   ",
    "The user prefers metric units.",
    "unaffable antidisestablishmentarianism",
    "Café, naïve, Ångström, e\u0301te\u0301, ŻÓŁĆ",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ",
    "İstanbul ıssız Straße",
    "東京都に住んでいます。かな カナ",
    "我喜欢猫,也喜欢狗！",
    "한국어 문장입니다",
    "Привет, как дела?",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "emoji 😀👩‍👩‍👧 ok",
    "tabs\tand\r\nlines\x0bvertical\x0cform\x85next\u2028line\u2029paragraph",
    "null\x00 bell\x07 zero\u200bwidth \ufeffbom \ufffd",
    "a_b-c/d\\e@f.g https://example.com/?q=1&r=2#x",
    "$5.00 + 3^2 = `code` ~ <tag> |pipe|",
    "x" * 100,
    "x" * 101,
    "\u1fef varia, \u037e question, \u212a kelvin, \u2000 quad",
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_have_the_ids_of_tokenizers(text: str) -> None:
    """Scripts, accents, spaces and symbols are treated as in training."""
    assert OURS.encode(text, limit=10_000) == ORACLE.encode(text).ids


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(settled | latin)
def test_any_text_has_the_ids_of_tokenizers(text: str) -> None:
    """Whatever the text, the ids agree."""
    assert OURS.encode(text, limit=10_000) == ORACLE.encode(text).ids


@settings(deadline=None)
@given(st.text(st.characters(codec=None), max_size=50))
def test_no_text_fails_not_even_lone_surrogates(text: str) -> None:
    """Text cut in the middle of a character is still text."""
    ids = OURS.encode(text + "\ud800")
    assert (ids[0], ids[-1]) == (101, 102)


def test_a_control_token_in_a_text_is_ordinary_text() -> None:
    """A memory cannot end the model's input by writing [SEP]."""
    assert OURS.encode("a [SEP] b").count(102) == 1


def test_the_limit_counts_the_control_tokens_too() -> None:
    """A long text is cut so that the model accepts it."""
    ids = OURS.encode("word " * 1000, limit=512)
    assert len(ids) == 512
    assert ids[-1] == 102


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Zs", "Zl", "Zp"], exclude_characters=" \t\r\n"), max_size=60))
def test_the_tokens_of_atoms_add_up(run: str) -> None:
    """Windows count parts, so parts must count like the whole."""
    parts = atoms(run)
    assert "".join(parts) == run
    assert sum(map(OURS.count, parts)) == OURS.count(run)


def test_a_tokenizer_json_serves_as_well(tmp_path: Path) -> None:
    """Folders of other models often have no vocab.txt."""
    path = tmp_path / "tokenizer.json"
    path.write_text(ORACLE.to_str(), encoding="utf-8")
    assert WordPiece.from_file(path).encode("The same ids.") == OURS.encode("The same ids.")


def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    """A file without BERT's control tokens is named as the problem."""
    path = tmp_path / "vocab.txt"
    path.write_text("hello\nworld\n", encoding="utf-8")
    with pytest.raises(EmbedderError, match=r"\[UNK\], \[CLS\], \[SEP\]"):
        WordPiece.from_file(path)
