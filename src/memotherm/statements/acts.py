"""What a sentence of a conversation does: it gives a rule, reports that a task is done, tells a story.

Two small networks decide. The first reads the static vectors of the word pieces of the sentence, in any language. The
second reads what the bundled model makes of its tokens in one of its first layers; it is asked if the first one neither
finds the sentence idle nor is sure of an act, and the model knows its language. Who needs only some acts may do with
the first one. `python -m training.acts` trains both.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memotherm.embed.local import knows_language, static_vectors, token_states

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float32]

WEIGHTS = Path(__file__).with_name("acts.npz")
#: Pieces and tokens beyond these are not read.
MAX_PIECES, MAX_TOKENS = 48, 64
#: A text of more sentences is a document or a log, not what somebody says; none of it is read.
MOST_SENTENCES = 100
#: The probability of an act that is taken for what a sentence does.
LIKELY = 0.6
#: Sentences with less probability of an act that changes something, or with more of one act, are not read by the second
#: network, which costs three times as much. On 2,786 sentences this saves two fifths of its work and changes two.
_IDLE, _SURE = 0.2, 0.98


class Act(StrEnum):
    """What a sentence does; the order is that of the outputs of the networks."""

    RULE = "rule"
    #: A rule for all projects.
    RULE_EVERYWHERE = "rule everywhere"
    #: An instruction for this moment.
    REQUEST = "request"
    PREFERENCE = "preference"
    #: Who the speaker is.
    PROFILE = "profile"
    TASK = "task"
    #: A report that something is done, or is no longer to be done.
    DONE = "done"
    CANCELLED = "cancelled"
    #: Something earlier is wrong, or has another value now.
    CHANGE = "change"
    #: A rule or a preference is taken back.
    REVOKE = "revoke"
    DECISION = "decision"
    #: An option, a wish, a guess, or what others want.
    GUESS = "guess"
    FACT = "fact"
    STORY = "story"
    QUESTION = "question"
    FILLER = "filler"


_ACTIVE = (
    Act.RULE, Act.RULE_EVERYWHERE, Act.PREFERENCE, Act.PROFILE, Act.TASK, Act.DONE, Act.CANCELLED, Act.CHANGE,
    Act.REVOKE, Act.DECISION,
)  # fmt: skip


class _Read(NamedTuple):
    """What the first network makes of a sentence."""

    scores: Array
    acts: Mapping[Act, float]

    @property
    def is_doubtful(self) -> bool:
        """Whether the second network may find something else."""
        return sum(self.acts[act] for act in _ACTIVE) > _IDLE and max(self.acts.values()) < _SURE


#: The sentences that were read last, since several functions read those of a turn.
_read: dict[str, _Read] = {}
_MOST_READ = 4000
#: How many sentences the first network reads at once.
_AT_ONCE = 64


def acts(sentence: str) -> Mapping[Act, float]:
    """Return how likely a sentence does each act; the probabilities sum up to 1."""
    return _acts(sentence.strip())


@functools.lru_cache(maxsize=_MOST_READ)
def _acts(sentence: str) -> Mapping[Act, float]:
    first = _first(sentence)
    if not first.is_doubtful or not knows_language(sentence):
        return first.acts
    (more,) = _network("states").scores([token_states(sentence, MAX_TOKENS)])
    return _probabilities(first.scores + more)


def first_acts(sentence: str) -> tuple[Mapping[Act, float], bool]:
    """Return what the first network says of a sentence, and whether `acts` may say something else."""
    first = _first(sentence.strip())
    return first.acts, first.is_doubtful


def read_first(sentences: Iterable[str]) -> None:
    """Let the first network read many sentences at once, which takes a third of the time."""
    new = [each for each in dict.fromkeys(sentence.strip() for sentence in sentences) if each not in _read]
    for start in range(0, len(new), _AT_ONCE):
        part = new[start : start + _AT_ONCE]
        if len(_read) + len(part) > _MOST_READ:
            _read.clear()
        for sentence, scores in zip(part, _first_scores(part), strict=True):
            _read[sentence] = _Read(scores, _probabilities(scores))


def _first(sentence: str) -> _Read:
    while (found := _read.get(sentence)) is None:
        read_first([sentence])
    return found


def likely(sentence: str, *wanted: Act) -> float:
    """Return how likely a sentence does one of some acts."""
    found = acts(sentence)
    return sum(found[act] for act in wanted)


def _probabilities(scores: Array) -> dict[Act, float]:
    import numpy as np

    raised = np.exp(scores - scores.max())
    return dict(zip(Act, (raised / raised.sum()).tolist(), strict=True))


def _first_scores(sentences: Sequence[str]) -> Array:
    """Return the scores of the first network, a row for each sentence."""
    import numpy as np

    network = _network("pieces")
    read = [static_vectors().rows(sentence, MAX_PIECES) for sentence in sentences]
    rows = [row for found, _ in read for row in found]
    if not rows:
        return network.scores([np.zeros((1, len(network.weights["ln.weight"])), np.float32)] * len(sentences))
    marks = np.array([mark for _, found in read for mark in found], np.float32)
    # Pieces that were rare in training have no vector of their own, which is the last row.
    own = _learned()[[_places().get(row, -1) for row in rows]]
    x = np.concatenate([static_vectors().vectors(rows), marks, own], axis=1)
    none = np.zeros((1, x.shape[1]), np.float32)
    ends = np.cumsum([len(found) for found, _ in read])
    return network.scores([part if len(part) else none for part in np.split(x, ends[:-1])])


class _Network(NamedTuple):
    """Convolutions over the rows of a sentence, attention of several heads, and a layer of sums."""

    weights: Mapping[str, Array]

    def scores(self, sentences: Sequence[Array]) -> Array:
        """Return the scores of the acts, a row for each sentence, from the rows of each."""
        import numpy as np

        w = self.weights
        lengths = np.array([len(rows) for rows in sentences])
        starts = np.cumsum(lengths) - lengths
        # Two empty rows around each sentence, which no step goes beyond.
        places = np.arange(lengths.sum()) + 2 * np.repeat(np.arange(1, len(sentences) + 1), lengths)
        x = np.concatenate(sentences)
        centred = x - x.mean(axis=1, keepdims=True)
        x = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * w["ln.weight"] + w["ln.bias"]
        x = x @ w["p.weight"] + w["p.bias"]
        padded = np.zeros((len(x) + 2 * len(sentences) + 2, x.shape[1]), np.float32)
        for layer, step in (("c", 1), ("c2", 2)):
            # Each row with those a step before and after it.
            padded[places] = np.maximum(x, 0)
            rows = np.concatenate([padded[places + away] for away in (-step, 0, step)], axis=1)
            x = x + np.maximum(rows @ w[f"{layer}.weight"] + w[f"{layer}.bias"], 0)
        attention = x @ w["q.weight"] + w["q.bias"]
        attention = np.exp(attention - np.repeat(np.maximum.reduceat(attention, starts), lengths, axis=0))
        attention /= np.repeat(np.add.reduceat(attention, starts), lengths, axis=0)
        heads = np.add.reduceat(attention[:, :, np.newaxis] * x[:, np.newaxis], starts)
        pooled = np.concatenate([heads.reshape(len(sentences), -1), np.maximum.reduceat(x, starts)], axis=1)
        hidden = np.maximum(pooled @ w["h.weight"] + w["h.bias"], 0)
        return np.asarray(hidden @ w["o.weight"] + w["o.bias"], np.float32)


@functools.cache
def _stored() -> Mapping[str, Array]:
    import numpy as np

    with np.load(WEIGHTS) as stored:
        return dict(stored)


@functools.cache
def _network(name: str) -> _Network:
    import numpy as np

    own = {key.removeprefix(f"{name}."): value for key, value in _stored().items() if key.startswith(f"{name}.")}
    # A matrix with the inputs in its rows; those of a convolution one after the other.
    return _Network(
        {
            key: np.ascontiguousarray(value.T.reshape(-1, len(value)) if value.ndim > 1 else value, np.float32)
            for key, value in own.items()
        }
    )


@functools.cache
def _places() -> Mapping[int, int]:
    return {int(row): place for place, row in enumerate(_stored()["rows"])}


@functools.cache
def _learned() -> Array:
    """Return the vectors of the pieces that were learned, and zeros for all others."""
    import numpy as np

    learned = _stored()["learned"].astype(np.float32) * _stored()["learned_scale"]
    return np.asarray(np.vstack([learned, np.zeros_like(learned[:1])]), np.float32)
