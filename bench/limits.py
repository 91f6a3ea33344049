"""Fit the limits of `context/selection.py` on weeks of work: which hits of a search are injected.

Each week is held through the hooks, and its prompts are asked afterwards. Of all limits with which no fewer questions
are answered and no fewer idle prompts are silent than with the present ones, those with the highest precision are
taken. Hits that are left out for another reason than their relevance count like the others.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import NamedTuple

import memotherm
from bench.days.host import Week, end_of, folder_of, hold
from bench.days.lines import has
from memotherm import Scope
from memotherm.context import selection
from memotherm.embed import Embedder
from memotherm.hooks.project import HOOKS, scope_of
from memotherm.settings import default_store, load

__all__ = ["Limits", "Prompted", "Score", "fitted_limits", "present_limits", "prompts_of", "score"]

#: How many hits of a search are looked at.
_MOST_HITS = 30
#: The values that are tried.
_FIRST = (2, 3, 4, 5, 8)
_FIRST_SHARES = (0.5, 0.55, 0.6, 0.65, 0.7)
_LATER_SHARES = (0.65, 0.7, 0.75, 0.8)
_LEAST = (0.2, 0.25, 0.3)
_CONFIDENT = (0.7, 0.9)


class Limits(NamedTuple):
    """The constants of `context/selection.py`, in the order in which they stand there."""

    first_hits: int
    first_share: float
    later_share: float
    least: float
    confident: float


class Found(NamedTuple):
    """A hit of a prompt."""

    relevance: float
    #: Whether it concerns the prompt, and whether it answers it.
    concerns: bool
    answers: bool


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt of a week with its hits, best first."""

    confidence: float
    hits: Sequence[Found]
    answerable: bool = False
    idle: bool = False


class Score(NamedTuple):
    """What some limits inject."""

    answered: int
    silent: int
    relevant: int
    lines: int

    @property
    def precision(self) -> float:
        """The share of the injected lines that concern their prompt."""
        return self.relevant / (self.lines or 1)


def present_limits() -> Limits:
    """Return the limits of the product."""
    return Limits(
        selection._FIRST_HITS,
        selection._FIRST_SHARE,
        selection._LATER_SHARE,
        selection._LEAST_RELEVANCE,
        selection._CONFIDENT,
    )


def prompts_of(weeks: Iterable[Path], embedder: Embedder) -> list[Prompted]:
    """Hold weeks, and ask their prompts with an embedder."""
    return [prompted for path in weeks for prompted in _asked(json.loads(path.read_text("utf-8")), embedder)]


def _asked(week: Week, embedder: Embedder) -> Iterator[Prompted]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        hold({**week, "questions": []}, Path(home))
        moment = max(end_of(week, session) for session in week["sessions"]) + timedelta(hours=6)
        with memotherm.open(default_store(load()), embedder=embedder, clock=lambda: moment) as mem:
            mem.store.reembed()
            for question in week["questions"]:
                scope = Scope(**scope_of(HOOKS, str(Path(home) / folder_of(week, question))))
                recall = mem.scoped(**dict(scope.items())).recall(question["prompt"], _MOST_HITS, track=False)
                answer = question.get("answer", [])
                relevant = [*answer, *question.get("relevant", [])]
                hits = [
                    Found(hit.why.relevance, has(hit.memory.content, relevant), has(hit.memory.content, answer))
                    for hit in recall
                ]
                yield Prompted(recall.confidence, hits, bool(answer), bool(question.get("needs_nothing")))


def fitted_limits(prompts: Sequence[Prompted], present: Limits, floor: float) -> Limits:
    """Return the limits with the highest precision that answer as many questions as the present ones.

    As many idle prompts must be silent; of equally good limits, the present ones or the first are returned.
    """
    before = score(prompts, present, floor)
    tried = map(Limits._make, product(_FIRST, _FIRST_SHARES, _LATER_SHARES, _LEAST, _CONFIDENT))
    scored = [(score(prompts, limits, floor), limits) for limits in (present, *tried)]
    good = [each for each in scored if each[0].answered >= before.answered and each[0].silent >= before.silent]
    return max(good, key=lambda each: each[0].precision)[1]


def score(prompts: Iterable[Prompted], limits: Limits, floor: float) -> Score:
    """Return what some limits inject, with a floor of confidence."""
    answered = silent = relevant = lines = 0
    for prompted in prompts:
        injected = list(_injected(prompted, limits)) if prompted.confidence >= floor else []
        answered += prompted.answerable and any(hit.answers for hit in injected)
        silent += prompted.idle and not injected
        relevant += sum(hit.concerns for hit in injected)
        lines += len(injected)
    return Score(answered, silent, relevant, lines)


def _injected(prompted: Prompted, limits: Limits) -> Iterator[Found]:
    best = max((hit.relevance for hit in prompted.hits), default=0.0)
    for place, hit in enumerate(prompted.hits):
        first = place < limits.first_hits
        least = best * (limits.first_share if first else limits.later_share)
        if not (first and prompted.confidence >= limits.confident):
            least = max(least, limits.least)
        if hit.relevance >= least:
            yield hit
