"""The OpenAI shape, as spoken by OpenAI and by many servers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from memotherm.embed import checked
from memotherm.embed.services import OpenAIEmbedder
from memotherm.errors import DimensionMismatch, EmbedderError, EmbedderRefused, SettingsError

from . import service
from .service import Reply, Request, Service, unit_of


def embedder(running: Service, dimensions: int | None = None) -> OpenAIEmbedder:
    """Return an embedder without a key, as for a local server."""
    return OpenAIEmbedder("tiny", f"{running.url}/v1/", dimensions=dimensions)


def assert_vectors_of(texts: list[str], found: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    assert found.dtype == np.float32
    assert np.allclose(found, [unit_of(text) for text in texts], atol=1e-6)


def test_texts_become_unit_vectors(openai: Service) -> None:
    """The server's vectors are renormalised; a server of one's own needs no key."""
    assert_vectors_of(["a", "b"], embedder(openai).embed(["a", "b"]))
    (request,) = openai.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "tiny", "input": ["a", "b"]}
    assert "authorization" not in request.headers


@pytest.mark.parametrize("shape", [service.openai_shuffled, service.openai_base64])
def test_order_and_encoding_of_the_answer_do_not_matter(openai: Service, shape: service.Answering) -> None:
    """Vectors are sorted by index, and may be base64."""
    openai.usual = shape
    assert_vectors_of(["a", "b", "c"], embedder(openai).embed(["a", "b", "c"]))


def test_many_texts_go_in_several_requests(openai: Service) -> None:
    """Order is kept across them."""
    texts = [f"text {number}" for number in range(70)]
    assert_vectors_of(texts, embedder(openai).embed(texts))
    assert [len(request.body["input"]) for request in openai.requests] == [32, 32, 6]


def test_dimensions_are_sent_only_when_asked_for(openai: Service) -> None:
    """And become part of the identity."""
    short = embedder(openai, dimensions=4)
    assert short.dimensions == 4
    assert short.name.endswith("/tiny:4")
    assert checked(short, ["a"]).shape == (1, 4)
    assert openai.requests[0].body["dimensions"] == 4


def test_dimensions_of_an_unknown_model_are_learnt(openai: Service) -> None:
    """The name stays the same, because stored vectors refer to it."""
    fresh = embedder(openai)
    name = fresh.name
    assert fresh.dimensions == 0
    checked(fresh, ["a"])
    assert (fresh.dimensions, fresh.name) == (service.SIZE, name)


def test_a_model_that_changes_its_dimensions_is_noticed(openai: Service) -> None:
    """Later vectors would not compare with earlier ones."""
    fresh = embedder(openai)
    fresh.embed(["a"])
    openai.script = [Reply({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})]
    with pytest.raises(DimensionMismatch, match=r"\[2\] dimensions instead of 8"):
        fresh.embed(["b"])


def test_the_name_holds_host_model_and_dimensions() -> None:
    """Known models have known dimensions."""
    made = OpenAIEmbedder(api_key="sk-secret-key")
    assert made.name == "openai:api.openai.com/text-embedding-3-small:1536"
    assert made.dimensions == 1536
    assert repr(made) == "OpenAIEmbedder('openai:api.openai.com/text-embedding-3-small:1536')"


def test_openai_itself_needs_a_key() -> None:
    """Said when the embedder is made, not when the first memory is stored."""
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        OpenAIEmbedder(api_key=" ")


def wrong_count(request: Request) -> Reply:
    return Reply({"data": [{"index": 0, "embedding": [1.0]}]})


def wrong_numbers(request: Request) -> Reply:
    return Reply({"data": [{"index": 1, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]})


def zeros(request: Request) -> Reply:
    return Reply({"data": [{"index": i, "embedding": [0.0, 0.0]} for i in range(2)]})


def ragged(request: Request) -> Reply:
    return Reply({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]})


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (wrong_count, "got 2 texts and returned 1 vectors"),
        (wrong_numbers, "numbered its vectors wrongly"),
        (zeros, "zeros"),
        (ragged, "dimensions"),
    ],
)
def test_an_incomplete_answer_is_never_used(openai: Service, shape: service.Answering, message: str) -> None:
    """Neither a part of the vectors nor a vector of nothing."""
    openai.usual = shape
    with pytest.raises(EmbedderError, match=message):
        embedder(openai).embed(["a", "b"])


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        None,
        {"data": None},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": None}]},
        {"data": [{"index": 0, "embedding": "no base64!"}]},
        {"data": [{"index": 0, "embedding": "YWJj"}]},
        {"data": [{"index": 0, "embedding": ["x"]}]},
        {"data": [{"index": 0, "embedding": [[1.0]]}, 3]},
        {"data": [{"index": 0, "embedding": []}]},
    ],
)
def test_an_answer_in_another_shape_is_an_embedder_error(openai: Service, body: object) -> None:
    """Never a bare KeyError."""
    openai.usual = lambda _: Reply(raw=json.dumps(body).encode())
    with pytest.raises(EmbedderError):
        checked(embedder(openai), ["a"])


def test_an_empty_text_is_named_before_anything_is_sent(openai: Service) -> None:
    """Services refuse the whole batch for it."""
    with pytest.raises(EmbedderRefused, match="Text 1 is empty"):
        embedder(openai).embed(["a", " "])
    assert openai.requests == []


def test_broken_characters_are_mended_before_sending(openai: Service) -> None:
    """JSON has no lone surrogates; pairs become one character."""
    embedder(openai).embed(["a\ud800b", "\ud83d\ude00"])
    assert openai.requests[0].body["input"] == ["a\ufffdb", "\U0001f600"]


def test_no_texts_need_no_request(openai: Service) -> None:
    """An empty batch has an empty answer."""
    assert embedder(openai, dimensions=4).embed([]).shape == (0, 4)
    assert openai.requests == []


def test_a_closed_embedder_can_be_used_again(openai: Service) -> None:
    """Closing lets go of connections only."""
    used = embedder(openai)
    used.embed(["a"])
    used.close()
    assert_vectors_of(["b"], used.embed(["b"]))
