"""How likely a short text is filler, in any language: a linear classifier on the static vectors of its pieces.

Its weights are learned from examples by `python -m bench.filler`, which also says how often it is wrong.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from memotherm.embed.local import BUNDLED
from memotherm.embed.multilingual import StaticVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FOLDER = BUNDLED / "multilingual"
WEIGHTS = _FOLDER / "filler.npy"
#: The usual logarithm of the information of a short text.
_USUAL_INFORMATION = 3.3


def filler_odds(text: str) -> float:
    """Return the logarithm of the odds that a text is filler; above 0 it is likelier than not."""
    values = features(text)
    return -math.inf if values is None else float(values @ _weights())


def features(text: str) -> NDArray[np.float64] | None:
    """Return the vector of a text, how much its pieces say, and 1; None if the table has none of its pieces."""
    import numpy as np

    vector, information = _vectors().embed_with_information(text.lower())
    if vector is None:
        return None
    return np.append(vector, (math.log1p(information) - _USUAL_INFORMATION, 1.0))


@functools.cache
def _vectors() -> StaticVectors:
    return StaticVectors(_FOLDER)


@functools.cache
def _weights() -> NDArray[np.float32]:
    import numpy as np

    weights: NDArray[np.float32] = np.load(WEIGHTS)
    return weights
