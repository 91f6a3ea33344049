"""`python -m bench.peers --data DIR`: how other systems would rank the same documents with the same vectors.

Only their rankings are computed, from the formulas in their sources, not the systems themselves:

    cosine       mem0, Chroma, LangGraph and mcp-memory-service: the cosine
    MemPalace    the ten best by cosine, in the order of 0.6 cosine + 0.4 BM25 among them, relative to the best
    palaia       the twenty best by cosine and the twenty best by BM25: 0.6 cosine + 0.4 BM25 relative to the best
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.controls import PLAIN, Corpus, Wording, cached, embedded
from bench.datasets import EvaluationSet, load
from bench.quality import mean, measured
from memotherm import embed

__all__ = ["main"]

_SETS = ("locomo", "agent_notes", "longmemeval")
_SHOWN = 10
_VECTOR, _TEXT = 0.6, 0.4

Scores = NDArray[np.float64]


def _long_words(text: str) -> list[str]:
    return re.findall(r"\w{2,}", text.lower())


#: MemPalace counts each word of a question once.
_LONG_WORDS = Wording(_long_words, lambda text: list(dict.fromkeys(_long_words(text))), 1.5)


def _relative(scores: Scores) -> Scores:
    return scores / scores.max() if scores.size and scores.max() > 0 else scores


def _best(scores: Scores, count: int) -> NDArray[np.int64]:
    return np.argsort(-scores, kind="stable")[:count]


def _mempalace(contents: Sequence[str], question: str, cosines: Scores) -> list[int]:
    shown = _best(cosines, _SHOWN)
    candidates = Corpus([contents[row] for row in shown], np.empty((len(shown), 0), np.float32), _LONG_WORDS)
    scores = _VECTOR * np.maximum(0, cosines[shown]) + _TEXT * _relative(candidates.text_scores(question))
    return [int(row) for row in shown[_best(scores, _SHOWN)]]


def _palaia(text: Scores, cosines: Scores) -> list[int]:
    scores = np.zeros_like(cosines)
    by_vector, by_text = _best(cosines, 2 * _SHOWN), _best(text, 2 * _SHOWN)
    scores[by_vector] += _VECTOR * cosines[by_vector]
    scores[by_text] += _TEXT * _relative(text[by_text])
    return [int(row) for row in _best(scores, _SHOWN)]


def _measured(data: EvaluationSet, cache: Path | None) -> dict[str, object]:
    model = cached(embed.resolve("local"), cache)
    vectors = embedded(model, [document.content for document in data.documents], lambda _: None)
    corpora: dict[str | None, tuple[list[str], list[str], Corpus]] = {}
    results: dict[str, list[dict[str, float]]] = {"cosine": [], "MemPalace": [], "palaia": []}
    for question in data.questions:
        if question.scope not in corpora:
            documents = [document for document in data.documents if document.scope == question.scope]
            contents = [document.content for document in documents]
            rows = np.array([vectors[content] for content in contents], np.float32)
            corpora[question.scope] = ([each.id for each in documents], contents, Corpus(contents, rows, PLAIN))
        ids, contents, corpus = corpora[question.scope]
        cosines = corpus.vector_scores(embed.embed_query(model, question.text))
        rankings = {
            "cosine": [int(row) for row in _best(cosines, _SHOWN)],
            "MemPalace": _mempalace(contents, question.text, cosines),
            "palaia": _palaia(corpus.text_scores(question.text), cosines),
        }
        for name, ranking in rankings.items():
            results[name].append(measured([ids[row] for row in ranking], question.gold))
    means = {name: round(mean(values)["nDCG@10"], 4) for name, values in results.items()}
    return {"set": data.name, "n": len(data.questions), "nDCG@10": means}


def main() -> None:
    """Measure every set and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with evaluation sets")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "peers.json")
    arguments = parser.parse_args()
    vectors = os.environ.get("MEMOTHERM_VECTORS")
    rows = []
    for data in load(arguments.data):
        if data.name.startswith(_SETS):
            rows.append(_measured(data, Path(vectors) if vectors else None))
            print(json.dumps(rows[-1]), flush=True)
    report = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "sets": rows}
    arguments.out.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
