"""`python -m bench.filler [--write]`: learn what filler is from examples, and say how often that is wrong.

`filler_examples.json` has remarks, and short statements without a number or a name, which are the hardest to tell
from them. Each clause is judged by weights that were learned from the other languages.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memotherm.embed.local import FILLER_WEIGHTS, features
from memotherm.facade.capture import FILLER_ODDS
from memotherm.text.phrases import clauses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

EXAMPLES = Path(__file__).parent / "filler_examples.json"
#: The weight of the squared weights in what is minimised, against the sum over all examples.
_PENALTY = 1.0
_STEPS = 100


def main() -> None:
    """Learn the weights, print how good they are, and write them if wanted."""
    parser = argparse.ArgumentParser(prog="python -m bench.filler", description="Learn what filler is from examples.")
    parser.add_argument("--write", action="store_true", help=f"write {FILLER_WEIGHTS.name} into the package")
    listed = json.loads(EXAMPLES.read_text("utf-8"))
    examples = [
        (language, features(clause), name == "filler")
        for name, languages in listed.items()
        for language, texts in languages.items()
        for text in texts
        for clause in clauses(text)
    ]
    known = [(language, found, filler) for language, found, filler in examples if found is not None]
    languages = np.array([language for language, _, _ in known])
    rows = np.array([found for _, found, _ in known])
    filler = np.array([is_filler for _, _, is_filler in known], float)
    odds = np.zeros(len(known))
    for language in dict.fromkeys(languages):
        own = languages == language
        odds[own] = rows[own] @ learned(rows[~own], filler[~own])
    counts = f"{int(filler.sum())} clauses of filler, {int((1 - filler).sum())} of statements"
    print(f"{counts}, {len(set(languages))} languages")
    print("odds above   filler recognised   statements lost")
    for least in sorted({0.0, 0.5, FILLER_ODDS, 1.5}):
        told = odds > least
        print(f"{least:10.2f}   {told[filler == 1].mean():17.2f}   {told[filler == 0].mean():15.3f}")
    if parser.parse_args().write:
        np.save(FILLER_WEIGHTS, learned(rows, filler).astype(np.float32))


def learned(rows: Numbers, filler: Numbers) -> Numbers:
    """Return the weights of a logistic regression, both classes counting the same (Newton's method)."""
    weights = np.zeros(rows.shape[1])
    share = np.where(filler == 1, 1 / filler.sum(), 1 / (1 - filler).sum()) * len(filler) / 2
    # The constant is not drawn to 0.
    drawn = _PENALTY * np.append(np.ones(len(weights) - 1), 0.0)
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (share * (likely - filler)) + drawn * weights
        curvature = (rows * (share * likely * (1 - likely))[:, np.newaxis]).T @ rows + np.diag(drawn)
        weights -= np.linalg.solve(curvature, slope)
        if abs(slope).max() < 1e-7:
            break
    return weights


if __name__ == "__main__":
    main()
