"""`python -m bench.calibrate --data DIR [--model FOLDER] [--weeks DIR]`: fit what depends on a model.

Three things are fitted and printed as they stand in the source, the first two on evaluation sets, the last on the
scripted weeks of work:

    embed/calibration.py    the map from cosine to relevance, from the cosines of questions and texts
    recall/confidence.py    the weights of confidence, from questions and from prompts that no memory answers
    context/selection.py    which hits are injected, from the prompts of the weeks

The weights are drawn towards the present ones, as far as the questions do not say otherwise. They are judged on each
set by weights that were fitted on the others. Nothing is written: try the values, and measure the ranking
(`python -m bench quality`), silence (`python -m bench silence`) and the weeks of work (`python -m bench.days`).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.controls import cached, embedded
from bench.datasets import EvaluationSet, SilentPrompt, load, load_prompts
from bench.limits import Prompted, fitted_limits, present_limits, prompts_of, score
from bench.quality import SetClock, latest, remember_documents, view_of
from bench.silence import TEN_FACTS, beginnings
from memotherm import embed
from memotherm.embed import Embedder
from memotherm.embed.calibration import RARE, USUAL, Calibration
from memotherm.embed.local import LocalEmbedder
from memotherm.opening import open as open_memory
from memotherm.recall import confidence
from memotherm.recall.confidence import Signs
from memotherm.settings import load as load_settings

__all__ = ["Asked", "Cosines", "ask", "cosines_of", "fitted_calibration", "fitted_weights", "main"]

Numbers = NDArray[np.float64]

#: Unrelated texts compared with each question, and questions and stores of a set that are asked.
_UNRELATED = 30
_MOST_QUESTIONS, _MOST_SCOPES = 150, 3
_BUDGET = 400
#: How strongly the weights are drawn towards the present ones.
_STRENGTH = 0.3
_ROUNDS = 50
#: The signs that have a weight where there are vectors, in the order of the weights; before them stands the constant.
NAMES = ("closeness", "lead", "spread", "size", "telling", "known", "hint", "asks")


@dataclass(frozen=True, slots=True)
class Cosines:
    """The cosines of questions with the texts that answer them, and with other texts of the same store."""

    gold: Numbers
    unrelated: Numbers


def cosines_of(data: EvaluationSet, embedder: Embedder) -> Cosines:
    """Return the cosines of a set; the unrelated texts are drawn with a fixed seed."""
    vectors = embedded(embedder, [document.content for document in data.documents], lambda _: None)
    chance = np.random.default_rng(0)
    gold: list[Numbers] = []
    unrelated: list[Numbers] = []
    for question in data.questions:
        documents = [document for document in data.documents if document.scope == question.scope]
        query = embed.embed_query(embedder, question.text)
        cosines = np.array([vectors[document.content] @ query for document in documents], np.float64)
        answers = np.array([document.id in question.gold for document in documents], bool)
        gold.append(cosines[answers])
        others = cosines[~answers]
        unrelated.append(chance.choice(others, min(_UNRELATED, len(others)), replace=False) if len(others) else others)
    return Cosines(np.concatenate(gold), np.concatenate(unrelated))


def fitted_calibration(cosines: Cosines) -> Calibration:
    """Return the map: unrelated texts have a usual and a rare relevance at their median and 99th percentile.

    Above the rare one, the best of the right answers have .8 and .93. The map ends at 1.2, because other evidence is
    added to the cosine.
    """
    low, usual, rare = (float(value) for value in np.quantile(cosines.unrelated, (0.05, 0.5, 0.99)))
    good, best = (float(value) for value in np.quantile(cosines.gold, (0.95, 0.995)))
    good = max(good, rare + 0.01)
    points = (
        (low, 0.0),
        (usual, USUAL),
        ((usual + rare) / 2, 0.35),
        (rare, RARE),
        (good, 0.8),
        (max(best, good + 0.01), 0.93),
        (1.2, 1.0),
    )
    return Calibration(tuple((round(cosine, 3), relevance) for cosine, relevance in points))


@dataclass(frozen=True, slots=True)
class Asked:
    """What confidence was estimated from, for the questions of a set and for prompts that no memory answers."""

    name: str
    questions: list[Signs]
    prompts: list[Signs]


def ask(data: EvaluationSet, prompts: Sequence[SilentPrompt], embedder: Embedder) -> Asked:
    """Ask for contexts of questions and prompts, and return the signs; commands in stores of conversations only."""
    clock = SetClock()
    scopes = list(dict.fromkeys(question.scope for question in data.questions))[:_MOST_SCOPES]
    conversation = data.documents[0].kind == "message"
    silent = [prompt.text for prompt in prompts if conversation or prompt.type != "command"]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder) / "calibrate.db", embedder=embedder, clock=clock) as memory,
    ):
        remember_documents(memory, clock, data, lambda *_: None)
        with _signs() as answered:
            for question in data.questions[:_MOST_QUESTIONS]:
                clock.now = question.at or latest(data, question.scope)
                view_of(memory, question.scope).context(question.text, _BUDGET, track=False)
        with _signs() as unanswered:
            for scope in scopes:
                clock.now = latest(data, scope)
                for text in silent:
                    view_of(memory, scope).context(text, _BUDGET, track=False)
    return Asked(data.name, answered, unanswered)


@contextmanager
def _signs() -> Iterator[list[Signs]]:
    """Collect the signs of every search with vectors; a search without words or candidates has none."""
    seen: list[Signs] = []
    estimate = confidence.confidence

    def noted(signs: Signs) -> float:
        if signs.closeness is not None:
            seen.append(signs)
        return estimate(signs)

    confidence.confidence = noted
    try:
        yield seen
    finally:
        confidence.confidence = estimate


def present_weights() -> Numbers:
    """Return the weights of `recall/confidence.py`: the logarithm of the odds is linear in the signs."""
    nothing = Signs(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    constant = _logit(confidence.confidence(nothing))
    # A small step, because the confidence of a large one is 1 to the last digit.
    slopes = [_logit(confidence.confidence(nothing._replace(**{name: 0.1}))) - constant for name in NAMES]
    return np.array([constant, *(10 * slope for slope in slopes)])


def fitted_weights(asked: Sequence[Asked], present: Numbers) -> Numbers:
    """Return the weights of a logistic regression in which every set, and questions and prompts in it, count alike."""
    rows, labels, counts = [], [], []
    for each in asked:
        for signs, label in ((each.questions, 1.0), (each.prompts, 0.0)):
            rows += [_row(one) for one in signs]
            labels += [label] * len(signs)
            counts += [100 / len(signs)] * len(signs) if signs else []
    values, wanted, count = np.array(rows), np.array(labels), np.array(counts)
    weights = present.copy()
    for _ in range(_ROUNDS):
        odds = 1 / (1 + np.exp(-np.clip(values @ weights, -30, 30)))
        slope = values.T @ (count * (odds - wanted)) + _STRENGTH * len(asked) * (weights - present)
        curve = (values * (count * odds * (1 - odds))[:, None]).T @ values + _STRENGTH * len(asked) * np.eye(
            len(weights)
        )
        step = np.linalg.solve(curve, slope)
        weights = weights - step / max(1.0, float(np.abs(step).max()))
    return weights


def area(asked: Asked, weights: Numbers) -> float:
    """Return how often a question has a higher confidence than a prompt; ties count half."""
    questions, prompts = _confidences(asked.questions, weights), _confidences(asked.prompts, weights)
    above = (questions[:, None] > prompts).mean() + (questions[:, None] == prompts).mean() / 2
    return float(above)


def silence(asked: Asked, weights: Numbers, floor: float) -> tuple[float, float]:
    """Return the share of prompts below the floor of confidence, and of questions above it."""
    questions, prompts = _confidences(asked.questions, weights), _confidences(asked.prompts, weights)
    return float((prompts < floor).mean()), float((questions >= floor).mean())


def _row(signs: Signs) -> list[float]:
    return [1.0, *(float(getattr(signs, name) or 0.0) for name in NAMES)]


def _confidences(signs: Sequence[Signs], weights: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-(np.array([_row(one) for one in signs]) @ weights))))


def _logit(chance: float) -> float:
    return float(np.log(chance / (1 - chance)))


def main(words: Sequence[str] | None = None) -> None:
    """Fit and print."""
    arguments = _parser().parse_args(words)
    chosen = tuple(arguments.sets) or ""
    sets = [data for data in load(arguments.data) if data.name.startswith(chosen)]
    vectors = os.environ.get("MEMOTHERM_VECTORS")
    model = LocalEmbedder(arguments.model) if arguments.model else embed.resolve("local")
    embedder = cached(model, Path(vectors) if vectors else None)
    conversations = [data for data in sets if data.documents[0].kind == "message"] or sets
    calibration = fitted_calibration(_pooled([cosines_of(data, embedder) for data in conversations]))
    print("embed/calibration.py:", *calibration.points, sep="\n    ")
    embedder.calibration = calibration  # type: ignore[attr-defined]  # searches use it instead of the shipped one
    prompts = load_prompts(arguments.data)
    parts = [part for whole in (TEN_FACTS, *sets) for part in (*beginnings(whole), whole)]
    asked = [each for each in (ask(data, prompts, embedder) for data in parts) if each.questions and each.prompts]
    present = present_weights()
    floor = load_settings().context_min_confidence
    print("\nset: area under the curve, silent prompts, answered questions; present -> fitted on the other sets")
    for each in asked:
        fitted = fitted_weights([other for other in asked if other is not each], present)
        old, new = silence(each, present, floor), silence(each, fitted, floor)
        print(
            f"    {each.name:28} {area(each, present):.3f} {old[0]:.2f} {old[1]:.2f} -> "
            f"{area(each, fitted):.3f} {new[0]:.2f} {new[1]:.2f}"
        )
    print("\nrecall/confidence.py:")
    for name, before, after in zip(("constant", *NAMES), present, fitted_weights(asked, present), strict=True):
        print(f"    {name:10} {before:5.1f} -> {after:5.1f}")
    if arguments.weeks:
        _print_limits(prompts_of(sorted(arguments.weeks.glob("*.json")), embedder), floor)


def _print_limits(prompts: Sequence[Prompted], floor: float) -> None:
    before = present_limits()
    after = fitted_limits(prompts, before, floor)
    print("\ncontext/selection.py: first hits, their share, that of later ones, least relevance, confident")
    for name, limits in (("present", before), ("fitted", after)):
        found = score(prompts, limits, floor)
        print(
            f"    {name:8} {', '.join(map(str, limits))}: {found.answered} answered, "
            f"precision {found.precision:.3f} of {found.lines}, {found.silent} silent"
        )


def _pooled(cosines: Sequence[Cosines]) -> Cosines:
    return Cosines(
        np.concatenate([each.gold for each in cosines]), np.concatenate([each.unrelated for each in cosines])
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.calibrate", description="Fit what depends on cosines.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the evaluation sets and prompts")
    parser.add_argument("--model", type=Path, help="a folder with model.onnx and vocab.txt; the bundled model if none")
    parser.add_argument("--weeks", type=Path, help="the folder of the weeks of work, such as bench/days/weeks")
    parser.add_argument(
        "--set", dest="sets", action="append", default=[], help="only sets whose name begins with this (repeatable)"
    )
    return parser


if __name__ == "__main__":
    main()
