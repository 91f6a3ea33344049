"""`python -m bench.languages --data DIR`: questions and memories in other languages than English.

First within each language, against the controls; then a question in one language about memories in another.
XQuAD has the same questions in all its languages: the sentence that answers a question in one language answers
its translation in another.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench import report
from bench.controls import cached
from bench.datasets import EvaluationSet, load
from bench.quality import SetClock, mean, measure_set, measured, remember_documents
from bench.stores import Lab, bars
from memotherm import embed
from memotherm import open as open_memory

__all__ = ["main"]

_PREFIX = "xquad_"


def _across(data: EvaluationSet, others: list[EvaluationSet], most: int, cache: Path | None) -> dict[str, float]:
    """Return the nDCG@10 of the questions in each language, in a store of the sentences of one."""
    clock, gold = SetClock(), {question.id: question.gold for question in data.questions}
    embedder = cached(embed.resolve("local"), cache)
    results = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder) / "languages.db", embedder=embedder, clock=clock) as mem,
    ):
        names = remember_documents(mem, clock, data, lambda *_: None)
        for other in others:
            asked = [question for question in other.questions if question.id in gold][:most]
            values = []
            for question in asked:
                hits = mem.recall(question.text, limit=10, track=False)
                ranked = [document for hit in hits for document in names[hit.memory.id]]
                values.append(measured(ranked, gold[question.id]))
            results[other.name.removeprefix(_PREFIX)] = round(mean(values)["nDCG@10"], 4)
    return results


def main() -> None:
    """Measure every language and every pair of them, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.languages", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the XQuAD sets")
    parser.add_argument("--most", type=int, default=100, help="the most questions of a pair")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "across_languages.json")
    arguments = parser.parse_args()
    vectors = os.environ.get("MEMOTHERM_VECTORS")
    cache = Path(vectors) if vectors else None
    sets = [data for data in load(arguments.data) if data.name.startswith(_PREFIX)]
    with bars() as progress:
        within = [measure_set(data, Lab(Path(), progress), cache) for data in sets]
    report.print_rows("Questions and memories in one language", within)
    report.write("languages", report.record("languages", within))
    rows = {}
    for data in sets:
        name = data.name.removeprefix(_PREFIX)
        rows[name] = _across(data, sets, arguments.most, cache)
        print(name, rows[name], flush=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    across = {"date": now, "most": arguments.most, "nDCG@10 by language of the memories, then of the question": rows}
    arguments.out.write_text(json.dumps(across, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
