"""Which questions are drawn in a step of training, and how fast is learnt in it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from training.questions import Questions

__all__ = ["Sampler", "rate"]

_WARM_UP = 0.1
_SLOWEST = 0.02


def rate(highest: float, step: int, steps: int) -> float:
    """Return the learning rate of a step: it rises over the first tenth, and falls linearly."""
    return highest * min(1.0, (step + 1) / (steps * _WARM_UP)) * max(_SLOWEST, 1 - step / steps)


class Sampler:
    """Draws questions: a family of sources by its weight, a store of it, and some of the store's questions."""

    def __init__(self, questions: Questions, used: Sequence[bool], chance: random.Random) -> None:
        self._chance = chance
        self._stores: dict[str, list[list[int]]] = defaultdict(list)
        weights: dict[str, float] = {}
        for source, numbers in zip(questions.sources, questions.store_questions, strict=True):
            chosen = [number for number in numbers if used[number]]
            if chosen and source.weight:
                self._stores[source.family].append(chosen)
                weights[source.family] = source.weight
        self._families, self._weights = list(weights), list(weights.values())

    def draw(self, count: int, together: int = 1) -> list[int]:
        """Return so many questions, up to `together` of them from the same store."""
        drawn: list[int] = []
        while len(drawn) < count:
            family = self._chance.choices(self._families, self._weights)[0]
            store = self._chance.choice(self._stores[family])
            drawn += self._chance.sample(store, min(len(store), together, count - len(drawn)))
        return drawn
