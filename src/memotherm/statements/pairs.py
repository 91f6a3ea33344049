"""What a newer text does to an older one: it replaces what that says, or reports a task as done or cancelled.

A network reads both at once: the static vectors of their word pieces, and the states of their tokens after the first
layers of the bundled model, which four further layers connect. `python -m training.pairs` trains it and writes
`pairs.onnx`. It takes 2 to 4 ms.
"""

from __future__ import annotations

import functools
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memotherm.embed.local import load_model, shared, static_vectors, token_ids, token_states

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

NETWORK = Path(__file__).with_name("pairs.onnx")
#: Pieces and tokens beyond these are not read, of one text and of a newer one with what it answers.
MAX_PIECES, MAX_TOKENS = 56, 64
MAX_PIECES_OF_BOTH, MAX_TOKENS_OF_BOTH = 100, 112
#: Texts that are kept as the network reads them: a turn is compared with several.
_KEPT = 200


class Effect(StrEnum):
    """What a newer text does to an older one; the order is that of the outputs of the network."""

    NOTHING = "nothing"
    #: It no longer holds.
    REPLACED = "replaced"
    #: It is a task that is done, or that is not to be done any more.
    DONE = "done"
    CANCELLED = "cancelled"


def effect(old: str, new: str, answered: str = "") -> Mapping[Effect, float]:
    """Return how likely a newer text has each effect on an older one; the probabilities sum up to 1.

    Args:
        old: The older text: a statement, a rule or a task.
        new: The newer one.
        answered: What the newer one answers: "no, 14" needs it.
    """
    import numpy as np

    first, second = _read(old), _read(new)
    if not first.rows or not second.rows:
        return {Effect.NOTHING: 1.0, Effect.REPLACED: 0.0, Effect.DONE: 0.0, Effect.CANCELLED: 0.0}
    second, pieces, tokens = _behind(_read(answered), second) if answered else (second, 0, 0)
    words = {
        "old_rows": np.array(first.rows), "old_pieces": first.pieces,
        "new_rows": np.array(second.rows), "new_pieces": second.pieces,
        "new_pieces_segments": _segments(len(second.rows), pieces),
        "same_pieces": _same(first.rows, second.rows),
        "old_states": first.states, "new_states": second.states,
        "new_states_segments": _segments(len(second.tokens), tokens),
        "same_states": _same(first.tokens, second.tokens),
    }  # fmt: skip
    (scores,) = _network().run(None, words)
    raised = np.exp(scores - scores.max())
    return dict(zip(Effect, (raised / raised.sum()).tolist(), strict=True))


def similarity(first: str, second: str) -> float:
    """Return the cosine of the static vectors of two texts; 0 if one has none."""
    vectors = [static_vectors().embed(text.lower()) for text in (first, second)]
    return 0.0 if any(vector is None for vector in vectors) else float(vectors[0] @ vectors[1])  # type: ignore[operator]


class _Text(NamedTuple):
    """A text as the network reads it."""

    #: The rows of its word pieces in the table, and of each its vector and whether it has a capital letter or a digit.
    rows: list[int]
    pieces: NDArray[np.float32]
    #: Its tokens, 0 for the marks of its beginning and its end, and their states.
    tokens: list[int]
    states: NDArray[np.float32]


@functools.lru_cache(maxsize=_KEPT)
def _read(text: str) -> _Text:
    import numpy as np

    rows, marks = static_vectors().rows(text, MAX_PIECES)
    pieces = np.concatenate([static_vectors().vectors(rows), np.array(marks, np.float32).reshape(-1, 2)], axis=1)
    tokens = token_ids(text, MAX_TOKENS)
    return _Text(rows, pieces, [0, *tokens[1:-1], 0], token_states(text, MAX_TOKENS))


def _behind(answered: _Text, text: _Text) -> tuple[_Text, int, int]:
    """Return a text behind what it answers, and how many pieces and tokens that has."""
    import numpy as np

    both = _Text(
        [*answered.rows, *text.rows][:MAX_PIECES_OF_BOTH],
        np.concatenate([answered.pieces, text.pieces])[:MAX_PIECES_OF_BOTH],
        [*answered.tokens, *text.tokens][:MAX_TOKENS_OF_BOTH],
        np.concatenate([answered.states, text.states])[:MAX_TOKENS_OF_BOTH],
    )
    return both, len(answered.rows), len(answered.tokens)


def _segments(length: int, answered: int) -> NDArray[np.int64]:
    """Return 2 for each part of what is answered, and 1 for the others."""
    import numpy as np

    return np.where(np.arange(length) < answered, 2, 1).astype(np.int64)


def _same(first: list[int], second: list[int]) -> NDArray[np.float32]:
    """Return 1 where both have the same, but for marks."""
    import numpy as np

    one, other = np.array(first)[:, None], np.array(second)[None]
    return np.asarray((one == other) & (one != 0), np.float32)


@functools.cache
def _network() -> Any:  # noqa: ANN401  # onnxruntime ships no types
    return shared(NETWORK, load_model)
