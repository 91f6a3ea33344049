"""A former embedder is found by the name under which its vectors are stored."""

from __future__ import annotations

import pytest

from memotherm.embed import GeminiEmbedder, LocalEmbedder, OpenAIEmbedder, former_embedder, resolve

KEYS = {"openai": "sk-test", "gemini": "g-test"}


@pytest.mark.parametrize(
    "former",
    [
        "local",
        "local?part_tokens=0",
        "openai",
        "openai?model=text-embedding-3-large",
        "openai?model=text-embedding-3-large&dimensions=256",
        "openai?model=ft:own",
        "gemini",
        "gemini?dimensions=768",
    ],
)
def test_built_in_embedders_are_found_with_their_options(former: str) -> None:
    """The name has the model and the dimensions."""
    name = resolve(former, keys=KEYS).name
    found = former_embedder(name, OpenAIEmbedder(api_key="sk-test", model="new"), KEYS)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("service", [OpenAIEmbedder, GeminiEmbedder])
def test_a_service_is_not_asked_after_a_change_to_the_bundled_model(
    service: type[OpenAIEmbedder | GeminiEmbedder],
) -> None:
    """Who has changed to an embedder on this machine expects that nothing is sent any more."""
    name = service(api_key="key").name
    assert former_embedder(name, LocalEmbedder(), KEYS) is None
    assert former_embedder(name, OpenAIEmbedder(api_key="sk-test", model="new"), KEYS) is not None


@pytest.mark.parametrize(
    "name", ["openai:localhost/nomic-embed-text", "openai:evil.example/text-embedding-3-small:1536", "mine", ""]
)
def test_an_embedder_that_the_name_does_not_tell_is_not_guessed(name: str) -> None:
    """A store's file cannot send queries to a host that it names."""
    assert former_embedder(name, OpenAIEmbedder(api_key="sk-test"), KEYS) is None


def test_without_its_key_a_service_is_not_found() -> None:
    """The change goes on with words."""
    name = OpenAIEmbedder(api_key="key").name
    assert former_embedder(name, GeminiEmbedder(api_key="key"), {}) is None
