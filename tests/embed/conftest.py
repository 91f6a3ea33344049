"""Fixtures of the embedder tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memotherm.embed.local import BUNDLED, LocalEmbedder
from memotherm.embed.wordpiece import WordPiece

from . import service


@pytest.fixture
def openai() -> Iterator[service.Service]:
    """A server that speaks OpenAI's API."""
    with service.serving(service.openai) as running:
        yield running


@pytest.fixture
def gemini() -> Iterator[service.Service]:
    """A server that speaks Gemini's API."""
    with service.serving(service.gemini) as running:
        yield running


@pytest.fixture
def slept() -> list[float]:
    """The waits that were asked for; nobody waits."""
    return []


@pytest.fixture(scope="session")
def local() -> LocalEmbedder:
    """The bundled model."""
    return LocalEmbedder()


@pytest.fixture(scope="session")
def vocabulary() -> Path:
    """The bundled vocabulary."""
    return BUNDLED / "vocab.txt"


@pytest.fixture(scope="session")
def words(vocabulary: Path) -> WordPiece:
    """The bundled tokenizer."""
    return WordPiece.from_file(vocabulary)
