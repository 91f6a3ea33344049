"""The Gemini shape: one content per text, and a task for questions."""

from __future__ import annotations

import numpy as np
import pytest

from memotherm.embed import checked, embed_query
from memotherm.embed.services import GeminiEmbedder
from memotherm.errors import EmbedderError, SettingsError

from .service import Reply, Service, unit_of

KEY = "AIzaSyTest0123456789"


def embedder(running: Service, model: str = "gemini-embedding-001", dimensions: int | None = 8) -> GeminiEmbedder:
    """Return an embedder that asks the running service."""
    return GeminiEmbedder(model, f"{running.url}/v1beta", KEY, dimensions)


def test_documents_and_questions_are_different_tasks(gemini: Service) -> None:
    """The task is a field, the key a header."""
    asked = embedder(gemini)
    assert np.allclose(checked(asked, ["a", "b"]), [unit_of("a"), unit_of("b")], atol=1e-6)
    assert np.allclose(embed_query(asked, "q"), unit_of("q"), atol=1e-6)
    documents, question = gemini.requests
    assert documents.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert documents.headers["x-goog-api-key"] == KEY
    assert documents.body["requests"][1] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "b"}]},
        "taskType": "RETRIEVAL_DOCUMENT",
        "outputDimensionality": 8,
    }
    assert question.body["requests"][0]["taskType"] == "RETRIEVAL_QUERY"


def test_newer_models_take_the_task_as_a_prefix(gemini: Service) -> None:
    """And dimensions are sent only when asked for."""
    asked = embedder(gemini, "models/gemini-embedding-next", None)
    asked.embed(["a"])
    asked.embed_query("q")
    first, second = (request.body["requests"][0] for request in gemini.requests)
    assert first == {
        "model": "models/gemini-embedding-next",
        "content": {"parts": [{"text": "title: none | text: a"}]},
    }
    assert second["content"]["parts"][0]["text"] == "task: search result | query: q"


def test_a_hundred_texts_go_in_one_request(gemini: Service) -> None:
    """The service takes no more."""
    assert embedder(gemini).embed([f"text {number}" for number in range(150)]).shape == (150, 8)
    assert [len(request.body["requests"]) for request in gemini.requests] == [100, 50]


def test_texts_that_fused_into_one_vector_are_noticed(gemini: Service) -> None:
    """As many vectors as texts, or none."""
    gemini.usual = lambda _: Reply({"embeddings": [{"values": [1.0] * 8}]})
    with pytest.raises(EmbedderError, match="got 2 texts and returned 1 vectors"):
        embedder(gemini).embed(["a", "b"])


@pytest.mark.parametrize("body", [{}, [], {"embeddings": [{}]}, {"embeddings": [{"values": None}]}])
def test_an_answer_in_another_shape_is_an_embedder_error(gemini: Service, body: object) -> None:
    """Never a bare KeyError."""
    gemini.usual = lambda _: Reply(body)
    with pytest.raises(EmbedderError):
        embedder(gemini).embed(["a"])


def test_gemini_needs_a_key_and_never_shows_it() -> None:
    """The name is host, model and dimensions."""
    with pytest.raises(SettingsError, match="GEMINI_API_KEY"):
        GeminiEmbedder()
    made = GeminiEmbedder(api_key=KEY)
    assert made.name == "gemini:generativelanguage.googleapis.com/gemini-embedding-001:3072"
    assert KEY not in repr(made) + repr(made._transport)
