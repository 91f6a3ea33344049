"""What the first layers of the bundled model make of the tokens of a text, at a third of the cost of its vector.

`first_layers.onnx` is the graph of these layers; the numbers in it are those of `model.onnx`, of which it names the
places. `python -m training` writes both.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from memotherm.embed.local import BUNDLED, load_model, read_vocabulary, shared
from memotherm.embed.multilingual import UNKNOWN, LanguageMixer
from memotherm.embed.wordpiece import WordPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def token_states(text: str, most: int) -> NDArray[np.float32] | None:
    """Return a row for each of the first tokens of a text; None if the model does not know its language."""
    import numpy as np

    words = _vocabulary()
    if _languages().known(text, words) < UNKNOWN:
        return None
    row = np.array([words.encode(text, most)], dtype=np.int64)
    fields = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
    (states,) = _session().run(None, fields)
    return np.asarray(states[0], np.float32)


@functools.cache
def _vocabulary() -> WordPiece:
    return read_vocabulary(BUNDLED)


@functools.cache
def _languages() -> LanguageMixer:
    return LanguageMixer(BUNDLED / "multilingual")


@functools.cache
def _session() -> Any:  # noqa: ANN401  # onnxruntime ships no types
    return shared(BUNDLED / "first_layers.onnx", load_model)
