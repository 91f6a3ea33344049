"""One counter for everything: exact where the vocabulary is known, never too low where it is not."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
import splintr
from hypothesis import given
from hypothesis import strategies as st

from memotherm import Memotherm, Settings
from memotherm.errors import SettingsError
from memotherm.text.tokens import Counter, count_tokens, counter
from tests.helpers import python


@pytest.mark.parametrize(
    ("name", "vocabulary"),
    [
        ("o200k_base", "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-5.1", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-oss-120b", "gpt-oss"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("deepseek-chat", "deepseek_v3"),
        ("mistral_v3", "mistral_v3"),
    ],
)
def test_a_model_is_counted_with_its_own_vocabulary(name: str, vocabulary: str) -> None:
    """The name of a model is enough."""
    text = "Der Einsatz ist bis Freitag eingefroren. 凍結中 🧊"

    found = counter(name)

    assert (found.name, found.exact) == (vocabulary, True)
    assert found(text) == len(splintr.Tokenizer.from_pretrained(vocabulary).encode_ordinary(text))


@pytest.mark.parametrize("name", ["claude-opus-4-5", "anthropic/claude-sonnet-4-5", "gemini-3-pro", "bytes", "no-such"])
def test_an_unknown_vocabulary_gets_an_upper_bound(name: str) -> None:
    """Nobody can count exactly what is not published, so the count says that it is a bound."""
    found = counter(name)

    assert (found.name, found.exact) == ("bytes", False)
    assert "upper bound" in str(found)


@given(st.text())
def test_the_bound_is_never_below_any_vocabulary(text: str) -> None:
    """Also where a tokenizer normalises first, which can make a text longer."""
    bound: Counter = counter("bytes")
    usable = text.encode("utf-8", "ignore").decode()
    for form in (usable, unicodedata.normalize("NFKC", usable)):
        for name in ("o200k_base", "cl100k_base", "llama3", "mistral_v1", "gemma3"):
            assert count_tokens(form, name) <= bound(usable)


def test_what_looks_like_a_control_token_is_counted_as_text() -> None:
    """A server that takes a user's text as text needs seven tokens for it, not one."""
    assert count_tokens("<|endoftext|>") > 1


def test_nothing_costs_nothing() -> None:
    """In every vocabulary, the bound included."""
    assert [count_tokens("", name) for name in ("o200k_base", "mistral_v1", "bytes")] == [0, 0, 0]


def test_a_tokenizer_file_of_any_model_can_be_used(tmp_path: Path) -> None:
    """A `tokenizer.json` as models publish them; a missing one is named."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    made.train_from_iterator(
        ["the deploy is frozen"] * 5,
        trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
    )
    path = tmp_path / "tokenizer.json"
    made.save(str(path))

    found = counter(str(path))

    assert found.exact
    assert found("the deploy is frozen") == len(made.encode("the deploy is frozen").ids)
    with pytest.raises(SettingsError, match="does not exist"):
        counter(str(tmp_path / "other.json"))


def test_without_the_wheel_bytes_are_counted() -> None:
    """On a platform without the compiled tokenizer everything works, with the bound."""
    done = python(
        "import sys; sys.modules['splintr'] = None\n"
        "from memotherm.text.tokens import counter, count_tokens\n"
        "print(counter().exact, count_tokens('four'))"
    )

    assert done.stdout.split() == ["False", "5"], done.stderr


def test_importing_loads_no_vocabulary() -> None:
    """The first count loads it."""
    done = python("import sys, memotherm.text.tokens; print('splintr' in sys.modules)")

    assert done.stdout.strip() == "False", done.stderr


def test_the_setting_decides_what_counts_everywhere(open_mem, tmp_path: Path) -> None:
    """Stored counts, changed contents and contexts all use the same counter."""
    settings = Settings(tokenizer="claude-sonnet-4-5")
    mem: Memotherm = open_mem(tmp_path / "m.db", settings=settings)

    memory = mem.remember("four words of text", tier="hot")
    changed = mem.update(memory.id, content="four words of text, more")
    context = mem.context()

    assert memory.tokens == len("four words of text") + 1
    assert changed.tokens == len("four words of text, more") + 1
    assert context.tokens == len(context.text.encode()) + 1
    assert not context.receipt.exact


def test_all_names_of_a_vocabulary_share_one_counter() -> None:
    """A vocabulary is loaded once in a process, whoever asks for it."""
    assert counter() is counter("o200k_base") is counter("gpt-4o")
