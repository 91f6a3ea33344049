"""Fitting what depends on the cosines of an embedding model."""

from __future__ import annotations

import numpy as np
import pytest
from bench.calibrate import (
    NAMES,
    Asked,
    Cosines,
    area,
    ask,
    cosines_of,
    fitted_calibration,
    fitted_weights,
    present_weights,
    silence,
)
from bench.datasets import SilentPrompt
from bench.limits import Found, Limits, Prompted, fitted_limits, present_limits, score
from bench.silence import TEN_FACTS

from memotherm.context import selection
from memotherm.recall import confidence
from memotherm.recall.confidence import Signs
from memotherm.testing import HashEmbedder


def _signs(chance: np.random.Generator, closeness: float) -> Signs:
    return Signs(closeness + chance.normal() / 4, 1.0, 0.3, 3.0, 0.5, 0.5, 0.0, 0.0, 0.5)


@pytest.mark.parametrize("shift", [-0.2, 0.0, 0.1])
def test_the_map_follows_the_cosines_of_the_model(shift):
    """The same texts with a model whose cosines are lower have the same relevance."""
    chance = np.random.default_rng(1)
    unrelated, gold = chance.normal(0.5, 0.05, 5000), chance.normal(0.65, 0.06, 500)
    cosines = np.array([0.45, 0.5, 0.6, 0.7])
    plain = fitted_calibration(Cosines(gold, unrelated)).relevance(cosines)
    moved = fitted_calibration(Cosines(gold + shift, unrelated + shift)).relevance(cosines + shift)
    assert moved == pytest.approx(plain, abs=0.01)
    assert fitted_calibration(Cosines(gold, unrelated)).relevance(np.array([0.5]))[0] == pytest.approx(0.08, abs=0.01)


def test_a_map_rises_although_no_answer_is_closer_than_unrelated_texts():
    """A model that knows nothing has a valid map, too."""
    noise = np.linspace(0.3, 0.9, 1000)
    points = fitted_calibration(Cosines(noise - 0.2, noise)).points
    assert [cosine for cosine, _ in points] == sorted({cosine for cosine, _ in points})


def test_cosines_are_those_of_a_question_and_its_own_store():
    """Each question has its answers, and some other texts."""
    cosines = cosines_of(TEN_FACTS, HashEmbedder())
    assert len(cosines.gold) == len(TEN_FACTS.questions)
    assert len(cosines.unrelated) == 9 * len(TEN_FACTS.questions)


def test_the_present_weights_are_read_from_the_function():
    """With them, the linear form has the confidence that the product has."""
    weights = present_weights()
    signs = Signs(0.7, 0.4, 0.2, 2.5, 0.5, 0.75, 0.0, 0.3, 1.0)
    values = np.array([1.0, *(getattr(signs, name) for name in NAMES)])
    assert 1 / (1 + np.exp(-values @ weights)) == pytest.approx(confidence.confidence(signs))


def test_fitted_weights_tell_questions_from_prompts():
    """Where closeness tells them apart, more prompts are silent and no fewer questions are answered."""
    chance = np.random.default_rng(2)
    asked = [
        Asked(name, [_signs(chance, 2.5) for _ in range(80)], [_signs(chance, 1.5) for _ in range(40)]) for name in "ab"
    ]
    present = present_weights()
    fitted = fitted_weights(asked, present)
    for each in asked:
        before, after = silence(each, present, 0.5), silence(each, fitted, 0.5)
        assert sum(after) > sum(before)
        assert area(each, fitted) > 0.9


def test_without_evidence_the_weights_stay():
    """Signs that are the same for questions and prompts change nothing but the constant a little."""
    same = [Signs(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)] * 10
    present = present_weights()
    fitted = fitted_weights([Asked("same", same, same)], present)
    assert fitted[2:] == pytest.approx(present[2:])


def test_signs_of_real_searches_are_collected():
    """One for each question and prompt that has words; afterwards confidence is what it was."""
    before = confidence.confidence
    prompts = [SilentPrompt(id="1", text="sort the imports please", type="ack")]
    asked = ask(TEN_FACTS, prompts, HashEmbedder())
    assert 10 < len(asked.questions) <= len(TEN_FACTS.questions)
    assert len(asked.prompts) <= 1
    assert confidence.confidence is before


def _prompted(*relevances: float, right: int = 0, idle: bool = False) -> Prompted:
    hits = [Found(relevance, place == right, place == right) for place, relevance in enumerate(relevances)]
    return Prompted(0.8, [] if idle and not relevances else hits, answerable=not idle, idle=idle)


def test_fitted_limits_inject_less_and_answer_as_much():
    """Wrong hits that are far behind the best one are left out; the right ones stay."""
    prompts = [_prompted(0.9, 0.5, 0.5, 0.48, 0.47), _prompted(0.8, 0.7, 0.3, right=1)]
    present = Limits(8, 0.5, 0.65, 0.25, 0.7)
    before, after = (score(prompts, limits, 0.3) for limits in (present, fitted_limits(prompts, present, 0.3)))
    assert after.answered == before.answered == 2
    assert after.precision > before.precision


def test_limits_of_the_product_are_those_that_are_fitted():
    """They stand in the order in which they are printed."""
    assert present_limits() == (
        selection._FIRST_HITS, selection._FIRST_SHARE, selection._LATER_SHARE, selection._LEAST_RELEVANCE,
        selection._CONFIDENT,
    )  # fmt: skip


def test_a_prompt_below_the_floor_injects_nothing():
    """Idle prompts count as silent, and their lines against precision."""
    silent = [Prompted(0.1, [Found(0.9, concerns=False, answers=False)], idle=True)]
    assert score(silent, present_limits(), 0.3) == (0, 1, 0, 0)
    assert score(silent, present_limits(), 0.0) == (0, 0, 0, 1)
