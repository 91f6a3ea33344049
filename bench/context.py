"""The share of the evidence for a question that is in its context, by budget, and the share of the context that it is.

Two controls have the same memories and the same budget, and no tokens for a frame, ids or headings: the
hits of `recall`, concatenated until the budget is used, and the newest memories, concatenated until it is
used. A memory that is truncated at the end of the budget counts as included.

Precision is the share of the tokens of the included memories that are evidence, for questions with any.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean

from bench.controls import cached
from bench.datasets import EvaluationQuestion, EvaluationSet, load
from bench.quality import SetClock, latest, remember_documents, view_of
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm import Memotherm, embed
from memotherm import open as open_memory
from memotherm.text.tokens import count_tokens

__all__ = ["BUDGETS", "measure"]

BUDGETS = (100, 200, 400, 800, 2000)
_SETS = ("locomo", "agent_notes", "longmemeval", "precisionmembench", "scifact", "xquad")
_HITS = 100

Share = dict[str, list[float]]
#: The content of a memory, and the documents that it holds.
Pasted = tuple[str, Iterable[str]]


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return, for every set and budget, the share of gold documents in the context and in both controls."""
    folder = os.environ.get("MEMOTHERM_DATA")
    if not folder:
        lab.progress.console.print("context: no evaluation data; pass --data DIR or set MEMOTHERM_DATA")
        return []
    sets = [data for data in load(Path(folder)) if data.name.startswith(_SETS)]
    # Questions about the same documents share a store.
    groups = [list(group) for _, group in groupby(sets, key=lambda data: data.documents)]
    return [row for number, group in enumerate(groups) for row in _measured(group, lab, options, number)]


def _measured(sets: Sequence[EvaluationSet], lab: Lab, options: Options, number: int) -> Iterable[Row]:
    clock = SetClock()
    path = lab.folder / f"context-{number}.db"
    path.unlink(missing_ok=True)
    vectors = os.environ.get("MEMOTHERM_VECTORS")
    embedder = cached(embed.resolve("local"), Path(vectors) if vectors else None)
    newest: dict[str | None, list[Pasted]] = defaultdict(list)
    for document in reversed(sets[0].documents):
        newest[document.scope].append((document.content, (document.id,)))
    with open_memory(path, embedder=embedder, clock=clock) as mem:
        task = lab.progress.add_task(f"remembering {sets[0].name}", total=len(sets[0].documents))
        names = remember_documents(mem, clock, sets[0], lambda _, more, __: lab.progress.advance(task, more))
        for data in sets:
            questions = data.questions[:20] if options.quick else data.questions
            shares_by_budget: dict[int, Share] = {budget: defaultdict(list) for budget in BUDGETS}
            task = lab.progress.add_task(f"asking {data.name}", total=len(questions))
            for question in questions:
                clock.now = question.at or latest(data, question.scope)
                _ask(view_of(mem, question.scope), question, names, newest[question.scope], shares_by_budget)
                lab.progress.advance(task)
            yield from _rows(data, len(questions), shares_by_budget)


def _rows(data: EvaluationSet, asked: int, shares_by_budget: dict[int, Share]) -> Iterable[Row]:
    for budget in BUDGETS:
        shares = {method: round(mean(values), 4) for method, values in shares_by_budget[budget].items()}
        ours, controls = shares["context"], {method: shares[method] for method in ("hits", "newest")}
        yield Row(
            key=f"{data.name}/{budget}",
            what=f"gold in the context, {data.name}, {budget} tokens (N={asked})",
            value=ours,
            unit="",
            target=max(controls.values()),
            rising=True,
            notes={
                **controls,
                "whole": shares["whole"],
                "tokens": shares["tokens"],
                "precision": shares.get("precision", 0.0),
                "questions": asked,
                "documents": len(data.documents),
            },
        )


def _ask(
    view: Memotherm,
    question: EvaluationQuestion,
    names: Mapping[str, Sequence[str]],
    newest: Sequence[Pasted],
    shares_by_budget: dict[int, Share],
) -> None:
    hits = [(hit.memory.content, names[hit.memory.id]) for hit in view.recall(question.text, limit=_HITS, track=False)]
    for budget in BUDGETS:
        context = view.context(question.text, budget=budget, track=False)
        methods = {
            "context": {name for entry in context.included for name in names[entry.id]},
            "whole": {name for entry in context.included if entry.form == "full" for name in names[entry.id]},
            "hits": _pasted(hits, budget),
            "newest": _pasted(newest, budget),
        }
        for method, inside in methods.items():
            shares_by_budget[budget][method].append(len(question.gold & inside) / len(question.gold))
        shares_by_budget[budget]["tokens"].append(context.tokens)
        if context.included:
            gold = sum(entry.tokens for entry in context.included if question.gold.intersection(names[entry.id]))
            shares_by_budget[budget]["precision"].append(gold / sum(entry.tokens for entry in context.included))


def _pasted(memories: Iterable[Pasted], budget: int) -> set[str]:
    """Return the documents of a plain list of contents that is truncated at the budget."""
    inside: set[str] = set()
    for content, documents in memories:
        if budget <= 0:
            break
        inside.update(documents)
        budget -= count_tokens(f"- {content}\n")
    return inside
