"""The bundled model works offline, alone or in company."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from memotherm.embed.local import BUNDLED, LocalEmbedder, load_model
from memotherm.errors import EmbedderError

TEXTS = [
    "The user prefers metric units.",
    "Deploy failed: port 5432 was taken.",
    "Caroline: I went to a support group yesterday.",
    "The dog is named Biscuit.",
    "x",
]


def test_vectors_have_unit_length_and_the_promised_size(local: LocalEmbedder) -> None:
    """384 numbers of length 1 for every text."""
    found = local.embed(TEXTS)
    assert found.shape == (len(TEXTS), local.dimensions) == (5, 384)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours(local: LocalEmbedder) -> None:
    """A text has one vector, alone or in a batch, in any order."""
    together = local.embed(TEXTS)
    backwards = local.embed(TEXTS[::-1])[::-1]
    alone = np.vstack([local.embed([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-6)
    assert np.allclose(together, backwards, atol=1e-6)


def test_a_question_finds_the_text_that_answers_it(local: LocalEmbedder) -> None:
    """The closest text is the one a reader would choose."""
    texts = local.embed(TEXTS)
    assert np.argmax(texts @ local.embed_query("which units should I use?")) == 0
    assert np.argmax(texts @ local.embed_query("what is the pet called?")) == 3


def test_a_question_carries_the_prefix(local: LocalEmbedder) -> None:
    """A question and the same words as a stored text are different vectors."""
    question = "what is the pet called?"
    plain = LocalEmbedder(prefix="")
    assert float(local.embed([question])[0] @ local.embed_query(question)) < 0.98
    assert np.allclose(plain.embed([question])[0], plain.embed_query(question), atol=1e-6)


@pytest.mark.slow
def test_the_end_of_a_long_text_is_findable(local: LocalEmbedder) -> None:
    """What the model could not read at once is in a later window."""
    filler = "We talked about the weather, which was mild, and about the garden in spring. " * 60
    text = filler + "The password of the harbour office is kept in the blue cabinet."
    question = local.embed_query("where is the harbour office password?")
    whole = float((local.embed([text]) @ question)[0])
    parts = local.embed(local.split(text)) @ question
    assert np.argmax(parts) == len(parts) - 1
    assert float(parts.max()) > whole + 0.05


def test_strange_texts_have_vectors_too(local: LocalEmbedder) -> None:
    """Nothing a user can store makes embedding fail."""
    found = local.embed(["", " \n", "\ud800", "\x00", "漢" * 2000, "x" * 5000, "🙂"])
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_rows(local: LocalEmbedder) -> None:
    """An empty batch is a batch."""
    assert local.embed([]).shape == (0, 384)


def test_threads_may_share_an_embedder_from_the_start(local: LocalEmbedder) -> None:
    """The model is loaded once, whoever comes first."""
    fresh = LocalEmbedder()
    found: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = []
    threads = [threading.Thread(target=lambda: found.append(fresh.embed(TEXTS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = local.embed(TEXTS)
    assert len(found) == 4
    assert all(np.allclose(rows, expected, atol=1e-6) for rows in found)


def test_a_query_that_was_begun_is_embedded_once(local: LocalEmbedder, tmp_path: Path) -> None:
    """Its vector is that of any query, other queries have their own, and an error reaches who asks for it."""
    fresh, missing = LocalEmbedder(), LocalEmbedder(tmp_path)
    fresh.begin_query("what is the dog called?")
    missing.begin_query("what is the dog called?")

    begun = fresh.embed_query("what is the dog called?")
    assert begun is fresh.embed_query("what is the dog called?")
    assert np.array_equal(begun, local.embed_query("what is the dog called?"))
    assert np.array_equal(fresh.embed_query("which port?"), local.embed_query("which port?"))
    with pytest.raises(EmbedderError, match=r"vocab\.txt"):
        missing.embed_query("what is the dog called?")


def test_a_closed_embedder_loads_again(local: LocalEmbedder) -> None:
    """Closing frees memory, it does not break anything."""
    fresh = LocalEmbedder(threads=1)
    before = fresh.embed(["a"])
    fresh.close()
    assert np.allclose(fresh.embed(["a"]), before, atol=1e-6)


def test_another_folder_is_another_embedder() -> None:
    """It has its own name, finds out its dimensions, and does not inherit the bundled calibration."""
    other = LocalEmbedder(BUNDLED, threads=2)
    assert other.name == "local:weights"
    assert other.dimensions == 384
    assert not hasattr(other, "calibration")
    assert hasattr(LocalEmbedder(), "calibration")


def test_the_graph_has_the_numbers_of_the_model(local: LocalEmbedder) -> None:
    """The bundled model is loaded from a graph that names places in its file; the vectors are those of the file."""
    texts = ["The staging port is 5433.", "Who approves a release? " * 60]

    assert np.array_equal(local.embed(texts), LocalEmbedder(BUNDLED, threads=1).embed(texts))


def test_a_brief_load_gives_the_same_vectors() -> None:
    """A hook loads the model for one query; what it is compared with was embedded by processes that load all of it."""
    ids = np.array([[101, *range(2000, 2020), 102]])
    fields = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    whole, brief = (
        load_model(BUNDLED / "graph.onnx", briefly=briefly).run(None, fields)[0] for briefly in (False, True)
    )
    assert np.array_equal(whole, brief)


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    """First the vocabulary, then the model, then whether it is one."""
    embedder = LocalEmbedder(tmp_path)
    with pytest.raises(EmbedderError, match=r"vocab\.txt"):
        embedder.embed(["a"])
    (tmp_path / "vocab.txt").write_bytes((BUNDLED / "vocab.txt").read_bytes())
    with pytest.raises(EmbedderError, match="No model at"):
        embedder.embed(["a"])
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        embedder.embed(["a"])


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """Embedding leaves no device id and no queue of events in a fresh home: the runtime's telemetry is off."""
    code = "from memotherm.embed.local import LocalEmbedder; LocalEmbedder().embed(['a quiet text'])"
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], env=home, check=True, timeout=120)

    assert list(tmp_path.rglob("*")) == []
