"""Calibration: a monotonic map from cosine to relevance in [0, 1].

Cosines of different models are not comparable: .67 is a good match for the bundled model and near noise for
others. All thresholds are therefore compared with relevance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from memotherm.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Vectors sampled by `estimate`: 256 give 32,640 pairs, enough for stable percentiles.
SAMPLE = 256
#: The relevance of a usual and of a rare similarity between unrelated texts.
USUAL, RARE = 0.08, 0.6
#: Minimum number of vectors for an estimate.
ENOUGH = 16


@dataclass(frozen=True)
class Calibration:
    """A piecewise linear, non-decreasing map from cosine to relevance."""

    #: (cosine, relevance), cosines rising; flat before the first and after the last.
    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise InvalidInput("A calibration needs at least one (cosine, relevance) point.")
        if not all(0.0 <= relevance <= 1.0 for _, relevance in self.points):
            raise InvalidInput("The relevances of a calibration must be between 0 and 1.")
        if not all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(self.points)):
            raise InvalidInput("The points of a calibration must rise: sort them by cosine.")

    @property
    def spread(self) -> float:
        """The difference between a usual and a rare cosine of unrelated texts; other evidence is scaled by it."""
        return max(self._cosine_at(RARE) - self.usual, 0.01)

    @property
    def usual(self) -> float:
        """A usual cosine of unrelated texts."""
        return self._cosine_at(USUAL)

    def _cosine_at(self, relevance: float) -> float:
        """Return the cosine with a relevance."""
        points = self.points
        for (left, low), (right, high) in pairwise(points):
            if high > low and relevance <= high:
                return left + (right - left) * max(0.0, relevance - low) / (high - low)
        return points[-1][0]

    def relevance(self, cosines: NDArray[np.floating]) -> NDArray[np.float64]:
        """Map cosines to relevance; NaN maps to 0."""
        import numpy as np

        # `fmax` maps NaN to 0.
        return np.asarray(np.fmax(np.interp(cosines, *np.array(self.points, np.float64).T), 0.0))


#: The bundled model, query to text, fitted by `python -m bench.calibrate`: unrelated texts have cosines around .50,
#: one in a hundred above .67. The map extends to 1.2, because other evidence is added to the cosine.
BUNDLED_CALIBRATION = Calibration(
    (
        (0.375, 0.00),
        (0.503, 0.08),
        (0.586, 0.35),
        (0.669, 0.60),
        (0.786, 0.80),
        (0.834, 0.93),
        (1.20, 1.00),
    )
)

#: For a model that was not measured and has too few stored vectors for an estimate.
DEFAULT = Calibration(((0.10, 0.00), (0.30, 0.20), (0.50, 0.50), (0.70, 0.80), (0.90, 1.00)))


def estimate(vectors: NDArray[np.floating]) -> Calibration:
    """Estimate the calibration of a model from its stored vectors.

    Nearly all pairs of stored texts are unrelated, so their cosines are a sample of noise.
    The median gets relevance .08, the 99th percentile .6; from there, relevance rises to 1.
    The same input gives the same result.
    """
    import numpy as np

    cosines = _cosines_of_pairs(vectors)
    if cosines.size < ENOUGH * (ENOUGH - 1) // 2:
        return DEFAULT
    low, middle, high = (float(q) for q in np.quantile(cosines, (0.05, 0.5, 0.99)))
    if not (low < middle < high < 0.98):
        return DEFAULT
    rest = 1.0 - high
    return Calibration(((low, 0.0), (middle, 0.08), (high, 0.6), (high + 0.4 * rest, 0.85), (high + 0.8 * rest, 1.0)))


def _cosines_of_pairs(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the cosines of all pairs of an evenly spaced sample, without copies of the same text."""
    import numpy as np

    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or not rows.size:
        return np.empty(0)
    sample = rows[np.unique(np.linspace(0, len(rows) - 1, SAMPLE).astype(int))]
    lengths = np.linalg.norm(sample, axis=1)
    usable = np.isfinite(lengths) & (lengths > 0)
    sample = sample[usable] / lengths[usable, None]
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), k=1)]
    return np.asarray(cosines[cosines < 0.999])
