"""Rerankers: models that score a query together with each text, and how one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from memotherm.errors import InvalidInput
from memotherm.model import entry_points

__all__ = ["Reranker", "ScoreTexts", "resolve_reranker"]

GROUP = "memotherm.rerankers"

#: A query and some texts -> one score for each text, higher for a better answer.
ScoreTexts = Callable[[str, Sequence[str]], Sequence[float]]


class Reranker(Protocol):
    """Scores texts by how well they answer a query."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score for each text, higher for a better answer, on any scale."""


def resolve_reranker(spec: Reranker | ScoreTexts | str | None) -> ScoreTexts | None:
    """Return the function that scores texts, or None for no reranker.

    Args:
        spec: A reranker, a function with the signature of `Reranker.score`, the name of an entry point in the
            group `memotherm.rerankers`, or None or "" for none. An entry point names a reranker, a function, or
            a class that is called without arguments.
    """
    if spec is None or spec == "":
        return None
    reranker: object = spec
    if isinstance(spec, str):
        reranker = entry_points.load(GROUP, spec, kind="reranker")
        reranker = reranker() if isinstance(reranker, type) else reranker
    score = getattr(reranker, "score", reranker)
    if isinstance(reranker, type) or not callable(score):
        raise InvalidInput(
            f"{reranker!r} is not a reranker: pass an object with score(query, texts), such a function, or a name"
        )
    return cast("ScoreTexts", score)
