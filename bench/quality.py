"""Retrieval quality on external evaluation data, through the facade, against simple controls."""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bench.controls import CONTROLS, OUR_WORDS, PLAIN, STRICTER, Corpus, cached, embedded
from bench.datasets import Document, EvaluationQuestion, EvaluationSet, load
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm import embed
from memotherm.embed import Embedder
from memotherm.memory import Memotherm
from memotherm.model import Recall, Scope
from memotherm.opening import open as open_memory
from memotherm.recall.values import DEFAULT_WEIGHTS, RankingOptions
from memotherm.settings import load as load_settings
from memotherm.storage.open import open_store

__all__ = [
    "ABLATIONS",
    "MEASURES",
    "OURS",
    "WITHOUT_PARTS",
    "Progress",
    "Result",
    "SetClock",
    "ablate",
    "diagnose",
    "difference",
    "latest",
    "mean",
    "measure",
    "measure_set",
    "measured",
    "remember_documents",
    "row_of",
    "run",
    "view_of",
]

#: The measures, in the order of the tables.
MEASURES = ("any@1", "any@5", "any@10", "all@5", "all@10", "nDCG@10", "MRR")

_RESAMPLES = 2000


def measured(ranked: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Return every measure of one ranked list."""
    ranks = [rank for rank, document in enumerate(ranked) if document in gold]
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(gold))))
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank < 10)
    return {
        **{f"any@{k}": float(any(rank < k for rank in ranks)) for k in (1, 5, 10)},
        **{f"all@{k}": float(sum(rank < k for rank in ranks) == len(gold)) for k in (5, 10)},
        "nDCG@10": gain / ideal if ideal else 0.0,
        "MRR": 1 / (ranks[0] + 1) if ranks else 0.0,
    }


def mean(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure."""
    return {name: sum(measures[name] for measures in values) / len(values) if values else 0.0 for name in MEASURES}


def difference(
    ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]], name: str
) -> tuple[float, float, float]:
    """Return the mean difference and its 95 % interval, by paired bootstrap with a fixed seed."""
    deltas = [mine[name] - other[name] for mine, other in zip(ours, theirs, strict=True)]
    if not deltas:
        return 0.0, 0.0, 0.0
    chance = random.Random(0)
    means = sorted(sum(chance.choices(deltas, k=len(deltas))) / len(deltas) for _ in range(_RESAMPLES))
    low, high = means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]
    return sum(deltas) / len(deltas), low, high


#: The name of the product's own ranking in the tables.
OURS = "memotherm"

#: The weights without one part of the ranking, by the part that is left out.
ABLATIONS = {
    "the question's words": replace(DEFAULT_WEIGHTS, coverage=0.0),
    "words of the turns before": replace(DEFAULT_WEIGHTS, previous_turns=()),
    "author": replace(DEFAULT_WEIGHTS, author=0.0),
    "time": replace(DEFAULT_WEIGHTS, time=0.0),
    "little weight for framing words": replace(DEFAULT_WEIGHTS, framing_word=1.0),
    "similar words in other languages": replace(DEFAULT_WEIGHTS, similar_word=0.0),
    "damping of long texts": replace(DEFAULT_WEIGHTS, length_damping=0.0),
    "differences among the candidates": replace(DEFAULT_WEIGHTS, relative=0.0),
    "newer version first": replace(DEFAULT_WEIGHTS, versions=0),
}
WITHOUT_PARTS = "parts in the vector"

_WHOLE_TEXTS = "local?part_tokens=0"
_DEPTH = 100
_START = datetime(2025, 1, 1, tzinfo=UTC)
_BATCH = 64

#: Called with (the name of the step, how much more of it is done, how much there is).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Result:
    """The measures of every question, by ranking, in the order of the set's questions."""

    name: str
    questions: tuple[EvaluationQuestion, ...]
    measures: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    def table(self, category: str | None = None) -> dict[str, dict[str, float]]:
        """Return the mean of every measure by ranking, of all questions or of one category."""
        selected = [category is None or question.category == category for question in self.questions]
        return {
            ranking: mean([value for value, counts in zip(values, selected, strict=True) if counts])
            for ranking, values in self.measures.items()
        }

    def lead(self, name: str, controls: Iterable[str] = tuple(CONTROLS)) -> tuple[str, tuple[float, float, float]]:
        """Return the best control by a measure, and our lead with its 95 % interval."""
        table = self.table()
        means = {ranking: table[ranking][name] for ranking in controls}
        best = max(means, key=lambda ranking: means[ranking])
        return best, difference(self.measures[OURS], self.measures[best], name)

    def costs(self) -> dict[str, tuple[float, float, float]]:
        """Return the change in nDCG@10 without each part, with its 95 % interval."""
        return {
            part: difference(values, self.measures[OURS], "nDCG@10")
            for part, values in self.measures.items()
            if part != OURS
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the content of the tables as JSON values."""
        categories = sorted({question.category for question in self.questions if question.category})
        return {
            "set": self.name,
            "n": len(self.questions),
            "rankings": self.table(),
            "categories": {
                name: {"n": sum(question.category == name for question in self.questions), "rankings": self.table(name)}
                for name in categories
            },
            "lead": self._lead_json(CONTROLS),
            "lead_over_our_words": self._lead_json(STRICTER),
        }

    def _lead_json(self, controls: Iterable[str]) -> dict[str, Any]:
        best, (delta, low, high) = self.lead("nDCG@10", controls)
        return {"over": best, "nDCG@10": delta, "low": low, "high": high}


class SetClock:
    """A clock that is set to the times of the documents."""

    def __init__(self) -> None:
        self.now = _START

    def __call__(self) -> datetime:
        """Return the time that is set."""
        return self.now


def run(
    data: EvaluationSet,
    folder: Path,
    progress: Progress,
    *,
    embedder: Embedder | None = None,
    settings: dict[str, Any] | None = None,
    cache: Path | None = None,
    store: str | None = None,
) -> Result:
    """Run one set in a scratch folder: the product first, then every control.

    Args:
        data: The documents and questions.
        folder: The folder for the store.
        progress: Called after every step.
        embedder: Makes all vectors; None takes the bundled model, and whole texts for the controls.
        settings: Settings that differ from the defaults.
        cache: A folder for vectors that later runs use again.
        store: Another store, such as a PostgreSQL database; the set gets a tenant of its own there.
    """
    model = cached(embedder or embed.resolve("local"), cache)
    url, scope = (folder / "evaluation.db", None) if store is None else (store, Scope(tenant=data.name))
    plain = model if embedder else cached(embed.resolve(_WHOLE_TEXTS), cache)
    clock = SetClock()
    result = Result(data.name, data.questions, {})
    with open_memory(url, embedder=model, settings=settings, clock=clock, scope=scope) as memory:
        names = remember_documents(memory, clock, data, progress)
        result.measures[OURS] = _measured(memory, clock, data, names, progress)
    result.measures.update(_controls(data, plain, progress))
    return result


def ablate(
    data: EvaluationSet,
    folder: Path,
    progress: Progress,
    *,
    embedder: Embedder | None = None,
    cache: Path | None = None,
) -> Result:
    """Run one set with the whole ranking, and again without each of its parts.

    The parts of the ranking are left out one by one over the same store; the bundled model without the vectors
    of a text's parts needs a store of its own.
    """
    result = Result(data.name, data.questions, {})
    models = {OURS: embedder or embed.resolve("local")}
    if embedder is None:
        models[WITHOUT_PARTS] = embed.resolve(_WHOLE_TEXTS)
    for name, model in models.items():
        clock, settings = SetClock(), load_settings()
        store = open_store(str(folder / f"{len(result.measures)}.db"), settings)
        embedding = cached(model, cache)
        with Memotherm(store, embedding, settings=settings, clock=clock) as memory:
            names = remember_documents(memory, clock, data, progress)
            result.measures[name] = _measured(memory, clock, data, names, progress)
            for part, weights in ABLATIONS.items() if name == OURS else ():
                changed = Memotherm(
                    store, embedding, settings=settings, clock=clock, ranking=RankingOptions(weights=weights)
                )
                result.measures[part] = _measured(changed, clock, data, names, progress)
    return result


def diagnose(
    data: EvaluationSet,
    question: EvaluationQuestion,
    folder: Path,
    progress: Progress,
    *,
    embedder: Embedder | None = None,
    settings: dict[str, Any] | None = None,
    cache: Path | None = None,
) -> list[str]:
    """Return, for one question, the gold documents and the first hits, with the parts of each score."""
    clock = SetClock()
    scope = question.scope
    part = EvaluationSet(
        name=data.name,
        documents=tuple(document for document in data.documents if document.scope == scope),
        questions=(question,),
    )
    model = cached(embedder or embed.resolve("local"), cache)
    with open_memory(folder / "diagnosis.db", embedder=model, settings=settings, clock=clock) as memory:
        names = remember_documents(memory, clock, part, progress)
        recall = _ask(memory, clock, part, question)
    lines = [f"{question.id}: {question.text}", f"gold: {', '.join(sorted(question.gold))}"]
    for rank, hit in enumerate(recall, 1):
        documents = names[hit.memory.id]
        label = "GOLD" if question.gold & set(documents) else "    "
        if rank <= 10 or label == "GOLD":
            lines.append(f"{rank:>3} {label} {hit.explain()}  {documents[0]}: {hit.memory.content[:100]!r}")
    missing = question.gold - {document for hit in recall for document in names[hit.memory.id]}
    if missing:
        lines.append(f"not among the first {_DEPTH}: {', '.join(sorted(missing))}")
    return lines


def remember_documents(
    memory: Memotherm, clock: SetClock, data: EvaluationSet, progress: Progress
) -> dict[str, list[str]]:
    """Store the documents in their order and return the documents of each memory's id."""
    names: dict[str, list[str]] = defaultdict(list)
    for (scope, at), group in groupby(data.documents, key=lambda document: (document.scope, document.at)):
        clock.now = at or clock.now
        view = view_of(memory, scope)
        for batch in _batches(list(group)):
            stored = view.remember_many([_draft(document) for document in batch])
            for document, record in zip(batch, stored, strict=True):
                names[record.id].append(document.id)
            progress("remember", len(batch), len(data.documents))
    return names


def _draft(document: Document) -> dict[str, Any]:
    return {"content": document.content, "kind": document.kind, "metadata": document.metadata or None}


def _ask(memory: Memotherm, clock: SetClock, data: EvaluationSet, question: EvaluationQuestion) -> Recall:
    clock.now = question.at or latest(data, question.scope)
    return view_of(memory, question.scope).recall(question.text, limit=_DEPTH, track=False)


def latest(data: EvaluationSet, scope: str | None) -> datetime:
    """Return the time of the newest document of a scope."""
    return max((document.at for document in data.documents if document.at and document.scope == scope), default=_START)


def _measured(
    memory: Memotherm, clock: SetClock, data: EvaluationSet, names: dict[str, list[str]], progress: Progress
) -> list[dict[str, float]]:
    """Ask every question and return the measures of each answer."""
    results = []
    for question in data.questions:
        recall = _ask(memory, clock, data, question)
        results.append(measured(_ranked(recall, names), question.gold))
        progress("ask", 1, len(data.questions))
    return results


def view_of(memory: Memotherm, scope: str | None) -> Memotherm:
    """Return the memory as seen from a scope of a set."""
    return memory if scope is None else memory.scoped(project=scope)


def _ranked(recall: Recall, names: dict[str, list[str]]) -> list[str]:
    return [document for hit in recall for document in names[hit.memory.id]]


def _controls(data: EvaluationSet, model: Embedder, progress: Progress) -> dict[str, list[dict[str, float]]]:
    total = len({document.content for document in data.documents})
    vectors = embedded(
        model, [document.content for document in data.documents], lambda n: progress("control", n, total)
    )
    corpora: dict[str | None, tuple[Corpus, Corpus, list[str]]] = {}
    results: dict[str, list[dict[str, float]]] = {name: [] for name in (*CONTROLS, *STRICTER)}
    for question in data.questions:
        if question.scope not in corpora:
            documents = [document for document in data.documents if document.scope == question.scope]
            rows = np.array([vectors[document.content] for document in documents], np.float32)
            rows = rows.reshape(len(documents), model.dimensions)
            contents = [document.content for document in documents]
            ids = [document.id for document in documents]
            corpora[question.scope] = (Corpus(contents, rows, PLAIN), Corpus(contents, rows, OUR_WORDS), ids)
        plain, ours, ids = corpora[question.scope]
        vector = plain.vector_scores(embed.embed_query(model, question.text))
        for corpus, controls in ((plain, CONTROLS), (ours, STRICTER)):
            text = corpus.text_scores(question.text)
            for name, control in controls.items():
                order = np.argsort(-control(text, vector), kind="stable")[:_DEPTH]
                results[name].append(measured([ids[row] for row in order], question.gold))
    return results


def _batches(documents: Sequence[Document]) -> Iterable[Sequence[Document]]:
    for start in range(0, len(documents), _BATCH):
        yield documents[start : start + _BATCH]


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return a row for every set: our nDCG@10 against that of the best control."""
    folder = os.environ.get("MEMOTHERM_DATA")
    if not folder:
        lab.progress.console.print("quality: no evaluation data; pass --data DIR or set MEMOTHERM_DATA")
        return []
    cache = os.environ.get("MEMOTHERM_VECTORS")
    sets = load(Path(folder))
    return [measure_set(each, lab, Path(cache) if cache else None) for each in (sets[:1] if options.quick else sets)]


def measure_set(data: EvaluationSet, lab: Lab, cache: Path | None) -> Row:
    """Return the row of one set."""
    tasks: dict[str, object] = {}

    def told(what: str, more: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = lab.progress.add_task(f"{data.name}: {what}", total=total)
        lab.progress.advance(tasks[what], more)  # type: ignore[arg-type]

    with tempfile.TemporaryDirectory() as folder:
        return row_of(run(data, Path(folder), told, cache=cache))


def row_of(result: Result) -> Row:
    """Return the row of a result: our nDCG@10 against that of the best control."""
    table = result.table()
    best, _ = result.lead("nDCG@10")
    return Row(
        key=result.name,
        what=f"nDCG@10, {result.name} (N = {len(result.questions)}), against {best}",
        value=round(table[OURS]["nDCG@10"], 4),
        unit="",
        target=round(table[best]["nDCG@10"], 4),
        rising=True,
        notes=result.as_dict(),
    )
