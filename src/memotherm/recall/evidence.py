"""The evidence stage: cosines, covered words, authors and times of the candidates."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from memotherm.errors import EmbedderError
from memotherm.recall.values import DEFAULT_WEIGHTS, Evidence, RankingWeights, State, column_of
from memotherm.storage.candidates import Candidates
from memotherm.storage.store import Store
from memotherm.text.times import spans
from memotherm.text.words import words

#: Texts up to this many words are short: their length does not matter, and the previous turns do.
SHORT_TEXT = 50
#: The weight of a word that no memory has, in what could be covered at most.
ABSENT_WORD = 0.5
#: What stands for the previous turn of what has none.
_NO_TURN = 0
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|myself|i'm|i've|i'd)\b", re.IGNORECASE)
#: The author's name that an assistant's log gives to the person it talks with.
_USER = "user"
#: How likely a question in the first person is about what the user wrote; 1 for an author who is named.
_FIRST_PERSON_MATCH = 0.7


@dataclass(frozen=True, kw_only=True, slots=True)
class TermMatrix:
    """Which of the query's words the candidates have, and the earlier turns of their conversations.

    One row for each candidate, then one for each earlier turn.
    """

    #: How much of the query's words (columns) each memory has: 1 for the word itself, less for a similar one.
    has: NDArray[np.bool_] | NDArray[np.float32]
    #: The number of words of each memory.
    lengths: NDArray[np.int64] | NDArray[np.float64]
    #: The row of the previous turn, -1 where there is none; None if there is none at all.
    previous: NDArray[np.int64] | None
    #: How many of the rows are candidates, and how many of those, at their end, are pinned.
    candidates: int
    pinned: int = 0


class GatherEvidence:
    """Collects what is known about each block of candidates."""

    def __init__(self, store: Store, weights: RankingWeights) -> None:
        self._store = store
        self._weights = weights

    def __call__(self, state: State) -> None:
        """Add the evidence of each block."""
        pinned = [state.pinned_rows, *[0] * len(state.blocks)]
        state.evidence = [self._evidence(state, *block) for block in zip(state.blocks, pinned, strict=False)]

    def _evidence(self, state: State, candidates: Candidates, pinned: int) -> Evidence:
        question, terms = state.question, state.terms
        nos = candidates.no.tolist()
        scores = self._cosines(state, nos)
        cosines = column_of(nos, scores)
        return Evidence(
            nos=candidates.no,
            cosines=cosines,
            calibration=state.query.calibration,
            text_scores=state.text_scores,
            priorities=candidates.priority,
            tiers=candidates.tier,
            access_counts=candidates.access_count,
            accessed=candidates.accessed_at,
            coverage=self._coverage(state, candidates, pinned) if terms else np.zeros(len(nos)),
            authors=_author_matches(state.framed.text, candidates.author, frozenset(terms)),
            nearness=_time_matches(state.framed.text, question.search.now.date(), candidates.created_at),
            pinned=pinned,
        )

    def _cosines(self, state: State, nos: Sequence[int]) -> dict[int, float]:
        """Return the cosines of all candidates, whichever search has found them."""
        if state.query.vector is None:
            return {}
        missing = [no for no in nos if no not in state.vector_scores]
        if not missing:
            return state.vector_scores
        return state.vector_scores | self._store.similarities(
            state.question.search, missing, state.query.vector, state.query.identity
        )

    def _coverage(self, state: State, candidates: Candidates, pinned: int) -> NDArray[np.float64]:
        turns, previous = candidates, None
        if candidates.previous.any():
            turns = candidates.joined(self._earlier_turns(candidates))
            rows = {no: row for row, no in enumerate(turns.no.tolist())}
            previous = np.array([rows.get(no, -1) for no in turns.previous.tolist()], np.int64)
        matrix = TermMatrix(
            has=self._has_terms(state, turns),
            lengths=turns.words.lengths,
            previous=previous,
            candidates=len(candidates),
            pinned=pinned,
        )
        return coverage(matrix, state.terms, state.total, state.frequencies, self._weights)

    def _has_terms(self, state: State, turns: Candidates) -> NDArray[np.bool_] | NDArray[np.float32]:
        """Return which memories have the query's words, and how much of them those have that have similar words."""
        has = turns.have(state.terms)
        places = {word: place for place, word in enumerate(state.terms)} if state.also else {}
        for asked, other in state.also:
            named = np.flatnonzero(turns.have(other).all(axis=1))
            has[np.ix_(named, np.array([places[word] for word in asked]))] = True
        if state.query.word_similarity is None or not self._weights.similar_word:
            return has
        try:
            similarity = state.query.word_similarity(list(state.terms), turns.texts())
        except EmbedderError as error:
            state.degraded.append(f"similar words were not looked for: {error}")
            return has
        return np.where(has, np.float32(1), np.float32(self._weights.similar_word) * similarity)

    def _earlier_turns(self, candidates: Candidates) -> list[Candidates]:
        """Return the turns one and two before the candidates, except those that are candidates themselves."""
        known = {_NO_TURN, *candidates.no.tolist()}
        turns, earlier = candidates, list[Candidates]()
        for _ in range(2):
            missing = set(turns.previous.tolist()) - known
            if not missing:
                break
            turns = self._store.active(sorted(missing))
            known.update(turns.no.tolist())
            earlier.append(turns)
        return earlier


def coverage(
    matrix: TermMatrix,
    terms: Mapping[str, float],
    total: int,
    frequencies: Mapping[str, int],
    weights: RankingWeights = DEFAULT_WEIGHTS,
) -> NDArray[np.float64]:
    """Return for each candidate the share of the query's words that it has, weighted by their rarity.

    The columns of the matrix are the words of the query in their order; of `total` memories, `frequencies` have each.
    """
    count = matrix.candidates
    values = np.array(
        [
            weight * math.log(1 + (total - frequencies[word] + 0.5) / (frequencies[word] + 0.5))
            for word, weight in terms.items()
        ]
    )
    possible = sum(
        value * (1.0 if frequencies[word] else ABSENT_WORD) for word, value in zip(terms, values.tolist(), strict=True)
    )
    if possible <= 0 or not count:
        return np.zeros(count)
    shares = matrix.has[:count].astype(np.float64)
    lengths = matrix.lengths[:count]
    if lengths.max() > SHORT_TEXT:
        lengths = np.maximum(lengths, SHORT_TEXT)
        damping = (1 + weights.length_damping) / (
            1 + weights.length_damping * lengths / lengths[: count - matrix.pinned or None].mean()
        )
        shares *= damping[:, np.newaxis]
    if matrix.previous is not None and (matrix.previous[:count] >= 0).any():
        shares = np.maximum(shares, _previous_turns(matrix, matrix.previous, weights.previous_turns))
    return np.asarray(shares @ values / possible)


def _previous_turns(matrix: TermMatrix, turns: NDArray[np.int64], weights: Sequence[float]) -> NDArray[np.float64]:
    """Return how much of each word the previous turns add to a candidate, as far as all of them are short."""
    short = np.minimum(1.0, SHORT_TEXT / np.maximum(matrix.lengths, 1))
    shares = np.zeros((matrix.candidates, matrix.has.shape[1]))
    rows = np.arange(matrix.candidates)
    previous = turns[: matrix.candidates]
    for weight in weights:
        rows, previous = rows[previous >= 0], previous[previous >= 0]
        value = weight * short[rows] * short[previous]
        shares[rows] = np.maximum(shares[rows], matrix.has[previous] * value[:, np.newaxis])
        previous = turns[previous]
    return shares


def _time_matches(query: str, today: date, created: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 for a time of creation that a query names, less for others: one half at a distance of a week."""
    named = spans(query, today)
    if not named:
        return np.zeros(len(created))
    first, last = np.array(named, "datetime64[D]").astype(np.int64).T[:, :, np.newaxis]
    days = created.astype("datetime64[us]").astype("datetime64[D]").astype(np.int64)
    gaps = np.maximum(first - days, days - last).clip(0).min(axis=0)
    return np.asarray(7 / (7 + gaps), np.float64)


def _author_matches(query: str, authors: Sequence[str], terms: frozenset[str]) -> NDArray[np.float64]:
    """Return for each author how likely the query is about what they wrote: by name, or in the first person."""
    matches: dict[str, float] = {}
    for author in set(authors) - {""}:
        if terms & set(words(author)):
            matches[author] = 1.0
        elif author.casefold() == _USER and _FIRST_PERSON.search(query) is not None:
            matches[author] = _FIRST_PERSON_MATCH
    if not matches:
        return np.zeros(len(authors))
    return np.array([matches.get(author, 0.0) for author in authors], np.float64)
