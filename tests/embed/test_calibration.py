"""A calibration gives every model's cosines the same meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm.embed.calibration import BUNDLED_CALIBRATION, DEFAULT, Calibration, estimate
from memotherm.errors import InvalidInput


@pytest.mark.parametrize("calibration", [BUNDLED_CALIBRATION, DEFAULT])
@given(cosines=st.lists(st.floats(-1, 1), min_size=2))
def test_relevance_never_falls_and_stays_between_0_and_1(calibration: Calibration, cosines: list[float]) -> None:
    """A larger cosine is never worth less."""
    relevance = calibration.relevance(np.sort(cosines))
    assert (np.diff(relevance) >= 0).all()
    assert relevance.min() >= 0
    assert relevance.max() <= 1


def test_the_bundled_map_separates_answers_from_noise() -> None:
    """The median of random text is below the usual threshold of .35, the median answer above it."""
    noise, answer = BUNDLED_CALIBRATION.relevance(np.array([0.503, 0.669]))
    assert noise < 0.1
    assert answer == pytest.approx(0.6)


def test_what_is_no_number_is_not_relevant() -> None:
    """A broken vector cannot win a search."""
    assert BUNDLED_CALIBRATION.relevance(np.array([np.nan])).tolist() == [0.0]


@pytest.mark.parametrize("points", [(), ((0.5, 0.1), (0.4, 0.2)), ((0.1, 0.9), (0.5, 0.2)), ((0.1, 0.0), (0.5, 1.5))])
def test_a_map_that_is_not_monotonic_is_refused(points: tuple[tuple[float, float], ...]) -> None:
    """Points must rise in both directions and stay within [0, 1]."""
    with pytest.raises(InvalidInput):
        Calibration(points)


def sample(count: int, shift: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return random vectors that share a direction, as the texts of a compressed model do."""
    return np.random.default_rng(7).normal(size=(count, 64)) + shift


def test_an_estimate_follows_the_noise_of_the_model() -> None:
    """The typical pair of unrelated texts is hardly relevant, however large its cosine is."""
    for shift in (0.0, 1.0, 2.0):
        vectors = sample(500, shift)
        rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        typical = np.median((rows @ rows.T)[np.triu_indices(500, k=1)])
        calibration = estimate(vectors)
        assert calibration.relevance(np.array([typical]))[0] == pytest.approx(0.08, abs=0.04)
        assert calibration.relevance(np.array([1.0]))[0] == 1.0


def test_an_estimate_is_the_same_every_time() -> None:
    """Recall must not depend on chance."""
    assert estimate(sample(1000, 1.0)) == estimate(sample(1000, 1.0))


@pytest.mark.parametrize(
    "vectors", [np.empty((0, 8)), sample(3, 0.0), np.ones((100, 8)), np.zeros((100, 8)), np.empty((100, 0))]
)
def test_too_few_or_equal_vectors_give_the_default(vectors: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    """A sample that says nothing about the model is not believed."""
    assert estimate(vectors) == DEFAULT
