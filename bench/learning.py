"""`python -m bench.learning --data DIR`: whether weights learnt from the use of a store find more in its future.

The questions of a store are put in the order of time. Of the past ones, a gold document among the first ten hits
counts as a confirmed use; what was not shown cannot be used. Weights are fitted on the past and measured on the
future of the same store, with the evidence that the product gathered. A cautious store adopts them only if they are
better on a held-out part of its past, with an interval above zero.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.controls import cached
from bench.datasets import EvaluationQuestion, EvaluationSet, load
from bench.quality import SetClock, difference, latest, measured, remember_documents, view_of
from memotherm import embed
from memotherm import open as open_memory
from memotherm.recall.rank import Fuse, rank
from memotherm.recall.values import DEFAULT_WEIGHTS, Evidence, FusionWeights, RankingWeights, State
from memotherm.settings import Settings

__all__ = ["main"]

#: The share of a store's questions that are its past, and the share of the past on which weights are fitted.
_PAST = 0.6
_FITTED = 2 / 3
#: The weights are a product of the default and of one of these factors.
_FACTORS = {"coverage": (0.5, 0.71, 1.0, 1.41, 2.0), "author": (0.5, 1.0, 2.0), "time": (0.5, 1.0, 2.0)}
#: What a factor of 2 has to gain in nDCG@10 to be worth it.
_SHRINKAGE = 0.004
#: The least past questions with a confirmed use.
_LEAST_USES = 10
_SHOWN = 10
_NAMES = ("locomo", "agent_notes", "longmemeval", "xquad", "memoryagentbench", "precisionmembench")

Weights = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, the evidence of its candidates, and what each candidate is."""

    question: EvaluationQuestion
    evidence: Evidence
    #: The documents of the candidates, in the order of the evidence.
    documents: Sequence[Sequence[str]]
    weight: float

    def ranked(self, weights: Weights) -> list[str]:
        """Return the documents of the first candidates, best first."""
        fusion = replace(_FUSION, vector=_FUSION.vector * self.weight, ranking=_ranking(weights))
        order = rank(self.evidence, fusion, 0)[:_SHOWN]
        return [document for candidate in order for document in self.documents[candidate.row]]

    def gain(self, weights: Weights, gold: Iterable[str] | None = None) -> float:
        """Return nDCG@10, against the gold documents or others."""
        return measured(self.ranked(weights), frozenset(self.question.gold if gold is None else gold))["nDCG@10"]


_FUSION = FusionWeights.of(Settings())
_DEFAULT: Weights = (1.0, 1.0, 1.0)
_GRID: tuple[Weights, ...] = tuple(itertools.product(*_FACTORS.values()))


def _ranking(factors: Weights) -> RankingWeights:
    values = {name: factor * getattr(DEFAULT_WEIGHTS, name) for name, factor in zip(_FACTORS, factors, strict=True)}
    return replace(DEFAULT_WEIGHTS, **values)


@contextmanager
def _states() -> Iterator[list[State]]:
    """Collect the state of every recall as fusion finds it."""
    states: list[State] = []
    fuse = Fuse.__call__

    def collecting(self: Fuse, state: State) -> None:
        states.append(state)
        fuse(self, state)

    Fuse.__call__ = collecting  # type: ignore[method-assign]
    try:
        yield states
    finally:
        Fuse.__call__ = fuse  # type: ignore[method-assign]


def _asked(data: EvaluationSet, cache: Path | None) -> list[Asked]:
    """Ask all questions of a set and return them with their evidence."""
    clock, results = SetClock(), []
    embedder = cached(embed.resolve("local"), cache)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder) / "learning.db", embedder=embedder, clock=clock) as mem,
        _states() as states,
    ):
        names = remember_documents(mem, clock, data, lambda *_: None)
        for question in data.questions:
            clock.now = question.at or latest(data, question.scope)
            view = view_of(mem, question.scope)
            states.clear()
            view.recall(question.text, limit=100, min_score=0, track=False)
            if states[0].evidence:
                results.append(_with_evidence(question, states[0], names))
    return results


def _with_evidence(question: EvaluationQuestion, state: State, names: dict[str, list[str]]) -> Asked:
    evidence = state.evidence[0]
    ids = {no: record.memory.id for no, record in state.records.items()}
    documents = [names.get(ids.get(int(no), ""), []) for no in evidence.nos]
    return Asked(question=question, evidence=evidence, documents=documents, weight=state.query.weight)


def _stores(data: EvaluationSet, asked: Sequence[Asked]) -> list[list[Asked]]:
    """Return the questions of each store in the order of time: a conversation each, or all together.

    A question without a time comes after the last document that answers it. Haystacks are the sessions of one
    user each, with one question each, and count as one store.
    """
    times = {document.id: document.at for document in data.documents}
    start = datetime(1970, 1, 1, tzinfo=UTC)

    def when(each: Asked) -> datetime:
        answered = [time for document in each.question.gold if (time := times.get(document)) is not None]
        return each.question.at or max(answered, default=start)

    scopes: dict[str | None, list[Asked]] = {}
    for each in asked:
        scopes.setdefault(each.question.scope, []).append(each)
    stores = list(scopes.values()) if min(map(len, scopes.values())) >= 2 * _LEAST_USES else [list(asked)]
    return [sorted(store, key=when) for store in stores]


def _used(each: Asked) -> frozenset[str]:
    """Return the documents with a confirmed use: the gold ones among the first hits."""
    return frozenset(each.ranked(_DEFAULT)) & each.question.gold


def _fitted(past: Sequence[Asked]) -> Weights:
    """Return the factors with the best nDCG@10 on the uses of the past, less what they differ from the default."""
    uses = [(each, used) for each in past if (used := _used(each))]
    if len(uses) < _LEAST_USES:
        return _DEFAULT

    def value(weights: Weights) -> float:
        gains = np.mean([each.gain(weights, used) for each, used in uses])
        return float(gains) - _SHRINKAGE * sum(abs(math.log2(factor)) for factor in weights)

    return max(_GRID, key=value)


def _interval(store: Sequence[Asked], weights: Weights, *, uses: bool = False) -> tuple[float, float, float]:
    """Return the gain over the default weights and its 95 % interval."""
    gold = [_used(each) if uses else each.question.gold for each in store]
    pairs = [(each, target) for each, target in zip(store, gold, strict=True) if target]
    return difference(
        [{"nDCG@10": each.gain(weights, target)} for each, target in pairs],
        [{"nDCG@10": each.gain(_DEFAULT, target)} for each, target in pairs],
        "nDCG@10",
    )


def _learnt(data: EvaluationSet, cache: Path | None) -> tuple[dict[str, Any], list[float]]:
    """Return the row of a set, and what the fitted weights change for each question of the future."""
    stores = []
    deltas: dict[str, list[float]] = {"always": [], "cautious": []}
    for store in _stores(data, _asked(data, cache)):
        cut = round(_PAST * len(store))
        past, future = store[:cut], store[cut:]
        middle = round(_FITTED * cut)
        proposed = _fitted(past[:middle])
        proof = _interval(past[middle:], proposed, uses=True)
        weights = _fitted(past)
        adopted = weights if proof[1] > 0 else _DEFAULT
        deltas["always"] += [each.gain(weights) - each.gain(_DEFAULT) for each in future]
        deltas["cautious"] += [each.gain(adopted) - each.gain(_DEFAULT) for each in future]
        stores.append(
            {
                "past": len(past),
                "uses": sum(bool(_used(each)) for each in past),
                "future": len(future),
                "factors": dict(zip(_FACTORS, weights, strict=True)),
                "adopted": proof[1] > 0,
                "before": round(float(np.mean([each.gain(_DEFAULT) for each in future])), 4),
                "after": round(float(np.mean([each.gain(weights) for each in future])), 4),
            }
        )
    row = {"set": data.name, "stores": stores, **{name: _gain(values) for name, values in deltas.items()}}
    return row, deltas["always"]


def _gain(deltas: Sequence[float] | NDArray[np.float64]) -> dict[str, float]:
    delta, low, high = difference([{"gain": each} for each in deltas], [{"gain": 0.0} for _ in deltas], "gain")
    return {"n": len(deltas), "gain": round(delta, 4), "low": round(low, 4), "high": round(high, 4)}


def main() -> None:
    """Measure every set, print a line for each, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.learning", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with evaluation sets")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "learning.json")
    arguments = parser.parse_args()
    vectors = os.environ.get("MEMOTHERM_VECTORS")
    rows, changes = [], []
    for data in load(arguments.data):
        if data.name.startswith(_NAMES):
            row, changed = _learnt(data, Path(vectors) if vectors else None)
            rows.append(row)
            changes += changed
            print(json.dumps(row), flush=True)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            report = {"date": now, "all": _gain(changes), "sets": rows}
            arguments.out.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
